"""A graph without cycles: strongly connected parts are found (Tarjan), and within each the lightest edges give way.

Within a part the heaviest pairs of nodes are taken first, and a pair that would close a cycle with those is removed. So
the rest never has a cycle, however long the cycles were, and no removed pair could be put back.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from heapq import heapify, heappop, heappush

from custody.graph.book import Book, TopologicalOrder
from custody.graph.model import Edge

Arcs = Mapping[str, Iterable[str]]


@dataclass(frozen=True, slots=True)
class Dag:
    """Nodes in an order in which every edge goes forwards; what stays, and what was removed because of a cycle."""

    order: tuple[str, ...]
    edges: tuple[Edge, ...]
    removed: tuple[Edge, ...]


def dag_of(book: Book, nodes: Iterable[str] | None = None) -> Dag:
    """The graph of these nodes, or of all, without cycles."""
    wanted = set(book.nodes if nodes is None else nodes) & book.nodes.keys()
    arcs = {node: [other for other in sorted(book.after.get(node, ())) if other in wanted] for node in sorted(wanted)}
    removed: set[tuple[str, str]] = set()
    for part in strong_parts(arcs):
        if len(part) > 1:
            removed |= _removed(book, part, arcs)
    kept = {node: [other for other in others if (node, other) not in removed] for node, others in arcs.items()}
    pairs = [(node, other) for node, others in arcs.items() for other in others]
    return Dag(
        order=tuple(_sorted(kept)),
        edges=tuple(edge for pair in pairs if pair not in removed for edge in book.between(*pair)),
        removed=tuple(edge for pair in sorted(removed) for edge in book.between(*pair)),
    )


def strong_parts(arcs: Arcs) -> Iterator[set[str]]:
    """The strongly connected components (Tarjan, without recursion), in linear time."""
    walk = _TarjanWalk(arcs)
    for node in arcs:
        if node not in walk.numbers:
            yield from walk.parts_from(node)


class _TarjanWalk:
    """Tarjan's walk: when each node was entered, and the earliest that can be reached back from it."""

    def __init__(self, arcs: Arcs) -> None:
        self._arcs = arcs
        self.numbers: dict[str, int] = {}
        self._lows: dict[str, int] = {}
        self._open: list[str] = []
        self._is_open: set[str] = set()
        self._way: list[tuple[str, Iterator[str]]] = []

    def parts_from(self, root: str) -> Iterator[set[str]]:
        """The parts that are complete once everything that ``root`` reaches was walked."""
        self._enter(root)
        while self._way:
            node, others = self._way[-1]
            other = next(others, None)
            if other is None:
                self._way.pop()
                yield from self._leave(node)
            elif other not in self.numbers:
                self._enter(other)
            elif other in self._is_open:
                self._lows[node] = min(self._lows[node], self.numbers[other])

    def _enter(self, node: str) -> None:
        self.numbers[node] = self._lows[node] = len(self.numbers)
        self._open.append(node)
        self._is_open.add(node)
        self._way.append((node, iter(self._arcs.get(node, ()))))

    def _leave(self, node: str) -> Iterator[set[str]]:
        if self._way:
            above = self._way[-1][0]
            self._lows[above] = min(self._lows[above], self._lows[node])
        if self._lows[node] == self.numbers[node]:
            part: set[str] = set()
            while node not in part:
                part.add(self._open.pop())
            self._is_open -= part
            yield part


def _removed(book: Book, part: set[str], arcs: Arcs) -> set[tuple[str, str]]:
    """The pairs that close a cycle with heavier ones."""
    after: dict[str, set[str]] = {}
    before: dict[str, set[str]] = {}
    order = TopologicalOrder(lambda node: after.get(node, ()), lambda node: before.get(node, ()))
    removed = set()
    inside = ((start, end) for start in part for end in arcs[start] if end in part)
    for start, end in sorted(inside, key=lambda pair: _lightness(book, *pair)):
        if order.allows(start, end):
            after.setdefault(start, set()).add(end)
            before.setdefault(end, set()).add(start)
        else:
            removed.add((start, end))
    return removed


def _lightness(book: Book, text: str, other: str) -> tuple[float, int, str, str]:
    """The mean weight of a pair's edges decides, as in the document; then how often it was seen, then the names."""
    edges = book.between(text, other)
    mean = sum(edge.weight for edge in edges) / len(edges)
    return -mean, -sum(edge.count for edge in edges), text, other


def _sorted(arcs: Arcs) -> Iterator[str]:
    """An order in which every arc goes forwards; of those that may come next, the smallest name."""
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
