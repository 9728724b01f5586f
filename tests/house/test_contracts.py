"""Every import contract and every ban works: the real tool reports a violation planted in a copy."""

import importlib.util
import re
from collections.abc import Collection, Iterable, Iterator, Mapping

import pytest

from tests.builders.table import table
from tests.house.planting import CONTRACTS, ROOT, STRICT_RUFF, WORLDLY_RUFF, House, names

SOURCE = ROOT / "src" / "custody"
Plant = tuple[str, str]
"""A file under src/custody, and the code added at its end. ``{n}`` in its name becomes the contract and a number."""

LOADED_LATE = "def f() -> None:\n    import {}"
QUESTIONS = ("attribution", "cite", "dupes", "gate", "graph", "runs", "trust", "undo")

PLANTS: Mapping[str, Collection[Plant]] = {
    "layers": [
        ("core/planted_{n}.py", "import custody.store"),
        ("core/planted_{n}.py", "import custody.sketch"),
        ("sketch/planted_{n}.py", "import custody.capture"),
        ("store/planted_{n}.py", "import custody.git"),
        ("git/planted_{n}.py", "import custody.capture"),
        ("capture/planted_{n}.py", "import custody.store"),
        ("config/planted_{n}.py", "import custody.workspace.workspace"),
        ("workspace/planted_{n}.py", "import custody.terminal.frame"),
        ("terminal/planted_{n}.py", "import custody.intake"),
        ("intake/planted_{n}.py", "import custody.ledger"),
        ("ledger/planted_{n}.py", "import custody.trust"),
        ("attribution/app/planted_{n}.py", "import custody.dupes"),
        ("dupes/app/planted_{n}.py", "import custody.graph"),
        ("graph/wire/planted_{n}.py", "import custody.trust"),
        ("trust/app/planted_{n}.py", "import custody.cite"),
        ("cite/app/planted_{n}.py", "import custody.gate"),
        ("gate/app/planted_{n}.py", "import custody.why"),
        ("why/planted_{n}.py", "import custody.share"),
        ("share/planted_{n}.py", "import custody.server"),
        ("server/app/planted_{n}.py", "import custody.sdk"),
        ("sdk/planted_{n}.py", "import custody.writer"),
        ("writer/planted_{n}.py", "import custody.sources"),
        ("sources.py", "import custody.cli"),
        ("signing.py", "import custody.store"),
        ("server/planted_{n}.py", LOADED_LATE.format("custody.cli")),
        ("utilities_{n}.py", "a_module_without_a_layer = True"),
        ("reports_{n}/planted.py", "a_package_without_a_layer = True"),
    ],
    "inside": [
        ("attribution/wire.py", "import custody.attribution.app"),
        ("cite/web/planted_{n}.py", "import custody.cite.app"),
        ("dupes/app/planted_{n}.py", "import custody.dupes.cli"),
        ("dupes/pool/planted_{n}.py", "import custody.dupes.queries"),
        ("graph/app/planted_{n}.py", "import custody.graph.otlp"),
        ("intake/settings/planted_{n}.py", "import custody.intake.install"),
        ("ledger/queries.py", "import custody.ledger.cli"),
        ("share/wire.py", "import custody.share.remote"),
        ("trust/wire.py", "import custody.trust.cli"),
    ],
    "inside-server": [
        ("server/app/planted_{n}.py", "import custody.server.page_data"),
        ("server/page_data/planted_{n}.py", "import custody.server.pages"),
        ("server/pages/planted_{n}.py", "import custody.server.routes"),
        ("server/routes/planted_{n}.py", "import custody.server.listener"),
        ("server/control/planted_{n}.py", "import custody.server.queries"),
        ("server/github/planted_{n}.py", "import custody.server.control"),
        ("server/wire/planted_{n}.py", "import custody.server.github"),
        ("server/queries.py", LOADED_LATE.format("custody.server.cli")),
    ],
    "landings": [
        ("__init__.py", "import custody.core"),
        ("trust/__init__.py", "import custody.trust.rules"),
        ("workspace/__init__.py", LOADED_LATE.format("custody.git")),
    ],
    "attribution-pure": [
        ("attribution/planted_{n}.py", "import os"),
        ("attribution/planted_{n}.py", "import custody.sketch"),
    ],
    "trust-pure": [
        ("trust/planted_{n}.py", LOADED_LATE.format("pathlib")),
        ("trust/planted_{n}.py", "import custody.attribution"),
    ],
    "undo-pure": [
        ("undo/planted_{n}.py", "import os"),
        ("undo/planted_{n}.py", "import custody.attribution"),
    ],
    "cite-pure": [
        ("cite/planted_{n}.py", "import os"),
        ("cite/planted_{n}.py", "import custody.trust"),
        ("cite/checks.py", LOADED_LATE.format("click")),
    ],
    "graph-pure": [
        ("graph/planted_{n}.py", "import os"),
        ("graph/planted_{n}.py", "import custody.sketch"),
        ("graph/planted_{n}.py", LOADED_LATE.format("click")),
    ],
    "runs-pure": [
        ("runs/planted_{n}.py", "import os"),
        ("runs/planted_{n}.py", "import custody.capture.tool_use"),
    ],
    "gate-pure": [
        ("gate/planted_{n}.py", "import os"),
        ("gate/checks.py", "import click"),
    ],
    "dupes-pure": [
        ("dupes/planted_{n}.py", "import click"),
        ("dupes/planted_{n}.py", "import custody.graph"),
    ],
    "facts": [
        ("dupes/facts/planted_{n}.py", "import os"),
        ("dupes/facts/planted_{n}.py", "import custody.dupes.rules"),
        ("dupes/facts/languages/planted_{n}.py", LOADED_LATE.format("click")),
    ],
    "sketch": [
        ("sketch/planted_{n}.py", "import os"),
        ("sketch/planted_{n}.py", LOADED_LATE.format("numpy")),
    ],
    "core": [
        ("core/planted_{n}.py", "import os"),
        ("core/planted_{n}.py", LOADED_LATE.format("pathlib")),
        ("core/planted_{n}.py", "import click"),
    ],
    "wire": [
        ("core/wire/planted_{n}.py", "from os import path"),
        ("trust/wire.py", "import click"),
        ("gate/wire/planted_{n}.py", "import custody.store"),
        ("server/wire/planted_{n}.py", "import custody.trust.rules"),
        ("why/report.py", "import pathlib"),
    ],
    "pure-below-app": [
        *((f"{question}/planted_{{n}}.py", f"import custody.{question}.app") for question in QUESTIONS),
        ("attribution/planted_{n}.py", LOADED_LATE.format("custody.attribution.wire")),
        ("dupes/planted_{n}.py", "import custody.dupes.queries"),
        ("gate/checks.py", "import custody.gate.cli"),
        ("graph/planted_{n}.py", "import custody.graph.otlp"),
    ],
    "hook": [
        ("capture/hook/planted_{n}.py", "import msgspec"),
        ("capture/hook/planted_{n}.py", "from custody.core import ids"),
        ("capture/hook/planted_{n}.py", "import custody.capture.spool"),
    ],
    "capture": [
        ("capture/planted_{n}.py", "import custody.sketch"),
        ("capture/agents/codex/planted_{n}.py", "import custody.git"),
        ("capture/claims/planted_{n}.py", LOADED_LATE.format("custody.store")),
        ("capture/spool.py", "import click"),
    ],
    "agents": [
        ("capture/agents/codex/planted_{n}.py", "import custody.capture.agents.claude"),
        ("capture/agents/gemini/planted_{n}.py", LOADED_LATE.format("custody.capture.agents.cursor")),
        ("capture/agents/opencode/planted_{n}.py", "import custody.capture.agents.copilot"),
    ],
    "git": [
        ("git/planted_{n}.py", "import custody.sketch"),
        ("git/planted_{n}.py", "import click"),
    ],
    "attribution-door": [
        ("trust/app/planted_{n}.py", "import custody.attribution.rules"),
        ("server/app/planted_{n}.py", LOADED_LATE.format("custody.attribution.engine")),
    ],
    "cite-door": [
        ("gate/app/planted_{n}.py", "import custody.cite.rules"),
        ("gate/app/planted_{n}.py", "import custody.cite.checks"),
        ("server/app/planted_{n}.py", "import custody.cite.web.transport"),
    ],
    "dupes-door": [
        ("trust/app/planted_{n}.py", "import custody.dupes.rules"),
        ("gate/app/planted_{n}.py", "import custody.dupes.facts.model"),
        ("server/app/planted_{n}.py", "import custody.dupes.queries"),
        ("server/app/planted_{n}.py", "import custody.dupes.pool.work"),
    ],
    "graph-door": [("why/planted_{n}.py", "import custody.graph.rules")],
    "runs-door": [("why/planted_{n}.py", "import custody.runs.model")],
    "trust-door": [
        ("gate/app/planted_{n}.py", "import custody.trust.rules"),
        ("server/page_data/planted_{n}.py", "import custody.trust.engine"),
    ],
    "undo-door": [("review/app/planted_{n}.py", "import custody.undo.reverse")],
    "gate-door": [
        ("server/app/planted_{n}.py", "import custody.gate.rules"),
        ("server/page_data/planted_{n}.py", "import custody.gate.checks"),
    ],
    "store-door": [
        ("trust/app/planted_{n}.py", "import custody.store.db"),
        ("workspace/planted_{n}.py", LOADED_LATE.format("custody.store.sqlite")),
    ],
    "git-door": [
        ("gate/app/planted_{n}.py", "import custody.git.command"),
        ("workspace/planted_{n}.py", "from custody.git import refs"),
    ],
    "verbs": [
        ("__main__.py", "import custody.git"),
        ("cli/planted_{n}.py", "import custody.store"),
        ("cli/planted_{n}.py", LOADED_LATE.format("custody.git.command")),
        ("trust/cli/planted_{n}.py", "import custody.trust.rules"),
        ("gate/cli.py", "import custody.signing"),
        ("attribution/cli.py", "import custody.sketch"),
        ("demo/planted_{n}.py", "import custody.capture.hook"),
        ("otel.py", "import custody.config"),
        ("writer/planted_{n}.py", "import custody.cite.audit"),
        ("server/planted_{n}.py", "import custody.store"),
        ("server/pages/planted_{n}.py", "import custody.graph.engine"),
        ("server/routes/planted_{n}.py", "import custody.dupes.pool"),
    ],
    "sdk": [
        ("sdk/spans.py", "import asyncio"),
        ("sdk/outbox.py", LOADED_LATE.format("msgspec")),
        ("sdk/decorators.py", "import inspect"),
    ],
    "programs": [
        ("trust/app/planted_{n}.py", "import subprocess"),
        ("cli/planted_{n}.py", "import pty"),
        ("store/planted_{n}.py", "from subprocess import run"),
        ("git/planted_{n}.py", "import multiprocessing"),
        ("dupes/pool/planted_{n}.py", "import multiprocessing"),
        ("dupes/pool/pool_map.py", "import subprocess"),
        ("sdk/worker/child.py", "import subprocess"),
        ("sdk/worker/process.py", "import multiprocessing"),
        ("gate/app/planted_{n}.py", "import subprocess"),
        ("demo/planted_{n}.py", "import subprocess"),
        ("sdk/planted_{n}.py", LOADED_LATE.format("mcp")),
        ("mcp/planted_{n}.py", "import mcp_types"),
        ("store/planted_{n}.py", LOADED_LATE.format("ray")),
    ],
    "databases": [
        ("workspace/planted_{n}.py", "import sqlite3"),
        ("dupes/queries.py", "import sqlite3"),
        ("demo/planted_{n}.py", "import sqlite3"),
        ("git/planted_{n}.py", "import psycopg"),
    ],
    "network": [
        ("intake/planted_{n}.py", "import httpx2"),
        ("git/planted_{n}.py", LOADED_LATE.format("httpcore2")),
        ("cite/web/planted_{n}.py", "import anyio"),
    ],
    "editors": [
        ("lsp/planted_{n}.py", "import pygls"),
        ("why/planted_{n}.py", "import lsprotocol"),
    ],
    "frameworks": [
        ("cite/app/planted_{n}.py", "import pydantic_ai"),
        ("writer/planted_{n}.py", "def f() -> None:\n    from pydantic_ai import Agent"),
    ],
    "servers": [
        ("workspace/planted_{n}.py", "import litestar"),
        ("cli/planted_{n}.py", LOADED_LATE.format("uvicorn")),
    ],
    "sketches": [
        ("dupes/app/planted_{n}.py", "import rensa"),
        ("sketch/planted_{n}.py", "import rensa"),
    ],
    "syntax": [
        ("attribution/planted_{n}.py", "import pygments"),
        ("server/pages/planted_{n}.py", LOADED_LATE.format("pygments")),
    ],
    "matrices": [
        ("cite/near_copies.py", LOADED_LATE.format("numpy")),
        ("graph/planted_{n}.py", "import numpy"),
        ("graph/engine.py", LOADED_LATE.format("numpy")),
    ],
    "telemetry": [
        ("graph/otlp/planted_{n}.py", "def f() -> None:\n    from opentelemetry import trace"),
        ("planted_{n}.py", "import opentelemetry.sdk.trace"),
    ],
    "cycles": [
        ("core/planted_{n}.py", "import custody.core.cycle_back"),
        ("core/cycle_back.py", "import custody.core.planted_cycles_0"),
        ("trust/app/planted_{n}.py", "import custody.trust.app.cycle_back"),
        ("trust/app/cycle_back.py", "import custody.trust.app.planted_cycles_2"),
    ],
}


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> House:
    return House(tmp_path_factory.mktemp("copy"))


