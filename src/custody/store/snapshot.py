"""A store as it was: its chains up to some records, verbatim in another store."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import takewhile

from custody.core.ids import Digest, RecordRef, Seq, StoreId
from custody.core.record import ChainTip, Record
from custody.core.wire.arrival import CONTINUES
from custody.core.wire.body import parts
from custody.core.wire.canonical import parse
from custody.store.store import Store
from custody.store.tables import Body, integer, raw, split_batches


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
            payloads = _bodies(source, {record.entry.digest for record in records} - brought)
            texts = {text for body in payloads for text in _texts(body)}
            yield from payloads
            yield from _bodies(source, texts - brought)
            brought.update((body.digest for body in payloads), texts)
            yield from records


def _until(source: Store, head: ChainTip) -> Iterator[Record]:
    return takewhile(lambda record: record.seq <= head.seq, source.tables.records(head.store))


def _bodies(source: Store, digests: Collection[Digest]) -> list[Body]:
    return list(source.tables.bodies(digests).values())


def _texts(body: Body) -> frozenset[Digest]:
    if body.data is None or b'"$body"' not in body.data:
        return frozenset()
    return parts(parse(body.data, bytes_max=len(body.data)))
