"""Sessions that were drawn last stay at hand, and what was learnt: looking closer does not read all of it again.

Nothing can be stale: what is kept holds for the chains as they stood, and every new record moves one of them.
"""

from collections import OrderedDict
from threading import Lock

from custody.graph.app.learn import LearntGraph, Unit, graph_rules, learn_graph, units_of
from custody.server.page_data.cache import StateCache, chains_of, place_of
from custody.store import Store
from custody.workspace.workspace import Workspace

KEPT_MAX = 4
GraphCacheKey = tuple[str, str, tuple[str, ...], tuple[str, ...]]

_lock = Lock()
_kept: OrderedDict[GraphCacheKey, tuple[Unit, ...]] = OrderedDict()
_LEARNT: StateCache[LearntGraph] = StateCache(most=2)


def learnt_at_hand(workspace: Workspace, store: Store) -> LearntGraph:
    """What was learnt from everything; nobody may teach it more."""
    rules = graph_rules(workspace)
    return _LEARNT.get(
        place_of(workspace), (chains_of(store), rules), workspace.now_ns(), lambda: learn_graph(workspace, store, rules)
    )


def units_at_hand(workspace: Workspace, store: Store, names: tuple[str, ...]) -> tuple[Unit, ...]:
    """These sessions and executions with their spans."""
    key = (workspace.database or str(workspace.home), workspace.project, names, chains_of(store))
    with _lock:
        found = _kept.get(key)
    units = tuple(units_of(store, names)) if found is None else found
    with _lock:
        _kept[key] = units
        _kept.move_to_end(key)
        while len(_kept) > KEPT_MAX:
            _kept.popitem(last=False)
    return units
