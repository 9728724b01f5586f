"""``python -m bench.faults``: cause faults and print the results."""

import argparse
import json
import secrets
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from bench.faults import report
from bench.faults.frame import Examined, Fault, Trial, examine
from bench.faults.registry import FAULTS
from bench.names import UnknownName, chosen
from bench.progress import Progress, Tell

SEED_BITS = 32


@dataclass(frozen=True, slots=True)
class Wanted:
    """The options of the command line for every fault."""

    seed: int
    rounds: int | None


def main(
    argv: Sequence[str] | None = None,
    *,
    table: Mapping[str, Fault] = FAULTS,
    out: TextIO | None = None,
    err: TextIO | None = None,
) -> int:
    """Run the faults named by ``argv``; 1 when a figure is not what it must be."""
    out, err = out or sys.stdout, err or sys.stderr
    parser = arguments()
    args = parser.parse_args(argv)
    try:
        faults = chosen(table, args.names)
    except UnknownName as error:
        parser.error(str(error))
    if args.list:
        out.write(report.listing(faults))
        return 0
    wanted = Wanted(secrets.randbits(SEED_BITS) if args.seed is None else args.seed, args.rounds)
    # Before the first round, so that a run that is killed or raises can be made again.
    err.write(f"seed {wanted.seed}\n")
    with Progress(err) as tell:
        results = [run(fault, wanted, tell) for fault in faults]
    show(results, wanted.seed, out, as_json=args.json)
    return int(any(one.broken for one in results))


def arguments() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    parser = argparse.ArgumentParser(prog="python -m bench.faults", description="Break things on purpose and count.")
    parser.add_argument("names", nargs="*", metavar="NAME", help="a fault (default: all of them)")
    parser.add_argument("--list", action="store_true", help="list the faults and run none")
    parser.add_argument("--rounds", type=positive, metavar="N", help="rounds of each fault (default: its own number)")
    parser.add_argument("--seed", type=int, metavar="S", help="the seed of an earlier run (default: a new one)")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    return parser


def positive(text: str) -> int:
    """Parse a number from 1 on."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"'{text}' is not a number from 1 on")
    return int(text)


def run(fault: Fault, wanted: Wanted, tell: Tell) -> Examined:
    """Run one fault in a temporary folder."""

    def tell_named(text: str) -> None:
        tell(f"{fault.name}: {text}")

    with tempfile.TemporaryDirectory(prefix="custody-faults-") as temporary:
        rounds = wanted.rounds or fault.rounds
        return examine(fault, Trial(seed=wanted.seed, rounds=rounds, folder=Path(temporary), tell=tell_named))


def show(results: Sequence[Examined], seed: int, out: TextIO, *, as_json: bool) -> None:
    """Print the figures to ``out``, as a table or as JSON."""
    if as_json:
        out.write(json.dumps(report.as_json(results, seed), indent=2, ensure_ascii=False) + "\n")
    else:
        out.write(report.table(results))


if __name__ == "__main__":
    sys.exit(main())
