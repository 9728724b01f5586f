"""Draw a session, the learned graph or a difference: at most ``DRAWN_MAX`` elements, the rest in further pictures.

A session is drawn without the learned graph, which may be large and is not needed. Units with their spans and the
learned graph are slow to read, so they are passed in and a caller can reuse them.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

from msgspec import Struct, field
from msgspec.structs import replace

from custody.core.views import ObservedSpan
from custody.graph.app.learn import LearnedGraph, Unit, list_call_unit_outcomes, list_call_units
from custody.graph.app.questions import select_call_units
from custody.graph.elements import (
    COLORS,
    Element,
    GraphPicture,
    Palette,
    Theme,
    make_graph_legend,
    make_graph_stylesheet,
)
from custody.graph.engine import Snapshot
from custody.graph.graph_view import draw_graph_snapshot, draw_snapshot_difference
from custody.graph.lane_view import draw_call_lanes
from custody.graph.model import Edge, EdgeKey
from custody.graph.queries import list_agents_with_calls
from custody.graph.spans import build_span_forest
from custody.graph.tree_view import draw_call_tree
from custody.graph.wire.report import GraphOutcome
from custody.store import Store
from custody.workspace.workspace import Workspace

DRAWN_MAX = 600
"""Boxes of a session, or edges of a graph, drawn at once: a browser adds them without a pause."""
AGENTS_MAX = 200
EXECUTIONS_MAX = 50
THEMES: tuple[Theme, ...] = ("dark", "light")

ViewName = Literal["graph", "tree", "lanes", "difference"]


class GraphViewRequest(Struct, frozen=True, kw_only=True):
    """The picture to draw.

    ``session`` is for a tree or lanes, ``root`` is an opened box of a tree, ``before`` and ``after`` are the two sides
    of a difference; ``skip`` is the number of elements drawn before.
    """

    view: ViewName = "graph"
    session: str | None = None
    root: str | None = None
    before: str | None = None
    after: str | None = None
    agent: str | None = None
    text: str | None = None
    least: int = 0
    skip: int = 0
    palette: Palette = "document"


class Picture(Struct, frozen=True, kw_only=True):
    """A drawn picture. ``hidden`` calls are inside closed boxes, ``left_out`` calls or edges are for another picture.

    ``units`` is how many sessions and executions it was learned from; ``styles`` and ``legend`` are for Cytoscape, one
    style per theme. A session that was ``captured`` has more data than its calls.
    """

    view: ViewName
    nodes: Sequence[Element]
    edges: Sequence[Element]
    table: Sequence[Element]
    styles: Mapping[str, Any]
    grounds: Mapping[str, str]
    legend: Sequence[Any]
    hidden: int = 0
    left_out: int = 0
    units: int = 0
    aside: int = 0
    captured: bool = False
    repairs: Mapping[str, int] = field(default_factory=dict)
    outcomes: Sequence[GraphOutcome] = ()


def list_graph_agents(workspace: Workspace) -> list[str]:
    """List the agents of sessions with calls, by name."""
    with workspace.reading() as store:
        return [str(agent) for agent in list_agents_with_calls(store)[:AGENTS_MAX]]


def list_traced_executions(workspace: Workspace) -> list[str]:
    """List executions of traced programs, by name."""
    with workspace.reading() as store:
        executions = [unit.id for unit in list_call_units(store) if unit.kind == "execution"]
    return executions[:EXECUTIONS_MAX]


# --- one session ------------------------------------------------------------------------------------------------------


def draw_session_calls(store: Store, request: GraphViewRequest, units: Sequence[Unit]) -> Picture:
    """Draw the tree or the lanes of a session from its ``units``; no units means no calls."""
    forest = build_span_forest(_filter_session_spans([span for unit in units for span in unit.spans], request))
    lanes = request.view == "lanes"
    view = (
        draw_call_lanes(forest, DRAWN_MAX, skip=request.skip)
        if lanes
        else draw_call_tree(forest, DRAWN_MAX, root=request.root)
    )
    repairs = {code.value: count for code, count in forest.repairs.items()}
    captured = not units or any(unit.key.kind == "session" for unit in units)
    outcomes = list_call_unit_outcomes(store, units)
    drawn = _make_graph_picture(view, request, units=len(units), repairs=repairs, outcomes=outcomes, captured=captured)
    return replace(drawn, left_out=max(view.hidden - request.skip, 0), hidden=0) if lanes else drawn


def _filter_session_spans(spans: Sequence[ObservedSpan], request: GraphViewRequest) -> Iterable[ObservedSpan]:
    """Return the calls of an agent, or with a text in their names, and the spans around them."""
    if request.agent is None and request.text is None:
        return spans
    parents = {(span.execution, span.id): span.parent for span in spans if span.parent is not None}
    selected: set[tuple[str, str]] = set()
    for span in spans:
        at: str | None = span.id if _is_span_in_view(span, request) else None
        while at is not None and (span.execution, at) not in selected:
            selected.add((span.execution, at))
            at = parents.get((span.execution, at))  # type: ignore[arg-type]  # the same pair that was put
    return [span for span in spans if (span.execution, span.id) in selected]


def _is_span_in_view(span: ObservedSpan, request: GraphViewRequest) -> bool:
    named = f"{span.server}:{span.name}" if span.server is not None else span.name or ""
    return request.agent in (None, span.agent) and (request.text or "").casefold() in named.casefold()


# --- the learned graph ------------------------------------------------------------------------------------------------


def draw_learned_graph(learned: LearnedGraph, request: GraphViewRequest) -> Picture:
    """Draw the graph learned from everything."""
    return _draw_graph_page(learned.engine.get_graph_snapshot(), request, units=learned.units, repairs=learned.repairs)


def draw_agent_graph(store: Store, learned: LearnedGraph, agent: str, request: GraphViewRequest) -> Picture:
    """Draw the graph learned from the calls of one agent."""
    units = select_call_units(learned, store, agent)
    return _draw_graph_page(learned.learn_part(store, units), request, units=len(units), repairs={})


def _draw_graph_page(whole: Snapshot, request: GraphViewRequest, *, units: int, repairs: Mapping[str, int]) -> Picture:
    edges = _filter_drawn_edges(whole.edges, request)
    drawn = edges[request.skip : request.skip + DRAWN_MAX]
    part = Snapshot(_list_edge_end_nodes(whole, drawn, request), tuple(sorted(drawn, key=lambda edge: edge.key)), ())
    left_out = len(edges) - request.skip - len(drawn)
    return _make_graph_picture(
        draw_graph_snapshot(part),
        request,
        units=units,
        repairs=repairs,
        left_out=max(left_out, 0),
        aside=len(whole.aside),
    )


def draw_graph_difference(store: Store, learned: LearnedGraph, request: GraphViewRequest) -> Picture:
    """Draw the difference between the two requested sides."""
    sides = [select_call_units(learned, store, side or "") for side in (request.before, request.after)]
    old, new = (learned.learn_part(store, side) for side in sides)
    counts: dict[EdgeKey, Edge] = {}
    for edge in (*old.edges, *new.edges):
        known = counts.get(edge.key)
        counts[edge.key] = edge if known is None or edge.count > known.count else known
    edges = _filter_drawn_edges(counts.values(), request)
    drawn = edges[request.skip : request.skip + DRAWN_MAX]
    view = draw_snapshot_difference(old, new, {edge.key for edge in drawn})
    left_out = max(len(edges) - request.skip - len(drawn), 0)
    return _make_graph_picture(view, request, units=len(sides[0] | sides[1]), left_out=left_out)


def _filter_drawn_edges(edges: Iterable[Edge], request: GraphViewRequest) -> list[Edge]:
    """Return the edges with enough observations and the text in one of their ends, most frequent first."""
    text = (request.text or "").casefold()
    matches = [
        edge
        for edge in edges
        if edge.count >= request.least and (text in edge.start.casefold() or text in edge.end.casefold())
    ]
    return sorted(matches, key=lambda edge: (-edge.count, edge.key))


def _list_edge_end_nodes(whole: Snapshot, drawn: Sequence[Edge], request: GraphViewRequest) -> tuple[Any, ...]:
    """Return the nodes at the ends of the drawn edges; without a filter, also nodes without edges."""
    ends = {name for edge in drawn for name in (edge.start, edge.end)}
    if not request.text and not request.least and not request.skip:
        joined = {name for edge in whole.edges for name in (edge.start, edge.end)}
        ends |= set([node.name for node in whole.nodes if node.name not in joined][: DRAWN_MAX - len(ends)])
    return tuple(node for node in whole.nodes if node.name in ends)


def _make_graph_picture(view: GraphPicture, request: GraphViewRequest, **more: Any) -> Picture:
    return Picture(
        view=request.view,
        nodes=view.nodes,
        edges=view.edges,
        table=view.table,
        styles={theme: make_graph_stylesheet(request.palette, theme) for theme in THEMES},
        grounds={theme: COLORS[request.palette, theme].ground for theme in THEMES},
        legend=make_graph_legend(request.palette),
        hidden=view.hidden,
        **more,
    )
