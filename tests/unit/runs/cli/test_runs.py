"""What ``custody runs`` and ``custody why`` print about recorded tests."""

import json
from pathlib import Path

from tests.builders.cli import spool_of
from tests.builders.events import an_event
from tests.builders.in_process import custody
from tests.builders.repo import Built, a_repository

OLD, NEW = "a = 1\n", "a = 1\nb = 2\n"


def a_tested_repository(folder: Path, *, edited_again: bool = False) -> Built:
    built = a_repository(folder)
    built.commit({b"src/app.py": OLD.encode()}, at=1_769_800_000, message=b"begin")
    spool = spool_of(built.path)
    spool.put(an_event("session", at="2026-01-31T11:59:00Z"))
    spool.put(an_event("prompt", id="p", at="2026-01-31T11:59:30Z"))
    spool.put(an_event("call", id="c1", at="2026-01-31T12:00:00Z"))
    spool.put(an_event("edit", id="e1", call="c1", path="src/app.py", before=OLD, after=NEW, head=built.head()))
    spool.put(
        an_event(
            "call",
            id="c2",
            name="Bash",
            at="2026-01-31T12:01:00Z",
            ended_at="2026-01-31T12:01:03Z",
            input={"command": "pytest -q --tb=\x1b7 | tail -1"},
            output="3 passed in 0.10s\n",
        )
    )
    if edited_again:
        spool.put(
            an_event("edit", id="e2", path="src/app.py", at="2026-01-31T12:02:00Z", before=NEW, after=NEW + "c\n")
        )
    (built.path / "src").mkdir(exist_ok=True)
    (built.path / "src/app.py").write_text(NEW + ("c\n" if edited_again else ""))
    return built


def test_runs_are_listed_with_their_counts_and_later_edits(tmp_path: Path) -> None:
    built = a_tested_repository(tmp_path / "repository", edited_again=True)
    shown = custody(built.path, "runs")
    assert shown.status == 0, shown.err
    assert "test · 3 passed · 3.0 s" in shown.out
    assert "edited after it: src/app.py" in shown.out
    assert "\x1b7" not in shown.out
    (run,) = json.loads(custody(built.path, "runs", "s1", "--json").out)["runs"]
    assert (run["kind"], run["result"], run["source"], run["scope"]) == ("test", "passed", "output", "suite")


def test_a_session_without_checks_says_so_and_lists_other_commands_on_request(tmp_path: Path) -> None:
    built = a_repository(tmp_path / "repository")
    call = an_event("call", name="Bash", ended_at="2026-01-31T12:00:01Z", input={"command": "ls"})
    spool_of(built.path).put(call)
    assert custody(built.path, "runs").out.startswith("no test, build or check was recorded")
    assert "other · passed" in custody(built.path, "runs", "--all").out


def test_why_says_whether_tests_passed_after_the_last_edit(tmp_path: Path) -> None:
    built = a_tested_repository(tmp_path / "fresh")
    assert "3 passed after the last edit: pytest -q" in custody(built.path, "why", "src/app.py:2").out
    stale = a_tested_repository(tmp_path / "stale", edited_again=True)
    assert "tested     " in (out := custody(stale.path, "why", "src/app.py:2").out)
    assert "not since the last edit" in out


def test_a_file_that_changed_before_the_test_was_tested(tmp_path: Path) -> None:
    """A snapshot of the test itself shows an earlier edit: that edit is not after the start of the test."""
    built = a_tested_repository(tmp_path / "repository")
    around = {"custody": 1, "kind": "snapshot", "agent": "robot", "session": "s1", "phase": "before"}
    for call, at, text in (("c0", "2026-01-31T11:59:50Z", OLD), ("c2", "2026-01-31T12:01:00Z", NEW)):
        snapshot = around | {
            "id": f"{call}-before",
            "call": call,
            "at": at,
            "files": [{"path": "src/app.py", "text": text}],
        }
        spool_of(built.path).put(json.dumps(snapshot).encode())
    assert "3 passed after the last edit: pytest -q" in custody(built.path, "why", "src/app.py:2").out
