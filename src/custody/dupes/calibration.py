"""From a model's number to a chance that holds: isotonic, learnt from answers, with a lower bound on precision."""

import math
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

Z = 1.645
"""One-sided, 95 %."""


@dataclass(frozen=True, slots=True)
class CalibrationStep:
    """From ``raw`` on, a model's number means ``chance``; of ``asked`` such pairs ``right`` were duplicates."""

    raw: float
    asked: float
    right: float

    @property
    def chance(self) -> float:
        """The share that were duplicates; nobody is ever quite sure."""
        return (self.right + 0.5) / (self.asked + 1)

    @property
    def low(self) -> float:
        """What that share is at least, with 95 % confidence (Wilson)."""
        return wilson_low(self.right, self.asked)


@dataclass(frozen=True, slots=True)
class Calibration:
    """Steps with rising numbers and rising chances; none at all leaves a model's number as it is."""

    steps: tuple[CalibrationStep, ...] = ()

    def chance(self, raw: float) -> float:
        """What a model's number means."""
        return self.steps[self._place(raw)].chance if self.steps else raw

    def low(self, raw: float) -> float:
        """What it means at least: a larger number never promises less than a smaller one."""
        return max((step.low for step in self.steps[: self._place(raw) + 1]), default=0.0)

    def _place(self, raw: float) -> int:
        return max(0, bisect_right(self.steps, raw, key=lambda step: step.raw) - 1)


UNCALIBRATED = Calibration()


def calibration_of(
    answers: Iterable[tuple[float, bool]], prior: Sequence[CalibrationStep] = (), prior_share: float = 1.0
) -> Calibration:
    """The isotonic steps that fit the answers best (pool adjacent violators); ``prior`` counts as so many answers."""
    counted = {step.raw: (step.asked * prior_share, step.right * prior_share) for step in prior}
    for raw, right in answers:
        asked, said = counted.get(raw, (0.0, 0.0))
        counted[raw] = (asked + 1, said + right)
    merged: list[CalibrationStep] = []
    for raw, (asked, said) in sorted(counted.items()):
        merged.append(CalibrationStep(raw, asked, said))
        while len(merged) > 1 and merged[-2].chance >= merged[-1].chance:
            last, before = merged.pop(), merged.pop()
            merged.append(CalibrationStep(before.raw, before.asked + last.asked, before.right + last.right))
    return Calibration(tuple(merged))


def wilson_low(right: float, asked: float, z: float = Z) -> float:
    """The least share that so many right answers of so many still speak for.

    >>> round(wilson_low(99, 100), 3), wilson_low(0, 0)
    (0.956, 0.0)
    """
    if asked <= 0:
        return 0.0
    share = right / asked
    centre = share + z * z / (2 * asked)
    spread = z * math.sqrt(share * (1 - share) / asked + z * z / (4 * asked * asked))
    return max(0.0, (centre - spread) / (1 + z * z / asked))
