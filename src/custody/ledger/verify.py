"""Verification of every stored byte, and of new records only for frequent callers."""

from collections.abc import Iterator, Mapping, Sequence

from custody.capture.spool import RejectedFile
from custody.core.ids import PENDING, Digest, RecordRef, Seq, StoreId
from custody.core.plural import count_noun
from custody.core.record import (
    SPOOL_REFUSED,
    ChainTip,
    Damage,
    DamageCode,
    Record,
    chain_tip_from_record,
    check_record_chain,
    check_record_link,
    empty_chain_tip,
    find_missing_chain_tail,
)
from custody.core.wire.arrival import ERASED
from custody.core.wire.body import format_digest, list_payload_digests
from custody.core.wire.canonical import parse_json_bytes
from custody.core.wire.report import Chain, IntegrityFinding, VerifyReport, finding_from_damage
from custody.core.wire.span_batch import digest_from_payload, is_span_batch, list_erased_leaves
from custody.store import Body, DamagedStoreError, KeptHead, Store, erased_digest_from_payload, split_row_batches
from custody.workspace.workspace import Workspace

PAGE = 50

Erasures = dict[Digest, set[StoreId]]
"""For each erased body, the chains of the records of its erasure."""


def verify_ledger(workspace: Workspace) -> VerifyReport:
    """Check chains, bodies, heads, forks, views and the spool; damage is a finding, never an exception.

    A store without damage is sealed, so that a later check can start here.
    """
    try:
        with workspace.reading() as store, store.reading():
            report = verify_ledger_store(workspace, store)
            _seal_intact_store(store, report)
            return report
    except DamagedStoreError as error:
        # The file cannot be opened or read: that is the finding.
        damage = Damage(DamageCode.FILE_DAMAGED, error.message)
        return VerifyReport(
            outcome="found", chains=[], records=0, bodies=0, erased=0, pending=0, findings=[finding_from_damage(damage)]
        )


def verify_ledger_store(workspace: Workspace, store: Store) -> VerifyReport:
    """Check an open store, inside one read transaction."""
    own = store.own()
    heads = [head for head in store.tables.chains() if head.store != PENDING]
    records = sum(head.seq for head in heads)
    workspace.progress.start("checking", records + store.tables.body_count())
    erasures = _collect_recorded_erasures(store)
    damages = [
        *(Damage(DamageCode.FILE_DAMAGED, f"the database reports: {message}") for message in store.check_files()),
        *_find_body_damage(workspace, store, erasures),
        *(damage for head in heads for damage in _find_chain_damage(workspace, store, head)),
        *find_head_damage(store, heads),
        *find_fork_damage(store),
        *_find_view_damage(store),
        *find_spool_damage(workspace),
    ]
    pending = store.tables.head(PENDING).seq
    return VerifyReport(
        outcome="found" if damages else "fine",
        chains=[Chain(head.store, int(head.seq), head.link.hex(), head.store == own) for head in heads],
        records=records,
        bodies=store.tables.body_count(),
        erased=len(erasures),
        withheld=store.tables.count_withheld_bodies(),
        pending=int(pending),
        findings=[finding_from_damage(damage) for damage in damages],
        warnings=warn_of_refused_events(workspace),
    )


def _find_body_damage(workspace: Workspace, store: Store, erasures: Erasures) -> Iterator[Damage]:
    for digests in split_row_batches(store.tables.body_digests(), PAGE):
        readable = _read_intact_bodies(store, digests)
        for digest in digests:
            body = readable[digest]
            if body is None or (body.data is not None and digest_from_payload(body.data) != digest):
                yield _make_body_damage(store, DamageCode.BODY_CHANGED, digest, "were changed")
            elif body.data is None and body.outline is None and not _is_erasure_recorded(store, digest, erasures):
                yield _make_body_damage(store, DamageCode.BODY_MISSING, digest, "are missing and were not erased")
            else:
                yield from _find_missing_spans(store, body, erasures)
        workspace.progress.step(len(digests))


def _find_missing_spans(store: Store, body: Body, erasures: Erasures) -> Iterator[Damage]:
    """Yield a finding if spans of a batch are missing that no record erased."""
    leaves = list_erased_leaves(body.data) if body.data is not None and is_span_batch(body.data) else []
    count = sum(not _is_erasure_recorded(store, leaf, erasures) for leaf in leaves)
    if count:
        problem = f"lack {count_noun(count, 'span')} that was not erased"
        yield _make_body_damage(store, DamageCode.BODY_MISSING, body.digest, problem)


def _make_body_damage(store: Store, code: DamageCode, digest: Digest, problem: str) -> Damage:
    """Return a finding about stored bytes, with the first record that needs them."""
    records = store.tables.records_holding(digest)
    if not records:
        return Damage(code, f"the bytes of {format_digest(digest)}, used by no record, {problem}")
    first = min(records, key=lambda record: record.ref)
    where = f"record {first.seq} of chain {first.store} ({first.entry.kind})"
    more = f" and {len(records) - 1} more" if len(records) > 1 else ""
    return Damage(code, f"the bytes of {format_digest(digest)}, used by {where}{more}, {problem}", first.ref)


