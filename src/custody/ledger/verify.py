"""Check every stored byte, and remember what was verified for callers that ask often."""

from collections.abc import Iterator, Mapping, Sequence

from custody.core.ids import PENDING, Digest, RecordRef, Seq, StoreId, digest_of
from custody.core.record import (
    ChainTip,
    Damage,
    DamageCode,
    Record,
    check_chain,
    empty_head,
    find_missing_tail,
    head_at,
    misfit,
)
from custody.core.wire.arrival import ERASED
from custody.core.wire.body import digest_text, parts
from custody.core.wire.canonical import parse
from custody.core.wire.report import Chain, VerifyReport, finding_of
from custody.store import Body, DamagedStoreError, KeptHead, Store, read_erased_digest, split_batches
from custody.workspace.workspace import Workspace

PAGE = 50

Erasures = dict[Digest, set[StoreId]]
"""For each erased body, the chains of the records that say so."""


def verify(workspace: Workspace) -> VerifyReport:
    """Check chains, bodies, heads, forks, views and the spool; damage is a finding, never an exception."""
    try:
        with workspace.reading() as store, store.reading():
            return verify_store(workspace, store)
    except DamagedStoreError as error:
        # The file cannot even be opened or read through: that is the finding.
        damage = Damage(DamageCode.FILE_DAMAGED, error.message)
        return VerifyReport(
            outcome="found", chains=[], records=0, bodies=0, erased=0, pending=0, findings=[finding_of(damage)]
        )


def verify_store(workspace: Workspace, store: Store) -> VerifyReport:
    """The same of a store that is open, inside one moment."""
    own = store.own()
    heads = [head for head in store.tables.chains() if head.store != PENDING]
    records = sum(head.seq for head in heads)
    workspace.progress.start("checking", records + store.tables.body_count())
    erasures = _erasures(store)
    found = [
        *(Damage(DamageCode.FILE_DAMAGED, f"the database says: {words}") for words in store.check_files()),
        *_bodies(workspace, store, erasures),
        *(damage for head in heads for damage in _chain(workspace, store, head)),
        *head_damage(store, heads),
        *fork_damage(store),
        *_views(store),
        *spool_damage(workspace),
    ]
    pending = store.tables.head(PENDING).seq
    return VerifyReport(
        outcome="found" if found else "fine",
        chains=[Chain(head.store, int(head.seq), head.link.hex(), head.store == own) for head in heads],
        records=records,
        bodies=store.tables.body_count(),
        erased=len(erasures),
        withheld=store.tables.withheld_count(),
        pending=int(pending),
        findings=[finding_of(damage) for damage in found],
    )


def _bodies(workspace: Workspace, store: Store, erasures: Erasures) -> Iterator[Damage]:
    for digests in split_batches(store.tables.body_digests(), PAGE):
        readable = _readable(store, digests)
        for digest in digests:
            body = readable[digest]
            if body is None or (body.data is not None and digest_of(body.data) != digest):
                yield _body_damage(store, DamageCode.BODY_CHANGED, digest, "are not those that were stored")
            elif body.data is None and body.outline is None and not _is_explained(store, digest, erasures):
                yield _body_damage(store, DamageCode.BODY_MISSING, digest, "are gone, and nobody erased them")
        workspace.progress.step(len(digests))


def _body_damage(store: Store, code: DamageCode, digest: Digest, how: str) -> Damage:
    """A finding about stored bytes, with the first record that needs them."""
    holders = store.tables.records_holding(digest)
    if not holders:
        return Damage(code, f"the bytes of {digest_text(digest)}, which no record holds, {how}")
    first = min(holders, key=lambda record: record.ref)
    which = f"record {first.seq} of chain {first.store} ({first.entry.kind})"
    more = f" and {len(holders) - 1} more" if len(holders) > 1 else ""
    return Damage(code, f"the bytes of {digest_text(digest)}, held by {which}{more}, {how}", first.ref)


def _readable(store: Store, digests: Sequence[Digest]) -> dict[Digest, Body | None]:
    """These bodies; None for one that is there but cannot be unpacked, nothing for one that is not there."""
    try:
        return dict(store.tables.bodies(digests))
    except DamagedStoreError:
        if len(digests) == 1:
            return {digests[0]: None}
        return {digest: body for single_digest in digests for digest, body in _readable(store, [single_digest]).items()}


