"""Scores as a fold over what was recorded: the same entries give the same account, bit for bit, in whatever order.

A fold can be carried on from where it stood, as long as what comes is later in order and concerns nothing before it.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from custody.core.ids import AgentName
from custody.trust.corrections import overrides_in
from custody.trust.fold import Fold, fade_score
from custody.trust.model import (
    Account,
    CurrentModel,
    DecisionOverride,
    Entry,
    FoldState,
    Order,
    ScoreStep,
    Trust,
    TrustStanding,
)
from custody.trust.rules import TrustRules
from custody.trust.score import MEANINGFUL_SAMPLES_MIN, confidence_of, samples_of
from custody.trust.tiers import tier_of


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
