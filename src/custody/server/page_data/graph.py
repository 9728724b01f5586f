"""Pictures for the graph page and the runs with an edge, with a cache."""

from custody.core.errors import InputError, RulesError
from custody.graph import UnitId
from custody.graph.app.learn import LearnedGraph, Unit, iterate_call_units, learn_call_graph, load_graph_rules
from custody.graph.app.questions import find_call_units
from custody.graph.app.report import Runs, list_edge_runs, parse_edge_key
from custody.graph.app.views import (
    GraphViewRequest,
    Picture,
    draw_agent_graph,
    draw_graph_difference,
    draw_learned_graph,
    draw_session_calls,
)
from custody.ledger.queries import list_session_rows
from custody.server.app.questions import NameNotFound
from custody.server.page_data.cache import StateCache, make_page_cache_key, read_page_cache_state
from custody.store import Store
from custody.workspace.workspace import Workspace


class GraphMemory:
    """A cache of the learned graph and the last drawn sessions, so that zooming does not read them again.

    Entries are valid for the heads of the chains, and every new record changes one.
    """

    def __init__(self) -> None:
        self._learned: StateCache[LearnedGraph] = StateCache(most=2)
        self._units: StateCache[tuple[Unit, ...]] = StateCache()

    def read_graph(self, workspace: Workspace, store: Store) -> LearnedGraph:
        """Return the graph learned from all sessions; callers must not change it."""
        rules = load_graph_rules(workspace)
        state = (read_page_cache_state(store), rules)
        return self._learned.get(
            make_page_cache_key(workspace), state, workspace.now_ns(), lambda: learn_call_graph(workspace, store, rules)
        )

    def units(self, workspace: Workspace, store: Store, keys: tuple[UnitId, ...]) -> tuple[Unit, ...]:
        """Return these sessions and executions with their spans."""
        key = (*make_page_cache_key(workspace), *(text for unit in keys for text in unit))
        return self._units.get(
            key, read_page_cache_state(store), workspace.now_ns(), lambda: tuple(iterate_call_units(store, keys))
        )


def draw_graph_for_page(workspace: Workspace, memory: GraphMemory, request: GraphViewRequest) -> Picture:
    """Draw a picture; a ``NameNotFound`` if its session does not exist."""
    with workspace.reading() as store:
        if request.view in ("tree", "lanes"):
            keys = _find_units_for_page(store, request.session or "")
            return draw_session_calls(store, request, memory.units(workspace, store, keys))
        learned = memory.read_graph(workspace, store)
        if request.view == "difference":
            return draw_graph_difference(store, learned, request)
        if request.agent is not None:
            return draw_agent_graph(store, learned, request.agent, request)
        return draw_learned_graph(learned, request)


def _find_units_for_page(store: Store, session: str) -> tuple[UnitId, ...]:
    """Return the units of a session; none for a recorded session without calls."""
    try:
        return find_call_units(store, session)
    except RulesError:
        raise
    except InputError as error:
        if list_session_rows(store, limit=1, starting=session):
            return ()
        raise NameNotFound(error.message, hint=error.hint) from error


def list_runs_for_page(workspace: Workspace, memory: GraphMemory, name: str) -> Runs:
    """Return the runs with an edge, by its key in a picture; a ``NameNotFound`` if it does not exist."""
    start, end, kind = parse_edge_key(name)
    with workspace.reading() as store:
        runs = list_edge_runs(store, memory.read_graph(workspace, store), (start, end, kind))
    if runs is None:
        raise NameNotFound(f"no {kind.value} edge from '{start}' to '{end}'", hint="the graph may have changed since")
    return runs
