"""The lesson of an execution: containment from parents, order among siblings, dependencies; and nothing else."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from custody.graph.lessons import EVIDENCE_MAX, lessons_from_span_forest
from custody.graph.model import CallSpan, Status, TraceEvent
from custody.graph.spans import build_span_forest
from tests.unit.graph.builders import (
    CONTAINS,
    DEPENDENCY,
    SEQUENCE,
    a_span,
    edges_of,
    ended,
    entered,
    left,
    pairs_of,
    started,
)

Executed = list[TraceEvent | CallSpan]


def the_example() -> Executed:
    """Return the document's problem: a capability that reads a file and then writes one."""
    return [
        entered("1", at=0, name="cap1"),
        started("2", "1", 1, name="filesystem:read_file"),
        ended("2", "1", 2, name="filesystem:read_file"),
        started("3", "1", 3, name="filesystem:write_file"),
        ended("3", "1", 4, name="filesystem:write_file"),
        left("1", at=5, name="cap1"),
    ]


READ, WRITE, CAP = "filesystem:read_file", "filesystem:write_file", "capability:cap1"


# Conformance: 004-001, 004-002, 004-010, 004-071, 004-102
def test_the_documents_example_is_a_tree_and_not_a_row() -> None:
    assert pairs_of(the_example(), CONTAINS) == {(CAP, READ): 1, (CAP, WRITE): 1}
    assert pairs_of(the_example(), SEQUENCE) == {(READ, WRITE): 1}


# Conformance: 004-041
@pytest.mark.parametrize("drop", [("tool_start", "capability_start"), ("tool_end", "capability_end")])
def test_starts_alone_or_ends_alone_show_containment(drop: tuple[str, ...]) -> None:
    left_over = [event for event in the_example() if isinstance(event, TraceEvent) and event.type.value not in drop]
    assert pairs_of(left_over, CONTAINS) == {(CAP, READ): 1, (CAP, WRITE): 1}
    assert pairs_of(left_over, SEQUENCE) == {}


@given(st.randoms(use_true_random=False))
def test_records_out_of_order_teach_the_same(chance: random.Random) -> None:
    records = the_example()
    chance.shuffle(records)
    assert edges_of(records) == edges_of(the_example())


# Conformance: 004-050, 004-072
def test_nested_capabilities() -> None:
    records = [entered("a"), entered("b", "a"), started("t", "b"), ended("t", "b"), left("b", "a"), left("a")]
    assert set(pairs_of(records, CONTAINS)) == {("capability:a", "capability:b"), ("capability:b", "tool:t")}
    assert pairs_of(records, SEQUENCE) == {}


# Conformance: 004-051, 004-073, 004-080
def test_only_siblings_are_in_sequence() -> None:
    cousins = [a_span("p", 0, 9), a_span("q", 10, 19), a_span("a", 1, 2, parent="p"), a_span("b", 11, 12, parent="q")]
    assert set(pairs_of(cousins, SEQUENCE)) == {("s:p", "s:q")}


def test_siblings_without_times_are_ordered_by_their_records() -> None:
    in_turn = [entered("c"), started("a", "c"), ended("a", "c"), started("b", "c"), ended("b", "c"), left("c")]
    assert pairs_of(in_turn, SEQUENCE) == {("tool:a", "tool:b"): 1}
    at_once = [entered("c"), started("a", "c"), started("b", "c"), ended("a", "c"), ended("b", "c"), left("c")]
    assert pairs_of(at_once, SEQUENCE) == {}


def test_children_of_a_missing_parent_are_siblings() -> None:
    records = [a_span("a", 0, 1, parent="gone"), a_span("b", 2, 3, parent="gone"), a_span("c", 4, 5, parent="lost")]
    assert pairs_of(records, SEQUENCE) == {("s:a", "s:b"): 1}


