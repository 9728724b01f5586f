"""``custody stats`` as a user sees it."""

import json
from pathlib import Path

import pytest

from tests.builders import cli
from tests.builders.cli import spool_of
from tests.builders.events import an_event
from tests.builders.in_process import custody
from tests.builders.repo import Built, a_repository

OLD = "def total(numbers):\n    return sum(numbers)\n"
NEW = OLD + "def mean(numbers):\n    return total(numbers) / len(numbers)\n"


@pytest.fixture
def built(tmp_path: Path) -> Built:
    made = a_repository(tmp_path / "repository")
    made.commit({b"src/a.py": OLD.encode(), b"x.bin": b"\0"}, at=1_767_000_000)
    spool_of(made.path).put(an_event("session", at="2026-01-31T11:59:00Z"))
    spool_of(made.path).put(an_event("edit", id="e1", path="src/a.py", before=OLD, after=NEW, head=made.head()))
    made.commit({b"src/a.py": NEW.encode(), b"x.bin": b"\0"}, made.head(), at=1_769_862_000)
    made.checkout()
    return made


def test_tables_with_bars_that_fit_the_terminal(built: Built) -> None:
    ran = custody(built.path, "stats", COLUMNS="50")
    assert (ran.status, ran.err) == (0, "")
    lines = ran.out.splitlines()
    assert lines[0].startswith("the whole repository as of ")
    assert lines[0].endswith(": 4 line(s) in 1 file(s)")
    assert lines[1].startswith("agents' share 50.0%; looked since 2026-01-")
    assert lines[3:6] == [
        "class  lines   of all",
        f"agent      2    50.0%  {'█' * 14}{'░' * 13}",
        f"none       2    50.0%  {'█' * 14}{'░' * 13}",
    ]
    assert [line.split()[0] for line in lines if line.endswith("of all")] == [
        "class",
        "model",
        "agent",
        "tier",
        "month",
    ]
    assert lines[-2:] == ["left out: 1 file(s)", "  'x.bin' is a binary file"]
    assert max(map(len, lines[3:])) <= 50


def test_of_one_agent_the_folders_have_its_own_share(built: Built) -> None:
    ran = custody(built.path, "stats", "--agent", "gemini", COLUMNS="50")
    assert "gemini's share 0.0%" in ran.out
    assert ran.out.splitlines()[-5:-3] == ["folder  lines  gemini's", f"src/        4      0.0%  {'░' * 25}"]


def test_a_terminal_without_utf8_gets_plain_signs(built: Built) -> None:
    ran = cli.custody(built.path, "stats", "src", PYTHONIOENCODING="ascii")
    assert (ran.status, ran.err) == (0, "")
    assert ran.out.isascii()
    assert "#####" in ran.out


def test_json_has_totals_and_lists(built: Built) -> None:
    report = json.loads(custody(built.path, "stats", "--json").out)
    assert (report["report"], report["version"], report["files"]) == ("stats", 1, 1)
    wanted = {"name": "all", "lines": 4, "agent": 2, "mixed": 0, "person": 0, "none": 2, "share": 0.5, "part": 1.0}
    assert report["totals"] == wanted
    assert [row["name"] for row in report["models"]] == ["m-1"]
    assert [row["name"] for row in report["folders"]] == ["src/"]


def test_bad_paths_and_revisions_are_refused(built: Built) -> None:
    assert custody(built.path, "stats", "nowhere").status == 2
    assert custody(built.path, "stats", "--rev", "nothing").status != 0
    assert custody(built.path, "stats", "..").status == 2
