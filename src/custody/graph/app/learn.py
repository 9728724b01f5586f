"""The graph of what was called here: learnt once from what is over, and again at each question from what may go on.

A session or an execution is learnt for good when nothing came of it for ``graph.settled_hours``. When more comes of one
that was learnt, everything is learnt again: counts cannot be taken back.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from custody.core.ids import PENDING, ExecutionId, SessionId
from custody.core.record import Record
from custody.core.views import ObservedSpan
from custody.core.wire.body import digest_text
from custody.core.wire.canonical import rules_digest
from custody.core.wire.time import text_from
from custody.graph import queries as span_views
from custody.graph.app.session_spans import spans_of_session
from custody.graph.calls import SequenceCall, calls_of
from custody.graph.engine import GraphEngine
from custody.graph.queries import GraphTables, decisions_between
from custody.graph.rules import GraphRules
from custody.graph.spans import forest_of
from custody.graph.wire.report import GraphOutcome
from custody.ledger.queries import agents_of_session
from custody.ledger.records import BROUGHT_KINDS, IMPORT_EVENT
from custody.store import Store, StoreUnwritable
from custody.workspace.rules_in_force import load_rules
from custody.workspace.workspace import Workspace

LEARNT_BY = "2"
"""Another number means that the same records would be learnt otherwise."""
OPEN = -1
"""What is kept in place of a number of records: it was seen, and may go on."""
HOUR_NS = 3_600 * 1_000_000_000


@dataclass(frozen=True, slots=True)
class Unit:
    """A session or an execution with its spans."""

    name: str
    spans: tuple[ObservedSpan, ...]

    @property
    def id(self) -> str:
        """Its own id, without what it is."""
        return self.name.partition(":")[2]

    def calls(self) -> list[list[SequenceCall]]:
        """Its calls in order, a list for each session in it."""
        return list(calls_of(forest_of(self.spans).spans).values())

    @property
    def first_ns(self) -> int:
        """When it began."""
        return min((_began(span) for span in self.spans), default=0)

    @property
    def last_ns(self) -> int:
        """When something of it was last seen."""
        return max((span.ended_ns or span.started_ns or 0 for span in self.spans), default=0)


@dataclass(slots=True)
class LearntGraph:
    """The engine as it is now, and what had to be mended in what was learnt just now."""

    engine: GraphEngine
    rules: GraphRules
    units: int = 0
    repairs: dict[str, int] = field(default_factory=dict)

    def take(self, unit: Unit) -> None:
        """Learn from one."""
        for code, count in self.engine.update_from_code_execution(unit.spans).repairs.items():
            self.repairs[code.value] = self.repairs.get(code.value, 0) + count


def graph_rules(workspace: Workspace) -> GraphRules:
    """The rules in force."""
    return load_rules(workspace)[0].of(GraphRules)


def learn_graph(workspace: Workspace, store: Store, rules: GraphRules) -> LearntGraph:
    """The graph as the store's records make it now; what is over is kept for the next question where that can be."""
    found = LearntGraph(GraphEngine(rules), rules)
    with store.reading():
        plan = _planned(store, rules)
        if not plan.anew:
            found.engine.sync_from_database(GraphTables(store))
        over, going_on = _learn_units(workspace, store, plan, found)
    try:
        with store.writing():
            _keep(store, plan, found.engine, over, going_on)
    except StoreUnwritable:
        pass  # the next question learns it again
    for unit in going_on:
        found.take(unit)
    found.units = len(plan.known) + len(over) + len(going_on)
    return found


def units_of(store: Store, names: Iterable[str], counts: Callable[[Record], bool] | None = None) -> Iterator[Unit]:
    """These sessions and executions with their spans; with ``counts`` as the records show them that it lets through."""
    for name in names:
        kind, _, id_ = name.partition(":")
        if kind == "session":
            yield Unit(name, tuple(spans_of_session(store, SessionId(id_), counts=counts)))
        else:
            yield Unit(name, tuple(spans_of_execution(store, id_, counts)))


def spans_of_execution(
    store: Store, execution: str, counts: Callable[[Record], bool] | None = None
) -> Iterator[ObservedSpan]:
    """What was recorded of an execution, in the order of recording."""
    for seen in span_views.spans_of_execution(store, ExecutionId(execution)):
        if (counts is None or counts(seen.record)) and seen.view.execution == execution:
            yield seen.view


def spans_traced_in(store: Store, session: SessionId) -> Iterator[ObservedSpan]:
    """Yield the recorded spans of every execution that ran in an agent's session."""
    for execution in sorted(span_views.executions_of_session(store, session)):
        yield from spans_of_execution(store, execution)


@dataclass(frozen=True, slots=True)
class _LearnPlan:
    """What is to be learnt: which units, whether everything anew, and what was kept when that was decided."""

    version: str
    kept: dict[str, tuple[int, str]]
    known: dict[str, int]
    waiting: tuple[str, ...]
    places: dict[str, int]
    heads: dict[str, int]
    anew: bool


