"""Keep the view tables current: read records in order, insert rows, store the position.

These tables are derived. A position behind the chain means catch up; another version of the readers means rebuild.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from types import MappingProxyType
from typing import Final, Generic, TypeVar

from msgspec import Struct

from custody.core.errors import InputError
from custody.core.ids import Digest, RecordRef, Seq, StoreId
from custody.core.record import ChainTip, Record
from custody.core.views import View
from custody.core.wire.canonical import Json
from custody.core.wire.event import DecodedEvent
from custody.core.wire.event_views import read_batched_views
from custody.store.db import Row, SqlValue
from custody.store.rows import (
    ALL_TABLES,
    TABLES,
    check_storable_row,
    make_view_insert_sql,
    view_rows_from_record,
    view_table_columns,
)
from custody.store.tables import PAGE, PAYLOADS, Tables, integer_from_sql, split_row_batches

CAPTURED = "captured"
"""The name of the views in the table of positions."""

NEAR = 8
"""Maximum distance of records that are read together: skipping records is cheaper than another query."""

_FROM_THE_START: Mapping[StoreId, int] = MappingProxyType({})
_NOTHING_DECODED: Mapping[RecordRef, DecodedEvent] = MappingProxyType({})

ProjectionProgress = Callable[[int], None]
"""Callback with the number of newly processed records."""


class RecordReader(Struct, frozen=True):
    """A converter from records of one kind to views; a new version rebuilds the views."""

    version: int
    views: Callable[[Json | DecodedEvent], tuple[View, ...]]


V = TypeVar("V", bound=View)
V_co = TypeVar("V_co", bound=View, covariant=True)


class DerivedTables:
    """Tables that a package derives from records or views; the store calls it when those change.

    ``catch_up`` and ``is_current`` are called outside a write, all others inside a write. A package overrides the
    methods that affect its tables.
    """

    def catch_up(self, head: ChainTip) -> None:
        """Bring the rows of one chain up to its head."""

    def is_current(self, head: ChainTip) -> bool:
        """Return whether the rows of one chain reach its head."""
        return True

    def read_on(self, store: StoreId) -> None:
        """Read the records that were appended to a chain."""

    def read_again(self, records: Sequence[Record]) -> None:
        """Update the rows derived from these records: some of their content was erased or restored."""

    def forget_views(self, store: StoreId) -> None:
        """Drop the rows derived from the views of a chain before these are rebuilt."""

    def forget(self) -> None:
        """Drop every row before everything is rebuilt."""


class ObservedView(Struct, Generic[V_co], frozen=True):
    """A view, its record, and its index among the record's views."""

    record: Record
    view: V_co
    n: int = 0


