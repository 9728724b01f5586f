"""Spans in every store: found by execution, by session, by what they ran in."""

from custody.core.ids import ExecutionId, NaturalKey, SessionId, SpanId
from custody.core.views import ObservedSpan
from custody.graph.queries import SpanTables, spans_of_execution, spans_of_session
from custody.store import ObservedView, Store
from tests.builders.events import an_arrival
from tests.contract.conftest import Opener

WIDE = "\U0001f600" * 200


def spans_under(store: Store, execution: ExecutionId, parent: SpanId) -> list[ObservedView[ObservedSpan]]:
    """What was recorded of the spans directly inside a span, by the index on the parent."""
    return store.views.look_up(ObservedSpan, "parent = ? AND execution = ?", (parent, execution))


def ids(found: list[ObservedView[ObservedSpan]]) -> list[tuple[str, str]]:
    return [(seen.view.id, seen.view.phase.value) for seen in found]


def a_run(store: Store, execution: str = "e1", session: str = "s1") -> None:
    given = {"execution": execution, "session": session, "server": None, "span_kind": "capability"}
    store.append(
        [
            an_arrival("span", event=f"{execution}{n}", span=span, parent=parent, phase=phase, status=status, **given)
            for n, (span, parent, phase, status) in enumerate(
                [
                    ("a", None, "start", None),
                    ("b", "a", "start", None),
                    ("b", "a", "end", "ok"),
                    ("a", None, "end", "ok"),
                ]
            )
        ]
    )


def test_spans_are_found_by_execution_session_and_parent(store: Store) -> None:
    a_run(store, "e1", "s1")
    a_run(store, "e2", "s2")
    assert ids(spans_of_execution(store, ExecutionId("e1"))) == [
        ("a", "start"),
        ("b", "start"),
        ("b", "end"),
        ("a", "end"),
    ]
    assert len(spans_of_session(store, SessionId("s2"))) == 4
    assert ids(spans_under(store, ExecutionId("e2"), SpanId("a"))) == [("b", "start"), ("b", "end")]
    assert spans_of_execution(store, ExecutionId("e3")) == spans_under(store, ExecutionId("e1"), SpanId("b")) == []


def test_the_same_span_again_is_one_record(open_store: Opener) -> None:
    open_store().append([an_arrival("span", event="first")])
    again = open_store().append([an_arrival("span", event="late"), an_arrival("span", event="more", dropped=1)])
    assert again.known == ("late",)
    assert [record.entry.event for record in again.made] == ["more"], "other content is a second observation"


def test_the_widest_ids_fit_the_indexes(store: Store) -> None:
    store.append([an_arrival("span", execution=WIDE, span=WIDE[:-1], parent=WIDE, server=WIDE, name=WIDE)])
    assert (
        len(spans_of_execution(store, ExecutionId(WIDE)))
        == len(spans_under(store, ExecutionId(WIDE), SpanId(WIDE)))
        == 1
    )


def test_spans_and_observations_are_asked_for_many_at_once(store: Store) -> None:
    a_run(store, "e1", "s1")
    a_run(store, "e2", "s2")
    asked = {("e1", "a"), ("e2", "b"), ("e2", "c"), ("e3", "a")} | {("e9", str(n)) for n in range(600)}
    assert SpanTables(store).there(asked) == {("e1", "a"), ("e2", "b")}
    assert SpanTables(store).there(set()) == set()
    assert list(SpanTables(store).executions()) == ["e1", "e2"]
    keys = {record.entry.key for record in store.tables.newest(8, None)}
    observed = SpanTables(store).observed(keys | {NaturalKey("span:e9:a:start")})
    assert sorted(observed) == sorted(keys)
    assert all(len(refs) == 1 for digests in observed.values() for refs in digests.values())
