"""The registry of sources in the database: one shelf per chain, kept by replaying the chain's records.

No truth lives here. A store that continues another's chain has that store's sources under the same numbers.
"""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import msgspec

from custody.core.errors import InputError
from custody.core.ids import RecordRef, Seq, StoreId
from custody.core.record import ChainTip, Record
from custody.core.wire.arrival import CONTINUES, REGISTRY
from custody.core.wire.canonical import Json
from custody.store import DerivedTables, Store
from custody.store.tables import PAGE, integer, key_digest, raw, split_batches

if TYPE_CHECKING:
    from custody.cite.shelf import SourceLost
from collections.abc import Collection
from typing import Any, Final, TypeVar, get_args

from custody.cite.links import LinkMemory
from custody.cite.model import ArtifactType
from custody.cite.queries.registry_codec import decode_registry_event
from custody.cite.shelf import HINTED_MAX, ExcerptEvent, ShelfEntry, SourceReading
from custody.cite.shelf import RegistryChange as Happened
from custody.core.ids import SessionId
from custody.core.views import PullRequestFact, Source, SourceAccess, ToolCall
from custody.store import ObservedView, placeholders
from custody.store.db import DamagedStoreError, Db, Row, SqlValue
from custody.store.tables import Tables

# The parsers of ``cite`` take a while to import, and most stores hold no source: nothing of it is imported up here.

VERSION = "2"
"""Of how records become rows; another one means that they are made again."""
ADOPTED = "adopted-sources"
"""The watermark's name for what other recorders and agents' calls told of sources, as far as it was registered."""
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
    """Every chain's registry, and how far each was read."""

    def __init__(self, store: Store) -> None:
        self._tables = store.tables
        self._db = store.db

    def shelf(self, registry: StoreId | None) -> "TableShelf":
        """The sources that a chain's records registered; an empty shelf before the first record."""
        return TableShelf(self._tables, registry or StoreId(""))

    def number_at(self, registry: StoreId | None, key: str) -> int | None:
        """The number under which the source is shown that a key leads to; quick where that is all one asks."""
        number: int | None = None
        found = self._db.rows(
            "SELECT n FROM registry_key WHERE registry = ? AND key = ?", (registry or "", key_digest(key))
        )
        while found:
            number = integer(found[0][0])
            states = self._db.rows("SELECT state FROM registry_source WHERE registry = ? AND n = ?", (registry, number))
            into = _INTO.decode(raw(states[0][0])).into if states else None
            found = [] if into is None else [(into,)]
        return number

    def read_on(self, store: StoreId) -> None:
        """Inside a write: let what was appended to a chain happen to its registry."""
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
        """Bring one chain's registry up to its head."""
        if not self.is_current(head):
            with self._db.writing():
                self.read_on(head.store)

    def is_current(self, head: ChainTip) -> bool:
        """Whether a chain's registry was read to the end, with this version."""
        return self._state(head.store) == (head.seq, VERSION)

    def adopted(self, store: StoreId) -> int:
        """Up to which place of a chain what it tells of sources was registered."""
        found = self._db.rows("SELECT seq FROM state WHERE view = ? AND store_id = ?", (ADOPTED, store))
        return integer(found[0][0]) if found else 0

    def set_adopted(self, store: StoreId, seq: int) -> None:
        """Remember up to which place it was."""
        with self._db.writing():
            self._put_state(ADOPTED, store, seq)

    def forget(self) -> None:
        """Inside a write: drop every row; they are made again from the records."""
        for name in TABLES:
            self._db.run(f"DELETE FROM {name}")
        self._db.run("DELETE FROM state WHERE view = ?", (REGISTRY,))

    def read_again(self, records: Sequence[Record]) -> None:
        """Inside a write: make the registries again that hold what these records said."""
        for store in sorted({record.store for record in records if record.entry.kind == REGISTRY}):
            for chain in self._built_on(store):
                self._drop(chain)
                self.read_on(chain)

    def _built_on(self, store: StoreId) -> list[StoreId]:
        """The chain itself and every chain here that may hold its sources because it continues it."""
        return [store, *(head.store for head in self._tables.chains() if store in dict(self._line(head.store)))]

    def _line(self, store: StoreId) -> list[tuple[StoreId, int]]:
        """The chains that a chain continues, oldest first, each with the place up to which it does."""
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
        """Let the records of a chain, from behind ``after`` up to ``until``, happen to a registry."""
        for records in split_batches(self._records(store, after, until)):
            shelf = self.shelf(registry)
            for record, payload in zip(records, self._tables.payloads(records).values(), strict=True):
                _let_happen(shelf, record, payload)

    def _records(self, store: StoreId, after: int, until: int | None) -> Iterator[Record]:
        while places := self._db.rows(
            "SELECT seq FROM record WHERE store_id = ? AND seq > ? AND kind = ? ORDER BY seq LIMIT ?",
            (store, after, REGISTRY, PAGE),
        ):
            for (seq,) in places:
                after = integer(seq)
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
        found = self._db.rows("SELECT seq, version FROM state WHERE view = ? AND store_id = ?", (REGISTRY, store))
        return (integer(found[0][0]), str(found[0][1])) if found else (0, VERSION)

    def _put_state(self, view: str, store: StoreId, seq: int) -> None:
        self._db.run(
            "INSERT INTO state (view, store_id, seq, version) VALUES (?, ?, ?, ?)"
            " ON CONFLICT (view, store_id) DO UPDATE SET seq = excluded.seq, version = excluded.version",
            (view, store, seq, VERSION),
        )


