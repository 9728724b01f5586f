"""Spans that share a record: the digest survives erasing one, each can be proven, and nothing else has the digest."""

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from custody.core.errors import InputError
from custody.core.ids import Digest, digest_from_bytes
from custody.core.tree_head import TreeHash, compute_path_root, compute_tree_root, list_inclusion_path
from custody.core.wire.arrival import Arrival
from custody.core.wire.event import SpanBatchEvent
from custody.core.wire.span_batch import (
    BATCH_SPANS_MAX,
    SALT_BYTES,
    batch_span_arrivals,
    digest_from_payload,
    erase_batched_span,
    is_span_batch,
    iterate_batched_spans,
    list_erased_leaves,
    span_batch_from_json,
)
from tests.builders.events import an_arrival

SALTS = hashlib.shake_256(b"salts")


def some_spans(count: int) -> list[Arrival]:
    return [an_arrival("span", event=f"e-{n}", span=f"s{n}") for n in range(count)]


def batches(arrivals: list[Arrival]) -> list[Arrival]:
    return [batch for batch, _ in batch_span_arrivals(arrivals, SALTS.digest(SALT_BYTES * max(1, len(arrivals))))]


@pytest.mark.parametrize("count", [2, 3, 7])
def test_neighboring_spans_become_one_record_with_the_digest_of_their_tree(count: int) -> None:
    arrivals = some_spans(count)
    (batch,) = batches(arrivals)
    assert batch.entry.kind == "spans"
    assert batch.entry.digest == digest_from_payload(batch.payload) != digest_from_bytes(batch.payload)
    assert [span.data for span in iterate_batched_spans(batch.payload)] == [arrival.payload for arrival in arrivals]
    assert [span.key for span in iterate_batched_spans(batch.payload)] == [arrival.entry.key for arrival in arrivals]
    assert [span.digest for span in iterate_batched_spans(batch.payload)] == [a.entry.digest for a in arrivals]
    assert batch.event == SpanBatchEvent(tuple(span.event for span in iterate_batched_spans(batch.payload)))


def test_only_neighbors_share_a_record_and_at_most_a_thousand() -> None:
    edit = an_arrival("edit")
    first, second, third = batches([*some_spans(2), edit, *some_spans(1)])
    assert (first.entry.kind, second, third.entry.kind) == ("spans", edit, "span")
    many = batches(some_spans(BATCH_SPANS_MAX + 2))
    assert [len(list(iterate_batched_spans(batch.payload))) for batch in many] == [BATCH_SPANS_MAX, 2]
    assert batches([]) == []


def test_a_span_with_an_attribute_that_marks_bodies_stays_alone() -> None:
    marked = an_arrival("span", event="m", span="m", attributes={"$body": "sha256:" + "0" * 64})
    assert [batch.entry.kind for batch in batches([marked, marked])] == ["span", "span"]


@given(st.integers(2, 40), st.data())
def test_an_erased_span_leaves_the_digest_and_the_other_spans(count: int, data: st.DataObject) -> None:
    (batch,) = batches(some_spans(count))
    spans = list(iterate_batched_spans(batch.payload))
    erased = data.draw(st.sampled_from(spans))
    rest = erase_batched_span(batch.payload, erased)
    assert digest_from_payload(rest) == batch.entry.digest
    assert list(iterate_batched_spans(rest)) == [span for span in spans if span != erased]
    assert list_erased_leaves(rest) == [Digest(erased.leaf)]
    assert erased.salt.hex().encode() not in rest


@given(st.integers(2, 20), st.data())
def test_any_other_change_changes_the_digest(count: int, data: st.DataObject) -> None:
    (batch,) = batches(some_spans(count))
    at = data.draw(st.integers(0, len(batch.payload) - 1))
    byte = data.draw(st.integers(0, 255).filter(lambda value: value != batch.payload[at]))
    changed = batch.payload[:at] + bytes([byte]) + batch.payload[at + 1 :]
    assert digest_from_payload(changed) != batch.entry.digest


def test_no_other_bytes_have_the_digest_of_a_batch() -> None:
    """The bytes that the digest is computed from look like a batch, and are none."""
    (batch,) = batches(some_spans(2))
    leaves = [span.leaf for span in iterate_batched_spans(batch.payload)]
    root = compute_tree_root(leaves)
    start = b'{"custody":1,"kind":"spans","spans":['
    preimage = start + f"sha256:{root.hex()}/2".encode()
    assert digest_from_bytes(preimage) == batch.entry.digest
    assert is_span_batch(preimage)
    assert digest_from_payload(preimage) != batch.entry.digest
    assert digest_from_payload(start + b'"' + root.hex().encode() + b'"]}') != batch.entry.digest, "one leaf, not two"


@pytest.mark.parametrize("spans", [b"5", b'["short",{}]', b'"00"', b'["zz",{}]', b' "' + b"0" * 64 + b'"', b"}"])
def test_a_batch_in_another_form_has_no_digest(spans: bytes) -> None:
    data = b'{"custody":1,"kind":"spans","spans":[' + spans + b"]}"
    assert digest_from_payload(data) == bytes(32)


@pytest.mark.parametrize("payload", [None, [], {}, {"spans": 5}])
def test_other_payloads_are_refused(payload: object) -> None:
    with pytest.raises(InputError):
        span_batch_from_json(payload)  # type: ignore[arg-type]  # what a damaged store may hold


@given(st.integers(1, 70), st.data())
def test_the_path_of_a_leaf_leads_to_the_root_of_its_tree_only(count: int, data: st.DataObject) -> None:
    leaves = [TreeHash(hashlib.sha256(bytes([n])).digest()) for n in range(count)]
    position = data.draw(st.integers(0, count - 1))
    path = list_inclusion_path(leaves, position)
    root = compute_tree_root(leaves)
    assert compute_path_root(leaves[position], position, count, path) == root
    assert len(path) <= (count - 1).bit_length()
    assert compute_path_root(leaves[position], position, count, [*path, root]) is None
    assert compute_path_root(leaves[position], count, count, path) is None
    if count > 1:
        assert compute_path_root(leaves[position], position, count, path[:-1]) is None
        other = data.draw(st.integers(0, count - 1).filter(lambda n: n != position))
        assert compute_path_root(leaves[other], position, count, path) != root
