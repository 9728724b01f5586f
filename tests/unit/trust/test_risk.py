"""Risk control passes only what it can show to be safe enough, and reports the realized rate."""

import math
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from custody.trust import risk as risk_module
from custody.trust.risk import Risk, RiskControl, compute_risk_p_value
from custody.trust.rules import TrustRules
from tests.unit.trust.builders import CAUTIOUS, DAY, NOON

outcomes = st.lists(st.tuples(st.floats(0, 1), st.booleans(), st.integers(0, 3)), max_size=60)


def binomial_tail(most: int, of: int, share: float) -> float:
    return math.fsum(math.comb(of, n) * share**n * (1 - share) ** (of - n) for n in range(most + 1))


def played(told: list[tuple[float, bool, int]], target: float = 0.1) -> Risk:
    """Open, merge or review, and decide each change, some days after the previous one."""
    risk, at_ns = Risk(TrustRules(reverted_share_max=target)), NOON
    for low, good, days in told:
        at_ns += days * DAY
        risk.learn(low, good=good, passed=risk.passes(low, at_ns), at_ns=at_ns)
    return risk


@given(st.integers(0, 40), st.integers(1, 60), st.floats(0.001, 0.999))
def test_the_surprise_of_whole_counts_is_the_binomials_tail(bad: int, good: int, share: float) -> None:
    assert compute_risk_p_value(bad, good, share) == pytest.approx(binomial_tail(bad, bad + good, share), abs=1e-9)


def test_nothing_is_let_through_before_anything_is_shown() -> None:
    risk = Risk(CAUTIOUS)
    assert risk.control(NOON) == RiskControl(0.01, None, 0, 0, 0)
    assert not risk.passes(1.0, NOON)
    assert (risk.control(NOON).realised, risk.control(NOON).coverage) == (None, 0.0)


def test_a_few_good_ones_show_nothing_and_many_do() -> None:
    few, many = (played([(0.97, True, 0)] * count) for count in (20, 80))
    assert few.control(NOON + DAY).threshold is None
    assert many.control(NOON + DAY).threshold == 0.97


def test_nothing_counts_before_the_first_decision_whenever_that_is() -> None:
    for start_ns in (0, NOON):
        enough = []
        for count in range(40, 60):
            risk = Risk(TrustRules(reverted_share_max=0.1))
            for _ in range(count):
                risk.learn(0.97, good=True, passed=False, at_ns=start_ns)
            enough.append(risk.control(start_ns + DAY).threshold is not None)
        # Faded by a day, 0.9^54 is 0.00353, the first below (1 - 0.95) / 14 thresholds = 0.00357.
        assert enough.index(True) + 40 == 54


def test_a_threshold_comes_into_force_on_the_next_day() -> None:
    risk = played([(0.97, True, 0)] * 80)
    assert risk.control(NOON).threshold is None
    assert risk.passes(0.97, NOON + DAY)


def test_the_threshold_lies_above_what_was_bad() -> None:
    risk = played([*[(0.72, False, 0)] * 5, (0.76, True, 0), (0.76, True, 0), *[(0.97, True, 0)] * 30] * 10)
    control = risk.control(NOON + DAY)
    assert control.threshold == 0.75
    assert control.passes(0.75) and not control.passes(0.749)


def test_a_range_with_few_observations_is_skipped() -> None:
    risk = played([*[(0.97, True, 0)] * 100, *[(0.55, True, 0)] * 9, *[(0.75, True, 0)] * 11])
    assert risk.control(NOON).threshold is None
    assert risk.control(NOON + DAY).threshold == 0.75


def test_each_threshold_has_to_be_surer_because_all_are_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    told = [(0.97, True, 0)] * 35
    assert played(told).control(NOON + DAY).threshold is None
    monkeypatch.setattr(risk_module, "THRESHOLDS", (0.5,))
    assert played(told).control(NOON + DAY).threshold == 0.5


def test_the_realised_rate_is_of_what_was_let_through() -> None:
    risk = played([(0.97, True, 0)] * 80)
    for good in (True, True, True, False):
        risk.learn(0.97, good=good, passed=risk.passes(0.97, NOON + DAY), at_ns=NOON + DAY)
    control = risk.control(NOON + DAY)
    assert (control.passed, control.bad, control.realised, control.seen) == (4, 1, 0.25, 84)
    assert control.coverage == pytest.approx(4 / 84)


def test_a_word_that_was_not_kept_makes_it_stricter() -> None:
    told = [(0.97, True, 0)] * 80
    kept, broken = played(told), played(told)
    for risk, good in ((kept, True), (broken, False)):
        risk.learn(0.97, good=good, passed=True, at_ns=NOON + DAY)
    assert kept.control(NOON + 2 * DAY).threshold is not None
    assert broken.control(NOON + 2 * DAY).threshold is None


def test_what_is_reverted_was_bad_all_the_time() -> None:
    back, bad = played([(0.97, True, 0)] * 79), played([(0.97, True, 0)] * 79)
    back.learn(0.97, good=True, passed=True, at_ns=NOON)
    back.learn_revert(0.97, passed=True, decided_ns=NOON, at_ns=NOON)
    bad.learn(0.97, good=False, passed=True, at_ns=NOON)
    assert back.control(NOON + DAY) == bad.control(NOON + DAY)


def test_old_evidence_fades_until_it_shows_nothing() -> None:
    risk = played([(0.97, True, 0)] * 80)
    assert risk.control(NOON + 400 * DAY).threshold is None


@given(outcomes)
def test_the_same_outcomes_give_the_same_control(told: list[tuple[float, bool, int]]) -> None:
    assert played(told).control(NOON + 500 * DAY) == played(told).control(NOON + 500 * DAY)


@given(outcomes, st.floats(0, 1), st.floats(0, 1))
def test_a_higher_bound_passes_wherever_a_lower_one_does(
    told: list[tuple[float, bool, int]], one: float, other: float
) -> None:
    control = played(told, target=0.5).control(NOON + 200 * DAY)
    low, high = sorted((one, other))
    assert control.passes(high) or not control.passes(low)


@pytest.mark.parametrize("target", [0.02, 0.05, 0.1])
def test_the_target_is_kept_where_probabilities_are_what_they_say(target: float) -> None:
    """Changes that are good with a random probability; their lower bound is a little less."""
    random = Random(11)
    risk, at_ns = Risk(TrustRules(reverted_share_max=target)), NOON
    for _ in range(6000):
        at_ns += DAY // 50
        rate = random.betavariate(6, 0.7)
        low = rate - 0.02
        risk.learn(low, good=random.random() < rate, passed=risk.passes(low, at_ns), at_ns=at_ns)
    control = risk.control(at_ns)
    assert control.passed > 500
    assert control.realised is not None and control.realised <= target