class _MergeTarget(msgspec.Struct):
    """Of everything that stands under a number, into which it was merged."""

    into: int | None = None


_INTO = msgspec.json.Decoder(_MergeTarget)


def _let_happen(shelf: "TableShelf", record: Record, payload: Json) -> None:
    """What a record says; one that was erased still says which number was given."""
    from custody.cite.event_fold import apply
    from custody.cite.queries.registry_codec import decode_registry_event

    shelf.ref = record.ref
    try:
        event = _lost(record) if payload is None else decode_registry_event(payload)
    except InputError:
        event = _lost(record)  # a copied chain may hold what this version cannot read; doctor counts these
    if event is not None:
        # What does not fit what happened before changes nothing: a copied chain may hold anything.
        apply(shelf, event)


def _lost(record: Record) -> "SourceLost | None":
    from custody.cite.shelf import SourceLost, Stamp

    family, number, op, *_ = (*record.entry.key.split(":"), "", "", "")
    if family != REGISTRY or op not in ("register", "part") or not number.isdecimal():
        return None
    return SourceLost(stamp=Stamp(id=record.entry.event, at_ns=record.entry.at_ns), number=int(number))


# One registry's sources as rows: what ``cite.shelf.Shelf`` promises, by SQL.


T = TypeVar("T")
NO_SPAN = -1
_KINDS: tuple[str, ...] = get_args(ArtifactType)
_ENCODER = msgspec.json.Encoder()
_DECODER = msgspec.json.Decoder(ShelfEntry)
_CHECKS = msgspec.json.Decoder(LinkMemory)


