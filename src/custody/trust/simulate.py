"""What a policy would have let land: every change of the past is judged as of its opening, and its outcome looked at.

The past is the same for every policy: what was decided about changes, not what would have been decided had some of them
never been reviewed. Budgets are spent by what the policy itself lets land.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from custody.core.ids import AgentName
from custody.trust.approval import ApprovalCase, BudgetUse, ProposedChange, budget_since_ns, may_land
from custody.trust.chance import is_good
from custody.trust.engine import Fold, make_empty_fold, trust_at
from custody.trust.model import Approval, ChangeAuthor, DecisionEntry, DecisionType, ReviewRequirement
from custody.trust.past_decisions import ChanceMemory, DecisionSource, PastDecision, happenings, moments_of
from custody.trust.rules import TrustRules

NO_SIZE = "TRUST-NO-SIZE"
"""The reason against a change whose size nobody recorded: what is not known never helps."""


@dataclass(frozen=True, slots=True)
class SimulatedChange:
    """A change, what the policy would have said when it was opened, and what became of it.

    ``passed``: risk control lets it through as well. ``reasons`` are the codes of what was against it.
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
        """Whether it would have landed without review."""
        return not self.reasons

    @property
    def lines(self) -> int:
        """Its size; 0 where nobody said."""
        return self.entry.stakes.lines or 0

    @property
    def modified(self) -> bool:
        """Whether somebody had to change it."""
        return self.entry.decision is DecisionType.MODIFIED


@dataclass(frozen=True, slots=True)
class PolicyTally:
    """Of so many changes: what lands without review, and what of that was bad."""

    changes: int = 0
    approved: int = 0
    lines: int = 0
    modified: int = 0
    rejected: int = 0
    reverted: int = 0

    @property
    def bad(self) -> int:
        """Rejected, or taken back after it had landed."""
        return self.rejected + self.reverted

    @property
    def bad_share(self) -> float | None:
        """The realised rate; None while nothing lands."""
        return self.bad / self.approved if self.approved else None


@dataclass(frozen=True, slots=True)
class SimulationResult:
    """Every change of the period as a policy judges it."""

    rules: TrustRules
    judged: tuple[SimulatedChange, ...]
    controlled: PolicyTally = field(default_factory=PolicyTally)
    """What lands when risk control has to let it through from the first decision on."""

    def tally(self) -> PolicyTally:
        """All changes."""
        return tally(self.judged)

    def by_agent(self) -> dict[str, PolicyTally]:
        """The changes of each agent, by name."""
        by_agent: dict[str, list[SimulatedChange]] = {}
        for change in self.judged:
            by_agent.setdefault(change.agent, []).append(change)
        return {agent: tally(by_agent[agent]) for agent in sorted(by_agent)}

    def reasons(self) -> dict[str, int]:
        """How often each reason was against a change, the most frequent first."""
        counted = Counter(code for change in self.judged for code in dict.fromkeys(change.reasons))
        return dict(sorted(counted.items(), key=lambda row: (-row[1], row[0])))


def tally(
    judged: Iterable[SimulatedChange], lands: Callable[[SimulatedChange], bool] = lambda change: change.approved
) -> PolicyTally:
    """Count changes, and those of them that land."""
    every = list(judged)
    landed = [change for change in every if lands(change)]
    return PolicyTally(
        changes=len(every),
        approved=len(landed),
        lines=sum(change.lines for change in landed),
        modified=sum(change.modified and not change.bad for change in landed),
        rejected=sum(change.bad and not change.reverted for change in landed),
        reverted=sum(change.reverted for change in landed),
    )


def simulate(
    pasts: Sequence[PastDecision],
    rules: TrustRules,
    since_ns: int,
    step: Callable[[int], None] = lambda _count: None,
) -> SimulationResult:
    """Judge every change opened since a moment by ``rules``, on what had happened until then."""
    play = _Simulation(pasts, rules, since_ns)
    for moment, opened, place in happenings(moments_of(pasts)):
        if opened:
            play.open(pasts[place], moment)
        else:
            play.decide(pasts[place])
            step(1)
    judged = tuple(play.judged)
    return SimulationResult(rules, judged, tally(judged, lambda change: change.approved and change.passed))


