"""The start of commands: of ``verify`` against an empty click command, and of verbs against ``import click`` alone."""

import os
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

from bench.bars import at_most
from bench.gate import Place, a_place, filled
from bench.progress import quiet
from bench.runner import Bench, Ground, Sides, processor_ns
from bench.spawn import Spawn

EMPTY = """
import custody.cli.main, custody.cli.verify, click
@click.command()
def empty():
    print("nothing has been recorded here yet")
empty(args=[])
"""
TIMES = 5
"""Starts per measurement: a single one is too noisy to compare."""
RECORDS, CHANGES, LINES = 2_000, 200, 500
COMMAND = str(Path(sys.executable).parent / "custody")


def verify_starts(ground: Ground) -> Sides:
    """``custody verify`` in a repository where nothing was recorded, all modules compiled on both sides."""
    subprocess.run(["git", "init", "-q", str(ground.folder)], check=True)
    environment = {"PATH": os.environ["PATH"], "HOME": str(ground.folder)}
    answer = b"nothing has been recorded here yet\n"
    verb = Spawn(argv=(COMMAND, "verify"), prints=answer, cwd=ground.folder, env=environment, times=TIMES)
    empty = Spawn(argv=(sys.executable, "-c", EMPTY), prints=answer, cwd=ground.folder, env=environment, times=TIMES)
    return Sides(verb, empty)


def list_verb_words(place: Place, verb: str) -> tuple[str, ...]:
    """Return the arguments of a verb for a line, a file or the change of this repository."""
    path, ranges = next(iter(place.ranges.items()))
    return {
        "help": ("blame", "--help"),
        "blame": ("blame", path),
        "log": ("log",),
        "why": ("why", f"{path}:{ranges[0][0]}"),
        "gate": ("gate", f"{place.base}..{place.head}"),
    }[verb]


def verb_starts(verb: str, ground: Ground, *, also_git: bool = False) -> Sides:
    """Run a verb on a store with some sessions, after one run that fills the caches; ``import click`` beside it."""
    place = a_place(ground.folder, LINES)
    filled(place, RECORDS, CHANGES, quiet)
    words = list_verb_words(place, verb)

    def run_verb() -> None:
        done = subprocess.run(
            [COMMAND, *words], cwd=place.repository, env=place.environment, capture_output=True, check=False
        )
        assert done.returncode in (0, 1), done.stderr  # 1: the gate asks for a review
        assert done.stdout, words

    click = [sys.executable, "-c", "import click"]

    def import_click() -> None:
        for _ in range(4 if also_git else 1):
            subprocess.run(click, cwd=place.repository, env=place.environment, check=True)
        if also_git:
            for _ in range(3):
                place.compared_and_blamed()

    run_verb()
    return Sides(run_verb, import_click)


def verb_bench(verb: str, what: str, limit: float) -> Bench:
    """Return the row of a verb against ``import click``, in processor time."""
    set_up: Callable[[Ground], Sides] = partial(verb_starts, verb)
    return Bench(
        name=f"start-{verb}",
        what=what,
        baseline="'python -c \"import click\"', in processor time",
        bar=at_most(limit),
        set_up=set_up,
        calls=TIMES,
        clock=processor_ns,
    )


BENCHES = (
    Bench(
        name="verb-start",
        what="'custody verify' where there is nothing to verify: open the repository, look, answer",
        baseline="an empty click command with the same imports",
        bar=at_most(1.25),
        set_up=verify_starts,
        calls=1,
    ),
    verb_bench("help", "'custody blame --help'", 1.6),
    verb_bench("blame", "'custody blame FILE', 480 lines, 2,000 records", 2.5),
    verb_bench("log", "'custody log', 10 sessions", 2.5),
    verb_bench("why", "'custody why FILE:LINE', 2,000 records", 3),
    Bench(
        name="start-gate",
        what="'custody gate RANGE', 500 added lines, 2,000 records, 200 changes in the index",
        baseline="4 × 'import click' and 3 × git comparing and blaming the same lines, in processor time",
        bar=at_most(1),
        set_up=partial(verb_starts, "gate", also_git=True),
        calls=1,
        clock=processor_ns,
    ),
)
