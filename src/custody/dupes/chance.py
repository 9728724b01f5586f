"""The probability that a person calls two changes duplicates: a logistic model over all signals.

The terms, each weight times value, add up to the log-odds; the first is the intercept. A missing signal has a weight
of its own.
"""

import math
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from custody.core.structs import hash_struct
from custody.dupes.model import ChanceTerm, DuplicateChance, Similarities
from custody.dupes.score import SIGNALS

# Calibration: isotonic regression on answers, with a lower bound on precision.


Z = 1.645
"""One-sided, 95 %."""


class CalibrationStep(Struct, frozen=True):
    """From ``raw`` on, ``duplicates`` of ``pairs`` pairs were duplicates."""

    raw: float
    pairs: float
    duplicates: float

    @property
    def chance(self) -> float:
        """The share of duplicates, smoothed so that it is never 0 or 1."""
        return (self.duplicates + 0.5) / (self.pairs + 1)

    @property
    def low(self) -> float:
        """The lower bound of the share with 95 % confidence (Wilson)."""
        return compute_wilson_lower_bound(self.duplicates, self.pairs)


class Calibration(Struct, frozen=True):
    """Steps with rising raw and calibrated probabilities; without steps, the raw probability is used."""

    steps: tuple[CalibrationStep, ...] = ()

    def chance(self, raw: float) -> float:
        """Return the calibrated probability."""
        return self.steps[self._index(raw)].chance if self.steps else raw

    def low(self, raw: float) -> float:
        """Return the lower bound; it never falls as ``raw`` rises."""
        return max((step.low for step in self.steps[: self._index(raw) + 1]), default=0.0)

    def _index(self, raw: float) -> int:
        return max(0, bisect_right(self.steps, raw, key=lambda step: step.raw) - 1)


UNCALIBRATED = Calibration()


def fit_duplicate_calibration(
    answers: Iterable[tuple[float, bool]], prior: Sequence[CalibrationStep] = (), prior_share: float = 1.0
) -> Calibration:
    """Fit isotonic steps to answers (pool adjacent violators); ``prior`` counts as further answers."""
    counts = {step.raw: (step.pairs * prior_share, step.duplicates * prior_share) for step in prior}
    for raw, is_duplicate in answers:
        pairs, duplicates = counts.get(raw, (0.0, 0.0))
        counts[raw] = (pairs + 1, duplicates + is_duplicate)
    merged: list[CalibrationStep] = []
    for raw, (pairs, duplicates) in sorted(counts.items()):
        merged.append(CalibrationStep(raw, pairs, duplicates))
        while len(merged) > 1 and merged[-2].chance >= merged[-1].chance:
            last, before = merged.pop(), merged.pop()
            merged.append(CalibrationStep(before.raw, before.pairs + last.pairs, before.duplicates + last.duplicates))
    return Calibration(tuple(merged))


def compute_wilson_lower_bound(successes: float, trials: float, z: float = Z) -> float:
    """Return the lower bound of the Wilson score interval for a share.

    >>> round(compute_wilson_lower_bound(99, 100), 3), compute_wilson_lower_bound(0, 0)
    (0.956, 0.0)
    """
    if trials <= 0:
        return 0.0
    share = successes / trials
    center = share + z * z / (2 * trials)
    spread = z * math.sqrt(share * (1 - share) / trials + z * z / (4 * trials * trials))
    return max(0.0, (center - spread) / (1 + z * z / trials))


INTERCEPT = "every pair"
_LOG_ODDS_MAX = 30.0


class Model(Struct, frozen=True):
    """Fitted weights of each signal, of its square and of its absence, and the calibration."""

    version: str
    intercept: float
    weights: Mapping[str, float]
    calibration: Calibration = UNCALIBRATED

    def with_calibration(self, calibration: Calibration, version: str) -> "Model":
        """Return the same weights with another calibration; ``version`` is appended to the version."""
        return replace(self, calibration=calibration, version=self.version + version)

    def __hash__(self) -> int:
        return hash_struct(self, but=("weights",))


def features_from_similarities(similarities: Similarities) -> dict[str, float]:
    """Return the features of the model by name."""
    features: dict[str, float] = {}
    for name in SIGNALS:
        value = similarities.get(name)
        if value is None:
            features[f"{name} missing"] = 1.0
        else:
            features[name] = value
            features[f"{name} squared"] = value * value
    return features


def compute_duplicate_probability(similarities: Similarities, model: Model) -> DuplicateChance:
    """Return the calibrated probability of a pair; its terms add up to the log-odds before calibration."""
    terms = compute_probability_terms(similarities, model)
    raw = _probability_from_terms(terms)
    return DuplicateChance(model.calibration.chance(raw), model.calibration.low(raw), terms)


def compute_raw_probability(similarities: Similarities, model: Model) -> float:
    """Return the probability of a pair before calibration."""
    return _probability_from_terms(compute_probability_terms(similarities, model))


def compute_probability_terms(similarities: Similarities, model: Model) -> tuple[ChanceTerm, ...]:
    """Return the terms that speak for and against a pair, the intercept first."""
    terms = (
        ChanceTerm(name, weight, value)
        for name, value in features_from_similarities(similarities).items()
        if (weight := model.weights.get(name, 0.0)) and value
    )
    return (ChanceTerm(INTERCEPT, model.intercept, 1.0), *terms)


def _probability_from_terms(terms: Iterable[ChanceTerm]) -> float:
    log_odds = math.fsum(term.adds for term in terms)
    return 1 / (1 + math.exp(-max(-_LOG_ODDS_MAX, min(_LOG_ODDS_MAX, log_odds))))
