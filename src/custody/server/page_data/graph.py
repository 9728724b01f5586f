"""Pictures for the page of the graph, and the runs behind an edge; what takes long to read stays at hand."""

from custody.core.errors import InputError, RulesError
from custody.graph.app.learn import LearntGraph, Unit, graph_rules, learn_graph, units_of
from custody.graph.app.questions import units_named
from custody.graph.app.report import Runs, edge_key, list_edge_runs
from custody.graph.app.views import GraphViewRequest, Picture, draw_agent, draw_difference, draw_learnt, draw_session
from custody.ledger.queries import session_rows
from custody.server.app.questions import NameNotFound
from custody.server.page_data.cache import StateCache, chains_of, place_of
from custody.store import Store
from custody.workspace.workspace import Workspace

# Sessions that were drawn last stay at hand, and what was learnt: looking closer does not read all of it again.
# Nothing can be stale: what is kept holds for the chains as they stood, and every new record moves one of them.


class GraphMemory:
    """What was learnt from everything, and the sessions that were drawn last."""

    def __init__(self) -> None:
        self._learnt: StateCache[LearntGraph] = StateCache(most=2)
        self._units: StateCache[tuple[Unit, ...]] = StateCache()

    def learnt(self, workspace: Workspace, store: Store) -> LearntGraph:
        """What was learnt from everything; callers only read it."""
        rules = graph_rules(workspace)
        state = (chains_of(store), rules)
        return self._learnt.get(
            place_of(workspace), state, workspace.now_ns(), lambda: learn_graph(workspace, store, rules)
        )

    def units(self, workspace: Workspace, store: Store, names: tuple[str, ...]) -> tuple[Unit, ...]:
        """These sessions and executions with their spans."""
        place = (*place_of(workspace), *names)
        return self._units.get(place, chains_of(store), workspace.now_ns(), lambda: tuple(units_of(store, names)))


def graph_picture(workspace: Workspace, memory: GraphMemory, wanted: GraphViewRequest) -> Picture:
    """The picture that is wanted; a ``NameNotFound`` where nothing has the name of its session."""
    rules = graph_rules(workspace)
    with workspace.reading() as store:
        if wanted.view in ("tree", "lanes"):
            names = _units_of_session(store, wanted.session or "")
            return draw_session(store, wanted, names, memory.units(workspace, store, names))
        if wanted.view == "difference":
            return draw_difference(store, wanted, rules)
        if wanted.agent is not None:
            return draw_agent(store, wanted.agent, wanted, rules)
        return draw_learnt(memory.learnt(workspace, store), wanted)


def _units_of_session(store: Store, session: str) -> tuple[str, ...]:
    """The units of a session; none for one that was captured and made no call."""
    try:
        return units_named(store, session)
    except RulesError:
        raise
    except InputError as error:
        if session_rows(store, limit=1, starting=session):
            return ()
        raise NameNotFound(error.message, hint=error.hint) from error


def graph_runs(workspace: Workspace, memory: GraphMemory, name: str) -> Runs:
    """The runs behind an edge, by its name in a picture; a ``NameNotFound`` where nobody has learnt such an edge."""
    start, end, kind = edge_key(name)
    with workspace.reading() as store:
        runs = list_edge_runs(store, memory.learnt(workspace, store), (start, end, kind))
    if runs is None:
        raise NameNotFound(
            f"no {kind.value} edge leads from '{start}' to '{end}'", hint="it may have been learnt otherwise since"
        )
    return runs
