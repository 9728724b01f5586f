"""What each verb may load and start: the budget that keeps commands quick.

A module costs about 0.3 ms, a dataclass 0.8 ms, a git process 1 to 3 ms. Raise a number only with a reason.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from msgspec import Struct
from msgspec.json import decode

from custody.cli.verb_table import SECTIONS
from tests.builders.questions import LINE, a_project

PROBE = """
import atexit, json, os, sqlite3, subprocess, sys
cost = {"git": 0, "stores": 0}
def counted(name, real):
    def call(*arguments, **options):
        cost[name] += 1
        return real(*arguments, **options)
    return call
subprocess.Popen.__init__ = counted("git", subprocess.Popen.__init__)
sqlite3.connect = counted("stores", sqlite3.connect)
words, sys.argv = sys.argv[1:], ["custody", *sys.argv[1:]]
@atexit.register
def tell():
    ours = {name: module for name, module in sys.modules.items() if name.partition(".")[0] == "custody"}
    outside = (vars(module).values() for name, module in ours.items() if not name.startswith("custody.capture.hook"))
    kinds = {kind for values in outside for kind in values if isinstance(kind, type)}
    cost["modules"] = len(ours)
    cost["dataclasses"] = sorted(
        kind.__qualname__ for kind in kinds
        if "__dataclass_fields__" in vars(kind) and kind.__module__.startswith("custody.")
    )
    print(json.dumps(cost), file=sys.stderr)
from custody.cli.main import main
main()
"""


class StartCost(Struct, forbid_unknown_fields=True):
    """What one command loaded and started."""

    modules: int
    dataclasses: list[str]
    git: int
    stores: int


def measure_start(folder: Path, *words: str) -> StartCost:
    """Run a command in ``folder`` and return what it cost."""
    command = [sys.executable, "-c", PROBE, *words]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, env={**os.environ})
    assert done.returncode in (0, 1), done.stderr
    return decode(done.stderr.splitlines()[-1], type=StartCost)


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("project") / "work"
    a_project(folder)
    for verb in ("blame", "why"):  # the first question stores what the next ones read
        measure_start(folder, verb, f"src/app.py{':1' * (verb == 'why')}")
    return folder


# Modules of custody, git processes, store openings. The goals: 60 modules for ``blame``, 5 git processes for ``gate``.
# ``why`` and ``gate`` also read runs of tests and statements of people; ``gate`` also compares the refs and the history
# of similar changes. Questions about lines read the commits that git blame names.
BUDGETS = {
    ("blame", "src/app.py"): (113, 4, 1),
    ("undo", "s1"): (128, 14, 1),
    ("log",): (65, 1, 1),
    ("why", f"src/app.py:{LINE}"): (199, 3, 1),
    ("gate", "HEAD~1..HEAD"): (253, 18, 1),
    ("stats",): (114, 9, 1),
    ("records",): (61, 1, 1),
    ("show", "1"): (61, 1, 1),
    ("verify",): (77, 1, 1),
    ("trust", "list"): (84, 1, 1),
    ("cite", "list"): (103, 1, 1),
    ("graph", "show"): (106, 1, 1),
    ("dupes", "index"): (103, 7, 1),
    ("rules", "trust"): (96, 1, 0),
    ("doctor",): (148, 2, 2),
    ("export",): (151, 7, 1),
    ("remote", "list"): (29, 0, 0),
}
HELP_MODULES_MAX = 15
MORE_FOR_HELP = {
    **dict.fromkeys(("init", "uninstall", "doctor", "demo"), 27),  # the names of agents
    "review": 17,  # the looks of the gate
    **dict.fromkeys(("dupes", "trust"), 25),  # the words of answers and outcomes
    **dict.fromkeys(("github", "project", "token", "worker"), 80),  # the kinds of jobs and the scopes of tokens
}


def test_each_verb_stays_within_its_budget(project: Path) -> None:
    found = {words: measure_start(project, *words) for words in BUDGETS}
    spent = {" ".join(words): (cost.modules, cost.git, cost.stores) for words, cost in found.items()}
    allowed = {" ".join(words): budget for words, budget in BUDGETS.items()}
    assert {name: cost for name, cost in spent.items() if any(map(int.__gt__, cost, allowed[name]))} == {}
    assert {words: cost.dataclasses for words, cost in found.items() if cost.dataclasses} == {}


def test_help_imports_no_engine(project: Path) -> None:
    found = {verb: measure_start(project, verb, "--help") for verbs in SECTIONS.values() for verb in verbs}
    allowed = {verb: MORE_FOR_HELP.get(verb, HELP_MODULES_MAX) for verb in found}
    assert {verb: cost.modules for verb, cost in found.items() if cost.modules > allowed[verb]} == {}
    assert {verb for verb, cost in found.items() if cost.git or cost.stores or cost.dataclasses} == set()