def _is_explained(store: Store, digest: Digest, erasures: Erasures) -> bool:
    """Whether a body may be empty: our own records need an erasure of our own, copied ones that of any chain."""
    sayers = erasures.get(digest, set())
    ours = store.tables.owned()
    holders = {record.store for record in store.tables.records_holding(digest)}
    return bool(sayers & ours) or (bool(sayers) and not holders & ours)


def _erasures(store: Store) -> Erasures:
    """The bodies that records say were erased, with those records' chains; a damaged record says nothing."""
    found: Erasures = {}
    for record in store.tables.records_of_kind(ERASED):
        body = _readable(store, [record.entry.digest]).get(record.entry.digest)
        if body is not None and body.data is not None and digest_of(body.data) == record.entry.digest:
            for digest in read_erased_digest(parse(body.data)):
                found.setdefault(digest, set()).add(record.store)
    return found


def _chain(workspace: Workspace, store: Store, head: ChainTip) -> Iterator[Damage]:
    remembered = store.heads.read(head.store) if store.heads else None
    yield from check_chain(head.store, store.tables.records(head.store), remembered)
    for records in split_batches(store.tables.records(head.store), PAGE):
        yield from held_damage(store, records)
        workspace.progress.step(len(records))


def held_damage(store: Store, records: Sequence[Record]) -> Iterator[Damage]:
    """Whether every body that these records name is there at all."""
    readable = _readable(store, sorted({record.entry.digest for record in records}))
    wanted = {record.ref: {record.entry.digest} | _texts(readable.get(record.entry.digest)) for record in records}
    held = store.tables.held(set().union(*wanted.values()))
    for ref, digests in wanted.items():
        for digest in sorted(digests - held):
            yield Damage(
                DamageCode.BODY_MISSING,
                f"record {ref.seq} of chain {ref.store} names {digest_text(digest)}, which is not there",
                ref,
            )


def _texts(body: Body | None) -> frozenset[Digest]:
    if body is None or body.data is None or digest_of(body.data) != body.digest:
        return frozenset()
    return parts(parse(body.data, bytes_max=len(body.data)))


def head_damage(store: Store, heads: Sequence[ChainTip]) -> Iterator[Damage]:
    """What is wrong with the head files, and which chains have none."""
    kept = store.heads.all() if store.heads else []
    here = {head.store for head in heads}
    for file in kept:
        yield from _head(file, here)
    remembered = {file.head.store for file in kept if file.head is not None}
    for head in heads if store.heads and not store.is_shared else ():
        if head.store not in remembered:
            what = f"chain {head.store} has no head beside it: whether its end was cut off cannot be told"
            yield Damage(DamageCode.HEAD_MISSING, what)


def _head(file: KeptHead, here: set[StoreId]) -> Iterator[Damage]:
    if file.head is None or not file.genuine:
        yield Damage(
            DamageCode.HEAD_FORGED,
            f"'{file.name}' was not written under this machine's key, or was changed;"
            " whether its chain was cut short cannot be told",
        )
    elif file.head.store not in here:
        yield from check_chain(file.head.store, (), file.head)


def fork_damage(store: Store) -> Iterator[Damage]:
    """The records that claim a place which another has."""
    for record in store.tables.forks():
        yield Damage(
            DamageCode.CHAIN_FORK,
            f"place {record.seq} of chain {record.store} {_claim(store, record)}; this one ({record.entry.kind},"
            f" {record.entry.event}) is kept apart",
            record.ref,
        )


def _claim(store: Store, record: Record) -> str:
    return "is claimed twice" if store.tables.record(record.ref) is not None else "is on a second branch"


def _views(store: Store) -> Iterator[Damage]:
    try:
        for ref in store.views.wrong():
            yield Damage(DamageCode.VIEW_DIFFERS, f"the views of record {ref.seq} of chain {ref.store} differ", ref)
    except DamagedStoreError:
        return  # views are made from bodies; that a body is damaged has been said


def spool_damage(workspace: Workspace) -> Iterator[Damage]:
    """The waiting events that were set aside."""
    for spool in workspace.spools:
        for refused in spool.refused():
            yield Damage(DamageCode.SPOOL_DAMAGED, f"the waiting event '{refused.event}' was set aside: {refused.why}")


# Whether what is recorded is as it was written, for whoever asks often: what was verified is not verified again.
# A store that was verified whole is sealed. While the seal holds, nobody but custody has written to it, and only what
# arrived since is looked at; otherwise, and wherever something is found, everything is verified.


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