def _planned(store: Store, rules: GraphRules) -> _LearnPlan:
    tables = GraphTables(store)
    version = f"{LEARNT_BY} {digest_text(rules_digest({'graph': rules}))} {store.views.version}"
    kept, known = tables.state(), tables.units()
    heads: dict[str, int] = {head.store: int(head.seq) for head in store.tables.chains() if head.store != PENDING}
    anew = any(by != version or heads.get(name, 0) < seq for name, (seq, by) in kept.items())
    waiting = _without_copies(store, _touched(store, kept)) | {unit for unit, places in known.items() if places == OPEN}
    places = tables.places(sorted(waiting))
    # Of what was learnt more has come: its counts cannot be taken back.
    anew = anew or any(known.get(unit, OPEN) not in (OPEN, places[unit]) for unit in waiting)
    if anew:
        every = list_units(store)
        return _LearnPlan(version, kept, {}, every, tables.places(every), heads, anew=True)
    over = {unit: count for unit, count in known.items() if count != OPEN}
    return _LearnPlan(version, kept, over, tuple(sorted(waiting - over.keys())), places, heads, anew=False)


def _learn_units(
    workspace: Workspace, store: Store, plan: _LearnPlan, found: LearntGraph
) -> tuple[list[str], list[Unit]]:
    """Learn from the units that are over, one at a time; given back are their names, and the units that may go on."""
    over_ns = workspace.now_ns() - int(found.rules.settled_hours * HOUR_NS)
    over: list[str] = []
    going_on: list[Unit] = []
    workspace.progress.start("learning from sessions", len(plan.waiting))
    for unit in units_of(store, plan.waiting):
        if unit.last_ns <= over_ns:
            found.take(unit)
            over.append(unit.name)
        else:
            going_on.append(unit)
        workspace.progress.step(1)
    return over, going_on


def _keep(store: Store, plan: _LearnPlan, engine: GraphEngine, over: Sequence[str], going_on: Sequence[Unit]) -> None:
    """Inside a write: keep what was learnt, unless somebody else kept something meanwhile: nothing counts twice."""
    tables = GraphTables(store)
    if tables.state() != plan.kept:
        return
    if plan.anew:
        tables.forget()
    engine.persist_edges(tables)
    tables.put_units({name: plan.places[name] for name in over})
    tables.put_units({unit.name: OPEN for unit in going_on})
    for name, seq in plan.heads.items():
        tables.set_state(name, seq, plan.version)


def _touched(store: Store, done: dict[str, tuple[int, str]]) -> set[str]:
    """The units of which something came since the last time."""
    found: set[str] = set()
    for head in store.tables.chains():
        found |= GraphTables(store).touched(head.store, done.get(head.store, (0, ""))[0])
    return found


def list_units(store: Store) -> tuple[str, ...]:
    """Every session and every execution of which calls were recorded, by name."""
    every = {unit for head in store.tables.chains() for unit in GraphTables(store).touched(head.store, 0)}
    return tuple(sorted(_without_copies(store, every)))


def imported_units(store: Store) -> set[str]:
    """Return the names of the sessions and executions that an import tells of."""
    return GraphTables(store).brought(IMPORT_EVENT, sorted(BROUGHT_KINDS))


def _without_copies(store: Store, units: set[str]) -> set[str]:
    """Without executions that are sessions of this store which were exported and came back."""
    sessions = {unit: f"session:{unit.partition(':')[2].partition(':')[2]}" for unit in units if unit.count(":") > 1}
    places = GraphTables(store).places(sorted(set(sessions.values())))
    return {unit for unit in units if not (unit.startswith("execution:") and places.get(sessions.get(unit, ""), 0))}


def _began(span: ObservedSpan) -> int:
    return span.started_ns or span.ended_ns or 0


# What became of the change that a session wrote, as decisions tell it; the learnt graph does not weigh by it.


LATER_DAYS_MAX = 90
"""Longer after a session nobody looks for what became of its change."""
DAY_NS = 86_400 * 1_000_000_000


def outcomes_of(store: Store, units: Sequence[Unit]) -> list[GraphOutcome]:
    """What was told of the changes that these sessions wrote lines of, the oldest first: the last one stands."""
    outcomes = {
        outcome.record: outcome
        for unit in units
        if unit.name.startswith("session:")
        for outcome in _iterate_outcomes(store, unit)
    }
    return sorted(outcomes.values(), key=lambda outcome: (outcome.at, outcome.record))


def _iterate_outcomes(store: Store, unit: Unit) -> Iterator[GraphOutcome]:
    for agent in agents_of_session(store, SessionId(unit.id)):
        until_ns = unit.last_ns + LATER_DAYS_MAX * DAY_NS
        for seen in decisions_between(store, agent, unit.first_ns, until_ns):
            view = seen.view
            if view.outcome is not None and unit.id in view.sessions:
                yield GraphOutcome(
                    session=unit.id,
                    agent=view.agent,
                    told=view.outcome,
                    commit=view.commit,
                    at=text_from(view.at_ns),
                    record=str(seen.record.ref),
                )
