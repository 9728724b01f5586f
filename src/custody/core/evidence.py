"""The evidence behind an answer, enough to reach it again, and the period of a change."""

import math
from dataclasses import dataclass

from custody.core.ids import Digest, RecordRef


@dataclass(frozen=True, slots=True)
class Signal:
    """One thing we saw: its name, the points it adds, a sentence saying why, the records that show it."""

    name: str
    points: float
    why: str
    records: tuple[RecordRef, ...] = ()


@dataclass(frozen=True, slots=True)
class Evidence:
    """The signals plus the digest of the rules that weighed them."""

    signals: tuple[Signal, ...]
    rules: Digest

    @property
    def score(self) -> float:
        """The points of all signals together; exact, so that the order of the signals cannot decide a tie."""
        return math.fsum(signal.points for signal in self.signals)

    def has(self, *names: str) -> bool:
        """Whether every named signal was seen."""
        return {signal.name for signal in self.signals}.issuperset(names)


# When a change was made.


@dataclass(frozen=True, slots=True)
class ChangePeriod:
    """When a change was made, by its commits: its base, the first of them, the last of them."""

    base_ns: int
    first_ns: int
    last_ns: int
