"""The effect of a decision's stakes on its step, and its limits."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from custody.trust.model import ChangeComplexity, ChangeStakes
from custody.trust.rules import TrustRules
from custody.trust.score import (
    compute_decision_weight,
    compute_review_factor,
    compute_score_step,
    compute_stakes_size_factor,
    decay_score,
    decision_complexity_from_lines,
    is_rubber_stamp,
    lift_score,
    move_trust_score,
)
from tests.builders.table import table
from tests.unit.trust.builders import CAUTIOUS, DOCUMENT, ONE, stakes

scores = st.floats(0, 1)


# Conformance: 001-024
def test_stakes_of_1_take_the_documents_step() -> None:
    assert compute_decision_weight(ONE, DOCUMENT, rising=True) == 1
    assert compute_score_step(1, DOCUMENT, rising=True) == pytest.approx(DOCUMENT.ema_alpha)


# Conformance: 001-030
def test_a_larger_change_weighs_more() -> None:
    small, large = (
        compute_decision_weight(ChangeStakes(ChangeComplexity.MINOR, n), DOCUMENT, rising=True) for n in (5, 500)
    )
    assert small < large


# Conformance: 001-031
@pytest.mark.parametrize(("lines", "factor"), [(0, 0.5), (1, 0.5), (50, 1), (10**9, 2)])
def test_size_counts_within_bounds(lines: int, factor: float) -> None:
    assert compute_stakes_size_factor(lines, rising=True) == factor


# Conformance: 001-032, 001-033, 001-034, 001-035, 001-036
def test_each_complexity_multiplies_by_the_documents_number() -> None:
    weighed = [
        compute_decision_weight(ChangeStakes(complexity, 50), DOCUMENT, rising=True) for complexity in ChangeComplexity
    ]
    assert weighed == [1, 2, 3, 5, 8]


# Conformance: 001-038
def test_a_faster_review_weighs_a_little_more() -> None:
    quick, slow = (compute_review_factor(ChangeStakes(lines=10, review_ms=ms), DOCUMENT) for ms in (2_000, 600_000))
    assert 1 < slow < quick < 1.1


@pytest.mark.parametrize("review_ms", [None, 0, -1])
def test_a_review_of_no_known_time_adds_nothing(review_ms: int | None) -> None:
    assert compute_review_factor(ChangeStakes(lines=10, review_ms=review_ms), DOCUMENT) == 1


def test_a_rubber_stamp_begins_above_600_lines_a_minute_and_adds_nothing() -> None:
    fair, stamped = ChangeStakes(lines=600, review_ms=60_000), ChangeStakes(lines=601, review_ms=60_000)
    assert not is_rubber_stamp(fair, DOCUMENT) and compute_review_factor(fair, DOCUMENT) == 1.05
    assert is_rubber_stamp(stamped, DOCUMENT) and compute_review_factor(stamped, DOCUMENT) == 1


def test_an_unknown_size_never_makes_a_rise_larger() -> None:
    known = [
        compute_decision_weight(ChangeStakes(ChangeComplexity.TRIVIAL, lines), DOCUMENT, rising=True)
        for lines in (0, 1, 50)
    ]
    assert compute_decision_weight(ChangeStakes(), DOCUMENT, rising=True) == min(known)
    assert compute_decision_weight(ChangeStakes(), DOCUMENT, rising=False) == 1


def test_a_cautious_rise_is_never_a_leap_and_a_fall_is_never_held() -> None:
    weight = compute_decision_weight(ChangeStakes(ChangeComplexity.CRITICAL, 50), CAUTIOUS, rising=True)
    assert move_trust_score(0.5, 1.0, compute_score_step(weight, CAUTIOUS, rising=True)) == pytest.approx(0.65)
    assert (
        compute_score_step(weight, CAUTIOUS, rising=False) == compute_score_step(weight, DOCUMENT, rising=False) > 0.9
    )
    assert compute_score_step(weight, DOCUMENT, rising=True) > 0.9


# Conformance: 001-013, 001-014, 001-015
@table(
    ("lines", "complexity"),
    [(0, "TRIVIAL"), (9, "TRIVIAL"), (10, "MINOR"), (49, "MINOR"), (50, "MODERATE"), (199, "MODERATE"), (200, "MAJOR"),
     (499, "MAJOR"), (500, "CRITICAL"), (10**6, "CRITICAL")],
)  # fmt: skip
def test_a_change_is_as_complex_as_the_documents_tiers_call_its_size(lines: int, complexity: str) -> None:
    assert decision_complexity_from_lines(lines).name == complexity


@given(scores, st.floats(0, 1), stakes, st.sampled_from((CAUTIOUS, DOCUMENT)))
def test_a_step_goes_towards_the_value_and_never_beyond(
    score: float, value: float, stakes: ChangeStakes, rules: TrustRules
) -> None:
    rising = value > score
    step = compute_score_step(compute_decision_weight(stakes, rules, rising=rising), rules, rising=rising)
    assert 0 < step <= 1
    low, high = sorted((score, value))
    assert low - 1e-12 <= move_trust_score(score, value, step) <= high + 1e-12


# Conformance: 001-040
@given(scores, st.floats(0, 10_000), st.floats(0, 10_000))
def test_fading_only_ever_approaches_neutral(score: float, one: float, more: float) -> None:
    early, late = decay_score(score, one, DOCUMENT), decay_score(score, one + more, DOCUMENT)
    assert abs(late - 0.5) <= abs(early - 0.5) <= abs(score - 0.5)


@given(scores, st.floats(-10_000, 0))
def test_a_clock_set_back_changes_nothing(score: float, days: float) -> None:
    assert decay_score(score, days, DOCUMENT) == pytest.approx(score)


# Conformance: 001-065
@given(scores, st.floats(0.001, 5))
def test_a_recovery_adds_at_most_the_rate_and_ends_at_1(score: float, boost: float) -> None:
    assert score <= lift_score(score, boost, DOCUMENT) <= min(1, score + DOCUMENT.recovery_rate)
