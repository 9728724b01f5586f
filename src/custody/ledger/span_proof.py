"""Check the proof that a record holds a span: it needs neither the other spans nor the bytes of the record."""

from collections.abc import Iterator

import msgspec

from custody.core.errors import InputError
from custody.core.ids import Digest
from custody.core.plural import count_noun
from custody.core.record import Damage, DamageCode
from custody.core.tree_head import TreeHash, compute_path_root
from custody.core.wire.canonical import dump_canonical_json
from custody.core.wire.report import RecordSummary, ShowReport, SpanProof, VerifyReport, finding_from_damage
from custody.core.wire.span_batch import digest_from_span_root, hash_span_leaf
from custody.ledger.records import find_records_by_name
from custody.store import Store
from custody.workspace.workspace import Workspace


def check_span_proof(digest: Digest, data: bytes, proof: SpanProof) -> bool:
    """Return whether the proof shows that the batch with this digest holds a span with these canonical bytes."""
    try:
        leaf = hash_span_leaf(bytes.fromhex(proof.salt), data)
        path = [TreeHash(bytes.fromhex(node)) for node in proof.path]
    except ValueError:
        return False
    root = compute_path_root(leaf, proof.position, proof.count, path)
    return root is not None and digest_from_span_root(root, proof.count) == digest


def verify_span_proofs(workspace: Workspace, shown: bytes) -> VerifyReport:
    """Check the spans that ``custody show --json`` wrote against the records of this store that held them."""
    try:
        report = msgspec.json.decode(shown, type=ShowReport)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise InputError(f"not an answer of 'custody show --json': {error}") from error
    rows = zip(report.records, report.payloads, report.proofs, strict=False)
    spans = [(record, payload, proof) for record, payload, proof in rows if proof is not None]
    if not spans:
        raise InputError("no span with a proof", hint="write one with 'custody show KEY --json'")
    with workspace.reading() as store, store.reading():
        damages = [damage for row in spans for damage in _find_span_damage(store, *row)]
    return VerifyReport(
        outcome="found" if damages else "fine",
        chains=[],
        records=len(spans),
        bodies=0,
        erased=0,
        pending=0,
        findings=[finding_from_damage(damage) for damage in damages],
    )


def _find_span_damage(store: Store, shown: RecordSummary, payload: object, proof: SpanProof) -> Iterator[Damage]:
    records = find_records_by_name(store, shown.record)
    if not records:
        yield Damage(DamageCode.CHAIN_CUT, f"record {shown.record}, which held {shown.key}, is not in this store")
    for record in records:
        data = dump_canonical_json(payload)  # type: ignore[arg-type]  # decoded from JSON
        if not check_span_proof(record.entry.digest, data, proof):
            what = f"{shown.key} is not one of the {count_noun(proof.count, 'span')} of record {record.seq}"
            yield Damage(DamageCode.BODY_CHANGED, what, record.ref)
