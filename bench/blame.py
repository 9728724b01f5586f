"""The time to attribute the lines of a file with a long history, against ``git blame`` of the same commits.

Every bar leaves room for the start of the program: a time may be ``ratio`` times git's and 120 ms more. The bench shows
the plain ratio, and the ratio after these 120 ms, which is compared with the bar.
"""

import argparse
import json
import sqlite3
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import TextIO

from bench import blame_growth
from bench.attribution import claude, templates
from bench.attribution.telling import CUSTODY, Told, Transcripts, ran
from bench.attribution.world import surroundings
from bench.bars import Bar, BenchError, at_most
from bench.columns import columns
from bench.names import UnknownName, by_name, chosen
from bench.progress import Progress, Tell
from bench.runner import Verdict, judged
from bench.stats import PAIRS_MIN, ROUNDS_MAX, Spread, spread, turns

ALLOWED_NS = 120_000_000
LINES_MIN, COMMITS_MIN = 2_000, 300
CAPTURED = 50
FUNCTION_LINES = 14
"""More lines than a function has, with its gap: the file grows to the requested length by changes."""
STEP_S = 3_600
KEPT = frozenset({"lineage_state", "lineage_line"})
"""Replayed once when evidence arrives, not for each query."""

BENCHES = blame_growth.BENCHES


