"""The arithmetic of a measurement: plain functions from times to a ratio with its quartiles.

Only ratios come out of here. A time depends on how busy the machine is. The ratio of two times, measured right after
each other, compares the two sides.
"""

import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import ceil
from typing import Literal

from bench.bars import BenchError

PAIRS_MIN = 15
APART_MAX = 0.25
"""Quartiles further apart than this, relative to the median, ask for another round."""
ROUNDS_MAX = 3
TIMED_NS_MIN = 2_000_000
"""A side is called as often as it takes to fill this, so that the clock's own grain does not show."""
CALLS_MAX = 100_000

Side = Literal["subject", "baseline"]
Turn = tuple[Side, Side]


@dataclass(frozen=True, slots=True)
class Pair:
    """Times of both sides, measured right after each other, in nanoseconds for the same number of calls."""

    subject: int
    baseline: int

    @property
    def ratio(self) -> float:
        """The subject's time divided by the baseline's."""
        if self.baseline <= 0:
            raise BenchError("the baseline took no measurable time")
        return self.subject / self.baseline


@dataclass(frozen=True, slots=True)
class Spread:
    """The median of some ratios between their quartiles."""

    q1: float
    median: float
    q3: float

    @property
    def apart(self) -> float:
        """The distance of the quartiles relative to the median; a median of zero is as far apart as can be."""
        return (self.q3 - self.q1) / self.median if self.median > 0 else float("inf")

    @property
    def steady(self) -> bool:
        """Whether the quartiles are close enough to trust the median."""
        return self.apart <= APART_MAX


def spread(ratios: Sequence[float]) -> Spread:
    """Return the median and quartiles of ``ratios``, interpolated between neighbors.

    >>> spread([1.0, 2.0, 3.0, 4.0, 5.0])
    Spread(q1=2.0, median=3.0, q3=4.0)
    >>> spread([1.0, 2.0, 3.0, 4.0])
    Spread(q1=1.75, median=2.5, q3=3.25)
    """
    q1, median, q3 = statistics.quantiles(ratios, n=4, method="inclusive")
    return Spread(q1, median, q3)


def turns(pairs: int) -> Iterator[Turn]:
    """Yield the order of the sides in each pair: ABBA, so that drift favors neither side.

    >>> [first for first, _ in turns(4)]
    ['subject', 'baseline', 'subject', 'baseline']
    """
    for n in range(pairs):
        yield ("baseline", "subject") if n % 2 else ("subject", "baseline")


def calls_for(once_ns: int) -> int:
    """Return how often to call both sides in one timing, when one call of the baseline takes ``once_ns``.

    >>> calls_for(5_000_000), calls_for(1_000_000), calls_for(1_500_000), calls_for(0)
    (1, 2, 2, 100000)
    """
    return min(CALLS_MAX, max(1, ceil(TIMED_NS_MIN / max(1, once_ns))))
