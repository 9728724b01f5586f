"""What was decided about everybody's changes, and what can be learnt from it in the order in which it happened.

A change is predicted at its opening and learnt at its decision; one that was taken back is learnt once more, as bad.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from custody.trust.approval import TouchedPath
from custody.trust.chance import AcceptanceChance, Chances, is_good
from custody.trust.levels import LevelCase
from custody.trust.model import Account, DecisionEntry, DecisionType, RecoveryEntry
from custody.trust.risk import Risk
from custody.trust.rules import TrustRules

DecisionSource = Literal["records", "git"]

HERE = "here"
"""The one repository that a store's decisions are about."""


@dataclass(frozen=True, slots=True)
class PastDecision:
    """An entry that counts about an agent: a decision as it stands, or a recovery.

    ``touched`` is None where the paths of the change are not known.
    """

    agent: str
    entry: DecisionEntry | RecoveryEntry
    touched: tuple[TouchedPath, ...] | None = None
    source: DecisionSource = "records"

    @property
    def opened_ns(self) -> int:
        """When the change was proposed, at the latest when it was decided."""
        opened_ns = self.entry.opened_ns if isinstance(self.entry, DecisionEntry) else None
        return self.entry.at_ns if opened_ns is None else min(opened_ns, self.entry.at_ns)

    @property
    def case(self) -> LevelCase | None:
        """The change, as its chance is asked for; None of a recovery, which is about none."""
        if not isinstance(self.entry, DecisionEntry):
            return None
        entry = self.entry
        return LevelCase(self.agent, HERE, entry.areas, entry.operator, entry.stakes.lines, self.opened_ns)

    @property
    def is_change(self) -> bool:
        """Whether a change was proposed; a revert and a recovery are about one that was before."""
        return isinstance(self.entry, DecisionEntry) and self.entry.reverts is None


def pasts_of(agent: str, account: Account) -> Iterator[PastDecision]:
    """What counts of an agent's account, each decision as it stands after overrides and when it counts."""
    for step in account.steps:
        entry = step.entry
        if not step.counts:
            continue
        if isinstance(entry, RecoveryEntry):
            yield PastDecision(agent, entry)
        elif isinstance(entry, DecisionEntry) and step.decision is not None:
            opened_ns = PastDecision(agent, entry).opened_ns
            stands = replace(entry, decision=step.decision, at_ns=step.at_ns, unreviewed=False, opened_ns=opened_ns)
            yield PastDecision(agent, stands)


def happenings(moments: Sequence[tuple[int, int]]) -> list[tuple[int, bool, int]]:
    """Moment, whether something is opened (else decided), and which; each is given by opening and decision.

    Of one moment, decisions come first. What is opened and decided at once is only decided.

    >>> happenings([(1, 5), (5, 5), (5, 7)])
    [(1, True, 0), (5, False, 0), (5, False, 1), (5, True, 2), (7, False, 2)]
    """
    decided = [(moment, False, place) for place, (_, moment) in enumerate(moments)]
    opened = [(moment, True, place) for place, (moment, end) in enumerate(moments) if moment < end]
    return sorted(decided + opened)


def moments_of(pasts: Iterable[PastDecision]) -> list[tuple[int, int]]:
    """When each was opened and decided; what is no change was never opened."""
    return [(past.opened_ns if past.is_change else past.entry.at_ns, past.entry.at_ns) for past in pasts]


@dataclass(frozen=True, slots=True)
class _Forecast:
    """What was said of a change when it was opened, and whether risk control would have let it through."""

    chance: AcceptanceChance
    passed: bool


@dataclass(frozen=True, slots=True)
class _MergedChange:
    """What is needed of a change that was good so far, should it be taken back."""

    low: float
    passed: bool
    decided_ns: int


class ChanceMemory:
    """Chances and risk control, told what happened in order."""

    def __init__(self, rules: TrustRules) -> None:
        self.chances = Chances(rules)
        self.risk = Risk(rules)
        self._open: dict[str, _Forecast] = {}
        self._landed: dict[str, _MergedChange] = {}

    def open(self, past: PastDecision, now_ns: int) -> AcceptanceChance:
        """Say what the chance of a change is."""
        case = past.case
        assert case is not None, "only a change is opened"
        chance = self.chances.predict(replace(case, opened_ns=now_ns))
        self._open[_name(past)] = _Forecast(chance, self.risk.passes(chance.low, now_ns))
        return chance

    def decide(self, past: PastDecision) -> None:
        """Learn what was decided; a recovery lifts a score and teaches nothing about changes."""
        entry, case = past.entry, past.case
        if not isinstance(entry, DecisionEntry) or case is None:
            return
        if not past.is_change:
            self._take_back(past, entry, case)
            return
        if _name(past) not in self._open:
            self.open(past, entry.at_ns)
        bet = self._open.pop(_name(past))
        self.chances.learn(case, entry.decision, entry.at_ns, bet.chance)
        good = is_good(entry.decision)
        self.risk.learn(bet.chance.low, good=good, passed=bet.passed, at_ns=entry.at_ns)
        if good:
            self._landed[_name(past)] = _MergedChange(bet.chance.low, bet.passed, entry.at_ns)

    def _take_back(self, past: PastDecision, entry: DecisionEntry, case: LevelCase) -> None:
        self.chances.learn(case, DecisionType.REJECTED, entry.at_ns)
        landed = self._landed.pop(f"{past.agent} {entry.reverts}", None)
        if landed is not None:
            self.risk.take_back(landed.low, passed=landed.passed, decided_ns=landed.decided_ns, at_ns=entry.at_ns)


def replay_past(pasts: Sequence[PastDecision], rules: TrustRules, until_ns: int) -> ChanceMemory:
    """Everything that happened until a moment; what is still open then is predicted, and not learnt."""
    memory = ChanceMemory(rules)
    for moment, opened, place in happenings(moments_of(pasts)):
        if moment > until_ns:
            break
        if opened:
            memory.open(pasts[place], moment)
        else:
            memory.decide(pasts[place])
    return memory


def _name(past: PastDecision) -> str:
    return f"{past.agent} {past.entry.id}"
