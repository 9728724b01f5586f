"""The cheapest path: compared with networkx, and always the same one."""

import math
import random
from itertools import pairwise

import networkx as nx  # type: ignore[import-untyped]
import pytest
from hypothesis import given
from hypothesis import strategies as st

from custody.graph.engine import GraphEngine
from custody.graph.model import EdgeType
from custody.graph.paths import TEMPLATE_COUNT, Cost
from tests.unit.graph.builders import CONTAINS, DEPENDENCY, SEQUENCE, a_graph, graphs, names

COSTS: tuple[Cost, ...] = ("document", "reliability", "surprisal")
ROUND: float = 1e-6


def priced(engine: GraphEngine, cost: Cost) -> nx.DiGraph:
    """Return the same graph for networkx, with the cost of each pair computed independently."""
    graph: nx.DiGraph = nx.DiGraph()
    edges = engine.get_graph_snapshot().edges
    counts = {(edge.start, edge.end): 0.0 for edge in edges}
    for edge in edges:
        counts[edge.start, edge.end] = max(counts[edge.start, edge.end], edge.count or TEMPLATE_COUNT)
    for edge in edges:
        total = sum(count for (start, _), count in counts.items() if start == edge.start)
        price = {
            "document": 1 / max(edge.weight, 0.1),
            "reliability": 0.1 - math.log(max(edge.weight, 0.1)),
            "surprisal": 0.1 - math.log(counts[edge.start, edge.end] / total),
        }[cost]
        known = graph.get_edge_data(edge.start, edge.end, {"cost": math.inf})["cost"]
        graph.add_edge(edge.start, edge.end, cost=min(known, price))
    return graph


# Conformance: 004-011, 004-059, 004-093
@pytest.mark.parametrize("cost", COSTS)
@given(engine=graphs(), start=names, end=names)
def test_the_cost_is_minimal(cost: Cost, engine: GraphEngine, start: str, end: str) -> None:
    graph = priced(engine, cost)
    path = engine.find_shortest_path(start, end, cost)
    if start not in engine.book.nodes or end not in engine.book.nodes:
        assert path is None
    elif start == end:
        assert path is not None and (path.nodes, path.cost) == ((start,), 0.0)
    elif start not in graph or end not in graph or not nx.has_path(graph, start, end):
        assert path is None
    else:
        assert path is not None
        assert path.cost == pytest.approx(nx.dijkstra_path_length(graph, start, end, weight="cost"), abs=ROUND)
        assert path.cost == pytest.approx(nx.path_weight(graph, path.nodes, weight="cost"), abs=ROUND)
        assert (path.nodes[0], path.nodes[-1]) == (start, end)
        assert [(edge.start, edge.end) for edge in path.edges] == list(zip(path.nodes, path.nodes[1:], strict=False))


@given(st.lists(st.tuples(names, names, st.sampled_from([SEQUENCE]), st.integers(0, 3)), max_size=30), st.randoms())
def test_of_equal_paths_it_is_always_the_same(
    edges: list[tuple[str, str, EdgeType, int]], chance: random.Random
) -> None:
    once = list({(start, end): (start, end, kind, count) for start, end, kind, count in edges if start != end}.values())
    shuffled = list(once)
    chance.shuffle(shuffled)
    first, other = a_graph(*once), a_graph(*shuffled)
    for cost in COSTS:
        assert first.find_shortest_path("s:0", "s:1", cost) == other.find_shortest_path("s:0", "s:1", cost)


# Conformance: 004-059, 004-082
def test_the_combined_weight_decides() -> None:
    """AC6: three observed dependencies (3.0) are cheaper than a template sequence (4.0), three weak ones are not."""
    steps = [("s:a", "s:b"), ("s:b", "s:c"), ("s:c", "s:z")]
    engine = a_graph(*((a, b, DEPENDENCY, 3) for a, b in steps), ("s:a", "s:z", SEQUENCE, 0))
    path = engine.find_shortest_path("s:a", "s:z")
    assert path is not None and (path.nodes, path.cost) == (("s:a", "s:b", "s:c", "s:z"), 3.0)
    weaker = a_graph(*((a, b, SEQUENCE, 1) for a, b in steps), ("s:a", "s:z", SEQUENCE, 0))
    path = weaker.find_shortest_path("s:a", "s:z")
    assert path is not None and (path.nodes, path.cost) == (("s:a", "s:z"), 4.0)


def test_the_best_edge_of_a_pair_counts() -> None:
    path = a_graph(("s:a", "s:b", SEQUENCE, 1), ("s:a", "s:b", CONTAINS, 3)).find_shortest_path("s:a", "s:b")
    assert path is not None and (path.cost, path.edges[0].type) == (1.25, CONTAINS)
    both = a_graph(("s:a", "s:b", SEQUENCE, 0), ("s:a", "s:b", CONTAINS, 0)).find_shortest_path("s:a", "s:b")
    better = a_graph(("s:a", "s:b", CONTAINS, 0)).find_shortest_path("s:a", "s:b")
    assert both is not None and better is not None and both.cost == better.cost


def test_every_step_has_its_evidence() -> None:
    path = a_graph(("s:a", "s:b", SEQUENCE, 2)).find_shortest_path("s:a", "s:b")
    assert path is not None and [(witness.before, witness.after) for witness in path.edges[0].evidence] == [("1", "2")]


def test_at_every_fork_the_smaller_name_is_taken_in_any_order() -> None:
    layers = [["s:0"], ["s:1b", "s:1a"], ["s:2"], ["s:3b", "s:3a"], ["s:4"], ["s:5b", "s:5a"], ["s:6"]]
    edges = [(start, end, SEQUENCE, 0) for near, far in pairwise(layers) for start in near for end in far]
    for order in (edges, edges[::-1]):
        path = a_graph(*order).find_shortest_path("s:0", "s:6")
        assert path is not None and path.nodes == ("s:0", "s:1a", "s:2", "s:3a", "s:4", "s:5a", "s:6")
