"""Marks of read hunks: bound to the text of a hunk, recorded once, and refused where they name none."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from custody.core.errors import InputError
from custody.core.ids import EventId
from custody.core.wire.arrival import arrival_from_bytes, arrival_from_json
from custody.people.reads import ReadRequest, list_change_reads, record_reads
from custody.people.wire import ReadReport
from custody.workspace.workspace import Workspace
from tests.builders.events import an_event
from tests.builders.repo import Built, a_repository

BASE = {b"a.txt": b"".join(b"%d\n" % n for n in range(40))}


def edited(**lines: bytes) -> dict[bytes, bytes | tuple[str, bytes]]:
    """Return the base's file with some lines replaced: ``_3=b"x"`` replaces the line with index 3."""
    texts = BASE[b"a.txt"].splitlines(keepends=True)
    for name, text in lines.items():
        texts[int(name[1:])] = text + b"\n"
    return {b"a.txt": b"".join(texts)}


@pytest.fixture
def built(tmp_path: Path) -> Built:
    return a_repository(tmp_path / "repository")


def read_states(report: ReadReport) -> list[bool]:
    return [bool(hunk.readers) for hunk in report.hunks]


def test_a_mark_outlives_amending_rebasing_and_squashing_and_ends_with_the_text(built: Built) -> None:
    base = built.commit(BASE)
    first = built.commit(edited(_3=b"three"), base)
    head = built.commit(edited(_3=b"three", _30=b"thirty"), first)
    workspace = Workspace(built.path)
    report = record_reads(workspace, ReadRequest(change=f"{base}..{head}", is_whole=True, person="ana"))
    assert (read_states(report), report.recorded) == ([True, True], 2)
    amended = built.commit(edited(_3=b"three", _30=b"thirty"), first, message=b"other words", at=1_700_009_999)
    squashed = built.commit(edited(_3=b"three", _30=b"thirty"), base)
    other_base = built.commit({**BASE, b"b.txt": b"new\n"}, base)
    rebased = built.commit({**edited(_3=b"three", _30=b"thirty"), b"b.txt": b"new\n"}, other_base)
    for start, end in ((base, amended), (base, squashed), (other_base, rebased)):
        assert read_states(list_change_reads(workspace, f"{start}..{end}")) == [True, True]
    changed = built.commit(edited(_3=b"three", _30=b"THIRTY"), first)
    assert read_states(list_change_reads(workspace, f"{base}..{changed}")) == [True, False]


def test_a_second_mark_of_the_same_person_adds_no_record(built: Built) -> None:
    base = built.commit(BASE)
    head = built.commit(edited(_3=b"three"), base)
    workspace = Workspace(built.path)
    request = ReadRequest(change=f"{base}..{head}", is_whole=True, person="ana")
    assert [record_reads(workspace, request).recorded for _ in range(3)] == [1, 0, 0]
    other = record_reads(workspace, ReadRequest(change=request.change, is_whole=True, person="bob"))
    assert other.recorded == 1
    assert [reader.person for reader in other.hunks[0].readers] == ["ana", "bob"]


def test_a_second_copy_of_a_hunk_is_unread(built: Built) -> None:
    base = built.commit(BASE)
    once = built.commit(edited(_3=b"same"), base)
    workspace = Workspace(built.path)
    record_reads(workspace, ReadRequest(change=f"{base}..{once}", is_whole=True))
    texts = edited(_3=b"3\nextra", _30=b"30\nextra")
    twice = built.commit(texts, base)
    report = record_reads(
        workspace,
        ReadRequest(change=f"{base}..{twice}", hunks=[list_change_reads(workspace, f"{base}..{twice}").hunks[0].id]),
    )
    assert read_states(report) == [True, False]


def test_files_without_lines_can_be_read_too(built: Built) -> None:
    base = built.commit(BASE)
    head = built.commit({**BASE, b"image.bin": b"\0\1"}, base)
    other = built.commit({**BASE, b"image.bin": b"\0\2"}, base)
    workspace = Workspace(built.path)
    report = record_reads(workspace, ReadRequest(change=f"{base}..{head}", paths=["image.bin"]))
    assert [(hunk.first, bool(hunk.readers)) for hunk in report.hunks] == [(None, True)]
    assert read_states(list_change_reads(workspace, f"{base}..{other}")) == [False]


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({}, "no hunk to mark as read"),
        ({"hunks": ["0" * 64]}, "has no hunk"),
        ({"hunks": [""]}, "has no hunk"),
        ({"paths": ["gone.txt"]}, "does not touch 'gone.txt'"),
        ({"is_whole": True, "person": "  "}, "the person has no name"),
        ({"is_whole": True, "person": "ghp_" + "A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8"}, "looks like a secret"),
    ],
)
def test_what_cannot_be_marked_is_refused_and_nothing_recorded(
    built: Built, fields: dict[str, object], message: str
) -> None:
    base = built.commit(BASE)
    change = f"{base}..{built.commit(edited(_3=b'three'), base)}"
    workspace = Workspace(built.path)
    with pytest.raises(InputError, match=message):
        record_reads(workspace, ReadRequest(change=change, **fields))  # type: ignore[arg-type]
    assert read_states(list_change_reads(workspace, change)) == [False]


@given(st.text(max_size=70))
def test_an_event_names_a_hunk_by_its_digits_only(name: str) -> None:
    with pytest.raises(InputError):
        arrival_from_bytes(EventId("1"), an_event("read", hunk=name))


def test_only_a_service_says_that_a_host_vouches() -> None:
    event = json.loads(an_event("read", witness={"kind": "host", "by": "github:ana"}))
    with pytest.raises(InputError, match="only recorded by the service's own webhook"):
        arrival_from_bytes(EventId("1"), json.dumps(event).encode())
    assert arrival_from_json(EventId("1"), event).entry.kind == "read"
