"""``python -m bench tables``: makes docs/accuracy.md from stored results and from tables of bench/README.md.

    python -m bench tables                                   list the stored results
    python -m bench tables --run redaction                   run that bench and store its figures
    python -m bench tables --run trust --data FOLDER
    python -m bench tables --run peers --output FILE         store the figures of an earlier run
    python -m bench tables --write                           write docs/accuracy.md again

Figures of long benches are copied from the tables of bench/README.md, and marked as such.
"""

import argparse
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TextIO

from bench.bars import BenchError
from bench.kept import RESULTS, ROOT, RUNS, read, words_of, write
from bench.names import UnknownName, chosen
from bench.page import PAGE, accuracy_page


def main(argv: Sequence[str] | None = None, *, out: TextIO | None = None, err: TextIO | None = None) -> int:
    """Store a result, make the page, or list the stored results; return 1 on failure."""
    out, err = out or sys.stdout, err or sys.stderr
    parser = arguments()
    args = parser.parse_args(argv)
    try:
        if args.run:
            out.write(f"wrote {keep(args)}\n")
        elif args.write:
            (args.root / PAGE).write_text(accuracy_page(args.root), encoding="utf-8")
            out.write(f"wrote {PAGE}\n")
        else:
            out.write("".join(f"{path.stem}: {read(path).command}\n" for path in kept_files(args.root)))
    except UnknownName as error:
        parser.error(str(error))
    except BenchError as error:
        err.write(f"{error}\n")
        return 1
    return 0


def keep(args: argparse.Namespace) -> Path:
    """Run a bench, or read its output, and store its figures."""
    (run,) = chosen(RUNS, [args.run])
    output = args.output.read_text("utf-8") if args.output else printed(words_of(run, args.data, args.reports))
    return write(args.root / RESULTS, run.name, run.kept(output)).relative_to(args.root)


def printed(words: Sequence[str]) -> str:
    """Return what ``python`` prints for these arguments; a failing bench is an error."""
    done = subprocess.run([sys.executable, *words], cwd=ROOT, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        raise BenchError(f"'python {' '.join(words)}' ended with {done.returncode}")
    return done.stdout


def kept_files(root: Path) -> list[Path]:
    """Return the files of stored results, by name."""
    return sorted((root / RESULTS).glob("*.json"))


def arguments() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    parser = argparse.ArgumentParser(prog="python -m bench tables", description="Store figures and make their page.")
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--run", metavar="NAME", help=f"store the figures of this bench ({', '.join(RUNS)})")
    what.add_argument("--write", action="store_true", help=f"write {PAGE} again")
    parser.add_argument("--output", type=Path, metavar="FILE", help="what the bench printed, instead of running it")
    parser.add_argument("--data", type=Path, metavar="FOLDER", help="streams of decisions and spans")
    parser.add_argument("--reports", type=Path, metavar="FOLDER", help="Markdown reports")
    parser.add_argument("--root", type=Path, default=ROOT, help=argparse.SUPPRESS)
    return parser
