"""The chance that a change is accepted, as a sum of parts in log-odds: what is said can be accounted for exactly.

Predicted when a change is opened, learnt when it is decided. Merged is good, with or without somebody's own changes on
top; rejected is not. The same decisions in the same order give the same chance, bit for bit; there is no clock.
"""

import math
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate

from custody.trust.levels import LEVELS, PRIOR_SAMPLES, LevelCase, LevelRate, Levels
from custody.trust.model import DecisionType
from custody.trust.rules import TrustRules
from custody.trust.score import (
    COMPLEXITY_LINES_MIN,
    DECISION_VALUES,
    NEUTRAL_SCORE,
    NS_PER_DAY,
    decay_score,
    move_score,
)

# Ratings of agents and repositories: how much better or worse than everyone, in log-odds, and how sure.
# As in Glicko, an outcome moves a rating the more, the less it was expected and the less sure the rating was; a
# rating that rests becomes less sure again. Three of them add up: the agent's, the repository's, the agent's in the
# repository.


RATINGS = ("agent", "repository", "pair")

VARIANCE_MAX = 0.25
"""How unsure a new rating is, as a variance of log-odds, chosen on the first half of the stream in ``bench``."""
VARIANCE_GROWTH_PER_DAY = 0.03
"""How much less sure a rating becomes in a day without decisions, chosen with ``VARIANCE_MAX``."""

RatingKey = tuple[str, ...]


class Ratings:
    """A mean and a variance for every agent, every repository and every pair of them."""

    def __init__(self) -> None:
        self._rated: dict[RatingKey, tuple[float, float, int]] = {}

    def of(self, case: LevelCase) -> list[float]:
        """The ratings of the change's agent, of its repository, and of the two together."""
        return [self._rated.get(key, (0.0, 0.0, 0))[0] for key in _keys(case)]

    def learn(self, case: LevelCase, base: float, *, good: bool, at_ns: int) -> None:
        """Move the three ratings by an outcome; ``base`` is what everyone's rate is in log-odds."""
        keys = _keys(case)
        rated = [self._rested(key, at_ns) for key in keys]
        expected = probability_of(base + math.fsum(mean for mean, _, _ in rated))
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


def probability_of(logit: float) -> float:
    """The probability with these log-odds.

    >>> probability_of(0.0), round(probability_of(math.log(3)), 6), probability_of(-1000.0)
    (0.5, 0.75, 0.0)
    """
    if logit >= 0:
        return 1.0 / (1.0 + math.exp(-logit))
    odds = math.exp(logit)
    return odds / (1.0 + odds)


def logit_of(probability: float) -> float:
    """The log-odds of a probability.

    >>> logit_of(0.5), round(logit_of(0.75) - math.log(3), 6)
    (0.0, 0.0)
    """
    return math.log(probability / (1.0 - probability))


def _keys(case: LevelCase) -> tuple[RatingKey, RatingKey, RatingKey]:
    return ("agent", case.agent), ("repository", case.repository), ("pair", case.repository, case.agent)


# How much each input of a chance counts: weights that are learnt from outcomes, one after the other.
# A logistic regression, learnt online as a Gaussian over the weights (an extended Kalman filter): the more was seen,
# the smaller the steps. What is learnt on a day counts from the next day on, so that on one day equal inputs give
# equal chances, and a decision about an agent moves its own record only.


DOUBT_MIN = 1e-3
"""However sure a prediction was, an outcome teaches at least as much as one of this variance."""


class Weights:
    """Weights of so many inputs, none larger than ``most``, whatever a stream of odd outcomes would teach.

    The first ``floored`` are never negative: more of such an input never hurts.
    """

    def __init__(self, start: Sequence[float], variance: float, floored: int, most: float) -> None:
        self._learnt = list(start)
        self._counting = list(start)
        self._day: int | None = None
        self._floored = floored
        self._most = most
        size = range(len(start))
        self._spread = [[variance if row == column else 0.0 for column in size] for row in size]

    def on(self, at_ns: int) -> list[float]:
        """The weights that count at a moment: those learnt before its day began."""
        newer = self._day is None or at_ns // NS_PER_DAY > self._day
        return self._learnt if newer else self._counting

    def learn(self, inputs: Sequence[float], *, good: bool, at_ns: int) -> None:
        """Move the weights by one outcome; an input of 0 teaches nothing about its own weight."""
        day = at_ns // NS_PER_DAY
        if self._day is None or day > self._day:
            self._counting, self._day = list(self._learnt), day
        there = [place for place, value in enumerate(inputs) if value]
        expected = probability_of(sum(self._learnt[place] * inputs[place] for place in there))
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


