"""The time that a tool adds to a commit and to a blame, against plain git at about the same time."""

import itertools
import subprocess
import tempfile
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.attribution.telling import Silent, Teller
from bench.attribution.world import World, a_world
from bench.bars import BenchError
from bench.progress import Tell
from bench.runner import Bench, Ground, Measured, Sides, measure

FILE = "many.py"
FUNCTIONS = 60
CALLS = 2


@dataclass(frozen=True, slots=True)
class Times:
    """Ratios to plain git, by measured command."""

    tool: str
    ratios: Mapping[str, Measured]

    def rows(self) -> list[tuple[str, ...]]:
        """Return a table with a row for each tool."""
        return [
            (
                self.tool,
                what,
                f"{one.spread.median:.2f}",
                f"{one.spread.q1:.2f} to {one.spread.q3:.2f}",
                one.verdict.value,
            )
            for what, one in self.ratios.items()
        ]

    def as_json(self) -> dict[str, Any]:
        """Return the same figures as JSON."""
        return {
            what: {"median": round(one.spread.median, 3), "steady": one.spread.steady, "pairs": len(one.ratios)}
            for what, one in self.ratios.items()
        }


def closed(teller: Teller) -> None:
    """End the processes that a recorder left running."""
    close = getattr(teller, "close", None)
    if close is not None:
        with suppress(BenchError):
            close()


def time_of(name: str, teller: Callable[[], Teller], blame: list[str] | None, tell: Tell) -> Times:
    """Measure the time that a tool adds to commits of one-line edits, and the time of its blame, if any."""
    wanted = {"commit": _commits(teller)} | ({"blame": _blames(teller, blame)} if blame else {})
    ratios = {}
    for what, set_up in wanted.items():
        bench = Bench(name=f"{name} {what}", what=what, baseline="plain git", set_up=set_up, calls=CALLS)
        with tempfile.TemporaryDirectory(prefix="custody-peers-", ignore_cleanup_errors=True) as temporary:
            ratios[what] = measure(bench, Ground(Path(temporary)), tell=tell)
    return Times(name, ratios)


def _commits(teller: Callable[[], Teller]) -> Callable[[Ground], Sides]:
    def set_up(ground: Ground) -> Sides:
        told = teller()
        ours, plain = _written(ground.folder / "tool", told), _written(ground.folder / "plain", Silent())
        return Sides(subject=_committing(ours), baseline=_committing(plain), close=lambda: closed(told))

    return set_up


def _blames(teller: Callable[[], Teller], blame: list[str]) -> Callable[[Ground], Sides]:
    def set_up(ground: Ground) -> Sides:
        told = teller()
        world = _written(ground.folder, told)
        told.end()
        return Sides(
            subject=lambda: _run([*blame, FILE], world),
            baseline=lambda: _run(["git", "blame", "--line-porcelain", FILE], world),
            close=lambda: closed(told),
        )

    return set_up


def _written(folder: Path, teller: Teller) -> World:
    """Return a repository with a file that an agent wrote, committed by a person."""
    world = a_world(folder, teller)
    text = "".join(f"def part_{n}(value):\n    return value * {n}\n\n\n" for n in range(FUNCTIONS))
    world.agent().write(FILE, text)
    world.git("add", "--all")
    world.git("commit", "--quiet", "--message", "many functions")
    return world


def _committing(world: World) -> Callable[[], None]:
    numbers = itertools.count()

    def commit() -> None:
        with world.path(FILE).open("a", encoding="utf-8") as file:
            file.write(f"LIMIT_{next(numbers)} = 1\n")
        _run(["git", "commit", "--quiet", "--all", "--message", "a line"], world)

    return commit


def _run(argv: list[str], world: World) -> None:
    done = subprocess.run(
        argv,
        cwd=world.folder,
        env={**world.environment, "GIT_PAGER": "cat", "PAGER": "cat"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        check=False,
    )
    if done.returncode:
        raise BenchError(f"'{Path(argv[0]).name} {argv[1]}' ended with {done.returncode}: {done.stderr[-200:]!r}")
