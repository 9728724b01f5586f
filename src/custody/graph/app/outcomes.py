"""What became of the change that a session wrote, as decisions tell it; the learnt graph does not weigh by it."""

from collections.abc import Iterator, Sequence

from custody.core.ids import SessionId
from custody.core.wire.time import text_from
from custody.graph.app.learn import Unit
from custody.graph.queries.span_views import decisions_between
from custody.graph.wire.report import GraphOutcome
from custody.ledger.queries.sessions import agents_of_session
from custody.store import Store

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