class TestWithoutParents:
    """AC8: old traces."""

    # Conformance: 004-035, 004-074, 004-084
    def test_a_row_in_the_order_of_input(self) -> None:
        assert pairs_of([ended("a"), ended("b"), ended("c")], SEQUENCE) == {
            ("tool:a", "tool:b"): 1,
            ("tool:b", "tool:c"): 1,
        }

    # Conformance: 004-084
    def test_by_end_if_known(self) -> None:
        assert pairs_of([ended("b", at=2), ended("a", at=1)], SEQUENCE) == {("tool:a", "tool:b"): 1}
        assert set(pairs_of([ended("c", at=5), ended("x"), ended("a", at=1)], SEQUENCE)) == {
            ("tool:a", "tool:c"),
            ("tool:c", "tool:x"),
        }

    # Conformance: 004-085
    def test_inside_one_session_only(self) -> None:
        records = [ended("a", session="1"), ended("b", session="2"), ended("c", session="1")]
        assert pairs_of(records, SEQUENCE) == {("tool:a", "tool:c"): 1}

    def test_inside_one_execution_only(self) -> None:
        assert pairs_of([ended("a", execution="1"), ended("b", execution="2")], SEQUENCE) == {}

    def test_calls_known_to_overlap_have_no_order(self) -> None:
        assert pairs_of([a_span("a", 0, 5), a_span("b", 1, 6), a_span("c", 7, 8)], SEQUENCE) == {
            ("s:a", "s:c"): 1,
            ("s:b", "s:c"): 1,
        }

    @given(st.lists(st.tuples(*[st.none() | st.integers(0, 9)] * 2), max_size=8))
    def test_no_pair_in_a_row_contradicts_known_times(self, times: list[tuple[int | None, int | None]]) -> None:
        spans = {str(n): a_span(str(n), first, last) for n, (first, last) in enumerate([(None, 4), *times])}
        by_id = {span.id: span for span in build_span_forest(spans.values()).spans}
        for counts in edges_of(spans.values()).values():
            for witness in counts.evidence:
                first, other = by_id[witness.before], by_id[witness.after]
                befores = [at for at in (first.start_ns, first.end_ns) if at is not None]
                afters = [at for at in (other.start_ns, other.end_ns) if at is not None]
                assert not befores or not afters or max(befores) <= min(afters)


def test_a_needed_call_is_a_dependency() -> None:
    records = [a_span("a", 0, 5), a_span("b", 1, 6, needs=("a", "b", "gone"))]
    assert pairs_of(records, DEPENDENCY) == {("s:a", "s:b"): 1}


def test_a_node_that_follows_or_calls_itself_is_counted_without_an_edge() -> None:
    again = [a_span("1", 0, 9, name="s:x"), *(a_span(f"{n}", n, n, name="s:x", parent="1") for n in (2, 4, 6))]
    (lesson,) = lessons_from_span_forest(build_span_forest(again))
    assert (lesson.edges, lesson.nodes["s:x"].repeats, lesson.nodes["s:x"].recursions) == ({}, 2, 3)


def test_outcomes_times_and_evidence_are_those_of_the_later_call() -> None:
    records = [a_span("p", 0, 99)]
    for n in range(1, 11):
        status = (Status.OK, Status.FAILED, Status.UNKNOWN)[n % 3]
        records.append(a_span(str(n), n, n, name="s:x", parent="p", status=status))
    counts = edges_of(records)["s:p", "s:x", CONTAINS]
    assert (counts.count, counts.successes, counts.failures, counts.first_ns, counts.last_ns) == (10, 3, 4, 1, 10)
    newest_first = [("p", str(n)) for n in range(10, 10 - EVIDENCE_MAX, -1)]
    assert [(witness.before, witness.after) for witness in counts.evidence] == newest_first


drawn_spans = st.lists(
    st.builds(
        lambda start, length, name, parent: (start, length, name, parent),
        st.integers(0, 20),
        st.integers(0, 9),
        st.integers(0, 4),
        st.integers(0, 20),
    ),
    max_size=20,
)


# Conformance: 004-079, 004-080
@given(drawn_spans)
def test_no_edge_contradicts_the_tree_or_the_times(drawn: list[tuple[int, int, int, int]]) -> None:
    spans = [
        a_span(
            str(n),
            start,
            start + length,
            name=f"s:{name}",
            parent=str(parent % (n + 1)) if parent % (n + 1) < n else None,
        )
        for n, (start, length, name, parent) in enumerate(drawn)
    ]
    holds_for(spans)


def holds_for(spans: list[CallSpan]) -> int:
    """Check that every edge has a witness: of containment a parent, of sequence a sibling that ended before."""
    forest = build_span_forest(spans)
    by_id = {span.id: span for span in forest.spans}
    count = 0
    for (start, end, kind), counts in edges_of(spans).items():
        assert counts.evidence
        for witness in counts.evidence:
            first, other = by_id[witness.before], by_id[witness.after]
            assert (first.node, other.node) == (start, end)
            if kind is CONTAINS:
                assert other.parent == first.id
            else:
                assert (first.parent, first.link) == (other.parent, other.link)
                assert first.end_ns is not None and other.start_ns is not None and first.end_ns <= other.start_ns
        count += counts.count
    return count