class TableShelf:
    """One registry's rows; see ``cite.shelf.Shelf`` for what each method promises."""

    def __init__(self, tables: Tables, registry: StoreId) -> None:
        self._tables = tables
        self._db: Db = tables.db
        self.registry = registry
        self.ref: RecordRef | None = None
        """The record that is happening: what holds texts is found by it."""

    def last(self) -> int:
        """The highest number that was given."""
        found = self._db.rows(
            "SELECT n FROM registry_source WHERE registry = ? ORDER BY n DESC LIMIT 1", (self.registry,)
        )
        return integer(found[0][0]) if found else 0

    def entry(self, number: int) -> ShelfEntry | None:
        """What stands under a number."""
        found = self._db.rows("SELECT state FROM registry_source WHERE registry = ? AND n = ?", (self.registry, number))
        return _entry(found[0]) if found else None

    def put(self, entry: ShelfEntry) -> None:
        """Let an entry stand under its number."""
        self._db.run(
            "INSERT INTO registry_source (registry, n, state) VALUES (?, ?, ?)"
            " ON CONFLICT (registry, n) DO UPDATE SET state = excluded.state",
            (self.registry, entry.number, _ENCODER.encode(entry)),
        )

    def number_at(self, key: str) -> int | None:
        """The number that a key leads to: one read by primary key."""
        found = self._db.rows(
            "SELECT n FROM registry_key WHERE registry = ? AND key = ?", (self.registry, key_digest(key))
        )
        return integer(found[0][0]) if found else None

    def point(self, key: str, number: int) -> None:
        """Let a key lead to a number."""
        self._db.run(
            "INSERT INTO registry_key (registry, key, n) VALUES (?, ?, ?)"
            " ON CONFLICT (registry, key) DO UPDATE SET n = excluded.n",
            (self.registry, key_digest(key), number),
        )

    def hint(self, hint: str, number: int) -> None:
        """Note a hint."""
        self._db.run(
            "INSERT INTO registry_hint (registry, hint, n) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
            (self.registry, key_digest(hint), number),
        )

    def hinted(self, hint: str) -> list[int]:
        """The numbers with this hint."""
        rows = self._db.rows(
            "SELECT n FROM registry_hint WHERE registry = ? AND hint = ? ORDER BY n LIMIT ?",
            (self.registry, key_digest(hint), HINTED_MAX),
        )
        return [integer(n) for (n,) in rows]

    def add_excerpt(self, event: ExcerptEvent) -> None:
        """Keep where a passage stands, once."""
        first, last = event.span or (NO_SPAN, NO_SPAN)
        self._put_told("registry_excerpt", "digest, span_first, span_last, ", (event.digest, first, last), event.number)

    def excerpts(self, number: int) -> list[ExcerptEvent]:
        """The passages kept under a number, read from their records."""
        return [event for event in self._list_events("registry_excerpt", number) if isinstance(event, ExcerptEvent)]

    def add_reading(self, event: SourceReading) -> None:
        """Keep that it was read."""
        self._put_told("registry_reading", "", (), event.number)

    def readings(self, number: int) -> list[SourceReading]:
        """How it was read, from its records."""
        return [event for event in self._list_events("registry_reading", number) if isinstance(event, SourceReading)]

    def add_use(self, number: int, kind: ArtifactType, artifact: str) -> None:
        """Keep a use, once."""
        self._db.run(
            "INSERT INTO registry_use (registry, n, kind, artifact, seq) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
            (self.registry, number, kind, artifact, 0 if self.ref is None else int(self.ref.seq)),
        )

    def uses(self, number: int) -> list[tuple[ArtifactType, str]]:
        """What rests on it."""
        rows = self._db.rows(
            "SELECT kind, artifact FROM registry_use WHERE registry = ? AND n = ? ORDER BY seq, kind, artifact",
            (self.registry, number),
        )
        return [(_kind(kind), str(artifact)) for kind, artifact in rows]

    def put_check(self, number: int, memory: LinkMemory) -> None:
        """Remember how its address answers."""
        self._db.run(
            "INSERT INTO registry_check (registry, n, state) VALUES (?, ?, ?)"
            " ON CONFLICT (registry, n) DO UPDATE SET state = excluded.state",
            (self.registry, number, _ENCODER.encode(memory)),
        )

    def check(self, number: int) -> LinkMemory | None:
        """What is remembered of its address."""
        found = self._db.rows("SELECT state FROM registry_check WHERE registry = ? AND n = ?", (self.registry, number))
        return _decoded(_CHECKS, found[0]) if found else None

    def entries(self) -> Iterator[ShelfEntry]:
        """Everything, by number."""
        after = 0
        while page := self._db.rows(
            "SELECT state FROM registry_source WHERE registry = ? AND n > ? ORDER BY n LIMIT ?",
            (self.registry, after, PAGE),
        ):
            for row in page:
                entry = _entry(row)
                after = entry.number
                yield entry

    def _put_told(self, table: str, columns: str, values: tuple[SqlValue, ...], number: int) -> None:
        if self.ref is None:
            raise ValueError("only what stands in a record can be kept")
        marks = ", ".join("?" * (len(values) + 4))
        self._db.run(
            f"INSERT INTO {table} (registry, n, {columns}store_id, seq) VALUES ({marks}) ON CONFLICT DO NOTHING",
            (self.registry, number, *values, self.ref.store, int(self.ref.seq)),
        )

    def _list_events(self, table: str, number: int) -> Iterator[Happened]:
        rows = self._db.rows(
            f"SELECT store_id, seq FROM {table} WHERE registry = ? AND n = ? ORDER BY store_id, seq",
            (self.registry, number),
        )
        found = (self._tables.record(RecordRef(StoreId(str(store)), Seq(integer(seq)))) for store, seq in rows)
        for records in split_batches(record for record in found if record is not None):
            for payload in self._tables.payloads(records).values():
                if payload is not None:
                    yield decode_registry_event(payload)


