"""Scores as a fold over what was recorded: the same entries give the same account, bit for bit, in whatever order.

A fold can be carried on from where it stood, as long as what comes is later in order and concerns nothing before it.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import assert_never

from custody.core.ids import AgentName
from custody.trust.model import (
    Account,
    CurrentModel,
    DecisionEntry,
    DecisionOverride,
    DecisionType,
    Entry,
    FoldState,
    Order,
    RecoveryEntry,
    ScoreStep,
    Trust,
    TrustStanding,
)
from custody.trust.rules import TrustRules
from custody.trust.score import (
    DECISION_VALUES,
    MEANINGFUL_SAMPLES_MIN,
    NEUTRAL_SCORE,
    NS_PER_DAY,
    confidence_of,
    decay_score,
    is_rubber_stamp,
    lift_score,
    move_score,
    samples_of,
    step_of,
    tier_of,
    weight_of,
)

# Which corrections count: overrides and recoveries, and never those that an agent makes about itself.


UNSPECIFIED = "unspecified"
"""The reason of a recovery for which nobody gave one."""


def against_recovery(agent: AgentName, entry: RecoveryEntry, standing: TrustStanding, rules: TrustRules) -> str | None:
    """Why a recovery does not count; None when it does."""
    if not standing.samples:
        return "nothing was decided about the agent before"
    if entry.boost <= 0:
        return "a recovery adds something"
    if entry.actor == agent:
        return "an agent cannot lift its own score"
    since_ns = standing.recovered_ns
    if since_ns is not None and entry.at_ns - since_ns < rules.recovery_days_min * NS_PER_DAY:
        return f"the last recovery is less than {rules.recovery_days_min:g} day(s) old"
    return None


def against_override(agent: AgentName, entry: DecisionOverride) -> str | None:
    """Why an override does not count; None when it does."""
    if may_override(agent, entry.actor, entry.reason):
        return None
    if entry.actor is None or not entry.reason:
        return "an override needs somebody who made it and a reason"
    return "an agent cannot override decisions about itself"


def may_override(agent: AgentName, actor: str | None, reason: str | None) -> bool:
    """Whether an override counts: somebody else than the agent made it, and says why."""
    return actor is not None and bool(reason) and actor != agent


def overrides_in(agent: AgentName, ordered: Iterable[Entry]) -> Mapping[str, DecisionOverride]:
    """The override that stands for each decision: the last one that says who and why, and is not the agent's own."""
    made = (entry for entry in ordered if isinstance(entry, DecisionOverride))
    return {entry.target: entry for entry in made if against_override(agent, entry) is None}


# One entry after the other: what it does to a standing, and what it does to approvals that nobody looked at.
# Such an approval weighs nothing until it settles: after so many days without a revert it counts, at that moment. A
# person's decision about the same change counts instead of it, a revert counts as the rejection that it is.


_NONE: Mapping[str, DecisionOverride] = MappingProxyType({})


