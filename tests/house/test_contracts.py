"""Every rule of the house has been seen to catch: a violation is planted in a copy, the real tool must name it."""

import importlib.util
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.house.planting import CONTRACTS, STRICT_RUFF, WORLDLY_RUFF, House, names, rows

MakeHouse = Callable[[str], House]

# contract → (file under src/custody, what is planted at its end)
PLANTED_IMPORTS = {
    "floors": [
        ("model/planted.py", "import custody.core.wire"),
        ("wire/planted.py", "import custody.store"),
        ("trust/planted.py", "import custody.attribution"),
        ("dedupe/planted.py", "import custody.core.wire"),
        ("graph/planted.py", "import custody.trust"),
        ("sketch/planted.py", "import custody.dupes"),
        ("facts/planted.py", "import custody.sketch"),
        ("model/planted.py", "import custody.sketch"),
        ("attribute/planted.py", "import custody.gate"),
        ("gate/planted.py", "import custody.core.wire"),
        ("world/store/planted.py", "import custody.app"),
        ("app/planted.py", "def f() -> None:\n    import custody.cli"),
        ("app/planted.py", "import custody.sdk"),
        ("sdk/planted.py", "import custody.cli"),
        ("app/planted.py", "import custody.writer"),
        ("writer/planted.py", "import custody.sources"),
        ("utils.py", "a_room_without_a_floor = True"),
        ("reports/planted.py", "a_room_without_a_floor = True"),
    ],
    "doors": [
        ("world/store/planted.py", "import custody.git"),
        ("world/git/planted.py", "import custody.capture.hook"),
        ("world/hook/planted.py", "import custody.capture.spool"),
        ("world/spool/planted.py", "import custody.store"),
        ("world/clock/planted.py", "import custody.git"),
        ("world/config/planted.py", "import custody.git"),
        ("world/pool/planted.py", "import custody.workspace.clock"),
        ("world/worker/planted.py", "import custody.capture.spool"),
        ("world/servers/planted.py", "import custody.sdk.worker"),
        ("world/links/planted.py", "import custody.workspace.clock"),
        ("world/fax/planted.py", "a_door_without_a_contract = True"),
    ],
    "landings": [
        ("__init__.py", "import custody.core"),
        ("world/__init__.py", "import custody.store"),
    ],
    "model": [
        ("model/planted.py", "import os"),
        ("model/planted.py", "def f() -> None:\n    import pathlib"),
        ("model/planted.py", "import msgspec"),
    ],
    "sketch": [
        ("sketch/planted.py", "import os"),
        ("sketch/planted.py", "def f() -> None:\n    import numpy"),
    ],
    "domains": [
        ("attribute/planted.py", "import os"),
        ("dedupe/planted.py", "import msgspec"),
        ("trust/planted.py", "def f() -> None:\n    import pathlib"),
    ],
    "facts": [
        ("facts/planted.py", "import os"),
        ("facts/languages/planted.py", "def f() -> None:\n    import msgspec"),
    ],
    "cite": [
        ("cite/planted.py", "import os"),
        ("cite/planted.py", "import custody.trust"),
        ("cite/planted.py", "def f() -> None:\n    import msgspec"),
    ],
    "graph": [
        ("graph/planted.py", "import os"),
        ("graph/planted.py", "import custody.sketch"),
        ("graph/planted.py", "def f() -> None:\n    import msgspec"),
    ],
    "gate": [
        ("gate/planted.py", "import os"),
        ("gate/checks/planted.py", "import msgspec"),
    ],
    "wire": [
        ("wire/planted.py", "from os import path"),
        ("wire/planted.py", "import click"),
    ],
    "hook": [
        ("world/hook/planted.py", "import msgspec"),
        ("world/hook/planted.py", "from custody.core import ids"),
    ],
    "sdk": [
        ("sdk/spans.py", "import asyncio"),
        ("sdk/outbox.py", "def f() -> None:\n    import msgspec"),
        ("sdk/decorators.py", "import inspect"),
    ],
    "thin": [
        ("cli/planted.py", "import custody.store"),
        ("cli/planted.py", "import custody.trust.rules"),
        ("cli/planted.py", "import custody.gate.codes"),
        ("cli/planted.py", "def f() -> None:\n    from custody.world import git"),
        ("writer/planted.py", "import custody.cite.audit"),
        ("service/planted.py", "import custody.store"),
        ("sdk/planted.py", "import custody.capture.spool"),
        ("demo/planted.py", "import custody.git"),
        ("__main__.py", "import custody.git"),
    ],
    "programs": [
        ("app/planted.py", "import subprocess"),
        ("cli/planted.py", "import pty"),
        ("world/store/planted.py", "from subprocess import run"),
        ("world/git/planted.py", "import multiprocessing"),
        ("world/pool/planted.py", "import multiprocessing"),
        ("world/pool/processes.py", "import subprocess"),
        ("world/worker/child.py", "import subprocess"),
        ("world/signing/planted.py", "import subprocess"),
        ("world/worker/process.py", "import multiprocessing"),
        ("sdk/planted.py", "import subprocess"),
        ("demo/planted.py", "import subprocess"),
        ("sdk/planted.py", "def f() -> None:\n    import mcp"),
        ("world/store/planted.py", "def f() -> None:\n    import ray"),
    ],
    "databases": [
        ("app/planted.py", "import sqlite3"),
        ("demo/planted.py", "import sqlite3"),
        ("world/git/planted.py", "import psycopg"),
    ],
    "frameworks": [
        ("app/planted.py", "import pydantic_ai"),
        ("writer/planted.py", "def f() -> None:\n    from pydantic_ai import Agent"),
    ],
    "network": [
        ("app/planted.py", "import httpx2"),
        ("world/git/planted.py", "def f() -> None:\n    import httpcore2"),
        ("world/links/planted.py", "import anyio"),
    ],
    "sketches": [
        ("app/planted.py", "import rensa"),
        ("sketch/planted.py", "import rensa"),
    ],
    "matrices": [
        ("cite/near.py", "def f() -> None:\n    import numpy"),
        ("graph/planted.py", "import numpy"),
        ("graph/engine.py", "def f() -> None:\n    import numpy"),
    ],
    "servers": [
        ("app/planted.py", "import litestar"),
        ("cli/planted.py", "def f() -> None:\n    import uvicorn"),
    ],
    "telemetry": [
        ("app/planted.py", "def f() -> None:\n    from opentelemetry import trace"),
        ("planted.py", "import opentelemetry.sdk.trace"),
    ],
    "cycles": [
        ("model/planted.py", "import custody.core.planted_too"),
    ],
}
CYCLE_BACK = ("model/planted_too.py", "import custody.core.planted")

