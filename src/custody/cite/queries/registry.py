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
    from custody.cite.events import SourceLost
    from custody.cite.queries.registry_shelf import TableShelf

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
        from custody.cite.queries.registry_shelf import TableShelf

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
    from custody.cite.events import SourceLost, Stamp

    family, number, op, *_ = (*record.entry.key.split(":"), "", "", "")
    if family != REGISTRY or op not in ("register", "part") or not number.isdecimal():
        return None
    return SourceLost(stamp=Stamp(id=record.entry.event, at_ns=record.entry.at_ns), number=int(number))
