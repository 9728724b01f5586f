"""The counts of all edges, in columns. This file is the only one that says what an edge weighs and when it is promoted.

An edge is known here by its row, a number. Columns take a few bytes for each edge, where objects would take hundreds.
"""

from array import array
from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol

from custody.graph.lessons import EdgeCounts, newest
from custody.graph.model import Edge, EdgeKey, EdgeSource, EdgeType, Node, Witness
from custody.graph.rules import GraphRules

_TYPES = tuple(EdgeType)
_SOURCES = tuple(EdgeSource)
_OF_TYPE = {kind: place for place, kind in enumerate(_TYPES)}
_OF_SOURCE = {source: place for place, source in enumerate(_SOURCES)}
CLASSES = tuple((kind, source) for kind in _TYPES for source in _SOURCES)
"""Every pair of type and source; a *look* is a place in here."""
_MOST = 2**63 - 1
_UNKNOWN = -(2**63)
"""Stands for a time that nobody told."""


class EdgeTable:
    """Rows of edges: ``look`` is type and source; ``best``, at a pair's first edge, is the look of the heaviest."""

    def __init__(self) -> None:
        self.look = bytearray()
        self.best = bytearray()
        self._count = array("q")
        self._executions = array("q")
        self._successes = array("q")
        self._failures = array("q")
        self._first = array("q")
        self._last = array("q")
        self._evidence: dict[int, tuple[Witness, ...]] = {}
        self._more: dict[int, int] = {}

    def new(self, kind: EdgeType, source: EdgeSource) -> int:
        """A row for an edge that nobody has seen."""
        look = look_of(kind, source)
        self.look.append(look)
        self.best.append(look)
        for column in (self._count, self._executions, self._successes, self._failures):
            column.append(0)
        for column in (self._first, self._last):
            column.append(_UNKNOWN)
        return len(self.look) - 1

    def join(self, head: int, row: int) -> None:
        """Say that ``row`` is of the same pair of nodes as ``head``, the first edge of that pair."""
        if head in self._more:
            self._more[row] = self._more[head]
        self._more[head] = row

    def pair(self, head: int) -> Iterator[int]:
        """All edges of a pair of nodes, from its first on."""
        row: int | None = head
        while row is not None:
            yield row
            row = self._more.get(row)

    def type(self, row: int) -> EdgeType:
        """The type of an edge."""
        return CLASSES[self.look[row]][0]

    def source(self, row: int) -> EdgeSource:
        """How an edge is known."""
        return CLASSES[self.look[row]][1]

    def count(self, row: int) -> int:
        """How often an edge was seen."""
        return self._count[row]

    def add(self, row: int, seen: EdgeCounts, rules: GraphRules) -> bool:
        """Count what one execution saw; True if that promotes the edge."""
        self._count[row] += seen.count
        self._executions[row] += 1
        self._successes[row] += seen.successes
        self._failures[row] += seen.failures
        if seen.first_ns is not None:
            first = _fit(seen.first_ns)
            self._first[row] = first if self._first[row] == _UNKNOWN else min(self._first[row], first)
        if seen.last_ns is not None:
            self._last[row] = max(self._last[row], _fit(seen.last_ns))
        if seen.evidence:
            self._evidence[row] = newest(self._evidence.get(row, ()), seen.evidence)
        reached = (self._executions if rules.promote_by == "executions" else self._count)[row]
        earned = EdgeSource.OBSERVED if reached >= rules.promote_count_min else EdgeSource.INFERRED
        before = self.look[row]
        self.look[row] = min(before, look_of(self.type(row), earned))
        return self.look[row] != before

    def edge(self, row: int, key: EdgeKey, weight: float, *, aside: bool) -> Edge:
        """Return an edge with everything that was counted."""
        start, end, kind = key
        return Edge(
            start,
            end,
            kind,
            self.source(row),
            weight,
            self._count[row],
            self._executions[row],
            self._successes[row],
            self._failures[row],
            _time(self._first[row]),
            _time(self._last[row]),
            self._evidence.get(row, ()),
            aside,
        )

    def set(self, row: int, edge: Edge) -> None:
        """Take an edge as it was stored."""
        self.look[row] = look_of(edge.type, edge.source)
        self._count[row] = edge.count
        self._executions[row] = edge.executions
        self._successes[row] = edge.successes
        self._failures[row] = edge.failures
        self._first[row] = _UNKNOWN if edge.first_ns is None else _fit(edge.first_ns)
        self._last[row] = _UNKNOWN if edge.last_ns is None else _fit(edge.last_ns)
        if edge.evidence:
            self._evidence[row] = edge.evidence


def look_of(kind: EdgeType, source: EdgeSource) -> int:
    """The place of a type and a source among all; of one type, the smaller the more was seen."""
    return _OF_TYPE[kind] * len(_SOURCES) + _OF_SOURCE[source]


def weight_of(kind: EdgeType, source: EdgeSource, rules: GraphRules) -> float:
    """What an edge weighs: by its type, times by how it is known."""
    return rules.type_weights[kind.value] * rules.source_weights[source.value]


def _fit(at_ns: int) -> int:
    """A time that a column can hold: clocks of other planets are cut off."""
    return max(-_MOST, min(at_ns, _MOST))


def _time(kept: int) -> int | None:
    return None if kept == _UNKNOWN else kept


# What the engine needs of whoever stores a graph between two runs.


class EdgeShelf(Protocol):
    """Where a graph is stored: a table of nodes and one of edges, with indexes on type, on source and on both."""

    def nodes(self) -> Iterable[Node]:
        """Every node."""

    def edges(self) -> Iterable[Edge]:
        """Every edge, those that were set aside too."""

    def put(self, nodes: Sequence[Node], edges: Sequence[Edge]) -> None:
        """Store these, all or none, each instead of the one with the same key."""