class Projection:
    """The view tables of one database."""

    def __init__(self, tables: Tables, readers: Mapping[str, RecordReader], derived: Sequence[DerivedTables]) -> None:
        self._tables = tables
        self._db = tables.db
        self._readers = dict(readers)
        self._derived = tuple(derived)
        self.version = " ".join(f"{kind}={reader.version}" for kind, reader in sorted(readers.items()))

    def catch_up(self, progress: ProjectionProgress) -> None:
        """Bring the views of every chain up to its head, in steps; a killed run continues later."""
        for head in self._tables.chains():
            for derived in self._derived:
                derived.catch_up(head)
            state = self._state(head.store)
            if state == (head.seq, self.version):
                continue
            # Another process may have appended since: compare with the current head before dropping the views.
            if state is not None and (state[1] != self.version or state[0] > self._tables.head(head.store).seq):
                self._forget(head.store)
            while done := self._step(head.store):
                progress(done)

    def rebuild(self, progress: ProjectionProgress) -> None:
        """Drop every view and every index of bodies, and rebuild them from the records."""
        with self._db.writing():
            for name in (*ALL_TABLES, "part", "erasure"):
                self._db.run(f"DELETE FROM {name}")
            for derived in self._derived:
                derived.forget()
            self._db.run("DELETE FROM state WHERE view = ?", (CAPTURED,))
            for head in self._tables.chains():
                for records in split_row_batches(self._tables.records(head.store)):
                    for record, payload in zip(records, self._tables.payloads(records).values(), strict=True):
                        self._tables.reindex(record, payload)
        self.catch_up(progress)

    def read_on(
        self,
        store: StoreId,
        appended: Sequence[Record] = (),
        events: Mapping[RecordRef, DecodedEvent] = _NOTHING_DECODED,
    ) -> None:
        """Read what was just appended, inside a write, unless the views have to be rebuilt.

        ``appended`` are the last records of the chain, ``events`` those of their events that are at hand.
        """
        state = self._state(store)
        if state is None or state[1] == self.version:
            done = 0 if state is None else state[0]
            if appended and appended[0].seq == done + 1:
                for records in split_row_batches(appended, PAGE):
                    self._put(records, events)
                self._set_state(store, appended[-1].seq)
            else:
                while len(records := self._read_page(store, done)) == PAYLOADS:
                    done = records[-1].seq
        for derived in self._derived:
            derived.read_on(store)

    def current(self) -> bool:
        """Return whether the views of every chain are complete for these readers."""
        return all(
            self._state(head.store) == (head.seq, self.version)
            and all(derived.is_current(head) for derived in self._derived)
            for head in self._tables.chains()
        )

    def count_unread_records(self) -> int:
        """Return how many records the views have not read."""
        return sum(max(0, head.seq - (self._state(head.store) or (0, ""))[0]) for head in self._tables.chains())

    def read_again(self, digest: Digest) -> None:
        """Rebuild the views of every record with this body, inside a write."""
        holding = self._tables.records_holding(digest)
        for records in split_row_batches(holding):
            for record in records:
                for name in ALL_TABLES:
                    self._db.run(f"DELETE FROM {name} WHERE store_id = ? AND seq = ?", (record.store, int(record.seq)))
            self._put([record for record in records if record.seq <= (self._state(record.store) or (0, ""))[0]])
        for derived in self._derived:
            derived.read_again(holding)

    def look_up(self, kind: type[V], where: str, values: Sequence[SqlValue]) -> list[ObservedView[V]]:
        """Return the views of ``kind`` whose rows match, each with its record, oldest first."""
        return self.look_up_in((kind,), where, values)

    def look_up_in(self, kinds: Collection[type[V]], where: str, values: Sequence[SqlValue]) -> list[ObservedView[V]]:
        """Return the views of several kinds whose rows match, each record read once, oldest first."""
        found: list[ObservedView[V]] = []
        wanted: dict[RecordRef, set[int]] = {}
        for kind in kinds:
            table = TABLES[kind].name
            for store, seq, n in self._db.rows(f"SELECT store_id, seq, n FROM {table} WHERE {where}", values):
                wanted.setdefault(RecordRef(StoreId(str(store)), Seq(integer_from_sql(seq))), set()).add(
                    integer_from_sql(n)
                )
        # Rows of an older reader may point to views of another kind until they are rebuilt.
        expected = tuple(kinds)
        for records in split_row_batches(self._records(sorted(wanted))):
            for record, matching in self._read_matching(records, wanted):
                found.extend(ObservedView(record, view, n) for n, view in matching if isinstance(view, expected))
        return sorted(found, key=lambda seen: (seen.record.entry.at_ns, seen.record.ref))

    def _read_matching(
        self, records: Sequence[Record], wanted: Mapping[RecordRef, Collection[int]]
    ) -> Iterator[tuple[Record, list[tuple[int, View]]]]:
        """Yield each record with its views of these numbers."""
        alone = []
        for record in records:
            data = self._tables.read_span_batch(record)
            if data is None:
                alone.append(record)
                continue
            try:
                yield record, read_batched_views(data, sorted(wanted[record.ref]))
            except InputError:
                continue  # of a copied chain, as in _read
        for record, value in zip(alone, self._tables.payloads(alone).values(), strict=True):
            # Their rows exist, so they are storable: checking every character again would be slow.
            views = self._read(record, value) or ()
            yield record, [(n, views[n]) for n in sorted(wanted[record.ref]) if n < len(views)]

    def distinct(
        self, kind: type[View], column: str, where: str = "1 = 1", values: Sequence[SqlValue] = ()
    ) -> list[SqlValue]:
        """Return the different values of a column of ``kind``, in order, without reading any record."""
        sql = f"SELECT DISTINCT {column} FROM {TABLES[kind].name} WHERE {where} ORDER BY 1"
        return [value for (value,) in self._db.rows(sql, values)]

    def read_views(self, record: Record) -> tuple[View, ...]:
        """Return every view of one record."""
        return self._views(record, self._tables.payload(record)) or ()

    def read_view_at(self, ref: RecordRef, n: int) -> ObservedView[View] | None:
        """Return one view of one record; None if it no longer exists."""
        record = self._tables.record(ref)
        views = () if record is None else self.read_views(record)
        return ObservedView(record, views[n], n) if record is not None and n < len(views) else None

    def find_unreadable_records(self) -> Iterator[Record]:
        """Yield the records that their reader cannot read; one with rows was read, so its payload is not opened."""
        for record, value in self._all_without_rows():
            if self._views(record, value) is None:
                yield record

    def find_mismatched_records(self, after: Mapping[StoreId, int] = _FROM_THE_START) -> Iterator[RecordRef]:
        """Yield the records with rows that do not match their payload: another program changed the tables.

        For a chain in ``after``, only the records after that position are checked.
        """
        for head in self._tables.chains():
            state = self._state(head.store)
            if state is not None and state[1] == self.version:
                later = self._tables.records(head.store, after=after.get(head.store, 0))
                read = (record for record in later if record.seq <= state[0])
                for records in split_row_batches(read):
                    yield from self._wrong_among(head.store, records)

    def _all_without_rows(self) -> Iterator[tuple[Record, Json]]:
        for head in self._tables.chains():
            read = self._seqs_with_rows(head.store)
            for records in split_row_batches(
                record
                for record in self._tables.records(head.store)
                if record.entry.kind in self._readers and int(record.seq) not in read
            ):
                yield from zip(records, self._tables.payloads(records).values(), strict=True)

    def _seqs_with_rows(self, store: StoreId) -> set[int]:
        state = self._state(store)
        if state is None or state[1] != self.version:
            return set()  # the rows are of another version of the readers
        sql = " UNION ".join(f"SELECT seq FROM {name} WHERE store_id = ?" for name in ALL_TABLES)
        return {integer_from_sql(seq) for (seq,) in self._db.rows(sql, (store,) * len(ALL_TABLES))}

    def _wrong_among(self, store: StoreId, records: Sequence[Record]) -> Iterator[RecordRef]:
        expected: dict[int, set[tuple[str, Row]]] = {record.seq: set() for record in records}
        stored: dict[int, set[tuple[str, Row]]] = {record.seq: set() for record in records}
        for name, row in self._rows(records):
            expected[integer_from_sql(row[1])].add((name, row))
        for name in ALL_TABLES:
            for row in self._db.rows(
                f"SELECT {view_table_columns(name)} FROM {name} WHERE store_id = ? AND seq BETWEEN ? AND ?",
                (store, int(records[0].seq), int(records[-1].seq)),
            ):
                stored.setdefault(integer_from_sql(row[1]), set()).add((name, row))
        yield from (RecordRef(store, Seq(seq)) for seq in sorted(stored) if stored[seq] != expected.get(seq))

    def _state(self, store: StoreId) -> tuple[int, str] | None:
        return self._tables.read_view_position(CAPTURED, store)

    def _set_state(self, store: StoreId, seq: int) -> None:
        self._db.run(
            "INSERT INTO state (view, store_id, seq, version) VALUES (?, ?, ?, ?)"
            " ON CONFLICT (view, store_id) DO UPDATE SET seq = excluded.seq, version = excluded.version",
            (CAPTURED, store, seq, self.version),
        )

    def _step(self, store: StoreId) -> int:
        with self._db.writing():
            return len(self._read_page(store, (self._state(store) or (0, ""))[0]))

    def _read_page(self, store: StoreId, done: int) -> list[Record]:
        records = self._tables.records_after(store, done, PAYLOADS)
        if records:
            self._put(records)
            self._set_state(store, records[-1].seq)
        return records

    def _put(self, records: Sequence[Record], events: Mapping[RecordRef, DecodedEvent] = _NOTHING_DECODED) -> None:
        rows: dict[str, list[Row]] = {}
        for name, row in self._rows(records, events):
            rows.setdefault(name, []).append(row)
        for name, made in sorted(rows.items()):
            self._db.run_for_each(make_view_insert_sql(name), made)

    def _rows(
        self, records: Sequence[Record], events: Mapping[RecordRef, DecodedEvent] = _NOTHING_DECODED
    ) -> Iterator[tuple[str, Row]]:
        unread = [record for record in records if record.ref not in events]
        payloads = chain.from_iterable(self._tables.payloads(page).values() for page in split_row_batches(unread))
        for record in records:
            event = events.get(record.ref)
            value = next(payloads) if event is None else event
            yield from _make_storable_view_rows(record, self._read(record, value) or ()) or ()

    def _records(self, refs: Sequence[RecordRef]) -> Iterator[Record]:
        """Yield the existing records at these positions, in order; read by ranges, not one by one."""
        for ref_range in _group_record_ref_ranges(refs):
            requested = set(ref_range)
            first, last = ref_range[0].seq, ref_range[-1].seq
            for record in self._tables.records_after(ref_range[0].store, first - 1, last - first + 1):
                if record.ref in requested:
                    yield record

    def _views(self, record: Record, value: Json) -> tuple[View, ...] | None:
        """Return a record's views: empty if erased or without a reader, None if it cannot be read."""
        views = self._read(record, value)
        return views if _make_storable_view_rows(record, views or ()) is not None else None

    def _read(self, record: Record, value: Json | DecodedEvent) -> tuple[View, ...] | None:
        """Return a record's views from its reader, whether or not a row can hold them."""
        reader = self._readers.get(record.entry.kind)
        if reader is None:
            return ()
        try:
            return self._read_outline_views(record) if value is None else reader.views(value)
        except InputError:
            return None  # a copied chain may have records that this version cannot read; doctor counts them

    def _read_outline_views(self, record: Record) -> tuple[View, ...]:
        """Return the views of a record with withheld texts, from its store's outline; empty if erased."""
        outline = self._tables.record_outline(record)
        if outline is None:
            return ()
        from custody.core.wire.body import decode_view_outline  # few stores have outlines

        return decode_view_outline(outline)

    def _forget(self, store: StoreId) -> None:
        with self._db.writing():
            for derived in self._derived:
                derived.forget_views(store)
            for name in ALL_TABLES:
                self._db.run(f"DELETE FROM {name} WHERE store_id = ?", (store,))
            self._set_state(store, 0)


