"""How likely a person would call two changes the same: a logistic model over all signals, with its account.

Every line of the account is weight times value; together with the first, which is there for every pair, they are the
log-odds. A signal that is missing has a weight of its own.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from custody.dupes.calibration import UNCALIBRATED, Calibration
from custody.dupes.model import ChanceTerm, DuplicateChance, Similarities
from custody.dupes.similarity import SIGNALS

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
