"""``python -m bench review``: what the cards of real changes show, as in docs/review.md.

    git clone https://github.com/entireio/cli && (cd cli && custody import entire)
    python -m bench review --repository cli --changes 20

Reviews the latest merges of the current branch that change files, by the program itself. Each answer is checked: it has
the names that others rely on, its order is that of its hunks, its counts are those of its hunks, and its Markdown,
annotations and code quality report keep to the limits of the hosts.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TextIO

from bench.bars import BenchError
from bench.columns import columns
from bench.progress import Progress

SECONDS_MAX = 600.0
REPORT_NAMES = ("verdict", "summary", "order", "hunks")
HUNK_NAMES = ("path", "lines", "authors", "confidence", "prompt", "calls", "sources", "tests", "duplicates", "risk")
MARKDOWN_CHARACTERS_MAX = 65_535
ANNOTATIONS_MAX = 50


@dataclass(frozen=True, slots=True)
class ReviewedChange:
    """One merge: what its cards show, and the faults of the answer."""

    change: str
    files: int
    hunks: int
    prompts: int
    calls: int
    sources: int
    tested: int
    high: int
    medium: int
    low: int
    cpu: float
    faults: tuple[str, ...]


def main(argv: Sequence[str] | None = None, *, out: TextIO | None = None, err: TextIO | None = None) -> int:
    """Review the changes and print the table; return 1 if an answer has a fault."""
    out, err = out or sys.stdout, err or sys.stderr
    args = _arguments().parse_args(argv)
    found = []
    with Progress(err) as tell:
        try:
            for base, head in _list_merges(args.repository, args.changes):
                tell(f"custody review {base[:12]}..{head[:12]}")
                found.append(_review(args.repository, base, head))
        except BenchError as error:
            err.write(f"{error}\n")
            return 1
    names = ("change", "files", "hunks", "prompt", "calls", "sources", "tested", "high", "medium", "low", "CPU s")
    rows = [_make_row(each) for each in found]
    sums = [str(sum(int(row[at]) for row in rows)) for at in range(1, 10)]
    slowest = f"{max((each.cpu for each in found), default=0):.1f}"
    out.write(columns(names, [*rows, (f"{len(found)} changes", *sums, slowest)]))
    faults = [f"{each.change}: {fault}" for each in found for fault in each.faults]
    out.write("".join(f"{fault}\n" for fault in faults) + f"\n{len(faults)} faults in {len(found)} answers\n")
    if args.json:
        text = json.dumps([asdict(each) for each in found], indent=2)
        Path(args.json).write_text(text + "\n", encoding="utf-8")
    return int(bool(faults) or not found)


def _arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m bench review", description="Review real changes.")
    parser.add_argument("--repository", type=Path, required=True, metavar="PATH", help="a repository with records")
    parser.add_argument("--changes", type=int, default=20, metavar="N", help="how many merges (default: 20)")
    parser.add_argument("--json", metavar="FILE", help="write the results as JSON too")
    return parser


def _make_row(each: ReviewedChange) -> tuple[str, ...]:
    counts = (each.files, each.hunks, each.prompts, each.calls, each.sources, each.tested)
    return (each.change, *map(str, (*counts, each.high, each.medium, each.low)), f"{each.cpu:.1f}")


def _list_merges(repository: Path, count: int) -> Iterator[tuple[str, str]]:
    """Yield the first parent and the commit of the latest merges that change files."""
    listed = _git(repository, "log", "--first-parent", "--merges", "--format=%P %H").splitlines()
    for line in listed:
        base, *_, head = line.split()
        if count and _git(repository, "diff", "--name-only", base, head).strip():
            count -= 1
            yield base, head


def _git(repository: Path, *words: str) -> str:
    ran = subprocess.run(("git", *words), cwd=repository, capture_output=True, text=True, check=False)
    if ran.returncode:
        raise BenchError(f"git {words[0]} failed in {repository}: {ran.stderr.strip()}")
    return ran.stdout


def _custody(repository: Path, *words: str, feed: bytes = b"") -> tuple[bytes, float]:
    """Return the output of a command and its CPU time."""
    before = os.times()
    began = time.monotonic()
    command = (sys.executable, "-m", "custody", "review", *words)
    try:
        ran = subprocess.run(command, cwd=repository, input=feed, capture_output=True, check=False, timeout=SECONDS_MAX)
    except subprocess.TimeoutExpired as error:
        raise BenchError(f"custody review {words[0]} took more than {SECONDS_MAX:.0f} s") from error
    after = os.times()
    cpu = after.children_user + after.children_system - before.children_user - before.children_system
    if ran.returncode:
        reason = ran.stderr.decode("utf-8", "replace").strip()
        raise BenchError(f"custody review {words[0]} failed after {time.monotonic() - began:.0f} s: {reason}")
    return ran.stdout, cpu


def _review(repository: Path, base: str, head: str) -> ReviewedChange:
    answer, cpu = _custody(repository, f"{base}..{head}", "--json")
    report = json.loads(answer)
    hunks: list[dict[str, Any]] = report["hunks"]
    levels = Counter(hunk["risk"]["level"] for hunk in hunks)
    return ReviewedChange(
        change=head[:12],
        files=report["files"],
        hunks=len(hunks),
        prompts=sum(hunk["prompt"]["text"] is not None for hunk in hunks),
        calls=sum(bool(hunk["calls"]) for hunk in hunks),
        sources=sum(bool(hunk["sources"]) for hunk in hunks),
        tested=sum(hunk["tests"]["state"] == "after-edit" for hunk in hunks),
        high=levels["high"],
        medium=levels["medium"],
        low=levels["low"],
        cpu=cpu,
        faults=(*_find_faults(report), *_find_form_faults(repository, answer)),
    )


def _find_faults(report: dict[str, Any]) -> Iterator[str]:
    """Yield what others rely on and the answer does not have."""
    hunks = report["hunks"]
    yield from (f"no '{name}'" for name in REPORT_NAMES if name not in report)
    yield from sorted({f"a hunk without '{name}'" for name in HUNK_NAMES for hunk in hunks if name not in hunk})
    if report["order"] != [hunk["id"] for hunk in hunks] or len(set(report["order"])) < len(hunks):
        yield "the order is not that of the hunks"
    more = report["more"] or {"hunks": 0, "added": 0, "removed": 0}
    if sum(report["levels"].values()) != len(hunks) + more["hunks"]:
        yield "the levels do not count every hunk"
    if sum(hunk["removed"] for hunk in hunks) + more["removed"] != report["removed_lines"]:
        yield "the removed lines are not those of the hunks"
    added = sum(author["lines"] for hunk in hunks for author in hunk["authors"])
    if not report["more"] and added != sum(report["added"].values()):
        yield "the added lines are not those of the authors"


def _find_form_faults(repository: Path, answer: bytes) -> Iterator[str]:
    """Yield the limits of hosts that the other formats of the same answer break."""
    forms = {
        form: _custody(repository, "--from", "-", "--format", form, feed=answer)[0].decode()
        for form in ("markdown", "annotations", "code-quality")
    }
    if len(forms["markdown"]) > MARKDOWN_CHARACTERS_MAX:
        yield "the Markdown is too long"
    if len(forms["annotations"].splitlines()) > ANNOTATIONS_MAX:
        yield "too many annotations"
    if len(json.loads(forms["code-quality"])) > ANNOTATIONS_MAX:
        yield "too many issues of code quality"
