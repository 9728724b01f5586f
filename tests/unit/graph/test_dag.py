"""A graph without cycles: the rest never has one, and the removed edges are listed."""

import networkx as nx  # type: ignore[import-untyped]
from hypothesis import given
from hypothesis import strategies as st

from custody.graph.dag import find_strong_components
from custody.graph.engine import GraphEngine
from tests.unit.graph.builders import CONTAINS, SEQUENCE, a_graph, graphs, names


def arcs_of(engine: GraphEngine) -> nx.DiGraph:
    graph: nx.DiGraph = nx.DiGraph()
    graph.add_nodes_from(engine.book.nodes)
    graph.add_edges_from((edge.start, edge.end) for edge in engine.get_graph_snapshot().edges)
    return graph


# Conformance: 004-061
@given(graphs(edges_max=40))
def test_the_rest_never_has_a_cycle_and_no_removed_edge_could_stay(engine: GraphEngine) -> None:
    dag = engine.build_dag()
    rest = nx.DiGraph([(edge.start, edge.end) for edge in dag.edges])
    assert nx.is_directed_acyclic_graph(rest)
    assert sorted(dag.order) == sorted(engine.book.nodes)
    place = {node: number for number, node in enumerate(dag.order)}
    assert all(place[edge.start] < place[edge.end] for edge in dag.edges)
    assert {*dag.edges, *dag.removed} == set(engine.get_graph_snapshot().edges)
    for edge in dag.removed:
        assert nx.has_path(rest, edge.end, edge.start)


@given(graphs(edges_max=40))
def test_the_components_are_the_strongly_connected_ones(engine: GraphEngine) -> None:
    graph = arcs_of(engine)
    parts = find_strong_components({node: list(graph[node]) for node in graph})
    assert {frozenset(part) for part in parts} == {frozenset(part) for part in nx.strongly_connected_components(graph)}


def test_a_cycle_of_three_is_broken_at_its_lightest_edge() -> None:
    engine = a_graph(("s:a", "s:b", SEQUENCE, 3), ("s:b", "s:c", SEQUENCE, 1), ("s:c", "s:a", SEQUENCE, 3))
    dag = engine.build_dag()
    assert [(edge.start, edge.end) for edge in dag.removed] == [("s:b", "s:c")]
    assert dag.order == ("s:c", "s:a", "s:b")
    assert dag.removed[0].evidence


# Conformance: 004-061
def test_of_a_mutual_pair_the_heavier_mean_stays() -> None:
    engine = a_graph(("s:a", "s:b", CONTAINS, 3), ("s:a", "s:b", SEQUENCE, 1), ("s:b", "s:a", SEQUENCE, 3))
    assert [(edge.start, edge.end) for edge in engine.build_dag().removed] == [("s:b", "s:a")]


@given(graphs(), st.sets(names))
def test_it_can_be_limited_to_some_nodes(engine: GraphEngine, selected: set[str]) -> None:
    dag = engine.build_dag(selected)
    assert set(dag.order) == selected & engine.book.nodes.keys()
    assert {node for edge in dag.edges for node in (edge.start, edge.end)} <= selected


def test_a_large_ring_is_fast() -> None:
    ring = [(f"s:{n}", f"s:{(n + 1) % 3000}", SEQUENCE, 0) for n in range(3000)]
    assert len(a_graph(*ring).build_dag().removed) == 1
