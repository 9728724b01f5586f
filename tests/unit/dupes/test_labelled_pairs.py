import pytest

from custody.dupes.labelled_pairs import (
    PairPrediction,
    calibration_error,
    exact_recall,
    false_flags,
    recall_at,
    recall_at_precision,
)


def told(
    kind: str = "cherry_pick",
    *,
    duplicate: bool = True,
    place: int | None = 0,
    chance: float = 0.9,
    exact: bool = False,
) -> PairPrediction:
    return PairPrediction(
        kind=kind,
        is_duplicate=duplicate,
        is_exact=exact,
        place=place,
        exact=exact and place is not None,
        flagged=chance > 0.5,
        by_document=False,
        chance=chance,
    )


def no(chance: float = 0.1) -> PairPrediction:
    return told("neg_random", duplicate=False, chance=chance)


def test_recall_counts_places_of_duplicates_only() -> None:
    some = [told(place=0), told(place=4), told(place=5), told(place=None), no()]
    assert [recall_at(some, most) for most in (1, 5, 20)] == [0.25, 0.5, 0.75]
    assert recall_at([no()], 5) is None


def test_exact_pairs_count_when_they_are_found_as_such() -> None:
    assert exact_recall([told(exact=True), told(exact=True, place=None), told()]) == 0.5
    assert exact_recall([told()]) is None


def test_recall_at_a_precision_is_the_best_threshold_that_holds_it() -> None:
    some = [told(chance=0.9), told(chance=0.8), no(0.7), told(chance=0.6), told(place=None, chance=0.99)]
    assert recall_at_precision(some, "cherry_pick", 0.95) == 0.5
    assert recall_at_precision(some, "cherry_pick", 0.75) == 0.75
    assert recall_at_precision([no()], "cherry_pick", 0.95) is None


def test_false_flags_are_of_one_kind() -> None:
    assert false_flags([no(0.9), no(0.1), told()], "neg_random") == 0.5
    assert false_flags([told()], "neg_random") is None


def test_calibration_is_how_far_chances_are_from_what_happened() -> None:
    assert calibration_error([told(chance=0.95), no(0.95)]) == pytest.approx(0.45)
    assert calibration_error([]) is None
