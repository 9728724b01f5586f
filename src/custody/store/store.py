"""The store: append, read, erase, copy chains, keep views current.

It uses the SQL that SQLite and PostgreSQL share; ``db`` has the differences. Only this file decides which chain a
database may append to.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from hashlib import shake_256
from itertools import takewhile
from types import TracebackType

from msgspec import Struct

from custody.core.errors import StoreError
from custody.core.ids import PENDING, Digest, EventId, NaturalKey, RecordRef, Seq, StoreId
from custody.core.record import ChainTip, Record, RecordDraft, chain_tip_from_record, record_from_draft
from custody.core.wire.arrival import CONTINUES, ERASED, SPAN, Arrival, make_continuation_arrival, make_erasure_arrival
from custody.core.wire.body import list_payload_digests
from custody.core.wire.canonical import Json, parse_json_bytes
from custody.core.wire.event import DecodedEvent
from custody.core.wire.span_batch import SALT_BYTES, BatchedSpan, batch_span_arrivals, erase_batched_span
from custody.store.db import Db, migrate_store_schema
from custody.store.heads import Heads
from custody.store.projection import DerivedTables, Projection, ProjectionProgress, RecordReader
from custody.store.sqlite import SqliteDb, is_temporary_db, open_sqlite_overlay
from custody.store.tables import (
    Body,
    Tables,
    bytes_from_sql,
    encode_stored_body,
    erased_digest_from_payload,
    integer_from_sql,
    split_row_batches,
)


class StoreEnvironment(Struct, frozen=True):
    """The external inputs of the store: the clock, random tokens, and the head files if it has any."""

    now_ns: Callable[[], int]
    token: Callable[[], str]
    heads: Heads | None


class ViewWiring(Struct, frozen=True):
    """The sources of views: a reader for each kind of record, and the derived tables of packages."""

    readers: Mapping[str, RecordReader]
    derived: tuple[Callable[["Store"], DerivedTables], ...] = ()


class AppendResult(Struct, frozen=True):
    """The result of an append: the new records, and the events that were already stored."""

    made: tuple[Record, ...]
    known: tuple[EventId, ...]
    stored: Mapping[EventId, RecordRef] = {}
    """The record of each new event; spans may share one."""


class CopyResult(Struct, frozen=True):
    """The result of copying a chain: the numbers of new, known and conflicting records."""

    store: StoreId
    new: int
    known: int
    forked: int


class Fork(Struct, frozen=True):
    """A record with the same position as another record, as listed in an export."""

    record: Record


class _ChainCopy(Struct):
    """The progress of copying one chain."""

    held: ChainTip
    until: int | None
    """The last position that copying may add; for our own chain, the last position that we wrote."""
    new: int = 0
    known: int = 0
    forked: int = 0


class Store:
    """Records, bodies and views in one database."""

    def __init__(self, db: Db, wiring: ViewWiring, surroundings: StoreEnvironment) -> None:
        try:
            migrate_store_schema(db)
        except BaseException:
            db.close()
            raise
        self.db = db
        self.tables = Tables(db)
        self.views = Projection(self.tables, wiring.readers, [make(self) for make in wiring.derived])
        self._around = surroundings

    def __enter__(self) -> "Store":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # --- the connection -----------------------------------------------------------------------------------------------

    def reading(self) -> AbstractContextManager[None]:
        """Open a transaction in which every read sees the store at one point in time."""
        return self.db.reading()

    def writing(self) -> AbstractContextManager[None]:
        """Open a transaction that excludes other writers; it is committed durably or rolled back whole."""
        return self.db.writing()

    def is_in_transaction(self) -> bool:
        """Return whether a transaction is open."""
        return self.db.is_in_transaction()

    def close(self) -> None:
        """Close the connection."""
        self.db.close()

    @property
    def is_shared(self) -> bool:
        """Return whether this is a team database, which other machines write to."""
        return bool(self.db.place)

    def private_copy(self) -> Db | None:
        """Return a writable private copy, deleted when closed; None for a team database."""
        return open_sqlite_overlay(self.db) if isinstance(self.db, SqliteDb) else None

    def is_temporary(self) -> bool:
        """Return whether the store is deleted when it is closed."""
        return is_temporary_db(self.db)

    def schema_version(self) -> int:
        """Return the version of the database's schema."""
        return self.db.version()

    def compare_schema(self) -> list[str]:
        """Return the differences between the database's real schema and the expected one."""
        from custody.store.schema import compare_schemas, load_expected_schema, read_schema  # only the doctor asks

        return list(compare_schemas(read_schema(self.db), load_expected_schema()))

    def check_files(self) -> list[str]:
        """Return the problems that the database reports in its own files."""
        return self.db.check()

    def read_sealed_positions(self) -> Mapping[StoreId, int] | None:
        """Return how far each chain was verified; None if another program may have written since."""
        return self.db.read_seal()

    def seal(self, verified: Mapping[StoreId, int]) -> None:
        """Record that every chain was verified up to these positions."""
        self.db.seal(verified)

    @property
    def heads(self) -> Heads | None:
        """Return the head files next to the database, if it has a folder."""
        return self._around.heads

    # --- write --------------------------------------------------------------------------------------------------------

    def append(self, arrivals: Sequence[Arrival], *, chain: StoreId | None = None) -> AppendResult:
        """Append new events in this order; they and their head file are durable on return."""
        return self.append_from(lambda: arrivals, chain=chain)

    def append_from(self, look: Callable[[], Sequence[Arrival]], *, chain: StoreId | None = None) -> AppendResult:
        """Append the result of ``look``, which runs inside the write: no other writer can change what it read."""
        made: list[Record] = []
        known: list[EventId] = []
        stored: dict[EventId, RecordRef] = {}
        with self.writing():
            arrivals = look()
            if not arrivals:
                return AppendResult((), ())
            head = self._own_head() if chain is None else self._chain(chain, owned=True)
            fresh, again, shared = self._split_known_arrivals(arrivals)
            together: list[Arrival] = []
            for arrival, parts in batch_span_arrivals(fresh, self._salts(len(fresh))):
                made.append(record_from_draft(head, arrival.entry))
                head = chain_tip_from_record(made[-1])
                together.append(arrival)
                stored.update((part.entry.event, made[-1].ref) for part in parts)
            events = self._keep_all(together, made)
            for arrival in again:
                if (arrival.entry.key, arrival.entry.digest) not in shared:
                    self._keep_bodies(arrival)
                known.append(arrival.entry.event)
            self.views.read_on(head.store, made, events)
        self._remember(head)
        return AppendResult(tuple(made), tuple(known), stored)

    def _salts(self, count: int) -> bytes:
        """Return random bytes for this many spans; all come from one random number, which is not stored."""
        return shake_256(self._around.token().encode()).digest(max(count, 1) * SALT_BYTES)

    def erase_spans(self, spans: Sequence[tuple[Record, BatchedSpan]], *, who: str, why: str) -> AppendResult:
        """Erase these spans from the records that they share with others, as ``erase`` does with bodies."""
        made: list[Record] = []
        with self.writing():
            head = self._own_head()
            for record, span in spans:
                head = self._erase_span(head, record, span, who=who, why=why)
                made.append(self.tables.records_after(head.store, head.seq - 1, 1)[0])
            self.views.read_on(head.store)
        self._remember(head)
        self.db.scrub()
        return AppendResult(tuple(made), ())

    def _erase_span(self, head: ChainTip, at: Record, span: BatchedSpan, *, who: str, why: str) -> ChainTip:
        holder = self.tables.record(at.ref)
        data = None if holder is None else self.tables.read_span_batch(holder)
        if holder is None or data is None:
            raise StoreError(f"record {at.seq} of chain {at.store} no longer has its spans")
        leaf, now_ns = Digest(span.leaf), self._around.now_ns()
        event = EventId(f"{ERASED}-{self._around.token()}")
        mark = next(iter(self._mark_spans([at.entry])), None)
        record = self._keep(head, make_erasure_arrival(event, leaf, who=who, why=why, at_ns=now_ns, mark=mark))
        codec, rest = encode_stored_body(erase_batched_span(data, span))
        self.db.run("UPDATE body SET codec = ?, bytes = ? WHERE digest = ?", (codec, rest, holder.entry.digest))
        for digest in (leaf, mark):
            if digest is not None:
                self.tables.put_erasure(digest, record.ref)
        self.views.read_again(holder.entry.digest)
        return chain_tip_from_record(record)

    def erase(self, digests: Sequence[Digest], *, who: str, why: str) -> AppendResult:
        """Erase these bodies permanently, record who and why, and update views; digests and links stay valid."""
        made: list[Record] = []
        with self.writing():
            head = self._own_head()
            for digest in digests:
                event = EventId(f"{ERASED}-{self._around.token()}")
                record = self._keep(
                    head, make_erasure_arrival(event, digest, who=who, why=why, at_ns=self._around.now_ns())
                )
                head = chain_tip_from_record(record)
                made.append(record)
                self.db.run("UPDATE body SET bytes = NULL WHERE digest = ?", (digest,))
                self.tables.drop_record_outlines(digest)
                self.tables.put_erasure(digest, record.ref)
                self.views.read_again(digest)
            self.views.read_on(head.store)
        self._remember(head)
        self.db.scrub()
        return AppendResult(tuple(made), ())

    def copy(self, items: Iterable[Record | Body | Fork]) -> list[CopyResult]:
        """Copy verified chains verbatim, all or none; known records are skipped, conflicting records become forks."""
        copying: dict[StoreId, _ChainCopy] = {}
        returned: list[Digest] = []
        with self.writing():
            for item in items:
                if isinstance(item, Body):
                    returned += [item.digest] if self._copy_body(item) else []
                elif isinstance(item, Fork):
                    self.tables.put_fork(item.record)
                else:
                    if item.store not in copying:
                        held = self._chain(item.store, owned=False)
                        copying[item.store] = _ChainCopy(held, self._written_until(item.store))
                    self._copy_record(item, copying[item.store])
            for store in copying:
                self.views.read_on(store)
            self._read_returned(returned)
        for store in copying:
            self._remember(self.tables.head(store))
        return [CopyResult(store, c.new, c.known, c.forked) for store, c in copying.items()]

    def _copy_body(self, body: Body) -> bool:
        """Store copied bytes or their outline; return whether the store now has more of the body."""
        if body.outline is not None:
            return self.tables.put_outline(body.digest, body.outline)
        return self.tables.put_body(body.digest, body.data)

    def _read_returned(self, digests: Iterable[Digest]) -> None:
        """Update the index and views of records with restored bodies, inside a write."""
        for digest in digests:
            for record in self.tables.records_holding(digest):
                self.tables.reindex(record, self.tables.payload(record))
            self.views.read_again(digest)

    def _let_go(self, payload: Json) -> None:
        """Drop the outlines of bodies that the other store has erased, inside a write."""
        for digest in erased_digest_from_payload(payload):
            if self.tables.drop_outline(digest):
                self.views.read_again(digest)

    def _copy_record(self, record: Record, chain: "_ChainCopy") -> None:
        stored = self.tables.record(record.ref) if record.seq <= chain.held.seq else None
        if stored is not None and stored.link == record.link:
            chain.known += 1
        elif stored is None and not chain.forked and (chain.until is None or record.seq <= chain.until):
            self.tables.put_record(record)
            payload = self.tables.payload(record)
            self.tables.reindex(record, payload)
            if record.entry.kind == ERASED:
                self._let_go(payload)
            chain.new += 1
        else:
            self.tables.put_fork(record)
            chain.forked += 1

    def catch_up(self, progress: ProjectionProgress = lambda _: None) -> None:
        """Bring every view up to the chains' heads."""
        self.views.catch_up(progress)

    # --- look up ------------------------------------------------------------------------------------------------------

    def own(self) -> StoreId | None:
        """Return the chain that this database appends to; None before its first record."""
        found = self.db.rows("SELECT value FROM setting WHERE name = 'store_id'")
        return StoreId(str(found[0][0])) if found else None

    def ensure_own(self) -> StoreId:
        """Return the chain that this database appends to, which gets its id now if it has none; inside a write."""
        return self._own_head().store

    # --- which chain --------------------------------------------------------------------------------------------------

    def _own_head(self) -> ChainTip:
        """Return the head to append to; start a new chain if the database was copied, restored or truncated."""
        settings = {str(name): str(value) for name, value in self.db.rows("SELECT name, value FROM setting")}
        stamp = self.db.stamp()
        if "store_id" not in settings:
            return self._begin(stamp)
        own = self.tables.head(StoreId(settings["store_id"]))
        if settings.get("stamp") == stamp and self._reaches_its_head(own):
            return own
        fresh = self._begin(stamp)
        event = EventId(f"{CONTINUES}-{fresh.store}")
        return chain_tip_from_record(self._keep(fresh, make_continuation_arrival(event, own, self._around.now_ns())))

    def _reaches_its_head(self, own: ChainTip) -> bool:
        """Return whether the table still has the record of the head file; otherwise appending would make a fork."""
        if self._around.heads is None:
            return True
        known = self._around.heads.read(own.store)
        if known is None:
            # A local head file is written before the first record; a team database may be new to this machine.
            return bool(self.db.place)
        if known.seq == 0:
            return True
        links = self.db.rows("SELECT link FROM record WHERE store_id = ? AND seq = ?", (own.store, int(known.seq)))
        return links == [(known.link,)]

    def _written_until(self, store: StoreId) -> int | None:
        """Return how far we wrote a chain if it is our own: no copy may continue it beyond that; else None."""
        settings = {str(name): str(value) for name, value in self.db.rows("SELECT name, value FROM setting")}
        if settings.get("store_id") != store or settings.get("stamp") != self.db.stamp():
            return None
        known = self._around.heads.read(store) if self._around.heads else None
        return max(self.tables.head(store).seq, known.seq if known else 0)

    def _mark_spans(self, entries: Sequence[RecordDraft]) -> dict[Digest, tuple[NaturalKey, Digest]]:
        """Return the mark of each span; none without head files, or for no span."""
        contents = [(entry.key, entry.digest) for entry in entries]
        if not contents or self._around.heads is None:
            return {}
        return dict(zip(self._around.heads.mark_erased(contents), contents, strict=True))

    def _begin(self, stamp: str) -> ChainTip:
        store = StoreId(self._around.token())
        for name, value in (("store_id", store), ("stamp", stamp)):
            self.db.run(
                "INSERT INTO setting (name, value) VALUES (?, ?)"
                " ON CONFLICT (name) DO UPDATE SET value = excluded.value",
                (name, value),
            )
        return self._chain(store, owned=True)

    def _chain(self, store: StoreId, *, owned: bool) -> ChainTip:
        head = self.tables.head(store)
        if head.seq == 0:
            self.db.run("INSERT INTO chain (store_id, owned) VALUES (?, ?) ON CONFLICT DO NOTHING", (store, int(owned)))
            # Before the first record is committed, so that a missing head file always means that it was deleted.
            self._remember(head)
        return head

    def _keep(self, head: ChainTip, arrival: Arrival) -> Record:
        record = record_from_draft(head, arrival.entry)
        self._keep_bodies(arrival)
        self.tables.put_record(record)
        return record

    def _split_known_arrivals(
        self, arrivals: Sequence[Arrival]
    ) -> tuple[list[Arrival], list[Arrival], set[tuple[NaturalKey, Digest]]]:
        """Split arrivals into new ones and known or repeated ones; also return which contents share a record."""
        known = self.tables.find_known([arrival.entry for arrival in arrivals])
        spans = [arrival.entry for arrival in arrivals if arrival.entry.kind == SPAN]
        marks = self._mark_spans(spans) if self.tables.has_erasures() else {}
        for mark in self.tables.find_erasures(marks):
            known.contents.add(marks[mark])
            known.shared.add(marks[mark])
        fresh: list[Arrival] = []
        again: list[Arrival] = []
        for arrival in arrivals:
            if known.holds(arrival.entry):
                again.append(arrival)
            else:
                known.add(arrival.entry)
                fresh.append(arrival)
        return fresh, again, known.shared

    def _keep_all(self, arrivals: Sequence[Arrival], records: Sequence[Record]) -> dict[RecordRef, DecodedEvent]:
        """Store new records with the bytes of their arrivals, in few statements to save round trips.

        Return the events that are stored whole, so that they need not be read again.
        """
        put = self.tables.put_bodies(
            {d: data for arrival in arrivals for d, data in _list_arrival_bodies(arrival).items()}
        )
        self.tables.put_parts((arrival.entry.digest, text) for arrival in arrivals for text in arrival.texts)
        self.tables.put_records(records)
        for digest in put.returned:
            self.views.read_again(digest)
        return {
            record.ref: arrival.event
            for record, arrival in zip(records, arrivals, strict=True)
            if arrival.event is not None
            and arrival.entry.digest not in put.empty
            and put.empty.isdisjoint(arrival.texts)
        }

    def _keep_bodies(self, arrival: Arrival) -> None:
        """Store the bytes of an arrival, also if it is known but another store's erasure emptied it."""
        returned = [
            digest for digest, data in _list_arrival_bodies(arrival).items() if self.tables.put_body(digest, data)
        ]
        self.tables.put_parts((arrival.entry.digest, text) for text in arrival.texts)
        for digest in returned:
            self.views.read_again(digest)

    def _remember(self, head: ChainTip) -> None:
        # The pending chain exists only in a private copy: no file may refer to it.
        if self._around.heads is not None and head.store != PENDING:
            self._around.heads.advance(head)


