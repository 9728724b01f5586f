"""The chance that an agent's change is accepted, and what risk control says to it, from everything recorded here."""

from collections.abc import Sequence
from dataclasses import dataclass

from custody.core.ids import AgentName
from custody.core.views import Decision
from custody.store import ObservedView, Store
from custody.trust.app.decisions import TrustQuery, entries_from
from custody.trust.chance import AcceptanceChance
from custody.trust.engine import replay
from custody.trust.levels import LevelCase
from custody.trust.past_decisions import HERE, ChanceMemory, PastDecision, pasts_of, replay_past
from custody.trust.queries import all_decisions
from custody.trust.risk import RiskControl
from custody.trust.rules import TrustRules
from custody.trust.wire import ChancePart, ChanceReport


@dataclass(frozen=True, slots=True)
class ChanceAccount:
    """The chance of a change with its account, and what risk control allows at that time."""

    chance: AcceptanceChance
    control: RiskControl

    @property
    def against(self) -> str | None:
        """What risk control has against the change, in a sentence; None when it lets it through."""
        control, low = self.control, self.chance.low
        if control.passes(low):
            return None
        realised = "nothing" if control.realised is None else f"{control.realised:.2%}"
        seen = f"target {control.target:.1%}, realised {realised} of {control.passed}"
        if control.threshold is None:
            return f"it cannot be shown from {control.seen} decision(s) that few enough changes are bad ({seen})"
        return f"its chance of acceptance is at least {low:.3f}, below {control.threshold:g} ({seen})"

    def to_report(self) -> ChanceReport:
        """Return the JSON shape."""
        chance, control = self.chance, self.control
        return ChanceReport(
            probability=chance.probability,
            low=chance.low,
            logit=chance.logit,
            samples=chance.samples,
            account=[ChancePart(part.name, part.points, part.value, part.samples) for part in chance.account],
            target=control.target,
            threshold=control.threshold,
            passes=control.passes(chance.low),
            realised=control.realised,
            realised_count=control.passed,
            coverage=control.coverage,
            seen=control.seen,
        )


@dataclass(frozen=True, slots=True)
class ChanceEstimator:
    """Everything that was decided until a time: estimates the chance of any agent's change."""

    memory: ChanceMemory

    def estimate(self, agent: str, opened_ns: int) -> ChanceAccount:
        """The chance of a change of which only its agent is known."""
        return said_by(self.memory, LevelCase(agent, HERE, opened_ns=opened_ns))


def make_chance_estimator(store: Store, asked: TrustQuery) -> ChanceEstimator:
    """Fold everything that was decided until the time asked for; inside one moment of the store."""
    return ChanceEstimator(memory_of(store, asked.rules, asked.now_ns))


def said_by(memory: ChanceMemory, case: LevelCase) -> ChanceAccount:
    """The chance of a change, and what risk control allows when it is opened, from what ``memory`` learned."""
    return ChanceAccount(memory.chances.predict(case), memory.risk.control(case.opened_ns))


def memory_of(
    store: Store, rules: TrustRules, now_ns: int, seen: Sequence[ObservedView[Decision]] | None = None
) -> ChanceMemory:
    """Everything that was recorded until a moment, or these decisions, folded in the order in which they happened."""
    return replay_past(list_counted_decisions(store, rules, now_ns, seen), rules, now_ns)


def list_counted_decisions(
    store: Store, rules: TrustRules, until_ns: int, seen: Sequence[ObservedView[Decision]] | None = None
) -> list[PastDecision]:
    """What counts of everything recorded until a moment, or of these decisions, in the order of the log."""
    by_agent: dict[str, list[ObservedView[Decision]]] = {}
    for decision in all_decisions(store) if seen is None else seen:
        if decision.view.at_ns <= until_ns:
            by_agent.setdefault(decision.view.agent, []).append(decision)
    accounts = {
        agent: replay(AgentName(agent), entries_from(about), rules, now_ns=until_ns)
        for agent, about in by_agent.items()
    }
    pasts = [past for agent, account in accounts.items() for past in pasts_of(agent, account)]
    return sorted(pasts, key=lambda past: (past.entry.at_ns, past.entry.record))
