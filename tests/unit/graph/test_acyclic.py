"""The maintained order: an arc is refused exactly when it would close a cycle."""

import networkx as nx  # type: ignore[import-untyped]
from hypothesis import given
from hypothesis import strategies as st

from custody.graph.book import TopologicalOrder
from tests.unit.graph.builders import names


class Arcs:
    """Arcs with an order over them, as the book stores them."""

    def __init__(self) -> None:
        self.after: dict[str, list[str]] = {}
        self.before: dict[str, list[str]] = {}
        self.looked = 0
        self.order = TopologicalOrder(
            lambda node: self._around(self.after, node), lambda node: self._around(self.before, node)
        )

    def _around(self, arcs: dict[str, list[str]], node: str) -> list[str]:
        self.looked += 1
        return arcs.get(node, [])

    def add(self, tail: str, head: str) -> bool:
        if not self.order.allows(tail, head):
            return False
        self.after.setdefault(tail, []).append(head)
        self.before.setdefault(head, []).append(tail)
        return True


@given(st.lists(st.tuples(names, names), max_size=60))
def test_an_arc_is_refused_exactly_when_it_closes_a_cycle(pairs: list[tuple[str, str]]) -> None:
    arcs, graph = Arcs(), nx.DiGraph()
    for tail, head in pairs:
        graph.add_nodes_from((tail, head))
        closes = nx.has_path(graph, head, tail)
        assert arcs.add(tail, head) is not closes
        if not closes:
            graph.add_edge(tail, head)


def test_a_new_node_is_placed_without_a_search() -> None:
    arcs = Arcs()
    for number in range(1000):
        assert arcs.add(f"a{number}", f"a{number + 1}")
    for number in range(1000):
        assert arcs.add(f"new{number}", f"a{number}") and arcs.add(f"a{number}", f"leaf{number}")
    assert arcs.looked == 0
