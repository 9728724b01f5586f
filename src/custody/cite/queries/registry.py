"""The registry of sources in the database: one catalog per chain, a view built from the chain's records.

A store that continues the chain of another store has its sources under the same numbers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING

import msgspec

from custody.core.errors import InputError
from custody.core.ids import RecordRef, Seq, StoreId
from custody.core.record import ChainTip, Record
from custody.core.wire.arrival import CONTINUES, REGISTRY
from custody.core.wire.canonical import Json
from custody.core.wire.event_views import REGISTRY_VERSION
from custody.store import DerivedTables, Store
from custody.store.tables import PAGE, bytes_from_sql, digest_table_key, integer_from_sql, split_row_batches

if TYPE_CHECKING:
    from custody.cite.catalog import CatalogEntry, ExcerptEvent, RegistryChange, SourceLost, SourceReading
    from custody.cite.links import LinkMemory
    from custody.cite.model import ArtifactType
from collections.abc import Collection
from typing import Any, Final, TypeVar, get_args

from custody.core.ids import SessionId
from custody.core.views import PullRequestFact, Source, SourceAccess, ToolCall
from custody.store import ObservedView, make_sql_placeholders
from custody.store.db import DamagedStoreError, Db, Row, SqlValue
from custody.store.tables import Tables

# The parsers of ``cite`` are slow to import, and most stores have no sources, so they are not imported here.

VERSION = str(REGISTRY_VERSION)
"""Version of the view; another version means that the rows are built again."""
ADOPTED = "adopted-sources"
"""Name of the watermark for recorded sources and readings that are registered."""
TABLES = (
    "registry_source",
    "registry_key",
    "registry_hint",
    "registry_excerpt",
    "registry_reading",
    "registry_use",
    "registry_check",
)


class RegistryTables(DerivedTables):
    """The registries of all chains, and how far each was read."""

    def __init__(self, store: Store) -> None:
        self._tables = store.tables
        self._db = store.db

    def catalog(self, registry: StoreId | None) -> TableCatalog:
        """Return the sources of a chain; an empty catalog before the first record."""
        return TableCatalog(self._tables, registry or StoreId(""))

    def number_at(self, registry: StoreId | None, key: str) -> int | None:
        """Return the number that the source of a key is shown as, without reading more."""
        number: int | None = None
        rows = self._db.rows(
            "SELECT n FROM registry_key WHERE registry = ? AND key = ?", (registry or "", digest_table_key(key))
        )
        while rows:
            number = integer_from_sql(rows[0][0])
            states = self._db.rows("SELECT state FROM registry_source WHERE registry = ? AND n = ?", (registry, number))
            into = msgspec.json.decode(bytes_from_sql(states[0][0]), type=_MergeTarget).into if states else None
            rows = [] if into is None else [(into,)]
        return number

    def read_on(self, store: StoreId) -> None:
        """Apply the new records of a chain to its registry, inside a write."""
        done, version = self._state(store)
        if version != VERSION:
            self._drop(store)
            done = 0
        if done == 0:
            for older, end in self._line(store):
                self._replay(store, older, 0, end)
        self._replay(store, store, done, None)
        self._put_state(REGISTRY, store, self._tables.head(store).seq)

    def catch_up(self, head: ChainTip) -> None:
        """Apply the records of a chain to its registry, up to its head."""
        if not self.is_current(head):
            with self._db.writing():
                self.read_on(head.store)

    def is_current(self, head: ChainTip) -> bool:
        """Return whether the registry of a chain is complete, with this version."""
        return self._state(head.store) == (head.seq, VERSION)

    def read_adopted_position(self, store: StoreId) -> int:
        """Return the position up to which the recorded sources of a chain are registered."""
        rows = self._db.rows("SELECT seq FROM state WHERE view = ? AND store_id = ?", (ADOPTED, store))
        return integer_from_sql(rows[0][0]) if rows else 0

    def put_adopted_position(self, store: StoreId, seq: int) -> None:
        """Store that position."""
        with self._db.writing():
            self._put_state(ADOPTED, store, seq)

    def forget(self) -> None:
        """Drop all rows, inside a write; they are built again from the records."""
        for name in TABLES:
            self._db.run(f"DELETE FROM {name}")
        self._db.run("DELETE FROM state WHERE view = ?", (REGISTRY,))

    def read_again(self, records: Sequence[Record]) -> None:
        """Build the registries that contain these records again, inside a write."""
        for store in sorted({record.store for record in records if record.entry.kind == REGISTRY}):
            for chain in self._built_on(store):
                self._drop(chain)
                self.read_on(chain)

    def _built_on(self, store: StoreId) -> list[StoreId]:
        """Return the chain and all chains that continue it."""
        return [store, *(head.store for head in self._tables.chains() if store in dict(self._line(head.store)))]

    def _line(self, store: StoreId) -> list[tuple[StoreId, int]]:
        """Return the chains that a chain continues, oldest first, each with its last position."""
        line: list[tuple[StoreId, int]] = []
        while (older := self._continued(store)) is not None and older[0] not in dict(line):
            line.append(older)
            store = older[0]
        return line[::-1]

    def _continued(self, store: StoreId) -> tuple[StoreId, int] | None:
        first = self._tables.records_after(store, 0, 1)
        payload = self._tables.payload(first[0]) if first and first[0].entry.kind == CONTINUES else None
        if not isinstance(payload, dict):
            return None
        old, seq = payload.get("store"), payload.get("seq")
        return (StoreId(old), seq) if isinstance(old, str) and isinstance(seq, int) else None

    def _replay(self, registry: StoreId, store: StoreId, after: int, until: int | None) -> None:
        """Apply the records of a chain, after ``after`` up to ``until``, to a registry."""
        for records in split_row_batches(self._records(store, after, until)):
            catalog = self.catalog(registry)
            for record, payload in zip(records, self._tables.payloads(records).values(), strict=True):
                _apply_source_record(catalog, record, payload)

    def _records(self, store: StoreId, after: int, until: int | None) -> Iterator[Record]:
        while places := self._db.rows(
            "SELECT seq FROM record WHERE store_id = ? AND seq > ? AND kind = ? ORDER BY seq LIMIT ?",
            (store, after, REGISTRY, PAGE),
        ):
            for (seq,) in places:
                after = integer_from_sql(seq)
                if until is not None and after > until:
                    return
                record = self._tables.record(RecordRef(store, Seq(after)))
                if record is not None:
                    yield record

    def _drop(self, store: StoreId) -> None:
        for name in TABLES:
            self._db.run(f"DELETE FROM {name} WHERE registry = ?", (store,))
        self._db.run("DELETE FROM state WHERE view = ? AND store_id = ?", (REGISTRY, store))

    def _state(self, store: StoreId) -> tuple[int, str]:
        rows = self._db.rows("SELECT seq, version FROM state WHERE view = ? AND store_id = ?", (REGISTRY, store))
        return (integer_from_sql(rows[0][0]), str(rows[0][1])) if rows else (0, VERSION)

    def _put_state(self, view: str, store: StoreId, seq: int) -> None:
        self._db.run(
            "INSERT INTO state (view, store_id, seq, version) VALUES (?, ?, ?, ?)"
            " ON CONFLICT (view, store_id) DO UPDATE SET seq = excluded.seq, version = excluded.version",
            (view, store, seq, VERSION),
        )


class _MergeTarget(msgspec.Struct):
    """The part of an entry that says what it was merged into."""

    into: int | None = None


def _apply_source_record(catalog: TableCatalog, record: Record, payload: Json) -> None:
    """Apply a record to a catalog; an erased record still uses its number."""
    from custody.cite.event_fold import apply_source_event
    from custody.cite.queries.registry_codec import decode_source_event

    catalog.ref = record.ref
    try:
        event = _lost_source_from_record(record) if payload is None else decode_source_event(payload)
    except InputError:
        # A copied chain may contain events of a newer version; doctor counts them.
        event = _lost_source_from_record(record)
    if event is not None:
        # An event that contradicts earlier ones changes nothing: a copied chain may contain anything.
        apply_source_event(catalog, event)


def _lost_source_from_record(record: Record) -> SourceLost | None:
    from custody.cite.catalog import SourceLost, Stamp

    family, number, op, *_ = (*record.entry.key.split(":"), "", "", "")
    if family != REGISTRY or op not in ("register", "part") or not number.isdecimal():
        return None
    return SourceLost(stamp=Stamp(id=record.entry.event, at_ns=record.entry.at_ns), number=int(number))


# The rows of one registry.


T = TypeVar("T")
NO_SPAN = -1


@cache
def _catalog_decoder() -> msgspec.json.Decoder[CatalogEntry]:
    from custody.cite.catalog import CatalogEntry

    return msgspec.json.Decoder(CatalogEntry)


@cache
def _memory_decoder() -> msgspec.json.Decoder[LinkMemory]:
    from custody.cite.links import LinkMemory

    return msgspec.json.Decoder(LinkMemory)


class TableCatalog:
    """A ``Catalog`` in database rows."""

    def __init__(self, tables: Tables, registry: StoreId) -> None:
        self._tables = tables
        self._db: Db = tables.db
        self.registry = registry
        self.ref: RecordRef | None = None
        """The record being applied; texts are read from it later."""

    def last(self) -> int:
        """Return the highest assigned number."""
        rows = self._db.rows(
            "SELECT n FROM registry_source WHERE registry = ? ORDER BY n DESC LIMIT 1", (self.registry,)
        )
        return integer_from_sql(rows[0][0]) if rows else 0

    def entry(self, number: int) -> CatalogEntry | None:
        """Return the entry of a number."""
        rows = self._db.rows("SELECT state FROM registry_source WHERE registry = ? AND n = ?", (self.registry, number))
        return _source_entry_from_row(rows[0]) if rows else None

    def put(self, entry: CatalogEntry) -> None:
        """Store an entry."""
        self._db.run(
            "INSERT INTO registry_source (registry, n, state) VALUES (?, ?, ?)"
            " ON CONFLICT (registry, n) DO UPDATE SET state = excluded.state",
            (self.registry, entry.number, msgspec.json.encode(entry)),
        )

    def number_at(self, key: str) -> int | None:
        """Return the number that a key points to, by primary key."""
        rows = self._db.rows(
            "SELECT n FROM registry_key WHERE registry = ? AND key = ?", (self.registry, digest_table_key(key))
        )
        return integer_from_sql(rows[0][0]) if rows else None

    def point(self, key: str, number: int) -> None:
        """Point a key to a number."""
        self._db.run(
            "INSERT INTO registry_key (registry, key, n) VALUES (?, ?, ?)"
            " ON CONFLICT (registry, key) DO UPDATE SET n = excluded.n",
            (self.registry, digest_table_key(key), number),
        )

    def hint(self, hint: str, number: int) -> None:
        """Store a hint."""
        self._db.run(
            "INSERT INTO registry_hint (registry, hint, n) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
            (self.registry, digest_table_key(hint), number),
        )

    def list_hinted_numbers(self, hint: str) -> list[int]:
        """Return the numbers with this hint."""
        from custody.cite.catalog import HINTED_MAX

        rows = self._db.rows(
            "SELECT n FROM registry_hint WHERE registry = ? AND hint = ? ORDER BY n LIMIT ?",
            (self.registry, digest_table_key(hint), HINTED_MAX),
        )
        return [integer_from_sql(n) for (n,) in rows]

    def add_excerpt(self, event: ExcerptEvent) -> None:
        """Store the position of a passage, once."""
        first, last = event.span or (NO_SPAN, NO_SPAN)
        self._insert_event(
            "registry_excerpt", "digest, span_first, span_last, ", (event.digest, first, last), event.number
        )

    def excerpts(self, number: int) -> list[ExcerptEvent]:
        """Return the passages of a number, from their records."""
        from custody.cite.catalog import ExcerptEvent

        return [event for event in self._list_events("registry_excerpt", number) if isinstance(event, ExcerptEvent)]

    def add_reading(self, event: SourceReading) -> None:
        """Store a reading."""
        self._insert_event("registry_reading", "", (), event.number)

    def readings(self, number: int) -> list[SourceReading]:
        """Return the readings of a number, from their records."""
        from custody.cite.catalog import SourceReading

        return [event for event in self._list_events("registry_reading", number) if isinstance(event, SourceReading)]

    def add_use(self, number: int, kind: ArtifactType, artifact: str) -> None:
        """Store a use, once."""
        self._db.run(
            "INSERT INTO registry_use (registry, n, kind, artifact, seq) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
            (self.registry, number, kind, artifact, 0 if self.ref is None else int(self.ref.seq)),
        )

    def uses(self, number: int) -> list[tuple[ArtifactType, str]]:
        """Return the uses of a number."""
        rows = self._db.rows(
            "SELECT kind, artifact FROM registry_use WHERE registry = ? AND n = ? ORDER BY seq, kind, artifact",
            (self.registry, number),
        )
        return [(_check_source_use_kind(kind), str(artifact)) for kind, artifact in rows]

    def put_check(self, number: int, memory: LinkMemory) -> None:
        """Store the link checks of the source with this number."""
        self._db.run(
            "INSERT INTO registry_check (registry, n, state) VALUES (?, ?, ?)"
            " ON CONFLICT (registry, n) DO UPDATE SET state = excluded.state",
            (self.registry, number, msgspec.json.encode(memory)),
        )

    def check(self, number: int) -> LinkMemory | None:
        """Return the link checks of the source with this number; None if it was never checked."""
        rows = self._db.rows("SELECT state FROM registry_check WHERE registry = ? AND n = ?", (self.registry, number))
        return _decode_source_row(_memory_decoder(), rows[0]) if rows else None

    def entries(self) -> Iterator[CatalogEntry]:
        """Yield all entries in the order of their numbers."""
        after = 0
        while page := self._db.rows(
            "SELECT state FROM registry_source WHERE registry = ? AND n > ? ORDER BY n LIMIT ?",
            (self.registry, after, PAGE),
        ):
            for row in page:
                entry = _source_entry_from_row(row)
                after = entry.number
                yield entry

    def _insert_event(self, table: str, columns: str, values: tuple[SqlValue, ...], number: int) -> None:
        if self.ref is None:
            raise ValueError("only recorded events can be stored")
        marks = ", ".join("?" * (len(values) + 4))
        self._db.run(
            f"INSERT INTO {table} (registry, n, {columns}store_id, seq) VALUES ({marks}) ON CONFLICT DO NOTHING",
            (self.registry, number, *values, self.ref.store, int(self.ref.seq)),
        )

    def _list_events(self, table: str, number: int) -> Iterator[RegistryChange]:
        from custody.cite.queries.registry_codec import decode_source_event

        rows = self._db.rows(
            f"SELECT store_id, seq FROM {table} WHERE registry = ? AND n = ? ORDER BY store_id, seq",
            (self.registry, number),
        )
        stored_records = (
            self._tables.record(RecordRef(StoreId(str(store)), Seq(integer_from_sql(seq)))) for store, seq in rows
        )
        for records in split_row_batches(record for record in stored_records if record is not None):
            for payload in self._tables.payloads(records).values():
                if payload is not None:
                    yield decode_source_event(payload)


def _check_source_use_kind(value: SqlValue) -> Any:
    from custody.cite.model import ArtifactType

    if value not in get_args(ArtifactType):
        raise DamagedStoreError(f"unknown kind of use {value!r}", hint="run 'custody doctor --rebuild'")
    return value


def _source_entry_from_row(row: Row) -> CatalogEntry:
    return _decode_source_row(_catalog_decoder(), row)


def _decode_source_row(decoder: msgspec.json.Decoder[T], row: Row) -> T:
    try:
        return decoder.decode(bytes_from_sql(row[0]))
    except (msgspec.DecodeError, InputError) as error:
        raise DamagedStoreError(
            f"a stored source is damaged: {error}", hint="run 'custody doctor --rebuild'"
        ) from error


# SQL about the pages that sessions read and the sources that recorders reported.


_WEB: Final = "http%"


def find_source_readings(store: Store, sessions: Collection[SessionId]) -> list[ObservedView[SourceAccess]]:
    """Return the web pages that these sessions read."""
    where = f"session IN ({make_sql_placeholders(sessions)}) AND locator LIKE ?"
    return store.views.look_up(SourceAccess, where, (*sorted(sessions), _WEB))


def find_source_url_readings(store: Store, url: str) -> list[ObservedView[SourceAccess]]:
    """Return how any session read this URL."""
    return store.views.look_up(SourceAccess, "locator = ?", (url,))


def find_chain_source_readings(
    store: Store, chain: StoreId, after: int, until: int, limit: int
) -> list[ObservedView[SourceAccess]]:
    """Return the first web pages that a chain's records after ``after`` and up to ``until`` report as read."""
    where = "store_id = ? AND seq > ? AND seq <= ? AND locator LIKE ?"
    return store.views.look_up(SourceAccess, f"{where} ORDER BY seq, n LIMIT {int(limit)}", (chain, after, until, _WEB))


def find_chain_sources(store: Store, chain: StoreId, after: int, until: int) -> list[ObservedView[Source]]:
    """Return the sources that a chain's records after ``after`` and up to ``until`` report."""
    return store.views.look_up(Source, "store_id = ? AND seq > ? AND seq <= ?", (chain, after, until))


def has_session_tool_calls(store: Store, session: SessionId) -> bool:
    """Return whether a tool call of this session was recorded."""
    return bool(store.views.distinct(ToolCall, "session", "session = ?", (session,)))


def find_newest_pull_requests(store: Store, limit: int) -> list[ObservedView[PullRequestFact]]:
    """Return the pull requests that sessions reported, those with the highest numbers."""
    return store.views.look_up(PullRequestFact, f"number > ? ORDER BY number DESC LIMIT {int(limit)}", (0,))
