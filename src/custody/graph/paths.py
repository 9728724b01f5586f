"""The cheapest way from one node to another, searched from both ends at once (Dijkstra).

Costs are whole numbers inside, so that ways of equal cost are equal whatever the order of adding. Nodes of equal
distance are settled together, as rings; who was reached over whom is only asked for along the way that was found. Of
several ways of least cost the answer is always the same one: rings do not depend on the order of anything, and at every
step back the smallest name is taken. Edges of one pair of nodes count as the heaviest of them.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import pairwise
from types import MappingProxyType
from typing import Literal, Protocol

from custody.graph.book import Book
from custody.graph.model import Edge

Cost = Literal["document", "reliability", "surprisal"]
"""1 / weight; −ln weight and a cost per step; −ln of the chance that this call comes next, and a cost per step."""

WEIGHT_MIN = 0.1
"""A lighter edge costs as much as one of this weight."""
STEP_COST = 0.1
"""What every step adds to a cost that is a logarithm, so that no step is free."""
TEMPLATE_COUNT = 0.5
"""Observations that an unseen edge of a template counts for, so that its chance is not 0."""
_FINE = 1 << 32
"""How many parts a cost of 1 has."""


@dataclass(frozen=True, slots=True)
class GraphPath:
    """A way: its edges in order, each with what shows it, and its cost. A way to where one is has no edges."""

    nodes: tuple[str, ...]
    edges: tuple[Edge, ...]
    cost: float


class _Prices(Protocol):
    """What edges cost, in fine parts."""

    def of(self, start: str, row: int) -> int:
        """What an edge costs that leaves ``start``."""

    def spread(self, side: "_Side", names: Iterable[str], distance: int) -> list[tuple[int, list[str]]]:
        """Who is next to ``names``, by distance; somebody may be in several lists, or several times in one."""


def shortest_path(book: Book, start: str, end: str, cost: Cost = "document") -> GraphPath | None:
    """The cheapest way; None where there is none, or where a node is not known."""
    if start not in book.nodes or end not in book.nodes:
        return None
    if start == end:
        return GraphPath((start,), (), 0.0)
    prices = _Surprise(book) if cost == "surprisal" else _StyleCosts(book, _COSTS[cost])
    nodes = _search(book, start, end, prices)
    return None if nodes is None else _make_path(book, nodes, prices)


def document_cost(weight: float) -> float:
    """What an edge of this weight costs by the document.

    >>> document_cost(0.8), document_cost(0.01)
    (1.25, 10.0)
    """
    return 1 / max(weight, WEIGHT_MIN)


def reliability_cost(weight: float) -> float:
    """What an edge of this weight costs as a logarithm, so that the weights of a way multiply.

    >>> round(reliability_cost(0.5), 4)
    0.7931
    """
    return STEP_COST - math.log(max(weight, WEIGHT_MIN))


_COSTS = MappingProxyType({"document": document_cost, "reliability": reliability_cost})


class _StyleCosts:
    """Costs that follow from type and source alone."""

    def __init__(self, book: Book, cost: Callable[[float], float]) -> None:
        self._prices = [round(_FINE * cost(weight)) for weight in book.weights()]
        self._best = book.table.best

    def of(self, _: str, row: int) -> int:
        return self._prices[self._best[row]]

    def spread(self, side: "_Side", names: Iterable[str], distance: int) -> list[tuple[int, list[str]]]:
        # One list for each look: all that is done for an edge is to append.
        reached: list[list[str]] = [[] for _ in self._prices]
        around, best = side.around, self._best
        for name in names:
            for other, row in around.get(name, _NOBODY).items():
                reached[best[row]].append(other)
        return [(distance + price, others) for price, others in zip(self._prices, reached, strict=True) if others]


class _Surprise:
    """−ln of an edge's share of all that was seen to leave its start; each start is added up once, when first met."""

    def __init__(self, book: Book) -> None:
        self._book = book
        self._totals: dict[str, float] = {}

    def of(self, start: str, row: int) -> int:
        if start not in self._totals:
            self._totals[start] = math.fsum(self._seen(edge_row) for edge_row in self._book.after[start].values())
        return round(_FINE * (STEP_COST - math.log(self._seen(row) / self._totals[start])))

    def _seen(self, row: int) -> float:
        table = self._book.table
        return max((table.count(number) or TEMPLATE_COUNT) for number in table.pair(row))

    def spread(self, side: "_Side", names: Iterable[str], distance: int) -> list[tuple[int, list[str]]]:
        reached: dict[int, list[str]] = {}
        for name in names:
            for other, row in side.around.get(name, _NOBODY).items():
                price = self.of(name, row) if side.ahead else self.of(other, row)
                reached.setdefault(distance + price, []).append(other)
        return list(reached.items())


