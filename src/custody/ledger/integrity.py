"""Whether what is recorded is as it was written, for whoever asks often: what was verified is not verified again.

A store that was verified whole is sealed. While the seal holds, nobody but custody has written to it, and only what
arrived since is looked at; otherwise, and wherever something is found, everything is verified.
"""

from collections.abc import Iterator, Mapping

from custody.core.chain_check import Damage, DamageCode, find_missing_tail, misfit
from custody.core.digest import digest_of
from custody.core.ids import PENDING, RecordRef, Seq, StoreId
from custody.core.record import ChainTip, Record, empty_head, head_at
from custody.core.wire.report import Chain, VerifyReport
from custody.ledger.verify import fork_damage, head_damage, held_damage, spool_damage, verify, verify_store
from custody.store import DamagedStoreError, Store, split_batches
from custody.workspace.workspace import Workspace


def check_integrity(workspace: Workspace, *, seals: bool = True) -> VerifyReport:
    """What ``verify`` finds; sooner where the store is sealed. It is sealed again, unless nothing is to be written."""
    try:
        with workspace.reading() as store, store.reading():
            return _checked(workspace, store, seals=seals)
    except DamagedStoreError:
        return verify(workspace)


def _checked(workspace: Workspace, store: Store, *, seals: bool) -> VerifyReport:
    heads = [head for head in store.tables.chains() if head.store != PENDING]
    since = store.sealed_positions()
    if since is not None and not any(_damage_since(workspace, store, heads, since)):
        report = _fine(store, heads)
    else:
        report = verify_store(workspace, store)
    if seals and not report.findings:
        store.seal({head.store: int(head.seq) for head in heads})
    return report


def _damage_since(
    workspace: Workspace, store: Store, heads: list[ChainTip], since: Mapping[StoreId, int]
) -> Iterator[Damage]:
    """What can have come since everything was verified; that nothing else did is what the seal says."""
    yield from head_damage(store, heads)
    yield from fork_damage(store)
    yield from spool_damage(workspace)
    for gone in since.keys() - {head.store for head in heads}:
        yield Damage(DamageCode.CHAIN_CUT, f"chain {gone} is gone")
    for head in heads:
        yield from _chain_since(store, head, since.get(head.store, 0))
    for ref in store.views.wrong(since):
        yield Damage(DamageCode.VIEW_DIFFERS, f"the views of record {ref.seq} of chain {ref.store} differ", ref)


def _chain_since(store: Store, head: ChainTip, seq: int) -> Iterator[Damage]:
    """What is wrong with a chain behind a place, and with its end."""
    start = store.tables.record(RecordRef(head.store, Seq(seq))) if seq else None
    if seq and start is None:
        yield Damage(DamageCode.CHAIN_CUT, f"record {seq} of chain {head.store} is gone")
        return
    last = empty_head(head.store) if start is None else head_at(start)
    for records in split_batches(store.tables.records(head.store, after=seq)):
        for record in records:
            yield from misfit(last, record)
            last = head_at(record)
        yield from held_damage(store, records)
        yield from _changed(store, records)
    remembered = store.heads.read(head.store) if store.heads else None
    yield from find_missing_tail(last, remembered)
    yield from _differs(store, remembered)


def _changed(store: Store, records: list[Record]) -> Iterator[Damage]:
    """The bodies of these records that are not what was stored; what is empty was erased, or all is verified."""
    payloads = {record.entry.digest for record in records}
    for body in store.tables.bodies(payloads | store.tables.parts_of(payloads)).values():
        if body.data is None or digest_of(body.data) != body.digest:
            yield Damage(DamageCode.BODY_CHANGED, "stored bytes are not those that were stored, or are gone")


def _differs(store: Store, remembered: ChainTip | None) -> Iterator[Damage]:
    if remembered is None or not remembered.seq:
        return
    there = store.tables.record(RecordRef(remembered.store, remembered.seq))
    if there is not None and there.link != remembered.link:
        yield Damage(DamageCode.HEAD_DIFFERS, f"record {there.seq} of chain {there.store} was made again", there.ref)


def _fine(store: Store, heads: list[ChainTip]) -> VerifyReport:
    own = store.own()
    return VerifyReport(
        outcome="fine",
        chains=[Chain(head.store, int(head.seq), head.link.hex(), head.store == own) for head in heads],
        records=sum(int(head.seq) for head in heads),
        bodies=0,
        erased=0,
        pending=int(store.tables.head(PENDING).seq),
        findings=[],
    )
