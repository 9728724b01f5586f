"""The one store class: append, read, erase, copy chains, keep views current.

It speaks the SQL that SQLite and PostgreSQL share; what differs is in ``db``. This file is the only one that decides
which chain a database may append to.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from itertools import takewhile
from types import TracebackType

from custody.core.ids import PENDING, Digest, EventId, RecordRef, Seq, StoreId
from custody.core.record import ChainTip, Record, chain_entry, head_at
from custody.core.wire.arrival import CONTINUES, ERASED, Arrival, continues, make_erasure_arrival
from custody.core.wire.body import parts
from custody.core.wire.canonical import Json, parse
from custody.store.db import Db, migrate
from custody.store.heads import Heads
from custody.store.projection import DerivedTables, Projection, ProjectionProgress, RecordReader
from custody.store.sqlite import SqliteDb, overlay, vanishes
from custody.store.tables import Body, Tables, integer, raw, read_erased_digest, split_batches


@dataclass(frozen=True, slots=True)
class StoreEnvironment:
    """What the store is handed instead of reaching for it: moments, chance, the head files if there are any."""

    now_ns: Callable[[], int]
    token: Callable[[], str]
    heads: Heads | None


@dataclass(frozen=True, slots=True)
class ViewWiring:
    """What views are made by: a reader for each kind of record, and the tables that packages derive from records."""

    readers: Mapping[str, RecordReader]
    derived: tuple[Callable[["Store"], DerivedTables], ...] = ()


@dataclass(frozen=True, slots=True)
class AppendResult:
    """What an append did: the records it made, and the events that were there already."""

    made: tuple[Record, ...]
    known: tuple[EventId, ...]


@dataclass(frozen=True, slots=True)
class CopyResult:
    """What copying a chain did: records that are new here, known already, and in conflict with one that is here."""

    store: StoreId
    new: int
    known: int
    forked: int


@dataclass(frozen=True, slots=True)
class Fork:
    """A record that claims a place which another record has, as an export lists it."""

    record: Record


@dataclass(slots=True)
class _ChainCopy:
    """How far copying one chain has come."""

    held: ChainTip
    until: int | None
    """How far the chain may grow by copying: our own only as far as we remember to have written it."""
    new: int = 0
    known: int = 0
    forked: int = 0


class Store:
    """Records, bodies and views in one database."""

    def __init__(self, db: Db, wiring: ViewWiring, surroundings: StoreEnvironment) -> None:
        try:
            migrate(db)
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

    def in_transaction(self) -> bool:
        """Return whether a transaction is open."""
        return self.db.in_transaction()

    def close(self) -> None:
        """Close the connection."""
        self.db.close()

    @property
    def is_shared(self) -> bool:
        """Whether this is a team's database, which other machines write to."""
        return bool(self.db.place)

    def private_copy(self) -> Db | None:
        """A private copy of the database that can be written and vanishes when closed; None of a team's."""
        return overlay(self.db) if isinstance(self.db, SqliteDb) else None

    def is_temporary(self) -> bool:
        """Whether everything written here vanishes when the store is closed."""
        return vanishes(self.db)

    def schema_version(self) -> int:
        """Return the version of the database's schema."""
        return self.db.version()

    def check_files(self) -> list[str]:
        """Return what the database reports as wrong with its own files."""
        return self.db.check()

    def sealed_positions(self) -> Mapping[StoreId, int] | None:
        """Return how far each chain was verified; None when another program may have written since."""
        return self.db.sealed()

    def seal(self, verified: Mapping[StoreId, int]) -> None:
        """Remember that every chain was verified up to these positions."""
        self.db.seal(verified)

    @property
    def heads(self) -> Heads | None:
        """The head files beside the database, if it has a folder."""
        return self._around.heads

    # --- write --------------------------------------------------------------------------------------------------------

    def append(self, arrivals: Sequence[Arrival], *, chain: StoreId | None = None) -> AppendResult:
        """Chain what is new, in the order given; after this returns it is durable, and the head beside it says so."""
        return self.append_what(lambda: arrivals, chain=chain)

    def append_what(self, look: Callable[[], Sequence[Arrival]], *, chain: StoreId | None = None) -> AppendResult:
        """The same for what ``look`` gives, which looks alone among writers: what it saw still holds then."""
        made: list[Record] = []
        known: list[EventId] = []
        with self.writing():
            arrivals = look()
            if not arrivals:
                return AppendResult((), ())
            head = self._own_head() if chain is None else self._chain(chain, owned=True)
            fresh, again = self._parted(arrivals)
            for arrival in fresh:
                made.append(chain_entry(head, arrival.entry))
                head = head_at(made[-1])
            self._keep_all(fresh, made)
            for arrival in again:
                self._keep_bodies(arrival)
                known.append(arrival.entry.event)
            self.views.read_on(head.store)
        self._remember(head)
        return AppendResult(tuple(made), tuple(known))

    def erase(self, digests: Sequence[Digest], *, who: str, why: str) -> AppendResult:
        """Forget these bodies for good: a record says who and why, digests and links still check, views let go."""
        made: list[Record] = []
        with self.writing():
            head = self._own_head()
            for digest in digests:
                event = EventId(f"{ERASED}-{self._around.token()}")
                record = self._keep(
                    head, make_erasure_arrival(event, digest, who=who, why=why, at_ns=self._around.now_ns())
                )
                head = head_at(record)
                made.append(record)
                self.db.run("UPDATE body SET bytes = NULL WHERE digest = ?", (digest,))
                self.tables.put_erasure(digest, record.ref)
                self.views.read_again(digest)
            self.views.read_on(head.store)
        self._remember(head)
        self.db.scrub()
        return AppendResult(tuple(made), ())

    def copy(self, items: Iterable[Record | Body | Fork]) -> list[CopyResult]:
        """Copy verified chains verbatim, all or none: what is here is passed over, a place taken makes a fork."""
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
        """Keep copied bytes or their outline; True when more of a body is here now than was before."""
        if body.outline is not None:
            return self.tables.put_outline(body.digest, body.outline)
        return self.tables.put_body(body.digest, body.data)

    def _read_returned(self, digests: Iterable[Digest]) -> None:
        """Inside a write: read records again of which more is here than before."""
        for digest in digests:
            for record in self.tables.records_holding(digest):
                self.tables.reindex(record, self.tables.payload(record))
            self.views.read_again(digest)

    def _let_go(self, payload: Json) -> None:
        """Inside a write: drop the outlines of what another store erased; they were its word, and it took it back."""
        for digest in read_erased_digest(payload):
            if self.tables.drop_outline(digest):
                self.views.read_again(digest)

    def _copy_record(self, record: Record, chain: "_ChainCopy") -> None:
        there = self.tables.record(record.ref) if record.seq <= chain.held.seq else None
        if there is not None and there.link == record.link:
            chain.known += 1
        elif there is None and not chain.forked and (chain.until is None or record.seq <= chain.until):
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
        """The chain that this database appends to; None before its first record."""
        found = self.db.rows("SELECT value FROM setting WHERE name = 'store_id'")
        return StoreId(str(found[0][0])) if found else None

    # --- which chain --------------------------------------------------------------------------------------------------

    def _own_head(self) -> ChainTip:
        """The head to append to; a new chain when this database finds itself copied, restored or cut short."""
        settings = {str(name): str(value) for name, value in self.db.rows("SELECT name, value FROM setting")}
        stamp = self.db.stamp()
        if "store_id" not in settings:
            return self._begin(stamp)
        own = self.tables.head(StoreId(settings["store_id"]))
        if settings.get("stamp") == stamp and self._reaches_its_head(own):
            return own
        fresh = self._begin(stamp)
        event = EventId(f"{CONTINUES}-{fresh.store}")
        return head_at(self._keep(fresh, continues(event, own, self._around.now_ns())))

    def _reaches_its_head(self, own: ChainTip) -> bool:
        """Whether the table still holds what the head file remembers: appending to less would make a fork."""
        if self._around.heads is None:
            return True
        known = self._around.heads.read(own.store)
        if known is None:
            # A head beside its database is written before the first record; a team's may be new to this machine.
            return bool(self.db.place)
        if known.seq == 0:
            return True
        there = self.db.rows("SELECT link FROM record WHERE store_id = ? AND seq = ?", (own.store, int(known.seq)))
        return there == [(known.link,)]

    def _written_until(self, store: StoreId) -> int | None:
        """How far a chain was written here if it is the one we append to: beyond that nobody else may continue it."""
        settings = {str(name): str(value) for name, value in self.db.rows("SELECT name, value FROM setting")}
        if settings.get("store_id") != store or settings.get("stamp") != self.db.stamp():
            return None
        known = self._around.heads.read(store) if self._around.heads else None
        return max(self.tables.head(store).seq, known.seq if known else 0)

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
            # Before the first record is committed, so that a chain without a head file is one that somebody deleted.
            self._remember(head)
        return head

    def _keep(self, head: ChainTip, arrival: Arrival) -> Record:
        record = chain_entry(head, arrival.entry)
        self._keep_bodies(arrival)
        self.tables.put_record(record)
        return record

    def _parted(self, arrivals: Sequence[Arrival]) -> tuple[list[Arrival], list[Arrival]]:
        """What is new, each thing once, and what is there already or came a second time."""
        known = self.tables.known_among([arrival.entry for arrival in arrivals])
        fresh: list[Arrival] = []
        again: list[Arrival] = []
        for arrival in arrivals:
            if known.holds(arrival.entry):
                again.append(arrival)
            else:
                known.add(arrival.entry)
                fresh.append(arrival)
        return fresh, again

    def _keep_all(self, arrivals: Sequence[Arrival], records: Sequence[Record]) -> None:
        """Keep new records with the bytes of their arrivals, in few statements: each is a way to a server and back."""
        returned = self.tables.put_bodies({d: data for arrival in arrivals for d, data in _bodies(arrival).items()})
        self.tables.put_parts((arrival.entry.digest, text) for arrival in arrivals for text in arrival.texts)
        self.tables.put_records(records)
        for digest in returned:
            self.views.read_again(digest)

    def _keep_bodies(self, arrival: Arrival) -> None:
        """Keep the bytes of an arrival, also where a chain knew it but another store's erasure had emptied it."""
        returned = [digest for digest, data in _bodies(arrival).items() if self.tables.put_body(digest, data)]
        self.tables.put_parts((arrival.entry.digest, text) for text in arrival.texts)
        for digest in returned:
            self.views.read_again(digest)

    def _remember(self, head: ChainTip) -> None:
        # The pending chain lives in a private copy and vanishes with it: nothing on disk may speak of it.
        if self._around.heads is not None and head.store != PENDING:
            self._around.heads.advance(head)


