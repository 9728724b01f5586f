"""The cheapest path between two nodes, searched from both ends at once (Dijkstra).

Costs are whole numbers inside, so that paths of equal cost are equal in any order of addition. Nodes of equal distance
are settled together, as rings; predecessors are looked up only along the resulting path. Of several cheapest paths the
result is always the same one: rings do not depend on any order, and every step back takes the smallest name. Edges of
one pair of nodes count as the heaviest of them.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from heapq import heappop, heappush
from itertools import pairwise
from types import MappingProxyType
from typing import Literal, Protocol

from msgspec import Struct

from custody.graph.book import Book
from custody.graph.model import Edge

Cost = Literal["document", "reliability", "surprisal"]
"""1 / weight; −ln weight plus a cost per step; −ln of the probability of this next call plus a cost per step."""

WEIGHT_MIN = 0.1
"""A lighter edge costs as much as one of this weight."""
STEP_COST = 0.1
"""Added per step to logarithmic costs, so that no step is free."""
TEMPLATE_COUNT = 0.5
"""Observations that an unobserved edge of a template counts for, so that its probability is not 0."""
_UNIT = 1 << 32
"""The integer cost that stands for a cost of 1."""


class GraphPath(Struct, frozen=True):
    """A path: its edges in order, each with evidence, and its cost. A path to its own start has no edges."""

    nodes: tuple[str, ...]
    edges: tuple[Edge, ...]
    cost: float


class _Prices(Protocol):
    """The costs of edges, as integers."""

    def price_edge(self, start: str, row: int) -> int:
        """Return the cost of an edge that leaves ``start``."""

    def spread(self, side: "_Side", names: Iterable[str], distance: int) -> list[tuple[int, list[str]]]:
        """Return the neighbors of ``names`` by distance; a neighbor may be listed more than once."""


def find_cheapest_path(book: Book, start: str, end: str, cost: Cost = "document") -> GraphPath | None:
    """Return the cheapest path; None if there is none, or if a node is unknown."""
    if start not in book.nodes or end not in book.nodes:
        return None
    if start == end:
        return GraphPath((start,), (), 0.0)
    prices = _Surprise(book) if cost == "surprisal" else _StyleCosts(book, _COSTS[cost])
    nodes = _search_cheapest_path(book, start, end, prices)
    return None if nodes is None else _make_graph_path(book, nodes, prices)


def compute_document_edge_cost(weight: float) -> float:
    """Return the document's cost for an edge of this weight.

    >>> compute_document_edge_cost(0.8), compute_document_edge_cost(0.01)
    (1.25, 10.0)
    """
    return 1 / max(weight, WEIGHT_MIN)


def compute_reliability_edge_cost(weight: float) -> float:
    """Return the logarithmic cost for an edge of this weight, so that the weights of a path multiply.

    >>> round(compute_reliability_edge_cost(0.5), 4)
    0.7931
    """
    return STEP_COST - math.log(max(weight, WEIGHT_MIN))


_COSTS = MappingProxyType({"document": compute_document_edge_cost, "reliability": compute_reliability_edge_cost})


class _StyleCosts:
    """Costs that depend only on type and source."""

    def __init__(self, book: Book, cost: Callable[[float], float]) -> None:
        self._prices = [round(_UNIT * cost(weight)) for weight in book.weights()]
        self._best = book.table.best

    def price_edge(self, _: str, row: int) -> int:
        return self._prices[self._best[row]]

    def spread(self, side: "_Side", names: Iterable[str], distance: int) -> list[tuple[int, list[str]]]:
        # One list per look: the only work per edge is to append.
        reached: list[list[str]] = [[] for _ in self._prices]
        around, best = side.around, self._best
        for name in names:
            for other, row in around.get(name, _NO_NEIGHBORS).items():
                reached[best[row]].append(other)
        return [(distance + price, others) for price, others in zip(self._prices, reached, strict=True) if others]


class _Surprise:
    """−ln of an edge's share of all observations that leave its start; each start is added up once, on first use."""

    def __init__(self, book: Book) -> None:
        self._book = book
        self._totals: dict[str, float] = {}

    def price_edge(self, start: str, row: int) -> int:
        if start not in self._totals:
            rows = self._book.after[start].values()
            self._totals[start] = math.fsum(self._count_pair(edge_row) for edge_row in rows)
        return round(_UNIT * (STEP_COST - math.log(self._count_pair(row) / self._totals[start])))

    def _count_pair(self, row: int) -> float:
        table = self._book.table
        return max((table.count(number) or TEMPLATE_COUNT) for number in table.pair(row))

    def spread(self, side: "_Side", names: Iterable[str], distance: int) -> list[tuple[int, list[str]]]:
        reached: dict[int, list[str]] = {}
        for name in names:
            for other, row in side.around.get(name, _NO_NEIGHBORS).items():
                price = self.price_edge(name, row) if side.ahead else self.price_edge(other, row)
                reached.setdefault(distance + price, []).append(other)
        return list(reached.items())


