"""``python -m bench warm-why``: processor time of a warm ``why``, against ``git blame -L`` of the same line.

    python -m bench warm-why --repository PATH --file src/app.py
    python -m bench warm-why --repository PATH --file src/app.py --lines 50 --json figures.json

The repository needs recorded sessions. Rounds alternate: each asks every line of the sample once with either side. Time
of both sides includes git: ours keeps two processes, which are ended and counted in the last round.
"""

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from statistics import median
from typing import TextIO

from custody.why.warm import WarmWorkspace
from custody.workspace.workspace import Workspace

ROUNDS = 5
BAR = 2.0
MEGABYTE = 1 << 20


def main(argv: Sequence[str] | None = None, *, out: TextIO | None = None, err: TextIO | None = None) -> int:
    """Measure and print the figures; 1 if ours is over the bar."""
    args = _parse(argv)
    root, file = Path(args.repository).resolve(), str(args.file)
    count = (root / file).read_bytes().count(b"\n")
    lines = [1 + number * count // args.lines for number in range(args.lines)]
    warm = WarmWorkspace(lambda resources: Workspace(root, resources=resources))
    before = _processor_seconds()
    warm.explain_line(str(root / file), lines[0])
    first = _processor_seconds() - before
    ratios, ours, theirs = [], [], []
    for number in range(ROUNDS):
        is_last = number == ROUNDS - 1
        mine = _measure(partial(_ask_all, warm, str(root / file), lines, is_last=is_last))
        gits = _measure(partial(_blame_all, root, file, lines))
        ours.append(mine / len(lines))
        theirs.append(gits / len(lines))
        ratios.append(mine / gits)
    figures = {
        "lines": len(lines),
        "first_ms": round(first * 1000, 1),
        "why_ms": round(median(ours) * 1000, 2),
        "git_blame_ms": round(median(theirs) * 1000, 2),
        "ratio": round(median(ratios), 3),
        "resident_mb": round(_resident_bytes() / MEGABYTE, 1),
    }
    print(json.dumps(figures), file=out or sys.stdout)
    if args.json:
        Path(args.json).write_text(json.dumps(figures) + "\n")
    if figures["ratio"] > BAR:
        print(f"a warm why costs more than {BAR:g} times git blame -L", file=err or sys.stderr)
        return 1
    return 0


def _parse(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench warm-why", description="Measure warm questions.")
    parser.add_argument("--repository", required=True, metavar="PATH", help="a repository with recorded sessions")
    parser.add_argument("--file", required=True, metavar="FILE", help="a file of it")
    parser.add_argument("--lines", type=int, default=20, help="how many of its lines to ask about")
    parser.add_argument("--json", metavar="FILE", help="also write the figures here")
    return parser.parse_args(argv)


def _ask_all(warm: WarmWorkspace, file: str, lines: Sequence[int], *, is_last: bool) -> None:
    for line in lines:
        warm.explain_line(file, line)
    if is_last:
        warm.close()  # its git counts now: the system adds a child's time when it ends


def _blame_all(root: Path, file: str, lines: Sequence[int]) -> None:
    for line in lines:
        blame = ["git", "-C", str(root), "blame", "-L", f"{line},{line}", "--", file]
        subprocess.run(blame, stdout=subprocess.DEVNULL, check=True)


def _measure(job: Callable[[], None]) -> float:
    before = _processor_seconds()
    job()
    return _processor_seconds() - before


def _processor_seconds() -> float:
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def _resident_bytes() -> int:
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024
