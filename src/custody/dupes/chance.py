"""How likely a person would call two changes the same: a logistic model over all signals, with its account.

Every line of the account is weight times value; together with the first, which is there for every pair, they are the
log-odds. A signal that is missing has a weight of its own.
"""

import math
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from custody.dupes.model import ChanceTerm, DuplicateChance, Similarities
from custody.dupes.score import SIGNALS

# From a model's number to a chance that holds: isotonic, learnt from answers, with a lower bound on precision.


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


BEGINNING = "every pair"
_LOG_ODDS_MAX = 30.0


@dataclass(frozen=True, slots=True)
class Model:
    """Fitted weights of each signal, of its square and of its being missing; what the sum means is calibrated."""

    version: str
    intercept: float
    weights: Mapping[str, float] = field(hash=False)
    calibration: Calibration = UNCALIBRATED

    def calibrated(self, calibration: Calibration, version: str) -> "Model":
        """The same weights, with what people's answers say that their sum means."""
        return replace(self, calibration=calibration, version=self.version + version)


def features(similarities: Similarities) -> dict[str, float]:
    """What the model looks at, by name."""
    found: dict[str, float] = {}
    for name in SIGNALS:
        value = similarities.get(name)
        if value is None:
            found[f"{name} missing"] = 1.0
        else:
            found[name] = value
            found[f"{name} squared"] = value * value
    return found


def chance_of(similarities: Similarities, model: Model) -> DuplicateChance:
    """The chance of a pair, with the account of it: the lines add up to the log-odds before calibration."""
    lines = account_of(similarities, model)
    raw = _raw(lines)
    return DuplicateChance(model.calibration.chance(raw), model.calibration.low(raw), lines)


def raw_chance(similarities: Similarities, model: Model) -> float:
    """The model's own number for a pair, before calibration."""
    return _raw(account_of(similarities, model))


def account_of(similarities: Similarities, model: Model) -> tuple[ChanceTerm, ...]:
    """What speaks for and against a pair, line by line."""
    told = (
        ChanceTerm(name, weight, value)
        for name, value in features(similarities).items()
        if (weight := model.weights.get(name, 0.0)) and value
    )
    return (ChanceTerm(BEGINNING, model.intercept, 1.0), *told)


def _raw(lines: Iterable[ChanceTerm]) -> float:
    log_odds = math.fsum(line.adds for line in lines)
    return 1 / (1 + math.exp(-max(-_LOG_ODDS_MAX, min(_LOG_ODDS_MAX, log_odds))))
