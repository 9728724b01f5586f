"""The acceptance probability of a change, as a sum of parts in log-odds that explain it exactly.

It is predicted when a change is opened and learned when it is decided. Merged is good, with or without edits by the
reviewer; rejected is not. The same decisions in the same order give the same probability, bit for bit.
"""

import math
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate

from msgspec import Struct

from custody.trust.levels import LEVELS, PRIOR_SAMPLES, LevelCase, LevelRate, Levels
from custody.trust.model import DecisionType
from custody.trust.rules import TrustRules
from custody.trust.score import (
    COMPLEXITY_LINES_MIN,
    DECISION_VALUES,
    NEUTRAL_SCORE,
    NS_PER_DAY,
    decay_score,
    move_trust_score,
)

# Ratings of agents and repositories: how much better or worse than everyone, in log-odds, with a variance.
# As in Glicko, unexpected outcomes and uncertain ratings move more, and an idle rating becomes less certain. Three
# ratings add up: the agent's, the repository's, and the agent's in the repository.


RATINGS = ("agent", "repository", "pair")

VARIANCE_MAX = 0.25
"""The variance of a new rating in log-odds, chosen on the first half of the stream in ``bench``."""
VARIANCE_GROWTH_PER_DAY = 0.03
"""The growth of the variance in a day without decisions, chosen with ``VARIANCE_MAX``."""

RatingKey = tuple[str, ...]


class Ratings:
    """A mean and a variance for every agent, every repository and every pair of them."""

    def __init__(self) -> None:
        self._rated: dict[RatingKey, tuple[float, float, int]] = {}

    def list_ratings(self, case: LevelCase) -> list[float]:
        """Return the ratings of the change's agent, its repository, and the pair."""
        return [self._rated.get(key, (0.0, 0.0, 0))[0] for key in _rating_keys_from_case(case)]

    def learn(self, case: LevelCase, base: float, *, good: bool, at_ns: int) -> None:
        """Move the three ratings by an outcome; ``base`` is the rate of everyone in log-odds."""
        keys = _rating_keys_from_case(case)
        rated = [self._rested(key, at_ns) for key in keys]
        expected = acceptance_probability_from_logit(base + math.fsum(mean for mean, _, _ in rated))
        doubt = expected * (1.0 - expected)
        spread = 1.0 + doubt * math.fsum(variance for _, variance, _ in rated)
        for key, (mean, variance, since_ns) in zip(keys, rated, strict=True):
            moved = mean + variance * (good - expected) / spread
            self._rated[key] = (moved, variance - variance * variance * doubt / spread, since_ns)

    def _rested(self, key: RatingKey, now_ns: int) -> tuple[float, float, int]:
        mean, variance, since_ns = self._rated.get(key, (0.0, VARIANCE_MAX, now_ns))
        if now_ns <= since_ns:
            return mean, variance, since_ns
        grown = variance + VARIANCE_GROWTH_PER_DAY * (now_ns - since_ns) / NS_PER_DAY
        return mean, min(grown, VARIANCE_MAX), now_ns


def acceptance_probability_from_logit(logit: float) -> float:
    """Return the probability with these log-odds.

    >>> [round(acceptance_probability_from_logit(logit), 6) for logit in (0.0, math.log(3), -1000.0)]
    [0.5, 0.75, 0.0]
    """
    if logit >= 0:
        return 1.0 / (1.0 + math.exp(-logit))
    odds = math.exp(logit)
    return odds / (1.0 + odds)


def logit_from_acceptance_probability(probability: float) -> float:
    """Return the log-odds of a probability.

    >>> logit_from_acceptance_probability(0.5), round(logit_from_acceptance_probability(0.75) - math.log(3), 6)
    (0.0, 0.0)
    """
    return math.log(probability / (1.0 - probability))


def _rating_keys_from_case(case: LevelCase) -> tuple[RatingKey, RatingKey, RatingKey]:
    return ("agent", case.agent), ("repository", case.repository), ("pair", case.repository, case.agent)


# The weights of the inputs, learned from outcomes one by one: a logistic regression, learned online as a Gaussian over
# the weights (an extended Kalman filter). Weights learned on a day count from the next day on, so that equal inputs
# give equal probabilities on one day, and a decision about an agent moves only its own record.


DOUBT_MIN = 1e-3
"""The least variance of a prediction that is used for learning."""


