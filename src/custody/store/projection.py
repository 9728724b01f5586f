"""Views kept current: read records in order, put rows, remember how far.

No truth lives in these tables. A watermark that is behind means catch up; another version of the readers means make
again.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, Generic, TypeVar

from custody.core.errors import InputError
from custody.core.ids import Digest, RecordRef, Seq, StoreId
from custody.core.record import ChainTip, Record
from custody.core.views import View
from custody.core.wire.canonical import Json
from custody.store.db import Row, SqlValue
from custody.store.rows import ALL_TABLES, TABLES, check_storable, columns_of, insert_sql, rows_of
from custody.store.tables import PAGE, PAYLOADS, Tables, integer, split_batches

CAPTURED = "captured"
"""The watermark's name for the set of views that readers project."""

NEAR = 8
"""Records this near to each other are read together: passing over some costs less than one more question."""

_FROM_THE_START: Mapping[StoreId, int] = MappingProxyType({})

ProjectionProgress = Callable[[int], None]
"""Told how many more records were done."""


@dataclass(frozen=True, slots=True)
class RecordReader:
    """How records of one kind become views; another version means that views are made again."""

    version: int
    views: Callable[[Json], tuple[View, ...]]


V = TypeVar("V", bound=View)
V_co = TypeVar("V_co", bound=View, covariant=True)


class DerivedTables:
    """Tables that a package derives from records or views; the store tells it when those change.

    ``catch_up`` and ``is_current`` are called outside a write, everything else inside one. A package overrides the
    calls that concern its tables.
    """

    def catch_up(self, head: ChainTip) -> None:
        """Bring the rows of one chain up to its head."""

    def is_current(self, head: ChainTip) -> bool:
        """Return whether the rows of one chain reach its head."""
        return True

    def read_on(self, store: StoreId) -> None:
        """Read what was appended to a chain."""

    def read_again(self, records: Sequence[Record]) -> None:
        """Derive again what rests on these records: some of their content was erased or came back."""

    def forget_views(self, store: StoreId) -> None:
        """Drop what rests on the views of a chain, which are about to be made again."""

    def forget(self) -> None:
        """Drop every row: everything is about to be made again."""