_NO_NEIGHBORS: Mapping[str, int] = MappingProxyType({})


class _Side:
    """One of the two searches: the distance of each settled node, and the waiting rings."""

    def __init__(self, origin: str, book: Book, *, ahead: bool) -> None:
        self.around, self._back = (book.after, book.before) if ahead else (book.before, book.after)
        self.ahead = ahead
        self.settled: dict[str, int] = {}
        self._rings: dict[int, list[list[str]]] = {0: [[origin]]}
        self._distances = [0]

    def next(self) -> int | None:
        """Return the distance of the next ring; None when there is none."""
        return self._distances[0] if self._distances else None

    def wait(self, distance: int, names: list[str]) -> None:
        """Add names that were reached at a distance; names that are already nearer do no harm."""
        ring = self._rings.get(distance)
        if ring is None:
            self._rings[distance] = [names]
            heappush(self._distances, distance)
        else:
            ring.append(names)

    def settle(self) -> tuple[int, set[str]]:
        """Settle the next ring: all its nodes that are not nearer already."""
        distance = heappop(self._distances)
        fresh = set[str]().union(*self._rings.pop(distance)).difference(self.settled)
        self.settled.update(dict.fromkeys(fresh, distance))
        return distance, fresh

    def trace_path(self, name: str, distance: int, prices: _Prices) -> Iterator[str]:
        """Yield the nodes from one at this distance back to the origin, at every step over the smallest name."""
        yield name
        while distance:
            below = (
                (other, self.settled[other])
                for other, row in self._back[name].items()
                if other in self.settled
                and self.settled[other] + prices.price_edge(other if self.ahead else name, row) == distance
            )
            name, distance = min(below)
            yield name


class _MeetingPoint(Struct, frozen=True, order=True):
    """Where both searches met: the cost of the whole path, the node, and its distance from the start."""

    total: int
    name: str
    ahead: int


def _search_cheapest_path(book: Book, start: str, end: str, prices: _Prices) -> list[str] | None:
    ahead, back = _Side(start, book, ahead=True), _Side(end, book, ahead=False)
    best: _MeetingPoint | None = None
    while (ahead_next := ahead.next()) is not None and (back_next := back.next()) is not None:
        # Any other path costs at least the sum of both next rings.
        if best is not None and ahead_next + back_next >= best.total:
            break
        # The smaller search grows, which keeps the total number of settled nodes small.
        side, facing = (ahead, back) if len(ahead.settled) <= len(back.settled) else (back, ahead)
        best = _grow_path_search(side, facing, prices, best)
    if best is None:
        return None
    to_start = [*ahead.trace_path(best.name, best.ahead, prices)]
    _, *to_end = back.trace_path(best.name, best.total - best.ahead, prices)
    return [*reversed(to_start), *to_end]


def _grow_path_search(side: _Side, facing: _Side, prices: _Prices, best: _MeetingPoint | None) -> _MeetingPoint | None:
    """Settle one ring and expand it; ``best`` is the cheapest meeting so far, the smallest name if equal."""
    distance, fresh = side.settle()
    settled = facing.settled
    near = facing.next() or 0
    for far, names in prices.spread(side, fresh, distance):
        if not settled.keys().isdisjoint(names):
            for name in settled.keys() & set(names):
                meeting = _MeetingPoint(far + settled[name], name, far if side.ahead else settled[name])
                best = meeting if best is None else min(best, meeting)
        # A node that the other side has not settled is at least as far from there as its next ring.
        if best is None or far + near < best.total:
            side.wait(far, names)
    return best


def _make_graph_path(book: Book, nodes: list[str], prices: _Prices) -> GraphPath:
    pairs = [*pairwise(nodes)]
    total = sum(prices.price_edge(before, book.after[before][after]) for before, after in pairs)
    return GraphPath(tuple(nodes), tuple(book.list_edges_between(*pair)[0] for pair in pairs), total / _UNIT)