class Fold:
    """A fold under way: entries are taken in order, and what they did is kept in ``steps``."""

    def __init__(
        self,
        agent: AgentName,
        rules: TrustRules,
        start: FoldState,
        overrides: Mapping[str, DecisionOverride] = _NONE,
        running: CurrentModel | None = None,
    ) -> None:
        self.standing = start.standing
        self.waiting = list(start.waiting)
        self.steps: list[ScoreStep] = []
        self._agent = agent
        self._rules = rules
        self._overrides = overrides
        self._running = running
        self._seen: set[str] = set()
        self._reviewed: set[str] = set()
        self._reverted: set[str] = set()

    def take(self, entry: Entry) -> None:
        """Take the next entry; what settled before its moment comes first."""
        self._settle_while(lambda at_ns: at_ns < entry.at_ns)
        if entry.id in self._seen:
            self._pass_over(entry, "the same decision was recorded before")
            return
        self._seen.add(entry.id)
        match entry:
            case DecisionEntry():
                self._decided(entry)
            case DecisionOverride():
                against = against_override(self._agent, entry)
                note = against or f"counts in the place of '{entry.target}'"
                self._pass_over(entry, note, counts=against is None)
            case RecoveryEntry():
                self._recovered(entry)
            case _:
                assert_never(entry)

    def settle(self, until_ns: int) -> None:
        """Let everything count that has waited long enough by then."""
        self._settle_while(lambda at_ns: at_ns <= until_ns)

    def _settle_while(self, is_due: Callable[[int], bool]) -> None:
        while self.waiting and is_due(settles_ns(self.waiting[0], self._rules)):
            entry = self.waiting.pop(0)
            note = f"landed without review {self._rules.settle_days_min:g} day(s) before and was not taken back"
            self._count(entry, entry.decision, (note,), settled_ns=settles_ns(entry, self._rules))

    def _decided(self, entry: DecisionEntry) -> None:
        override = self._overrides.get(entry.id)
        decision = entry.decision if override is None else override.decision
        rising = DECISION_VALUES[decision] > self._before(entry.at_ns)[0]
        if rising and override is None and entry.actor == self._agent:
            self._pass_over(entry, "an agent cannot accept its own change", decision=decision)
        elif override is None and is_unreviewed(entry):
            self._wait(entry)
        else:
            self._count(entry, decision, tuple(_notes(entry, override, self._rules)))
            self._answer(entry)

    def _wait(self, entry: DecisionEntry) -> None:
        """Nobody looked at it: it has a place in the log and no weight."""
        if entry.id in self._reverted or entry.names & self._reviewed:
            self._pass_over(entry, "landed without review; what was decided about it counts", decision=entry.decision)
            return
        if any(waiting.names & entry.names for waiting in self.waiting):
            self._pass_over(entry, "landed without review; the same change waits already", decision=entry.decision)
            return
        self.waiting.append(entry)
        note = f"landed without review: counts after {self._rules.settle_days_min:g} day(s) unless it is taken back"
        self._pass_over(entry, note, decision=entry.decision)

    def _answer(self, entry: DecisionEntry) -> None:
        """What a decision says about approvals that wait: a revert ends one, a review counts in its place."""
        if entry.reverts is not None:
            self._reverted.add(entry.reverts)
            self.waiting = [waiting for waiting in self.waiting if waiting.id != entry.reverts]
        else:
            self._reviewed |= entry.names
            self.waiting = [waiting for waiting in self.waiting if not waiting.names & entry.names]

    def _count(
        self, entry: DecisionEntry, decision: DecisionType, notes: tuple[str, ...], *, settled_ns: int | None = None
    ) -> None:
        at_ns = entry.at_ns if settled_ns is None else settled_ns
        value = DECISION_VALUES[decision]
        before, earned = self._before(at_ns)
        weight, size = self._step(entry, value, before)
        after = move_score(before, value, size)
        self.standing = replace(
            self.standing,
            score=after,
            since_ns=at_ns,
            active_ns=at_ns if settled_ns is None else self.standing.active_ns,
            accepted=self.standing.accepted + (decision is DecisionType.ACCEPTED),
            modified=self.standing.modified + (decision is DecisionType.MODIFIED),
            rejected=self.standing.rejected + (decision is DecisionType.REJECTED),
            inherited=self.standing.inherited + self._is_inherited(entry),
            earned=move_score(earned, value, self._step(entry, value, earned)[1]),
        )
        self.steps.append(
            ScoreStep(
                entry,
                before,
                after,
                counts=True,
                decision=decision,
                weight=weight,
                size=size,
                notes=notes,
                settled_ns=settled_ns,
            )
        )

    def _step(self, entry: DecisionEntry, value: float, before: float) -> tuple[float, float]:
        """The weight of a decision, and how far it moves a score that stands at ``before``."""
        rising = value > before
        weight = weight_of(entry.stakes, self._rules, rising=rising)
        size = step_of(weight, self._rules, rising=rising)
        # What was held against one model is held against the next: else a new name would wash it away.
        return weight, size * self._rules.inherit_share if rising and self._is_inherited(entry) else size

    def _is_inherited(self, entry: DecisionEntry) -> bool:
        return self._running is not None and entry.model != self._running.model

    def _recovered(self, entry: RecoveryEntry) -> None:
        against = against_recovery(self._agent, entry, self.standing, self._rules)
        if against is not None:
            self._pass_over(entry, against)
            return
        before, earned = self._before(entry.at_ns)
        after = lift_score(before, entry.boost, self._rules)
        self.standing = replace(
            self.standing,
            score=after,
            since_ns=entry.at_ns,
            recovered_ns=entry.at_ns,
            earned=lift_score(earned, entry.boost, self._rules),
        )
        notes = ("no reason was given",) if entry.reason in (None, UNSPECIFIED) else ()
        self.steps.append(ScoreStep(entry, before, after, counts=True, notes=notes))

    def _pass_over(
        self, entry: Entry, note: str, *, counts: bool = False, decision: DecisionType | None = None
    ) -> None:
        before, _ = self._before(entry.at_ns)
        self.steps.append(ScoreStep(entry, before, before, counts=counts, decision=decision, notes=(note,)))

    def _before(self, at_ns: int) -> tuple[float, float]:
        return fade_score(self.standing, at_ns, self._rules)


def is_unreviewed(entry: DecisionEntry) -> bool:
    """Whether nobody looked and it would speak for the agent; what speaks against it counts at once."""
    return entry.unreviewed and entry.reverts is None and entry.decision is not DecisionType.REJECTED