PLANTS = [
    pytest.param(contract, path, code, id=f"{contract}-{path}-{number}")
    for contract, plants in PLANTED_IMPORTS.items()
    for number, (path, code) in enumerate(plants)
]


@pytest.fixture
def house(tmp_path: Path) -> House:
    return House(tmp_path)


@pytest.fixture(scope="module")
def untouched(tmp_path_factory: pytest.TempPathFactory) -> str:
    return House(tmp_path_factory.mktemp("untouched")).imports()


@pytest.mark.parametrize("contract", CONTRACTS)
def test_every_contract_is_kept_and_has_been_broken_on_purpose(contract: str, untouched: str) -> None:
    assert says(untouched, contract, "KEPT"), untouched
    assert PLANTED_IMPORTS[contract]


@pytest.mark.parametrize(("contract", "path", "code"), PLANTS)
def test_a_planted_import_is_caught(house: House, contract: str, path: str, code: str) -> None:
    house.plant(path, code)
    if contract == "cycles":
        house.plant(*CYCLE_BACK)
    assert says(report := house.imports(), contract, "BROKEN"), report


def test_the_spool_may_use_the_hook(house: House) -> None:
    house.plant("world/hook/planted.py", "")
    house.plant("world/spool/planted.py", "import custody.capture.hook\nimport custody.capture.hook.planted")
    house.plant("world/spool/__init__.py", "import custody.capture.hook\nimport custody.capture.hook.planted")
    assert says(report := house.imports(), "doors", "KEPT"), report