class _Simulation:
    """A simulation under way."""

    def __init__(self, pasts: Sequence[PastDecision], rules: TrustRules, since_ns: int) -> None:
        self.judged: list[SimulatedChange] = []
        self._rules = rules
        self._since_ns = since_ns
        self._memory = ChanceMemory(rules)
        self._folds: dict[str, Fold] = {}
        self._landed: list[SimulatedChange] = []
        self._opened: set[tuple[str, str]] = set()
        self._reverted = {(past.agent, past.entry.reverts) for past in pasts if isinstance(past.entry, DecisionEntry)}

    def open(self, past: PastDecision, now_ns: int) -> None:
        """Judge a change that is proposed now."""
        chance = self._memory.open(past, now_ns)
        entry = past.entry
        self._opened.add((past.agent, entry.id))
        if now_ns < self._since_ns or not isinstance(entry, DecisionEntry):
            return
        reverted = (past.agent, entry.id) in self._reverted
        trust = trust_at(self._standing(past.agent, now_ns).standing, now_ns, self._rules)
        control = self._memory.risk.control(now_ns)
        passed = control.passes(chance.low)
        # Risk control speaks once enough was decided about everybody, as it does when a change is really judged.
        decides = control.seen >= self._rules.chance_decisions_min
        case = ApprovalCase(
            change=_proposed(past, entry),
            author=ChangeAuthor(past.agent, entry.model, entry.operator),
            trust=trust,
            now_ns=now_ns,
            spent=self._spent(past, entry, now_ns),
            chance=f"at least {chance.low:.3f}" if decides and not passed else None,
        )
        judged = SimulatedChange(
            agent=past.agent,
            entry=entry,
            opened_ns=now_ns,
            source=past.source,
            reasons=_reasons(may_land(case, self._rules), entry),
            score=trust.score,
            chance=chance.probability,
            low=chance.low,
            passed=passed,
            bad=reverted or not is_good(entry.decision),
            reverted=reverted,
        )
        self.judged.append(judged)
        if judged.approved:
            self._landed.append(judged)

    def decide(self, past: PastDecision) -> None:
        """Take in what was decided."""
        if past.is_change and (past.agent, past.entry.id) not in self._opened:
            self.open(past, past.entry.at_ns)
        self._memory.decide(past)
        self._standing(past.agent, past.entry.at_ns).take(past.entry)

    def _standing(self, agent: str, now_ns: int) -> Fold:
        fold = self._folds.get(agent)
        if fold is None:
            fold = self._folds[agent] = Fold(AgentName(agent), self._rules, make_empty_fold(self._rules))
        fold.settle(now_ns)
        return fold

    def _spent(self, past: PastDecision, entry: DecisionEntry, now_ns: int) -> BudgetUse:
        since_ns = budget_since_ns(now_ns, self._rules)
        self._landed = landed = [change for change in self._landed if change.opened_ns > since_ns]
        return BudgetUse(
            agent=sum(change.lines for change in landed if change.agent == past.agent),
            operator=sum(change.lines for change in landed if change.entry.operator == entry.operator),
            areas={area: sum(change.lines for change in landed if area in change.entry.areas) for area in entry.areas},
        )


def _proposed(past: PastDecision, entry: DecisionEntry) -> ProposedChange:
    # A size that nobody recorded is no small one; the reason is said apart.
    lines = entry.stakes.lines or 0
    return ProposedChange(head=entry.commit or entry.id, lines=lines, touched=past.touched or (), areas=entry.areas)


def _reasons(approval: Approval, entry: DecisionEntry) -> tuple[str, ...]:
    codes = tuple(dict.fromkeys(approval.codes))
    if entry.stakes.lines is not None:
        return codes
    return NO_SIZE, *(code for code in codes if code != ReviewRequirement.AUDIT.value)
