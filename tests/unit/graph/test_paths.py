"""The cheapest way: Dijkstra's, with networkx as the judge, and always the same one."""

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
    """The same graph for networkx, with the cost of each pair written out anew."""
    graph: nx.DiGraph = nx.DiGraph()
    edges = engine.get_graph_snapshot().edges
    seen = {(one.start, one.end): 0.0 for one in edges}
    for one in edges:
        seen[one.start, one.end] = max(seen[one.start, one.end], one.count or TEMPLATE_COUNT)
    for one in edges:
        total = sum(count for (start, _), count in seen.items() if start == one.start)
        price = {
            "document": 1 / max(one.weight, 0.1),
            "reliability": 0.1 - math.log(max(one.weight, 0.1)),
            "surprisal": 0.1 - math.log(seen[one.start, one.end] / total),
        }[cost]
        known = graph.get_edge_data(one.start, one.end, {"cost": math.inf})["cost"]
        graph.add_edge(one.start, one.end, cost=min(known, price))
    return graph


# Conformance: 004-011, 004-059, 004-093
@pytest.mark.parametrize("cost", COSTS)
@given(engine=graphs(), start=names, end=names)
def test_the_cost_is_the_least_there_is(cost: Cost, engine: GraphEngine, start: str, end: str) -> None:
    graph = priced(engine, cost)
    found = engine.find_shortest_path(start, end, cost)
    if start not in engine.book.nodes or end not in engine.book.nodes:
        assert found is None
    elif start == end:
        assert found is not None and (found.nodes, found.cost) == ((start,), 0.0)
    elif start not in graph or end not in graph or not nx.has_path(graph, start, end):
        assert found is None
    else:
        assert found is not None
        assert found.cost == pytest.approx(nx.dijkstra_path_length(graph, start, end, weight="cost"), abs=ROUND)
        assert found.cost == pytest.approx(nx.path_weight(graph, found.nodes, weight="cost"), abs=ROUND)
        assert (found.nodes[0], found.nodes[-1]) == (start, end)
        assert [(one.start, one.end) for one in found.edges] == list(zip(found.nodes, found.nodes[1:], strict=False))


@given(st.lists(st.tuples(names, names, st.sampled_from([SEQUENCE]), st.integers(0, 3)), max_size=30), st.randoms())
def test_of_equal_ways_it_is_always_the_same(
    edges: list[tuple[str, str, EdgeType, int]], chance: random.Random
) -> None:
    once = list({(start, end): (start, end, kind, count) for start, end, kind, count in edges if start != end}.values())
    shuffled = list(once)
    chance.shuffle(shuffled)
    one, other = a_graph(*once), a_graph(*shuffled)
    for cost in COSTS:
        assert one.find_shortest_path("s:0", "s:1", cost) == other.find_shortest_path("s:0", "s:1", cost)


# Conformance: 004-059, 004-082
def test_the_combined_weight_decides() -> None:
    """AC6: three observed dependencies (3.0) are cheaper than a template sequence (4.0), three weak ones are not."""
    way = [("s:a", "s:b"), ("s:b", "s:c"), ("s:c", "s:z")]
    engine = a_graph(*((a, b, DEPENDENCY, 3) for a, b in way), ("s:a", "s:z", SEQUENCE, 0))
    found = engine.find_shortest_path("s:a", "s:z")
    assert found is not None and (found.nodes, found.cost) == (("s:a", "s:b", "s:c", "s:z"), 3.0)
    weaker = a_graph(*((a, b, SEQUENCE, 1) for a, b in way), ("s:a", "s:z", SEQUENCE, 0))
    found = weaker.find_shortest_path("s:a", "s:z")
    assert found is not None and (found.nodes, found.cost) == (("s:a", "s:z"), 4.0)


def test_the_best_edge_of_a_pair_counts() -> None:
    found = a_graph(("s:a", "s:b", SEQUENCE, 1), ("s:a", "s:b", CONTAINS, 3)).find_shortest_path("s:a", "s:b")
    assert found is not None and (found.cost, found.edges[0].type) == (1.25, CONTAINS)


def test_every_step_has_its_evidence() -> None:
    found = a_graph(("s:a", "s:b", SEQUENCE, 2)).find_shortest_path("s:a", "s:b")
    assert found is not None and [(one.before, one.after) for one in found.edges[0].evidence] == [("1", "2")]


def test_at_every_fork_the_smaller_name_is_taken_whoever_came_first() -> None:
    layers = [["s:0"], ["s:1b", "s:1a"], ["s:2"], ["s:3b", "s:3a"], ["s:4"], ["s:5b", "s:5a"], ["s:6"]]
    edges = [(one, other, SEQUENCE, 0) for near, far in pairwise(layers) for one in near for other in far]
    for order in (edges, edges[::-1]):
        found = a_graph(*order).find_shortest_path("s:0", "s:6")
        assert found is not None and found.nodes == ("s:0", "s:1a", "s:2", "s:3a", "s:4", "s:5a", "s:6")
