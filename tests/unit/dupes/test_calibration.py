import pytest
from hypothesis import given
from hypothesis import strategies as st

from custody.dupes.chance import UNCALIBRATED, compute_wilson_lower_bound, fit_duplicate_calibration
from custody.dupes.weights import SHIPPED

ANSWERS = st.lists(st.tuples(st.floats(0, 1), st.booleans()), min_size=1, max_size=60)


@given(ANSWERS)
def test_the_calibrated_probability_is_monotonic(answers: list[tuple[float, bool]]) -> None:
    calibration = fit_duplicate_calibration(answers)
    grid = [at / 50 for at in range(51)]
    assert [calibration.chance(raw) for raw in grid] == sorted(calibration.chance(raw) for raw in grid)
    assert all(calibration.low(raw) <= calibration.chance(raw) <= 1 for raw in grid)


@given(ANSWERS, st.randoms(use_true_random=False))
def test_the_order_of_answers_does_not_matter(answers: list[tuple[float, bool]], chance: object) -> None:
    shuffled = list(answers)
    chance.shuffle(shuffled)  # type: ignore[attr-defined]
    grid = [at / 20 for at in range(21)]
    assert [fit_duplicate_calibration(answers).chance(raw) for raw in grid] == [
        fit_duplicate_calibration(shuffled).chance(raw) for raw in grid
    ]


def test_negative_answers_lower_the_probability() -> None:
    shipped = fit_duplicate_calibration([(0.1, False)] * 90 + [(0.9, True)] * 90)
    recalibrated = fit_duplicate_calibration([(0.9, False)] * 60, shipped.steps)
    assert recalibrated.chance(0.9) < 0.65 < shipped.chance(0.9)
    assert recalibrated.low(0.9) < shipped.low(0.9)


def test_without_answers_the_raw_probability_is_used_with_lower_bound_0() -> None:
    assert (UNCALIBRATED.chance(0.7), UNCALIBRATED.low(0.7)) == (0.7, 0.0)


def test_the_lower_bound_is_wilsons() -> None:
    assert compute_wilson_lower_bound(10, 10) == pytest.approx(0.787, abs=1e-3)
    assert compute_wilson_lower_bound(0, 5) == 0.0


@given(st.integers(1, 500), st.data())
def test_the_lower_bound_is_below_the_share(trials: int, data: st.DataObject) -> None:
    successes = data.draw(st.integers(0, trials))
    assert 0 <= compute_wilson_lower_bound(successes, trials) <= successes / trials + 1e-12


def test_the_shipped_steps_rise_within_their_bounds() -> None:
    steps = SHIPPED.calibration.steps
    bounds = [step.raw for step in steps]
    assert bounds == sorted(set(bounds)) and (bounds[0], bounds[-1]) == (0.0, 1.0)
    assert [step.chance for step in steps] == sorted(step.chance for step in steps)
    assert all(0 <= step.duplicates <= step.pairs for step in steps)