@dataclass(frozen=True, slots=True)
class ObservedView(Generic[V_co]):
    """A view, the record that shows it, and which of the record's views it is."""

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
        """Bring the views of every chain up to its head, in steps that survive being killed."""
        for head in self._tables.chains():
            for derived in self._derived:
                derived.catch_up(head)
            state = self._state(head.store)
            if state == (head.seq, self.version):
                continue
            # Another process may have appended since: only a view that is ahead of its chain now is of another chain.
            if state is not None and (state[1] != self.version or state[0] > self._tables.head(head.store).seq):
                self._forget(head.store)
            while done := self._step(head.store):
                progress(done)

    def rebuild(self, progress: ProjectionProgress) -> None:
        """Drop every view and every index of bodies and make them again from the records."""
        with self._db.writing():
            for name in (*ALL_TABLES, "part", "erasure"):
                self._db.run(f"DELETE FROM {name}")
            for derived in self._derived:
                derived.forget()
            self._db.run("DELETE FROM state WHERE view = ?", (CAPTURED,))
            for head in self._tables.chains():
                for records in split_batches(self._tables.records(head.store)):
                    for record, payload in zip(records, self._tables.payloads(records).values(), strict=True):
                        self._tables.reindex(record, payload)
        self.catch_up(progress)

    def read_on(self, store: StoreId) -> None:
        """Inside a write: read what was just appended, unless the views wait to be made again."""
        state = self._state(store)
        if state is None or state[1] == self.version:
            done = 0 if state is None else state[0]
            while len(records := self._read_page(store, done)) == PAYLOADS:
                done = records[-1].seq
        for derived in self._derived:
            derived.read_on(store)

    def current(self) -> bool:
        """Whether every view has read its chain to the end with these readers."""
        return all(
            self._state(head.store) == (head.seq, self.version)
            and all(derived.is_current(head) for derived in self._derived)
            for head in self._tables.chains()
        )

    def behind(self) -> int:
        """How many records the views have not read."""
        return sum(max(0, head.seq - (self._state(head.store) or (0, ""))[0]) for head in self._tables.chains())

    def read_again(self, digest: Digest) -> None:
        """Inside a write: make the views of every record that holds this body again, as it is now."""
        holding = self._tables.records_holding(digest)
        for records in split_batches(holding):
            for record in records:
                for name in ALL_TABLES:
                    self._db.run(f"DELETE FROM {name} WHERE store_id = ? AND seq = ?", (record.store, int(record.seq)))
            self._put([record for record in records if record.seq <= (self._state(record.store) or (0, ""))[0]])
        for derived in self._derived:
            derived.read_again(holding)

    def look_up(
        self, kind: type[V], where: str, values: Sequence[SqlValue], *, index: str | None = None
    ) -> list[ObservedView[V]]:
        """Return the views of ``kind`` whose rows match, each with the record that shows it, oldest first.

        ``index`` names another table whose rows stand for views of this kind.
        """
        return self._look_up((kind,), (index or TABLES[kind].name,), where, values)

    def look_up_in(self, kinds: Collection[type[V]], where: str, values: Sequence[SqlValue]) -> list[ObservedView[V]]:
        """Return the views of several kinds whose rows match, each record read once, oldest first."""
        return self._look_up(kinds, [TABLES[kind].name for kind in kinds], where, values)

    def _look_up(
        self, kinds: Collection[type[V]], tables: Iterable[str], where: str, values: Sequence[SqlValue]
    ) -> list[ObservedView[V]]:
        found: list[ObservedView[V]] = []
        wanted: dict[RecordRef, set[int]] = {}
        for table in tables:
            for store, seq, n in self._db.rows(f"SELECT store_id, seq, n FROM {table} WHERE {where}", values):
                wanted.setdefault(RecordRef(StoreId(str(store)), Seq(integer(seq))), set()).add(integer(n))
        # Rows that an older reader made may stand for views of another kind until they are made again.
        expected = tuple(kinds)
        for records in split_batches(self._records(sorted(wanted))):
            for record, value in zip(records, self._tables.payloads(records).values(), strict=True):
                # Their rows are there, so rows can hold them: that costs a look at every sign and is not asked again.
                views = self._read(record, value) or ()
                shown = ((n, views[n]) for n in sorted(wanted[record.ref]) if n < len(views))
                found.extend(ObservedView(record, view, n) for n, view in shown if isinstance(view, expected))
        return sorted(found, key=lambda seen: (seen.record.entry.at_ns, seen.record.ref))

    def distinct(
        self, kind: type[View], column: str, where: str = "1 = 1", values: Sequence[SqlValue] = ()
    ) -> list[SqlValue]:
        """Return the different values of a column of ``kind``, in order, without reading any record."""
        sql = f"SELECT DISTINCT {column} FROM {TABLES[kind].name} WHERE {where} ORDER BY 1"
        return [value for (value,) in self._db.rows(sql, values)]

    def of(self, record: Record) -> tuple[View, ...]:
        """Every view of one record."""
        return self._views(record, self._tables.payload(record)) or ()

    def at(self, ref: RecordRef, n: int) -> ObservedView[View] | None:
        """One view of one record; None when it is no longer there."""
        record = self._tables.record(ref)
        views = () if record is None else self.of(record)
        return ObservedView(record, views[n], n) if record is not None and n < len(views) else None

    def unreadable(self) -> Iterator[Record]:
        """The records that their reader could make no sense of."""
        for record, value in self._all_read():
            if self._views(record, value) is None:
                yield record

    def wrong(self, after: Mapping[StoreId, int] = _FROM_THE_START) -> Iterator[RecordRef]:
        """The records whose rows are not what their payload gives: the tables were changed by somebody else.

        Of a chain that ``after`` names, only those behind that place.
        """
        for head in self._tables.chains():
            state = self._state(head.store)
            if state is not None and state[1] == self.version:
                behind = self._tables.records(head.store, after=after.get(head.store, 0))
                read = (record for record in behind if record.seq <= state[0])
                for records in split_batches(read):
                    yield from self._wrong_among(head.store, records)

    def _all_read(self) -> Iterator[tuple[Record, Json]]:
        for head in self._tables.chains():
            for records in split_batches(r for r in self._tables.records(head.store) if r.entry.kind in self._readers):
                yield from zip(records, self._tables.payloads(records).values(), strict=True)

    def _wrong_among(self, store: StoreId, records: Sequence[Record]) -> Iterator[RecordRef]:
        right: dict[int, set[tuple[str, Row]]] = {record.seq: set() for record in records}
        there: dict[int, set[tuple[str, Row]]] = {record.seq: set() for record in records}
        for name, row in self._rows(records):
            right[integer(row[1])].add((name, row))
        for name in ALL_TABLES:
            for row in self._db.rows(
                f"SELECT {columns_of(name)} FROM {name} WHERE store_id = ? AND seq BETWEEN ? AND ?",
                (store, int(records[0].seq), int(records[-1].seq)),
            ):
                there.setdefault(integer(row[1]), set()).add((name, row))
        yield from (RecordRef(store, Seq(seq)) for seq in sorted(there) if there[seq] != right.get(seq))

    def _state(self, store: StoreId) -> tuple[int, str] | None:
        found = self._db.rows("SELECT seq, version FROM state WHERE view = ? AND store_id = ?", (CAPTURED, store))
        return (integer(found[0][0]), str(found[0][1])) if found else None

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

    def _put(self, records: Sequence[Record]) -> None:
        rows: dict[str, list[Row]] = {}
        for name, row in self._rows(records):
            rows.setdefault(name, []).append(row)
        for name, made in sorted(rows.items()):
            self._db.many(insert_sql(name), made)

    def _rows(self, records: Sequence[Record]) -> Iterator[tuple[str, Row]]:
        for record, value in zip(records, self._tables.payloads(records).values(), strict=True):
            yield from _storable(record, self._read(record, value) or ()) or ()

    def _records(self, refs: Sequence[RecordRef]) -> Iterator[Record]:
        """The records at these places, in their order, as far as they are there: by stretches, not one by one."""
        for stretch in _stretches(refs):
            wanted = set(stretch)
            first, last = stretch[0].seq, stretch[-1].seq
            for record in self._tables.records_after(stretch[0].store, first - 1, last - first + 1):
                if record.ref in wanted:
                    yield record

    def _views(self, record: Record, value: Json) -> tuple[View, ...] | None:
        """A record's views: none when it was erased or is of a kind without a reader; None when it cannot be read."""
        views = self._read(record, value)
        return views if _storable(record, views or ()) is not None else None

    def _read(self, record: Record, value: Json) -> tuple[View, ...] | None:
        """A record's views as its reader gives them, whether or not rows can hold them."""
        reader = self._readers.get(record.entry.kind)
        if reader is None:
            return ()
        try:
            return self._outlined(record) if value is None else reader.views(value)
        except InputError:
            return None  # a copied chain may hold what this version cannot read; doctor counts these

    def _outlined(self, record: Record) -> tuple[View, ...]:
        """The views of a record whose texts were withheld, as its own store gave them; none of an erased one."""
        outline = self._tables.outline(record.entry.digest)
        if outline is None:
            return ()
        from custody.core.wire.body import views_from  # few stores hold any

        return views_from(outline)

    def _forget(self, store: StoreId) -> None:
        with self._db.writing():
            for derived in self._derived:
                derived.forget_views(store)
            for name in ALL_TABLES:
                self._db.run(f"DELETE FROM {name} WHERE store_id = ?", (store,))
            self._set_state(store, 0)


