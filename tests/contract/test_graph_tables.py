"""The learned graph on every database: stored exactly, loaded exactly, deleted completely."""

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec import structs

from custody.core.ids import RecordRef, Seq
from custody.graph.calls import CallPlace, SequenceCall
from custody.graph.contribution import Contribution, EdgePart
from custody.graph.engine import GraphEngine, Template
from custody.graph.model import Edge, EdgeType, EventType, Kind, Node, TraceEvent, UnitId
from custody.graph.queries import GraphTables
from custody.store import Store
from tests.builders.events import an_arrival
from tests.contract.conftest import Opener

NAMES = st.sampled_from(["read", "write", "größe", "a'b", 'c"d'])


def events(names: list[str], execution: str) -> list[TraceEvent]:
    """Return a capability that calls tools one after the other."""
    events = [TraceEvent(type=EventType.CAPABILITY_START, trace_id="c", name="cap", at_ns=0, execution=execution)]
    for place, name in enumerate(names, 1):
        for kind, at_ns in ((EventType.TOOL_START, 10 * place), (EventType.TOOL_END, 10 * place + 1)):
            events.append(
                TraceEvent(
                    type=kind,
                    trace_id=f"t{place}",
                    parent_trace_id="c",
                    name=f"fs:{name}",
                    at_ns=at_ns,
                    execution=execution,
                )
            )
    events.append(TraceEvent(type=EventType.CAPABILITY_END, trace_id="c", name="cap", at_ns=10**9, execution=execution))
    return events


LEARNED = Contribution(
    UnitId("execution", "e1"),
    7,
    ("größe",),
    {"no-end": 2},
    (Node("fs:read", Kind.TOOL, 3, 1, 0, 0),),
    (EdgePart(1, Edge("fs:read", "fs:write", EdgeType.CONTAINS, count=2, executions=1, last_ns=9)),),
    ((SequenceCall("Read .py", "fs:read", CallPlace("1", "turn"), failed=True, file="2"),),),
)


# Conformance: 004-006, 004-022, 004-038
@given(st.lists(st.lists(NAMES, max_size=5), max_size=5))
@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_a_graph_comes_back_exactly(store: Store, runs: list[list[str]]) -> None:
    with store.writing():
        GraphTables(store).forget()
    engine = GraphEngine()
    engine.bootstrap_from_templates([Template("t", (("fs:read", "fs:write"),), EdgeType.DEPENDENCY)])
    for number, names in enumerate(runs):
        engine.update_from_code_execution(events(names, f"e{number}"))
        if number % 2:
            with store.writing():
                engine.persist_edges(GraphTables(store))
    with store.writing():
        engine.persist_edges(GraphTables(store))
    again = GraphEngine()
    again.sync_from_database(GraphTables(store))
    assert again.get_graph_snapshot() == engine.get_graph_snapshot()


# Conformance: 004-006, 004-022, 004-038
def test_another_opening_finds_the_stored_graph(store: Store, open_store: Opener) -> None:
    engine = GraphEngine()
    engine.update_from_code_execution(events(["read", "write"], "e1"))
    with store.writing():
        engine.persist_edges(GraphTables(store))
        GraphTables(store).put_contributions([LEARNED], {LEARNED.unit: 6})
        GraphTables(store).set_state("chain", 7, "1")
    again = GraphTables(open_store())
    assert again.units() == {LEARNED.unit: 6}
    assert [*again.contributions()] == [*again.contributions([LEARNED.unit])] == [structs.replace(LEARNED, calls=())]
    assert again.parts_of_edge(LEARNED.parts[0].edge.key) == [(LEARNED.unit, LEARNED.parts[0].edge)]
    assert again.unit_calls() == {LEARNED.unit: LEARNED.calls}
    assert again.state() == {"chain": (7, "1")}
    assert sorted((edge.type.value, edge.source.value) for edge in again.edges()) == [
        ("contains", "inferred"),
        ("contains", "inferred"),
        ("sequence", "inferred"),
    ]
    with store.writing():
        GraphTables(store).forget()
    assert (list(again.edges()), list(again.nodes()), again.units(), again.state()) == ([], [], {}, {})
    assert [*again.contributions()] == [] and again.acyclic_edges() == []


def test_a_row_of_an_unknown_type_is_skipped_and_not_deleted(store: Store) -> None:
    with store.writing():
        GraphTables(store).put([], [Edge("s:a", "s:b"), Edge("s:b", "s:c")])
        store.db.run("UPDATE graph_edge SET edge_type = ? WHERE start_node = ?", ("strange", "s:a"))
    assert [edge.start for edge in GraphTables(store).edges()] == ["s:b"]
    assert store.db.rows("SELECT count(*) FROM graph_edge") == [(2,)]


def test_units_with_records_after_a_position(store: Store) -> None:
    store.append([an_arrival("call", event="1", session="s1"), an_arrival("span", event="2", execution="e1")])
    (head,) = store.tables.chains()
    assert GraphTables(store).list_units_after(head.store, 0) == {UnitId("session", "s1"), UnitId("execution", "e1")}
    assert GraphTables(store).list_units_after(head.store, int(head.seq) - 1) == {UnitId("execution", "e1")}
    assert GraphTables(store).list_units_after(head.store, int(head.seq)) == set()
    assert GraphTables(store).count_unit_rows() == {UnitId("session", "s1"): 1, UnitId("execution", "e1"): 1}


def test_units_with_erased_bodies_after_a_position(store: Store) -> None:
    store.append([an_arrival("call", event="1", session="s1"), an_arrival("call", event="2", session="s2")])
    (head,) = store.tables.chains()
    record = store.tables.record(RecordRef(head.store, Seq(int(head.seq) - 1)))
    assert record is not None
    store.erase([record.entry.digest], who="ana", why="a test")
    assert UnitId("session", "s1") not in GraphTables(store).count_unit_rows()
    assert UnitId("session", "s2") not in GraphTables(store).list_units_after(head.store, int(head.seq))


# Conformance: 004-039
def test_edges_are_indexed_by_type_by_source_and_by_both(store: Store) -> None:
    catalogues = {
        "SqliteDb": "SELECT name FROM sqlite_master WHERE type = 'index' AND tbl_name = 'graph_edge'",
        "PostgresDb": "SELECT indexname FROM pg_indexes WHERE tablename = 'graph_edge'",
    }
    names = {str(name) for (name,) in store.db.rows(catalogues[type(store.db).__name__])}
    assert names >= {"graph_edge_type", "graph_edge_source", "graph_edge_both"}