def test_a_new_room_finds_its_place_in_every_contract() -> None:
    floors = [set(row.replace("|", " ").split()) for row in rows("floors", "layers") if row]
    app, world = floors.index({"app"}), floors.index({"world"})
    above, pure = set().union(*floors[:app]), set().union(*floors[world + 1 :])
    assert names("thin", "source_modules") == {f"custody.{room}" for room in above}
    engines = {"world"} | pure - {"model", "wire"}
    assert names("thin", "forbidden_modules") == {f"custody.{room}" for room in engines}
    limited = {
        name for contract in CONTRACTS if CONTRACTS[contract]["type"] == "only" for name in names(contract, "modules")
    }
    assert {f"custody.{room}" for room in pure} <= limited


def says(report: str, contract: str, outcome: str) -> bool:
    return re.search(rf"^{re.escape(CONTRACTS[contract]['name'])} {outcome}", report, re.MULTILINE) is not None


# What only a call shows is ruff's: one file for each banned name, in rooms of each kind, looked at in one run.

STRICT_BANS = sorted(STRICT_RUFF["lint"]["flake8-tidy-imports"]["banned-api"])
WORLDLY_BANS = sorted(WORLDLY_RUFF["lint"]["flake8-tidy-imports"]["banned-api"])
STRICT_ROOMS = ("model", "wire", "cli", "a_new_room")
WORLDLY_ROOMS = ("app", "sdk", "world/git", "world/store", "world/hook", "world/pool")


@pytest.fixture(scope="module")
def banned(tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    """The planted files in which ruff saw a banned name, by the two lists as `make lint` uses them."""
    house = House(tmp_path_factory.mktemp("banned"))
    for room in (*STRICT_ROOMS, *WORLDLY_ROOMS):
        for number, name in enumerate(STRICT_BANS):
            house.plant(f"{room}/banned_{number}.py", use_of(name))
    worldly = ("src/custody/world", "src/custody/app", "src/custody/sdk")
    said = house.ruff("src") + house.ruff("--config", "tools/ruff-worldly.toml", *worldly)
    return set(re.findall(r"^src/custody/(.*banned_\d+\.py):\d+:\d+: TID251", said, re.MULTILINE))


@pytest.mark.parametrize("name", STRICT_BANS)
def test_clock_chance_environment_and_network_are_banned(name: str, banned: set[str]) -> None:
    file = f"banned_{STRICT_BANS.index(name)}.py"
    assert {room for room in STRICT_ROOMS if f"{room}/{file}" in banned} == set(STRICT_ROOMS)
    assert {room for room in WORLDLY_ROOMS if f"{room}/{file}" in banned} == set(
        WORLDLY_ROOMS if name in WORLDLY_BANS else ()
    )


def test_world_and_app_are_banned_from_nothing_that_others_may_use() -> None:
    assert set(WORLDLY_BANS) < set(STRICT_BANS)


def use_of(name: str) -> str:
    """Code that imports the module of ``name`` and uses it."""
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


@pytest.mark.parametrize("rule", BROAD_CATCHES)
@pytest.mark.parametrize("room", ["model", "world/store", "app", "cli"])
def test_a_broad_catch_is_an_error(house: House, rule: str, room: str) -> None:
    house.plant(f"{room}/planted.py", BROAD_CATCHES[rule])
    assert f": {rule} " in house.ruff(f"src/custody/{room}/planted.py")


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
        house.plant(f"model/untyped_{number}.py", code)
    return house.mypy("src/custody/core")


@pytest.mark.parametrize("code", UNTYPED)
def test_mypy_is_strict(code: str, typed: str) -> None:
    file = f"untyped_{list(UNTYPED).index(code)}.py"
    assert re.search(rf"{file}:\d+: error: .*\[{code}\]", typed), typed
