"""The learned graph: counts of nodes and edges that lessons are added to, as a dict of dicts.

Adding an observation to an existing edge takes constant time.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping

from msgspec import Struct
from msgspec.structs import replace

from custody.graph.lessons import Lesson
from custody.graph.model import ACYCLIC, Edge, EdgeKey, EdgeSource, EdgeType, Node, kind_from_node_name
from custody.graph.rules import GraphRules
from custody.graph.table import CLASSES, EdgeTable, compute_edge_weight

# A topological order that is maintained while arcs are added, so that an arc that would close a cycle is found at once.
# The algorithm of Pearce and Kelly (2007): adding an arc that points backward in the order reorders only the nodes
# between its ends that are reachable from its head or reach its tail, in O(d log d) where d is their number with their
# arcs. An arc that points forward, or to or from a node without other arcs, takes constant time.


NeighborLookup = Callable[[str], Iterable[str]]
"""Return the nodes next to a node, in one direction."""


class TopologicalOrder:
    """Nodes in an order in which every arc points forward; the caller stores the arcs.

    ``after`` and ``before`` return the nodes that a node has an arc to, and those that have an arc to it.
    """

    def __init__(self, after: NeighborLookup, before: NeighborLookup) -> None:
        self._after = after
        self._before = before
        self._rank: dict[str, int] = {}
        self._first = 0
        self._last = 0

    def allows(self, tail: str, head: str) -> bool:
        """Make room for a new arc and return True; return False and change nothing if it would close a cycle."""
        if tail == head:
            return False
        self._place(tail, head)
        return self._rank[tail] < self._rank[head] or self._reorder(tail, head)

    def _place(self, tail: str, head: str) -> None:
        """Place a new node where its first arc cannot point backward: a tail at the front, a head at the end."""
        if tail not in self._rank:
            self._first -= 1
            self._rank[tail] = self._first
        if head not in self._rank:
            self._last += 1
            self._rank[head] = self._last

    def _reorder(self, tail: str, head: str) -> bool:
        ranks = self._rank
        high = ranks[tail]
        # No node behind the tail reaches it, so the search stays between the two; meeting the tail means a cycle.
        reached = self._collect_reachable_nodes(head, self._after, lambda node: ranks[node] <= high)
        if tail in reached:
            return False
        low = ranks[head]
        reaching = self._collect_reachable_nodes(tail, self._before, lambda node: ranks[node] > low)
        moved = [*sorted(reaching, key=ranks.__getitem__), *sorted(reached, key=ranks.__getitem__)]
        ranks.update(zip(moved, sorted(ranks[node] for node in moved), strict=True))
        return True

    @staticmethod
    def _collect_reachable_nodes(start: str, neighbors: NeighborLookup, is_near: Callable[[str], bool]) -> set[str]:
        reached = {start}
        todo = [start]
        while todo:
            for node in neighbors(todo.pop()):
                if node not in reached and is_near(node):
                    reached.add(node)
                    todo.append(node)
        return reached


def find_cyclic_edges(keys: Iterable[EdgeKey]) -> set[EdgeKey]:
    """Return the edges that would close a cycle of their type if the edges are added in this order."""
    cyclic: set[EdgeKey] = set()
    arcs = {kind: _TypedArcs() for kind in ACYCLIC}
    for start, end, kind in keys:
        if not arcs[kind].add(start, end):
            cyclic.add((start, end, kind))
    return cyclic


class _TypedArcs:
    """Arcs of one type without a cycle."""

    def __init__(self) -> None:
        self._after: dict[str, list[str]] = {}
        self._before: dict[str, list[str]] = {}
        self._order = TopologicalOrder(lambda node: self._after.get(node, ()), lambda node: self._before.get(node, ()))

    def add(self, start: str, end: str) -> bool:
        """Add an arc; return False if it would close a cycle."""
        is_allowed = self._order.allows(start, end)
        if is_allowed:
            self._after.setdefault(start, []).append(end)
            self._before.setdefault(end, []).append(start)
        return is_allowed


class LessonEffect(Struct, frozen=True):
    """The effect of a lesson: the edges it touched, those it promoted, and those that would have closed a cycle."""

    touched: tuple[EdgeKey, ...]
    promoted: tuple[EdgeKey, ...]
    aside: tuple[EdgeKey, ...]


class Book:
    """Nodes, edges in both directions, and the order that finds cycles for each acyclic type."""

    def __init__(self, rules: GraphRules) -> None:
        self.rules = rules
        self.nodes: dict[str, Node] = {}
        """By name; every edge shares the string of its node's name."""
        self.table = EdgeTable()
        self.after: dict[str, dict[str, int]] = {}
        """The row of the first edge of each pair, by start and end."""
        self.before: dict[str, dict[str, int]] = {}
        """The same, by end and start."""
        self.aside: dict[EdgeKey, int] = {}
        self.version = 0
        """Grows with every change, so that values derived from an older version can be recognized."""
        self._orders = {
            kind: TopologicalOrder(self._arcs(self.after, kind), self._arcs(self.before, kind)) for kind in ACYCLIC
        }
        self._weights = [compute_edge_weight(kind, source, rules) for kind, source in CLASSES]
        self._changed_nodes: dict[str, None] = {}
        self._changed_edges: dict[EdgeKey, None] = {}

    def add(self, lesson: Lesson) -> LessonEffect:
        """Add the counts of a lesson; its edges are sorted by key, so that its own order does not matter."""
        self.version += 1
        for node in lesson.nodes.values():
            self._count(node)
        keys = sorted(lesson.edges, key=_edge_sort_key)
        promoted = []
        for key in keys:
            if self.table.add(self._row(key, EdgeSource.INFERRED), lesson.edges[key], self.rules):
                promoted.append(key)
                self._weigh(key)
            self._changed_edges[key] = None
        return LessonEffect(tuple(keys), tuple(promoted), tuple(key for key in keys if key in self.aside))

    def add_template_edge(self, key: EdgeKey) -> bool:
        """Add an edge of a template unless it exists; return False if it would close a cycle."""
        start, end, _ = key
        if start == end:
            return False
        self.version += 1
        for name in (start, end):
            self._count(Node(name, kind_from_node_name(name)))
        self._row(key, EdgeSource.TEMPLATE)
        self._changed_edges[key] = None
        return key not in self.aside

    def row(self, key: EdgeKey) -> int | None:
        """Return the row of an edge that is part of the graph."""
        start, end, kind = key
        head = self.after.get(start, {}).get(end)
        rows = () if head is None else self.table.pair(head)
        return next((row for row in rows if self.table.type(row) is kind), None)

    def edge(self, key: EdgeKey, row: int, *, aside: bool = False) -> Edge:
        """Return an edge as a value."""
        return self.table.edge(row, key, self._weights[self.table.look[row]], aside=aside)

    def list_edges_between(self, start: str, end: str) -> list[Edge]:
        """Return every edge of a pair of nodes, heaviest first (ties: dependency, contains, sequence)."""
        head = self.after.get(start, {}).get(end)
        rows = [] if head is None else sorted(self.table.pair(head), key=self._lightness)
        return [self.edge((start, end, self.table.type(row)), row) for row in rows]

    def heaviest(self, name: str, other: str) -> Edge | None:
        """Return the heaviest edge between two nodes in either direction; from ``name`` if both are equal."""
        heads = [(ends, self.after.get(ends[0], {}).get(ends[1])) for ends in ((name, other), (other, name))]
        rows = [(ends, row) for ends, head in heads if head is not None for row in self.table.pair(head)]
        if not rows:
            return None
        (start, end), row = min(rows, key=lambda pair: self._lightness(pair[1])[0])
        return self.edge((start, end, self.table.type(row)), row)

    def edges(self) -> Iterator[Edge]:
        """Yield every edge of the graph, by start, end and type."""
        for start in sorted(self.after):
            for end in sorted(self.after[start]):
                rows = sorted(self.table.pair(self.after[start][end]), key=self.table.look.__getitem__)
                yield from (self.edge((start, end, self.table.type(row)), row) for row in rows)

    def weights(self) -> list[float]:
        """Return the weight of each pair of type and source, in the order of ``CLASSES``."""
        return list(self._weights)

    def list_changes(self) -> tuple[list[Node], list[Edge]]:
        """Return everything that changed since ``clear_changes``, by key."""
        nodes = [replace(self.nodes[name]) for name in sorted(self._changed_nodes)]
        return nodes, [self._changed_edge(key) for key in sorted(self._changed_edges, key=_edge_sort_key)]

    def clear_changes(self) -> None:
        """Mark everything as stored."""
        self._changed_nodes.clear()
        self._changed_edges.clear()

    def load(self, nodes: Iterable[Node], edges: Iterable[Edge]) -> None:
        """Add nodes and edges as they are; an edge from a node to itself is skipped."""
        self.version += 1
        for node in nodes:
            self.nodes[node.name] = replace(node)
        for edge in edges:
            if edge.start != edge.end:
                self._load_edge(edge)

    def _load_edge(self, edge: Edge) -> None:
        for name in (edge.start, edge.end):
            self.nodes.setdefault(name, Node(name, kind_from_node_name(name)))
        self.table.set(self._row(edge.key, edge.source, aside=edge.aside), edge)
        self._weigh(edge.key)

    def _count(self, node: Node) -> None:
        self.nodes.setdefault(node.name, Node(node.name, node.kind)).add(node)
        self._changed_nodes[node.name] = None

    def _changed_edge(self, key: EdgeKey) -> Edge:
        row = self.aside.get(key, self.row(key))
        assert row is not None, "a changed edge exists"
        return self.edge(key, row, aside=key in self.aside)

    def _row(self, key: EdgeKey, source: EdgeSource, *, aside: bool = False) -> int:
        """Return the row of an edge, adding one if needed: in the graph, or aside if it would close a cycle."""
        row = self.row(key)
        if row is None:
            row = self.aside.get(key)
        if row is not None:
            return row
        # One string per name, however many edges a node has.
        start, end, kind = self.nodes[key[0]].name, self.nodes[key[1]].name, key[2]
        row = self.table.new(kind, source)
        if aside or (kind in self._orders and not self._orders[kind].allows(start, end)):
            self.aside[start, end, kind] = row
            return row
        head = self.after.setdefault(start, {}).setdefault(end, row)
        self.before.setdefault(end, {}).setdefault(start, row)
        if head != row:
            self.table.join(head, row)
            self._weigh(key)
        return row

    def _weigh(self, key: EdgeKey) -> None:
        """Update which edge of a pair is the heaviest."""
        head = self.after.get(key[0], {}).get(key[1])
        if head is not None:
            self.table.best[head] = self.table.look[min(self.table.pair(head), key=self._lightness)]

    def _lightness(self, row: int) -> tuple[float, int]:
        look = self.table.look[row]
        return -self._weights[look], look

    def _arcs(self, edges: Mapping[str, Mapping[str, int]], kind: EdgeType) -> NeighborLookup:
        def neighbors(node: str) -> Iterator[str]:
            types, pair = self.table.type, self.table.pair
            return (
                other for other, head in edges.get(node, {}).items() if any(types(row) is kind for row in pair(head))
            )

        return neighbors


def _edge_sort_key(key: EdgeKey) -> tuple[str, str, str]:
    return key[0], key[1], key[2].value
