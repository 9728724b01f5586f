"""The learnt graph: counts of nodes and edges that lessons are added to, by dict of dict.

Adding an observation to an edge that is there takes the same time however large the graph is.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from custody.graph.acyclic import NeighborLookup, TopologicalOrder
from custody.graph.lessons import Lesson, NodeCounts
from custody.graph.model import ACYCLIC, Edge, EdgeKey, EdgeSource, EdgeType, Kind, Node
from custody.graph.rules import GraphRules
from custody.graph.shelf import EdgeRow, NodeRow
from custody.graph.table import CLASSES, Counts, EdgeTable, weight_of


@dataclass(slots=True)
class Cell:
    """The counts of one node; its name is the one text that every edge to it uses."""

    name: str
    kind: Kind
    count: int = 0
    failures: int = 0
    repeats: int = 0
    recursions: int = 0


@dataclass(frozen=True, slots=True)
class LessonEffect:
    """What a lesson did: the edges it touched, those it promoted, and those it would have closed a cycle with."""

    touched: tuple[EdgeKey, ...]
    promoted: tuple[EdgeKey, ...]
    aside: tuple[EdgeKey, ...]


class Book:
    """Nodes, edges both ways, and how far each kind of edge may go without closing a cycle."""

    def __init__(self, rules: GraphRules) -> None:
        self.rules = rules
        self.nodes: dict[str, Cell] = {}
        self.table = EdgeTable()
        self.after: dict[str, dict[str, int]] = {}
        """The row of the first edge of each pair, by start and end."""
        self.before: dict[str, dict[str, int]] = {}
        """The same, by end and start."""
        self.aside: dict[EdgeKey, int] = {}
        self.edge_count = 0
        self.version = 0
        """Grows with every change: what was derived from an older version is out of date."""
        self._orders = {
            kind: TopologicalOrder(self._arcs(self.after, kind), self._arcs(self.before, kind)) for kind in ACYCLIC
        }
        self._weights = [weight_of(kind, source, rules) for kind, source in CLASSES]
        self._changed_nodes: dict[str, None] = {}
        self._changed_edges: dict[EdgeKey, None] = {}

    def add(self, lesson: Lesson) -> LessonEffect:
        """Count a lesson in; its edges in order of their keys, so that its own order does not matter."""
        self.version += 1
        for name, called in lesson.nodes.items():
            self._count(name, called)
        keys = sorted(lesson.edges, key=_as_key)
        promoted = []
        for key in keys:
            if self.table.add(self._row(key, EdgeSource.INFERRED), lesson.edges[key], self.rules):
                promoted.append(key)
                self._weigh(key)
            self._changed_edges[key] = None
        return LessonEffect(tuple(keys), tuple(promoted), tuple(key for key in keys if key in self.aside))

    def foresee(self, key: EdgeKey) -> bool:
        """Put an edge of a template, unless it is there; False if it would close a cycle."""
        start, end, _ = key
        if start == end:
            return False
        self.version += 1
        for name in (start, end):
            self._count(name, NodeCounts(kind_of(name)))
        self._row(key, EdgeSource.TEMPLATE)
        self._changed_edges[key] = None
        return key not in self.aside

    def row(self, key: EdgeKey) -> int | None:
        """The counts of an edge that is part of the graph."""
        start, end, kind = key
        head = self.after.get(start, {}).get(end)
        rows = () if head is None else self.table.pair(head)
        return next((row for row in rows if self.table.type(row) is kind), None)

    def edge(self, start: str, end: str, row: int) -> Edge:
        """An edge as a value."""
        table, counts = self.table, self.table.counts(row)
        return Edge(
            start,
            end,
            table.type(row),
            table.source(row),
            self._weights[table.look[row]],
            counts.count,
            counts.executions,
            counts.successes,
            counts.failures,
            counts.first_ns,
            counts.last_ns,
            counts.evidence,
        )

    def between(self, start: str, end: str) -> list[Edge]:
        """Every edge of a pair of nodes, the heaviest first; dependency before contains before sequence."""
        head = self.after.get(start, {}).get(end)
        rows = [] if head is None else sorted(self.table.pair(head), key=self._lightness)
        return [self.edge(start, end, row) for row in rows]

    def heaviest(self, text: str, other: str) -> Edge | None:
        """The heaviest edge between two nodes, in either direction; from ``one`` where both are equal."""
        heads = [(ends, self.after.get(ends[0], {}).get(ends[1])) for ends in ((text, other), (other, text))]
        rows = [(ends, row) for ends, head in heads if head is not None for row in self.table.pair(head)]
        if not rows:
            return None
        (start, end), row = min(rows, key=lambda found: self._lightness(found[1])[0])
        return self.edge(start, end, row)

    def edges(self) -> Iterator[Edge]:
        """Every edge of the graph, by start, end and type."""
        for start in sorted(self.after):
            for end in sorted(self.after[start]):
                rows = sorted(self.table.pair(self.after[start][end]), key=self.table.look.__getitem__)
                yield from (self.edge(start, end, row) for row in rows)

    def node(self, name: str) -> Node | None:
        """A node as a value."""
        called = self.nodes.get(name)
        if called is None:
            return None
        return Node(name, called.kind, called.count, called.failures, called.repeats, called.recursions)

    def weights(self) -> list[float]:
        """The weight of each pair of type and source, in the order of ``CLASSES``."""
        return list(self._weights)

    def changed(self) -> tuple[list[NodeRow], list[EdgeRow]]:
        """Rows of all that changed since ``settled``, by key."""
        nodes = [self._node_row(name) for name in sorted(self._changed_nodes)]
        return nodes, [self._edge_row(key) for key in sorted(self._changed_edges, key=_as_key)]

    def settled(self) -> None:
        """Take everything as kept."""
        self._changed_nodes.clear()
        self._changed_edges.clear()

    def load(self, nodes: Iterable[NodeRow], edges: Iterable[EdgeRow]) -> list[EdgeRow]:
        """Take over rows as they are; those that cannot be read are given back."""
        self.version += 1
        for node in nodes:
            kind = next((member for member in Kind if member.value == node.kind), kind_of(node.name))
            self.nodes[node.name] = Cell(node.name, kind, node.count, node.failures, node.repeats, node.recursions)
        refused = []
        for edge in edges:
            if edge.type is None or edge.source is None or edge.start == edge.end:
                refused.append(edge)
            else:
                self._take(edge, (edge.start, edge.end, edge.type), edge.source)
        return refused

    def _take(self, told: EdgeRow, key: EdgeKey, source: EdgeSource) -> None:
        for name in key[:2]:
            self.nodes.setdefault(name, Cell(name, kind_of(name)))
        row = self._row(key, source, aside=told.aside)
        counts = Counts(
            told.count,
            told.executions,
            told.successes,
            told.failures,
            told.first_ns,
            told.last_ns,
            told.evidence,
        )
        self.table.set(row, source, counts)
        self._weigh(key)

    def _count(self, name: str, called: NodeCounts) -> None:
        mine = self.nodes.setdefault(name, Cell(name, called.kind))
        mine.count += called.count
        mine.failures += called.failures
        mine.repeats += called.repeats
        mine.recursions += called.recursions
        self._changed_nodes[name] = None

    def _row(self, key: EdgeKey, source: EdgeSource, *, aside: bool = False) -> int:
        """The row of an edge, a new one if need be: in the graph, or aside where a cycle would close."""
        row = self.row(key)
        if row is None:
            row = self.aside.get(key)
        if row is not None:
            return row
        # One text for each name, however many edges a node has.
        start, end, kind = self.nodes[key[0]].name, self.nodes[key[1]].name, key[2]
        row = self.table.new(kind, source)
        if aside or (kind in self._orders and not self._orders[kind].allows(start, end)):
            self.aside[start, end, kind] = row
            return row
        self.edge_count += 1
        head = self.after.setdefault(start, {}).setdefault(end, row)
        self.before.setdefault(end, {}).setdefault(start, row)
        if head != row:
            self.table.join(head, row)
            self._weigh(key)
        return row

    def _weigh(self, key: EdgeKey) -> None:
        """Say anew which edge of a pair is the heaviest."""
        head = self.after.get(key[0], {}).get(key[1])
        if head is not None:
            self.table.best[head] = self.table.look[min(self.table.pair(head), key=self._lightness)]

    def _lightness(self, row: int) -> tuple[float, int]:
        look = self.table.look[row]
        return -self._weights[look], look

    def _arcs(self, edges: Mapping[str, Mapping[str, int]], kind: EdgeType) -> NeighborLookup:
        def around(node: str) -> Iterator[str]:
            types, pair = self.table.type, self.table.pair
            return (
                other for other, head in edges.get(node, {}).items() if any(types(row) is kind for row in pair(head))
            )

        return around

    def _node_row(self, name: str) -> NodeRow:
        called = self.nodes[name]
        return NodeRow(
            name=name,
            kind=called.kind.value,
            count=called.count,
            failures=called.failures,
            repeats=called.repeats,
            recursions=called.recursions,
        )

    def _edge_row(self, key: EdgeKey) -> EdgeRow:
        row = self.aside.get(key, self.row(key))
        assert row is not None, "what changed is there"
        counts = self.table.counts(row)
        return EdgeRow(
            start=key[0],
            end=key[1],
            edge_type=key[2].value,
            edge_source=self.table.source(row).value,
            count=counts.count,
            executions=counts.executions,
            successes=counts.successes,
            failures=counts.failures,
            first_ns=counts.first_ns,
            last_ns=counts.last_ns,
            evidence=counts.evidence,
            aside=key in self.aside,
        )


def kind_of(node: str) -> Kind:
    """The kind that a node's name tells.

    >>> [kind_of(node).value for node in ("capability:cap1", "filesystem:read_file", "turn")]
    ['capability', 'tool', 'turn']
    """
    word = node.partition(":")[0]
    return next((kind for kind in Kind if kind.value == word), Kind.TOOL)


def _as_key(key: EdgeKey) -> tuple[str, str, str]:
    return key[0], key[1], key[2].value
