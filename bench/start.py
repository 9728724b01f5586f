"""The start time of a command, against an empty click command that imports the same modules."""

import os
import subprocess
import sys
from pathlib import Path

from bench.bars import at_most
from bench.runner import Bench, Ground, Sides
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


def verify_starts(ground: Ground) -> Sides:
    """``custody verify`` in a repository where nothing was recorded, all modules compiled on both sides."""
    subprocess.run(["git", "init", "-q", str(ground.folder)], check=True)
    environment = {"PATH": os.environ["PATH"], "HOME": str(ground.folder)}
    answer = b"nothing has been recorded here yet\n"
    command = str(Path(sys.executable).parent / "custody")
    verb = Spawn(argv=(command, "verify"), prints=answer, cwd=ground.folder, env=environment, times=TIMES)
    empty = Spawn(argv=(sys.executable, "-c", EMPTY), prints=answer, cwd=ground.folder, env=environment, times=TIMES)
    return Sides(verb, empty)


BENCHES = (
    Bench(
        name="verb-start",
        what="'custody verify' where there is nothing to verify: open the repository, look, answer",
        baseline="an empty click command with the same imports",
        bar=at_most(1.25),
        set_up=verify_starts,
        calls=1,
    ),
)
