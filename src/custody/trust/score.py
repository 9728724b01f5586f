"""The formulas of document 001, as its page states them: numbers in, numbers out.

Stakes scale the step of a decision, never the value that the score moves to.
"""

import math
from collections.abc import Iterator
from types import MappingProxyType

from custody.core.plural import count_noun
from custody.trust.model import (
    Approval,
    ChangeComplexity,
    ChangeStakes,
    DecisionType,
    ReviewReason,
    ReviewRequirement,
    ScoreState,
    Trust,
    TrustTier,
)
from custody.trust.rules import TrustRules

NS_PER_DAY = 86_400 * 1_000_000_000
NEUTRAL_SCORE = 0.5
"""The score that an idle agent decays to, from document 001."""
DECISION_VALUES = MappingProxyType({DecisionType.ACCEPTED: 1.0, DecisionType.MODIFIED: 0.5, DecisionType.REJECTED: 0.0})
"""The value that a decision moves the score towards, from document 001."""
COMPLEXITY_LINES_MIN = (0, 10, 50, 200, 500)
"""The least lines of each ``ChangeComplexity``, from the tiers of document 001."""
MEANINGFUL_SAMPLES_MIN = 10
"""The least decisions for a meaningful confidence, from document 001."""
CONFIDENT_SAMPLES_MIN = 100
"""The least decisions for a confidence of 1, from document 001."""
INHERITED_SHARE = 0.5
"""The weight of a decision about another model of the agent, as a rise and as a sample."""
SIZE_LINES = 50
"""A change of this size multiplies the stakes by 1: the most that a new agent's tier may merge."""
SIZE_FACTOR_MIN, SIZE_FACTOR_MAX = 0.5, 2.0
"""Size counts, but complexity, which ranges from 1 to 8, counts more."""
REVIEW_BONUS_MAX = 0.1
"""Added to the factor of 1 for an instant review: in document 001 faster reviews count slightly more."""
REVIEW_HALF_LIFE_MS = 60_000
"""A review of this length gets half of the bonus."""
_MS_PER_MINUTE = 60_000


def decay_score(score: float, idle_days: float, rules: TrustRules) -> float:
    """Move ``score`` halfway to neutral for every half-life of inactivity; a clock set back changes nothing.

    >>> round(decay_score(0.9, 30, TrustRules()), 6), round(decay_score(0.9, 60, TrustRules()), 6)
    (0.7, 0.6)
    """
    share = float(2.0 ** (-max(0.0, idle_days) / rules.decay_half_life_days))
    return NEUTRAL_SCORE + (score - NEUTRAL_SCORE) * share


def compute_stakes_size_factor(lines: int | None, *, rising: bool) -> float:
    """Return the factor of a change's size; an unknown size never makes a rise larger.

    >>> compute_stakes_size_factor(50, rising=True), compute_stakes_size_factor(1, rising=True)
    (1.0, 0.5)
    """
    if lines is None:
        return SIZE_FACTOR_MIN if rising else 1.0
    factor = math.log1p(lines) / math.log1p(SIZE_LINES)
    return min(max(factor, SIZE_FACTOR_MIN), SIZE_FACTOR_MAX)


def compute_review_factor(stakes: ChangeStakes, rules: TrustRules) -> float:
    """Return the factor of the review time: a little above 1 for a quick but plausible review.

    >>> compute_review_factor(ChangeStakes(lines=50, review_ms=60_000), TrustRules())
    1.05
    """
    if stakes.lines is None or stakes.review_ms is None or stakes.review_ms <= 0 or is_rubber_stamp(stakes, rules):
        return 1.0
    return float(1.0 + REVIEW_BONUS_MAX * 2.0 ** (-stakes.review_ms / REVIEW_HALF_LIFE_MS))


def is_rubber_stamp(stakes: ChangeStakes, rules: TrustRules) -> bool:
    """Return whether the review was too fast to have read so many lines.

    >>> is_rubber_stamp(ChangeStakes(lines=400, review_ms=1000), TrustRules())
    True
    """
    if stakes.lines is None or stakes.review_ms is None or stakes.review_ms <= 0:
        return False
    return stakes.lines * _MS_PER_MINUTE / stakes.review_ms > rules.review_lines_per_minute_max


def compute_decision_weight(stakes: ChangeStakes, rules: TrustRules, *, rising: bool) -> float:
    """Return the weight of a decision; 1 gives document 001's plain formula.

    >>> compute_decision_weight(ChangeStakes(ChangeComplexity.MODERATE, 50, 60_000), TrustRules(), rising=True)
    3.1500000000000004
    """
    complexity = stakes.complexity or ChangeComplexity.TRIVIAL
    return (
        complexity.value
        * compute_stakes_size_factor(stakes.lines, rising=rising)
        * compute_review_factor(stakes, rules)
    )