def _make_storable_view_rows(record: Record, views: tuple[View, ...]) -> list[tuple[str, Row]] | None:
    """Return the rows of a record's views; None if a database cannot hold them."""
    rows = list(view_rows_from_record(record.ref, views))
    try:
        for _, row in rows:
            check_storable_row(row)
    except InputError:
        return None  # a copied chain may have values that a row cannot hold; doctor counts them
    return rows


def _group_record_ref_ranges(refs: Iterable[RecordRef]) -> Iterator[list[RecordRef]]:
    """Group sorted positions into ranges of a chain with few other records between them."""
    ref_range: list[RecordRef] = []
    for ref in refs:
        if ref_range and not _is_near_record_ref(ref_range, ref):
            yield ref_range
            ref_range = []
        ref_range.append(ref)
    if ref_range:
        yield ref_range


def _is_near_record_ref(ref_range: Sequence[RecordRef], ref: RecordRef) -> bool:
    first, last = ref_range[0], ref_range[-1]
    return ref.store == last.store and ref.seq - last.seq <= NEAR and ref.seq - first.seq < PAGE


# A filter for records: all, or only those that were recorded live.


class RecordFilter(Struct, frozen=True):
    """Records in ``chains`` except those with a kind in ``kinds`` or an event id that starts with ``event``.

    Without ``event``, all records match.
    """

    event: str = ""
    kinds: tuple[str, ...] = ()
    chains: tuple[StoreId, ...] = ()

    def make_condition(self, table: str) -> str:
        """Return the SQL to append to a condition on ``table``; its parameters are ``values``."""
        if not self.event:
            return ""
        return (
            f" AND EXISTS (SELECT 1 FROM record WHERE record.store_id = {table}.store_id AND record.seq = {table}.seq"
            f" AND record.event_id NOT LIKE ? AND record.kind NOT IN ({_make_name_placeholders(self.kinds)})"
            f" AND record.store_id IN ({_make_name_placeholders(self.chains)}))"
        )

    @property
    def values(self) -> tuple[SqlValue, ...]:
        """Return the parameters of the condition, in order."""
        return (
            (f"{self.event}%", *_ensure_sql_list_names(self.kinds), *_ensure_sql_list_names(self.chains))
            if self.event
            else ()
        )


EVERYTHING: Final = RecordFilter()


def _ensure_sql_list_names(names: Sequence[str]) -> tuple[str, ...]:
    """Return at least one name, since SQL has no empty list; the empty name matches nothing."""
    return tuple(names) or ("",)


def _make_name_placeholders(names: Sequence[str]) -> str:
    return ", ".join("?" * len(_ensure_sql_list_names(names)))