def _list_arrival_bodies(arrival: Arrival) -> dict[Digest, bytes]:
    return {arrival.entry.digest: arrival.payload, **arrival.texts}


# An earlier state of a store: its chains up to some records, copied verbatim to another store.


def copy_chains_until(source: Store, heads: Sequence[ChainTip], into: Store) -> None:
    """Copy these chains up to their heads into an empty store."""
    into.copy(_iterate_chain_items(source, heads))
    with into.db.writing():
        for store in source.tables.list_pulled_chains() & {head.store for head in heads}:
            into.tables.mark_pulled(store)
    into.catch_up()


def set_owned_chains(store: Store, owned: Collection[StoreId], own: StoreId | None) -> None:
    """Mark the chains that a store has appended to, and the chain that it appends to now."""
    with store.db.writing():
        for chain in owned:
            store.db.run("UPDATE chain SET owned = 1 WHERE store_id = ?", (chain,))
        if own is not None:
            store.db.run("INSERT INTO setting (name, value) VALUES ('store_id', ?)", (own,))


def find_own_chain(store: Store, named: Collection[StoreId]) -> StoreId | None:
    """Return the one of these chains that a store appended to last: its own, or one that its own continues."""
    own, visited = store.own(), set[StoreId]()
    while own is not None and own not in named and own not in visited:
        visited.add(own)
        first = store.tables.record(RecordRef(own, Seq(1)))
        payload = store.tables.payload(first) if first is not None and first.entry.kind == CONTINUES else None
        before = payload.get("store") if isinstance(payload, dict) else None
        own = StoreId(before) if isinstance(before, str) else None
    return own if own in named else None