def _kind(value: SqlValue) -> Any:
    if value not in _KINDS:
        raise DamagedStoreError(f"{value!r} is no kind of use", hint="run 'custody doctor --rebuild'")
    return value


def _entry(row: Row) -> ShelfEntry:
    return _decoded(_DECODER, row)


def _decoded(decoder: "msgspec.json.Decoder[T]", row: Row) -> T:
    try:
        return decoder.decode(raw(row[0]))
    except (msgspec.DecodeError, InputError) as error:
        raise DamagedStoreError(
            f"a source is not as it was stored: {error}", hint="run 'custody doctor --rebuild'"
        ) from error


# SQL about the pages that sessions read and the sources that recorders reported.


_WEB: Final = "http%"


def pages_read_by(store: Store, sessions: Collection[SessionId]) -> list[ObservedView[SourceAccess]]:
    """Return the web pages that these sessions read."""
    where = f"session IN ({placeholders(sessions)}) AND locator LIKE ?"
    return store.views.look_up(SourceAccess, where, (*sorted(sessions), _WEB))


def readings_of_url(store: Store, url: str) -> list[ObservedView[SourceAccess]]:
    """Return how any session read this URL."""
    return store.views.look_up(SourceAccess, "locator = ?", (url,))


def pages_in_chain(
    store: Store, chain: StoreId, after: int, until: int, limit: int
) -> list[ObservedView[SourceAccess]]:
    """Return the first web pages that a chain's records after ``after`` and up to ``until`` report as read."""
    where = "store_id = ? AND seq > ? AND seq <= ? AND locator LIKE ?"
    return store.views.look_up(SourceAccess, f"{where} ORDER BY seq, n LIMIT {int(limit)}", (chain, after, until, _WEB))


def sources_in_chain(store: Store, chain: StoreId, after: int, until: int) -> list[ObservedView[Source]]:
    """Return the sources that a chain's records after ``after`` and up to ``until`` report."""
    return store.views.look_up(Source, "store_id = ? AND seq > ? AND seq <= ?", (chain, after, until))


def has_calls(store: Store, session: SessionId) -> bool:
    """Whether a tool call of this session was captured."""
    return bool(store.views.distinct(ToolCall, "session", "session = ?", (session,)))


def newest_pull_requests(store: Store, limit: int) -> list[ObservedView[PullRequestFact]]:
    """Return what sessions reported of pull requests, those with the highest numbers."""
    return store.views.look_up(PullRequestFact, f"number > ? ORDER BY number DESC LIMIT {int(limit)}", (0,))
