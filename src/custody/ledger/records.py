"""Records: named, listed, shown and erased, with claims and gaps."""

import re
from collections.abc import Collection, Sequence
from pathlib import Path

from custody.capture.hook.event_home import gaps_in
from custody.core.errors import InputError, StoreError
from custody.core.ids import Digest, RecordRef, Seq, StoreId
from custody.core.record import Record, RecordingGap, gap_of
from custody.core.wire.arrival import SYSTEM_KINDS
from custody.core.wire.body import digest_text, parts
from custody.core.wire.canonical import Json, parse
from custody.core.wire.report import EraseReport, RecordsReport, RecordSummary, ShowReport
from custody.core.wire.time import text_from
from custody.store import RecordFilter, Store
from custody.workspace.machine import user
from custody.workspace.workspace import Workspace

# How people name a record: its number here, ``STORE:NUMBER``, its event id or its natural key.


HINT = "name a record by its number here, 'store:number', its event id or its key ('custody records' lists them)"

_PLACE = re.compile(r"(?:([0-9a-f]{8,32}|pending):)?([1-9][0-9]{0,17})", re.ASCII)


def find_records(store: Store, target: str) -> list[Record]:
    """The records that ``target`` names, oldest first; a bare number is a place in this store's own chain."""
    place = _PLACE.fullmatch(target)
    if place is None:
        return store.tables.records_named(target)
    own = store.own()
    stores = [own] if place[1] is None and own is not None else []
    if place[1] is not None:
        stores = [head.store for head in store.tables.chains() if head.store.startswith(place[1])]
    found = [store.tables.record(RecordRef(StoreId(name), Seq(int(place[2])))) for name in stores]
    return [record for record in found if record is not None]


WITHHELD = "$withheld"
"""Stands around what is known of a record whose texts stayed with the store that shared it."""


def records(workspace: Workspace, *, limit: int, kind: str | None = None) -> RecordsReport:
    """The newest ``limit`` records of every chain by the time they claim, perhaps only of one kind."""
    with workspace.reading() as store, store.reading():
        newest = store.tables.newest(limit, kind)
        return RecordsReport(records=_summarize_records(newest, store.own()), total=store.tables.record_count())


def show(workspace: Workspace, target: str) -> ShowReport:
    """What the named records say; an erased one says nothing."""
    with workspace.reading() as store, store.reading():
        found = find_records(store, target)
        if not found:
            raise InputError(f"no record is named '{target}'", hint=HINT)
        own = store.own()
        return ShowReport(records=_summarize_records(found, own), payloads=[_says(store, record) for record in found])


def _says(store: Store, record: Record) -> Json:
    """A record's payload; of one whose texts were withheld, what its own store tells of it."""
    payload = store.tables.payload(record)
    outline = store.tables.outline(record.entry.digest) if payload is None else None
    return payload if outline is None else {WITHHELD: parse(outline)}


def _summarize_records(records: Sequence[Record], own: StoreId | None) -> list[RecordSummary]:
    return [
        RecordSummary(
            record=str(record.ref),
            number=int(record.seq) if record.store == own else None,
            at=text_from(record.entry.at_ns),
            kind=record.entry.kind,
            key=record.entry.key,
            event=record.entry.event,
            digest=digest_text(record.entry.digest),
        )
        for record in records
    ]


# Forget what a record says, for good, and keep the proof that it was there.


_DIGEST = re.compile(r"(?:sha256:)?([0-9a-f]{8,64})", re.ASCII)


def erase(workspace: Workspace, targets: Sequence[str], *, who: str | None, why: str) -> EraseReport:
    """Erase the bodies that ``targets`` name: a digest erases that text, a record erases all that it says."""
    with workspace.writing() as store:
        digests = list(dict.fromkeys(digest for target in targets for digest in _digests(store, target)))
        done = store.erase(digests, who=who or user(), why=why)
    return EraseReport(
        erased=[digest_text(digest) for digest in digests], records=[str(record.ref) for record in done.made]
    )


def preview(workspace: Workspace, targets: Sequence[str]) -> list[str]:
    """What erasing ``targets`` would take away, one sentence each."""
    with workspace.reading() as store:
        return [sentence for target in targets for sentence in _sentences(store, target)]


def _sentences(store: Store, target: str) -> list[str]:
    said = []
    for digest in _digests(store, target):
        held = store.tables.records_holding(digest)
        names = ", ".join(f"{r.entry.kind} {r.ref.seq}" for r in held[:3]) + (", …" if len(held) > 3 else "")
        said.append(f"{digest_text(digest)[:23]}…, held by {len(held)} record(s): {names}")
    return said


