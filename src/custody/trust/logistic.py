"""How much each input of a chance counts: weights that are learnt from outcomes, one after the other.

A logistic regression, learnt online as a Gaussian over the weights (an extended Kalman filter): the more was seen, the
smaller the steps. What is learnt on a day counts from the next day on, so that on one day equal inputs give equal
chances, and a decision about an agent moves its own record only.
"""

from collections.abc import Sequence

from custody.trust.rating import probability_of
from custody.trust.score import NS_PER_DAY

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