def _storable(record: Record, views: tuple[View, ...]) -> list[tuple[str, Row]] | None:
    """The rows of a record's views; None when no database could hold them."""
    rows = list(rows_of(record.ref, views))
    try:
        for _, row in rows:
            check_storable(row)
    except InputError:
        return None  # a copied chain may hold what no row can; doctor counts these
    return rows


def _stretches(refs: Iterable[RecordRef]) -> Iterator[list[RecordRef]]:
    """Sorted places in lists that one range of a chain covers without much beside them."""
    stretch: list[RecordRef] = []
    for ref in refs:
        if stretch and not _is_near(stretch, ref):
            yield stretch
            stretch = []
        stretch.append(ref)
    if stretch:
        yield stretch


def _is_near(stretch: Sequence[RecordRef], ref: RecordRef) -> bool:
    first, last = stretch[0], stretch[-1]
    return ref.store == last.store and ref.seq - last.seq <= NEAR and ref.seq - first.seq < PAGE


# Which records a question is about: all, or only those that were recorded here as it happened.


@dataclass(frozen=True, slots=True)
class RecordFilter:
    """Records that stand in one of ``chains`` and are neither of one of ``kinds`` nor of an event named ``event``…

    Without an event everything is meant.
    """

    event: str = ""
    kinds: tuple[str, ...] = ()
    chains: tuple[StoreId, ...] = ()

    def where(self, table: str) -> str:
        """What a condition on rows of ``table`` is followed by; its values are ``values``."""
        if not self.event:
            return ""
        return (
            f" AND EXISTS (SELECT 1 FROM record WHERE record.store_id = {table}.store_id AND record.seq = {table}.seq"
            f" AND record.event_id NOT LIKE ? AND record.kind NOT IN ({_marks(self.kinds)})"
            f" AND record.store_id IN ({_marks(self.chains)}))"
        )

    @property
    def values(self) -> tuple[SqlValue, ...]:
        """The values of the condition, in its order."""
        return (f"{self.event}%", *_ensure_not_empty(self.kinds), *_ensure_not_empty(self.chains)) if self.event else ()


EVERYTHING: Final = RecordFilter()


def _ensure_not_empty(names: Sequence[str]) -> tuple[str, ...]:
    """At least one name, since no database takes an empty list; nothing is called by the empty one."""
    return tuple(names) or ("",)


def _marks(names: Sequence[str]) -> str:
    return ", ".join("?" * len(_ensure_not_empty(names)))
