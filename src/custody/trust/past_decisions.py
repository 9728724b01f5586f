"""Past decisions about all changes, and what the model learns from them in order.

A change is predicted when it is opened and learned when it is decided; a reverted change is learned again, as bad.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from custody.trust.acceptance import AcceptanceEstimate, AcceptanceModel, is_merge_decision
from custody.trust.approval import TouchedPath
from custody.trust.levels import LevelCase
from custody.trust.model import Account, DecisionEntry, DecisionType, RecoveryEntry
from custody.trust.risk import Risk
from custody.trust.rules import TrustRules

DecisionSource = Literal["records", "git"]

HERE = "here"
"""The one repository that a store's decisions are about."""


class PastDecision(Struct, frozen=True):
    """An entry about an agent that counts: a decision after overrides, or a recovery.

    ``touched`` is None where the paths of the change are not known.
    """

    agent: str
    entry: DecisionEntry | RecoveryEntry
    touched: tuple[TouchedPath, ...] | None = None
    source: DecisionSource = "records"

    @property
    def opened_ns(self) -> int:
        """Return when the change was proposed, at the latest when it was decided."""
        opened_ns = self.entry.opened_ns if isinstance(self.entry, DecisionEntry) else None
        return self.entry.at_ns if opened_ns is None else min(opened_ns, self.entry.at_ns)

    @property
    def case(self) -> LevelCase | None:
        """Return the change for the model; None for a recovery."""
        if not isinstance(self.entry, DecisionEntry):
            return None
        entry = self.entry
        return LevelCase(self.agent, HERE, entry.areas, entry.operator, entry.stakes.lines, self.opened_ns)

    @property
    def is_change(self) -> bool:
        """Whether a change was proposed; a revert and a recovery are about one that was before."""
        return isinstance(self.entry, DecisionEntry) and self.entry.reverts is None


def past_decisions_from_account(agent: str, account: Account) -> Iterator[PastDecision]:
    """Yield the entries of an account that count, each decision after overrides and at the time it counts."""
    for step in account.steps:
        entry = step.entry
        if not step.counts:
            continue
        if isinstance(entry, RecoveryEntry):
            yield PastDecision(agent, entry)
        elif isinstance(entry, DecisionEntry) and step.decision is not None:
            opened_ns = PastDecision(agent, entry).opened_ns
            counted = replace(entry, decision=step.decision, at_ns=step.at_ns, unreviewed=False, opened_ns=opened_ns)
            yield PastDecision(agent, counted)


def order_decision_events(times: Sequence[tuple[int, int]]) -> list[tuple[int, bool, int]]:
    """Moment, whether something is opened (else decided), and which; each is given by opening and decision.

    Decisions come before openings of the same time. A change that is opened and decided at once is only decided.

    >>> order_decision_events([(1, 5), (5, 5), (5, 7)])
    [(1, True, 0), (5, False, 0), (5, False, 1), (5, True, 2), (7, False, 2)]
    """
    decided = [(time, False, place) for place, (_, time) in enumerate(times)]
    opened = [(time, True, place) for place, (time, end) in enumerate(times) if time < end]
    return sorted(decided + opened)


def list_decision_times(pasts: Iterable[PastDecision]) -> list[tuple[int, int]]:
    """Return when each was opened and decided; recoveries and reverts are never opened."""
    return [(past.opened_ns if past.is_change else past.entry.at_ns, past.entry.at_ns) for past in pasts]


class _Forecast(Struct, frozen=True):
    """The estimate when a change was opened, and whether risk control would have passed it."""

    estimate: AcceptanceEstimate
    passed: bool


class _MergedChange(Struct, frozen=True):
    """The data of a change that was good so far, in case it is reverted."""

    low: float
    passed: bool
    decided_ns: int


class AcceptanceMemory:
    """The acceptance model and risk control, trained on decisions in order."""

    def __init__(self, rules: TrustRules) -> None:
        self.model = AcceptanceModel(rules)
        self.risk = Risk(rules)
        self._open: dict[str, _Forecast] = {}
        self._merged: dict[str, _MergedChange] = {}

    def open(self, past: PastDecision, now_ns: int) -> AcceptanceEstimate:
        """Estimate the acceptance of a change, and remember the estimate."""
        case = past.case
        assert case is not None, "only a change is opened"
        estimate = self.model.predict(replace(case, opened_ns=now_ns))
        self._open[_make_decision_key(past)] = _Forecast(estimate, self.risk.passes(estimate.low, now_ns))
        return estimate

    def decide(self, past: PastDecision) -> None:
        """Learn from a decision; recoveries are ignored."""
        entry, case = past.entry, past.case
        if not isinstance(entry, DecisionEntry) or case is None:
            return
        if not past.is_change:
            self._learn_revert(past, entry, case)
            return
        if _make_decision_key(past) not in self._open:
            self.open(past, entry.at_ns)
        forecast = self._open.pop(_make_decision_key(past))
        self.model.learn(case, entry.decision, entry.at_ns, forecast.estimate)
        good = is_merge_decision(entry.decision)
        self.risk.learn(forecast.estimate.low, good=good, passed=forecast.passed, at_ns=entry.at_ns)
        if good:
            self._merged[_make_decision_key(past)] = _MergedChange(forecast.estimate.low, forecast.passed, entry.at_ns)

    def _learn_revert(self, past: PastDecision, entry: DecisionEntry, case: LevelCase) -> None:
        self.model.learn(case, DecisionType.REJECTED, entry.at_ns)
        merged = self._merged.pop(f"{past.agent} {entry.reverts}", None)
        if merged is not None:
            self.risk.learn_revert(merged.low, passed=merged.passed, decided_ns=merged.decided_ns, at_ns=entry.at_ns)


def replay_past_decisions(pasts: Sequence[PastDecision], rules: TrustRules, until_ns: int) -> AcceptanceMemory:
    """Learn all decisions until a time; changes that are still open are predicted, not learned."""
    memory = AcceptanceMemory(rules)
    for time, opened, place in order_decision_events(list_decision_times(pasts)):
        if time > until_ns:
            break
        if opened:
            memory.open(pasts[place], time)
        else:
            memory.decide(pasts[place])
    return memory


def _make_decision_key(past: PastDecision) -> str:
    return f"{past.agent} {past.entry.id}"
