"""``python -m bench undo``: undo every session of random histories, and compare the result with the truth.

    python -m bench undo
    python -m bench undo --random 200 --seed 7 --jobs 2 --json figures.json
    python -m bench undo --only 41        one history of the seed

Each history is that of ``bench attribution``: people and agents change one file, with renames, squashes, rebases and
formatters. At its end every session is undone alone: ``git apply`` takes the patch in a copy of the work tree. A line
is lost if an author other than the session wrote it and it is gone. A line of the session that stays must be listed.
"""

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, TextIO

from bench.attribution.histories import histories, squeezed
from bench.attribution.run import played
from bench.attribution.scenario import Scenario
from bench.attribution.telling import CUSTODY, Hooks, Teller, Transcripts
from bench.attribution.truth import EITHER, Line, Page, Who, says_little, softened, the_agent
from bench.attribution.versions import from_repository, from_templates
from bench.attribution.world import World
from bench.bars import BenchError
from bench.progress import Progress

HISTORIES = 200
SEED = 20260301
JOBS = 2
LINES_SHOWN_MAX = 3


@dataclass
class Outcome:
    """What undoing one session did to the lines of the truth."""

    history: str
    session: str
    removed: int = 0
    """Lines of the session that are gone."""
    listed: int = 0
    """Lines of the session that stay, and are listed."""
    unlisted: list[str] = field(default_factory=list)
    """Lines of the session that stay and are not listed."""
    lost: list[str] = field(default_factory=list)
    """Lines of other authors that are gone."""
    failure: str = ""

    @property
    def is_exact(self) -> bool:
        """Return whether every line of the session is gone and no other."""
        return not (self.listed or self.unlisted or self.lost or self.failure)


def main(argv: Sequence[str] | None = None, *, out: TextIO | None = None, err: TextIO | None = None) -> int:
    """Undo the sessions of the histories in ``argv``; return 1 if a line is lost or a patch does not apply."""
    out, err = out or sys.stdout, err or sys.stderr
    args = _parse(argv)
    versions = from_templates if args.repo is None else from_repository(args.repo.resolve())
    stories = list(histories(args.random, args.seed, versions))
    stories = stories if args.only is None else [stories[args.only]]
    done = 0
    with Progress(err) as tell, ThreadPoolExecutor(args.jobs) as pool:
        outcomes: list[Outcome] = []
        for found in pool.map(lambda story: list(undo_story(story, args.source)), stories):
            outcomes.extend(found)
            done += 1
            tell(f"{done} of {len(stories)}")
    figures = summarize(outcomes, len(stories))
    out.write(json.dumps(figures) + "\n")
    for outcome in outcomes:
        for kind, lines in (("lost", outcome.lost), ("unlisted", outcome.unlisted)):
            out.writelines(
                f"{kind} in {outcome.history}, {outcome.session}: {line}\n" for line in lines[:LINES_SHOWN_MAX]
            )
        if outcome.failure:
            out.write(f"failed in {outcome.history}, {outcome.session}: {outcome.failure}\n")
    if args.json:
        Path(args.json).write_text(json.dumps([asdict(outcome) for outcome in outcomes], indent=1) + "\n")
    return int(bool(figures["lost"] or figures["failed"]))


def summarize(outcomes: Sequence[Outcome], count: int) -> Mapping[str, int | float]:
    """Return the figures of all outcomes."""
    removed, listed = sum(one.removed for one in outcomes), sum(one.listed for one in outcomes)
    unlisted = sum(len(one.unlisted) for one in outcomes)
    return {
        "histories": count,
        "sessions": len(outcomes),
        "exact": sum(one.is_exact for one in outcomes),
        "lines": removed + listed + unlisted,
        "removed": removed,
        "listed": listed,
        "unlisted": unlisted,
        "lost": sum(len(one.lost) for one in outcomes),
        "failed": sum(bool(one.failure) for one in outcomes),
    }


def undo_story(story: Scenario, source: str) -> Iterator[Outcome]:
    """Play a history and undo each of its sessions."""
    with tempfile.TemporaryDirectory(prefix="custody-undo-") as temporary:
        folder = Path(temporary)
        teller: Teller = Hooks() if source == "hooks" else Transcripts(folder / "projects")
        try:
            world = played(story, teller, folder)
        except BenchError as error:
            yield Outcome(story.name, "", failure=str(error))
            return
        options = () if source == "hooks" else ("--imported",)
        for session in sorted(world.sessions):
            yield undo_session(story.name, world, session, folder / "undone", options)


