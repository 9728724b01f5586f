"""Observations of one item are merged, in any order."""

from itertools import permutations

from hypothesis import given
from hypothesis import strategies as st

from custody.core.ids import AgentName, CallId, SessionId
from custody.core.view_merge import merge_call_views, merge_session_views
from custody.core.views import CallStatus, Session, ToolCall

A, S = AgentName("robot"), SessionId("s")


def a_call(call: str, started: int, ended: int | None, status: CallStatus, **fields: str) -> ToolCall:
    return ToolCall(A, S, CallId(call), "Edit", started, ended, status, **fields)  # type: ignore[arg-type]


def test_before_and_after_are_one_call() -> None:
    before = a_call("c", 10, None, CallStatus.RUNNING, subagent="sub")
    after = a_call("c", 12, 20, CallStatus.OK)
    for order in permutations((before, after)):
        (merged,) = merge_call_views(order)
        assert (merged.started_ns, merged.ended_ns, merged.status, merged.subagent) == (10, 20, CallStatus.OK, "sub")


CALLS = st.lists(
    st.builds(
        a_call,
        st.sampled_from(("a", "b")),
        st.integers(0, 9),
        st.none() | st.integers(10, 19),
        st.sampled_from(CallStatus),
        parent=st.none() | st.sampled_from(("p", "q")),
    ),
    max_size=4,
)


@given(CALLS)
def test_order_never_matters(calls: list[ToolCall]) -> None:
    assert {repr(merge_call_views(order)) for order in permutations(calls)} == {repr(merge_call_views(calls))}
    assert len(merge_call_views(calls)) == len({call.id for call in calls})


def test_a_session_keeps_its_first_moment_and_its_last_model() -> None:
    parts = [
        Session(A, S, 10, model="m-1", worktree="/w"),
        Session(A, S, 20, model="m-2"),
        Session(A, S, 30, ended_ns=30),
    ]
    for order in permutations(parts):
        whole = merge_session_views(order)
        assert whole is not None
        assert (whole.started_ns, whole.ended_ns, whole.model, whole.worktree) == (10, 30, "m-2", "/w")
    assert merge_session_views([]) is None
