"""The calls of an agent before it changed a risky file, judged in a real repository."""

from pathlib import Path
from typing import Any

import pytest

from custody.core.wire.time import format_timestamp
from custody.gate.app.gate import GateRequest, gate
from custody.gate.wire.report import GateReport
from custody.workspace.workspace import Workspace
from tests.builders.cli import spool_of
from tests.builders.hooks import a_recorded_call, a_recorded_edit, recorded_edits
from tests.builders.repo import NOON, a_repository

NS = 1_000_000_000
LOGIN, PLAIN = "src/auth/login.py", "src/plain.py"
OLD, NEW = "def login(user):\n    return check(user)\n", "def login(user):\n    return check(user) or user.is_root\n"
RULES = b'[gate]\ncalls = "on"\ncalls_learnt_min = 60\n'


class World:
    """Thirty usual sessions, and one that changes a file."""

    def __init__(self, folder: Path, rules: bytes = RULES, path: str = LOGIN) -> None:
        self.built = a_repository(folder)
        self.file = path
        files = {b"custody.toml": rules, path.encode(): OLD.encode()}
        self.base = self.built.commit(files, at=NOON)
        self.head = self.built.commit(files | {path.encode(): NEW.encode()}, self.base, at=NOON + 7200)
        self.built.checkout()
        for number in range(30):
            self.session(f"usual{number}", "Read", "Edit", "Bash", at=NOON - 100_000 + number * 1000)

    def session(self, name: str, *calls: str, at: int = NOON + 60) -> "World":
        for place, call in enumerate(calls):
            ended = format_timestamp((at + 10 * place + 1) * NS)
            spool_of(self.built.path).put(a_recorded_call(call, call=f"{name}-{place}", session=name, at=ended))
        return self

    def edits(self, name: str, *calls: str, **fields: str | None) -> GateReport:
        """Make these calls in a session; the last one changes the file."""
        self.session(name, *calls[:-1])
        call: dict[str, Any] = {"call": f"{name}-{len(calls) - 1}", **fields}
        call |= {"id": f"{name}-edit", "session": name, "head": self.base}
        call["at"] = format_timestamp((NOON + 60 + 10 * (len(calls) - 1)) * NS)
        if call["call"] is None:
            edits = recorded_edits(self.file, OLD, NEW, agent="robot", **call)
        else:
            edits = [a_recorded_edit(self.file, OLD, NEW, root=self.built.path, tool=calls[-1], **call)]
        for edit in edits:
            spool_of(self.built.path).put(edit)
        workspace = Workspace(self.built.path, now_ns=lambda: (NOON + 9000) * NS)
        return gate(workspace, GateRequest(change=f"{self.base}..{self.head}"))


def codes(report: GateReport) -> list[str]:
    return [reason.code for reason in report.reasons if reason.code.startswith("GRAPH-")]


def test_usual_calls_give_no_reason(tmp_path: Path) -> None:
    assert codes(World(tmp_path).edits("mine", "Read", "Edit")) == []


def test_calls_that_never_come_before_an_edit_are_named(tmp_path: Path) -> None:
    report = World(tmp_path).edits("odd", "WebFetch", "Download", "Decrypt", "Edit")
    assert codes(report) == ["GRAPH-UNUSUAL"]
    reason = next(reason for reason in report.reasons if reason.code == "GRAPH-UNUSUAL")
    assert "session odd called WebFetch, Download, Decrypt" in reason.sentence
    assert [place.path for place in reason.places] == [LOGIN]


def test_an_agents_line_without_a_known_call_is_unseen(tmp_path: Path) -> None:
    report = World(tmp_path).edits("odd", "WebFetch", "Download", "Edit", call=None)
    assert report.added.agent == 1
    assert codes(report) == ["GRAPH-UNSEEN"]


def test_a_file_that_is_not_risky_is_not_checked(tmp_path: Path) -> None:
    assert codes(World(tmp_path, path=PLAIN).edits("odd", "WebFetch", "Download", "Edit")) == []


@pytest.mark.parametrize(("rules", "found"), [(b"", []), (RULES.replace(b"60", b"9999"), ["GRAPH-UNSEEN"])])
def test_the_check_runs_only_when_it_is_on_and_reports_too_few_sessions(
    tmp_path: Path, rules: bytes, found: list[str]
) -> None:
    report = World(tmp_path, rules).edits("odd", "WebFetch", "Download", "Edit")
    assert codes(report) == found
    assert ("calls" in [one.name for one in report.skipped]) is (not found)
