"""Builders of spans and graphs: they supply what a test is not about."""

from collections.abc import Iterable
from typing import Any

from hypothesis import strategies as st

from custody.graph.engine import GraphEngine
from custody.graph.lessons import EdgeCounts, lessons_from_span_forest
from custody.graph.model import CallSpan, EdgeKey, EdgeType, EventType, Kind, TraceEvent
from custody.graph.rules import GraphRules
from custody.graph.spans import build_span_forest

RULES = GraphRules()
CONTAINS, SEQUENCE, DEPENDENCY = EdgeType.CONTAINS, EdgeType.SEQUENCE, EdgeType.DEPENDENCY


def a_span(id: str, start: int | None = None, end: int | None = None, **more: Any) -> CallSpan:
    """Return a call of the tool ``s:<id>`` by default."""
    return CallSpan(**{"id": id, "kind": Kind.TOOL, "name": f"s:{id}", "start_ns": start, "end_ns": end, **more})


def started(id: str, parent: str | None = None, at: int | None = None, **more: Any) -> TraceEvent:
    return _event(EventType.TOOL_START, id, parent, at, more)


def ended(id: str, parent: str | None = None, at: int | None = None, **more: Any) -> TraceEvent:
    return _event(EventType.TOOL_END, id, parent, at, more)


def entered(id: str, parent: str | None = None, at: int | None = None, **more: Any) -> TraceEvent:
    return _event(EventType.CAPABILITY_START, id, parent, at, more)


def left(id: str, parent: str | None = None, at: int | None = None, **more: Any) -> TraceEvent:
    return _event(EventType.CAPABILITY_END, id, parent, at, more)


def _event(kind: EventType, id: str, parent: str | None, at: int | None, more: dict[str, Any]) -> TraceEvent:
    return TraceEvent(**{"type": kind, "trace_id": id, "parent_trace_id": parent, "at_ns": at, **more})


def edges_of(records: Iterable[TraceEvent | CallSpan]) -> dict[EdgeKey, EdgeCounts]:
    """Return the edges learned from all executions of the records, in sequence."""
    edges: dict[EdgeKey, EdgeCounts] = {}
    for lesson in lessons_from_span_forest(build_span_forest(records)):
        for key, counts in lesson.edges.items():
            edges.setdefault(key, EdgeCounts()).add(counts)
    return edges


def pairs_of(records: Iterable[TraceEvent | CallSpan], kind: EdgeType) -> dict[tuple[str, str], int]:
    """Return how often each pair of one type was observed."""
    return {(start, end): edge.count for (start, end, type_), edge in edges_of(records).items() if type_ is kind}


def a_graph(*edges: tuple[str, str, EdgeType, int], rules: GraphRules = RULES) -> GraphEngine:
    """Return a graph whose edges were observed this often; 0 means that the edge comes from a template."""
    engine = GraphEngine(rules)
    for start, end, kind, count in edges:
        engine.book.add_template_edge((start, end, kind))
        for _ in range(count):
            engine.update_from_code_execution(observed(start, end, kind))
    return engine


def observed(start: str, end: str, kind: EdgeType) -> list[CallSpan]:
    """Return the smallest execution that shows an edge."""
    if kind is EdgeType.CONTAINS:
        return [a_span("1", name=start), a_span("2", name=end, parent="1")]
    if kind is EdgeType.DEPENDENCY:
        return [a_span("1", name=start, session="a"), a_span("2", name=end, session="b", needs=("1",))]
    return [a_span("1", 0, 1, name=start), a_span("2", 2, 3, name=end)]


names = st.integers(0, 9).map(lambda number: f"s:{number}")


@st.composite
def graphs(draw: st.DrawFn, kinds: tuple[EdgeType, ...] = tuple(EdgeType), edges_max: int = 30) -> GraphEngine:
    """Small graphs of any shape; the engine sets aside edges that would close a cycle."""
    edge = st.tuples(names, names, st.sampled_from(kinds), st.integers(0, 3))
    return a_graph(*(edge for edge in draw(st.lists(edge, max_size=edges_max)) if edge[0] != edge[1]))
