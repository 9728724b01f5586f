"""The engine: the document's functions, examples and acceptance criteria for the graph."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from custody.core.errors import InputError
from custody.graph.engine import GraphEngine, Snapshot, Template
from custody.graph.model import CallSpan, Edge, EdgeKey, EdgeSource, EdgeType, Node
from custody.graph.rules import GraphRules
from tests.unit.graph.builders import (
    CONTAINS,
    DEPENDENCY,
    SEQUENCE,
    a_graph,
    a_span,
    ended,
    entered,
    graphs,
    left,
    names,
    observed,
    started,
)

OBSERVED, INFERRED, TEMPLATE = EdgeSource.OBSERVED, EdgeSource.INFERRED, EdgeSource.TEMPLATE


@dataclass
class Shelf:
    """Rows in memory, by key."""

    node_rows: dict[str, Node] = field(default_factory=dict)
    edge_rows: dict[EdgeKey, Edge] = field(default_factory=dict)
    puts: int = 0

    def nodes(self) -> Iterable[Node]:
        return self.node_rows.values()

    def edges(self) -> Iterable[Edge]:
        return self.edge_rows.values()

    def put(self, nodes: Sequence[Node], edges: Sequence[Edge]) -> None:
        self.puts += 1
        self.node_rows |= {row.name: row for row in nodes}
        self.edge_rows |= {row.key: row for row in edges}


def reloaded(engine: GraphEngine) -> GraphEngine:
    shelf, again = Shelf(), GraphEngine(engine.rules)
    engine.persist_edges(shelf)
    again.sync_from_database(shelf)
    return again


# Conformance: 004-021, 004-079, 004-091
def test_the_documents_test_of_edge_creation() -> None:
    engine = GraphEngine()
    engine.update_from_code_execution(
        [
            entered("cap1"),
            started("t1", "cap1", name="filesystem:read_file"),
            ended("t1", "cap1", name="filesystem:read_file"),
            left("cap1"),
        ]
    )
    edge = engine.get_edge_data("capability:cap1", "filesystem:read_file")
    assert edge is not None and edge.type is CONTAINS


def test_the_documents_test_word_for_word() -> None:
    """Events as plain mappings, types as plain text."""
    engine = GraphEngine()
    engine.update_from_code_execution(
        [
            {"type": "capability_start", "trace_id": "cap1", "parent_trace_id": None},
            {"type": "tool_start", "trace_id": "t1", "parent_trace_id": "cap1", "name": "filesystem:read_file"},
            {"type": "tool_end", "trace_id": "t1", "parent_trace_id": "cap1", "success": False},
            {"type": "capability_end", "trace_id": "cap1", "unknown": 1},
        ]
    )
    edge = engine.get_edge_data("capability:cap1", "filesystem:read_file")
    assert edge is not None and (edge.type, edge.source, edge.failures) == ("contains", "inferred", 1)
    assert engine.get_edge_weight(EdgeType("contains"), EdgeSource("inferred")) == edge.weight


@pytest.mark.parametrize("event", [{}, {"type": "tool_start"}, {"type": "begin", "trace_id": "t1"}, 7, None])
def test_an_invalid_event_is_refused_and_nothing_is_learned(event: Any) -> None:
    engine = GraphEngine()
    with pytest.raises(InputError, match="does not describe a call"):
        engine.update_from_code_execution([started("t1"), event])
    assert engine.get_graph_snapshot().nodes == ()


# Conformance: 004-025, 004-058, 004-075
@pytest.mark.parametrize(
    ("kind", "source", "weight"),
    [
        (DEPENDENCY, OBSERVED, 1.0),
        (DEPENDENCY, INFERRED, 0.7),
        (DEPENDENCY, TEMPLATE, 0.5),
        (CONTAINS, OBSERVED, 0.8),
        (CONTAINS, INFERRED, 0.56),
        (CONTAINS, TEMPLATE, 0.4),
        (SEQUENCE, OBSERVED, 0.5),
        (SEQUENCE, INFERRED, 0.35),
        (SEQUENCE, TEMPLATE, 0.25),
    ],
)
def test_a_weight_is_that_of_the_type_times_that_of_the_source(
    kind: EdgeType, source: EdgeSource, weight: float
) -> None:
    assert GraphEngine().get_edge_weight(kind, source) == pytest.approx(weight)
    count = {TEMPLATE: 0, INFERRED: 1, OBSERVED: 3}[source]
    edge = a_graph(("s:a", "s:b", kind, count)).get_edge_data("s:a", "s:b")
    assert edge is not None and edge.source is source
    assert edge.weight == pytest.approx(weight)


# Conformance: 004-053, 004-076, 004-083
@pytest.mark.parametrize("kind", list(EdgeType))
def test_the_third_observation_makes_an_edge_observed(kind: EdgeType) -> None:
    engine = GraphEngine()
    sources = []
    for _ in range(4):
        update = engine.update_from_code_execution(observed("s:a", "s:b", kind))
        edge = engine.get_edge_data("s:a", "s:b", kind)
        assert edge is not None
        sources.append((edge.source, bool(update.promoted)))
    assert sources == [(INFERRED, False), (INFERRED, False), (OBSERVED, True), (OBSERVED, False)]


# Conformance: 004-056
def test_a_template_is_promoted_too() -> None:
    engine = GraphEngine()
    engine.bootstrap_from_templates([Template("deploy", (("s:a", "s:b"),))])
    sources = []
    for _ in range(4):
        edge = engine.get_edge_data("s:a", "s:b")
        assert edge is not None
        sources.append(edge.source)
        engine.update_from_code_execution(observed("s:a", "s:b", DEPENDENCY))
    assert sources == [TEMPLATE, INFERRED, INFERRED, OBSERVED]


@pytest.mark.parametrize(("by", "source"), [("observations", OBSERVED), ("executions", INFERRED)])
def test_what_counts_for_promotion_is_a_rule(by: str, source: EdgeSource) -> None:
    engine = GraphEngine(GraphRules(promote_by=by))  # type: ignore[arg-type]
    engine.update_from_code_execution([a_span("p"), *(a_span(str(n), name="s:x", parent="p") for n in range(5))])
    edge = engine.get_edge_data("s:p", "s:x", CONTAINS)
    assert edge is not None and (edge.count, edge.executions, edge.source) == (5, 1, source)


def test_templates_do_not_reset_observed_edges() -> None:
    engine = a_graph(("s:a", "s:b", DEPENDENCY, 3))
    assert engine.bootstrap_from_templates([Template("deploy", (("s:a", "s:b"),))]) == ()
    edge = engine.get_edge_data("s:a", "s:b")
    assert edge is not None and (edge.source, edge.count) == (OBSERVED, 3)


# Conformance: 004-017, 004-089
def test_a_pair_may_be_contained_and_in_sequence() -> None:
    engine = a_graph(("s:a", "s:b", SEQUENCE, 3), ("s:a", "s:b", CONTAINS, 1))
    kinds = [engine.get_edge_data("s:a", "s:b", kind) for kind in (SEQUENCE, CONTAINS, DEPENDENCY)]
    assert [edge and (edge.type, edge.count) for edge in kinds] == [(SEQUENCE, 3), (CONTAINS, 1), None]
    heaviest = engine.get_edge_data("s:a", "s:b")
    assert heaviest is not None and heaviest.type is CONTAINS
    assert engine.get_edge_data("s:b", "s:a") is None


class TestCycles:
    """Containment and dependency never close a cycle."""

    # Conformance: 004-029
    @pytest.mark.parametrize("kind", [CONTAINS, DEPENDENCY])
    def test_an_edge_that_would_close_one_is_set_aside_counted_and_reported(self, kind: EdgeType) -> None:
        engine = a_graph(("s:a", "s:b", kind, 1), ("s:b", "s:c", kind, 1))
        for _ in range(2):
            assert engine.update_from_code_execution(observed("s:c", "s:a", kind)).aside == (("s:c", "s:a", kind),)
        assert engine.get_edge_data("s:c", "s:a") is None
        assert [(edge.key, edge.count) for edge in engine.get_graph_snapshot().aside] == [(("s:c", "s:a", kind), 2)]
        again = reloaded(engine)
        assert again.get_graph_snapshot() == engine.get_graph_snapshot()
        assert again.update_from_code_execution(observed("s:c", "s:a", kind)).aside

    def test_within_an_execution_the_order_of_records_does_not_decide_which(self) -> None:
        """Two nodes contain each other in one execution; the same edge is set aside in either order."""
        first = [a_span("1", name="s:a"), a_span("2", name="s:b", parent="1")]
        other = [a_span("3", name="s:b"), a_span("4", name="s:a", parent="3")]
        for records in ([*first, *other], [*other, *first]):
            assert GraphEngine().update_from_code_execution(records).aside == (("s:b", "s:a", CONTAINS),)

    def test_a_sequence_may_be_cyclic(self) -> None:
        engine = a_graph(("s:a", "s:b", SEQUENCE, 1), ("s:b", "s:a", SEQUENCE, 1))
        assert len(engine.get_graph_snapshot().edges) == 2

    def test_recursion_is_a_counter(self) -> None:
        engine = GraphEngine()
        engine.update_from_code_execution([a_span("1", name="s:x"), a_span("2", name="s:x", parent="1")])
        (node,) = engine.get_graph_snapshot().nodes
        assert (node.recursions, engine.get_graph_snapshot().edges) == (1, ())


class TestKeeping:
    """AC5: types and sources survive a restart exactly."""

    # Conformance: 004-016, 004-054, 004-055, 004-081
    @given(graphs())
    def test_a_reloaded_graph_is_the_same(self, engine: GraphEngine) -> None:
        assert reloaded(engine).get_graph_snapshot() == engine.get_graph_snapshot()

    # Conformance: 004-081
    @given(graphs(), names, names, st.sampled_from(EdgeType))
    def test_learning_continues_after_a_restart_as_without_one(
        self, engine: GraphEngine, start: str, end: str, kind: EdgeType
    ) -> None:
        again = reloaded(engine)
        for graph in (engine, again):
            graph.update_from_code_execution(observed(start, end, kind))
        assert again.get_graph_snapshot() == engine.get_graph_snapshot()

    # Conformance: 004-055
    def test_only_changes_are_stored(self) -> None:
        engine, shelf = a_graph(("s:a", "s:b", SEQUENCE, 1), ("s:c", "s:d", CONTAINS, 1)), Shelf()
        assert engine.persist_edges(shelf) == 2
        assert (engine.persist_edges(shelf), shelf.puts) == (0, 1)
        engine.update_from_code_execution(observed("s:a", "s:b", SEQUENCE))
        assert engine.persist_edges(shelf) == 1

    # Conformance: 004-035, 004-036, 004-037
    def test_an_old_row_is_an_inferred_sequence(self) -> None:
        shelf, engine = Shelf(), GraphEngine()
        shelf.put([], [Edge("s:a", "s:b", count=9)])
        engine.sync_from_database(shelf)
        edge = engine.get_edge_data("s:a", "s:b")
        assert edge is not None and (edge.type, edge.source, edge.count) == (SEQUENCE, INFERRED, 9)
        engine.update_from_code_execution(observed("s:a", "s:b", SEQUENCE))
        edge = engine.get_edge_data("s:a", "s:b")
        assert edge is not None and edge.source is OBSERVED

    def test_rows_that_close_a_cycle_are_set_aside(self) -> None:
        shelf, engine = Shelf(), GraphEngine()
        rows = [Edge(a, b, CONTAINS) for a, b in (("s:a", "s:b"), ("s:b", "s:a"))]
        shelf.put([], rows)
        engine.sync_from_database(shelf)
        assert (len(engine.get_graph_snapshot().edges), len(engine.get_graph_snapshot().aside)) == (1, 1)


@pytest.mark.parametrize("at", [10**30, -(10**30), 2**63 - 1, -(2**63), 0])
def test_any_clock_is_accepted(at: int) -> None:
    engine = GraphEngine()
    engine.update_from_code_execution([a_span("p", at, at), a_span("a", at, at, parent="p")])
    edge = engine.get_edge_data("s:p", "s:a")
    assert edge is not None and edge.first_ns is not None and edge.first_ns == edge.last_ns
    assert reloaded(engine).get_graph_snapshot() == engine.get_graph_snapshot()


executions = st.lists(
    st.lists(st.tuples(st.integers(0, 9), st.integers(0, 5), names, st.integers(0, 9)), max_size=6), max_size=6
)


def as_spans(drawn: list[list[tuple[int, int, str, int]]]) -> list[list[CallSpan]]:
    return [
        [
            a_span(str(n), at, at + length, name=name, execution=str(place), parent=str(up) if up < n else None)
            for n, (at, length, name, up) in enumerate(execution)
        ]
        for place, execution in enumerate(drawn)
    ]


def learned(*batches: list[CallSpan]) -> Snapshot:
    engine = GraphEngine()
    for batch in batches:
        engine.update_from_code_execution(batch)
    return engine.get_graph_snapshot()


@given(executions)
def test_one_by_one_or_all_at_once_is_the_same(drawn: list[list[tuple[int, int, str, int]]]) -> None:
    spans = as_spans(drawn)
    assert learned(*spans) == learned([span for execution in spans for span in execution])


@given(executions)
def test_the_order_of_executions_does_not_change_the_graph(drawn: list[list[tuple[int, int, str, int]]]) -> None:
    spans = as_spans(drawn)
    ahead, back = learned(*spans), learned(*reversed(spans))
    assert ahead.nodes == back.nodes
    # The first edge of a cycle decides which one is set aside; otherwise they are the same.
    assert _all_edges(ahead) == _all_edges(back)


def _all_edges(graph: Snapshot) -> set[Edge]:
    return {replace(edge, aside=False) for edge in (*graph.edges, *graph.aside)}


@given(executions)
def test_acyclic_types_never_have_a_cycle(drawn: list[list[tuple[int, int, str, int]]]) -> None:
    import networkx as nx  # type: ignore[import-untyped]

    edges = learned(*as_spans(drawn)).edges
    for kind in (CONTAINS, DEPENDENCY):
        assert nx.is_directed_acyclic_graph(nx.DiGraph([(edge.start, edge.end) for edge in edges if edge.type is kind]))
