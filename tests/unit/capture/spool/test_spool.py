"""The spool: one durable file per event, oldest first; no acknowledged event is lost."""

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from custody.capture.hook import durable
from custody.capture.spool import Spool
from custody.core.errors import InputError, SpoolError
from tests.builders.events import an_event


def test_events_wait_in_order(tmp_path: Path) -> None:
    spool = Spool(tmp_path / "spool")
    receipts = [spool.put(an_event(id=str(n))).event for n in range(5)]
    assert spool.names() == receipts
    assert [arrival.entry.event for arrival in spool.oldest(3).arrivals] == receipts[:3]
    assert [arrival.entry.event for arrival in spool.oldest(9, skip=3).arrivals] == receipts[3:]


def test_an_event_is_synced_before_it_has_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[str] = []

    def noted(call: str) -> Callable[..., object]:
        real = getattr(os, call)

        def noting(*words: object) -> object:
            done.append(call)
            return real(*words)

        return noting

    for call in ("fsync", "rename"):
        monkeypatch.setattr(os, call, noted(call))
    Spool(tmp_path).put(an_event())
    assert done == ["fsync", "rename", "fsync"], "the file, its name, the folder"


def test_files_and_folder_are_accessible_to_their_owner_only(tmp_path: Path) -> None:
    spool = Spool(tmp_path / "custody" / "spool")
    spool.put(an_event())
    assert [p.stat().st_mode & 0o077 for p in (spool.folder, spool.folder.parent, *spool.folder.iterdir())] == [0, 0, 0]


def test_an_invalid_event_is_not_acknowledged(tmp_path: Path) -> None:
    spool = Spool(tmp_path / "spool")
    with pytest.raises(InputError):
        spool.put(b"{}")
    assert not spool.folder.exists()


def test_a_folder_that_cannot_be_created_is_reported(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(SpoolError, match="cannot make the event durable"):
        Spool(tmp_path / "file" / "spool").put(an_event())


def test_damaged_files_are_moved_and_not_deleted(tmp_path: Path) -> None:
    spool = Spool(tmp_path)
    good, bad = (spool.put(an_event(id=str(n))).event for n in range(2))
    (tmp_path / bad).write_bytes((tmp_path / bad).read_bytes()[:-1])
    waiting = spool.oldest(10)
    assert [arrival.entry.event for arrival in waiting.arrivals] == [good]
    spool.set_aside(refused.event for refused in waiting.refused)
    assert spool.names() == [good]
    assert [refused.event for refused in spool.list_rejected_files()] == [bad]
    assert spool.restore_readable_files() == []


def test_rejected_files_that_can_be_read_return(tmp_path: Path) -> None:
    spool = Spool(tmp_path)
    name = spool.put(an_event()).event
    spool.set_aside([name])
    assert spool.names() == []
    assert spool.restore_readable_files() == [name]
    assert spool.names() == [name]


def test_removing_a_missing_event_does_nothing(tmp_path: Path) -> None:
    spool = Spool(tmp_path)
    name = spool.put(an_event()).event
    spool.remove([name, name])
    spool.set_aside([name])
    assert spool.names() == []


def test_unfinished_files_are_not_events(tmp_path: Path) -> None:
    spool = Spool(tmp_path)
    name = spool.put(an_event()).event
    (tmp_path / name).rename(tmp_path / f"{name}.tmp")
    assert spool.names() == []
    assert [path.name for path in spool.list_unfinished_files()] == [f"{name}.tmp"]
    assert spool.list_foreign_files() == []


def test_reading_stops_at_the_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("custody.capture.spool.BATCH_BYTES", 10_000)
    spool = Spool(tmp_path)
    for n in range(4):
        spool.put(an_event(id=str(n), after="x" * 8_000))
    assert len(spool.oldest(256).arrivals) == 2


def test_several_events_of_one_file_have_their_own_ids(tmp_path: Path) -> None:
    spool = Spool(tmp_path)
    receipt = spool.put_all([an_event(id="1"), an_event(id="2")])
    spool.put(an_event(id="3"))
    waiting = spool.oldest(256)
    assert waiting.files == len(spool.names()) == 2
    assert [one.entry.event for one in waiting.arrivals][:2] == [f"{receipt.event}.0", f"{receipt.event}.1"]
    assert [json.loads(one.payload)["id"] for one in waiting.arrivals] == ["1", "2", "3"]
    spool.remove(one.entry.event for one in waiting.arrivals)
    assert spool.names() == []


def test_a_file_of_several_events_is_read_as_a_whole(tmp_path: Path) -> None:
    spool = Spool(tmp_path)
    for n in range(3):
        spool.put_all([an_event(id=f"{n}a"), an_event(id=f"{n}b")])
    assert [len(spool.oldest(3, skip=skip).arrivals) for skip in range(4)] == [4, 4, 2, 0]


def test_secrets_are_redacted_in_each_of_several_events(tmp_path: Path) -> None:
    spool = Spool(tmp_path / "spool")
    secret = "ghp_" + "a1B2c3D4e5F6" * 3
    spool.put_all([an_event("prompt", id="1", text="plain"), an_event("prompt", id="2", text=f"use {secret}")])
    (file,) = spool.names()
    assert secret.encode() not in (spool.folder / file).read_bytes()
    plain, clean = (json.loads(one.payload) for one in spool.oldest(10).arrivals)
    assert plain["text"] == "plain"
    assert len(clean["redacted"]) == 1


def test_one_invalid_event_of_a_file_is_named_and_the_others_are_read(tmp_path: Path) -> None:
    spool = Spool(tmp_path)
    spool.put_all([an_event(id="1"), b'{"custody":1}'])
    (arrival,) = spool.oldest(10).arrivals
    assert arrival.entry.key == "event:robot:s1:edit:1"
    (rejected,) = spool.list_rejected_files()
    assert rejected.why.startswith("event 2: ")


def test_an_unreadable_event_is_not_written(tmp_path: Path) -> None:
    with pytest.raises(InputError):
        Spool(tmp_path).put_all([b" " * (16 * 1024 * 1024)])
    assert Spool(tmp_path).names() == []


def test_frames_round_trip_and_any_flipped_bit_shows() -> None:
    whole = durable.frame_spool_event(b"an event")
    assert durable.unframe_spool_event(whole) == b"an event"
    for bit in range(len(whole) * 8):
        data = bytearray(whole)
        data[bit // 8] ^= 1 << bit % 8
        assert durable.unframe_spool_event(bytes(data)) is None
