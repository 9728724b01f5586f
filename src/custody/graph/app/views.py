"""Draw a session, the learnt graph or a difference: at most ``DRAWN_MAX`` elements, the rest in further pictures.

A session is drawn without the learnt graph, which may be large and does not concern one session. What takes long to
read (units with their spans, the learnt graph) is passed in, so that a caller can reuse it.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from custody.core.ids import AgentName
from custody.core.views import ObservedSpan
from custody.graph.app.learn import LearntGraph, Unit, list_units, outcomes_of, units_of
from custody.graph.app.questions import snapshot_from, units_chosen
from custody.graph.elements import COLOURS, Element, GraphPicture, Palette, Theme, legend_of, style_of
from custody.graph.engine import Snapshot
from custody.graph.graph_view import difference_view, graph_view
from custody.graph.lane_view import lanes_view
from custody.graph.model import Edge, EdgeKey
from custody.graph.queries import agents_with_calls, sessions_of_agent
from custody.graph.rules import GraphRules
from custody.graph.spans import forest_of
from custody.graph.tree_view import tree_view
from custody.graph.wire.report import GraphOutcome
from custody.store import Store
from custody.workspace.workspace import Workspace

DRAWN_MAX = 600
"""Boxes of a session, or edges of a graph, that are drawn at once: a browser adds them without a pause."""
AGENTS_MAX = 200
EXECUTIONS_MAX = 50
THEMES: tuple[Theme, ...] = ("dark", "light")

ViewName = Literal["graph", "tree", "lanes", "difference"]


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphViewRequest:
    """What is to be drawn, and what of it.

    ``session`` is for a tree or lanes, ``root`` is a box of a tree that is opened, ``before`` and ``after`` are the two
    sides of a difference; ``skip`` passes over what was drawn before.
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """What is drawn. ``hidden`` calls stand behind closed boxes, ``left_out`` ones or edges are for another picture.

    ``units`` is how many sessions and executions it was learnt from; ``styles`` and ``legend`` are for Cytoscape, the
    former once for each theme. A session that was ``captured`` has more to it than its calls.
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


def agents_calling(workspace: Workspace) -> list[str]:
    """The agents of sessions with calls, by name: of another one there is nothing to draw."""
    with workspace.reading() as store:
        return [str(agent) for agent in agents_with_calls(store)[:AGENTS_MAX]]


def executions_traced(workspace: Workspace) -> list[str]:
    """Some executions of traced programs, by name."""
    with workspace.reading() as store:
        names = [name.partition(":")[2] for name in list_units(store) if name.startswith("execution:")]
    return names[:EXECUTIONS_MAX]


# --- one session ------------------------------------------------------------------------------------------------------


def draw_session(store: Store, wanted: GraphViewRequest, names: Sequence[str], units: Sequence[Unit]) -> Picture:
    """The tree or the lanes of a session, from its ``units`` and their ``names``; without any, it made no call."""
    forest = forest_of(_sifted([span for unit in units for span in unit.spans], wanted))
    lanes = wanted.view == "lanes"
    view = lanes_view(forest, DRAWN_MAX, skip=wanted.skip) if lanes else tree_view(forest, DRAWN_MAX, root=wanted.root)
    repairs = {code.value: count for code, count in forest.repairs.items()}
    captured = not names or any(name.startswith("session:") for name in names)
    outcomes = outcomes_of(store, units)
    drawn = _picture(view, wanted, units=len(units), repairs=repairs, outcomes=outcomes, captured=captured)
    return replace(drawn, left_out=max(view.hidden - wanted.skip, 0), hidden=0) if lanes else drawn


def _sifted(spans: Sequence[ObservedSpan], wanted: GraphViewRequest) -> Iterable[ObservedSpan]:
    """The calls of an agent, or with a text in their names, and whatever they were made in."""
    if wanted.agent is None and wanted.text is None:
        return spans
    parents = {(span.execution, span.id): span.parent for span in spans if span.parent is not None}
    kept: set[tuple[str, str]] = set()
    for span in spans:
        at: str | None = span.id if _is_wanted(span, wanted) else None
        while at is not None and (span.execution, at) not in kept:
            kept.add((span.execution, at))
            at = parents.get((span.execution, at))  # type: ignore[arg-type]  # the same pair that was put
    return [span for span in spans if (span.execution, span.id) in kept]


def _is_wanted(span: ObservedSpan, wanted: GraphViewRequest) -> bool:
    named = f"{span.server}:{span.name}" if span.server is not None else span.name or ""
    return wanted.agent in (None, span.agent) and (wanted.text or "").casefold() in named.casefold()


# --- what was learnt --------------------------------------------------------------------------------------------------


def draw_learnt(learnt: LearntGraph, wanted: GraphViewRequest) -> Picture:
    """The graph that was learnt from everything."""
    return _graph(learnt.engine.get_graph_snapshot(), wanted, units=learnt.units, repairs=learnt.repairs)


def draw_agent(store: Store, agent: str, wanted: GraphViewRequest, rules: GraphRules) -> Picture:
    """The graph that the calls of one agent teach."""
    units = _of_agent(store, agent)
    return _graph(snapshot_from(units, rules), wanted, units=len(units), repairs={})


def _graph(whole: Snapshot, wanted: GraphViewRequest, *, units: int, repairs: Mapping[str, int]) -> Picture:
    edges = _fitting(whole.edges, wanted)
    drawn = edges[wanted.skip : wanted.skip + DRAWN_MAX]
    part = Snapshot(_at_ends(whole, drawn, wanted), tuple(sorted(drawn, key=lambda edge: edge.key)), ())
    left_out = len(edges) - wanted.skip - len(drawn)
    return _picture(
        graph_view(part), wanted, units=units, repairs=repairs, left_out=max(left_out, 0), aside=len(whole.aside)
    )


def draw_difference(store: Store, wanted: GraphViewRequest, rules: GraphRules) -> Picture:
    """What differs between the two sides that are wanted."""
    units = list(units_of(store, list_units(store)))
    sides = [units_chosen(store, units, side or "") for side in (wanted.before, wanted.after)]
    old, new = (snapshot_from(side, rules) for side in sides)
    counts: dict[EdgeKey, Edge] = {}
    for edge in (*old.edges, *new.edges):
        held = counts.get(edge.key)
        counts[edge.key] = edge if held is None or edge.count > held.count else held
    edges = _fitting(counts.values(), wanted)
    drawn = edges[wanted.skip : wanted.skip + DRAWN_MAX]
    view = difference_view(old, new, {edge.key for edge in drawn})
    left_out = max(len(edges) - wanted.skip - len(drawn), 0)
    return _picture(view, wanted, units=len({unit.name for side in sides for unit in side}), left_out=left_out)


def _of_agent(store: Store, agent: str) -> list[Unit]:
    sessions = sessions_of_agent(store, AgentName(agent))
    names = [name for name in list_units(store) if _may_be(name, sessions)]
    return units_chosen(store, list(units_of(store, names)), agent)


def _may_be(name: str, sessions: Collection[str]) -> bool:
    kind, _, id_ = name.partition(":")
    return kind != "session" or id_ in sessions


def _fitting(edges: Iterable[Edge], wanted: GraphViewRequest) -> list[Edge]:
    """Edges seen often enough with the text in one of their ends, the commonest first."""
    text = (wanted.text or "").casefold()
    found = [
        edge
        for edge in edges
        if edge.count >= wanted.least and (text in edge.start.casefold() or text in edge.end.casefold())
    ]
    return sorted(found, key=lambda edge: (-edge.count, edge.key))


def _at_ends(whole: Snapshot, drawn: Sequence[Edge], wanted: GraphViewRequest) -> tuple[Any, ...]:
    """The nodes at the ends of what is drawn; those without any edge too, where nothing is sifted."""
    ends = {name for edge in drawn for name in (edge.start, edge.end)}
    if not wanted.text and not wanted.least and not wanted.skip:
        joined = {name for edge in whole.edges for name in (edge.start, edge.end)}
        ends |= set([node.name for node in whole.nodes if node.name not in joined][: DRAWN_MAX - len(ends)])
    return tuple(node for node in whole.nodes if node.name in ends)


def _picture(view: GraphPicture, wanted: GraphViewRequest, **more: Any) -> Picture:
    return Picture(
        view=wanted.view,
        nodes=view.nodes,
        edges=view.edges,
        table=view.table,
        styles={theme: style_of(wanted.palette, theme) for theme in THEMES},
        grounds={theme: COLOURS[wanted.palette, theme].ground for theme in THEMES},
        legend=legend_of(wanted.palette),
        hidden=view.hidden,
        **more,
    )