def _read_intact_bodies(store: Store, digests: Sequence[Digest]) -> dict[Digest, Body | None]:
    """Return these bodies; None for one that cannot be unpacked; a missing one is left out."""
    try:
        return dict(store.tables.bodies(digests))
    except DamagedStoreError:
        if len(digests) == 1:
            return {digests[0]: None}
        return {
            digest: body
            for single_digest in digests
            for digest, body in _read_intact_bodies(store, [single_digest]).items()
        }


def _is_erasure_recorded(store: Store, digest: Digest, erasures: Erasures) -> bool:
    """Return whether a body may be empty: own records need an erasure in an own chain, copied ones in any chain."""
    erasing = erasures.get(digest, set())
    owned = store.tables.list_owned_chains()
    using = {record.store for record in store.tables.records_holding(digest)}
    return bool(erasing & owned) or (bool(erasing) and not using & owned)


def _collect_recorded_erasures(store: Store) -> Erasures:
    """Return the erased bodies with the chains of their erasure records; damaged records are ignored."""
    erasures: Erasures = {}
    for record in store.tables.records_of_kind(ERASED):
        body = _read_intact_bodies(store, [record.entry.digest]).get(record.entry.digest)
        if body is not None and body.data is not None and digest_from_payload(body.data) == record.entry.digest:
            for digest in erased_digest_from_payload(parse_json_bytes(body.data)):
                erasures.setdefault(digest, set()).add(record.store)
    return erasures


def _find_chain_damage(workspace: Workspace, store: Store, head: ChainTip) -> Iterator[Damage]:
    remembered = store.heads.read(head.store) if store.heads else None
    yield from check_record_chain(head.store, store.tables.records(head.store), remembered)
    for records in split_row_batches(store.tables.records(head.store), PAGE):
        yield from find_missing_body_damage(store, records)
        workspace.progress.step(len(records))


def find_missing_body_damage(store: Store, records: Sequence[Record]) -> Iterator[Damage]:
    """Yield the bodies that these records need and that are missing."""
    readable = _read_intact_bodies(store, sorted({record.entry.digest for record in records}))
    needed = {
        record.ref: {record.entry.digest} | _list_intact_text_digests(readable.get(record.entry.digest))
        for record in records
    }
    stored = store.tables.find_stored_bodies(set().union(*needed.values()))
    for ref, digests in needed.items():
        for digest in sorted(digests - stored):
            yield Damage(
                DamageCode.BODY_MISSING,
                f"record {ref.seq} of chain {ref.store} needs {format_digest(digest)}, which is missing",
                ref,
            )


def _list_intact_text_digests(body: Body | None) -> frozenset[Digest]:
    if body is None or body.data is None or digest_from_payload(body.data) != body.digest:
        return frozenset()
    return list_payload_digests(parse_json_bytes(body.data, bytes_max=len(body.data)))


def find_head_damage(store: Store, heads: Sequence[ChainTip]) -> Iterator[Damage]:
    """Yield the problems of head files, and the chains without one."""
    files = store.heads.read_all() if store.heads else []
    here = {head.store for head in heads}
    for file in files:
        yield from _find_head_file_damage(file, here)
    remembered = {file.head.store for file in files if file.head is not None}
    for head in heads if store.heads and not store.is_shared else ():
        if head.store not in remembered:
            what = f"chain {head.store} has no head file: a cut-off end cannot be detected"
            yield Damage(DamageCode.HEAD_MISSING, what)


def _find_head_file_damage(file: KeptHead, here: set[StoreId]) -> Iterator[Damage]:
    if file.head is None or not file.genuine:
        yield Damage(
            DamageCode.HEAD_FORGED,
            f"'{file.name}' was not written with this machine's key, or was changed;"
            " a cut-off end of its chain cannot be detected",
        )
    elif file.head.store not in here:
        yield from check_record_chain(file.head.store, (), file.head)


def find_fork_damage(store: Store) -> Iterator[Damage]:
    """Yield the records with the position of another record."""
    for record in store.tables.forks():
        yield Damage(
            DamageCode.CHAIN_FORK,
            f"position {record.seq} of chain {record.store} {_describe_fork(store, record)};"
            f" the other record ({record.entry.kind}, {record.entry.event}) is stored separately",
            record.ref,
        )


def _describe_fork(store: Store, record: Record) -> str:
    return "has two records" if store.tables.record(record.ref) is not None else "is on a second branch"


def _find_view_damage(store: Store) -> Iterator[Damage]:
    try:
        for ref in store.views.find_mismatched_records():
            yield Damage(DamageCode.VIEW_DIFFERS, f"the views of record {ref.seq} of chain {ref.store} differ", ref)
    except DamagedStoreError:
        return  # views are built from bodies, and the damaged body is reported


def find_spool_damage(workspace: Workspace) -> Iterator[Damage]:
    """Yield the event files that were changed after they were acknowledged."""
    for file in _list_rejected_files(workspace):
        if file.is_damaged:
            yield Damage(DamageCode.SPOOL_DAMAGED, f"the pending event '{file.event}' was set aside: {file.why}")


