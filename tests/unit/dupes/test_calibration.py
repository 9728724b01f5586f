import pytest
from hypothesis import given
from hypothesis import strategies as st

from custody.dupes.chance import UNCALIBRATED, calibration_of, wilson_low
from custody.dupes.weights import SHIPPED

answers = st.lists(st.tuples(st.floats(0, 1), st.booleans()), min_size=1, max_size=60)


@given(answers)
def test_a_higher_number_never_means_less(some: list[tuple[float, bool]]) -> None:
    found = calibration_of(some)
    grid = [at / 50 for at in range(51)]
    assert [found.chance(raw) for raw in grid] == sorted(found.chance(raw) for raw in grid)
    assert all(found.low(raw) <= found.chance(raw) <= 1 for raw in grid)


@given(answers, st.randoms(use_true_random=False))
def test_the_order_of_answers_says_nothing(some: list[tuple[float, bool]], chance: object) -> None:
    shuffled = list(some)
    chance.shuffle(shuffled)  # type: ignore[attr-defined]
    grid = [at / 20 for at in range(21)]
    assert [calibration_of(some).chance(raw) for raw in grid] == [calibration_of(shuffled).chance(raw) for raw in grid]


def test_people_who_say_no_lower_what_the_model_says() -> None:
    shipped = calibration_of([(0.1, False)] * 90 + [(0.9, True)] * 90)
    learnt = calibration_of([(0.9, False)] * 60, shipped.steps)
    assert learnt.chance(0.9) < 0.65 < shipped.chance(0.9)
    assert learnt.low(0.9) < shipped.low(0.9)


def test_without_answers_a_number_is_what_it_is_and_promises_nothing() -> None:
    assert (UNCALIBRATED.chance(0.7), UNCALIBRATED.low(0.7)) == (0.7, 0.0)


def test_the_lower_bound_is_wilsons() -> None:
    assert wilson_low(10, 10) == pytest.approx(0.787, abs=1e-3)
    assert wilson_low(0, 5) == 0.0


@given(st.integers(1, 500), st.data())
def test_the_lower_bound_is_below_the_share(asked: int, data: st.DataObject) -> None:
    right = data.draw(st.integers(0, asked))
    assert 0 <= wilson_low(right, asked) <= right / asked + 1e-12


def test_the_shipped_steps_rise_within_their_bounds() -> None:
    steps = SHIPPED.calibration.steps
    bounds = [step.raw for step in steps]
    assert bounds == sorted(set(bounds)) and (bounds[0], bounds[-1]) == (0.0, 1.0)
    assert [step.chance for step in steps] == sorted(step.chance for step in steps)
    assert all(0 <= step.right <= step.asked for step in steps)
