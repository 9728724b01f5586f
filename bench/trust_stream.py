"""Replay of a stream of decisions: every model predicts when a change is opened and learns when it is decided.

A model never sees later decisions. At the same time, decisions come before openings.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from msgspec.structs import replace

from bench.trust_measures import (
    ForecastOutcome,
    PassRate,
    auc,
    brier,
    calibration_error,
    log_loss,
    passed_best,
    passed_from,
)
from bench.trust_rivals import BetaPerAgent, ChanceModel, Constant, DocumentScore, Rival
from custody.trust.acceptance import PROBABILITY_MAX, PROBABILITY_MIN, is_merge_decision
from custody.trust.levels import LevelCase
from custody.trust.model import DecisionType
from custody.trust.past_decisions import order_decision_events
from custody.trust.risk import Risk, RiskControl
from custody.trust.rules import TrustRules

UNSCORED_SHARE = 0.1
"""The first part of a stream, by opening: models only learn from it."""
PASSED_MIN = 0.9
"""The acceptance probability from which a change counts as let through."""
BEST_SHARE = 0.5
"""The likeliest half of each model, so that bad shares are compared at one coverage."""


@dataclass(frozen=True, slots=True)
class DecidedChange:
    """A change with its decision and the time of it."""

    case: LevelCase
    decision: DecisionType
    decided_ns: int


@dataclass(frozen=True, slots=True)
class PredictionQuality:
    """The quality of one model's predictions; ``policy`` is the pass rate of the document's policy."""

    name: str
    count: int
    log_loss: float
    brier: float
    auc: float | None
    calibration_error: float
    passed: PassRate
    best: PassRate
    policy: PassRate | None


@dataclass(frozen=True, slots=True)
class BenchResult:
    """All models' figures over the scored changes and over the second half, and the result of risk control."""

    scored: tuple[PredictionQuality, ...]
    later: tuple[PredictionQuality, ...]
    controls: tuple[RiskControl, ...]


def bench(stream: Sequence[DecidedChange], rules: TrustRules, targets: Iterable[float]) -> BenchResult:
    """Replay a stream and measure every model; the first part, by opening, is only for learning."""
    play = _StreamReplay(stream, rules, targets)
    for _, opened, place in order_decision_events([(change.case.opened_ns, change.decided_ns) for change in stream]):
        if opened:
            play.open(place)
        else:
            play.decide(place)
    by_opening = sorted(range(len(stream)), key=lambda place: (stream[place].case.opened_ns, place))
    scored = by_opening[round(len(stream) * UNSCORED_SHARE) :]
    later = by_opening[max(len(stream) // 2, len(by_opening) - len(scored)) :]
    end_ns = max((change.decided_ns for change in stream), default=0)
    controls = tuple(risk.control(end_ns) for risk in play.risks)
    return BenchResult(tuple(play.measured(scored)), tuple(play.measured(later)), controls)


class _StreamReplay:
    """A replay in progress."""

    def __init__(self, stream: Sequence[DecidedChange], rules: TrustRules, targets: Iterable[float]) -> None:
        self._stream = stream
        self._ours = ChanceModel(rules)
        self._documents = (DocumentScore(rules, stakes=False), DocumentScore(rules, stakes=True))
        self._rivals: tuple[Rival, ...] = (Constant(), *self._documents, BetaPerAgent(), self._ours)
        self._told: list[list[float]] = [[0.0] * len(stream) for _ in self._rivals]
        self._approved: list[list[bool | None]] = [[None] * len(stream) for _ in self._documents]
        self.risks = [Risk(replace(rules, reverted_share_max=target)) for target in targets]
        self._let: dict[int, tuple[bool, ...]] = {}

    def open(self, place: int) -> None:
        """Let every model predict."""
        case = self._stream[place].case
        for rival, told in zip(self._rivals, self._told, strict=True):
            told[place] = min(max(rival.predict(place, case), PROBABILITY_MIN), PROBABILITY_MAX)
        for document, approved in zip(self._documents, self._approved, strict=True):
            approved[place] = document.approves(case)
        low = self._ours.find_estimate(place).low
        self._let[place] = tuple(risk.passes(low, case.opened_ns) for risk in self.risks)

    def decide(self, place: int) -> None:
        """Let every model learn; changes opened at the same time are predicted first."""
        if place not in self._let:
            self.open(place)
        change = self._stream[place]
        low = self._ours.find_estimate(place).low
        for rival in self._rivals:
            rival.learn(place, change.case, change.decision, change.decided_ns)
        for risk, passed in zip(self.risks, self._let.pop(place), strict=True):
            risk.learn(low, good=is_merge_decision(change.decision), passed=passed, at_ns=change.decided_ns)

    def measured(self, places: Sequence[int]) -> Iterator[PredictionQuality]:
        """Return every model's figures over some changes; empty without changes."""
        goods = [is_merge_decision(self._stream[place].decision) for place in places]
        policies: dict[str, Sequence[bool | None]] = {
            document.name: [approved[place] for place in places]
            for document, approved in zip(self._documents, self._approved, strict=True)
        }
        for rival, told in zip(self._rivals, self._told, strict=True):
            if places:
                said = list(zip(map(told.__getitem__, places), goods, strict=True))
                policy = _by_policy(policies.get(rival.name, ()), goods)
                yield _measured(rival.name, said, policy)


def _measured(name: str, told: Sequence[ForecastOutcome], policy: PassRate | None) -> PredictionQuality:
    return PredictionQuality(
        name=name,
        count=len(told),
        log_loss=log_loss(told),
        brier=brier(told),
        auc=auc(told),
        calibration_error=calibration_error(told),
        passed=passed_from(told, PASSED_MIN),
        best=passed_best(told, BEST_SHARE),
        policy=policy,
    )


def _by_policy(approved: Sequence[bool | None], goods: Sequence[bool]) -> PassRate | None:
    """Return the pass rate of a policy over changes of known size; None without any."""
    known = [
        (float(is_approved), good)
        for is_approved, good in zip(approved, goods, strict=False)
        if is_approved is not None
    ]
    return passed_from(known, 1.0) if known else None