def _bodies(arrival: Arrival) -> dict[Digest, bytes]:
    return {arrival.entry.digest: arrival.payload, **arrival.texts}


# A store as it was: its chains up to some records, verbatim in another store.


def copy_until(source: Store, heads: Sequence[ChainTip], into: Store) -> None:
    """Copy these chains as far as their heads say into an empty store."""
    into.copy(_items(source, heads))
    with into.db.writing():
        for store in source.tables.pulled() & {head.store for head in heads}:
            into.tables.mark_pulled(store)
    into.catch_up()


def own_as(store: Store, owned: Collection[StoreId], own: StoreId | None) -> None:
    """Let a store take these chains for those that it once appended to, and one for the one that it appends to."""
    with store.db.writing():
        for chain in owned:
            store.db.run("UPDATE chain SET owned = 1 WHERE store_id = ?", (chain,))
        if own is not None:
            store.db.run("INSERT INTO setting (name, value) VALUES ('store_id', ?)", (own,))


def own_among(store: Store, named: Collection[StoreId]) -> StoreId | None:
    """The one of these chains that a store appended to last: its own, or one that its own goes on from."""
    own, passed = store.own(), set[StoreId]()
    while own is not None and own not in named and own not in passed:
        passed.add(own)
        first = store.tables.record(RecordRef(own, Seq(1)))
        said = store.tables.payload(first) if first is not None and first.entry.kind == CONTINUES else None
        before = said.get("store") if isinstance(said, dict) else None
        own = StoreId(before) if isinstance(before, str) else None
    return own if own in named else None


