"""The chance that an agent's change is accepted, and what risk control says to it, from everything recorded here."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from custody.core.ids import AgentName
from custody.core.views import Decision
from custody.store import ObservedView, Store
from custody.trust.app.decisions import TrustQuery, entries_from
from custody.trust.app.folder import trust_rules
from custody.trust.chance import AcceptanceChance, ChanceSummand
from custody.trust.engine import replay
from custody.trust.levels import LevelCase
from custody.trust.past_decisions import HERE, ChanceMemory, PastDecision, pasts_of, replay_past
from custody.trust.queries.decisions import all_decisions
from custody.trust.risk import RiskControl
from custody.trust.rules import TrustRules
from custody.trust.wire.chance import ChancePart, ChanceReport
from custody.workspace.workspace import Workspace


@dataclass(frozen=True, slots=True)
class ChanceAccount:
    """A chance with its account, and the control of risk: the target, and what share of bad ones really came.

    ``samples`` is how many decisions about the agent it rests on, faded. ``realised`` is None while nothing would have
    been let through; ``realised_count`` is how many would.
    """

    chance: AcceptanceChance
    control: RiskControl

    @property
    def probability(self) -> float:
        """The chance of acceptance."""
        return self.chance.probability

    @property
    def low(self) -> float:
        """What the chance is at least."""
        return self.chance.low

    @property
    def account(self) -> tuple[ChanceSummand, ...]:
        """The parts whose sum the log-odds of the chance are."""
        return self.chance.account

    @property
    def samples(self) -> float:
        """How many decisions about the agent, faded, are behind it."""
        return self.chance.samples

    @property
    def target(self) -> float:
        """The share of bad changes that may be let through."""
        return self.control.target

    @property
    def realised(self) -> float | None:
        """The share of bad changes among those that would have been let through."""
        return self.control.realised

    @property
    def realised_count(self) -> int:
        """How many changes would have been let through."""
        return self.control.passed

    @property
    def passes(self) -> bool:
        """Whether risk control lets the change through: it can show that from this lower bound on few are bad."""
        return self.control.passes(self.low)

    @property
    def knows(self) -> bool:
        """Whether risk control can show anything yet; while it cannot, it lets nothing through."""
        return self.control.threshold is not None

    @property
    def against(self) -> str | None:
        """What risk control has against the change, in a sentence; None when it lets it through."""
        if self.passes:
            return None
        seen = f"target {self.target:.1%}, realised {_rate(self.realised)} of {self.realised_count}"
        if self.control.threshold is None:
            return f"it cannot be shown from {self.control.seen} decision(s) that few enough changes are bad ({seen})"
        return f"its chance of acceptance is at least {self.low:.3f}, below {self.control.threshold:g} ({seen})"

    def to_report(self) -> ChanceReport:
        """The same, as it is reported."""
        return ChanceReport(
            probability=self.probability,
            low=self.low,
            logit=self.chance.logit,
            samples=self.samples,
            account=[
                ChancePart(summand.name, summand.points, summand.value, summand.samples) for summand in self.account
            ],
            target=self.target,
            threshold=self.control.threshold,
            passes=self.passes,
            realised=self.realised,
            realised_count=self.realised_count,
            coverage=self.control.coverage,
            seen=self.control.seen,
        )


def chance_of(  # noqa: PLR0913 - a change and where it is asked about
    workspace: Workspace,
    store: Store,
    agent: str,
    operator: str | None,
    areas: Sequence[str],
    lines: int | None,
    now_ns: int,
) -> ChanceAccount:
    """The chance of a change that is opened now; inside one moment of the store. Folds every decision recorded."""
    return said_by(
        memory_of(store, trust_rules(workspace), now_ns), LevelCase(agent, HERE, tuple(areas), operator, lines, now_ns)
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
    """The same, where everything was folded already."""
    here = replace(case, repository=HERE)
    return ChanceAccount(memory.chances.predict(here), memory.risk.control(case.opened_ns))


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
    pasts = [past for agent, about in by_agent.items() for past in _pasts(agent, about, rules, until_ns)]
    return sorted(pasts, key=lambda past: (past.entry.at_ns, past.entry.record))


def _pasts(agent: str, seen: Sequence[ObservedView[Decision]], rules: TrustRules, until_ns: int) -> list[PastDecision]:
    opened = {
        view.id: view.opened_ns for view in (observed_view.view for observed_view in seen) if view.opened_ns is not None
    }
    account = replay(AgentName(agent), entries_from(seen), rules, now_ns=until_ns)
    return list(pasts_of(agent, account, opened))


def _rate(share: float | None) -> str:
    return "nothing" if share is None else f"{share:.2%}"
