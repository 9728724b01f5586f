"""The call graph: learned once from finished sessions, and again for each query from those that may continue.

A session or an execution is finished when nothing was added to it for ``graph.settled_hours``. When more is added to a
finished one, everything is learned again, because counts cannot be subtracted.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence

from msgspec import Struct, field

from custody.core.ids import PENDING, ExecutionId, SessionId
from custody.core.record import Record
from custody.core.views import ObservedSpan
from custody.core.wire.body import format_digest
from custody.core.wire.canonical import digest_rule_tables
from custody.core.wire.time import format_timestamp
from custody.graph import queries as span_views
from custody.graph.app.session_spans import load_session_spans, session_from_execution_id
from custody.graph.calls import SequenceCall, calls_from_spans
from custody.graph.engine import GraphEngine
from custody.graph.model import UnitId
from custody.graph.queries import GraphTables, list_decisions_between
from custody.graph.rules import GraphRules
from custody.graph.spans import build_span_forest
from custody.graph.wire.report import GraphOutcome
from custody.ledger.queries import list_session_agents
from custody.ledger.records import CLAIM_KINDS, IMPORT_EVENT
from custody.store import Store, StoreUnwritable
from custody.workspace.rules_in_force import load_workspace_rules
from custody.workspace.workspace import Workspace

LEARNED_BY = "2"
"""Change it when the same records would give another graph."""
OPEN = -1
"""Stored in place of a number of records for a unit that may continue."""
HOUR_NS = 3_600 * 1_000_000_000


class Unit(Struct, frozen=True):
    """A session or an execution with its spans."""

    key: UnitId
    spans: tuple[ObservedSpan, ...]

    @property
    def id(self) -> str:
        """Return the id of the session or execution."""
        return self.key.id

    def calls(self) -> list[list[SequenceCall]]:
        """Return its calls in order, one list per session in it."""
        return list(calls_from_spans(build_span_forest(self.spans).spans).values())

    @property
    def first_ns(self) -> int:
        """Return when it started."""
        return min((_find_span_start(span) for span in self.spans), default=0)

    @property
    def last_ns(self) -> int:
        """Return the time of its last span."""
        return max((span.ended_ns or span.started_ns or 0 for span in self.spans), default=0)


class LearnedGraph(Struct):
    """The current engine, and the repairs of what was learned just now."""

    engine: GraphEngine
    rules: GraphRules
    units: int = 0
    repairs: dict[str, int] = field(default_factory=dict)

    def learn_unit(self, unit: Unit) -> None:
        """Learn from one unit."""
        for code, count in self.engine.update_from_code_execution(unit.spans).repairs.items():
            self.repairs[code.value] = self.repairs.get(code.value, 0) + count


def load_graph_rules(workspace: Workspace) -> GraphRules:
    """Return the rules in force."""
    return load_workspace_rules(workspace)[0].of(GraphRules)


def learn_call_graph(workspace: Workspace, store: Store, rules: GraphRules) -> LearnedGraph:
    """Learn the graph from the store's records; if the store is writable, finished units are stored for later."""
    learned = LearnedGraph(GraphEngine(rules), rules)
    with store.reading():
        plan = _plan_graph_learning(store, rules)
        if not plan.is_fresh_start:
            learned.engine.sync_from_database(GraphTables(store))
        finished, unfinished = _learn_finished_units(workspace, store, plan, learned)
    try:
        with store.writing():
            _store_learned_graph(store, plan, learned.engine, finished, unfinished)
    except StoreUnwritable:
        pass  # the next query learns it again
    for unit in unfinished:
        learned.learn_unit(unit)
    learned.units = len(plan.known) + len(finished) + len(unfinished)
    return learned


def iterate_call_units(
    store: Store, keys: Iterable[UnitId], counts: Callable[[Record], bool] | None = None
) -> Iterator[Unit]:
    """Yield these sessions and executions with their spans; ``counts`` selects the records that count."""
    for key in keys:
        if key.kind == "session":
            yield Unit(key, tuple(load_session_spans(store, SessionId(key.id), counts=counts)))
        else:
            yield Unit(key, tuple(iterate_execution_spans(store, key.id, counts)))


def iterate_execution_spans(
    store: Store, execution: str, counts: Callable[[Record], bool] | None = None
) -> Iterator[ObservedSpan]:
    """Yield the recorded spans of an execution, in the order of recording."""
    for observed in span_views.query_execution_spans(store, ExecutionId(execution)):
        if (counts is None or counts(observed.record)) and observed.view.execution == execution:
            yield observed.view


def iterate_traced_session_spans(store: Store, session: SessionId) -> Iterator[ObservedSpan]:
    """Yield the recorded spans of every execution that ran in an agent's session."""
    for execution in sorted(span_views.list_session_executions(store, session)):
        yield from iterate_execution_spans(store, execution)


class _LearnPlan(Struct, frozen=True):
    """The units to learn, whether to learn everything again, and the stored state when that was decided."""

    version: str
    stored: dict[str, tuple[int, str]]
    known: dict[UnitId, int]
    waiting: tuple[UnitId, ...]
    places: dict[UnitId, int]
    heads: dict[str, int]
    is_fresh_start: bool


