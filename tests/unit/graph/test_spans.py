"""Spans: nothing is lost, no record raises, and every repair is counted."""

from itertools import permutations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from custody.core.views import ObservedSpan, SpanPhase, SpanStatus
from custody.graph.model import CallSpan, EventType, Kind, Status, TraceEvent
from custody.graph.spans import SpanForest, SpanRepair, build_span_forest
from tests.unit.graph.builders import a_span, ended, entered, left, started


def repairs_of(forest: SpanForest) -> dict[str, int]:
    return {code.value: count for code, count in forest.repairs.items()}


# Conformance: 004-009, 004-047
def test_a_start_and_an_end_are_one_span() -> None:
    (cap, tool) = build_span_forest(
        [entered("c", at=1), started("t", "c", 2), ended("t", "c", 3, status=Status.OK), left("c", at=4)]
    ).spans
    assert (cap.kind, cap.parent, cap.start_ns, cap.end_ns) == (Kind.CAPABILITY, None, 1, 4)
    assert (tool.kind, tool.parent, tool.start_ns, tool.end_ns, tool.status) == (Kind.TOOL, "c", 2, 3, Status.OK)


def test_complete_records_need_no_repair() -> None:
    records = [entered("c", at=1), started("t", "c", 2), ended("t", "c", 3), left("c", at=4)]
    assert repairs_of(build_span_forest(records)) == {}


def test_any_order_gives_the_same_spans() -> None:
    records = [entered("c", at=1), started("t", "c", 2), ended("t", at=3), left("c", at=4)]
    results = {
        frozenset((span.id, span.parent, span.start_ns, span.end_ns) for span in build_span_forest(order).spans)
        for order in permutations(records)
    }
    assert results == {frozenset({("c", None, 1, 4), ("t", "c", 2, 3)})}


def test_a_start_alone_is_abandoned_and_an_end_alone_has_no_start() -> None:
    forest = build_span_forest([started("a", at=1), ended("b", at=2)])
    begun, over = forest.spans
    assert (begun.abandoned, begun.end_ns, over.abandoned, over.start_ns) == (True, None, False, None)
    assert repairs_of(forest) == {"no-end": 1, "no-start": 1}


def test_a_repeated_record_is_skipped_and_counted() -> None:
    forest = build_span_forest([started("a", at=1), started("a", at=1), ended("a", at=2), ended("a", at=2)])
    assert len(forest.spans) == 1
    assert repairs_of(forest) == {"repeated": 2}


def test_another_call_with_the_same_id_gets_its_own() -> None:
    forest = build_span_forest([started("a", at=1, name="s:x"), started("a", at=5, name="s:y"), started("a~2", at=7)])
    assert [(span.id, span.name) for span in forest.spans] == [("a", "s:x"), ("a~3", "s:y"), ("a~2", "a~2")]
    assert repairs_of(forest) == {"same-id": 1, "no-end": 3}


def test_one_name_at_two_times_is_two_calls() -> None:
    forest = build_span_forest([a_span("a", 1, 2), a_span("a", 5, 6)])
    assert [(span.id, span.start_ns, span.end_ns) for span in forest.spans] == [("a", 1, 2), ("a~2", 5, 6)]
    begun = build_span_forest([started("a", at=1), started("a", at=5)])
    assert [span.start_ns for span in begun.spans] == [1, 5]


def test_an_end_finds_its_call_among_those_of_one_id() -> None:
    records = [started("a", at=1, name="s:x"), started("a", at=5, name="s:y"), ended("a", at=9, name="s:y")]
    first, second = build_span_forest(records).spans
    assert (first.end_ns, second.end_ns) == (None, 9)


def test_a_call_that_ends_before_its_start_has_zero_length_and_is_counted() -> None:
    forest = build_span_forest([started("a", at=9), ended("a", at=4)])
    assert (forest.spans[0].start_ns, forest.spans[0].end_ns) == (9, 9)
    assert repairs_of(forest) == {"backwards": 1}


def test_a_missing_parent_becomes_a_link() -> None:
    (span,) = (forest := build_span_forest([a_span("a", 1, 2, parent="gone")])).spans
    assert (span.parent, span.link) == (None, "gone")
    assert repairs_of(forest) == {"no-parent": 1}


# Conformance: 004-049
def test_a_late_parent_is_found() -> None:
    forest = build_span_forest([a_span("a", 1, 2, parent="p"), a_span("p", 0, 3)])
    assert [span.id for span in forest.children["", "p"]] == ["a"]
    assert repairs_of(forest) == {}


def test_a_parent_of_another_execution_is_missing() -> None:
    forest = build_span_forest([a_span("p", 0, 3, execution="one"), a_span("a", 1, 2, parent="p", execution="two")])
    assert repairs_of(forest) == {"no-parent": 1}


def test_two_parents_of_one_call_are_counted_and_the_first_counts() -> None:
    forest = build_span_forest([a_span("p"), a_span("q"), started("a", "p", 1), ended("a", "q", 2)])
    assert forest.spans[2].parent == "p"
    assert repairs_of(forest) == {"other-parent": 1}


