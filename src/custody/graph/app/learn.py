"""The call graph: the sum of what each session and execution adds to it.

What each adds is stored. When a session grows, is replaced or loses records, its old part is subtracted and its new one
added, so that the graph is always the one that learning everything again would give.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress

from msgspec import Struct, field

from custody.core.ids import PENDING, ExecutionId, SessionId
from custody.core.record import Record
from custody.core.views import ObservedSpan
from custody.core.wire.body import format_digest
from custody.core.wire.canonical import digest_rule_tables
from custody.core.wire.claims import CLAIM_KINDS, IMPORT_EVENT
from custody.core.wire.time import format_timestamp
from custody.graph import queries as span_views
from custody.graph.app.session_spans import load_session_spans, session_from_execution_id
from custody.graph.calls import SequenceCall, calls_from_spans
from custody.graph.contribution import (
    Contribution,
    GraphSums,
    list_acyclic_edges,
    make_contribution,
    order_acyclic_edges,
    sum_contributions,
    sum_repairs,
)
from custody.graph.engine import GraphEngine, Snapshot
from custody.graph.model import UnitId
from custody.graph.queries import GraphTables, list_decisions_between
from custody.graph.rules import GraphRules
from custody.graph.spans import build_span_forest
from custody.graph.wire.report import GraphOutcome
from custody.ledger.queries import list_session_agents
from custody.store import Store, StoreUnwritable
from custody.workspace.rules_in_force import load_workspace_rules
from custody.workspace.workspace import Workspace

LEARNED_BY = "3"
"""Change it when the same records would give another graph."""


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
    """The current engine, the number of units that it learned from, and the repairs that these needed.

    ``changed`` holds the units whose new part could not be stored.
    """

    engine: GraphEngine
    rules: GraphRules
    units: int = 0
    repairs: dict[str, int] = field(default_factory=dict)
    changed: Mapping[UnitId, Contribution | None] = field(default_factory=dict)

    def list_unit_starts(self, store: Store) -> dict[UnitId, tuple[int, tuple[str, ...]]]:
        """Return when each unit started, and the agents of its calls, by unit."""
        starts = GraphTables(store).unit_starts()
        for unit, contribution in self.changed.items():
            starts.pop(unit, None)
            if contribution is not None:
                starts[unit] = contribution.first_ns, contribution.agents
        return {unit: starts[unit] for unit in sorted(starts)}

    def list_calls(self, store: Store) -> dict[UnitId, tuple[tuple[SequenceCall, ...], ...]]:
        """Return the calls of each unit in order, one run per session in it."""
        calls = GraphTables(store).unit_calls()
        for unit, contribution in self.changed.items():
            calls.pop(unit, None)
            if contribution is not None:
                calls[unit] = contribution.calls
        return calls

    def learn_part(self, store: Store, units: Collection[UnitId]) -> Snapshot:
        """Return the graph of these units alone."""
        contributions = [*GraphTables(store).contributions([unit for unit in units if unit not in self.changed])]
        contributions += [new for unit, new in self.changed.items() if unit in units and new is not None]
        return _engine_from_sums(sum_contributions(contributions, self.rules), self.rules).get_graph_snapshot()


def _engine_from_sums(sums: GraphSums, rules: GraphRules) -> GraphEngine:
    engine = GraphEngine(rules)
    engine.book.load(sums.nodes.values(), sums.edges.values())
    return engine


def load_graph_rules(workspace: Workspace) -> GraphRules:
    """Return the rules in force."""
    return load_workspace_rules(workspace)[0].of(GraphRules)


def learn_call_graph(workspace: Workspace, store: Store, rules: GraphRules) -> LearnedGraph:
    """Return the graph of all units; what changed is learned again and stored if the store is writable."""
    tables = GraphTables(store)
    with store.reading():
        plan = _plan_graph_learning(store, rules)
        new = _learn_changed_units(workspace, store, plan)
        sums = GraphSums() if plan.is_fresh_start else GraphSums(tables.nodes(), tables.edges())
        if new or plan.changed:
            _replace_stored_parts(tables, plan, sums, new, rules)
        repairs = [] if plan.is_fresh_start else tables.unit_repairs()
    changed: dict[UnitId, Contribution | None] = dict.fromkeys(plan.changed) | {each.unit: each for each in new}
    is_stored = not changed and not plan.is_behind and not (plan.is_fresh_start and plan.stored)
    if not is_stored:
        with suppress(StoreUnwritable), store.writing():  # the next query learns it again
            is_stored = _store_learned_graph(store, plan, sums, new)
    return LearnedGraph(
        _engine_from_sums(sums, rules),
        rules,
        len(plan.places),
        sum_repairs([*(found for unit, found in repairs if unit not in changed), *(each.repairs for each in new)]),
        {} if is_stored else changed,
    )


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
    """The units to learn or to remove, whether everything is new, and the stored state when that was decided."""

    version: str
    stored: dict[str, tuple[int, str]]
    changed: tuple[UnitId, ...]
    places: dict[UnitId, int]
    heads: dict[str, int]
    is_fresh_start: bool

    @property
    def is_behind(self) -> bool:
        """Return whether a chain has records that were not read."""
        return any(self.stored.get(name, (0, ""))[0] < seq for name, seq in self.heads.items())


def _plan_graph_learning(store: Store, rules: GraphRules) -> _LearnPlan:
    tables = GraphTables(store)
    version = f"{LEARNED_BY} {format_digest(digest_rule_tables({'graph': rules}))} {store.views.version}"
    stored, known = tables.state(), tables.units()
    heads: dict[str, int] = {head.store: int(head.seq) for head in store.tables.chains() if head.store != PENDING}
    is_fresh_start = any(by != version or heads.get(name, 0) < seq for name, (seq, by) in stored.items())
    places = _count_call_unit_rows(store)
    if is_fresh_start:
        return _LearnPlan(version, stored, tuple(sorted(places)), places, heads, is_fresh_start=True)
    touched = _find_changed_call_units(store, stored)
    changed = {unit for unit, count in places.items() if unit in touched or known.get(unit) != count}
    changed |= known.keys() - places.keys()
    return _LearnPlan(version, stored, tuple(sorted(changed)), places, heads, is_fresh_start=False)


def _learn_changed_units(workspace: Workspace, store: Store, plan: _LearnPlan) -> list[Contribution]:
    workspace.progress.start("learning from sessions", len(plan.changed))
    contributions: list[Contribution] = []
    for unit in iterate_call_units(store, (unit for unit in plan.changed if unit in plan.places)):
        contributions.append(make_contribution(unit.key, unit.spans))
        workspace.progress.step(1)
    return contributions


def _replace_stored_parts(
    tables: GraphTables, plan: _LearnPlan, sums: GraphSums, new: Sequence[Contribution], rules: GraphRules
) -> None:
    """Replace the stored parts of the changed units in ``sums``."""
    changed = set(plan.changed)
    old = [] if plan.is_fresh_start else [*tables.contributions(changed)]
    sums.replace(old, new, lambda key: [edge for unit, edge in tables.parts_of_edge(key) if unit not in changed], rules)
    positions = list_acyclic_edges(new)
    if sorted(positions) != sorted(list_acyclic_edges(old)):
        others = [] if plan.is_fresh_start else tables.acyclic_edges()
        positions += [position for unit, position in others if unit not in changed]
        sums.set_aside(order_acyclic_edges(positions))


def _store_learned_graph(store: Store, plan: _LearnPlan, sums: GraphSums, new: Sequence[Contribution]) -> bool:
    """Store what was learned, inside a write; if another process stored meanwhile, skip it: nothing counts twice."""
    tables = GraphTables(store)
    if tables.state() != plan.stored:
        return False
    if plan.is_fresh_start:
        tables.forget()
    tables.delete_units(plan.changed)
    tables.put_contributions(new, plan.places)
    tables.delete(sums.changed_nodes - sums.nodes.keys(), sums.changed_edges - sums.edges.keys())
    tables.put(
        [sums.nodes[name] for name in sorted(sums.changed_nodes & sums.nodes.keys())],
        [sums.edges[key] for key in sorted(sums.changed_edges & sums.edges.keys())],
    )
    for name, seq in plan.heads.items():
        tables.set_state(name, seq, plan.version)
    return True


def _find_changed_call_units(store: Store, stored: dict[str, tuple[int, str]]) -> set[UnitId]:
    """Return the units with records that are newer than the stored state."""
    changed: set[UnitId] = set()
    for head in store.tables.chains():
        changed |= GraphTables(store).list_units_after(head.store, stored.get(head.store, (0, ""))[0])
    return changed


def list_call_units(store: Store) -> tuple[UnitId, ...]:
    """Return the id of every session and execution with recorded calls."""
    return tuple(sorted(_count_call_unit_rows(store)))


def _count_call_unit_rows(store: Store) -> dict[UnitId, int]:
    """Return the view rows of each unit, without executions that are exported and reimported sessions of this store."""
    counts = GraphTables(store).count_unit_rows()
    exported = {
        unit: session[1]
        for unit in counts
        if unit.kind == "execution" and (session := session_from_execution_id(unit.id)) is not None
    }
    return {
        unit: count
        for unit, count in counts.items()
        if unit not in exported or UnitId("session", exported[unit]) not in counts
    }


def list_imported_call_units(store: Store) -> set[UnitId]:
    """Return the ids of the sessions and executions with claims: imported records, or generic events."""
    return GraphTables(store).list_imported_units(IMPORT_EVENT, sorted(CLAIM_KINDS))


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
