"""List kept records, newest first, and show what one of them says."""

from collections.abc import Sequence

from custody.core.errors import InputError
from custody.core.ids import StoreId
from custody.core.record import Record
from custody.core.wire.body import digest_text
from custody.core.wire.canonical import Json, parse
from custody.core.wire.report import RecordsReport, RecordSummary, ShowReport
from custody.core.wire.time import text_from
from custody.ledger.record_name import HINT, find_records
from custody.store import Store
from custody.workspace.workspace import Workspace

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
