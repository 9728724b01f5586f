"""Measures over labelled pairs: what share is found, how often something wrong is said, how true the chances are."""

from collections.abc import Sequence
from dataclasses import dataclass

BINS = 10


@dataclass(frozen=True, slots=True)
class PairPrediction:
    """What was said of one labelled pair: at which place a search found it (from 0), and with which chance.

    ``place`` is None where it was not found among those scored; ``exact`` says that it was found as the same diff;
    ``by_document`` that the document's rules alone would flag it.
    """

    kind: str
    is_duplicate: bool
    is_exact: bool
    place: int | None
    exact: bool
    flagged: bool
    by_document: bool
    chance: float


def recall_at(predictions: Sequence[PairPrediction], most: int) -> float | None:
    """The share of duplicates that are among the first ``most``."""
    return _share(
        [
            prediction.place is not None and prediction.place < most
            for prediction in predictions
            if prediction.is_duplicate
        ]
    )


def exact_recall(told: Sequence[PairPrediction]) -> float | None:
    """The share of exact duplicates that are found as such."""
    return _share([prediction.exact for prediction in told if prediction.is_duplicate and prediction.is_exact])


def recall_at_precision(predictions: Sequence[PairPrediction], kind: str, precision: float) -> float | None:
    """The largest share of the inexact pairs of a kind that can be told with this precision against all others.

    Every pair that is none counts against it; one that a search does not find is never told.
    """
    wanted = [prediction for prediction in predictions if prediction.kind == kind and not prediction.is_exact]
    against = [prediction for prediction in predictions if not prediction.is_duplicate]
    ranked = sorted(
        (prediction for prediction in (*wanted, *against) if prediction.place is not None),
        key=lambda prediction: -prediction.chance,
    )
    best = right = 0
    for place, prediction in enumerate(ranked, 1):
        right += prediction.is_duplicate
        if right / place >= precision:
            best = right
    return best / len(wanted) if wanted else None


def false_flags(told: Sequence[PairPrediction], kind: str) -> float | None:
    """The share of pairs of a kind that are flagged and should not be."""
    return _share(
        [prediction.flagged for prediction in told if prediction.kind == kind and not prediction.is_duplicate]
    )


def calibration_error(predictions: Sequence[PairPrediction]) -> float | None:
    """How far chances are from what happened, on average over equal stretches of chance."""
    bins: list[list[PairPrediction]] = [[] for _ in range(BINS)]
    for prediction in predictions:
        bins[min(BINS - 1, int(prediction.chance * BINS))].append(prediction)
    gaps = [
        abs(sum(prediction.chance for prediction in members) - sum(prediction.is_duplicate for prediction in members))
        for members in bins
        if members
    ]
    return sum(gaps) / len(predictions) if predictions else None


def _share(right: Sequence[bool]) -> float | None:
    return sum(right) / len(right) if right else None