def warn_of_refused_events(workspace: Workspace) -> list[IntegrityFinding]:
    """Return a warning for each acknowledged event that cannot be ingested; its gap counts where gaps count."""
    return [
        IntegrityFinding(SPOOL_REFUSED, f"the pending event '{file.event}' was set aside: {file.why}")
        for file in _list_rejected_files(workspace)
        if not file.is_damaged
    ]


def _list_rejected_files(workspace: Workspace) -> list[RejectedFile]:
    return [file for spool in workspace.spools for file in spool.list_rejected_files()]


# A store that was verified completely is sealed. While the seal is valid, only custody has written to it, and only
# newer records are checked. Otherwise, and if anything is found, everything is verified.


def check_ledger_integrity(workspace: Workspace, *, seals: bool = True) -> VerifyReport:
    """Return what ``verify`` finds, faster if the store is sealed; seal it again unless ``seals`` is False."""
    try:
        with workspace.reading() as store, store.reading():
            return _verify_since_seal(workspace, store, seals=seals)
    except DamagedStoreError:
        return verify_ledger(workspace)


def _verify_since_seal(workspace: Workspace, store: Store, *, seals: bool) -> VerifyReport:
    heads = [head for head in store.tables.chains() if head.store != PENDING]
    since = store.read_sealed_positions()
    if since is not None and not any(_find_damage_since_seal(workspace, store, heads, since)):
        report = _make_intact_verify_report(workspace, store, heads, sum(since.values()))
    else:
        report = verify_ledger_store(workspace, store)
    if seals:
        _seal_intact_store(store, report)
    return report


def _seal_intact_store(store: Store, report: VerifyReport) -> None:
    if not report.findings:
        store.seal({StoreId(chain.store): chain.records for chain in report.chains})


def _find_damage_since_seal(
    workspace: Workspace, store: Store, heads: list[ChainTip], since: Mapping[StoreId, int]
) -> Iterator[Damage]:
    """Yield damage that can have happened since the seal."""
    yield from find_head_damage(store, heads)
    yield from find_fork_damage(store)
    yield from find_spool_damage(workspace)
    for missing in since.keys() - {head.store for head in heads}:
        yield Damage(DamageCode.CHAIN_CUT, f"chain {missing} is missing")
    for head in heads:
        yield from _find_chain_damage_since(store, head, since.get(head.store, 0))
    for ref in store.views.find_mismatched_records(since):
        yield Damage(DamageCode.VIEW_DIFFERS, f"the views of record {ref.seq} of chain {ref.store} differ", ref)


def _find_chain_damage_since(store: Store, head: ChainTip, seq: int) -> Iterator[Damage]:
    """Yield the damage of a chain after a position, and of its end."""
    start = store.tables.record(RecordRef(head.store, Seq(seq))) if seq else None
    if seq and start is None:
        yield Damage(DamageCode.CHAIN_CUT, f"record {seq} of chain {head.store} is missing")
        return
    last = empty_chain_tip(head.store) if start is None else chain_tip_from_record(start)
    for records in split_row_batches(store.tables.records(head.store, after=seq)):
        for record in records:
            yield from check_record_link(last, record)
            last = chain_tip_from_record(record)
        yield from find_missing_body_damage(store, records)
        yield from _find_changed_body_damage(store, records)
    remembered = store.heads.read(head.store) if store.heads else None
    yield from find_missing_chain_tail(last, remembered)
    yield from _find_head_mismatch_damage(store, remembered)


def _find_changed_body_damage(store: Store, records: list[Record]) -> Iterator[Damage]:
    """Yield the bodies of these records that were changed; an empty one makes the caller verify everything."""
    payloads = {record.entry.digest for record in records}
    for body in store.tables.bodies(payloads | store.tables.parts_of(payloads)).values():
        if body.data is None or digest_from_payload(body.data) != body.digest:
            yield Damage(DamageCode.BODY_CHANGED, "stored bytes were changed or are missing")


def _find_head_mismatch_damage(store: Store, remembered: ChainTip | None) -> Iterator[Damage]:
    if remembered is None or not remembered.seq:
        return
    record = store.tables.record(RecordRef(remembered.store, remembered.seq))
    if record is not None and record.link != remembered.link:
        yield Damage(DamageCode.HEAD_DIFFERS, f"record {record.seq} of chain {record.store} was replaced", record.ref)


def _make_intact_verify_report(workspace: Workspace, store: Store, heads: list[ChainTip], earlier: int) -> VerifyReport:
    own = store.own()
    return VerifyReport(
        outcome="fine",
        chains=[Chain(head.store, int(head.seq), head.link.hex(), head.store == own) for head in heads],
        records=sum(int(head.seq) for head in heads),
        bodies=0,
        erased=0,
        pending=int(store.tables.head(PENDING).seq),
        findings=[],
        warnings=warn_of_refused_events(workspace),
        earlier=earlier,
    )
