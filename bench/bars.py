"""The bar for a figure, and the error for a figure that cannot be measured."""

from dataclasses import dataclass
from typing import Literal, assert_never

Sense = Literal["≤", "≥", "="]


class BenchError(Exception):
    """A figure cannot be measured: wrong output, nothing found, no measurable time. Never a missed bar."""


@dataclass(frozen=True, slots=True)
class Bar:
    """A bound on one figure.

    >>> str(at_most(1.25)), at_most(1.25).holds(1.25), at_least(2).holds(1.9), exactly(0).holds(1)
    ('≤ 1.25', True, False, False)
    """

    sense: Sense
    limit: float

    def __str__(self) -> str:
        return f"{self.sense} {self.limit:,}"

    def holds(self, figure: float) -> bool:
        """Return whether ``figure`` reaches the bar; NaN never does."""
        match self.sense:
            case "≤":
                return figure <= self.limit
            case "≥":
                return figure >= self.limit
            case "=":
                return figure == self.limit
            case _:
                assert_never(self.sense)


def at_most(limit: float) -> Bar:
    """Return the bar of a figure that must not be above ``limit``."""
    return Bar("≤", limit)


def at_least(limit: float) -> Bar:
    """Return the bar of a figure that must not be below ``limit``."""
    return Bar("≥", limit)


def exactly(limit: float) -> Bar:
    """Return the bar of a figure that must be ``limit``."""
    return Bar("=", limit)