class Weights:
    """Weights of inputs, none larger than ``most``, whatever the outcomes.

    The first ``floored`` weights are never negative: more of such an input never hurts.
    """

    def __init__(self, start: Sequence[float], variance: float, floored: int, most: float) -> None:
        self._learnt = list(start)
        self._counting = list(start)
        self._day: int | None = None
        self._floored = floored
        self._most = most
        size = range(len(start))
        self._spread = [[variance if row == column else 0.0 for column in size] for row in size]

    def list_weights(self, at_ns: int) -> list[float]:
        """Return the weights that count at a time: those learned before its day began."""
        newer = self._day is None or at_ns // NS_PER_DAY > self._day
        return self._learnt if newer else self._counting

    def learn(self, inputs: Sequence[float], *, good: bool, at_ns: int) -> None:
        """Move the weights by one outcome; an input of 0 teaches nothing about its own weight."""
        day = at_ns // NS_PER_DAY
        if self._day is None or day > self._day:
            self._counting, self._day = list(self._learnt), day
        there = [place for place, value in enumerate(inputs) if value]
        expected = acceptance_probability_from_logit(sum(self._learnt[place] * inputs[place] for place in there))
        doubt = max(expected * (1.0 - expected), DOUBT_MIN)
        gains = [sum(row[place] * inputs[place] for place in there) for row in self._spread]
        spread = 1.0 + doubt * sum(gains[place] * inputs[place] for place in there)
        surprise, shrink = (good - expected) / spread, doubt / spread
        for place, gain in enumerate(gains):
            if gain:
                self._move(place, gain * surprise)
                row, factor = self._spread[place], gain * shrink
                self._spread[place] = [value - factor * other for value, other in zip(row, gains, strict=True)]

    def _move(self, place: int, step: float) -> None:
        least = 0.0 if place < self._floored else -self._most
        self._learnt[place] = min(max(self._learnt[place] + step, least), self._most)


# The size of a change as inputs: its bucket, relative to the frequency of all buckets. Whether a size is known depends
# on how a change was handled, so that alone must not matter: the inputs of known sizes average to 0, and all inputs of
# an unknown size are 0.


class Sizes:
    """The frequency of each size bucket; sizes of a day count from the next day on, as weights do."""

    def __init__(self) -> None:
        self._seen = [1.0 for _ in COMPLEXITY_LINES_MIN]
        self._counting = list(self._seen)
        self._day: int | None = None

    def list_inputs(self, lines: int | None, now_ns: int) -> list[float]:
        """Return one input for each bucket."""
        if lines is None:
            return [0.0 for _ in COMPLEXITY_LINES_MIN]
        newer = self._day is None or now_ns // NS_PER_DAY > self._day
        seen = self._seen if newer else self._counting
        total, own = sum(seen), _find_acceptance_size_bucket(lines)
        return [(place == own) - count / total for place, count in enumerate(seen)]

    def learn(self, lines: int | None, at_ns: int) -> None:
        """Count a size; an unknown size is not counted."""
        day = at_ns // NS_PER_DAY
        if self._day is None or day > self._day:
            self._counting, self._day = list(self._seen), day
        if lines is not None:
            self._seen[_find_acceptance_size_bucket(lines)] += 1.0


def _find_acceptance_size_bucket(lines: int) -> int:
    return bisect_right(COMPLEXITY_LINES_MIN, lines) - 1


PROBABILITY_MIN, PROBABILITY_MAX = 0.01, 0.99
"""The bounds of every probability: log loss is infinite at 0 and at 1."""
DEVIATIONS = 1.645
"""The distance of the lower bound in standard deviations: it holds in 95 of 100 cases."""
LEVEL_WEIGHTS = (1.0, 0.5, 0.5, 0.5, 0.5)
"""The initial weight of each of ``LEVELS``."""
RATING_WEIGHT, SCORE_WEIGHT = 0.5, 0.0
"""The initial weights of each rating and of document 001's score, which predicts badly by itself."""
WEIGHT_VARIANCE = 0.05
"""The initial variance of the weights, chosen on the first half of the stream in ``bench``."""
WEIGHT_MAX = 1.5
"""The largest weight; 1 leaves a level or a rating unchanged."""
_RATED = {"agent": "the agent's rating", "repository": "the repository's rating", "pair": "the agent's rating here"}


class AcceptanceSummand(Struct, frozen=True):
    """One part of the log-odds; ``value`` is the rate, rating or score behind it, ``samples`` its weight."""

    name: str
    points: float
    value: float | None = None
    samples: float | None = None


class AcceptanceEstimate(Struct, frozen=True):
    """The acceptance probability of one change, its lower bound, and the parts that sum to its log-odds.

    ``samples`` is the decayed number of decisions about the agent here. ``inputs`` are the inputs of the model.
    """

    probability: float
    low: float
    logit: float
    account: tuple[AcceptanceSummand, ...]
    samples: float
    inputs: tuple[float, ...]


