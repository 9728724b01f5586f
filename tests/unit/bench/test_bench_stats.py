"""The arithmetic of a measurement, on numbers computed by hand and on random numbers."""

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.bars import Bar, BenchError, at_least, at_most, exactly
from bench.stats import APART_MAX, CALLS_MAX, TIMED_NS_MIN, Pair, Spread, calls_for, spread, turns

times = st.integers(min_value=1, max_value=10**12)
pairs = st.lists(st.tuples(times, times), min_size=15, max_size=40)


def ratios(drawn: list[tuple[int, int]]) -> list[float]:
    return [Pair(subject, baseline).ratio for subject, baseline in drawn]


def test_fifteen_ratios_by_hand() -> None:
    # Sorted: 1 … 15. The quartiles of fifteen lie half way between the 4th and 5th and between the 11th and 12th.
    assert spread([float(n) for n in (15, 1, 14, 2, 13, 3, 12, 4, 11, 5, 10, 6, 9, 7, 8)]) == Spread(4.5, 8.0, 11.5)


def test_a_ratio_is_the_subject_over_the_baseline() -> None:
    assert Pair(subject=300, baseline=200).ratio == 1.5


def test_a_baseline_without_time_is_not_a_baseline() -> None:
    with pytest.raises(BenchError, match="no measurable time"):
        _ = Pair(subject=300, baseline=0).ratio


def test_quartiles_exactly_a_quarter_apart_are_steady_and_a_hair_more_are_not() -> None:
    assert Spread(0.875, 1.0, 1.125).apart == APART_MAX
    assert Spread(0.875, 1.0, 1.125).steady
    assert not Spread(0.875, 1.0, 1.126).steady


def test_the_distance_of_quartiles_is_relative_to_the_median() -> None:
    assert Spread(8.0, 10.0, 12.0).apart == 0.4
    assert Spread(0.08, 0.1, 0.12).apart == pytest.approx(0.4)


def test_a_median_of_zero_is_never_steady() -> None:
    assert not Spread(0.0, 0.0, 0.0).steady


@given(st.integers(min_value=0, max_value=100))
def test_each_side_goes_first_as_often_as_the_other_and_never_three_times_in_a_row(n: int) -> None:
    order = list(turns(n))
    flat = "".join(side[0] for turn in order for side in turn)
    assert len(order) == n
    assert flat.startswith("sbbs"[: min(4, len(flat))])
    assert "sss" not in flat and "bbb" not in flat
    assert flat.count("s") == flat.count("b") == n
    assert 0 <= [first for first, _ in order].count("subject") - n // 2 <= 1


@given(pairs)
def test_median_and_quartiles_keep_their_order_and_their_range(drawn: list[tuple[int, int]]) -> None:
    found = spread(ratios(drawn))
    assert min(ratios(drawn)) <= found.q1 <= found.median <= found.q3 <= max(ratios(drawn))


@given(pairs, st.randoms(use_true_random=False))
def test_the_order_of_the_pairs_does_not_matter(drawn: list[tuple[int, int]], chance: Random) -> None:
    shuffled = list(drawn)
    chance.shuffle(shuffled)
    assert spread(ratios(shuffled)) == spread(ratios(drawn))


@given(pairs, st.integers(min_value=0, max_value=20))
def test_a_slower_machine_gives_the_same_ratio(drawn: list[tuple[int, int]], doublings: int) -> None:
    slower = [(subject << doublings, baseline << doublings) for subject, baseline in drawn]
    assert spread(ratios(slower)) == spread(ratios(drawn))


@given(pairs, st.data())
def test_a_slower_subject_never_looks_faster(drawn: list[tuple[int, int]], data: st.DataObject) -> None:
    slower = [(subject + data.draw(times | st.just(0)), baseline) for subject, baseline in drawn]
    before, after = spread(ratios(drawn)), spread(ratios(slower))
    assert (before.q1 <= after.q1, before.median <= after.median, before.q3 <= after.q3) == (True, True, True)


@given(times)
def test_the_calls_of_one_timing_fill_it_and_no_more(once: int) -> None:
    calls = calls_for(once)
    assert calls == CALLS_MAX or calls * once >= TIMED_NS_MIN
    assert calls == 1 or (calls - 1) * once < TIMED_NS_MIN


@pytest.mark.parametrize(
    ("bar", "just", "over"),
    [(at_most(1.25), 1.25, 1.2500001), (at_least(2), 2.0, 1.9999999), (exactly(0), 0, 1)],
)
def test_a_bar_holds_at_its_limit_and_not_beyond(bar: Bar, just: float, over: float) -> None:
    assert bar.holds(just)
    assert not bar.holds(over)
    assert not bar.holds(float("nan"))