# The size of a change as inputs of its chance: which bucket it is in, compared with the sizes that were seen.
# Whether a size is known at all often depends on how a change was treated, so knowing it must say nothing by itself:
# over all known sizes the inputs average to 0, and an unknown size is 0 in all of them.


class Sizes:
    """How often each bucket was seen; what is seen on a day counts from the next day on, as weights do."""

    def __init__(self) -> None:
        self._seen = [1.0 for _ in COMPLEXITY_LINES_MIN]
        self._counting = list(self._seen)
        self._day: int | None = None

    def of(self, lines: int | None, now_ns: int) -> list[float]:
        """One input for each bucket."""
        if lines is None:
            return [0.0 for _ in COMPLEXITY_LINES_MIN]
        newer = self._day is None or now_ns // NS_PER_DAY > self._day
        seen = self._seen if newer else self._counting
        total, own = sum(seen), _bucket(lines)
        return [(place == own) - count / total for place, count in enumerate(seen)]

    def learn(self, lines: int | None, at_ns: int) -> None:
        """Count a size; an unknown one is none."""
        day = at_ns // NS_PER_DAY
        if self._day is None or day > self._day:
            self._counting, self._day = list(self._seen), day
        if lines is not None:
            self._seen[_bucket(lines)] += 1.0


def _bucket(lines: int) -> int:
    return bisect_right(COMPLEXITY_LINES_MIN, lines) - 1


CHANCE_MIN, CHANCE_MAX = 0.01, 0.99
"""No chance is lower or higher: log loss is infinite at 0 and at 1."""
DEVIATIONS = 1.645
"""How far below a chance its lower bound is, in standard deviations: the bound holds in 95 of 100 cases."""
LEVEL_WEIGHTS = (1.0, 0.5, 0.5, 0.5, 0.5)
"""How much each of ``LEVELS`` counts before anything is learned: half a vote each beside the ratings."""
RATING_WEIGHT, SCORE_WEIGHT = 0.5, 0.0
"""The same for each rating and for the document's score, which predicts badly by itself."""
WEIGHT_VARIANCE = 0.05
"""How unsure these weights are at first, chosen on the first half of the stream in ``bench``."""
WEIGHT_MAX = 1.5
"""No input counts more; 1 takes what a level or a rating says as it is."""
_RATED = {"agent": "the agent's rating", "repository": "the repository's rating", "pair": "the agent's rating here"}


@dataclass(frozen=True, slots=True)
class ChanceSummand:
    """What one thing adds to the log-odds; ``value`` is the rate, rating or score behind it, ``samples`` its weight."""

    name: str
    points: float
    value: float | None = None
    samples: float | None = None


@dataclass(frozen=True, slots=True)
class AcceptanceChance:
    """The chance of acceptance of one change, what it may be at worst, and the parts whose sum its log-odds are.

    ``samples`` is how many decisions about the agent here it rests on, faded. ``inputs`` are what was weighed.
    """

    probability: float
    low: float
    logit: float
    account: tuple[ChanceSummand, ...]
    samples: float
    inputs: tuple[float, ...]


