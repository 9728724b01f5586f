"""Weights follow outcomes from the next day on, and positive evidence never becomes negative."""

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from custody.trust.acceptance import (
    Sizes,
    Weights,
    acceptance_probability_from_logit,
    logit_from_acceptance_probability,
)
from tests.unit.trust.builders import DAY, NOON

MORNING = NOON - NOON % DAY


def test_what_is_learnt_on_a_day_counts_from_the_next_on() -> None:
    weights = Weights([1.0], 1.0, 1, 9.0)
    weights.learn([1.0], good=True, at_ns=MORNING)
    assert weights.list_weights(MORNING + DAY - 1) == [1.0]
    tomorrow = list(weights.list_weights(MORNING + DAY))
    assert tomorrow[0] > 1.0
    weights.learn([1.0], good=False, at_ns=MORNING + DAY)
    assert weights.list_weights(MORNING + DAY + 5) == tomorrow


def test_sizes_seen_on_a_day_count_from_the_next_on() -> None:
    sizes = Sizes()
    before = sizes.list_inputs(5, MORNING)
    sizes.learn(5, MORNING)
    assert sizes.list_inputs(5, MORNING + 1) == before != sizes.list_inputs(5, MORNING + DAY)


def test_the_inputs_of_known_sizes_average_to_nothing() -> None:
    sizes = Sizes()
    seen = [3] * 9 + [60] * 4 + [700]
    for lines in seen:
        sizes.learn(lines, MORNING)
    inputs = [
        sizes.list_inputs(lines, MORNING + DAY) for lines in (*seen, 3, 10, 60, 200, 500)
    ]  # first each of them once
    assert [sum(column) for column in zip(*inputs, strict=True)] == pytest.approx([0.0] * 5)
    assert sizes.list_inputs(None, MORNING) == [0.0] * 5


def test_an_input_that_tells_is_found_among_one_that_does_not() -> None:
    random = Random(3)
    weights = Weights([0.0, 0.0], 1.0, 0, 9.0)
    for n in range(3000):
        inputs = [random.gauss(0, 1), random.gauss(0, 1)]
        weights.learn(inputs, good=random.random() < acceptance_probability_from_logit(1.5 * inputs[0]), at_ns=NOON + n)
    telling, idle = weights.list_weights(NOON + DAY)
    assert telling == pytest.approx(1.5, abs=0.2)
    assert idle == pytest.approx(0.0, abs=0.2)


@given(st.lists(st.tuples(st.floats(-4, 4), st.floats(-4, 4), st.booleans()), max_size=40))
def test_a_weight_keeps_within_its_bounds(told: list[tuple[float, float, bool]]) -> None:
    weights = Weights([0.1, 0.1], 10.0, 1, 0.7)
    for one, other, good in told:
        weights.learn([one, other], good=good, at_ns=NOON)
        floored, free = weights.list_weights(NOON + DAY)
        assert 0 <= floored <= 0.7 and -0.7 <= free <= 0.7


def test_a_weight_without_floor_may_be_negative() -> None:
    weights = Weights([0.1, 0.1], 10.0, 1, 0.7)
    weights.learn([1.0, 1.0], good=False, at_ns=NOON)
    assert weights.list_weights(NOON + DAY)[0] == 0 > weights.list_weights(NOON + DAY)[1]


@given(st.floats(-30, 30))
def test_log_odds_and_probability_are_the_same_thing(logit: float) -> None:
    assert logit_from_acceptance_probability(acceptance_probability_from_logit(logit)) == pytest.approx(
        logit, rel=1e-3, abs=1e-9
    )
