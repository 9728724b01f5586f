"""The frame for every fault: a seed that replays it, rounds, and figures. Some figures must have a given value."""

import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from bench.bars import Bar, BenchError, at_least, exactly
from bench.progress import Tell, quiet


@dataclass(frozen=True, slots=True)
class Round:
    """One round: its number from 0, chance that depends on seed and number only, and an empty folder of its own."""

    number: int
    random: random.Random
    folder: Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """How one fault is to be run; the same seed and rounds make the same choices."""

    seed: int
    rounds: int
    folder: Path
    tell: Tell = quiet

    def __post_init__(self) -> None:
        if self.rounds < 1:
            raise BenchError(f"{self.rounds} rounds show nothing")

    def random(self, *part: object) -> random.Random:
        """Return a random generator for the named part of the trial, independent of every other part.

        The seed is a text: Python hashes it the same way in every process.
        """
        return random.Random(":".join(map(str, (self.seed, *part))))

    def each(self) -> Iterator[Round]:
        """Yield every round in turn, and report the progress."""
        for number in range(self.rounds):
            self.tell(f"round {number + 1} of {self.rounds}")
            folder = self.folder / f"round-{number}"
            folder.mkdir()
            yield Round(number, self.random("round", number), folder)


@dataclass(frozen=True, slots=True)
class Figure:
    """A count and its bar; without a bar it is only informative."""

    value: float
    must: Bar | None = None

    @property
    def holds(self) -> bool:
        """Whether the number is what it must be."""
        return self.must is None or self.must.holds(self.value)


Figures = Mapping[str, Figure]


def seen(value: float) -> Figure:
    """Return a figure without a bar: the number tried, killed or damaged."""
    return Figure(value)


def none_of(value: float) -> Figure:
    """Return a figure that must be zero: the number lost, silent or executed."""
    return Figure(value, exactly(0))


def all_of(value: float, whole: float) -> Figure:
    """Return a figure that must be ``whole``: stored of acknowledged, found of damaged."""
    return Figure(value, exactly(whole))


def some(value: float, least: float = 1) -> Figure:
    """Return a figure that must be at least ``least``: the kills that hit, without which the rest means nothing."""
    return Figure(value, at_least(least))


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """A possible fault, and the function that causes it and counts the effects."""

    name: str
    what: str
    run: Callable[[Trial], Figures]
    rounds: int
    """The rounds that the command runs by default."""


@dataclass(frozen=True, slots=True)
class Examined:
    """A fault after its trial."""

    fault: Fault
    trial: Trial
    figures: Figures

    @property
    def broken(self) -> list[str]:
        """The figures that are not what they must be, in words; empty when all hold."""
        return [f"{name} is {f.value:,}, must be {f.must}" for name, f in self.figures.items() if not f.holds]


def examine(fault: Fault, trial: Trial) -> Examined:
    """Run ``fault``; reject a fault without a bar, since it could never fail."""
    figures = fault.run(trial)
    if not any(figure.must for figure in figures.values()):
        raise BenchError(f"'{fault.name}' has no figure that must hold")
    return Examined(fault, trial, figures)
