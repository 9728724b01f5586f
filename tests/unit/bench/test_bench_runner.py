"""The runner on a clock that only moves when a side is called."""

from collections.abc import Iterator
from itertools import chain, cycle, repeat
from pathlib import Path

import pytest

from bench.bars import Bar, BenchError, at_least, at_most
from bench.runner import Bench, Ground, MissingData, Sides, Verdict, measure
from bench.stats import PAIRS_MIN, ROUNDS_MAX, TIMED_NS_MIN


class Lab:
    """A clock and two sides that advance it by given times; ``log`` is the order of calls."""

    def __init__(self, subject: Iterator[int], baseline: Iterator[int]) -> None:
        self.now = 0
        self.log = ""
        self.closed = 0
        self._takes = {"s": subject, "b": baseline}

    def clock(self) -> int:
        return self.now

    def run(self, side: str) -> None:
        self.log += side
        self.now += next(self._takes[side])

    def close(self) -> None:
        self.closed += 1

    def bench(self, bar: Bar | None = None, calls: int | None = 1) -> Bench:
        def set_up(ground: Ground) -> Sides:
            return Sides(lambda: self.run("s"), lambda: self.run("b"), self.close)

        return Bench(name="b", what="w", baseline="the other", set_up=set_up, bar=bar, calls=calls)


def steady(subject: int = 150, baseline: int = 100) -> Lab:
    return Lab(repeat(subject), repeat(baseline))


def jumping(rounds: int) -> Lab:
    """Return a subject that varies between 50 and 150 for this many rounds, then stays at 100."""
    wild = [50, 150, 150] * (PAIRS_MIN // 3) * rounds
    return Lab(chain([1], wild, repeat(100)), repeat(100))


def test_the_answer_is_the_ratio_of_the_times(tmp_path: Path) -> None:
    lab = steady()
    measured = measure(lab.bench(), Ground(tmp_path), clock=lab.clock)
    assert measured.ratios == (1.5,) * PAIRS_MIN
    assert measured.spread.median == 1.5
    assert measured.rounds == 1


def test_pairs_alternate_after_each_side_ran_once_untimed(tmp_path: Path) -> None:
    lab = steady()
    measure(lab.bench(), Ground(tmp_path), clock=lab.clock)
    assert lab.log == "sb" + ("sbbs" * PAIRS_MIN)[: 2 * PAIRS_MIN]


def test_a_drifting_machine_favours_neither_side(tmp_path: Path) -> None:
    """Every call takes a little longer than the previous one on either side: the ratio stays 1."""
    drift = iter(range(1_000_000, 2_000_000, 100))
    lab = Lab(drift, drift)
    measured = measure(lab.bench(), Ground(tmp_path), pairs=16, clock=lab.clock)
    assert measured.spread.median == pytest.approx(1.0, abs=1e-6)


def test_a_first_call_that_is_slow_is_not_measured(tmp_path: Path) -> None:
    lab = Lab(chain([10**9], repeat(100)), chain([10**9], repeat(100)))
    assert set(measure(lab.bench(), Ground(tmp_path), clock=lab.clock).ratios) == {1.0}


def test_short_sides_are_called_until_they_can_be_measured(tmp_path: Path) -> None:
    lab = steady(subject=TIMED_NS_MIN // 2, baseline=TIMED_NS_MIN // 4)
    assert measure(lab.bench(calls=None), Ground(tmp_path), clock=lab.clock).spread.median == 2.0
    assert lab.log.startswith("sb" + "b" + "ssss" + "bbbb" + "bbbb" + "ssss")


def test_far_quartiles_are_measured_again_and_the_last_round_counts(tmp_path: Path) -> None:
    lab = jumping(rounds=1)
    measured = measure(lab.bench(at_most(1.1)), Ground(tmp_path), clock=lab.clock)
    assert measured.rounds == 2
    assert set(measured.ratios) == {1.0}
    assert measured.verdict is Verdict.MET


@pytest.mark.parametrize("bar", [None, at_most(100), at_least(100)])
def test_quartiles_that_stay_apart_are_unstable_whatever_the_bar(tmp_path: Path, bar: Bar | None) -> None:
    lab = jumping(rounds=ROUNDS_MAX)
    measured = measure(lab.bench(bar), Ground(tmp_path), clock=lab.clock)
    assert measured.rounds == ROUNDS_MAX
    assert measured.verdict is Verdict.UNSTABLE


@pytest.mark.parametrize(
    ("bar", "verdict"),
    [
        (at_most(1.5), Verdict.MET),
        (at_most(1.49), Verdict.MISSED),
        (at_least(1.5), Verdict.MET),
        (at_least(1.51), Verdict.MISSED),
        (None, Verdict.MEASURED),
    ],
)
def test_a_steady_ratio_is_held_against_the_bar(tmp_path: Path, bar: Bar | None, verdict: Verdict) -> None:
    lab = steady()
    assert measure(lab.bench(bar), Ground(tmp_path), clock=lab.clock).verdict is verdict


def test_fewer_than_fifteen_pairs_are_refused(tmp_path: Path) -> None:
    lab = steady()
    with pytest.raises(BenchError, match="14 pairs are too few: at least 15"):
        measure(lab.bench(), Ground(tmp_path), pairs=PAIRS_MIN - 1, clock=lab.clock)
    assert lab.log == ""


def test_what_was_set_up_is_closed_once(tmp_path: Path) -> None:
    lab = steady()
    measure(lab.bench(), Ground(tmp_path), clock=lab.clock)
    assert lab.closed == 1


def test_what_was_set_up_is_closed_when_a_side_fails(tmp_path: Path) -> None:
    lab = Lab(repeat(100), chain([100], cycle([0])))
    with pytest.raises(BenchError, match="no measurable time"):
        measure(lab.bench(), Ground(tmp_path), clock=lab.clock)
    assert lab.closed == 1


def test_every_pair_is_reported(tmp_path: Path) -> None:
    lab, told = steady(), list[str]()
    measure(lab.bench(), Ground(tmp_path), clock=lab.clock, tell=told.append)
    assert told[0] == "b: setting up"
    assert told[-1] == "b: pair 15 of 15, round 1"
    assert len(told) == 1 + PAIRS_MIN


def test_a_bench_that_needs_data_says_so(tmp_path: Path) -> None:
    assert Ground(tmp_path, tmp_path).need_data() == tmp_path
    with pytest.raises(MissingData, match="needs --data PATH"):
        Ground(tmp_path).need_data()
