"""Measure a subject against a named baseline in the same run: alternating pairs, and the median of their ratios."""

import gc
import resource
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from bench.bars import Bar, BenchError
from bench.progress import Tell, quiet
from bench.stats import PAIRS_MIN, ROUNDS_MAX, Pair, Side, Spread, calls_for, spread, turns

Clock = Callable[[], int]
NS = 1_000_000_000
Thunk = Callable[[], object]


def processor_ns() -> int:
    """Return the processor time of this process and of its ended children."""
    used = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return int(sum(each.ru_utime + each.ru_stime for each in used) * NS)


def nothing() -> None:
    """Do nothing."""


class Verdict(Enum):
    """The verdict of a bench."""

    MET = "met"
    MISSED = "missed"
    UNSTABLE = "unstable"
    """The quartiles stayed too far apart, so the median proves nothing."""
    MEASURED = "measured"
    """The bench has no bar."""
    NOT_RUN = "not run"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Ground:
    """The folders of a bench: its own empty one, and the data folder of ``--data``, if given."""

    folder: Path
    data: Path | None = None
    ends_at: float | None = None
    """When this slice of a long run ends, by ``time.monotonic``."""

    def number_batches(self, size: int, batch: int) -> Iterator[range]:
        """Yield the numbers below ``size`` in batches, from the first that this folder does not hold yet.

        A batch counts as built when the next one is asked for. A batch that a killed run had begun is yielded again.
        """
        built = self.folder / "built"
        first = int(built.read_text(encoding="ascii")) if built.exists() else 0
        while first < size:
            if self.ends_at is not None and time.monotonic() >= self.ends_at:
                raise SliceOver(f"{first:,} of {size:,} built so far; run it again to go on")
            yield range(first, first := min(first + batch, size))
            (partial := built.with_suffix(".new")).write_text(str(first), encoding="ascii")
            partial.replace(built)

    def need_data(self) -> Path:
        """Return the data folder; without one the bench cannot be run."""
        if self.data is None:
            raise MissingData("needs --data PATH")
        return self.data


class SliceOver(Exception):
    """The time of this slice is over; the next run with the same folder goes on from there."""


class MissingData(Exception):
    """The bench needs data that was not passed: it is skipped, which is not a failure."""


@dataclass(frozen=True, slots=True)
class Sides:
    """The two sides: ``subject`` and ``baseline`` do the same job once per call; ``close`` undoes the set-up."""

    subject: Thunk
    baseline: Thunk
    close: Callable[[], None] = nothing


@dataclass(frozen=True, slots=True, kw_only=True)
class Bench:
    """A ratio somebody wants to claim: the subject's time over the baseline's.

    ``calls`` is how often a side runs in one timing; without it, as often as the baseline needs to be measurable.
    """

    name: str
    what: str
    baseline: str
    set_up: Callable[[Ground], Sides]
    bar: Bar | None = None
    calls: int | None = None
    clock: Clock = time.perf_counter_ns
    """``processor_ns`` where a side starts programs and other programs run meanwhile."""


@dataclass(frozen=True, slots=True)
class Measured:
    """The ratios of the last round, in the order they were taken, and how many rounds there were."""

    bench: Bench
    ratios: tuple[float, ...]
    rounds: int

    @property
    def spread(self) -> Spread:
        """Median and quartiles of the ratios."""
        return spread(self.ratios)

    @property
    def verdict(self) -> Verdict:
        """Return the verdict; unstable ratios are neither met nor missed."""
        if not self.spread.steady:
            return Verdict.UNSTABLE
        return judged(self.bench.bar, self.spread.median)


def judged(bar: Bar | None, figure: float) -> Verdict:
    """Return whether a steady ``figure`` reaches ``bar``."""
    if bar is None:
        return Verdict.MEASURED
    return Verdict.MET if bar.holds(figure) else Verdict.MISSED


def measure(
    bench: Bench, ground: Ground, *, pairs: int = PAIRS_MIN, clock: Clock | None = None, tell: Tell = quiet
) -> Measured:
    """Time ``pairs`` alternating pairs; again, up to three rounds, while the quartiles are too far apart."""
    if pairs < PAIRS_MIN:
        raise BenchError(f"{pairs} pairs are too few: at least {PAIRS_MIN}")
    tell(f"{bench.name}: setting up")
    sides = bench.set_up(ground)
    gc.freeze()  # Garbage from before the first pair belongs to neither side, and would be scanned in every collection.
    try:
        return in_rounds(bench, sides, pairs, clock or bench.clock, tell)
    finally:
        gc.unfreeze()
        sides.close()


def in_rounds(bench: Bench, sides: Sides, pairs: int, clock: Clock, tell: Tell) -> Measured:
    """Measure both sides after set-up; return the last round, not the best."""
    calls = warmed_up(bench, sides, clock)
    rounds = 0
    while True:
        rounds += 1
        ratios: list[float] = []
        for turn in turns(pairs):
            tell(f"{bench.name}: pair {len(ratios) + 1} of {pairs}, round {rounds}")
            ratios.append(timed_pair(sides, turn, calls, clock).ratio)
        measured = Measured(bench, tuple(ratios), rounds)
        if measured.spread.steady or rounds == ROUNDS_MAX:
            return measured


def warmed_up(bench: Bench, sides: Sides, clock: Clock) -> int:
    """Run each side untimed, so that no pair includes first calls; return the calls per timing."""
    sides.subject()
    sides.baseline()
    return bench.calls or calls_for(timed(sides.baseline, 1, clock))


def timed_pair(sides: Sides, turn: tuple[Side, Side], calls: int, clock: Clock) -> Pair:
    """Time both sides in the order of ``turn``."""
    thunks: dict[Side, Thunk] = {"subject": sides.subject, "baseline": sides.baseline}
    took = {side: timed(thunks[side], calls, clock) for side in turn}
    return Pair(subject=took["subject"], baseline=took["baseline"])


def timed(thunk: Thunk, calls: int, clock: Clock) -> int:
    """Return how long ``calls`` calls take; earlier garbage is collected first, not during."""
    gc.collect()
    start = clock()
    for _ in range(calls):
        thunk()
    return clock() - start
