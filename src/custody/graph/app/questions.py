"""Queries on the call graph: the graph, a session's tree, paths, similar nodes, next calls, an order, differences."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from difflib import get_close_matches

from msgspec import Struct, structs

from custody.core.errors import InputError
from custody.core.ids import SessionId
from custody.core.wire.time import parse_timestamp
from custody.graph.app.learn import (
    LearnedGraph,
    iterate_call_units,
    learn_call_graph,
    list_call_unit_outcomes,
    list_call_units,
    load_graph_rules,
)
from custody.graph.app.report import report_graph_edge, report_graph_node
from custody.graph.calls import SequenceCall
from custody.graph.elements import Element, Palette, Theme
from custody.graph.engine import GraphEngine, Snapshot
from custody.graph.graph_view import draw_graph_snapshot, draw_snapshot_difference
from custody.graph.lane_view import draw_call_lanes
from custody.graph.model import UnitId
from custody.graph.paths import Cost
from custody.graph.prediction import NEXT_MAX, NextModel, SessionState
from custody.graph.queries import list_session_executions
from custody.graph.similarity import SIMILAR_MAX, Formula
from custody.graph.spans import build_span_forest
from custody.graph.tree_view import draw_call_tree
from custody.graph.wire.report import (
    GraphChange,
    GraphDagReport,
    GraphDiffReport,
    GraphNextReport,
    GraphPathReport,
    GraphRelatedReport,
    GraphShowReport,
    GraphSimilarNode,
    GraphSuggestion,
    SharedNeighbor,
)
from custody.store import Store
from custody.workspace.workspace import Workspace


class ViewOptions(Struct, frozen=True, kw_only=True):
    """How a graph is shown: which session, as a tree or as lanes, in which colors."""

    session: str | None = None
    lanes: bool = False
    palette: Palette = "document"
    theme: Theme = "dark"


def show_call_graph(workspace: Workspace, options: ViewOptions) -> GraphShowReport:
    """Return the learned graph, or the calls of one session."""
    with _open_learned_graph(workspace) as (store, learned):
        if options.session is None:
            snapshot = learned.engine.get_graph_snapshot()
            elements = draw_graph_snapshot(snapshot).as_json(options.palette, options.theme)
            return _make_graph_show_report("graph", learned, snapshot, learned.repairs, elements)
        units = list(iterate_call_units(store, find_call_units(store, options.session)))
        forest = build_span_forest(span for unit in units for span in unit.spans)
        view = (draw_call_lanes if options.lanes else draw_call_tree)(forest)
        own = GraphEngine(learned.rules)
        own.update_from_code_execution(forest.spans)
        repairs = {code.value: count for code, count in forest.repairs.items()}
        name = "lanes" if options.lanes else "tree"
        elements = view.as_json(options.palette, options.theme)
        shown = _make_graph_show_report(
            name, LearnedGraph(own, learned.rules, 1), own.get_graph_snapshot(), repairs, elements
        )
        return structs.replace(shown, outcomes=list_call_unit_outcomes(store, units))


def find_graph_path(workspace: Workspace, start: str, end: str, measure: Cost) -> GraphPathReport:
    """Find the cheapest path between two nodes."""
    with _open_learned_graph(workspace) as (_, learned):
        start, end = (_resolve_graph_node(learned.engine, name) for name in (start, end))
        path = learned.engine.find_shortest_path(start, end, measure)
    return GraphPathReport(
        outcome="found" if path is None else "fine",
        start=start,
        end=end,
        measure=measure,
        nodes=[] if path is None else list(path.nodes),
        cost=None if path is None else path.cost,
        edges=[] if path is None else [report_graph_edge(edge) for edge in path.edges],
    )


def find_related_graph_nodes(
    workspace: Workspace, node: str, formula: Formula, limit: int | None
) -> GraphRelatedReport:
    """Find the nodes most similar to a node."""
    with _open_learned_graph(workspace) as (_, learned):
        node = _resolve_graph_node(learned.engine, node)
        alike = learned.engine.compute_adamic_adar(node, limit or SIMILAR_MAX, formula)
    return GraphRelatedReport(
        outcome="fine",
        node=node,
        formula=formula,
        alike=[
            GraphSimilarNode(
                similar.node,
                similar.score,
                [
                    SharedNeighbor(each.node, each.share, list(map(report_graph_edge, each.edges)))
                    for each in similar.witnesses
                ],
            )
            for similar in alike
        ],
    )


def suggest_next_tool_calls(
    workspace: Workspace, session: str | None, after: Sequence[str], limit: int | None
) -> GraphNextReport:
    """Return the likeliest next calls of a session, or after calls by their detailed names, such as ``Read .py``."""
    with _open_learned_graph(workspace) as (store, learned):
        own = () if session is None else find_call_units(store, session)
        calls, starts = learned.list_calls(store), learned.list_unit_starts(store)
        known = sorted(calls, key=lambda unit: (starts[unit][0], unit))
        state = SessionState()
        model = NextModel()
        training = [run for unit in known if unit not in own for run in calls[unit]]
        model.fit(training)
        nodes = {call.name: call.node for run in training for call in run}
        requested = [SequenceCall(name, nodes.get(name, name)) for name in after]
        calls_so_far = (
            requested
            if session is None
            else [call for unit in known if unit in own for run in calls[unit] for call in run]
        )
        for call in calls_so_far:
            model.add_call(state, call)
        suggestions = learned.engine.suggest_next(model, state, limit=limit or NEXT_MAX)
    return GraphNextReport(
        outcome="fine",
        session=session,
        after=[call.name for call in calls_so_far[-NEXT_MAX:]],
        calls=sum(map(len, training)),
        suggestions=[
            GraphSuggestion(
                suggestion.name,
                suggestion.node,
                suggestion.chance,
                dict(suggestion.parts),
                [report_graph_edge(edge) for edge in suggestion.edges],
            )
            for suggestion in suggestions
        ],
    )


def build_graph_dag(workspace: Workspace, nodes: Sequence[str]) -> GraphDagReport:
    """Return the graph, or the part with some nodes, without cycles."""
    with _open_learned_graph(workspace) as (_, learned):
        names = [_resolve_graph_node(learned.engine, name) for name in nodes]
        dag = learned.engine.build_dag(names or None)
    return GraphDagReport(
        outcome="fine",
        order=list(dag.order),
        edges=[report_graph_edge(edge) for edge in dag.edges],
        removed=[report_graph_edge(edge) for edge in dag.removed],
    )


def compare_call_graphs(workspace: Workspace, before: str, after: str, options: ViewOptions) -> GraphDiffReport:
    """Compare the graphs of two periods (``FROM..TO``, either end open) or of two agents (by name)."""
    with _open_learned_graph(workspace) as (store, learned):
        old, new = (learned.learn_part(store, select_call_units(learned, store, side)) for side in (before, after))
    view = draw_snapshot_difference(old, new)
    return GraphDiffReport(
        outcome="fine",
        before=before,
        after=after,
        changes=[
            GraphChange(start=row.pop("from"), end=row.pop("to"), **row)  # type: ignore[arg-type]  # rows of its view
            for row in map(dict, view.table)
        ],
        elements=view.as_json(options.palette, options.theme),
    )


@contextmanager
def _open_learned_graph(workspace: Workspace) -> Iterator[tuple[Store, LearnedGraph]]:
    with workspace.reading() as store:
        yield store, learn_call_graph(workspace, store, load_graph_rules(workspace))


def _make_graph_show_report(
    view: str, learned: LearnedGraph, snapshot: Snapshot, repairs: dict[str, int], elements: Element
) -> GraphShowReport:
    return GraphShowReport(
        outcome="fine",
        view=view,  # type: ignore[arg-type]  # one of its values
        units=learned.units,
        nodes=[report_graph_node(node) for node in snapshot.nodes],
        edges=[report_graph_edge(edge) for edge in snapshot.edges],
        aside=[report_graph_edge(edge) for edge in snapshot.aside],
        repairs=repairs,
        elements=elements,
        outcomes=[],
    )


def find_call_units(store: Store, session: str) -> tuple[UnitId, ...]:
    """Return the units of a session, or of an execution, by its id or a unique start of the id.

    A session that has only traced programs consists of all their executions.
    """
    units = [unit for unit in list_call_units(store) if unit.id.startswith(session)]
    exact = [unit for unit in units if unit.id == session]
    traced = list_session_executions(store, SessionId(session)) if not exact else []
    executions = {UnitId("execution", execution) for execution in traced}
    if executions:
        return tuple(sorted(executions))
    chosen = exact or units
    if not chosen:
        raise _unknown_graph_session_error(session)
    if len({unit.id for unit in chosen}) > 1:
        raise InputError(f"'{session}' is ambiguous: {len(chosen)} sessions start with it", hint="pass more of the id")
    return tuple(chosen)


def _unknown_graph_session_error(session: str) -> InputError:
    return InputError(f"unknown session '{session}'", hint="list sessions with 'custody log'")


def _resolve_graph_node(engine: GraphEngine, name: str) -> str:
    """Return the node called ``name``, or the only one whose name ends with it."""
    nodes = engine.book.nodes
    if name in nodes:
        return name
    ends = [node for node in nodes if node.endswith(f":{name}")]
    if len(ends) == 1:
        return ends[0]
    near = get_close_matches(name, ends or list(nodes), n=1, cutoff=0.0)
    raise InputError(
        f"{'ambiguous' if ends else 'unknown'} node '{name}'",
        hint=f"did you mean '{near[0]}'?" if near else "nothing is learned yet: record or import sessions first",
    )


def select_call_units(learned: LearnedGraph, store: Store, side: str) -> set[UnitId]:
    """Return the units of an agent, or those that started in a period."""
    starts = learned.list_unit_starts(store)
    matches = {unit for unit, (_, agents) in starts.items() if side in agents}
    first, dots, last = side.partition("..")
    if dots and not matches:
        from_ns, to_ns = parse_timestamp(first) if first else 0, parse_timestamp(last) if last else 2**63
        return {unit for unit, (first_ns, _) in starts.items() if from_ns <= first_ns < to_ns}
    if not matches:
        known = sorted({agent for _, agents in starts.values() for agent in agents})
        raise InputError(
            f"'{side}' is neither a period nor an agent with calls here",
            hint=f"a period is FROM..TO; agents: {', '.join(known) or 'none yet'}",
        )
    return matches
