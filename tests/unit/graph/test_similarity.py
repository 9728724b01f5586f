"""Similarity by common neighbors: both formulas, computed directly and by networkx."""

import math

import networkx as nx  # type: ignore[import-untyped]
import pytest
from hypothesis import given
from hypothesis import strategies as st

from custody.graph.csr import Matrix
from custody.graph.engine import GraphEngine
from custody.graph.model import Kind
from custody.graph.rules import GraphRules
from custody.graph.similarity import Formula
from tests.unit.graph.builders import CONTAINS, SEQUENCE, a_graph, a_span, graphs

FORMULAS: tuple[Formula, ...] = ("page", "document")


def undirected(engine: GraphEngine) -> nx.Graph:
    graph: nx.Graph = nx.Graph()
    for edge in engine.get_graph_snapshot().edges:
        known = graph.get_edge_data(edge.start, edge.end, {"w": 0.0})["w"]
        graph.add_edge(edge.start, edge.end, w=max(known, edge.weight))
    return graph


def by_hand(graph: nx.Graph, node: str, other: str, formula: Formula) -> float:
    total = 0.0
    for between in set(graph[node]) & set(graph[other]):
        if formula == "page":
            strength = sum(data["w"] for data in graph[between].values())
            total += math.sqrt(graph[node][between]["w"] * graph[between][other]["w"]) / math.log(1 + strength)
        elif graph.degree(between) > 1:
            total += graph[node][between]["w"] / math.log(graph.degree(between))
    return total


# Conformance: 004-011, 004-060
@pytest.mark.parametrize("formula", FORMULAS)
@given(engine=graphs())
def test_the_sum_is_that_of_its_formula(formula: Formula, engine: GraphEngine) -> None:
    graph = undirected(engine)
    for node in graph:
        expected = {other: by_hand(graph, node, other, formula) for other in graph if other != node}
        similar_nodes = engine.compute_adamic_adar(node, limit=99, formula=formula)
        assert {similar.node: similar.score for similar in similar_nodes} == pytest.approx(
            {other: score for other, score in expected.items() if score > 0}
        )
        assert [(-similar.score, similar.node) for similar in similar_nodes] == sorted(
            (-similar.score, similar.node) for similar in similar_nodes
        )
        for similar in similar_nodes:
            assert {shared.node for shared in similar.witnesses} <= set(graph[node]) & set(graph[similar.node])
            assert similar.witnesses and all(len(shared.edges) == 2 for shared in similar.witnesses)


# Conformance: 004-060
@given(graphs(kinds=(SEQUENCE,)))
def test_with_equal_weights_the_documents_formula_is_that_of_adamic_and_adar(engine: GraphEngine) -> None:
    flat = GraphEngine(GraphRules(source_weights={"observed": 1, "inferred": 1, "template": 1}))
    flat.bootstrap_from_templates([])
    for edge in engine.get_graph_snapshot().edges:
        flat.book.add_template_edge(edge.key)
    graph, weight = undirected(engine), 0.5
    for node in graph:
        for similar in flat.compute_adamic_adar(node, limit=99, formula="document"):
            ((_, _, expected),) = nx.adamic_adar_index(graph, [(node, similar.node)])
            assert similar.score == pytest.approx(weight * expected)


def pair_score(matrix: Matrix, node: str, other: str) -> float:
    """Return how similar two nodes are: the sum over their common neighbors, by name; 0 for a node and itself."""
    shares = sorted(matrix.common(matrix.places[node], matrix.places[other], document=False))
    return 0.0 if node == other else sum(share for _, share in shares)


@given(graphs())
def test_the_page_formula_is_the_same_both_ways(engine: GraphEngine) -> None:
    matrix = Matrix(engine.book)
    for node in matrix.names:
        for other in matrix.names:
            assert pair_score(matrix, node, other) == pair_score(matrix, other, node)
        for similar in engine.compute_adamic_adar(node, limit=99):
            assert similar.score == pytest.approx(pair_score(matrix, node, similar.node))


@given(graphs(), st.integers(0, 5))
def test_a_limit_cuts_the_end_off(engine: GraphEngine, limit: int) -> None:
    for node in engine.book.nodes:
        assert engine.compute_adamic_adar(node, limit=limit) == engine.compute_adamic_adar(node, limit=99)[:limit]


def test_sessions_and_turns_make_nothing_similar() -> None:
    engine = GraphEngine()
    engine.update_from_code_execution(
        [
            a_span("s", kind=Kind.SESSION, name="monday"),
            a_span("t", kind=Kind.TURN, name="1", parent="s"),
            a_span("a", parent="t"),
            a_span("b", parent="t"),
        ]
    )
    assert engine.compute_adamic_adar("s:a") == []
    assert engine.compute_adamic_adar("session") == []


def test_a_change_takes_effect_at_once() -> None:
    engine = a_graph(("s:a", "s:z", CONTAINS, 1))
    assert engine.compute_adamic_adar("s:a") == []
    engine.update_from_code_execution([a_span("1", name="s:b"), a_span("2", name="s:z", parent="1")])
    (similar,) = engine.compute_adamic_adar("s:a")
    assert similar.node == "s:b"
    # Computed by hand: sqrt(0.56 · 0.56) / ln(1 + 1.12).
    assert similar.score == pytest.approx(0.7453, abs=1e-4)


def test_an_unknown_node_has_no_similar_nodes() -> None:
    assert GraphEngine().compute_adamic_adar("s:a") == []


def test_few_nodes_among_many_give_the_same_as_all() -> None:
    many = a_graph(*((f"s:x{n}", f"s:y{n}", SEQUENCE, 0) for n in range(200)), ("s:a", "s:z", CONTAINS, 1))
    many.update_from_code_execution([a_span("1", name="s:b"), a_span("2", name="s:z", parent="1")])
    (similar,) = many.compute_adamic_adar("s:a")
    assert similar.node == "s:b"
    assert similar.score == pytest.approx(0.7453, abs=1e-4)
