"""Arrivals are kept once each: the same again is known, the same key with another content is in conflict.

This file is the only one that says what a conflict is.
"""

from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from enum import Enum

from custody.core.ids import EventId, NaturalKey, RecordRef
from custody.core.record import Record
from custody.core.wire.arrival import Arrival
from custody.server.queries.record_pages import PageTables
from custody.store import Store
from custody.workspace.workspace import Workspace


class IngestFate(Enum):
    """What became of an arrival."""

    NEW = "new"
    KNOWN = "known"
    CONFLICT = "conflict"


@dataclass(frozen=True, slots=True)
class IngestResult:
    """An arrival's fate, and the record that it is, that it was already, or that it is in conflict with."""

    fate: IngestFate
    event: EventId
    key: NaturalKey
    record: RecordRef


@dataclass(slots=True)
class StoreWriter:
    """A workspace's store, held open by the one thread that writes to it from one batch to the next."""

    workspace: Workspace
    _stack: ExitStack = field(default_factory=ExitStack)
    _store: Store | None = None

    @property
    def is_open(self) -> bool:
        """Whether a store is held."""
        return self._store is not None

    def open(self) -> Store:
        """The store, opened if it is not; a ``StoreError`` when it cannot be had."""
        if self._store is None:
            self._store = self._stack.enter_context(self.workspace.writing())
        return self._store

    def keep(self, arrivals: Sequence[Arrival]) -> list[IngestResult]:
        """See :func:`keep`."""
        return keep(self.open(), arrivals)

    def close(self) -> None:
        """Let go of the store; the next batch opens it again."""
        self._store = None
        self._stack.close()


def keep(store: Store, arrivals: Sequence[Arrival]) -> list[IngestResult]:
    """Commit what is new in one transaction, and say of each arrival what it came to; nothing else is written."""
    looking = _StoreLookup(store, arrivals)
    done = store.append_what(looking.look)
    made = {record.entry.event: record for record in done.made}
    return [
        IngestResult(fate, arrival.entry.event, arrival.entry.key, made[found].ref if isinstance(found, str) else found)
        for arrival, (fate, found) in zip(arrivals, looking.fates, strict=True)
    ]


@dataclass(slots=True)
class _StoreLookup:
    """What a store has of some arrivals, looked at while nobody else writes."""

    store: Store
    arrivals: Sequence[Arrival]
    fates: list[tuple[IngestFate, RecordRef | EventId]] = field(default_factory=list)
    """Of each arrival: a record that is there, or the event of this batch that will be one."""

    def look(self) -> list[Arrival]:
        """What to append."""
        tables = PageTables(self.store)
        by_event = {r.entry.event: r for r in tables.with_events({arrival.entry.event for arrival in self.arrivals})}
        by_key = _by_key(tables.with_keys({arrival.entry.key for arrival in self.arrivals}))
        coming: dict[NaturalKey, Arrival] = {}
        known: list[Arrival] = []
        self.fates.clear()
        for arrival in self.arrivals:
            there = _found(arrival, by_event, by_key)
            if there is not None:
                self.fates.append((_fate(arrival, there), there.ref))
                if there.entry.digest == arrival.entry.digest:
                    known.append(arrival)  # where another store had erased its bytes, they come back
            elif (first := coming.setdefault(arrival.entry.key, arrival)) is arrival:
                self.fates.append((IngestFate.NEW, arrival.entry.event))
            else:
                same = first.entry.event == arrival.entry.event or first.entry.digest == arrival.entry.digest
                self.fates.append((IngestFate.KNOWN if same else IngestFate.CONFLICT, first.entry.event))
        return [*known, *coming.values()]


def _by_key(records: Iterable[Record]) -> dict[NaturalKey, list[Record]]:
    found: dict[NaturalKey, list[Record]] = {}
    for record in records:
        found.setdefault(record.entry.key, []).append(record)
    return found


def _found(arrival: Arrival, by_event: dict[EventId, Record], by_key: dict[NaturalKey, list[Record]]) -> Record | None:
    """The record that an arrival is already; else the first one that has its key."""
    there = sorted(by_key.get(arrival.entry.key, ()), key=lambda record: record.ref)
    same = [record for record in there if record.entry.digest == arrival.entry.digest]
    return by_event.get(arrival.entry.event) or next(iter(same or there), None)


def _fate(arrival: Arrival, there: Record) -> IngestFate:
    same = there.entry.event == arrival.entry.event or there.entry.digest == arrival.entry.digest
    return IngestFate.KNOWN if same else IngestFate.CONFLICT