class Chances:
    """Everything learnt so far, by one set of rules."""

    def __init__(self, rules: TrustRules) -> None:
        self._rules = rules
        self._levels = Levels()
        self._ratings = Ratings()
        self._sizes = Sizes()
        self._scores: dict[tuple[str, str], tuple[float, int]] = {}
        fixed = [*LEVEL_WEIGHTS, *(RATING_WEIGHT for _ in RATINGS), SCORE_WEIGHT]
        sizes = [0.0 for _ in COMPLEXITY_LINES_MIN]
        self._weights = Weights([*fixed, *sizes], WEIGHT_VARIANCE, len(fixed), WEIGHT_MAX)

    def predict(self, case: LevelCase) -> AcceptanceChance:
        """The chance of a change as of the moment at which it is opened; asking changes nothing."""
        return self._estimate(case, case.opened_ns)

    def learn(
        self, case: LevelCase, decision: DecisionType, decided_ns: int, said: AcceptanceChance | None = None
    ) -> None:
        """Learn how a change was decided; ``said`` is what was predicted, without it what would be said now."""
        good = is_good(decision)
        inputs = self._estimate(case, decided_ns).inputs if said is None else said.inputs
        everyone = self._levels.of(case, decided_ns)[0].rate
        self._weights.learn(inputs, good=good, at_ns=decided_ns)
        self._ratings.learn(case, logit_of(everyone), good=good, at_ns=decided_ns)
        self._levels.learn(case, good=good, at_ns=decided_ns)
        self._sizes.learn(case.lines, decided_ns)
        value = DECISION_VALUES[decision]
        key = (case.agent, case.repository)
        since_ns = self._scores.get(key, (0.0, decided_ns))[1]
        score = move_score(self._score(case, decided_ns), value, self._rules.ema_alpha)
        self._scores[key] = (score, max(decided_ns, since_ns))

    def _estimate(self, case: LevelCase, now_ns: int) -> AcceptanceChance:
        levels = self._levels.of(case, now_ns)
        ratings = self._ratings.of(case)
        score = self._score(case, now_ns)
        size = self._sizes.of(case.lines, now_ns)
        inputs = (*_beyond(levels), *ratings, 2.0 * (score - NEUTRAL_SCORE), *size)
        weights = self._weights.on(now_ns)
        account = tuple(self._account(levels, ratings, score, inputs, weights, case.lines))
        logit = math.fsum(part.points for part in account)
        probability = min(max(probability_of(logit), CHANCE_MIN), CHANCE_MAX)
        samples = levels[-1].samples
        low = wilson(probability, samples + PRIOR_SAMPLES["agent"], DEVIATIONS)
        return AcceptanceChance(probability, max(low, CHANCE_MIN), logit, account, samples, inputs)

    def _score(self, case: LevelCase, now_ns: int) -> float:
        """The document's score with its plain formula, of the agent in the repository."""
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
    ) -> Iterator[ChanceSummand]:
        # No level counts more than a wider one: else what is good news at both could lower the sum.
        counting = list(accumulate(weights[: len(LEVELS)], min))
        for level in levels:
            place = LEVELS.index(level.name)
            yield ChanceSummand(_named(level), counting[place] * inputs[place], level.rate, level.samples)
        later = zip(inputs[len(LEVELS) :], weights[len(LEVELS) :], strict=True)
        points_of = [value * weight for value, weight in later]
        for name, rating, points in zip(RATINGS, ratings, points_of, strict=False):
            yield ChanceSummand(_RATED[name], points, rating)
        yield ChanceSummand("the document's score", points_of[len(RATINGS)], score)
        if lines is not None:
            yield ChanceSummand("the size", math.fsum(points_of[len(RATINGS) + 1 :]), float(lines))


def is_good(decision: DecisionType) -> bool:
    """Whether a change was merged, as it was or with changes."""
    return decision is not DecisionType.REJECTED


def wilson(share: float, samples: float, deviations: float) -> float:
    """The lower end of Wilson's interval: no smaller true share makes ``share`` of ``samples`` plausible.

    >>> round(wilson(0.9, 100, 1.645), 4), wilson(0.9, 100, 0)
    (0.8396, 0.9)
    """
    square = deviations * deviations / samples
    root = deviations * math.sqrt(share * (1.0 - share) / samples + square / (4.0 * samples))
    return (share + square / 2.0 - root) / (1.0 + square)


def _beyond(levels: list[LevelRate]) -> list[float]:
    """What each of the five levels says beyond the one above, in log-odds; one that is not known says nothing."""
    inputs, above = [0.0 for _ in LEVELS], 0.0
    for level in levels:
        logit = logit_of(level.rate)
        inputs[LEVELS.index(level.name)] = logit - above
        above = logit
    return inputs


def _named(level: LevelRate) -> str:
    return level.name if level.of is None or level.name in ("everyone", "repository") else f"{level.name} {level.of}"
