"""The measures of predictions, against their definitions."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.trust_measures import auc, brier, calibration_error, log_loss, passed_best, passed_from

told = st.lists(st.tuples(st.sampled_from((0.05, 0.3, 0.5, 0.77, 0.95)), st.booleans()), min_size=1, max_size=40)


@given(told)
def test_the_area_is_the_share_of_pairs_in_the_right_order(told: list[tuple[float, bool]]) -> None:
    pairs = [(one, other) for one, good in told if good for other, fine in told if not fine]
    right = sum((one > other) + 0.5 * (one == other) for one, other in pairs)
    assert auc(told) == (pytest.approx(right / len(pairs)) if pairs else None)


@given(told)
def test_letting_the_best_through_lets_no_more_bad_ones_through_than_letting_all(
    told: list[tuple[float, bool]],
) -> None:
    everything = passed_best(told, 1.0)
    assert everything.coverage == 1.0
    assert everything.bad_share == pytest.approx(sum(not good for _, good in told) / len(told))
    assert passed_from(told, 0.0) == everything


def test_a_sure_right_one_costs_nothing_and_a_sure_wrong_one_much() -> None:
    assert log_loss([(0.99, True)]) == pytest.approx(-math.log(0.99))
    assert log_loss([(0.99, False)]) == pytest.approx(-math.log(0.01))
    assert brier([(0.0, False), (0.0, True)]) == 0.5


def test_calibration_is_of_bins_not_of_single_predictions() -> None:
    assert calibration_error([(0.5, True), (0.5, False)]) == 0
    assert calibration_error([(0.5, True), (0.99, True)]) == pytest.approx((0.5 + 0.01) / 2)


def test_nothing_passes_without_certainty() -> None:
    assert passed_from([(0.5, True)], 0.9).bad_share is None
    assert passed_best([(0.5, True)], 0.1).bad_share is None
