"""Simulation of a policy: judges every past change as of its opening, and compares the result with its outcome.

The past is the same for every policy: the recorded decisions, not those that would follow without some reviews. Budgets
are spent by the merges of the policy itself.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence

from msgspec import Struct, field

from custody.core.ids import AgentName
from custody.trust.acceptance import is_merge_decision
from custody.trust.approval import (
    ApprovalCase,
    BudgetUse,
    ProposedChange,
    budget_since_ns,
    decide_approval,
    is_drawn_for_audit,
)
from custody.trust.engine import Fold, compute_trust, make_empty_fold
from custody.trust.model import Approval, ChangeAuthor, DecisionEntry, DecisionType, ReviewRequirement
from custody.trust.past_decisions import (
    AcceptanceMemory,
    DecisionSource,
    PastDecision,
    list_decision_times,
    order_decision_events,
)
from custody.trust.rules import TrustRules

SIMULATED_KEY = b"simulation"
"""The key of simulated audit draws: the same history gives the same report."""
NO_SIZE = "TRUST-NO-SIZE"
"""The reason against a change of unknown size: missing data never helps."""


class SimulatedChange(Struct, frozen=True):
    """A change, the verdict of the policy at its opening, and its outcome.

    ``passed``: it passes risk control too. ``reasons`` are the codes against it.
    """

    agent: str
    entry: DecisionEntry
    opened_ns: int
    source: DecisionSource
    reasons: tuple[str, ...]
    score: float
    chance: float
    low: float
    passed: bool
    bad: bool
    reverted: bool

    @property
    def approved(self) -> bool:
        """Return whether it would have merged without review."""
        return not self.reasons

    @property
    def lines(self) -> int:
        """Return its size; 0 if unknown."""
        return self.entry.stakes.lines or 0

    @property
    def modified(self) -> bool:
        """Return whether a reviewer changed it."""
        return self.entry.decision is DecisionType.MODIFIED


class PolicyTally(Struct, frozen=True):
    """Counts of changes: those that merge without review, and the bad ones among them."""

    changes: int = 0
    approved: int = 0
    lines: int = 0
    modified: int = 0
    rejected: int = 0
    reverted: int = 0

    @property
    def bad(self) -> int:
        """Return the number of rejected and reverted changes."""
        return self.rejected + self.reverted

    @property
    def bad_share(self) -> float | None:
        """Return the share of bad changes; None while nothing merges."""
        return self.bad / self.approved if self.approved else None


class SimulationResult(Struct, frozen=True):
    """Every change of the period as a policy judges it."""

    rules: TrustRules
    judged: tuple[SimulatedChange, ...]
    controlled: PolicyTally = field(default_factory=PolicyTally)
    """What merges if risk control applies from the first decision on."""

    def tally(self) -> PolicyTally:
        """Return the counts of all changes."""
        return tally_simulated_changes(self.judged)

    def tally_by_agent(self) -> dict[str, PolicyTally]:
        """Return the counts of each agent, by name."""
        by_agent: dict[str, list[SimulatedChange]] = {}
        for change in self.judged:
            by_agent.setdefault(change.agent, []).append(change)
        return {agent: tally_simulated_changes(by_agent[agent]) for agent in sorted(by_agent)}

    def reasons(self) -> dict[str, int]:
        """Return the number of changes by reason, the most frequent first."""
        counted = Counter(code for change in self.judged for code in dict.fromkeys(change.reasons))
        return dict(sorted(counted.items(), key=lambda row: (-row[1], row[0])))


def tally_simulated_changes(
    judged: Iterable[SimulatedChange], merges: Callable[[SimulatedChange], bool] = lambda change: change.approved
) -> PolicyTally:
    """Count changes, and those of them that land."""
    every = list(judged)
    merged = [change for change in every if merges(change)]
    return PolicyTally(
        changes=len(every),
        approved=len(merged),
        lines=sum(change.lines for change in merged),
        modified=sum(change.modified and not change.bad for change in merged),
        rejected=sum(change.bad and not change.reverted for change in merged),
        reverted=sum(change.reverted for change in merged),
    )


def simulate_policy(
    pasts: Sequence[PastDecision],
    rules: TrustRules,
    since_ns: int,
    step: Callable[[int], None] = lambda _count: None,
) -> SimulationResult:
    """Judge every change opened since ``since_ns`` by ``rules``, with what was known at its opening."""
    simulation = _Simulation(pasts, rules, since_ns)
    for at_ns, opened, place in order_decision_events(list_decision_times(pasts)):
        if opened:
            simulation.open(pasts[place], at_ns)
        else:
            simulation.decide(pasts[place])
            step(1)
    judged = tuple(simulation.judged)
    return SimulationResult(
        rules, judged, tally_simulated_changes(judged, lambda change: change.approved and change.passed)
    )


class _Simulation:
    """A simulation in progress."""

    def __init__(self, pasts: Sequence[PastDecision], rules: TrustRules, since_ns: int) -> None:
        self.judged: list[SimulatedChange] = []
        self._rules = rules
        self._since_ns = since_ns
        self._memory = AcceptanceMemory(rules)
        self._folds: dict[str, Fold] = {}
        self._merged: list[SimulatedChange] = []
        self._opened: set[tuple[str, str]] = set()
        self._reverted = {(past.agent, past.entry.reverts) for past in pasts if isinstance(past.entry, DecisionEntry)}

    def open(self, past: PastDecision, now_ns: int) -> None:
        """Judge a change that is proposed now."""
        estimate = self._memory.open(past, now_ns)
        entry = past.entry
        self._opened.add((past.agent, entry.id))
        if now_ns < self._since_ns or not isinstance(entry, DecisionEntry):
            return
        reverted = (past.agent, entry.id) in self._reverted
        trust = compute_trust(self._score_state(past.agent, now_ns).state, now_ns, self._rules)
        control = self._memory.risk.control(now_ns)
        passed = control.passes(estimate.low)
        # As in a real approval, risk control decides only once there are enough decisions.
        decides = control.seen >= self._rules.chance_decisions_min
        change = _proposed_change_from_decision(past, entry)
        case = ApprovalCase(
            change=change,
            author=ChangeAuthor(past.agent, entry.model, entry.operator),
            trust=trust,
            now_ns=now_ns,
            spent=self._sum_budget_use(past, entry, now_ns),
            risk_objection=f"at least {estimate.low:.3f}" if decides and not passed else None,
            is_drawn=is_drawn_for_audit(change.head, SIMULATED_KEY, self._rules),
        )
        judged = SimulatedChange(
            agent=past.agent,
            entry=entry,
            opened_ns=now_ns,
            source=past.source,
            reasons=_list_review_reason_codes(decide_approval(case, self._rules), entry),
            score=trust.score,
            chance=estimate.probability,
            low=estimate.low,
            passed=passed,
            bad=reverted or not is_merge_decision(entry.decision),
            reverted=reverted,
        )
        self.judged.append(judged)
        if judged.approved:
            self._merged.append(judged)

    def decide(self, past: PastDecision) -> None:
        """Apply a decision."""
        if past.is_change and (past.agent, past.entry.id) not in self._opened:
            self.open(past, past.entry.at_ns)
        self._memory.decide(past)
        self._score_state(past.agent, past.entry.at_ns).take(past.entry)

    def _score_state(self, agent: str, now_ns: int) -> Fold:
        fold = self._folds.get(agent)
        if fold is None:
            fold = self._folds[agent] = Fold(AgentName(agent), self._rules, make_empty_fold(self._rules))
        fold.settle(now_ns)
        return fold

    def _sum_budget_use(self, past: PastDecision, entry: DecisionEntry, now_ns: int) -> BudgetUse:
        since_ns = budget_since_ns(now_ns, self._rules)
        self._merged = merged = [change for change in self._merged if change.opened_ns > since_ns]
        return BudgetUse(
            agent=sum(change.lines for change in merged if change.agent == past.agent),
            operator=sum(change.lines for change in merged if change.entry.operator == entry.operator),
            areas={area: sum(change.lines for change in merged if area in change.entry.areas) for area in entry.areas},
        )


def _proposed_change_from_decision(past: PastDecision, entry: DecisionEntry) -> ProposedChange:
    # An unknown size has a reason of its own.
    lines = entry.stakes.lines or 0
    return ProposedChange(head=entry.commit or entry.id, lines=lines, touched=past.touched or (), areas=entry.areas)


def _list_review_reason_codes(approval: Approval, entry: DecisionEntry) -> tuple[str, ...]:
    codes = tuple(dict.fromkeys(approval.codes))
    if entry.stakes.lines is not None:
        return codes
    return NO_SIZE, *(code for code in codes if code != ReviewRequirement.AUDIT.value)
