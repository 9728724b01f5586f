"""Sessions that were drawn last stay at hand, and what was learnt: looking closer does not read all of it again.

Nothing can be stale: what is kept holds for the chains as they stood, and every new record moves one of them.
"""

from custody.graph.app.learn import LearntGraph, Unit, graph_rules, learn_graph, units_of
from custody.server.page_data.cache import StateCache, chains_of, place_of
from custody.store import Store
from custody.workspace.workspace import Workspace


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
