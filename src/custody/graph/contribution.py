"""What one session or execution adds to the graph. The graph is the sum of these, in any order of arrival.

Counts are integers: they are added and subtracted exactly. A first or last time, or evidence, that may have come from
the subtracted part is counted again from the others.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence

from msgspec import Struct

from custody.core.views import ObservedSpan
from custody.graph.book import find_cyclic_edges
from custody.graph.calls import SequenceCall, calls_from_spans
from custody.graph.lessons import EVIDENCE_MAX, EdgeCounts, lessons_from_span_forest
from custody.graph.model import ACYCLIC, Edge, EdgeKey, Node, UnitId, Witness
from custody.graph.rules import GraphRules
from custody.graph.spans import build_span_forest
from custody.graph.table import clamp_edge_time, source_from_counts


class EdgePart(Struct, frozen=True):
    """The counts of an edge in one unit; ``run`` is the first of the unit's executions that showed it."""

    run: int
    edge: Edge


class Contribution(Struct, frozen=True):
    """What one session or execution adds: counts of nodes and edges, its calls in order, and its repairs."""

    unit: UnitId
    first_ns: int
    agents: tuple[str, ...]
    repairs: Mapping[str, int]
    nodes: tuple[Node, ...]
    parts: tuple[EdgePart, ...]
    calls: tuple[tuple[SequenceCall, ...], ...]


def make_contribution(unit: UnitId, spans: Sequence[ObservedSpan]) -> Contribution:
    """Return what a unit with these spans adds to the graph."""
    forest = build_span_forest(spans)
    nodes: dict[str, Node] = {}
    edges: dict[EdgeKey, list[tuple[int, EdgeCounts]]] = {}
    for run, lesson in enumerate(lessons_from_span_forest(forest)):
        for node in lesson.nodes.values():
            nodes.setdefault(node.name, Node(node.name, node.kind)).add(node)
        for key, counts in lesson.edges.items():
            edges.setdefault(key, []).append((run, counts))
    return Contribution(
        unit,
        min((span.started_ns or span.ended_ns or 0 for span in spans), default=0),
        tuple(sorted({span.agent for span in spans if span.agent is not None})),
        {code.value: count for code, count in forest.repairs.items()},
        tuple(nodes[name] for name in sorted(nodes)),
        tuple(
            EdgePart(runs[0][0], _sum_edge_counts(key, [counts for _, counts in runs])) for key, runs in edges.items()
        ),
        tuple(map(tuple, calls_from_spans(forest.spans).values())),
    )


def _sum_edge_counts(key: EdgeKey, runs: Sequence[EdgeCounts]) -> Edge:
    total = EdgeCounts()
    for counts in runs:
        total.add(counts)
    start, end, kind = key
    return Edge(
        start=start,
        end=end,
        type=kind,
        count=total.count,
        executions=len(runs),
        successes=total.successes,
        failures=total.failures,
        first_ns=None if total.first_ns is None else clamp_edge_time(total.first_ns),
        last_ns=None if total.last_ns is None else clamp_edge_time(total.last_ns),
        evidence=total.evidence,
    )


class GraphSums:
    """The sums over all units: nodes by name, edges by key."""

    def __init__(self, nodes: Iterable[Node] = (), edges: Iterable[Edge] = ()) -> None:
        self.nodes = {node.name: node for node in nodes}
        self.edges = {edge.key: edge for edge in edges}
        self.changed_nodes: set[str] = set()
        self.changed_edges: set[EdgeKey] = set()

    def replace(
        self,
        old: Sequence[Contribution],
        new: Sequence[Contribution],
        find_other_edges: Callable[[EdgeKey], Sequence[Edge]],
        rules: GraphRules,
    ) -> None:
        """Subtract ``old`` and add ``new``; ``find_other_edges`` returns what all other units add to an edge."""
        self._replace_nodes(old, new)
        before, after = (_group_edges_by_key(contributions) for contributions in (old, new))
        for key in before.keys() | after.keys():
            total, removed, added = self.edges.get(key), before.get(key, []), after.get(key, [])
            if total is None or not removed:
                parts: Sequence[Edge] = [*([] if total is None else [total]), *added]
            elif _hides_other_edges(total, _sum_edges(key, removed, rules), _sum_edges(key, added, rules)):
                parts = [*find_other_edges(key), *added]
            else:
                parts = [total, _negate_edge(key, removed), *added]
            self._set_edge(key, _sum_edges(key, parts, rules), aside=total is not None and total.aside)

    def set_aside(self, order: Iterable[EdgeKey]) -> None:
        """Set aside the edges that would close a cycle if edges were added in this order."""
        cyclic = find_cyclic_edges(order)
        for key, edge in list(self.edges.items()):
            if edge.aside != (key in cyclic):
                self._set_edge(key, edge, aside=key in cyclic)

    def _replace_nodes(self, old: Sequence[Contribution], new: Sequence[Contribution]) -> None:
        for sign, contributions in ((-1, old), (1, new)):
            for node in (node for contribution in contributions for node in contribution.nodes):
                total = self.nodes.setdefault(node.name, Node(node.name, node.kind))
                total.count += sign * node.count
                total.failures += sign * node.failures
                total.repeats += sign * node.repeats
                total.recursions += sign * node.recursions
                self.changed_nodes.add(node.name)
        for name in self.changed_nodes:
            if name in self.nodes and not self.nodes[name].count:
                del self.nodes[name]

    def _set_edge(self, key: EdgeKey, edge: Edge, *, aside: bool) -> None:
        self.changed_edges.add(key)
        if edge.executions:
            self.edges[key] = _copy_edge(edge, aside=aside)
        else:
            self.edges.pop(key, None)