@dataclass(frozen=True, slots=True)
class Place:
    """A repository, the file to query, and the line for single-line queries."""

    repository: Path
    environment: dict[str, str]
    file: str
    line: int

    def git(self, *words: str, given: bytes = b"") -> bytes:
        """Run git here and return its output."""
        said: bytes = ran(["git", *words], self.repository, self.environment, given)
        return said

    def custody(self, *words: str) -> bytes:
        """Run custody here and return its output."""
        said: bytes = ran([CUSTODY, *words], self.repository, self.environment)
        return said

    def drop_caches(self) -> None:
        """Delete every cached answer; evidence and its replay stay."""
        path = self.repository / ".git" / "custody" / "custody.db"
        with closing(sqlite3.connect(path)) as connection, connection:
            tables = [str(row[0]) for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
            for table in tables:
                if table.startswith("lineage_") and table not in KEPT:
                    connection.execute(f'DELETE FROM "{table}"')


@dataclass(frozen=True, slots=True)
class Question:
    """A query for custody and git in turn; ``before`` runs first and is not timed."""

    name: str
    ours: Callable[[Place], object]
    gits: Callable[[Place], object]
    bar: Bar
    before: Callable[[Place], None] = lambda _: None


def _git_line(place: Place) -> bytes:
    return place.git("blame", "--porcelain", "-L", f"{place.line},{place.line}", "HEAD", "--", place.file)


def _git_file(place: Place) -> bytes:
    return place.git("blame", "--porcelain", "HEAD", "--", place.file)


QUESTIONS = (
    Question("warm", lambda at: at.custody("blame", at.file, "HEAD", "--json"), _git_file, at_most(1.3)),
    Question("work-tree", lambda at: at.custody("blame", at.file, "--json"), _git_file, at_most(1.3)),
    Question(
        "cold", lambda at: at.custody("blame", at.file, "HEAD", "--json"), _git_file, at_most(2), Place.drop_caches
    ),
    Question(
        "line",
        lambda at: at.custody("blame", at.file, "HEAD", "-L", f"{at.line},{at.line}", "--json"),
        _git_line,
        at_most(2),
    ),
    Question(
        "line-cold",
        lambda at: at.custody("blame", at.file, "HEAD", "-L", f"{at.line},{at.line}", "--json"),
        _git_line,
        at_most(2),
        Place.drop_caches,
    ),
    Question("why", lambda at: at.custody("why", f"{at.file}:{at.line}", "--json"), _git_line, at_most(2)),
)


@dataclass(frozen=True, slots=True)
class Timed:
    """The ratios of one query, plain and after the allowance for program start; ``failure`` is the reason for none."""

    question: Question
    plain: tuple[float, ...] = ()
    allowed: tuple[float, ...] = ()
    failure: str = ""

    @property
    def verdict(self) -> Verdict:
        """Return whether the median, after the allowance for program start, reaches the bar."""
        if self.failure:
            return Verdict.NOT_RUN
        if not spread(self.plain).steady:
            return Verdict.UNSTABLE
        return judged(self.question.bar, spread(self.allowed).median)


def timed(question: Question, place: Place, pairs: int, tell: Tell) -> Timed:
    """Measure alternating pairs, again while the quartiles are too far apart; return the last round."""
    try:
        once(question, "subject", place)
    except BenchError as error:
        return Timed(question, failure=str(error))
    rounds = 0
    while True:
        rounds += 1
        found = one_round(question, place, pairs, tell)
        if rounds == ROUNDS_MAX or spread(found.plain).steady:
            return found


def one_round(question: Question, place: Place, pairs: int, tell: Tell) -> Timed:
    """Measure pairs; which side goes first alternates."""
    plain, allowed = [], []
    for n, turn in enumerate(turns(pairs)):
        tell(f"{question.name}: pair {n + 1} of {pairs}")
        took = {side: once(question, side, place) for side in turn}
        plain.append(took["subject"] / took["baseline"])
        allowed.append((took["subject"] - ALLOWED_NS) / took["baseline"])
    return Timed(question, tuple(plain), tuple(allowed))


def once(question: Question, side: str, place: Place) -> int:
    """Time one side, in nanoseconds."""
    ask = question.gits
    if side == "subject":
        question.before(place)
        ask = question.ours
    start = time.perf_counter_ns()
    ask(place)
    return time.perf_counter_ns() - start


# The repository to query.


def generated(folder: Path) -> Place:
    """Make a repository with one long, often changed file; random, but always the same."""
    place = Place(folder / "repository", surroundings(folder), "app.py", 1)
    place.repository.mkdir()
    place.git("init", "--quiet", "--initial-branch=main")
    source = templates.Source(Random("blame"), script=False)
    source.imports = [templates.an_import(source) for _ in range(9)]
    source.chunks = [templates.a_function(source) for _ in range(LINES_MIN // FUNCTION_LINES)]
    stream = [_commit(0, source.text)]
    stream += [_commit(n, source.go_on()) for n in range(1, COMMITS_MIN + CAPTURED)]
    place.git("fast-import", "--quiet", given=b"".join(stream))
    place.git("checkout", "--quiet", "main")
    return place


def _commit(n: int, text: str) -> bytes:
    at = int(time.time()) - (COMMITS_MIN + CAPTURED - n) * STEP_S
    head = f"commit refs/heads/main\ncommitter Ana <ana@example.org> {at} +0000\ndata 8\na change\n"
    content = text.encode()
    return f"{head}M 644 inline app.py\ndata {len(content)}\n".encode() + content + b"\n"


def cloned(folder: Path, git_dir: Path, file: str) -> Place:
    """Clone a real repository, so that the original is not changed."""
    place = Place(folder / "repository", surroundings(folder), file, 1)
    ran(["git", "clone", "--quiet", "--shared", str(git_dir), str(place.repository)], folder, place.environment)
    return place


def captured(place: Place, count: int) -> Place:
    """Record the file's last ``count`` commits as an agent's work, and choose one of their lines to query."""
    log = place.git("log", "--no-merges", f"-{count}", "--format=%H %at", "--", place.file).decode().splitlines()
    transcripts = Transcripts(place.repository.parent / "projects")
    transcripts.begin(place.repository, place.environment)
    for n, line in enumerate(reversed(log)):
        sha, at = line.split()
        for event in _write(place, sha, n):
            transcripts.tell(event, Told(float(at) - 30, "claude-sonnet-4-5"))
    transcripts.end()
    said = json.loads(place.custody("blame", place.file, "HEAD", "--json"))
    ours = [one for one in said["attributions"] if one["class"] == "agent"]
    if not ours:
        raise BenchError("the agent wrote no line of the file, so nothing would be measured")
    return Place(place.repository, place.environment, place.file, int(ours[-1]["start_line"]))


def _write(place: Place, sha: str, n: int) -> list[claude.Event]:
    before = place.git("cat-file", "blob", f"{sha}^:{place.file}").decode(errors="replace")
    after = place.git("cat-file", "blob", f"{sha}:{place.file}").decode(errors="replace")
    name = str(place.repository / place.file)
    shared = {
        "session_id": claude.session_id("blame"),
        "cwd": str(place.repository),
        "tool_name": "Write",
        "tool_use_id": f"toolu_{n:06d}",
        "tool_input": {"file_path": name, "content": after},
    }
    response = claude.write_response(name, before, after)
    return [
        {**shared, "hook_event_name": "PreToolUse"},
        {**shared, "hook_event_name": "PostToolUse", "tool_response": response},
    ]


# The command.


def main(argv: Sequence[str] | None = None, *, out: TextIO | None = None, err: TextIO | None = None) -> int:
    """Run every query in turns with git; return 1 when nothing could be measured."""
    out, err = out or sys.stdout, err or sys.stderr
    parser = arguments()
    args = parser.parse_args(argv)
    try:
        questions = chosen(by_name(QUESTIONS), args.names)
    except UnknownName as error:
        parser.error(str(error))
    with tempfile.TemporaryDirectory(prefix="custody-blame-") as temporary, Progress(err) as tell:
        folder = Path(temporary)
        tell("setting up")
        try:
            place = generated(folder) if args.repo is None else cloned(folder, args.repo.resolve(), args.file)
            place = captured(place, args.captured)
        except BenchError as error:
            err.write(f"not measured: {error}\n")
            return 1
        size = sizes(place)
        results = [timed(question, place, args.pairs, tell) for question in questions]
    out.write(json.dumps(as_json(size, results), indent=2) + "\n" if args.json else table(size, results))
    return 0


def sizes(place: Place) -> dict[str, int]:
    """Return the length of the file and the number of its commits."""
    lines = place.git("show", f"HEAD:{place.file}").count(b"\n")
    commits = int(place.git("rev-list", "--count", "HEAD", "--", place.file))
    return {"lines": lines, "commits": commits, "line": place.line}


def arguments() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    parser = argparse.ArgumentParser(prog="python -m bench blame", description="Time blame against git's own.")
    parser.add_argument("names", nargs="*", metavar="NAME", help="a query (default: all of them)")
    parser.add_argument("--repo", type=Path, metavar="GITDIR", help="a real repository (default: a generated one)")
    parser.add_argument("--file", metavar="PATH", help="the file to query")
    parser.add_argument("--captured", type=int, default=CAPTURED, metavar="N", help="commits that an agent made")
    parser.add_argument("--pairs", type=int, default=PAIRS_MIN, metavar="N", help="pairs per round (%(default)s)")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    return parser


HEADER = ("blame", "ratio [quartiles]", "after 120 ms", "pairs", "bar", "verdict", "baseline")


def table(size: dict[str, int], results: Sequence[Timed]) -> str:
    """Format the figures for people."""
    said = f"a file of {size['lines']:,} lines and {size['commits']:,} commits; query line {size['line']}\n"
    return said + columns(HEADER, [_row(one) for one in results])


def _row(one: Timed) -> tuple[str, ...]:
    baseline = "git blame -L" if one.question.gits is _git_line else "git blame"
    figures = ("", "") if one.failure else (_words(spread(one.plain)), _words(spread(one.allowed)))
    verdict = one.verdict.value + (f": {one.failure[:80]}" if one.failure else "")
    return (one.question.name, *figures, str(len(one.plain)), str(one.question.bar), verdict, baseline)


def _words(found: Spread) -> str:
    return f"{found.median:.3f} [{found.q1:.3f}, {found.q3:.3f}]"


def as_json(size: dict[str, int], results: Sequence[Timed]) -> dict[str, object]:
    """Return the figures for programs, with every ratio."""
    rows = [
        {
            "name": one.question.name,
            "bar": str(one.question.bar),
            "verdict": one.verdict.value,
            "failure": one.failure or None,
            "ratios": list(one.plain),
            "ratios_after_120_ms": list(one.allowed),
        }
        for one in results
    ]
    return {"version": 1, **size, "results": rows}
