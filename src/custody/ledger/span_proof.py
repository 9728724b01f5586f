"""Proofs that a record holds a span, which need neither the other spans nor the rest of the chain."""

from custody.core.ids import Digest
from custody.core.tree_head import TreeHash, hash_tree_node, list_inclusion_path
from custody.core.wire.report import SpanProof
from custody.core.wire.span_batch import BatchedSpan, digest_from_span_root, hash_span_leaf, list_span_leaves


def make_span_proof(data: bytes, span: BatchedSpan) -> SpanProof:
    """Return the proof that a stored batch holds a span."""
    leaves = list_span_leaves(data)
    path = [node.hex() for node in list_inclusion_path(leaves, span.position)]
    return SpanProof(salt=span.salt.hex(), position=span.position, count=len(leaves), path=path)


def check_span_proof(digest: Digest, data: bytes, proof: SpanProof) -> bool:
    """Return whether the proof shows that the batch with this digest holds a span with these canonical bytes."""
    try:
        node = hash_span_leaf(bytes.fromhex(proof.salt), data)
        path = [TreeHash(bytes.fromhex(text)) for text in proof.path]
    except ValueError:
        return False
    place, last = proof.position, proof.count - 1
    if not 0 <= place <= last:
        return False
    while last:
        if place & 1 or place < last:
            if not path:
                return False
            beside = path.pop(0)
            node = hash_tree_node(beside, node) if place & 1 else hash_tree_node(node, beside)
        place, last = place >> 1, last >> 1
    return not path and digest_from_span_root(node, proof.count) == digest