def compute_score_step(weight: float, rules: TrustRules, *, rising: bool) -> float:
    """Return how far the score moves towards the decision's value; profile ``cautious`` limits rises.

    >>> round(compute_score_step(1, TrustRules(), rising=True), 6)
    0.3
    >>> round(compute_score_step(8, TrustRules(), rising=False), 6)
    0.942352
    """
    step = float(1.0 - (1.0 - rules.ema_alpha) ** weight)
    return min(step, rules.rise_step_max) if rising and rules.profile == "cautious" else step


def move_trust_score(score: float, value: float, step: float) -> float:
    """Return the score after a step towards ``value``.

    >>> move_trust_score(0.5, 1.0, 0.3)
    0.65
    """
    return min(max(score + step * (value - score), 0.0), 1.0)


def lift_score(score: float, boost: float, rules: TrustRules) -> float:
    """Return the score after a recovery, which adds at most the recovery rate.

    >>> lift_score(0.7, 0.5, TrustRules()), lift_score(0.98, 0.05, TrustRules())
    (0.75, 1.0)
    """
    return min(score + min(boost, rules.recovery_rate), 1.0)


def compute_trust_confidence(samples: float) -> float:
    """Return the confidence in a score, from 0 to 1.

    >>> compute_trust_confidence(50), compute_trust_confidence(250)
    (0.5, 1.0)
    """
    return min(samples / CONFIDENT_SAMPLES_MIN, 1.0)


def count_score_samples(state: ScoreState) -> float:
    """Return the number of decisions behind a score; decisions about another model count for less.

    >>> count_score_samples(ScoreState(0.5, accepted=10, inherited=4))
    8.0
    """
    return state.samples - state.inherited * (1.0 - INHERITED_SHARE)


def decision_complexity_from_lines(lines: int) -> ChangeComplexity:
    """Return the least complexity of a change of this size, from document 001's tiers.

    >>> decision_complexity_from_lines(9).name, decision_complexity_from_lines(10).name
    ('TRIVIAL', 'MINOR')
    """
    reached = zip(ChangeComplexity, COMPLEXITY_LINES_MIN, strict=True)
    return [complexity for complexity, least in reached if lines >= least][-1]


# The tier of a score, and what an agent may merge; only this file decides either.


def tier_from_score(score: float, rules: TrustRules) -> TrustTier:
    """Return the highest tier that the unrounded score reaches; equal bounds leave the lower tier empty."""
    reached = zip(TrustTier, rules.tier_score_min, strict=True)
    return [tier for tier, least in reached if score >= least][-1]


def read_tier_lines_max(tier: TrustTier, rules: TrustRules) -> int:
    """Return the most lines that a tier may merge without review."""
    return min(rules.tier_lines_max[tier.rank], rules.approve_lines_max)


def approve_change_lines(trust: Trust, lines: int, rules: TrustRules) -> Approval:
    """Return whether an agent with this trust may merge a change of ``lines`` lines without review."""
    return Approval(tuple(find_record_reasons(trust, rules)) + tuple(find_size_reasons(trust, lines, rules)))


def count_missing_reviews(trust: Trust, rules: TrustRules) -> int:
    """Return how many more reviews an agent needs before it may merge anything without review."""
    return max(0, math.ceil(rules.approve_samples_min - count_score_samples(trust.state)))


def has_decayed_tier(trust: Trust, rules: TrustRules) -> bool:
    """Return whether a tier was reached only because old rejections have decayed.

    Waiting must not be a way out of a bad record: neutral is more than the agent has earned.
    """
    return tier_from_score(trust.earned, rules).rank < trust.tier.rank


def find_record_reasons(trust: Trust, rules: TrustRules) -> Iterator[ReviewReason]:
    """Yield the reasons in an agent's record against any of its changes."""
    if trust.tier is TrustTier.UNTRUSTED:
        yield ReviewReason(ReviewRequirement.UNTRUSTED, "the agent is UNTRUSTED")
    if count_missing_reviews(trust, rules):
        inherited = f" ({trust.state.inherited} of another model)" if trust.state.inherited else ""
        reviews = f"{count_noun(trust.state.samples, 'review')}{inherited}"
        sentence = f"the agent has {reviews}, fewer than {rules.approve_samples_min}"
        yield ReviewReason(ReviewRequirement.SAMPLES, sentence)
    if has_decayed_tier(trust, rules):
        sentence = f"{trust.tier.name} only because old rejections have decayed"
        yield ReviewReason(ReviewRequirement.IDLE, sentence)


def find_size_reasons(trust: Trust, lines: int, rules: TrustRules) -> Iterator[ReviewReason]:
    """Yield a reason if a change is larger than the agent's tier may merge."""
    most = read_tier_lines_max(trust.tier, rules)
    if lines > most:
        sentence = f"the change has {count_noun(lines, 'line')}, more than the {most:,} of {trust.tier.name}"
        yield ReviewReason(ReviewRequirement.SIZE, sentence)
