"""Spans in one record: its payload holds a batch of them, and each can be proven or erased by itself.

The payload is canonical JSON: ``{"custody":1,"kind":"spans","spans":[…]}``. A span is a list of its random salt and its
event; in place of an erased span is the hash of its leaf. The digest of such a payload covers the root of a Merkle tree
(RFC 6962) over the salted spans, so it stays the same when a span is erased. An erased span cannot be guessed from the
hash of its leaf, since the salt is erased too.
"""

import hashlib
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any

import msgspec
from msgspec import Struct

from custody.core.errors import InputError
from custody.core.ids import Digest, NaturalKey, digest_from_bytes
from custody.core.record import RecordDraft
from custody.core.tree_head import TreeHash, compute_tree_root
from custody.core.wire.arrival import SPANS, Arrival, make_span_key
from custody.core.wire.body import format_digest, may_have_payload_mark
from custody.core.wire.canonical import Json
from custody.core.wire.event import DecodedEvent, SpanBatchEvent, SpanEvent, event_from_json

BATCH_SPANS_MAX = 1000
BATCH_BYTES_MAX = 4 * 1024 * 1024
SALT_BYTES = 16
_START, _END = b'{"custody":1,"kind":"spans","spans":[', b"]}"
_SALT_END, _LEAF_BYTES = 2 + 2 * SALT_BYTES, 66
_INVALID = Digest(bytes(32))
"""The digest of a batch that is not in its form: it matches nothing."""


class BatchedSpan(Struct, frozen=True):
    """A span of a stored batch: its position, salt and canonical bytes."""

    position: int
    salt: bytes
    data: bytes

    @property
    def digest(self) -> Digest:
        """Return the digest that the event would have as a record of its own."""
        return digest_from_bytes(self.data)

    @property
    def leaf(self) -> TreeHash:
        """Return the hash of its leaf."""
        return hash_span_leaf(self.salt, self.data)

    @property
    def event(self) -> SpanEvent:
        """Return the event; raise ``InputError`` if another program wrote an invalid one."""
        event = event_from_json(msgspec.json.decode(self.data))
        if not isinstance(event, SpanEvent):
            raise InputError("not a span")
        return event

    @property
    def key(self) -> NaturalKey:
        """Return the natural key that the event would have as a record of its own."""
        name = msgspec.json.decode(self.data, type=_SpanName)
        return make_span_key(name.execution, name.span, name.phase)


class _SpanName(Struct):
    execution: str
    span: str
    phase: str


class _StoredBatch(Struct, gc=False):
    spans: list[msgspec.Raw]


def is_span_batch(data: bytes) -> bool:
    """Return whether a payload is a batch of spans."""
    return data.startswith(_START)


def digest_from_payload(data: bytes) -> Digest:
    """Return the digest of stored bytes: of a batch of spans by its tree, of anything else by its bytes."""
    if not is_span_batch(data):
        return digest_from_bytes(data)
    try:
        return _digest_from_leaves(list_span_leaves(data))
    except InputError:
        return _INVALID


def batch_span_arrivals(arrivals: Sequence[Arrival], salts: bytes) -> Iterator[tuple[Arrival, Sequence[Arrival]]]:
    """Yield arrivals to append, each with the arrivals that it stores: neighboring spans are stored together.

    ``salts`` are at least ``SALT_BYTES`` random bytes for each arrival.
    """
    done = 0
    for is_batchable, run in groupby(arrivals, _is_batchable):
        group = list(run)
        for part in _split_spans(group) if is_batchable else ([arrival] for arrival in group):
            own_salts = salts[done * SALT_BYTES :]
            yield (part[0] if len(part) == 1 else _make_batch_arrival(part, own_salts)), part
            done += len(part)


def iterate_batched_spans(data: bytes) -> Iterator[BatchedSpan]:
    """Yield the spans of a stored batch that were not erased."""
    for position, raw in enumerate(_split_batch(data)):
        if raw[:1] == b"[":
            yield BatchedSpan(position, bytes.fromhex(raw[2:_SALT_END].decode()), raw[_SALT_END + 2 : -1])


def list_erased_leaves(data: bytes) -> list[Digest]:
    """Return the hashes of the erased spans of a stored batch."""
    return [Digest(bytes.fromhex(raw[1:-1].decode())) for raw in _split_batch(data) if raw[:1] == b'"']


