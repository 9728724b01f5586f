"""The counts of all edges, in columns. Only this file defines an edge's weight and its promotion.

An edge is a row, known by its number. Columns take a few bytes per edge, objects would take hundreds.
"""

from array import array
from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol

from custody.graph.lessons import EdgeCounts, merge_edge_witnesses
from custody.graph.model import Edge, EdgeKey, EdgeSource, EdgeType, Node, Witness
from custody.graph.rules import GraphRules

_TYPES = tuple(EdgeType)
_SOURCES = tuple(EdgeSource)
_OF_TYPE = {kind: place for place, kind in enumerate(_TYPES)}
_OF_SOURCE = {source: place for place, source in enumerate(_SOURCES)}
CLASSES = tuple((kind, source) for kind in _TYPES for source in _SOURCES)
"""Every pair of type and source. Edges store their position in this tuple, called a look."""
_MOST = 2**63 - 1
_UNKNOWN = -(2**63)
"""Stands for an unknown time."""


class EdgeTable:
    """Rows of edges: ``look`` is type and source; ``best``, on a pair's first edge, is the look of the heaviest."""

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
        """Add a row for an edge that was not observed yet; return its number."""
        look = find_edge_class(kind, source)
        self.look.append(look)
        self.best.append(look)
        for column in (self._count, self._executions, self._successes, self._failures):
            column.append(0)
        for column in (self._first, self._last):
            column.append(_UNKNOWN)
        return len(self.look) - 1

    def join(self, head: int, row: int) -> None:
        """Add ``row`` to the pair of nodes whose first edge is ``head``."""
        if head in self._more:
            self._more[row] = self._more[head]
        self._more[head] = row

    def pair(self, head: int) -> Iterator[int]:
        """Yield all edges of a pair of nodes, from its first on."""
        row: int | None = head
        while row is not None:
            yield row
            row = self._more.get(row)

    def type(self, row: int) -> EdgeType:
        """Return the type of an edge."""
        return CLASSES[self.look[row]][0]

    def source(self, row: int) -> EdgeSource:
        """Return the source of an edge."""
        return CLASSES[self.look[row]][1]

    def count(self, row: int) -> int:
        """Return how often an edge was observed."""
        return self._count[row]

    def add(self, row: int, counts: EdgeCounts, rules: GraphRules) -> bool:
        """Add the counts of one execution; return whether that promotes the edge."""
        self._count[row] += counts.count
        self._executions[row] += 1
        self._successes[row] += counts.successes
        self._failures[row] += counts.failures
        if counts.first_ns is not None:
            first = clamp_edge_time(counts.first_ns)
            self._first[row] = first if self._first[row] == _UNKNOWN else min(self._first[row], first)
        if counts.last_ns is not None:
            self._last[row] = max(self._last[row], clamp_edge_time(counts.last_ns))
        if counts.evidence:
            self._evidence[row] = merge_edge_witnesses(self._evidence.get(row, ()), counts.evidence)
        source = source_from_counts(self._count[row], self._executions[row], rules)
        before = self.look[row]
        self.look[row] = min(before, find_edge_class(self.type(row), source))
        return self.look[row] != before

    def edge(self, row: int, key: EdgeKey, weight: float, *, aside: bool) -> Edge:
        """Return an edge with all its counts."""
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
            _edge_time_or_none(self._first[row]),
            _edge_time_or_none(self._last[row]),
            self._evidence.get(row, ()),
            aside,
        )

    def set(self, row: int, edge: Edge) -> None:
        """Set a row to a stored edge."""
        self.look[row] = find_edge_class(edge.type, edge.source)
        self._count[row] = edge.count
        self._executions[row] = edge.executions
        self._successes[row] = edge.successes
        self._failures[row] = edge.failures
        self._first[row] = _UNKNOWN if edge.first_ns is None else clamp_edge_time(edge.first_ns)
        self._last[row] = _UNKNOWN if edge.last_ns is None else clamp_edge_time(edge.last_ns)
        if edge.evidence:
            self._evidence[row] = edge.evidence


def find_edge_class(kind: EdgeType, source: EdgeSource) -> int:
    """Return the position of a type and source in ``CLASSES``; within a type, a smaller one is better observed."""
    return _OF_TYPE[kind] * len(_SOURCES) + _OF_SOURCE[source]


def source_from_counts(count: int, executions: int, rules: GraphRules) -> EdgeSource:
    """Return whether an edge was observed often enough to be more than inferred."""
    reached = executions if rules.promote_by == "executions" else count
    return EdgeSource.OBSERVED if reached >= rules.promote_count_min else EdgeSource.INFERRED


def compute_edge_weight(kind: EdgeType, source: EdgeSource, rules: GraphRules) -> float:
    """Return the weight of an edge: the weight of its type times the factor of its source."""
    return rules.type_weights[kind.value] * rules.source_weights[source.value]


def clamp_edge_time(at_ns: int) -> int:
    """Return the nearest time that a column can hold."""
    return max(-_MOST, min(at_ns, _MOST))


def _edge_time_or_none(time_ns: int) -> int | None:
    return None if time_ns == _UNKNOWN else time_ns


# The storage of a graph between two runs, as the engine needs it.


class EdgeStorage(Protocol):
    """Stores a graph: a table of nodes and one of edges, with indexes on type, on source and on both."""

    def nodes(self) -> Iterable[Node]:
        """Return every node."""

    def edges(self) -> Iterable[Edge]:
        """Return every edge, including those set aside."""

    def put(self, nodes: Sequence[Node], edges: Sequence[Edge]) -> None:
        """Store these, all or none; each replaces the stored one with its key."""
