"""Order among siblings: only if one ended before the other started, only directly, and not in quadratic time."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from custody.graph.lessons import iterate_call_successions
from custody.graph.model import CallSpan
from custody.graph.spans import build_span_forest
from tests.unit.graph.builders import a_span


def followed(*spans: CallSpan) -> Counter[tuple[str, str]]:
    counted: Counter[tuple[str, str]] = Counter()
    for succession in iterate_call_successions(build_span_forest(spans).spans, 8):
        counted[succession.before, succession.after] += succession.count
    return counted


def test_one_after_another() -> None:
    assert followed(a_span("a", 0, 1), a_span("b", 2, 3), a_span("c", 4, 5)) == {("s:a", "s:b"): 1, ("s:b", "s:c"): 1}


def test_overlapping_calls_are_parallel() -> None:
    assert followed(a_span("a", 0, 3), a_span("b", 2, 5)) == {}


def test_fork_and_join() -> None:
    forked = (a_span("a", 0, 1), a_span("b", 2, 5), a_span("c", 3, 6), a_span("d", 7, 8))
    assert set(followed(*forked)) == {("s:a", "s:b"), ("s:a", "s:c"), ("s:b", "s:d"), ("s:c", "s:d")}


def test_touching_calls_are_in_order_and_calls_at_one_time_are_not() -> None:
    assert followed(a_span("a", 0, 1), a_span("b", 1, 2)) == {("s:a", "s:b"): 1}
    assert followed(a_span("a", 1, 1), a_span("b", 1, 1)) == {}
    assert followed(a_span("a", 0, 1), a_span("b", 1, 1), a_span("c", 1, 2)) == {("s:a", "s:b"): 1, ("s:b", "s:c"): 1}


def test_a_call_without_a_start_follows_none_and_one_without_an_end_precedes_none() -> None:
    assert followed(a_span("a", 0, 1), a_span("b", None, 3), a_span("c", 4, None), a_span("d", 5, 6)) == {
        ("s:a", "s:c"): 1,
        ("s:b", "s:c"): 1,
        ("s:a", "s:d"): 1,
        ("s:b", "s:d"): 1,
    }


intervals = st.lists(st.tuples(st.integers(0, 12), st.integers(0, 5), st.integers(0, 3)), max_size=12)


def before(span: CallSpan, other: CallSpan) -> bool:
    assert None not in (span.start_ns, span.end_ns, other.start_ns, other.end_ns)
    at_once = span.start_ns == span.end_ns == other.start_ns == other.end_ns
    return span.id != other.id and span.end_ns <= other.start_ns and not at_once  # type: ignore[operator]


# Conformance: 004-051
@given(intervals)
def test_the_pairs_are_the_transitive_reduction(drawn: list[tuple[int, int, int]]) -> None:
    spans = [a_span(str(n), start, start + length, name=f"s:{name}") for n, (start, length, name) in enumerate(drawn)]
    direct = Counter(
        (a.node, b.node)
        for a in spans
        for b in spans
        if before(a, b) and not any(before(a, c) and before(c, b) for c in spans)
    )
    assert followed(*spans) == direct


@given(intervals)
def test_the_pairs_are_among_the_counted_ones(drawn: list[tuple[int, int, int]]) -> None:
    spans = [a_span(str(n), start, start + length, name=f"s:{name}") for n, (start, length, name) in enumerate(drawn)]
    for succession in iterate_call_successions(spans, 2):
        assert 1 <= len(succession.pairs) <= 2
        for first, other in succession.pairs:
            assert (first.node, other.node) == (succession.before, succession.after)
            assert before(first, other) and not any(before(first, c) and before(c, other) for c in spans)


def test_a_wide_fork_is_counted_without_being_listed() -> None:
    wide = 20_000
    spans = [a_span(f"a{n}", 0, 1, name="s:a") for n in range(wide)] + [
        a_span(f"b{n}", 2, 3, name="s:b") for n in range(wide)
    ]
    (succession,) = iterate_call_successions(spans, 8)
    assert (succession.count, len(succession.pairs)) == (wide * wide, 8)
