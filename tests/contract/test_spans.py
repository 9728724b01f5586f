"""Spans in every store: found by execution, by session, by parent."""

from custody.core.ids import ExecutionId, NaturalKey, SessionId, SpanId
from custody.core.views import ObservedSpan
from custody.graph.queries import SpanTables, query_execution_spans, query_session_spans
from custody.store import ObservedView, Store
from tests.builders.events import an_arrival
from tests.contract.conftest import Opener

WIDE = "\U0001f600" * 200


def spans_under(store: Store, execution: ExecutionId, parent: SpanId) -> list[ObservedView[ObservedSpan]]:
    """Return the recorded spans directly inside a span, by the index on the parent."""
    return store.views.look_up(ObservedSpan, "parent = ? AND execution = ?", (parent, execution))


def ids(views: list[ObservedView[ObservedSpan]]) -> list[tuple[str, str]]:
    return [(observed.view.id, observed.view.phase.value) for observed in views]


def a_run(store: Store, execution: str = "e1", session: str = "s1") -> None:
    fields = {"execution": execution, "session": session, "server": None, "span_kind": "capability"}
    store.append(
        [
            an_arrival("span", event=f"{execution}{n}", span=span, parent=parent, phase=phase, status=status, **fields)
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
    assert ids(query_execution_spans(store, ExecutionId("e1"))) == [
        ("a", "start"),
        ("b", "start"),
        ("b", "end"),
        ("a", "end"),
    ]
    assert len(query_session_spans(store, SessionId("s2"))) == 4
    assert ids(spans_under(store, ExecutionId("e2"), SpanId("a"))) == [("b", "start"), ("b", "end")]
    assert query_execution_spans(store, ExecutionId("e3")) == spans_under(store, ExecutionId("e1"), SpanId("b")) == []


def test_the_same_span_again_is_one_record(open_store: Opener) -> None:
    open_store().append([an_arrival("span", event="first")])
    again = open_store().append([an_arrival("span", event="late"), an_arrival("span", event="more", dropped=1)])
    assert again.known == ("late",)
    assert [record.entry.event for record in again.made] == ["more"], "other content is a second observation"


def test_the_widest_ids_fit_the_indexes(store: Store) -> None:
    store.append([an_arrival("span", execution=WIDE, span=WIDE[:-1], parent=WIDE, server=WIDE, name=WIDE)])
    assert (
        len(query_execution_spans(store, ExecutionId(WIDE)))
        == len(spans_under(store, ExecutionId(WIDE), SpanId(WIDE)))
        == 1
    )


def test_many_spans_and_observations_are_looked_up_at_once(store: Store) -> None:
    a_run(store, "e1", "s1")
    a_run(store, "e2", "s2")
    spans = {("e1", "a"), ("e2", "b"), ("e2", "c"), ("e3", "a")} | {("e9", str(n)) for n in range(600)}
    assert SpanTables(store).find_stored_spans(spans) == {("e1", "a"), ("e2", "b")}
    assert SpanTables(store).find_stored_spans(set()) == set()
    assert list(SpanTables(store).executions()) == ["e1", "e2"]
    keys = {record.entry.key for record in store.tables.newest(8, None)}
    observed = SpanTables(store).find_observations(keys | {NaturalKey("span:e9:a:start")})
    assert sorted(observed) == sorted(keys)
    assert all(len(refs) == 1 for digests in observed.values() for refs in digests.values())
