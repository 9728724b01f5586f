"""The evidence behind an answer, enough to reproduce it, and the period of a change."""

import math

from msgspec import Struct

from custody.core.ids import Digest, RecordRef


class Signal(Struct, frozen=True):
    """One observation: its name, its points, the reason in a sentence, and the records that show it."""

    name: str
    points: float
    why: str
    records: tuple[RecordRef, ...] = ()


class Evidence(Struct, frozen=True):
    """The signals, and the digest of the rules that set their points."""

    signals: tuple[Signal, ...]
    rules: Digest

    @property
    def score(self) -> float:
        """Return the exact sum of all points, independent of the order of the signals."""
        return math.fsum(signal.points for signal in self.signals)

    def has(self, *names: str) -> bool:
        """Return whether all these signals are present."""
        return {signal.name for signal in self.signals}.issuperset(names)


# The period of a change.


class ChangePeriod(Struct, frozen=True):
    """The period of a change: the times of its base, its first commit and its last commit."""

    base_ns: int
    first_ns: int
    last_ns: int
