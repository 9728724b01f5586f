"""``python -m bench``: run benches and print their figures."""

import argparse
import json
import math
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from bench import report
from bench.bars import BenchError
from bench.growth import Growth, grow
from bench.names import UnknownName, chosen
from bench.progress import Progress, Tell
from bench.registry import BENCHES, COMMANDS
from bench.report import NotMeasured, Result
from bench.runner import Bench, Clock, Ground, MissingData, SliceOver, Verdict, measure
from bench.stats import PAIRS_MIN

FINE = frozenset({Verdict.MET, Verdict.MEASURED})


def main(
    argv: Sequence[str] | None = None,
    *,
    table: Mapping[str, Bench | Growth] = BENCHES,
    clock: Clock | None = None,
    out: TextIO | None = None,
    err: TextIO | None = None,
) -> int:
    """Run the benches in ``argv`` and print their results; return :func:`exit_status`."""
    out, err = out or sys.stdout, err or sys.stderr
    words = list(sys.argv[1:] if argv is None else argv)
    if words and words[0] in COMMANDS:
        return COMMANDS[words[0]](words[1:], out=out, err=err)
    parser = arguments()
    args = parser.parse_args(words)
    try:
        benches = chosen(table, args.names)
    except UnknownName as error:
        parser.error(str(error))
    if args.minutes != math.inf and args.keep is None:
        parser.error("--minutes needs --keep PATH: without it nothing is left to go on from")
    if args.list:
        out.write(report.listing(benches))
        return 0
    with Progress(err) as tell:
        results = [run(bench, Run(args.data, args.pairs, clock, args.keep, args.minutes), tell) for bench in benches]
    show(results, args.json, out)
    return exit_status(results, strict=args.strict)


def arguments() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    parser = argparse.ArgumentParser(prog="python -m bench", description="Measure ratios against named baselines.")
    parser.add_argument("names", nargs="*", metavar="NAME", help="a bench (default: all of them)")
    parser.add_argument("--list", action="store_true", help="list the benches and run none")
    parser.add_argument(
        "--pairs", type=enough_pairs, default=PAIRS_MIN, metavar="N", help="pairs per round (at least %(default)s)"
    )
    parser.add_argument("--json", metavar="FILE", help="write the results as JSON too; - prints them instead of tables")
    parser.add_argument("--data", type=folder, metavar="PATH", help="folder with the data some benches read")
    parser.add_argument(
        "--keep", type=folder, metavar="PATH", help="keep what a growth builds in this folder, and go on from there"
    )
    parser.add_argument(
        "--minutes", type=float, metavar="N", help="stop building after this time; needs --keep", default=math.inf
    )
    parser.add_argument("--strict", action="store_true", help="exit 1 unless every bar was run and met")
    return parser


def enough_pairs(text: str) -> int:
    """Parse a number of pairs that is large enough for a median."""
    if not text.isdecimal() or int(text) < PAIRS_MIN:
        raise argparse.ArgumentTypeError(f"'{text}' is not a number from {PAIRS_MIN} on")
    return int(text)


def folder(text: str) -> Path:
    """Parse the path of an existing folder."""
    path = Path(text).resolve()
    if not path.is_dir():
        raise argparse.ArgumentTypeError(f"'{text}' is not a folder")
    return path


@dataclass(frozen=True, slots=True)
class Run:
    """How benches are run: the options of the command line."""

    data: Path | None
    pairs: int
    clock: Clock | None
    keep: Path | None
    minutes: float


def run(bench: Bench | Growth, how: Run, tell: Tell) -> Result:
    """Run one bench in a folder of its own; without a figure, return the reason."""
    with _folder_of(bench, how.keep) as place:
        try:
            if isinstance(bench, Growth):
                return grow(bench, Ground(place, how.data, time.monotonic() + 60 * how.minutes), tell=tell)
            return measure(bench, Ground(place, how.data), pairs=how.pairs, clock=how.clock, tell=tell)
        except (MissingData, SliceOver) as error:
            return NotMeasured(bench, Verdict.NOT_RUN, str(error))
        except BenchError as error:
            return NotMeasured(bench, Verdict.FAILED, str(error))


@contextmanager
def _folder_of(bench: Bench | Growth, keep: Path | None) -> Iterator[Path]:
    if keep is not None and isinstance(bench, Growth):
        (place := keep / bench.name).mkdir(exist_ok=True)
        yield place
    else:
        with tempfile.TemporaryDirectory(prefix="custody-bench-") as temporary:
            yield Path(temporary)


def show(results: Sequence[Result], target: str | None, out: TextIO) -> None:
    """Print tables to ``out`` and write JSON to the file ``target``; ``-`` prints only JSON."""
    if target != "-":
        out.write(report.tables(results))
    if target is not None:
        text = json.dumps(report.as_json(results), indent=2, ensure_ascii=False) + "\n"
        if target == "-":
            out.write(text)
        else:
            Path(target).write_text(text, encoding="utf-8")


def exit_status(results: Sequence[Result], *, strict: bool) -> int:
    """Return 1 when a bench could not be measured; a missed bar is only reported, unless ``strict``."""
    seen = set(report.verdicts(results))
    return int(Verdict.FAILED in seen or (strict and not seen <= FINE))


if __name__ == "__main__":
    sys.exit(main())
