"""A graph without cycles: within each strongly connected component (Tarjan), the lightest edges are removed.

The heaviest pairs of nodes are taken first, and a pair that would close a cycle with those is removed. So the rest
never has a cycle, however long the cycles were, and no removed pair could be added back.
"""

from collections.abc import Iterable, Iterator, Mapping
from heapq import heapify, heappop, heappush

from msgspec import Struct

from custody.graph.book import Book, TopologicalOrder
from custody.graph.model import Edge

Arcs = Mapping[str, Iterable[str]]


class Dag(Struct, frozen=True):
    """Nodes in an order in which every edge points forward; the remaining edges, and the removed ones."""

    order: tuple[str, ...]
    edges: tuple[Edge, ...]
    removed: tuple[Edge, ...]


def build_acyclic_graph(book: Book, nodes: Iterable[str] | None = None) -> Dag:
    """Return the graph of these nodes, or of all, without cycles."""
    selected = set(book.nodes if nodes is None else nodes) & book.nodes.keys()
    arcs = {
        node: [other for other in sorted(book.after.get(node, ())) if other in selected] for node in sorted(selected)
    }
    removed: set[tuple[str, str]] = set()
    for part in find_strong_components(arcs):
        if len(part) > 1:
            removed |= _find_cycle_closing_edges(book, part, arcs)
    remaining = {node: [other for other in others if (node, other) not in removed] for node, others in arcs.items()}
    pairs = [(node, other) for node, others in arcs.items() for other in others]
    return Dag(
        order=tuple(_sort_nodes_topologically(remaining)),
        edges=tuple(edge for pair in pairs if pair not in removed for edge in book.list_edges_between(*pair)),
        removed=tuple(edge for pair in sorted(removed) for edge in book.list_edges_between(*pair)),
    )


def find_strong_components(arcs: Arcs) -> Iterator[set[str]]:
    """Yield the strongly connected components (Tarjan, without recursion), in linear time."""
    walk = _TarjanWalk(arcs)
    for node in arcs:
        if node not in walk.numbers:
            yield from walk.parts_from(node)


class _TarjanWalk:
    """Tarjan's walk: when each node was entered, and the earliest node that can be reached back from it."""

    def __init__(self, arcs: Arcs) -> None:
        self._arcs = arcs
        self.numbers: dict[str, int] = {}
        self._lows: dict[str, int] = {}
        self._open: list[str] = []
        self._is_open: set[str] = set()
        self._path: list[tuple[str, Iterator[str]]] = []

    def parts_from(self, root: str) -> Iterator[set[str]]:
        """Yield the components that are complete once everything that ``root`` reaches was walked."""
        self._enter(root)
        while self._path:
            node, others = self._path[-1]
            other = next(others, None)
            if other is None:
                self._path.pop()
                yield from self._leave(node)
            elif other not in self.numbers:
                self._enter(other)
            elif other in self._is_open:
                self._lows[node] = min(self._lows[node], self.numbers[other])

    def _enter(self, node: str) -> None:
        self.numbers[node] = self._lows[node] = len(self.numbers)
        self._open.append(node)
        self._is_open.add(node)
        self._path.append((node, iter(self._arcs.get(node, ()))))

    def _leave(self, node: str) -> Iterator[set[str]]:
        if self._path:
            above = self._path[-1][0]
            self._lows[above] = min(self._lows[above], self._lows[node])
        if self._lows[node] == self.numbers[node]:
            part: set[str] = set()
            while node not in part:
                part.add(self._open.pop())
            self._is_open -= part
            yield part


def _find_cycle_closing_edges(book: Book, part: set[str], arcs: Arcs) -> set[tuple[str, str]]:
    """Return the pairs that close a cycle with heavier ones."""
    after: dict[str, set[str]] = {}
    before: dict[str, set[str]] = {}
    order = TopologicalOrder(lambda node: after.get(node, ()), lambda node: before.get(node, ()))
    removed = set()
    inside = ((start, end) for start in part for end in arcs[start] if end in part)
    for start, end in sorted(inside, key=lambda pair: _cycle_edge_sort_key(book, *pair)):
        if order.allows(start, end):
            after.setdefault(start, set()).add(end)
            before.setdefault(end, set()).add(start)
        else:
            removed.add((start, end))
    return removed


def _cycle_edge_sort_key(book: Book, start: str, end: str) -> tuple[float, int, str, str]:
    """Order by the mean weight of a pair's edges, as in the document; then by count, then by name."""
    edges = book.list_edges_between(start, end)
    mean = sum(edge.weight for edge in edges) / len(edges)
    return -mean, -sum(edge.count for edge in edges), start, end


def _sort_nodes_topologically(arcs: Arcs) -> Iterator[str]:
    """Yield the nodes so that every arc points forward; of several possible next nodes, the smallest name."""
    waits = dict.fromkeys(arcs, 0)
    for others in arcs.values():
        for other in others:
            waits[other] += 1
    free = [node for node, count in waits.items() if not count]
    heapify(free)
    while free:
        node = heappop(free)
        yield node
        for other in arcs[node]:
            waits[other] -= 1
            if not waits[other]:
                heappush(free, other)