def erase_batched_span(data: bytes, span: BatchedSpan) -> bytes:
    """Return the bytes of a batch with a hash in place of the span; their digest is the same."""
    spans = _split_batch(data)
    spans[span.position] = b'"%s"' % span.leaf.hex().encode()
    return _START + b",".join(spans) + _END


def span_batch_from_json(payload: Json | DecodedEvent) -> SpanBatchEvent:
    """Return the events of a batch that was read from a store; raise ``InputError`` for any other payload."""
    if isinstance(payload, SpanBatchEvent):
        return payload
    spans = payload.get("spans") if isinstance(payload, dict) else None
    if not isinstance(spans, list):
        raise InputError("not a batch of spans")
    events = [event_from_json(span[1]) for span in spans if isinstance(span, list) and len(span) == 2]
    return SpanBatchEvent(tuple(event for event in events if isinstance(event, SpanEvent)))


def _is_batchable(arrival: Arrival) -> bool:
    return isinstance(arrival.event, SpanEvent) and not arrival.texts and not may_have_payload_mark(arrival.payload)


def _split_spans(arrivals: Sequence[Arrival]) -> Iterator[list[Arrival]]:
    part: list[Arrival] = []
    size = 0
    for arrival in arrivals:
        if len(part) == BATCH_SPANS_MAX or size + len(arrival.payload) > BATCH_BYTES_MAX:
            yield part
            part, size = [], 0
        part.append(arrival)
        size += len(arrival.payload)
    yield part


def _make_batch_arrival(arrivals: Sequence[Arrival], salts: bytes) -> Arrival:
    leaves: list[TreeHash] = []
    spans: list[bytes] = []
    events: list[Any] = []
    for start, arrival in zip(range(0, len(salts), SALT_BYTES), arrivals, strict=False):
        salt = salts[start : start + SALT_BYTES]
        leaves.append(hash_span_leaf(salt, arrival.payload))
        spans.append(b'["%s",%s]' % (salt.hex().encode(), arrival.payload))
        events.append(arrival.event)
    digest = _digest_from_leaves(leaves)
    # The name of its first span: a retry that begins with the same span is known by it.
    draft = RecordDraft(
        arrivals[0].entry.event,
        SPANS,
        NaturalKey(f"{SPANS}:{digest.hex()}"),
        min(arrival.entry.at_ns for arrival in arrivals),
        digest,
    )
    return Arrival(draft, _START + b",".join(spans) + _END, {}, SpanBatchEvent(tuple(events)))


def _split_batch(data: bytes) -> list[bytes]:
    """Return the spans of a batch as they are written; raise ``InputError`` if it is invalid."""
    try:
        spans = [bytes(raw) for raw in msgspec.json.decode(data, type=_StoredBatch).spans]
    except msgspec.DecodeError as error:
        raise InputError("not a batch of spans") from error
    if _START + b",".join(spans) + _END != data:
        raise InputError("a batch of spans is not in canonical form")
    return spans


def list_span_leaves(data: bytes) -> list[TreeHash]:
    """Return the leaves of a stored batch; raise ``InputError`` if it is invalid."""
    leaves = []
    for raw in _split_batch(data):
        try:
            if raw[:2] == b'["' and raw[_SALT_END : _SALT_END + 2] == b'",':
                salt = bytes.fromhex(raw[2:_SALT_END].decode())
                leaves.append(hash_span_leaf(salt, raw[_SALT_END + 2 : -1]))
                continue
            if len(raw) != _LEAF_BYTES or raw[:1] != b'"':
                raise InputError("invalid span in a batch")
            leaves.append(TreeHash(bytes.fromhex(raw[1:-1].decode())))
        except ValueError as error:
            raise InputError("invalid span in a batch") from error
    return leaves


def hash_span_leaf(salt: bytes, data: bytes) -> TreeHash:
    """Return the leaf of a span with these canonical bytes."""
    return TreeHash(hashlib.sha256(b"\0" + salt + data).digest())


def _digest_from_leaves(leaves: Sequence[TreeHash]) -> Digest:
    return digest_from_span_root(compute_tree_root(leaves), len(leaves))


def digest_from_span_root(root: TreeHash, count: int) -> Digest:
    """Return the digest of a batch with this many spans and this root of their tree."""
    # It begins as a batch does, so no other stored bytes can have this digest.
    return digest_from_bytes(_START + format_digest(root).encode() + b"/" + str(count).encode())
