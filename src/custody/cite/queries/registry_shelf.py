"""One registry's sources as rows: what ``cite.shelf.Shelf`` promises, by SQL."""

from collections.abc import Iterator
from typing import Any, TypeVar, get_args

import msgspec

from custody.cite.events import ExcerptEvent, SourceReading
from custody.cite.events import RegistryChange as Happened
from custody.cite.links import LinkMemory
from custody.cite.model import ArtifactType
from custody.cite.queries.registry_codec import decode_registry_event
from custody.cite.shelf import HINTED_MAX, ShelfEntry
from custody.core.errors import InputError
from custody.core.ids import RecordRef, Seq, StoreId
from custody.store.db import DamagedStoreError, Db, Row, SqlValue
from custody.store.tables import PAGE, Tables, integer, key_digest, raw, split_batches

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