def erased_since(source: Store, heads: Sequence[ChainTip]) -> int:
    """How many records up to these heads lost something to an erasure that was recorded behind them."""
    until = {head.store: int(head.seq) for head in heads}
    sayers: dict[Digest, list[RecordRef]] = {}
    for digest, store, seq in source.db.rows("SELECT digest, store_id, seq FROM erasure"):
        ref = RecordRef(StoreId(str(store)), Seq(integer(seq)))
        sayers.setdefault(Digest(raw(digest)), []).append(ref)
    later = [digest for digest, refs in sayers.items() if not any(_is_until(ref, until) for ref in refs)]
    bodies = source.tables.bodies(later).values()
    gone = [body.digest for body in bodies if body.data is None and body.outline is None]
    lost = {record.ref for digest in gone for record in source.tables.records_holding(digest)}
    return sum(_is_until(ref, until) for ref in lost)


def claimed_until(source: Store, heads: Sequence[ChainTip], at_ns: int) -> int:
    """How many records behind these heads, or of other chains, claim a moment that is not later."""
    (row,) = source.db.rows("SELECT count(*) FROM record WHERE at_ns <= ?", (at_ns,))
    among = "SELECT count(*) FROM record WHERE store_id = ? AND seq <= ? AND at_ns <= ?"
    return integer(row[0]) - sum(
        integer(source.db.rows(among, (head.store, int(head.seq), at_ns))[0][0]) for head in heads
    )


def _is_until(ref: RecordRef, until: Mapping[StoreId, int]) -> bool:
    return ref.seq <= until.get(ref.store, 0)


def _items(source: Store, heads: Sequence[ChainTip]) -> Iterator[Record | Body]:
    """The records of each chain in order, each behind the bodies that it needs and that did not come before."""
    brought: set[Digest] = set()
    for head in heads:
        for records in split_batches(_until(source, head)):
            payloads = _past_bodies(source, {record.entry.digest for record in records} - brought)
            texts = {text for body in payloads for text in _texts(body)}
            yield from payloads
            yield from _past_bodies(source, texts - brought)
            brought.update((body.digest for body in payloads), texts)
            yield from records


def _until(source: Store, head: ChainTip) -> Iterator[Record]:
    return takewhile(lambda record: record.seq <= head.seq, source.tables.records(head.store))


def _past_bodies(source: Store, digests: Collection[Digest]) -> list[Body]:
    return list(source.tables.bodies(digests).values())


def _texts(body: Body) -> frozenset[Digest]:
    if body.data is None or b'"$body"' not in body.data:
        return frozenset()
    return parts(parse(body.data, bytes_max=len(body.data)))