def _digests(store: Store, target: str) -> list[Digest]:
    """The bodies that a target names: ``SEQ``, ``STORE:SEQ``, an event id, a natural key, or (part of) a digest."""
    records = find_records(store, target)
    if records:
        return [digest for record in records for digest in _bodies_of(store, record)]
    shape = _DIGEST.fullmatch(target)
    found = store.tables.digests_like(shape[1]) if shape else []
    if len(found) > 1:
        raise InputError(f"'{target}' fits {len(found)} or more stored texts", hint="give more digits of the digest")
    if not found:
        raise InputError(
            f"nothing stored is named '{target}'",
            hint=f"{HINT}, or a text by at least 8 digits of its digest",
        )
    for record in store.tables.records_holding(found[0]):
        _check_kind(record)
    return found


def _bodies_of(store: Store, record: Record) -> list[Digest]:
    _check_kind(record)
    body = store.tables.bodies([record.entry.digest]).get(record.entry.digest)
    if body is not None and body.outline is not None:
        return [record.entry.digest]
    if body is None or body.data is None:
        raise InputError(f"record {record.seq} of chain {record.store} was erased before", hint="there is nothing left")
    return [record.entry.digest, *sorted(parts(parse(body.data, bytes_max=len(body.data))))]


def _check_kind(record: Record) -> None:
    if record.entry.kind in SYSTEM_KINDS:
        raise InputError(
            f"record {record.seq} of chain {record.store} is the store's own ('{record.entry.kind}') and stays",
            hint="only what was captured can be erased",
        )


# Which records were brought in from elsewhere: an import makes them claims, whatever they were there.
# This file is the only one that says so.


IMPORT_EVENT = "import"
"""How the name of an event begins that was not recorded as it happened."""
BROUGHT_KINDS = frozenset(("transcript", "trace", "trace_link"))
"""The kinds of records that only imports make."""


def is_imported(record: Record, owned: Collection[StoreId]) -> bool:
    """Whether a record came by an import: its event's name says so, or it stands in a chain that was copied here."""
    return record.entry.event.startswith(IMPORT_EVENT) or record.store not in owned


def is_claim(record: Record, owned: Collection[StoreId]) -> bool:
    """Whether a record is one that somebody brought afterwards: imported, or a line of another program's file."""
    return record.entry.kind in BROUGHT_KINDS or is_imported(record, owned)


def list_trusted_chains(store: Store) -> set[StoreId]:
    """The chains whose records are what they were at home: the store's own, and those pulled from the team's remote."""
    return store.tables.owned() | store.tables.pulled()


def recorded_only(store: Store) -> RecordFilter:
    """What keeps claims out of a question to the store."""
    return RecordFilter(IMPORT_EVENT, tuple(sorted(BROUGHT_KINDS)), tuple(sorted(list_trusted_chains(store))))


# What could not be recorded, wherever it was counted.


FILE = "gaps"


def gaps(workspace: Workspace) -> list[RecordingGap]:
    """Every gap that may concern this repository; a ``StoreError`` where one cannot tell.

    What was chained counts as well as what stands in a file, so that deleting the file makes nothing better.
    """
    counted = [line for folder in workspace.gap_folders if _has_gaps(folder) for line in gaps_in(folder)]
    found = [gap_of(line) for line in dict.fromkeys((*_chained(workspace), *counted))]
    until_ns = workspace.until_ns
    return [gap for gap in found if until_ns is None or gap.at_ns is None or gap.at_ns <= until_ns]


def _chained(workspace: Workspace) -> list[str]:
    if not workspace.exists():
        return []
    try:
        with workspace.reading() as store:
            payloads = store.tables.payloads(store.tables.records_lost())
    except StoreError:
        return []  # what is wrong with the store is told by whoever checks it
    values = (payload.get("what") for payload in payloads.values() if isinstance(payload, dict))
    return [what for what in values if isinstance(what, str)]


def _has_gaps(folder: Path) -> bool:
    """Whether anything was counted there: what may not be read is not the same as nothing."""
    try:
        (folder / FILE).open("rb").close()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError as error:
        raise StoreError(
            f"cannot read what could not be recorded, in '{folder / FILE}': {error.strerror}", hint="check who owns it"
        ) from error
    return True