class AcceptanceModel:
    """The model of acceptance, with everything learned so far under one set of rules."""

    def __init__(self, rules: TrustRules) -> None:
        self._rules = rules
        self._levels = Levels()
        self._ratings = Ratings()
        self._sizes = Sizes()
        self._scores: dict[tuple[str, str], tuple[float, int]] = {}
        fixed = [*LEVEL_WEIGHTS, *(RATING_WEIGHT for _ in RATINGS), SCORE_WEIGHT]
        sizes = [0.0 for _ in COMPLEXITY_LINES_MIN]
        self._weights = Weights([*fixed, *sizes], WEIGHT_VARIANCE, len(fixed), WEIGHT_MAX)

    def predict(self, case: LevelCase) -> AcceptanceEstimate:
        """Return the estimate for a change at the time of its opening; this changes nothing."""
        return self._estimate(case, case.opened_ns)

    def learn(
        self, case: LevelCase, decision: DecisionType, decided_ns: int, estimate: AcceptanceEstimate | None = None
    ) -> None:
        """Learn how a change was decided; ``estimate`` is the prediction, computed now if missing."""
        good = is_merge_decision(decision)
        inputs = self._estimate(case, decided_ns).inputs if estimate is None else estimate.inputs
        everyone = self._levels.list_rates(case, decided_ns)[0].rate
        self._weights.learn(inputs, good=good, at_ns=decided_ns)
        self._ratings.learn(case, logit_from_acceptance_probability(everyone), good=good, at_ns=decided_ns)
        self._levels.learn(case, good=good, at_ns=decided_ns)
        self._sizes.learn(case.lines, decided_ns)
        value = DECISION_VALUES[decision]
        key = (case.agent, case.repository)
        since_ns = self._scores.get(key, (0.0, decided_ns))[1]
        score = move_trust_score(self._score(case, decided_ns), value, self._rules.ema_alpha)
        self._scores[key] = (score, max(decided_ns, since_ns))

    def _estimate(self, case: LevelCase, now_ns: int) -> AcceptanceEstimate:
        levels = self._levels.list_rates(case, now_ns)
        ratings = self._ratings.list_ratings(case)
        score = self._score(case, now_ns)
        size = self._sizes.list_inputs(case.lines, now_ns)
        inputs = (*_acceptance_inputs_from_levels(levels), *ratings, 2.0 * (score - NEUTRAL_SCORE), *size)
        weights = self._weights.list_weights(now_ns)
        account = tuple(self._account(levels, ratings, score, inputs, weights, case.lines))
        logit = math.fsum(part.points for part in account)
        probability = min(max(acceptance_probability_from_logit(logit), PROBABILITY_MIN), PROBABILITY_MAX)
        samples = levels[-1].samples
        low = compute_acceptance_lower_bound(probability, samples + PRIOR_SAMPLES["agent"], DEVIATIONS)
        return AcceptanceEstimate(probability, max(low, PROBABILITY_MIN), logit, account, samples, inputs)

    def _score(self, case: LevelCase, now_ns: int) -> float:
        """Return document 001's score by its plain formula, for the agent in the repository."""
        score, since_ns = self._scores.get((case.agent, case.repository), (self._rules.start_score, now_ns))
        return decay_score(score, (now_ns - since_ns) / NS_PER_DAY, self._rules)

    def _account(
        self,
        levels: list[LevelRate],
        ratings: list[float],
        score: float,
        inputs: tuple[float, ...],
        weights: list[float],
        lines: int | None,
    ) -> Iterator[AcceptanceSummand]:
        # Cap each weight at the wider level's; otherwise good outcomes at both could lower the sum.
        counting = list(accumulate(weights[: len(LEVELS)], min))
        for level in levels:
            place = LEVELS.index(level.name)
            yield AcceptanceSummand(
                _render_acceptance_level(level), counting[place] * inputs[place], level.rate, level.samples
            )
        later = zip(inputs[len(LEVELS) :], weights[len(LEVELS) :], strict=True)
        points_of = [value * weight for value, weight in later]
        for name, rating, points in zip(RATINGS, ratings, points_of, strict=False):
            yield AcceptanceSummand(_RATED[name], points, rating)
        yield AcceptanceSummand("the document's score", points_of[len(RATINGS)], score)
        if lines is not None:
            yield AcceptanceSummand("the size", math.fsum(points_of[len(RATINGS) + 1 :]), float(lines))


def is_merge_decision(decision: DecisionType) -> bool:
    """Return whether a change was merged, with or without edits."""
    return decision is not DecisionType.REJECTED


def compute_acceptance_lower_bound(share: float, samples: float, deviations: float) -> float:
    """Return the lower end of Wilson's interval for ``share`` of ``samples``.

    >>> round(compute_acceptance_lower_bound(0.9, 100, 1.645), 4), compute_acceptance_lower_bound(0.9, 100, 0)
    (0.8396, 0.9)
    """
    square = deviations * deviations / samples
    root = deviations * math.sqrt(share * (1.0 - share) / samples + square / (4.0 * samples))
    return (share + square / 2.0 - root) / (1.0 + square)


def _acceptance_inputs_from_levels(levels: list[LevelRate]) -> list[float]:
    """Return the difference of each of the five levels to the one above, in log-odds; 0 if unknown."""
    inputs, above = [0.0 for _ in LEVELS], 0.0
    for level in levels:
        logit = logit_from_acceptance_probability(level.rate)
        inputs[LEVELS.index(level.name)] = logit - above
        above = logit
    return inputs


def _render_acceptance_level(level: LevelRate) -> str:
    return level.name if level.of is None or level.name in ("everyone", "repository") else f"{level.name} {level.of}"