def sum_contributions(contributions: Sequence[Contribution], rules: GraphRules) -> GraphSums:
    """Return the graph of these units alone."""
    sums = GraphSums()
    sums.replace((), contributions, lambda _: (), rules)
    sums.set_aside(order_acyclic_edges(list_acyclic_edges(contributions)))
    return sums


EdgePosition = tuple[str, int, EdgeKey]
"""Where an edge was shown first: the unit, its execution, and the key."""


def list_acyclic_edges(contributions: Iterable[Contribution]) -> list[EdgePosition]:
    """Return the positions of edges that must not close a cycle."""
    return [
        (f"{each.unit.kind}:{each.unit.id}", part.run, part.edge.key)
        for each in contributions
        for part in each.parts
        if part.edge.type in ACYCLIC
    ]


def order_acyclic_edges(positions: Iterable[EdgePosition]) -> list[EdgeKey]:
    """Return the edges in the order in which learning from all units, sorted by id, adds them."""
    return list(dict.fromkeys(key for _, _, key in sorted(positions)))


def sum_repairs(contributions: Iterable[Mapping[str, int]]) -> dict[str, int]:
    """Return how often each repair was needed, by code."""
    total: Counter[str] = Counter()
    for repairs in contributions:
        total.update(repairs)
    return {code: total[code] for code in sorted(total)}


def _group_edges_by_key(contributions: Iterable[Contribution]) -> dict[EdgeKey, list[Edge]]:
    groups: dict[EdgeKey, list[Edge]] = {}
    for contribution in contributions:
        for part in contribution.parts:
            groups.setdefault(part.edge.key, []).append(part.edge)
    return groups


def _sum_edges(key: EdgeKey, edges: Sequence[Edge], rules: GraphRules) -> Edge:
    count = sum(edge.count for edge in edges)
    executions = sum(edge.executions for edge in edges)
    start, end, kind = key
    return Edge(
        start=start,
        end=end,
        type=kind,
        source=source_from_counts(count, executions, rules),
        count=count,
        executions=executions,
        successes=sum(edge.successes for edge in edges),
        failures=sum(edge.failures for edge in edges),
        first_ns=min((edge.first_ns for edge in edges if edge.first_ns is not None), default=None),
        last_ns=max((edge.last_ns for edge in edges if edge.last_ns is not None), default=None),
        evidence=_merge_edge_evidence(edges),
    )


def _merge_edge_evidence(edges: Sequence[Edge]) -> tuple[Witness, ...]:
    if len(edges) == 1:
        return edges[0].evidence
    return tuple(sorted({witness for edge in edges for witness in edge.evidence}, reverse=True)[:EVIDENCE_MAX])


def _negate_edge(key: EdgeKey, edges: Sequence[Edge]) -> Edge:
    """Return a part that subtracts the counts of ``edges``, and has no times or evidence."""
    start, end, kind = key
    return Edge(
        start=start,
        end=end,
        type=kind,
        count=-sum(edge.count for edge in edges),
        executions=-sum(edge.executions for edge in edges),
        successes=-sum(edge.successes for edge in edges),
        failures=-sum(edge.failures for edge in edges),
    )


def _hides_other_edges(total: Edge, removed: Edge, added: Edge) -> bool:
    """Return whether a time or evidence of ``total`` goes away with ``removed`` and does not come with ``added``."""
    is_first_lost = removed.first_ns == total.first_ns and (
        total.first_ns is not None and (added.first_ns is None or added.first_ns > total.first_ns)
    )
    is_last_lost = removed.last_ns == total.last_ns and (
        total.last_ns is not None and (added.last_ns is None or added.last_ns < total.last_ns)
    )
    lost = set(removed.evidence) & set(total.evidence) - set(added.evidence)
    # Older witnesses of the same unit that eight newer ones of it replace are not among the newest either.
    is_replaced = len(added.evidence) == EVIDENCE_MAX and max(lost, default=added.evidence[-1]) <= added.evidence[-1]
    return is_first_lost or is_last_lost or bool(lost and not is_replaced)


def _copy_edge(edge: Edge, *, aside: bool) -> Edge:
    return Edge(
        start=edge.start,
        end=edge.end,
        type=edge.type,
        source=edge.source,
        count=edge.count,
        executions=edge.executions,
        successes=edge.successes,
        failures=edge.failures,
        first_ns=edge.first_ns,
        last_ns=edge.last_ns,
        evidence=edge.evidence,
        aside=aside,
    )
