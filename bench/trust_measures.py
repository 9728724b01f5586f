"""Quality of predictions: log loss, Brier score, area under the curve, calibration, and pass rates.

A prediction is a probability and the outcome.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

CALIBRATION_BINS = 15

ForecastOutcome = tuple[float, bool]


@dataclass(frozen=True, slots=True)
class PassRate:
    """Changes above a threshold: their share of all, and the bad share among them; None if there are none."""

    coverage: float
    bad_share: float | None


def log_loss(told: Sequence[ForecastOutcome]) -> float:
    """Return the mean log loss of the outcomes; probabilities must be between 0 and 1.

    >>> round(log_loss([(0.5, True), (0.5, False)]) - math.log(2), 9)
    0.0
    """
    return -math.fsum(math.log(chance if good else 1.0 - chance) for chance, good in told) / len(told)


def brier(told: Sequence[ForecastOutcome]) -> float:
    """Return the mean squared error.

    >>> brier([(0.5, True), (1.0, True)])
    0.125
    """
    return math.fsum((good - chance) ** 2 for chance, good in told) / len(told)


def auc(told: Sequence[ForecastOutcome]) -> float | None:
    """Return how often a good change scores above a bad one, ties count half; None without both kinds.

    >>> auc([(0.9, True), (0.4, False), (0.4, True)]), auc([(0.9, True)])
    (0.75, None)
    """
    goods = sum(good for _, good in told)
    bads = len(told) - goods
    if not goods or not bads:
        return None
    ordered = sorted(told, key=lambda outcome: outcome[0])
    ranks, place = 0.0, 0
    while place < len(ordered):
        end = place
        while end < len(ordered) and ordered[end][0] == ordered[place][0]:
            end += 1
        ranks += sum(good for _, good in ordered[place:end]) * (place + end + 1) / 2.0
        place = end
    return (ranks - goods * (goods + 1) / 2.0) / (goods * bads)


def calibration_error(told: Sequence[ForecastOutcome]) -> float:
    """Return the mean distance of predicted and observed rates over bins of equal width, weighted by size.

    >>> calibration_error([(0.9, True), (0.9, True), (0.9, False), (0.9, False)])
    0.4
    """
    bins: list[list[ForecastOutcome]] = [[] for _ in range(CALIBRATION_BINS)]
    for chance, good in told:
        bins[min(int(chance * CALIBRATION_BINS), CALIBRATION_BINS - 1)].append((chance, good))
    gaps = (abs(math.fsum(chance - good for chance, good in group)) for group in bins if group)
    return math.fsum(gaps) / len(told)


def passed_from(told: Sequence[ForecastOutcome], least: float) -> PassRate:
    """Return the pass rate of all predictions from ``least`` on.

    >>> passed_from([(0.95, True), (0.9, False), (0.2, True)], 0.9)
    PassRate(coverage=0.6666666666666666, bad_share=0.5)
    """
    through = [good for chance, good in told if chance >= least]
    return PassRate(len(through) / len(told), _bad_share(through))


def passed_best(told: Sequence[ForecastOutcome], share: float) -> PassRate:
    """Return the pass rate of the likeliest ``share``; ties at its end count by their mean.

    >>> passed_best([(0.9, True), (0.8, False), (0.8, True), (0.1, False)], 0.5)
    PassRate(coverage=0.5, bad_share=0.25)
    """
    wanted = round(len(told) * share)
    if not wanted:
        return PassRate(0.0, None)
    ordered = sorted((chance for chance, _ in told), reverse=True)
    edge = ordered[wanted - 1]
    above = [good for chance, good in told if chance > edge]
    at_edge = [good for chance, good in told if chance == edge]
    bad = sum(not good for good in above) + (wanted - len(above)) * sum(not good for good in at_edge) / len(at_edge)
    return PassRate(wanted / len(told), bad / wanted)


def _bad_share(goods: Sequence[bool]) -> float | None:
    return sum(not good for good in goods) / len(goods) if goods else None
