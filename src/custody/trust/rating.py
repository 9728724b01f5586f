"""Ratings of agents and repositories: how much better or worse than everyone, in log-odds, and how sure.

As in Glicko, an outcome moves a rating the more, the less it was expected and the less sure the rating was; a rating
that rests becomes less sure again. Three of them add up: the agent's, the repository's, the agent's in the repository.
"""

import math

from custody.trust.levels import LevelCase
from custody.trust.score import NS_PER_DAY

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
