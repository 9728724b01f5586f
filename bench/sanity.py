"""Benches of the bench itself: where the right answer is known, the runner must give it."""

import sqlite3
import sys

from bench.bars import at_most
from bench.growth import Growth, Population
from bench.runner import Bench, Ground, Sides
from bench.spawn import Spawn

WORK = bytes(range(256)) * 64


def same_twice(ground: Ground) -> Sides:
    """Make both sides do the same small job."""

    def job() -> int:
        return sum(WORK)

    return Sides(job, job)


def same_program_twice(ground: Ground) -> Sides:
    """Make both sides start the same program."""
    program = Spawn(argv=(sys.executable, "-I", "-S", "-c", "print('ready')"), prints=b"ready\n", cwd=ground.folder)
    return Sides(program, program)


def by_key(ground: Ground, size: int) -> Population:
    """Return one table of ``size`` rows, looked up by its primary key."""
    connection = sqlite3.connect(ground.folder / "rows.db")
    connection.execute("CREATE TABLE row (id INTEGER PRIMARY KEY, text TEXT)")
    with connection:
        connection.executemany("INSERT INTO row VALUES (?, ?)", ((n, f"text {n}") for n in range(size)))

    def look_up() -> list[object]:
        return connection.execute("SELECT text FROM row WHERE id = ?", (size // 2,)).fetchall()

    return Population(connection, {"by key": look_up}, connection.close)


BENCHES: tuple[Bench | Growth, ...] = (
    Bench(
        name="same-thing-twice",
        what="the runner finds no difference between a job and itself",
        baseline="the same job",
        bar=at_most(1.1),
        set_up=same_twice,
    ),
    Bench(
        name="same-program-twice",
        what="the runner finds no difference between starting a program and starting it again",
        baseline="the same program",
        bar=at_most(1.1),
        set_up=same_program_twice,
        calls=1,
    ),
    Growth(
        name="row-by-key",
        what="a look-up by primary key takes the same steps in a table of any size",
        populate=by_key,
        small=100,
        large=10_000,
        bar=at_most(1),
    ),
)
