"""A file of generic events is read line by line: each event is stored once, other lines are reported."""

from pathlib import Path

import pytest

from custody.intake.import_events import import_event_file
from custody.workspace.workspace import Workspace
from tests.builders.cli import a_git_folder
from tests.builders.events import KINDS, an_event

SECRET = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return Workspace(a_git_folder(tmp_path / "repo"))


def a_file(tmp_path: Path, *lines: bytes) -> Path:
    (tmp_path / "events.jsonl").write_bytes(b"\n".join(lines))
    return tmp_path / "events.jsonl"


def test_every_kind_of_generic_event_once(workspace: Workspace, tmp_path: Path) -> None:
    file = a_file(tmp_path, *(an_event(kind) for kind in KINDS))
    first, second = import_event_file(workspace, file), import_event_file(workspace, file)
    assert (first.lines, first.new, first.problem_count) == (len(KINDS), len(KINDS), 0)
    assert (second.new, second.known) == (0, len(KINDS))


def test_an_invalid_event_is_named_and_the_rest_is_used(workspace: Workspace, tmp_path: Path) -> None:
    hook = b'{"custody":1,"kind":"hook","agent":"a","event":"e","id":"1","at":"2026-01-31T12:00:00Z"}'
    report = import_event_file(
        workspace, a_file(tmp_path, an_event(), b"", b"{", b"[]", hook, an_event(path="/x"), an_event("link"))
    )
    assert report.new == 2
    assert [(problem.line, problem.what.split(":")[0]) for problem in report.problems] == [
        (3, "not JSON"),
        (4, "an event is a JSON object"),
        (5, "unknown kind of event 'hook'"),
        (6, "'/x' is absolute"),
    ]


def test_secrets_are_taken_out(workspace: Workspace, tmp_path: Path) -> None:
    import_event_file(workspace, a_file(tmp_path, an_event("prompt", text=f"use {SECRET}")))
    with workspace.reading() as store:
        (payload,) = (store.tables.payload(record) for record in store.tables.newest(1, None))
    assert isinstance(payload, dict)
    assert SECRET not in str(payload) and payload["text"] == "use [redacted:github-token]"
