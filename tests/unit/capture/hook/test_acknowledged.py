"""Whatever the hook acknowledges is ingested, or set aside as a gap with a warning; it is never damage."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory, TemporaryFile
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from custody.capture.hook.event_home import read_capture_gaps
from custody.capture.hook.event_recorder import HookArguments, HookInput, record_hook_event
from custody.core.errors import InputError
from custody.core.ids import EventId
from custody.core.wire.arrival import arrival_from_bytes
from custody.intake.install.doctor import run_doctor_checks
from custody.intake.record import record_agent_hook_event
from custody.ledger.records import list_recording_gaps
from custody.ledger.verify import check_ledger_integrity, verify_ledger
from custody.server.app.intake import Intake
from custody.workspace.workspace import Workspace
from tests.builders.cli import a_git_folder, spool_of
from tests.builders.hooks import an_edit, home_of, installed, run_hook
from tests.builders.in_process import custody

AT = "2026-03-03T12:00:00Z"
ABOUT = {"custody": 1, "at": AT, "id": "x", "agent": "robot", "session": "s"}
GENERIC: tuple[dict[str, Any], ...] = (
    {**ABOUT, "kind": "prompt", "text": "hello"},
    {
        **ABOUT,
        "kind": "edit",
        "path": "a.py",
        "before": "",
        "after": "x\n",
        "lines": [{"first": 1, "last": 1}],
        "content_hashes": ["ab" * 32],
    },
    {**ABOUT, "kind": "call", "name": "Bash", "input": {"command": ["ls"]}, "output": {"lines": [1]}},
    {**ABOUT, "kind": "decision", "decision": "accepted", "areas": ["src"], "sessions": ["s"], "boost": 0.5},
    {
        **ABOUT,
        "kind": "span",
        "execution": "e",
        "span": "n",
        "phase": "whole",
        "ended_at": AT,
        "status": "ok",
        "name": "n",
        "span_kind": "tool",
        "links": [{"span": "m", "execution": "e"}],
        "attributes": {"a": 1},
    },
)
WRONG: tuple[Any, ...] = (
    None,
    True,
    0,
    -1,
    1.5,
    10**300,
    "",
    " ",
    "x",
    "\x00",
    "\udc80",
    "a" * 3000,
    "2026-99-99T00:00:00Z",
    [],
    [[]],
    [None],
    [1, {}],
    ["x", "x"],
    {},
    {"kind": {}},
    {"\udc80": [1]},
)


def places(value: Any, place: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """Yield the place of every part of a JSON value, the value itself first."""
    yield place
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in parts:
        yield from places(part, (*place, key))


def put(value: Any, place: tuple[str | int, ...], part: Any) -> Any:
    """Return a JSON value with another part at a place."""
    if not place:
        return part
    copy: Any = dict(value) if isinstance(value, dict) else list(value)
    copy[place[0]] = put(copy[place[0]], place[1:], part)
    return copy


def every_wrong_event() -> Iterator[bytes]:
    """Yield each generic event with each part replaced by each wrong value."""
    for event in GENERIC:
        for place in places(event):
            for wrong in WRONG:
                yield json.dumps(put(event, place, wrong)).encode()


def tell(repository: Path, data: bytes, agent: str = "claude-code") -> str | None:
    """Record as the hook does; return the receipt."""
    with TemporaryFile() as source:
        source.write(data)
        source.seek(0)
        arguments, given_input = HookArguments(["--agent", agent]), HookInput(source.fileno(), 0.0)
        return record_hook_event(arguments, given_input, given_input.fields(), str(home_of(repository)))


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
spoilt_events = st.sampled_from(GENERIC).flatmap(
    lambda event: st.builds(
        lambda place, part: json.dumps(put(event, place, part)).encode(),
        st.sampled_from(list(places(event))),
        json_values | st.sampled_from(WRONG),
    )
)
hook_events = st.fixed_dictionaries(
    {},
    optional={
        name: json_values
        for name in ("hook_event_name", "session_id", "cwd", "tool_name", "tool_input", "tool_response", "custody")
    },
).map(lambda event: json.dumps(event).encode())
said = st.lists(st.binary(max_size=60) | spoilt_events | hook_events, min_size=1, max_size=6)


@given(said, st.sampled_from(("claude-code", "cursor", "gemini", "copilot", "\udc80")))
@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
def test_what_is_acknowledged_is_ingested_or_a_gap_and_the_store_is_intact(told: list[bytes], agent: str) -> None:
    with TemporaryDirectory() as folder:
        repository = a_git_folder(Path(folder) / "repository")
        workspace = Workspace(repository)
        receipts = [name for name in (tell(repository, data, agent) for data in told) if name is not None]
        counted = len(told) - len(receipts)
        waiting = spool_of(repository).oldest(100)
        assert {arrival.entry.event for arrival in waiting.arrivals} | {file.event for file in waiting.refused} == {
            *receipts
        }
        keys = {arrival.entry.key for arrival in waiting.arrivals}

        for report in (verify_ledger(workspace), check_ledger_integrity(workspace), verify_ledger(workspace)):
            assert (report.outcome, report.findings) == ("fine", [])
        with workspace.reading() as store:
            records = store.tables.records_where("1 = ?", (1,))
        refused = {file.event for file in spool_of(repository).list_rejected_files()}
        gaps = [gap.what for gap in list_recording_gaps(workspace)]

        assert {record.entry.key for record in records} >= keys, "equal events are stored once"
        assert spool_of(repository).names() == []
        assert refused <= set(receipts)
        assert all(any(name in gap for gap in gaps) for name in refused)
        assert len(report.warnings) == len(refused)
        assert len(read_capture_gaps(home_of(repository))) >= counted


def test_no_generic_input_of_a_wrong_type_is_an_error_of_ours(tmp_path: Path) -> None:
    intake = Intake(Workspace(a_git_folder(tmp_path / "repository")))
    refused = 0

    for data in every_wrong_event():
        for kind in ("evidence", "spans"):
            try:
                intake.read(kind, data)
            except InputError:
                refused += 1

    assert refused > 1000


def test_record_acknowledges_only_what_can_be_ingested(tmp_path: Path) -> None:
    repository = a_git_folder(tmp_path / "repository")
    workspace, names, refused = Workspace(repository), list[str](), 0
    for data in every_wrong_event():
        with TemporaryFile() as source:
            source.write(data)
            source.seek(0)
            try:
                record_agent_hook_event(workspace, ["--agent", "robot"], source.fileno(), names.append)
            except InputError:
                refused += 1

    assert refused
    assert names
    assert spool_of(repository).list_rejected_files() == []


@pytest.mark.parametrize(
    "spoilt",
    [{"kind": {}}, {"kind": None}, {"kind": ""}, {"custody": "1"}, {"agent": {}}, {"session": []}, {"at": 5}],
    ids=str,
)
def test_the_hook_refuses_a_generic_event_of_wrong_types_at_once(tmp_path: Path, spoilt: Mapping[str, Any]) -> None:
    repository = installed(a_git_folder(tmp_path / "repository"))

    ran = run_hook(repository, {**GENERIC[0], **spoilt}, "--receipt")

    assert (ran.status, ran.out) == (0, "")
    (gap,) = read_capture_gaps(home_of(repository))
    assert "not recorded: " in gap
    assert "not recorded: " in ran.err
    assert spool_of(repository).names() == []


def test_a_refused_event_is_a_warning_with_a_remedy_and_comes_back(tmp_path: Path) -> None:
    repository = installed(a_git_folder(tmp_path / "repository"))
    assert run_hook(repository, {**GENERIC[0], "kind": "from-the-future"}, "--receipt").out

    verified = custody(repository, "verify")
    assert verified.status == 0
    assert "SPOOL-REFUSED" in verified.out
    assert "OK: 1 record verified" in verified.out, "the gap"
    asked = custody(repository, "doctor")
    assert asked.status == 0
    (file,) = (spool_of(repository).folder / "refused").iterdir()
    assert f"cat FOLDER/{file.relative_to(repository)}" in asked.out.replace("EVENT", file.name)
    assert "rm FOLDER" in asked.out
    assert "'custody doctor' ingests it" in asked.out

    file.unlink()
    assert "SPOOL-REFUSED" not in custody(repository, "verify").out
    assert len(list_recording_gaps(Workspace(repository))) == 1, "removing the file does not hide the loss"


def test_an_event_that_cannot_be_read_is_a_warning_until_it_can(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repository = installed(a_git_folder(tmp_path / "repository"))
    run_hook(repository, an_edit(repository, "a.py", "", "one", "two"))
    with monkeypatch.context() as patch:

        def deny(*_args: object) -> bytes:
            raise PermissionError(13, "Permission denied")

        patch.setattr("custody.capture.spool._read_spool_file", deny)
        report = verify_ledger(Workspace(repository))
        assert (report.outcome, [warning.code for warning in report.warnings]) == ("fine", ["SPOOL-REFUSED"])
    assert run_doctor_checks(Workspace(repository)).checks
    assert verify_ledger(Workspace(repository)).warnings == []
    assert verify_ledger(Workspace(repository)).records == 2, "the event, and the gap while it could not be read"


@pytest.mark.parametrize("byte", [b"\x01", b"\xff"])
def test_any_input_of_gits_hooks_is_ingestible(tmp_path: Path, byte: bytes) -> None:
    repository = installed(a_git_folder(tmp_path / "repository"))
    launcher = home_of(repository) / "hook" / "record.py"

    subprocess.run(
        [sys.executable, "-I", str(launcher), "git", "--event", "post-rewrite"],
        input=byte * 5 * 1024 * 1024,
        cwd=repository,
        env=dict(os.environ),
        check=True,
    )

    (name,) = spool_of(repository).names()
    content = spool_of(repository).oldest(1)
    assert content.refused == ()
    assert [arrival.entry.event for arrival in content.arrivals] == [name]
    assert any("git: " in gap for gap in read_capture_gaps(home_of(repository)))


def test_a_wrong_agent_name_is_unknown(tmp_path: Path) -> None:
    repository = a_git_folder(tmp_path / "repository")
    assert tell(repository, b"{}", "\udc80") is not None
    (arrival,) = spool_of(repository).oldest(1).arrivals
    assert b'"agent":"unknown"' in arrival.payload
    assert arrival_from_bytes(EventId("again"), arrival.payload).payload == arrival.payload