_NOBODY: Mapping[str, int] = MappingProxyType({})


class _Side:
    """One of the two searches: how far each settled node is, and the rings that wait."""

    def __init__(self, origin: str, book: Book, *, ahead: bool) -> None:
        self.around, self._back = (book.after, book.before) if ahead else (book.before, book.after)
        self.ahead = ahead
        self.settled: dict[str, int] = {}
        self._rings: dict[int, list[list[str]]] = {0: [[origin]]}
        self._distances = [0]

    def next(self) -> int | None:
        """The distance of the next ring; None when there is none."""
        return self._distances[0] if self._distances else None

    def wait(self, distance: int, names: list[str]) -> None:
        """Put names that were reached at a distance; those that are nearer already do no harm."""
        ring = self._rings.get(distance)
        if ring is None:
            self._rings[distance] = [names]
            heappush(self._distances, distance)
        else:
            ring.append(names)

    def settle(self) -> tuple[int, set[str]]:
        """Take the next ring: whoever is in it and was not nearer."""
        distance = heappop(self._distances)
        fresh = set[str]().union(*self._rings.pop(distance)).difference(self.settled)
        self.settled.update(dict.fromkeys(fresh, distance))
        return distance, fresh

    def way(self, name: str, distance: int, prices: _Prices) -> Iterator[str]:
        """From a node at this distance back to the origin: at every step over the smallest name."""
        yield name
        while distance:
            below = (
                (other, self.settled[other])
                for other, row in self._back[name].items()
                if other in self.settled
                and self.settled[other] + prices.of(other if self.ahead else name, row) == distance
            )
            name, distance = min(below)
            yield name


@dataclass(frozen=True, slots=True, order=True)
class _MeetingPoint:
    """Where both searches met: the cost of the whole way, the node, and how far it is from the start."""

    total: int
    name: str
    ahead: int


def _search(book: Book, start: str, end: str, prices: _Prices) -> list[str] | None:
    ahead, back = _Side(start, book, ahead=True), _Side(end, book, ahead=False)
    best: _MeetingPoint | None = None
    while (number := ahead.next()) is not None and (other := back.next()) is not None:
        # No way that is still to be found can be cheaper than both next rings together.
        if best is not None and number + other >= best.total:
            break
        # The smaller ball grows: what matters is how many nodes are looked at in all.
        side, facing = (ahead, back) if len(ahead.settled) <= len(back.settled) else (back, ahead)
        best = _grow(side, facing, prices, best)
    if best is None:
        return None
    to_start = [*ahead.way(best.name, best.ahead, prices)]
    _, *to_end = back.way(best.name, best.total - best.ahead, prices)
    return [*reversed(to_start), *to_end]


def _grow(side: _Side, facing: _Side, prices: _Prices, best: _MeetingPoint | None) -> _MeetingPoint | None:
    """Settle one ring and reach from it; ``best`` is the cheapest meeting so far, of equal ones the smallest name."""
    distance, fresh = side.settle()
    met = facing.settled
    near = facing.next() or 0
    for far, names in prices.spread(side, fresh, distance):
        if not met.keys().isdisjoint(names):
            for name in met.keys() & set(names):
                meeting = _MeetingPoint(far + met[name], name, far if side.ahead else met[name])
                best = meeting if best is None else min(best, meeting)
        # Whoever the other side has not settled is at least as far from there as its next ring.
        if best is None or far + near < best.total:
            side.wait(far, names)
    return best


def _make_path(book: Book, nodes: list[str], prices: _Prices) -> GraphPath:
    pairs = [*pairwise(nodes)]
    total = sum(prices.of(before, book.after[before][after]) for before, after in pairs)
    return GraphPath(tuple(nodes), tuple(book.between(*pair)[0] for pair in pairs), total / _FINE)