def test_a_cycle_of_parents_is_opened_at_the_first() -> None:
    circle = [a_span("a", parent="c"), a_span("b", parent="a"), a_span("c", parent="b"), a_span("d", parent="d")]
    forest = build_span_forest(circle)
    assert [span.parent for span in forest.spans] == [None, "a", "b", None]
    assert repairs_of(forest) == {"cycle": 2}


def test_spans_read_again_are_the_same_and_need_no_more_repair() -> None:
    records = [a_span("a", 1, 5), a_span("b", 2, 3, parent="a"), a_span("c", 4, None, parent="x")]
    once = build_span_forest(records)
    assert build_span_forest(once.spans).spans == once.spans


ids = st.sampled_from("abcd")
times = st.none() | st.integers(0, 5)
events = st.builds(
    lambda kind, id, parent, at, name, execution: TraceEvent(
        type=kind, trace_id=id, parent_trace_id=parent, at_ns=at, name=name, execution=execution
    ),
    st.sampled_from(list(EventType)),
    ids,
    st.none() | ids | st.just("gone"),
    times,
    st.none() | st.sampled_from(["s:x", "s:y"]),
    st.sampled_from(["", "other"]),
)
whole = st.builds(
    lambda id, kind, parent, start, end, abandoned: CallSpan(
        id=id, kind=kind, name="n", parent=parent, start_ns=start, end_ns=end, abandoned=abandoned
    ),
    ids,
    st.sampled_from(list(Kind)),
    st.none() | ids,
    times,
    times,
    st.booleans(),
)


# Conformance: 004-018
@given(st.lists(events | whole, max_size=25))
def test_any_records_give_a_forest_without_losses(records: list[TraceEvent | CallSpan]) -> None:
    forest = build_span_forest(records)
    spans = {(span.execution, span.id): span for span in forest.spans}
    assert len(spans) == len(forest.spans)
    for record in records:
        id, parent = (
            (record.id, record.parent) if isinstance(record, CallSpan) else (record.trace_id, record.parent_trace_id)
        )
        assert (record.execution, id) in spans
        same = [span for span in forest.spans if span.execution == record.execution and span.id.split("~")[0] == id]
        given_up = SpanRepair.OTHER_PARENT in forest.repairs or SpanRepair.CYCLE in forest.repairs
        assert parent is None or given_up or any(parent in (span.parent, span.link) for span in same)
    for span in forest.spans:
        above, steps = span, 0
        while above.parent is not None:
            above, steps = spans[above.execution, above.parent], steps + 1
            assert steps <= len(spans)
        assert span.start_ns is None or span.end_ns is None or span.start_ns <= span.end_ns
    assert sum(len(children) for children in forest.children.values()) + len(list(forest.roots)) == len(forest.spans)


def test_one_id_for_everything_is_still_linear() -> None:
    records = [started("a", at=at, name=f"s:{at}") for at in range(20_000)]
    assert len(build_span_forest(records).spans) == 20_000


def test_a_deep_chain_of_parents_is_fast() -> None:
    chain = [a_span(str(n), n, 10**6 - n, parent=str(n - 1) if n else None) for n in range(50_000)]
    assert repairs_of(build_span_forest(chain)) == {}


class TestRecordsOfTheStore:
    """The views of spans that the store has."""

    @staticmethod
    def observed(phase: SpanPhase, started: int | None, ended: int | None, **more: Any) -> ObservedSpan:
        fields = {"execution": "e", "id": "a", "name": "read", "kind": Kind.TOOL, "server": "fs", **more}
        return ObservedSpan(phase=phase, started_ns=started, ended_ns=ended, **fields)

    def test_a_start_and_an_end_are_one_span(self) -> None:
        records = [
            self.observed(SpanPhase.START, 1, None, attributes=(("x", 1), ("y", None))),
            self.observed(SpanPhase.END, 1, 5, status=SpanStatus.OK),
        ]
        (span,) = (forest := build_span_forest(records)).spans
        assert (span.node, span.start_ns, span.end_ns, span.status) == ("fs:read", 1, 5, Status.OK)
        assert (dict(span.attributes), span.abandoned, repairs_of(forest)) == ({"x": 1}, False, {})

    @pytest.mark.parametrize(
        ("status", "outcome"), [(SpanStatus.ERROR, Status.FAILED), (SpanStatus.KILLED, Status.FAILED)]
    )
    def test_a_call_of_a_killed_process_failed(self, status: SpanStatus, outcome: Status) -> None:
        (span,) = build_span_forest([self.observed(SpanPhase.WHOLE, 1, 5, status=status)]).spans
        assert (span.status, span.end_ns) == (outcome, 5)

    def test_an_abandoned_call_has_no_end(self) -> None:
        records = [
            self.observed(SpanPhase.START, 1, None),
            self.observed(SpanPhase.END, 1, 5, status=SpanStatus.ABANDONED),
        ]
        (span,) = build_span_forest(records).spans
        assert (span.abandoned, span.end_ns, span.status) == (True, None, Status.UNKNOWN)
