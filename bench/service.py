"""The cost of the service: ingest against the database alone, the blame endpoint against FastAPI with pydantic.

    python -m bench service [ingest-single ingest-batch blame] [--pairs N] [--json]

Figures are ratios of rates, custody's over the baseline's: higher is better. They are measured in pairs; which side
goes first alternates. The database is a PostgreSQL of the bench's own that waits for the disk.
"""

import argparse
import json
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from bench import service_blame, service_ingest
from bench.bars import Bar, BenchError, at_least
from bench.columns import columns
from bench.names import UnknownName, by_name, chosen
from bench.progress import Progress, Tell
from bench.runner import Verdict, judged
from bench.service_load import CLOCK, PROCESSOR, Rates
from bench.stats import PAIRS_MIN, ROUNDS_MAX, Spread, spread, turns
from tests.house.not_run import CannotBeHad
from tests.house.postgres import a_program, a_server

Side = Callable[[], Rates]
Of = Callable[[service_ingest.Place], Side]


@dataclass(frozen=True, slots=True)
class Sides:
    """Both sides, ready to run."""

    subject: Side
    baseline: Side


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A ratio of rates that has a bar."""

    name: str
    what: str
    baseline: str
    bar: Bar
    set_up: Callable[[Path], "Iterator[Sides]"]


@dataclass(frozen=True, slots=True)
class Result:
    """The ratios of the last round; empty if the part could not be run."""

    part: Part
    ratios: tuple[float, ...] = ()
    processor: tuple[float, ...] = ()
    rates: tuple[float, float] | None = None
    """The rates of the last pair, to show the order of magnitude."""
    why: str = ""
    """The reason why it was not run."""

    @property
    def verdict(self) -> Verdict:
        """Return the verdict; only stable ratios are compared with the bar."""
        if not self.ratios:
            return Verdict.NOT_RUN
        found = spread(self.ratios)
        return judged(self.part.bar, found.median) if found.steady else Verdict.UNSTABLE


def _ingest(folder: Path, subject: Of, baseline: Of) -> Iterator[Sides]:
    pgbench = a_program("pgbench")
    with a_server(durable=True) as url, service_ingest.a_place(folder, url, pgbench) as place:
        yield Sides(subject(place), baseline(place))


def _single(folder: Path) -> Iterator[Sides]:
    yield from _ingest(folder, lambda place: place.singles, lambda place: place.inserts)


def _batch(folder: Path) -> Iterator[Sides]:
    yield from _ingest(folder, lambda place: place.batches, lambda place: place.copies)


def _blame(_folder: Path) -> Iterator[Sides]:
    with service_blame.both() as servers:

        def side(name: str) -> Rates:
            took = servers[name].timed()
            return {CLOCK: service_blame.REQUESTS / took.clock, PROCESSOR: service_blame.REQUESTS / took.processor}

        yield Sides(lambda: side(service_blame.OURS), lambda: side(service_blame.FASTAPI))


PARTS = (
    Part(
        name="ingest-single",
        what="traces stored per second, one per request, 16 clients",
        baseline="commits per second of pgbench, one row each, 16 clients",
        bar=at_least(0.3),
        set_up=_single,
    ),
    Part(
        name="ingest-batch",
        what="traces stored per second, 256 per request",
        baseline="the same rows by COPY into the same tables with the same indexes",
        bar=at_least(0.3),
        set_up=_batch,
    ),
    Part(
        name="blame",
        what="blame requests per second, no store",
        baseline="the same handler on FastAPI with pydantic",
        bar=at_least(1.5),
        set_up=_blame,
    ),
)


def measured(part: Part, folder: Path, pairs: int, tell: Tell) -> Result:
    """Measure rounds of pairs until the quartiles are close, at most three; return the last."""
    tell(f"{part.name}: setting up")
    try:
        with contextmanager(part.set_up)(folder) as sides:
            return _rounds(part, sides, pairs, tell)
    except CannotBeHad as error:
        return Result(part, why=str(error))


def _rounds(part: Part, sides: Sides, pairs: int, tell: Tell) -> Result:
    sides.subject()
    sides.baseline()
    sides.subject()  # one more than the other side: COPY uses what the service stored before it
    rounds = 0
    while True:
        rounds += 1
        found: list[tuple[Rates, Rates]] = []
        for turn in turns(pairs):
            tell(f"{part.name}: pair {len(found) + 1} of {pairs}, round {rounds}")
            got = {side: sides.subject() if side == "subject" else sides.baseline() for side in turn}
            found.append((got["subject"], got["baseline"]))
        ratios = tuple(one[CLOCK] / other[CLOCK] for one, other in found)
        if spread(ratios).steady or rounds == ROUNDS_MAX:
            processor = tuple(one[PROCESSOR] / other[PROCESSOR] for one, other in found if PROCESSOR in one)
            return Result(part, ratios, processor, (found[-1][0][CLOCK], found[-1][1][CLOCK]))


def main(argv: Sequence[str] | None = None, *, out: TextIO | None = None, err: TextIO | None = None) -> int:
    """Measure the named parts, or all; return 1 when something could not be measured."""
    out, err = out or sys.stdout, err or sys.stderr
    parser = argparse.ArgumentParser(prog="python -m bench service", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="a part (default: all of them)")
    parser.add_argument("--pairs", type=int, default=PAIRS_MIN, metavar="N", help="pairs per round (%(default)s)")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    args = parser.parse_args(argv)
    try:
        parts = chosen(by_name(PARTS), args.names)
    except UnknownName as error:
        parser.error(str(error))
    results = []
    with Progress(err) as tell:
        for part in parts:
            with tempfile.TemporaryDirectory(prefix="custody-service-") as folder:
                try:
                    results.append(measured(part, Path(folder), args.pairs, tell))
                except BenchError as error:
                    err.write(f"{part.name} was not measured: {error}\n")
                    return 1
    out.write(json.dumps(as_json(results), indent=2) + "\n" if args.json else table(results))
    return 0


HEADER = ("service", "ratio of rates [quartiles]", "of processor time", "pairs", "bar", "verdict", "baseline")


def table(results: Sequence[Result]) -> str:
    """Format the figures for people."""
    return columns(HEADER, [_row(one) for one in results])


def _row(one: Result) -> tuple[str, ...]:
    figures = (_words(ratios) for ratios in (one.ratios, one.processor))
    verdict = f"{one.verdict.value}: {one.why}" if one.why else one.verdict.value
    return (one.part.name, *figures, str(len(one.ratios)), str(one.part.bar), verdict, one.part.baseline)


def _words(ratios: Sequence[float]) -> str:
    if not ratios:
        return ""
    found: Spread = spread(ratios)
    return f"{found.median:.3f} [{found.q1:.3f}, {found.q3:.3f}]"


def as_json(results: Sequence[Result]) -> dict[str, object]:
    """Return the figures as JSON, with every ratio."""
    rows = [
        {
            "name": one.part.name,
            "what": one.part.what,
            "baseline": one.part.baseline,
            "bar": str(one.part.bar),
            "verdict": one.verdict.value,
            "why": one.why or None,
            "ratios": list(one.ratios),
            "ratios_of_processor_time": list(one.processor),
            "rates_of_last_pair": None if one.rates is None else list(one.rates),
        }
        for one in results
    ]
    return {"version": 1, "results": rows}
