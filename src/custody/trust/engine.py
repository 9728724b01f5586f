"""Scores as a fold over recorded entries: the same entries in any order give the same account, bit for bit.

A fold can be continued with entries that come later in order and do not concern earlier ones.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import assert_never

from msgspec import Struct
from msgspec.structs import replace

from custody.core.identity import is_same_identity
from custody.core.ids import AgentName
from custody.trust.model import (
    GATE_ACTOR,
    Account,
    CurrentModel,
    DecisionEntry,
    DecisionOverride,
    DecisionType,
    Entry,
    FoldState,
    Order,
    RecoveryEntry,
    ScoreState,
    ScoreStep,
    Trust,
)
from custody.trust.rules import TrustRules
from custody.trust.score import (
    DECISION_VALUES,
    INHERITED_SHARE,
    MEANINGFUL_SAMPLES_MIN,
    NEUTRAL_SCORE,
    NS_PER_DAY,
    compute_decision_weight,
    compute_score_step,
    compute_trust_confidence,
    count_score_samples,
    decay_score,
    is_rubber_stamp,
    lift_score,
    move_trust_score,
    tier_from_score,
)

# Which corrections count: never those that an agent makes about itself.


UNSPECIFIED = "unspecified"
"""The reason of a recovery without one."""


def find_recovery_objection(agent: AgentName, entry: RecoveryEntry, state: ScoreState, rules: TrustRules) -> str | None:
    """Return why a recovery does not count; None if it does."""
    if not state.samples:
        return "the agent has no reviews yet"
    if entry.boost <= 0:
        return "a recovery must raise the score"
    if is_same_identity(entry.actor, agent):
        return "an agent cannot raise its own score"
    since_ns = state.recovered_ns
    if since_ns is not None and entry.at_ns - since_ns < rules.recovery_days_min * NS_PER_DAY:
        return f"the last recovery is less than {_render_days(rules.recovery_days_min)} old"
    return None


def _render_days(days: float) -> str:
    return "1 day" if days == 1 else f"{days:g} days"


def find_override_objection(agent: AgentName, entry: DecisionOverride) -> str | None:
    """Return why an override does not count; None if it does."""
    if can_override_decision(agent, entry.actor, entry.reason):
        return None
    if entry.actor is None or not entry.reason:
        return "an override needs an actor and a reason"
    return "an agent cannot override decisions about itself"


def can_override_decision(agent: AgentName, actor: str | None, reason: str | None) -> bool:
    """Return whether an override counts: it has a reason, and an actor other than the agent."""
    return actor is not None and bool(reason) and not is_same_identity(actor, agent)


def find_valid_overrides(agent: AgentName, ordered: Iterable[Entry]) -> Mapping[str, DecisionOverride]:
    """Return the override that counts for each decision: the last valid one."""
    overrides = (entry for entry in ordered if isinstance(entry, DecisionOverride))
    return {entry.target: entry for entry in overrides if find_override_objection(agent, entry) is None}


# An approval without review weighs nothing until it settles: it counts after some days without a revert. A person's
# decision about the same change counts instead of it; a revert counts as a rejection.


_NONE: Mapping[str, DecisionOverride] = MappingProxyType({})


class Fold:
    """A fold in progress: takes entries in order and collects their effects in ``steps``."""

    def __init__(
        self,
        agent: AgentName,
        rules: TrustRules,
        start: FoldState,
        overrides: Mapping[str, DecisionOverride] = _NONE,
        running: CurrentModel | None = None,
    ) -> None:
        self.state = start.state
        self.waiting = list(start.waiting)
        self.steps: list[ScoreStep] = []
        self._agent = agent
        self._rules = rules
        self._overrides = overrides
        self._running = running
        self._ids: set[str] = set()
        self._reviewed: set[str] = set()
        self._reverted: set[str] = set()

    def take(self, entry: Entry) -> None:
        """Take the next entry; approvals that settle before it come first."""
        self._settle_while(lambda at_ns: at_ns < entry.at_ns)
        if entry.id in self._ids:
            self._pass_over(entry, "the same decision was recorded before")
            return
        self._ids.add(entry.id)
        match entry:
            case DecisionEntry():
                self._take_decision(entry)
            case DecisionOverride():
                against = find_override_objection(self._agent, entry)
                note = against or f"replaces '{entry.target}'"
                self._pass_over(entry, note, counts=against is None)
            case RecoveryEntry():
                self._take_recovery(entry)
            case _:
                assert_never(entry)

    def settle(self, until_ns: int) -> None:
        """Count all approvals that have waited long enough by then."""
        self._settle_while(lambda at_ns: at_ns <= until_ns)

    def _settle_while(self, is_due: Callable[[int], bool]) -> None:
        while self.waiting and is_due(compute_settlement_ns(self.waiting[0], self._rules)):
            entry = self.waiting.pop(0)
            note = f"merged without review {_render_days(self._rules.settle_days_min)} before, not reverted since"
            self._count(entry, entry.decision, (note,), settled_ns=compute_settlement_ns(entry, self._rules))

    def _take_decision(self, entry: DecisionEntry) -> None:
        override = self._overrides.get(entry.id)
        decision = entry.decision if override is None else override.decision
        rising = DECISION_VALUES[decision] > self._before(entry.at_ns)[0]
        if rising and override is None and is_same_identity(entry.actor, self._agent):
            self._pass_over(entry, "an agent cannot accept its own change", decision=decision)
        elif override is None and is_unreviewed(entry):
            self._wait(entry)
        else:
            self._count(entry, decision, tuple(_list_decision_notes(entry, override, self._rules)))
            self._answer(entry)

    def _wait(self, entry: DecisionEntry) -> None:
        """Record an approval without review: it is in the log and has no weight yet."""
        if entry.actor == GATE_ACTOR:
            self._pass_over(entry, "lines reserved by the gate; a review of the change counts", decision=entry.decision)
            return
        if entry.id in self._reverted or entry.names & self._reviewed:
            self._pass_over(entry, "merged without review; the later decision counts", decision=entry.decision)
            return
        if any(waiting.names & entry.names for waiting in self.waiting):
            self._pass_over(entry, "merged without review; the same change is pending", decision=entry.decision)
            return
        self.waiting.append(entry)
        note = f"merged without review: counts after {_render_days(self._rules.settle_days_min)} unless reverted"
        self._pass_over(entry, note, decision=entry.decision)

    def _answer(self, entry: DecisionEntry) -> None:
        """Remove pending approvals that a decision replaces: a revert ends one, a review counts instead of it."""
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
        after = move_trust_score(before, value, size)
        self.state = replace(
            self.state,
            score=after,
            since_ns=at_ns,
            active_ns=at_ns if settled_ns is None else self.state.active_ns,
            accepted=self.state.accepted + (decision is DecisionType.ACCEPTED),
            modified=self.state.modified + (decision is DecisionType.MODIFIED),
            rejected=self.state.rejected + (decision is DecisionType.REJECTED),
            inherited=self.state.inherited + (entry.is_review and self._is_inherited(entry)),
            unsampled=self.state.unsampled + (not entry.is_review),
            earned=move_trust_score(earned, value, self._step(entry, value, earned)[1]),
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
        """Return the weight of a decision, and how far it moves the score ``before``."""
        rising = value > before
        weight = compute_decision_weight(entry.stakes, self._rules, rising=rising)
        size = compute_score_step(weight, self._rules, rising=rising)
        # Only rises count for less under another model: else a new model name would clear a bad record.
        return weight, size * INHERITED_SHARE if rising and self._is_inherited(entry) else size

    def _is_inherited(self, entry: DecisionEntry) -> bool:
        return self._running is not None and entry.model != self._running.model

    def _take_recovery(self, entry: RecoveryEntry) -> None:
        against = find_recovery_objection(self._agent, entry, self.state, self._rules)
        if against is not None:
            self._pass_over(entry, against)
            return
        before, earned = self._before(entry.at_ns)
        after = lift_score(before, entry.boost, self._rules)
        self.state = replace(
            self.state,
            score=after,
            since_ns=entry.at_ns,
            recovered_ns=entry.at_ns,
            earned=lift_score(earned, entry.boost, self._rules),
        )
        notes = ("without a reason",) if entry.reason in (None, UNSPECIFIED) else ()
        self.steps.append(ScoreStep(entry, before, after, counts=True, notes=notes))

    def _pass_over(
        self, entry: Entry, note: str, *, counts: bool = False, decision: DecisionType | None = None
    ) -> None:
        before, _ = self._before(entry.at_ns)
        self.steps.append(ScoreStep(entry, before, before, counts=counts, decision=decision, notes=(note,)))

    def _before(self, at_ns: int) -> tuple[float, float]:
        return fade_score(self.state, at_ns, self._rules)


def is_unreviewed(entry: DecisionEntry) -> bool:
    """Return whether an entry is an approval without review; rejections and reverts count at once."""
    return entry.unreviewed and entry.reverts is None and entry.decision is not DecisionType.REJECTED


def compute_settlement_ns(entry: DecisionEntry, rules: TrustRules) -> int:
    """Return when an approval without review counts, unless it is decided before."""
    return entry.at_ns + round(rules.settle_days_min * NS_PER_DAY)


def fade_score(state: ScoreState, at_ns: int, rules: TrustRules) -> tuple[float, float]:
    """Return the score and the earned score at a time: inactivity lowers both, and raises only the first."""
    earned = state.score if state.earned is None else state.earned
    if state.since_ns is None:
        return state.score, earned
    idle_days = (at_ns - state.since_ns) / NS_PER_DAY
    decayed = decay_score(earned, idle_days, rules) if earned > NEUTRAL_SCORE else earned
    return decay_score(state.score, idle_days, rules), decayed


def _list_decision_notes(entry: DecisionEntry, override: DecisionOverride | None, rules: TrustRules) -> Iterator[str]:
    if override is not None:
        yield f"was {entry.decision.value}; overridden by {override.actor}: {override.reason}"
    if entry.reverts is not None:
        yield f"reverts '{entry.reverts}'"
    if is_rubber_stamp(entry.stakes, rules):
        yield "rubber stamp: too fast to be a review"


class FoldResult(Struct, frozen=True):
    """The effects of some entries, and the state of the fold after them."""

    steps: tuple[ScoreStep, ...]
    folded: FoldState


def replay_decisions(
    agent: AgentName,
    entries: Iterable[Entry],
    rules: TrustRules,
    *,
    now_ns: int | None = None,
    running: CurrentModel | None = None,
) -> Account:
    """Fold all entries about ``agent`` into their effects and the score at ``now_ns``.

    Approvals without review settle until then; without ``now_ns``, until the last entry. With ``running``, decisions
    about another model count for less.
    """
    carried = fold_entries(agent, make_empty_fold(rules), entries, rules, running=running)
    fold = Fold(agent, rules, carried.folded, running=running)
    fold.settle(_compute_settlement_end(carried.folded, now_ns))
    return Account((*carried.steps, *fold.steps), fold.state)


def fold_entries(
    agent: AgentName,
    folded: FoldState,
    entries: Iterable[Entry],
    rules: TrustRules,
    *,
    running: CurrentModel | None = None,
) -> FoldResult:
    """Continue ``folded`` with ``entries`` in any order; ``can_follow_fold`` says which entries may follow."""
    ordered = sorted(entries, key=decision_order_key)
    fold = Fold(agent, rules, folded, find_valid_overrides(agent, ordered), running)
    for entry in ordered:
        fold.take(entry)
    last = decision_order_key(ordered[-1]) if ordered else folded.last
    return FoldResult(tuple(fold.steps), FoldState(fold.state, tuple(fold.waiting), last))


def settle_score_state(
    agent: AgentName, folded: FoldState, now_ns: int, rules: TrustRules, *, running: CurrentModel | None = None
) -> ScoreState:
    """Return the score after settling all approvals that have waited long enough by ``now_ns``."""
    fold = Fold(agent, rules, folded, running=running)
    fold.settle(_compute_settlement_end(folded, now_ns))
    return fold.state


def can_follow_fold(folded: FoldState, entries: Sequence[Entry]) -> bool:
    """Return whether ``folded`` can be continued with ``entries``, judged by them alone.

    Overrides and earlier entries concern what is folded already. The caller checks that no id was used before.
    """
    later = folded.last is None or all(decision_order_key(entry) > folded.last for entry in entries)
    return later and not any(isinstance(entry, DecisionOverride) for entry in entries)


def decision_order_key(entry: Entry) -> Order:
    """Return the sort key of an entry."""
    return entry.at_ns, entry.record


def make_empty_fold(rules: TrustRules) -> FoldState:
    """Return the fold of no entries."""
    return FoldState(make_newcomer_score_state(rules))


def make_newcomer_score_state(rules: TrustRules) -> ScoreState:
    """Return the score of an agent without decisions."""
    return ScoreState(rules.start_score)


def compute_trust(state: ScoreState, now_ns: int, rules: TrustRules) -> Trust:
    """Return the trust in an agent at a time."""
    score, earned = fade_score(state, now_ns, rules)
    samples = count_score_samples(state)
    meaningful = samples >= MEANINGFUL_SAMPLES_MIN
    return Trust(score, tier_from_score(score, rules), compute_trust_confidence(samples), meaningful, state, earned)


def _compute_settlement_end(folded: FoldState, now_ns: int | None) -> int:
    """Return until when approvals settle: a clock that was set back unsettles nothing."""
    last_ns = 0 if folded.last is None else folded.last[0]
    return last_ns if now_ns is None else max(last_ns, now_ns)