@pytest.fixture
def house(copy: House) -> Iterator[House]:
    """The copy without plants; a test's own plants are undone after it."""
    yield copy
    copy.restore()


def test_every_contract_is_kept_and_is_broken_on_purpose_below(house: House) -> None:
    report = house.imports()
    assert [contract for contract in CONTRACTS if not has_outcome(report, contract, "KEPT")] == []
    assert set(PLANTS) == set(CONTRACTS)


def planted_in(contract: str) -> list[Plant]:
    return [
        (path.format(n=f"{contract.replace('-', '_')}_{number}"), code)
        for number, (path, code) in enumerate(PLANTS[contract])
    ]


@pytest.fixture(scope="module")
def report_on_plants(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The report of import-linter on one copy that holds the plants of all contracts."""
    house = House(tmp_path_factory.mktemp("planted"))
    for contract in CONTRACTS:
        for path, code in planted_in(contract):
            house.plant(path, code)
    return house.imports()


@table("contract", CONTRACTS)
def test_every_planted_import_is_named(report_on_plants: str, contract: str) -> None:
    assert has_outcome(report_on_plants, contract, "BROKEN"), report_on_plants
    findings = findings_of(report_on_plants, contract)
    assert [plant for plant in planted_in(contract) if not is_named(findings, *plant)] == [], findings


def has_outcome(report: str, contract: str, outcome: str) -> bool:
    return re.search(rf"^{re.escape(CONTRACTS[contract]['name'])} {outcome}", report, re.MULTILINE) is not None


def findings_of(report: str, contract: str) -> str:
    """Return the part of a report that explains why ``contract`` is broken, with every module by its whole name."""
    name = re.escape(CONTRACTS[contract]["name"])
    part = re.search(rf"^{name}\n-+\n(.*?)(?=^[^\n]+\n-+\n|\Z)", report, re.MULTILINE | re.DOTALL)
    if contract != "cycles":
        return part[1] if part else ""
    by_parent = re.split(r"No cycles are allowed in ([\w.]+)\.\n", part[1] if part else "")[1:]
    pairs = zip(by_parent[::2], by_parent[1::2], strict=True)
    findings = "".join(re.sub(r"(?<= )\.(?=\w)", f"{parent}.", rows) for parent, rows in pairs)
    # A cycle is reported by the import to remove, which stands for the whole cycle.
    return findings + re.sub(r"([\w.]+) -> ([\w.]+)", r"\2 -> \1", findings)


def is_named(findings: str, path: str, code: str) -> bool:
    """Return whether ``findings`` name the module of ``path`` with the imports of ``code``, or its missing layer."""
    module = f"custody.{path}".replace("/", ".").removesuffix(".py").removesuffix(".__init__")
    imported = re.search(r"^ *(?:import ([\w.]+)|from ([\w.]+) import (\w+))$", code, re.MULTILINE)
    if imported is None:
        return f"\n- {module.removesuffix('.planted')}\n" in findings
    targets = "|".join(re.escape(target) for target in imported_names(imported))
    return re.search(rf"(?<![\w.]){re.escape(module)} (?:->|imports) (?:{targets})(?![\w.])", findings) is not None


def imported_names(imported: re.Match[str]) -> list[str]:
    """Return the modules that an import may mean; for outside packages, import-linter knows only the root."""
    module, source, name = imported.groups()
    found = [module] if module else [source, f"{source}.{name}"]
    return [*found, *(name.partition(".")[0] for name in found if not name.startswith("custody."))]


# A package that is new, or gets a new folder, must be added to every contract that is about such folders.


def packages_with(folder: str) -> set[str]:
    return {path.parents[1].name for path in SOURCE.glob(f"*/{folder}/__init__.py")}


def without_parent(modules: Iterable[str]) -> set[str]:
    return {module.removeprefix("custody.") for module in modules}


def test_every_package_of_a_question_has_its_contracts() -> None:
    questions = packages_with("app") - {"server", "review"}  # a review combines answers: it has no engine
    assert questions == set(QUESTIONS)
    for question in questions:
        assert {f"{question}-pure", f"{question}-door"} <= set(CONTRACTS)
        assert f"custody.{question}.*" in names("pure-below-app", "source_modules")
        assert f"custody.{question}.*" in names("verbs", "forbidden_modules")


def test_every_package_with_verbs_is_ordered_inside() -> None:
    ordered = without_parent(names("inside", "containers") | names("inside-server", "containers"))
    assert packages_with("cli") <= ordered
    assert packages_with("queries") <= ordered


def test_every_folder_of_outside_shapes_is_in_the_contract_of_outside_shapes() -> None:
    assert {f"{package}.wire" for package in packages_with("wire")} <= without_parent(names("wire", "modules"))


def test_every_agent_is_in_the_contract_of_agents() -> None:
    agents = {path.parent.name for path in (SOURCE / "capture" / "agents").glob("*/__init__.py")}
    assert agents == {module.rpartition(".")[2] for module in names("agents", "modules")}


# Only ruff sees calls: one file for each banned name, in packages of each kind, all in one run.

STRICT_BANS = sorted(STRICT_RUFF["lint"]["flake8-tidy-imports"]["banned-api"])
WORLDLY_BANS = sorted(WORLDLY_RUFF["lint"]["flake8-tidy-imports"]["banned-api"])
STRICT_FOLDERS = (
    "core", "sketch", "core/wire", "trust", "gate/wire", "trust/cli", "dupes/facts/languages", "capture/agents",
    "capture/claims", "ledger", "cite/queries", "intake/cli", "server/pages", "server/routes", "cli", "a_new_package",
)  # fmt: skip
WORLDLY_FOLDERS = ("trust/app", "server/app", "config", "git", "store", "workspace", "capture/hook", "dupes/pool")


@pytest.fixture(scope="module")
def banned(tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    """Return the planted files in which ruff found a banned name, by the two configurations of `make lint`."""
    house = House(tmp_path_factory.mktemp("banned"))
    for folder in (*STRICT_FOLDERS, *WORLDLY_FOLDERS):
        for number, name in enumerate(STRICT_BANS):
            house.plant(f"{folder}/banned_{number}.py", use_of(name))
    report = house.ruff("src") + house.ruff("--config", "tools/ruff-worldly.toml", "src/custody")
    return set(re.findall(r"^src/custody/(.*banned_\d+\.py):\d+:\d+: TID251", report, re.MULTILINE))


@table("name", STRICT_BANS)
def test_clock_randomness_environment_and_network_are_banned(name: str, banned: set[str]) -> None:
    file = f"banned_{STRICT_BANS.index(name)}.py"
    assert {folder for folder in STRICT_FOLDERS if f"{folder}/{file}" in banned} == set(STRICT_FOLDERS)
    assert {folder for folder in WORLDLY_FOLDERS if f"{folder}/{file}" in banned} == set(
        WORLDLY_FOLDERS if name in WORLDLY_BANS else ()
    )


def test_the_bans_that_hold_everywhere_are_fewer_than_those_for_pure_files() -> None:
    assert set(WORLDLY_BANS) < set(STRICT_BANS)


def use_of(name: str) -> str:
    """Return code that imports the module of ``name`` and uses it."""
    module = name
    while not is_module(module):
        module = module.rpartition(".")[0]
    return f"import {module}\n\nused = {name}"


def is_module(name: str) -> bool:
    try:
        return importlib.util.find_spec(name) is not None
    except ModuleNotFoundError:  # a class has no modules below it
        return False


BROAD_CATCHES = {
    "BLE001": "try:\n    pass\nexcept Exception:\n    found = None",
    "E722": "try:\n    pass\nexcept:\n    found = None",
    "S110": "try:\n    pass\nexcept Exception:\n    pass",
    "S112": "for _ in ():\n    try:\n        pass\n    except Exception:\n        continue",
}


def test_a_broad_catch_is_an_error(house: House) -> None:
    folders = ("core", "store", "trust/app", "cli")
    plants = {f"{folder}/broad_{rule}.py": rule for folder in folders for rule in BROAD_CATCHES}
    for path, rule in plants.items():
        house.plant(path, BROAD_CATCHES[rule])
    report = house.ruff("src")
    assert [path for path, rule in plants.items() if not re.search(rf"{path}:\d+:\d+: {rule} ", report)] == []


UNTYPED = {
    "no-untyped-def": "def f(x):\n    return x",
    "type-arg": "def f(x: dict) -> None: ...",
    "explicit-any": "from typing import Any\n\n\ndef f(x: dict[str, Any]) -> None: ...",
    "arg-type": (
        "from custody.core.ids import CommitSha, SessionId\n\n\n"
        "def f(commit: CommitSha) -> None: ...\n\n\nf(SessionId('a session is not a commit'))"
    ),
    "exhaustive-match": (
        "def f(x: int | str) -> None:\n    match x:\n        case int():\n            print('a finding of a new kind')"
    ),
    "ignore-without-code": "x: int = ''  # type: ignore",
}


@pytest.fixture(scope="module")
def typed(tmp_path_factory: pytest.TempPathFactory) -> str:
    house = House(tmp_path_factory.mktemp("typed"))
    for number, code in enumerate(UNTYPED.values()):
        house.plant(f"core/untyped_{number}.py", code)
    return house.mypy("src/custody/core")


@table("code", UNTYPED)
def test_mypy_is_strict(code: str, typed: str) -> None:
    file = f"untyped_{list(UNTYPED).index(code)}.py"
    assert re.search(rf"{file}:\d+: error: .*\[{code}\]", typed), typed