def count_records_erased_since(source: Store, heads: Sequence[ChainTip]) -> int:
    """Return how many records up to these heads lost content to a later erasure."""
    until = {head.store: int(head.seq) for head in heads}
    erasures: dict[Digest, list[RecordRef]] = {}
    for digest, store, seq in source.db.rows("SELECT digest, store_id, seq FROM erasure"):
        ref = RecordRef(StoreId(str(store)), Seq(integer_from_sql(seq)))
        erasures.setdefault(Digest(bytes_from_sql(digest)), []).append(ref)
    later = [digest for digest, refs in erasures.items() if not any(_is_within_chain_heads(ref, until) for ref in refs)]
    bodies = source.tables.bodies(later).values()
    gone = [body.digest for body in bodies if body.data is None and body.outline is None]
    lost = {record.ref for digest in gone for record in source.tables.records_holding(digest)}
    return sum(_is_within_chain_heads(ref, until) for ref in lost)


def count_records_claimed_until(source: Store, heads: Sequence[ChainTip], at_ns: int) -> int:
    """Return how many records after these heads, or of other chains, claim this time or an earlier one."""
    (row,) = source.db.rows("SELECT count(*) FROM record WHERE at_ns <= ?", (at_ns,))
    among = "SELECT count(*) FROM record WHERE store_id = ? AND seq <= ? AND at_ns <= ?"
    return integer_from_sql(row[0]) - sum(
        integer_from_sql(source.db.rows(among, (head.store, int(head.seq), at_ns))[0][0]) for head in heads
    )


