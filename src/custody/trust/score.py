"""The formulas of document 001, as its page reads them: plain numbers in, plain numbers out.

Stakes scale the step that a decision takes, never the value that it moves to.
"""

import math

from custody.trust.model import ChangeComplexity, ChangeStakes, TrustStanding
from custody.trust.rules import TrustRules

NS_PER_DAY = 86_400 * 1_000_000_000
_MS_PER_MINUTE = 60_000


def decay_score(score: float, idle_days: float, rules: TrustRules) -> float:
    """Move ``score`` towards neutral by half for every half-life of silence; a clock set back moves nothing.

    >>> round(decay_score(0.9, 30, TrustRules()), 6), round(decay_score(0.9, 60, TrustRules()), 6)
    (0.7, 0.6)
    """
    share = float(2.0 ** (-max(0.0, idle_days) / rules.decay_half_life_days))
    return rules.neutral_score + (score - rules.neutral_score) * share


def size_factor(lines: int | None, rules: TrustRules, *, rising: bool) -> float:
    """What the size of a change multiplies its stakes by; an unknown size never makes a rise larger.

    >>> size_factor(50, TrustRules(), rising=True), size_factor(1, TrustRules(), rising=True)
    (1.0, 0.5)
    """
    if lines is None:
        return rules.size_factor_min if rising else 1.0
    factor = math.log1p(lines) / math.log1p(rules.size_lines)
    return min(max(factor, rules.size_factor_min), rules.size_factor_max)


def review_factor(stakes: ChangeStakes, rules: TrustRules) -> float:
    """What the time of the review multiplies the stakes by: a little more for a quick one that can have been one.

    >>> review_factor(ChangeStakes(lines=50, review_ms=60_000), TrustRules())
    1.05
    """
    if stakes.lines is None or stakes.review_ms is None or stakes.review_ms <= 0 or is_rubber_stamp(stakes, rules):
        return 1.0
    return float(1.0 + rules.review_bonus_max * 2.0 ** (-stakes.review_ms / rules.review_half_life_ms))


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
    complexity = rules.complexity_weights[(stakes.complexity or ChangeComplexity.TRIVIAL).word]
    return complexity * size_factor(stakes.lines, rules, rising=rising) * review_factor(stakes, rules)


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


def confidence_of(samples: float, rules: TrustRules) -> float:
    """How much a score rests on, from 0 to 1.

    >>> confidence_of(50, TrustRules()), confidence_of(250, TrustRules())
    (0.5, 1.0)
    """
    return min(samples / rules.confident_samples_min, 1.0)


def samples_of(standing: TrustStanding, rules: TrustRules) -> float:
    """How many decisions a standing rests on; one about another model than the one asked about is worth less.

    >>> samples_of(TrustStanding(0.5, accepted=10, inherited=4), TrustRules())
    8.0
    """
    return standing.samples - standing.inherited * (1.0 - rules.inherit_share)


def complexity_of(lines: int, rules: TrustRules) -> ChangeComplexity:
    """How complex a change of this size is at least, as the document's tiers call it.

    >>> complexity_of(9, TrustRules()).name, complexity_of(10, TrustRules()).name
    ('TRIVIAL', 'MINOR')
    """
    reached = zip(ChangeComplexity, rules.complexity_lines_min, strict=True)
    return [complexity for complexity, least in reached if lines >= least][-1]
