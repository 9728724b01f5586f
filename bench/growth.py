"""How a look-up grows with the store, in steps of SQLite's virtual machine. Steps are the same on every machine."""

import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from bench.bars import Bar, BenchError, at_most
from bench.progress import Tell, quiet
from bench.runner import Ground, Thunk, Verdict, judged, nothing

STEPS_RATIO = at_most(3)
"""A hundred times the records may cost a few more index levels, not a scan."""


@dataclass(frozen=True, slots=True)
class Population:
    """A filled database: the connection the look-ups run on, the look-ups by name, and how to close it."""

    connection: sqlite3.Connection
    look_ups: Mapping[str, Thunk]
    close: Callable[[], None] = nothing


@dataclass(frozen=True, slots=True, kw_only=True)
class Growth:
    """A claim that look-ups stay cheap: their steps with ``large`` records against those with ``small``."""

    name: str
    what: str
    populate: Callable[[Ground, int], Population]
    small: int
    large: int
    bar: Bar | None = STEPS_RATIO

    def __post_init__(self) -> None:
        if not 0 < self.small < self.large:
            raise BenchError(f"'{self.name}' grows from {self.small} to {self.large}")


@dataclass(frozen=True, slots=True)
class Grown:
    """Steps of every look-up with few and with many records."""

    growth: Growth
    small: Mapping[str, int]
    large: Mapping[str, int]

    def ratio(self, look_up: str) -> float:
        """Return the ratio of steps, large population over small."""
        return self.large[look_up] / self.small[look_up]

    def verdict(self, look_up: str) -> Verdict:
        """Return whether one look-up reaches the bar; steps are counts and never unstable."""
        return judged(self.growth.bar, self.ratio(look_up))


def grow(growth: Growth, ground: Ground, *, tell: Tell = quiet) -> Grown:
    """Build both populations, one after the other, and count the steps of the same look-ups on each."""
    small = counted(growth, ground, growth.small, tell)
    large = counted(growth, ground, growth.large, tell)
    if small.keys() != large.keys():
        raise BenchError(f"'{growth.name}' looks up {sorted(small)} among few and {sorted(large)} among many")
    return Grown(growth, small, large)


def counted(growth: Growth, ground: Ground, size: int, tell: Tell) -> dict[str, int]:
    """Steps by look-up with ``size`` records, in a folder of their own."""
    folder = ground.folder / str(size)
    folder.mkdir(exist_ok=True)
    tell(f"{growth.name}: building {size:,}")
    population = growth.populate(Ground(folder, ground.data, ground.ends_at), size)
    try:
        tell(f"{growth.name}: looking up among {size:,}")
        return {name: found_steps(population, name) for name in population.look_ups}
    finally:
        population.close()


def found_steps(population: Population, name: str) -> int:
    """Count the steps of one look-up; it must find something, because an empty result is always cheap.

    It runs once before it is counted, so that reading the schema and preparing the statement are not part of the count.
    """
    look_up = population.look_ups[name]
    if not look_up():
        raise BenchError(f"look-up '{name}' found nothing")
    return steps(population.connection, look_up)


def steps(connection: sqlite3.Connection, fn: Thunk) -> int:
    """Count the virtual-machine steps of ``fn`` on ``connection``; zero steps are an error.

    A progress handler already set on the connection is lost. What ``fn`` answers must be fetched inside ``fn``.
    """
    with counting(connection) as count:
        fn()
    taken = count()
    if not taken:
        raise BenchError("no step was seen: the look-up ran on another connection, or not at all")
    return taken


@contextmanager
def counting(connection: sqlite3.Connection) -> Iterator[Callable[[], int]]:
    """Count the steps on ``connection`` while the block runs."""
    taken = 0

    def step() -> int:
        nonlocal taken
        taken += 1
        return 0  # anything else interrupts the statement

    connection.set_progress_handler(step, 1)
    try:
        yield lambda: taken
    finally:
        connection.set_progress_handler(None, 0)