def _is_within_chain_heads(ref: RecordRef, until: Mapping[StoreId, int]) -> bool:
    return ref.seq <= until.get(ref.store, 0)


def _iterate_chain_items(source: Store, heads: Sequence[ChainTip]) -> Iterator[Record | Body]:
    """Yield the records of each chain in order, each after the bodies that it needs."""
    yielded: set[Digest] = set()
    for head in heads:
        for records in split_row_batches(_chain_records_until(source, head)):
            payloads = _read_stored_bodies(source, {record.entry.digest for record in records} - yielded)
            texts = {text for body in payloads for text in _list_body_text_digests(body)}
            yield from payloads
            yield from _read_stored_bodies(source, texts - yielded)
            yielded.update((body.digest for body in payloads), texts)
            yield from records


def _chain_records_until(source: Store, head: ChainTip) -> Iterator[Record]:
    return takewhile(lambda record: record.seq <= head.seq, source.tables.records(head.store))


def _read_stored_bodies(source: Store, digests: Collection[Digest]) -> list[Body]:
    return list(source.tables.bodies(digests).values())


def _list_body_text_digests(body: Body) -> frozenset[Digest]:
    if body.data is None or b'"$body"' not in body.data:
        return frozenset()
    return list_payload_digests(parse_json_bytes(body.data, bytes_max=len(body.data)))
