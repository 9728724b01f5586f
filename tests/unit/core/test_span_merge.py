"""Records of one span are merged where they agree, and all kept where they do not."""

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from custody.core.ids import ExecutionId, SpanId
from custody.core.view_merge import merge_span_views
from custody.core.views import ObservedSpan, SpanKind, SpanPhase, SpanStatus

WHOLE = ObservedSpan(ExecutionId("e"), SpanId("a"), SpanPhase.WHOLE, "n", SpanKind.TOOL, 1, 5, status=SpanStatus.OK)
START = replace(WHOLE, phase=SpanPhase.START, ended_ns=None, status=None, parent=SpanId("p"), attributes=(("x", 1),))
END = replace(WHOLE, phase=SpanPhase.END, started_ns=None, attributes=(("y", 2),))


def test_a_start_and_its_end_are_one() -> None:
    (one,) = merge_span_views([END, START])
    assert one == replace(WHOLE, parent=SpanId("p"), attributes=(("x", 1), ("y", 2)))


def test_what_a_whole_tells_is_not_told_again() -> None:
    assert merge_span_views([START, WHOLE, END, WHOLE]) == [WHOLE]


def test_what_cannot_be_one_stays_apart() -> None:
    other = replace(END, name="other")
    longer = replace(WHOLE, ended_ns=9)
    assert merge_span_views([START, other]) == [START, other]
    assert merge_span_views([WHOLE, longer]) == [WHOLE, longer]
    assert merge_span_views([START, replace(START, execution=ExecutionId("f"))]) == [
        START,
        replace(START, execution=ExecutionId("f")),
    ]


_records = st.builds(
    lambda phase, id, name, start, end: replace(
        WHOLE,
        phase=phase,
        id=SpanId(id),
        name=name,
        started_ns=None if phase is SpanPhase.END else start,
        ended_ns=None if phase is SpanPhase.START else end,
        status=None if phase is SpanPhase.START else SpanStatus.OK,
    ),
    st.sampled_from(SpanPhase),
    st.sampled_from("ab"),
    st.sampled_from("mn"),
    st.integers(0, 2),
    st.integers(0, 2),
)


@given(st.lists(_records, max_size=10))
def test_merging_again_and_repeated_records_change_nothing(seen: list[ObservedSpan]) -> None:
    once = merge_span_views(seen)
    assert merge_span_views(seen + seen) == once
    assert {one.id for one in once} == {one.id for one in seen}
    # Every time in some record is still there.
    assert {(one.id, one.started_ns) for one in seen if one.started_ns is not None} <= {
        (one.id, one.started_ns) for one in once
    }
    assert {(one.id, one.ended_ns) for one in seen if one.ended_ns is not None} <= {
        (one.id, one.ended_ns) for one in once
    }