def _plan_graph_learning(store: Store, rules: GraphRules) -> _LearnPlan:
    tables = GraphTables(store)
    version = f"{LEARNED_BY} {format_digest(digest_rule_tables({'graph': rules}))} {store.views.version}"
    stored, known = tables.state(), tables.units()
    heads: dict[str, int] = {head.store: int(head.seq) for head in store.tables.chains() if head.store != PENDING}
    is_fresh_start = any(by != version or heads.get(name, 0) < seq for name, (seq, by) in stored.items())
    waiting = _drop_reimported_executions(store, _find_changed_call_units(store, stored)) | {
        unit for unit, places in known.items() if places == OPEN
    }
    places = tables.places(sorted(waiting))
    # A learned unit has more records now: its counts cannot be subtracted.
    is_fresh_start = is_fresh_start or any(known.get(unit, OPEN) not in (OPEN, places[unit]) for unit in waiting)
    if is_fresh_start:
        every = list_call_units(store)
        return _LearnPlan(version, stored, {}, every, tables.places(every), heads, is_fresh_start=True)
    finished = {unit: count for unit, count in known.items() if count != OPEN}
    return _LearnPlan(
        version, stored, finished, tuple(sorted(waiting - finished.keys())), places, heads, is_fresh_start=False
    )


def _learn_finished_units(
    workspace: Workspace, store: Store, plan: _LearnPlan, learned: LearnedGraph
) -> tuple[list[UnitId], list[Unit]]:
    """Learn from the finished units; return their ids, and the units that may continue."""
    finished_ns = workspace.now_ns() - int(learned.rules.settled_hours * HOUR_NS)
    finished: list[UnitId] = []
    unfinished: list[Unit] = []
    workspace.progress.start("learning from sessions", len(plan.waiting))
    for unit in iterate_call_units(store, plan.waiting):
        if unit.last_ns <= finished_ns:
            learned.learn_unit(unit)
            finished.append(unit.key)
        else:
            unfinished.append(unit)
        workspace.progress.step(1)
    return finished, unfinished


def _store_learned_graph(
    store: Store, plan: _LearnPlan, engine: GraphEngine, finished: Sequence[UnitId], unfinished: Sequence[Unit]
) -> None:
    """Store what was learned, inside a write; if another process stored meanwhile, skip it: nothing counts twice."""
    tables = GraphTables(store)
    if tables.state() != plan.stored:
        return
    if plan.is_fresh_start:
        tables.forget()
    engine.persist_edges(tables)
    tables.put_units({key: plan.places[key] for key in finished})
    tables.put_units({unit.key: OPEN for unit in unfinished})
    for name, seq in plan.heads.items():
        tables.set_state(name, seq, plan.version)


def _find_changed_call_units(store: Store, stored: dict[str, tuple[int, str]]) -> set[UnitId]:
    """Return the units with records that are newer than the stored state."""
    changed: set[UnitId] = set()
    for head in store.tables.chains():
        changed |= GraphTables(store).list_units_after(head.store, stored.get(head.store, (0, ""))[0])
    return changed


def list_call_units(store: Store) -> tuple[UnitId, ...]:
    """Return the id of every session and execution with recorded calls."""
    every = {unit for head in store.tables.chains() for unit in GraphTables(store).list_units_after(head.store, 0)}
    return tuple(sorted(_drop_reimported_executions(store, every)))


def list_imported_call_units(store: Store) -> set[UnitId]:
    """Return the ids of the sessions and executions with claims: imported records, or generic events."""
    return GraphTables(store).list_imported_units(IMPORT_EVENT, sorted(CLAIM_KINDS))


def _drop_reimported_executions(store: Store, units: set[UnitId]) -> set[UnitId]:
    """Return the units without executions that are exported and reimported sessions of this store."""
    exported = ((unit, session_from_execution_id(unit.id)) for unit in units if unit.kind == "execution")
    sessions = {unit: UnitId("session", session[1]) for unit, session in exported if session is not None}
    places = GraphTables(store).places(sorted(set(sessions.values())))
    return {unit for unit in units if unit not in sessions or not places[sessions[unit]]}


def _find_span_start(span: ObservedSpan) -> int:
    return span.started_ns or span.ended_ns or 0


# The outcome of the change that a session wrote, from decisions; it does not affect the learned graph.


LATER_DAYS_MAX = 90
"""Decisions later than this after a session are not considered."""
DAY_NS = 86_400 * 1_000_000_000


def list_call_unit_outcomes(store: Store, units: Sequence[Unit]) -> list[GraphOutcome]:
    """Return the outcomes of the changes that these sessions wrote lines of, oldest first: the last one is current."""
    outcomes = {
        outcome.record: outcome
        for unit in units
        if unit.key.kind == "session"
        for outcome in _iterate_call_unit_outcomes(store, unit)
    }
    return sorted(outcomes.values(), key=lambda outcome: (outcome.at, outcome.record))


def _iterate_call_unit_outcomes(store: Store, unit: Unit) -> Iterator[GraphOutcome]:
    for agent in list_session_agents(store, SessionId(unit.id)):
        until_ns = unit.last_ns + LATER_DAYS_MAX * DAY_NS
        for decision in list_decisions_between(store, agent, unit.first_ns, until_ns):
            view = decision.view
            if view.outcome is not None and unit.id in view.sessions:
                yield GraphOutcome(
                    session=unit.id,
                    agent=view.agent,
                    told=view.outcome,
                    commit=view.commit,
                    at=format_timestamp(view.at_ns),
                    record=str(decision.record.ref),
                )
