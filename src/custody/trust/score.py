"""The formulas of document 001, as its page reads them: plain numbers in, plain numbers out.

Stakes scale the step that a decision takes, never the value that it moves to.
"""

import math
from collections.abc import Iterator
from types import MappingProxyType

from custody.trust.model import (
    Approval,
    ChangeComplexity,
    ChangeStakes,
    DecisionType,
    ReviewReason,
    ReviewRequirement,
    Trust,
    TrustStanding,
    TrustTier,
)
from custody.trust.rules import TrustRules

NS_PER_DAY = 86_400 * 1_000_000_000
NEUTRAL_SCORE = 0.5
"""Where an idle agent's score moves to, as document 001 has it."""
DECISION_VALUES = MappingProxyType({DecisionType.ACCEPTED: 1.0, DecisionType.MODIFIED: 0.5, DecisionType.REJECTED: 0.0})
"""What a decision moves the score towards, as document 001 has it."""
COMPLEXITY_LINES_MIN = (0, 10, 50, 200, 500)
"""The least lines of each ``ChangeComplexity``, as the tiers of document 001 call changes of these sizes."""
MEANINGFUL_SAMPLES_MIN = 10
"""From so many decisions on, a confidence means something, as document 001 has it."""
CONFIDENT_SAMPLES_MIN = 100
"""From so many decisions on, confidence is 1, as document 001 has it."""
SIZE_LINES = 50
"""A change of this size multiplies the stakes by 1: the most that a new agent's tier may merge."""
SIZE_FACTOR_MIN, SIZE_FACTOR_MAX = 0.5, 2.0
"""Size counts, but complexity, which ranges from 1 to 8, counts more."""
REVIEW_BONUS_MAX = 0.1
"""What an instant review would add to the factor of 1: document 001 says that faster reviews count slightly more."""
REVIEW_HALF_LIFE_MS = 60_000
"""A review that took this long adds half of the bonus; after some minutes speed says nothing."""
_MS_PER_MINUTE = 60_000


def decay_score(score: float, idle_days: float, rules: TrustRules) -> float:
    """Move ``score`` towards neutral by half for every half-life of silence; a clock set back moves nothing.

    >>> round(decay_score(0.9, 30, TrustRules()), 6), round(decay_score(0.9, 60, TrustRules()), 6)
    (0.7, 0.6)
    """
    share = float(2.0 ** (-max(0.0, idle_days) / rules.decay_half_life_days))
    return NEUTRAL_SCORE + (score - NEUTRAL_SCORE) * share


def size_factor(lines: int | None, *, rising: bool) -> float:
    """What the size of a change multiplies its stakes by; an unknown size never makes a rise larger.

    >>> size_factor(50, rising=True), size_factor(1, rising=True)
    (1.0, 0.5)
    """
    if lines is None:
        return SIZE_FACTOR_MIN if rising else 1.0
    factor = math.log1p(lines) / math.log1p(SIZE_LINES)
    return min(max(factor, SIZE_FACTOR_MIN), SIZE_FACTOR_MAX)


def review_factor(stakes: ChangeStakes, rules: TrustRules) -> float:
    """What the time of the review multiplies the stakes by: a little more for a quick one that can have been one.

    >>> review_factor(ChangeStakes(lines=50, review_ms=60_000), TrustRules())
    1.05
    """
    if stakes.lines is None or stakes.review_ms is None or stakes.review_ms <= 0 or is_rubber_stamp(stakes, rules):
        return 1.0
    return float(1.0 + REVIEW_BONUS_MAX * 2.0 ** (-stakes.review_ms / REVIEW_HALF_LIFE_MS))


def is_rubber_stamp(stakes: ChangeStakes, rules: TrustRules) -> bool:
    """Whether nobody can have read so many lines in that time.

    >>> is_rubber_stamp(ChangeStakes(lines=400, review_ms=1000), TrustRules())
    True
    """
    if stakes.lines is None or stakes.review_ms is None or stakes.review_ms <= 0:
        return False
    return stakes.lines * _MS_PER_MINUTE / stakes.review_ms > rules.review_lines_per_minute_max


def weight_of(stakes: ChangeStakes, rules: TrustRules, *, rising: bool) -> float:
    """How much is at stake; 1 gives the document's plain formula.

    >>> weight_of(ChangeStakes(ChangeComplexity.MODERATE, 50, 60_000), TrustRules(), rising=True)
    3.1500000000000004
    """
    complexity = stakes.complexity or ChangeComplexity.TRIVIAL
    return complexity.value * size_factor(stakes.lines, rising=rising) * review_factor(stakes, rules)


