"""The chance that a change is accepted, as a sum of parts in log-odds: what is said can be accounted for exactly.

Predicted when a change is opened, learnt when it is decided. Merged is good, with or without somebody's own changes on
top; rejected is not. The same decisions in the same order give the same chance, bit for bit; there is no clock.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate

from custody.trust.levels import LEVELS, PRIOR_SAMPLES, LevelCase, LevelRate, Levels
from custody.trust.logistic import Weights
from custody.trust.model import DecisionType
from custody.trust.rating import RATINGS, Ratings, logit_of, probability_of
from custody.trust.rules import TrustRules
from custody.trust.score import (
    COMPLEXITY_LINES_MIN,
    DECISION_VALUES,
    NEUTRAL_SCORE,
    NS_PER_DAY,
    decay_score,
    move_score,
)
from custody.trust.sizes import Sizes

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