def undo_session(name: str, world: World, session: str, copy: Path, options: Iterable[str] = ()) -> Outcome:
    """Undo one session in a copy of the work tree, and compare it with the truth."""
    outcome = Outcome(name, session)
    done = _run([CUSTODY, "undo", session, "--json", *options], world.folder, world)
    if done.returncode:
        outcome.failure = done.stderr.decode()[-400:]
        return outcome
    report = json.loads(done.stdout)
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(world.folder, copy)
    if report["patch"]:
        applied = _run(["git", "apply", "-"], copy, world, report["patch"].encode())
        if applied.returncode:
            outcome.failure = applied.stderr.decode()[-400:]
            return outcome
    compare(outcome, world.pages, the_agent(session), _read_lines(copy, world), report)
    return outcome


def compare(
    outcome: Outcome, pages: Mapping[str, Page], who: Who, after: Counter[str], report: Mapping[str, Any]
) -> None:
    """Compare the lines of all files with the truth; lines count without white space, wherever they are."""
    others: Counter[str] = Counter()
    mine: list[tuple[str, int, Line]] = []
    for name, page in pages.items():
        for number, line in enumerate(softened(page.lines), start=1):
            if line.who == who:
                mine.append((name, number, line))
            elif line.who != EITHER and line.text.strip():
                others[squeezed(line.text)] += 1
    outcome.lost = sorted((others - after).elements())
    removed = _removed_lines(report["patch"] or "")
    spared = {
        (block["path"], number)
        for block in report["spared"]
        if block["start_line"] is not None
        for number in range(block["start_line"], block["end_line"] + 1)
    }
    for name, number, line in mine:
        if (name, number) in removed:
            outcome.removed += 1
        elif (name, number) in spared:
            outcome.listed += 1
        elif not says_little(line.text):
            outcome.unlisted.append(f"{name}:{number} {line.text}")


def _removed_lines(patch: str) -> set[tuple[str, int]]:
    """Return the lines that a patch removes, by the file's name before."""
    removed: set[tuple[str, int]] = set()
    name, number, left, added = "", 0, 0, 0
    for line in patch.split("\n"):
        if left > 0 or added > 0:
            if line.startswith("-"):
                removed.add((name, number))
            if line.startswith(("-", " ")):
                number, left = number + 1, left - 1
            if line.startswith(("+", " ")):
                added -= 1
        elif line.startswith("diff --git a/"):
            name = line.removeprefix("diff --git a/").partition(" b/")[0]
        elif line.startswith("@@ "):
            old, new = line.split()[1:3]
            first, _, count = old[1:].partition(",")
            number, left = int(first), int(count or 1)
            added = int(new[1:].partition(",")[2] or 1)
    return removed


def _read_lines(folder: Path, world: World) -> Counter[str]:
    names = _run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], folder, world).stdout
    lines: Counter[str] = Counter()
    for name in sorted(set(names.decode().split("\0"))):
        if name and (folder / name).is_file():
            lines.update(squeezed(line) for line in (folder / name).read_text(encoding="utf-8").split("\n"))
    return lines


def _run(argv: Sequence[str], folder: Path, world: World, given: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(argv, cwd=folder, env=world.environment, input=given, capture_output=True, check=False)


def _parse(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench undo", description="Undo sessions of random histories.")
    parser.add_argument("--random", type=int, default=HISTORIES, metavar="N", help="N histories (%(default)s)")
    parser.add_argument("--seed", type=int, default=SEED, metavar="S", help="which histories (%(default)s)")
    parser.add_argument("--only", type=int, metavar="N", help="only history N of the seed, from 0")
    parser.add_argument("--repo", type=Path, metavar="GITDIR", help="take versions from this repository, not templates")
    parser.add_argument(
        "--source", choices=("hooks", "transcripts"), default="hooks", help="how evidence is captured (%(default)s)"
    )
    parser.add_argument("--jobs", type=int, default=JOBS, metavar="N", help="histories at a time (%(default)s)")
    parser.add_argument("--json", metavar="PATH", help="write every outcome here")
    return parser.parse_args(argv)