def step_of(weight: float, rules: TrustRules, *, rising: bool) -> float:
    """How far the score moves towards the decision's value; in profile ``cautious`` a rise is never a leap.

    >>> round(step_of(1, TrustRules(), rising=True), 6), round(step_of(8, TrustRules(), rising=False), 6)
    (0.3, 0.942352)
    """
    step = float(1.0 - (1.0 - rules.ema_alpha) ** weight)
    return min(step, rules.rise_step_max) if rising and rules.profile == "cautious" else step


def move_score(score: float, value: float, step: float) -> float:
    """The score after a step towards ``value``.

    >>> move_score(0.5, 1.0, 0.3)
    0.65
    """
    return min(max(score + step * (value - score), 0.0), 1.0)


def lift_score(score: float, boost: float, rules: TrustRules) -> float:
    """The score after a recovery, which adds no more than the recovery rate.

    >>> lift_score(0.7, 0.5, TrustRules()), lift_score(0.98, 0.05, TrustRules())
    (0.75, 1.0)
    """
    return min(score + min(boost, rules.recovery_rate), 1.0)


def confidence_of(samples: float) -> float:
    """How much a score rests on, from 0 to 1.

    >>> confidence_of(50), confidence_of(250)
    (0.5, 1.0)
    """
    return min(samples / CONFIDENT_SAMPLES_MIN, 1.0)


def samples_of(standing: TrustStanding, rules: TrustRules) -> float:
    """How many decisions a standing rests on; one about another model than the one asked about is worth less.

    >>> samples_of(TrustStanding(0.5, accepted=10, inherited=4), TrustRules())
    8.0
    """
    return standing.samples - standing.inherited * (1.0 - rules.inherit_share)


def complexity_of(lines: int) -> ChangeComplexity:
    """How complex a change of this size is at least, as the document's tiers call it.

    >>> complexity_of(9).name, complexity_of(10).name
    ('TRIVIAL', 'MINOR')
    """
    reached = zip(ChangeComplexity, COMPLEXITY_LINES_MIN, strict=True)
    return [complexity for complexity, least in reached if lines >= least][-1]


# Which tier a score is in, and what an agent may land; this file is the only one that decides either.


def tier_of(score: float, rules: TrustRules) -> TrustTier:
    """The highest tier whose bound the score reaches, compared unrounded; equal bounds leave the lower tier empty."""
    reached = zip(TrustTier, rules.tier_score_min, strict=True)
    return [tier for tier, least in reached if score >= least][-1]


def lines_max(tier: TrustTier, rules: TrustRules) -> int:
    """The most lines that a tier may land without review."""
    return min(rules.tier_lines_max[tier.standing], rules.approve_lines_max)


def approve(trust: Trust, lines: int, rules: TrustRules) -> Approval:
    """Whether an agent with this trust may land a change of so many lines without review."""
    return Approval(tuple(against_record(trust, rules)) + tuple(against_size(trust, lines, rules)))


def against_record(trust: Trust, rules: TrustRules) -> Iterator[ReviewReason]:
    """What an agent's record has against any change of its own."""
    samples = samples_of(trust.standing, rules)
    if trust.tier is TrustTier.UNTRUSTED:
        yield ReviewReason(ReviewRequirement.UNTRUSTED, "the agent is UNTRUSTED")
    if samples < rules.approve_samples_min:
        inherited = f", {trust.standing.inherited} of them about another model" if trust.standing.inherited else ""
        counted = f"the agent has {trust.standing.samples} decision(s){inherited}"
        yield ReviewReason(ReviewRequirement.SAMPLES, f"{counted}, fewer than {rules.approve_samples_min}")
    # Waiting must not be a way out of a bad record: neutral is more than what the agent has earned.
    if tier_of(trust.earned, rules).standing < trust.tier.standing:
        yield ReviewReason(ReviewRequirement.IDLE, f"the agent reached {trust.tier.name} only by being idle")


def against_size(trust: Trust, lines: int, rules: TrustRules) -> Iterator[ReviewReason]:
    """Whether a change is larger than the agent's tier may land."""
    most = lines_max(trust.tier, rules)
    if lines > most:
        yield ReviewReason(
            ReviewRequirement.SIZE, f"the change has {lines} line(s), more than the {most} of {trust.tier.name}"
        )