def settles_ns(entry: DecisionEntry, rules: TrustRules) -> int:
    """When an approval without review counts, unless something is decided about it before."""
    return entry.at_ns + round(rules.settle_days_min * NS_PER_DAY)


def fade_score(standing: TrustStanding, at_ns: int, rules: TrustRules) -> tuple[float, float]:
    """The score at a moment, and what of it was earned: silence takes trust away from both and gives to the first."""
    earned = standing.score if standing.earned is None else standing.earned
    if standing.since_ns is None:
        return standing.score, earned
    idle_days = (at_ns - standing.since_ns) / NS_PER_DAY
    kept = decay_score(earned, idle_days, rules) if earned > NEUTRAL_SCORE else earned
    return decay_score(standing.score, idle_days, rules), kept


def _notes(entry: DecisionEntry, override: DecisionOverride | None, rules: TrustRules) -> Iterator[str]:
    if override is not None:
        yield f"was {entry.decision.value}; overridden by {override.actor}: {override.reason}"
    if entry.reverts is not None:
        yield f"takes back '{entry.reverts}'"
    if is_rubber_stamp(entry.stakes, rules):
        yield "rubber stamp: nobody reads so fast"


@dataclass(frozen=True, slots=True)
class FoldResult:
    """What some entries did, and where that leaves the fold."""

    steps: tuple[ScoreStep, ...]
    folded: FoldState


def replay(
    agent: AgentName,
    entries: Iterable[Entry],
    rules: TrustRules,
    *,
    now_ns: int | None = None,
    running: CurrentModel | None = None,
) -> Account:
    """Fold everything that was recorded about ``agent`` into what each entry did and where it stands at ``now_ns``.

    Approvals without review settle until then; without a moment, until the last entry. With ``running``, decisions
    about another model count for less.
    """
    carried = carry(agent, make_empty_fold(rules), entries, rules, running=running)
    fold = Fold(agent, rules, carried.folded, running=running)
    fold.settle(_end(carried.folded, now_ns))
    return Account((*carried.steps, *fold.steps), fold.standing)


def carry(
    agent: AgentName,
    folded: FoldState,
    entries: Iterable[Entry],
    rules: TrustRules,
    *,
    running: CurrentModel | None = None,
) -> FoldResult:
    """Go on from ``folded`` with ``entries``, in whatever order they come: see ``follows`` for which may."""
    ordered = sorted(entries, key=order_of)
    fold = Fold(agent, rules, folded, overrides_in(agent, ordered), running)
    for entry in ordered:
        fold.take(entry)
    last = order_of(ordered[-1]) if ordered else folded.last
    return FoldResult(tuple(fold.steps), FoldState(fold.standing, tuple(fold.waiting), last))


def standing_at(
    agent: AgentName, folded: FoldState, now_ns: int, rules: TrustRules, *, running: CurrentModel | None = None
) -> TrustStanding:
    """Where a fold leaves the agent once everything that waited long enough until ``now_ns`` has settled."""
    fold = Fold(agent, rules, folded, running=running)
    fold.settle(_end(folded, now_ns))
    return fold.standing


def follows(folded: FoldState, entries: Sequence[Entry]) -> bool:
    """Whether ``folded`` may be carried on with ``entries``, as far as they alone can tell.

    An override speaks of what was folded already, and so does whatever is earlier in order. That no entry has a name
    that was used before is for the caller to know.
    """
    later = folded.last is None or all(order_of(entry) > folded.last for entry in entries)
    return later and not any(isinstance(entry, DecisionOverride) for entry in entries)


def order_of(entry: Entry) -> Order:
    """What entries are sorted by."""
    return entry.at_ns, entry.record


def make_empty_fold(rules: TrustRules) -> FoldState:
    """A fold of nothing."""
    return FoldState(newcomer(rules))


def newcomer(rules: TrustRules) -> TrustStanding:
    """Where an agent stands about which nothing was decided."""
    return TrustStanding(rules.start_score)


def trust_at(standing: TrustStanding, now_ns: int, rules: TrustRules) -> Trust:
    """What an agent's standing is worth at a moment."""
    score, earned = fade_score(standing, now_ns, rules)
    samples = samples_of(standing, rules)
    meaningful = samples >= MEANINGFUL_SAMPLES_MIN
    return Trust(score, tier_of(score, rules), confidence_of(samples), meaningful, standing, earned)


def _end(folded: FoldState, now_ns: int | None) -> int:
    """Until when approvals settle: a clock that was set back takes nothing back."""
    last_ns = 0 if folded.last is None else folded.last[0]
    return last_ns if now_ns is None else max(last_ns, now_ns)
