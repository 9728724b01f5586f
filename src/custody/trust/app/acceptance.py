"""The acceptance probability of an agent's change and the decision of risk control, from all recorded decisions."""

from collections.abc import Callable, Sequence

from msgspec import Struct

from custody.core.ids import AgentName
from custody.core.plural import count_noun
from custody.core.views import Decision
from custody.store import ObservedView, Store
from custody.trust.acceptance import AcceptanceEstimate
from custody.trust.app.decisions import TrustQuery, decision_entries_from_views
from custody.trust.engine import replay_decisions
from custody.trust.levels import LevelCase
from custody.trust.model import Entry
from custody.trust.past_decisions import (
    HERE,
    AcceptanceMemory,
    PastDecision,
    past_decisions_from_account,
    replay_past_decisions,
)
from custody.trust.queries import list_all_decisions
from custody.trust.risk import RiskControl
from custody.trust.rules import TrustRules
from custody.trust.wire import ChancePart, ChanceReport

EntrySelection = Callable[[AgentName, Sequence[Entry]], Sequence[Entry]]
"""Returns the entries about an agent that count."""


class AcceptanceAccount(Struct, frozen=True):
    """The acceptance estimate of a change, and what risk control allows at that time."""

    estimate: AcceptanceEstimate
    control: RiskControl

    @property
    def against(self) -> str | None:
        """Return the objection of risk control as a sentence; None if the change passes."""
        control, low = self.control, self.estimate.low
        if control.passes(low):
            return None
        realized = "none yet" if control.realised is None else f"{control.realised:.2%} of {control.passed:,}"
        risk = f"risk target {control.target:.1%}, realized {realized}"
        if control.threshold is None:
            return f"{count_noun(control.seen, 'decision')} cannot show that few enough changes are bad ({risk})"
        return f"the acceptance probability is at least {low:.2f}, below {control.threshold:g} ({risk})"

    def to_report(self) -> ChanceReport:
        """Return the JSON shape."""
        estimate, control = self.estimate, self.control
        return ChanceReport(
            probability=estimate.probability,
            low=estimate.low,
            logit=estimate.logit,
            samples=estimate.samples,
            account=[ChancePart(part.name, part.points, part.value, part.samples) for part in estimate.account],
            target=control.target,
            threshold=control.threshold,
            passes=control.passes(estimate.low),
            realised=control.realised,
            realised_count=control.passed,
            coverage=control.coverage,
            seen=control.seen,
        )


class AcceptanceEstimator(Struct, frozen=True):
    """Estimates the acceptance of any agent's change, from all decisions until a time."""

    memory: AcceptanceMemory

    def estimate(self, agent: str, opened_ns: int) -> AcceptanceAccount:
        """Estimate a change by its agent alone."""
        return estimate_acceptance(self.memory, LevelCase(agent, HERE, opened_ns=opened_ns))


def make_acceptance_estimator(store: Store, query: TrustQuery) -> AcceptanceEstimator:
    """Learn all decisions until the time of the query; call it inside one read transaction."""
    return AcceptanceEstimator(learn_acceptance_from_decisions(store, query.rules, query.now_ns))


def estimate_acceptance(memory: AcceptanceMemory, case: LevelCase) -> AcceptanceAccount:
    """Estimate a change at its opening, with what risk control allows then."""
    return AcceptanceAccount(memory.model.predict(case), memory.risk.control(case.opened_ns))


def learn_acceptance_from_decisions(
    store: Store,
    rules: TrustRules,
    now_ns: int,
    decisions: Sequence[ObservedView[Decision]] | None = None,
    select: EntrySelection | None = None,
) -> AcceptanceMemory:
    """Learn all decisions recorded until a time, or these decisions, in the order in which they happened."""
    return replay_past_decisions(list_counted_decisions(store, rules, now_ns, decisions, select), rules, now_ns)


def list_counted_decisions(
    store: Store,
    rules: TrustRules,
    until_ns: int,
    decisions: Sequence[ObservedView[Decision]] | None = None,
    select: EntrySelection | None = None,
) -> list[PastDecision]:
    """List what counts of all decisions recorded until a time, or of these decisions, in the order of the log.

    ``select`` returns the entries about an agent that are replayed.
    """
    by_agent: dict[str, list[ObservedView[Decision]]] = {}
    for decision in list_all_decisions(store) if decisions is None else decisions:
        if decision.view.at_ns <= until_ns:
            by_agent.setdefault(decision.view.agent, []).append(decision)
    entries = {AgentName(agent): list(decision_entries_from_views(about)) for agent, about in by_agent.items()}
    accounts = {
        agent: replay_decisions(agent, about if select is None else select(agent, about), rules, now_ns=until_ns)
        for agent, about in entries.items()
    }
    pasts = [past for agent, account in accounts.items() for past in past_decisions_from_account(agent, account)]
    return sorted(pasts, key=lambda past: (past.entry.at_ns, past.entry.record))
