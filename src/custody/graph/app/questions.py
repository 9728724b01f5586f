"""Questions about what was called: the graph, a session's tree, ways, likenesses, next calls, an order, differences."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from difflib import get_close_matches

from msgspec import structs

from custody.core.errors import InputError
from custody.core.ids import SessionId
from custody.core.wire.time import ns_from
from custody.graph.app.learn import LearntGraph, Unit, graph_rules, learn_graph, list_units, outcomes_of, units_of
from custody.graph.app.report import report_edge, report_node
from custody.graph.calls import SequenceCall
from custody.graph.elements import Element, Palette, Theme
from custody.graph.engine import GraphEngine, Snapshot
from custody.graph.graph_view import difference_view, graph_view
from custody.graph.lane_view import lanes_view
from custody.graph.paths import Cost
from custody.graph.prediction import NEXT_MAX, NextModel, SessionState
from custody.graph.queries import executions_of_session
from custody.graph.rules import GraphRules
from custody.graph.similarity import SIMILAR_MAX, Formula
from custody.graph.spans import forest_of
from custody.graph.tree_view import tree_view
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
    SharedNeighbour,
)
from custody.store import Store
from custody.workspace.workspace import Workspace


@dataclass(frozen=True, slots=True, kw_only=True)
class ViewOptions:
    """How something is shown: which session of it, as a tree or as lanes, in which colours."""

    session: str | None = None
    lanes: bool = False
    palette: Palette = "document"
    theme: Theme = "dark"


def graph_show(workspace: Workspace, look: ViewOptions) -> GraphShowReport:
    """The learnt graph, or the calls of one session."""
    with _asking(workspace) as (store, found):
        if look.session is None:
            snapshot = found.engine.get_graph_snapshot()
            elements = graph_view(snapshot).as_json(look.palette, look.theme)
            return _shown("graph", found, snapshot, found.repairs, elements)
        units = list(units_of(store, units_named(store, look.session)))
        forest = forest_of(span for unit in units for span in unit.spans)
        view = (lanes_view if look.lanes else tree_view)(forest)
        own = GraphEngine(found.rules)
        own.update_from_code_execution(forest.spans)
        repairs = {code.value: count for code, count in forest.repairs.items()}
        name = "lanes" if look.lanes else "tree"
        elements = view.as_json(look.palette, look.theme)
        shown = _shown(name, LearntGraph(own, found.rules, 1), own.get_graph_snapshot(), repairs, elements)
        return structs.replace(shown, outcomes=outcomes_of(store, units))


def graph_path(workspace: Workspace, start: str, end: str, measure: Cost) -> GraphPathReport:
    """The cheapest way from one node to another."""
    with _asking(workspace) as (_, found):
        start, end = (_node_named(found.engine, name) for name in (start, end))
        path = found.engine.find_shortest_path(start, end, measure)
    return GraphPathReport(
        outcome="found" if path is None else "fine",
        start=start,
        end=end,
        measure=measure,
        nodes=[] if path is None else list(path.nodes),
        cost=None if path is None else path.cost,
        edges=[] if path is None else [report_edge(edge) for edge in path.edges],
    )


def graph_related(workspace: Workspace, node: str, formula: Formula, limit: int | None) -> GraphRelatedReport:
    """The nodes most like one."""
    with _asking(workspace) as (_, found):
        node = _node_named(found.engine, node)
        alike = found.engine.compute_adamic_adar(node, limit or SIMILAR_MAX, formula)
    return GraphRelatedReport(
        outcome="fine",
        node=node,
        formula=formula,
        alike=[
            GraphSimilarNode(
                similar.node,
                similar.score,
                [
                    SharedNeighbour(each.node, each.share, list(map(report_edge, each.edges)))
                    for each in similar.witnesses
                ],
            )
            for similar in alike
        ],
    )


def graph_next(workspace: Workspace, session: str | None, after: Sequence[str], limit: int | None) -> GraphNextReport:
    """The likeliest next calls of a session, or after calls by their fine names, such as ``Read .py``."""
    with _asking(workspace) as (store, found):
        mine = () if session is None else units_named(store, session)
        units = list(units_of(store, list_units(store)))
        so_far = SessionState()
        model = NextModel()
        known = sorted(units, key=lambda unit: (unit.first_ns, unit.name))
        learnt_from = [calls for unit in known if unit.name not in mine for calls in unit.calls()]
        model.fit(learnt_from)
        nodes = {call.name: call.node for calls in learnt_from for call in calls}
        told = [SequenceCall(name, nodes.get(name, name)) for name in after]
        done = told if session is None else _done(known, mine)
        for call in done:
            model.see(so_far, call)
        suggestions = found.engine.suggest_next(model, so_far, limit=limit or NEXT_MAX)
    return GraphNextReport(
        outcome="fine",
        session=session,
        after=[call.name for call in done[-NEXT_MAX:]],
        calls=sum(map(len, learnt_from)),
        suggestions=[
            GraphSuggestion(
                suggestion.name,
                suggestion.node,
                suggestion.chance,
                dict(suggestion.parts),
                [report_edge(edge) for edge in suggestion.edges],
            )
            for suggestion in suggestions
        ],
    )


def graph_dag(workspace: Workspace, nodes: Sequence[str]) -> GraphDagReport:
    """The graph, or the part of some nodes, without cycles."""
    with _asking(workspace) as (_, found):
        wanted = [_node_named(found.engine, name) for name in nodes]
        dag = found.engine.build_dag(wanted or None)
    return GraphDagReport(
        outcome="fine",
        order=list(dag.order),
        edges=[report_edge(edge) for edge in dag.edges],
        removed=[report_edge(edge) for edge in dag.removed],
    )


def graph_diff(workspace: Workspace, before: str, after: str, look: ViewOptions) -> GraphDiffReport:
    """What differs between two periods (``FROM..TO``, either end open) or two agents (by name)."""
    with _asking(workspace) as (store, found):
        units = list(units_of(store, list_units(store)))
        old, new = (snapshot_from(units_chosen(store, units, side), found.rules) for side in (before, after))
    view = difference_view(old, new)
    return GraphDiffReport(
        outcome="fine",
        before=before,
        after=after,
        changes=[
            GraphChange(start=row.pop("from"), end=row.pop("to"), **row)  # type: ignore[arg-type]  # rows of its view
            for row in map(dict, view.table)
        ],
        elements=view.as_json(look.palette, look.theme),
    )


@contextmanager
def _asking(workspace: Workspace) -> Iterator[tuple[Store, LearntGraph]]:
    with workspace.reading() as store:
        yield store, learn_graph(workspace, store, graph_rules(workspace))


def _shown(
    view: str, found: LearntGraph, snapshot: Snapshot, repairs: dict[str, int], elements: Element
) -> GraphShowReport:
    return GraphShowReport(
        outcome="fine",
        view=view,  # type: ignore[arg-type]  # one of its words
        units=found.units,
        nodes=[report_node(node) for node in snapshot.nodes],
        edges=[report_edge(edge) for edge in snapshot.edges],
        aside=[report_edge(edge) for edge in snapshot.aside],
        repairs=repairs,
        elements=elements,
        outcomes=[],
    )


def units_named(store: Store, session: str) -> tuple[str, ...]:
    """The units of a session, or of an execution, by its id or the unique start of one.

    A session in which programs were traced, and nothing else, is all of their executions.
    """
    names = [name for name in list_units(store) if name.partition(":")[2].startswith(session)]
    exact = [name for name in names if name.partition(":")[2] == session]
    traced = executions_of_session(store, SessionId(session)) if not exact else []
    told = {f"execution:{execution}" for execution in traced}
    if told:
        return tuple(sorted(told))
    chosen = exact or names
    if not chosen:
        raise _no_session(session)
    if len({name.partition(":")[2] for name in chosen}) > 1:
        raise InputError(f"'{session}' begins the ids of {len(chosen)} sessions", hint="give more of it")
    return tuple(chosen)


def _no_session(session: str) -> InputError:
    return InputError(f"no session is named '{session}'", hint="'custody log' lists them")


def _node_named(engine: GraphEngine, name: str) -> str:
    """A node by its name, or by the end of it where only one has that."""
    nodes = engine.book.nodes
    if name in nodes:
        return name
    ends = [node for node in nodes if node.endswith(f":{name}")]
    if len(ends) == 1:
        return ends[0]
    near = get_close_matches(name, ends or list(nodes), n=1, cutoff=0.0)
    raise InputError(
        f"{'several nodes end' if ends else 'no node is named'} '{name}'",
        hint=f"the nearest is '{near[0]}'" if near else "nothing was learnt yet: record or import sessions first",
    )


def _done(units: Sequence[Unit], mine: Collection[str]) -> list[SequenceCall]:
    return [call for unit in units if unit.name in mine for calls in unit.calls() for call in calls]


def snapshot_from(units: Iterable[Unit], rules: GraphRules) -> Snapshot:
    """What these units alone teach."""
    engine = GraphEngine(rules)
    for unit in units:
        engine.update_from_code_execution(unit.spans)
    return engine.get_graph_snapshot()


def units_chosen(store: Store, units: Sequence[Unit], side: str) -> list[Unit]:
    """The units of one side: those of an agent, whatever it is called, or those that began in a period."""
    found = [unit for unit in units if side in {span.agent for span in unit.spans}]
    first, dots, last = side.partition("..")
    if dots and not found:
        from_ns, to_ns = ns_from(first) if first else 0, ns_from(last) if last else 2**63
        return [unit for unit in units if from_ns <= unit.first_ns < to_ns]
    if not found:
        known = sorted({span.agent for unit in units for span in unit.spans if span.agent is not None})
        raise InputError(
            f"'{side}' is neither a period nor an agent that made calls here",
            hint=f"a period is FROM..TO; agents are {', '.join(known) or 'not known yet'}",
        )
    return found
