"""The time of a verdict, against git comparing and blaming the same lines.

    python -m bench gate [--records N] [--changes N] [--lines N] [NAME …]

The bar leaves room for the start of the program and for the store: a time may be three times git's and 500 ms more. The
bench shows the plain ratio, and the ratio after these 500 ms, which is compared with the bar. On a busy machine
the 500 ms pass while other programs run, so the ratio of the processor times is shown too.

The store is made by custody's own append; the index of changes is the one of ``dupes-steps``. Most records are
calls and prompts of other sessions, as in practice; some are edits of other files, some are decisions.
"""

import argparse
import json
import resource
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from bench import dupes
from bench.attribution.telling import CUSTODY, ran
from bench.attribution.world import surroundings
from bench.bars import Bar, BenchError, at_most
from bench.columns import columns
from bench.names import UnknownName, by_name, chosen
from bench.progress import Progress, Tell
from bench.runner import Verdict, judged
from bench.stats import PAIRS_MIN, ROUNDS_MAX, Spread, spread, turns
from custody.core.ids import EventId
from custody.core.wire.arrival import Arrival, arrival_from_bytes
from custody.core.wire.time import format_timestamp
from custody.store import Store, split_row_batches
from custody.store.sqlite import SqliteDb
from custody.workspace.workspace import Workspace

NS = 1_000_000_000
ALLOWED_NS = 500_000_000
RECORDS, CHANGES, LINES = 100_000, 20_000, 500
FILES = 5
COMMITS = 60
"""Earlier commits; each changes one of the files."""
FILE_LINES = 400
BATCH = 1_000
SESSION_RECORDS = 200
EDIT_EVERY, DECISION_EVERY, PROMPT_EVERY = 50, 400, 20
OTHER_FILES = 500
AGENT = "robot"
BAR = at_most(3)


@dataclass(frozen=True, slots=True)
class Place:
    """A repository with a change on top, and everything that was recorded in it."""

    repository: Path
    environment: dict[str, str]
    base: str
    head: str
    ranges: dict[str, list[tuple[int, int]]]

    def git(self, *words: str, given: bytes = b"") -> bytes:
        """Run git here and return its output."""
        said: bytes = ran(["git", *words], self.repository, self.environment, given)
        return said

    def compared_and_blamed(self) -> None:
        """Run only git: show the change, and blame its lines."""
        self.git("diff", self.base, self.head)
        for path, ranges in self.ranges.items():
            stretches = [word for first, last in ranges for word in ("-L", f"{first},{last}")]
            self.git("blame", "--porcelain", *stretches, self.head, "--", path)

    def verdict(self) -> bytes:
        """Return the verdict on the change."""
        said: bytes = ran([CUSTODY, "gate", f"{self.base}..{self.head}", "--json"], self.repository, self.environment)
        return said

    def something_arrives(self) -> None:
        """Record another call, which the next command has to ingest."""
        event = _event("call", time.time_ns(), id=f"late-{time.time_ns()}", session="late", name="Bash")
        with Workspace(self.repository).writing() as store:
            store.append([_arrival(event)])

    def break_seal(self) -> None:
        """Delete the record of what was verified before."""
        (self.repository / ".git" / "custody" / "seal").unlink(missing_ok=True)


@dataclass(frozen=True, slots=True)
class Question:
    """A state of the store for a verdict; ``before`` runs first and is not timed."""

    name: str
    before: Callable[[Place], None] = lambda _: None
    bar: Bar | None = BAR


QUESTIONS = (
    Question("gate"),
    Question("gate-after-arrivals", Place.something_arrives),
    Question("gate-unsealed", Place.break_seal, None),
)


@dataclass(frozen=True, slots=True)
class Took:
    """Elapsed time and processor time, in nanoseconds."""

    clock: int
    processor: int


@dataclass(frozen=True, slots=True)
class Timed:
    """The ratios of one state: plain, after the allowance, and in processor time."""

    question: Question
    plain: tuple[float, ...]
    allowed: tuple[float, ...]
    processor: tuple[float, ...]

    @property
    def verdict(self) -> Verdict:
        """Return whether the median, after the allowance, reaches the bar."""
        if not spread(self.plain).steady:
            return Verdict.UNSTABLE
        return judged(self.question.bar, spread(self.allowed).median)


def timed(question: Question, place: Place, pairs: int, tell: Tell) -> Timed:
    """Measure alternating pairs, again while the quartiles are too far apart; return the last round."""
    rounds = 0
    while True:
        rounds += 1
        found = one_round(question, place, pairs, tell)
        if rounds == ROUNDS_MAX or spread(found.plain).steady:
            return found


def one_round(question: Question, place: Place, pairs: int, tell: Tell) -> Timed:
    """Measure pairs; which side goes first alternates."""
    plain, allowed, processor = [], [], []
    for n, turn in enumerate(turns(pairs)):
        tell(f"{question.name}: pair {n + 1} of {pairs}")
        took = {side: once(question, side, place) for side in turn}
        ours, gits = took["subject"], took["baseline"]
        plain.append(ours.clock / gits.clock)
        allowed.append((ours.clock - ALLOWED_NS) / gits.clock)
        processor.append((ours.processor - ALLOWED_NS) / gits.processor)
    return Timed(question, tuple(plain), tuple(allowed), tuple(processor))


def once(question: Question, side: str, place: Place) -> Took:
    """Time one side."""
    if side == "subject":
        question.before(place)
    clock, processor = time.perf_counter_ns(), _processor_ns()
    place.verdict() if side == "subject" else place.compared_and_blamed()
    return Took(time.perf_counter_ns() - clock, _processor_ns() - processor)


def _processor_ns() -> int:
    """Return the processor time of all ended child processes."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return int((used.ru_utime + used.ru_stime) * NS)


# --- the repository ---------------------------------------------------------------------------------------------------


def a_place(folder: Path, lines: int) -> Place:
    """Make a repository with some history; the last commit adds lines to every file."""
    repository, environment = folder / "repository", surroundings(folder)
    repository.mkdir()
    ran(["git", "init", "--quiet", "--initial-branch=main"], repository, environment)
    texts = {f"src/part_{n}.py": [_line(n, m, 0) for m in range(FILE_LINES)] for n in range(FILES)}
    stream = [_commit(0, texts)]
    for number in range(1, COMMITS):
        path = f"src/part_{number % FILES}.py"
        texts[path][number * 7 % FILE_LINES] = _line(number, number, number)
        stream.append(_commit(number, {path: texts[path]}))
    each = lines // FILES
    added = {
        path: [*text, *(_line(9, m, 1_000 + n) for m in range(each))] for n, (path, text) in enumerate(texts.items())
    }
    stream.append(_commit(COMMITS, added))
    ran(["git", "fast-import", "--quiet"], repository, environment, b"".join(stream))
    ran(["git", "checkout", "--quiet", "main"], repository, environment)
    base, head = ran(["git", "rev-parse", "HEAD~1", "HEAD"], repository, environment).decode().split()
    ranges = {path: [(FILE_LINES + 1, FILE_LINES + each)] for path in added}
    return Place(repository, environment, base, head, ranges)


def _line(a: int, b: int, c: int) -> str:
    return f"value_{a}_{b}_{c} = compute_{c}(source_{a}, {b})\n"


def _made_s(number: int) -> int:
    return int(time.time()) - (COMMITS - number) * 600 - 60


def _commit(number: int, files: dict[str, list[str]]) -> bytes:
    head = f"commit refs/heads/main\ncommitter Ana <ana@example.org> {_made_s(number)} +0000\ndata 8\na change\n"
    parts = [head.encode()]
    for path, text in files.items():
        content = "".join(text).encode()
        parts.append(f"M 644 inline {path}\ndata {len(content)}\n".encode() + content + b"\n")
    return b"".join(parts)


# --- what was recorded ------------------------------------------------------------------------------------------------


def recorded(place: Place, records: int) -> Iterator[Arrival]:
    """Yield other records, then the edits of the change."""
    start_ns = (_made_s(COMMITS) - 2 * 86_400) * NS
    for n in range(records):
        yield _arrival(_other(n, start_ns + n * NS))
    for number, path in enumerate(sorted(place.ranges)):
        before, after = (place.git("show", f"{commit}:{path}").decode() for commit in (place.base, place.head))
        told = {"path": path, "before": before, "after": after, "head": place.base}
        yield _arrival(_event("edit", (_made_s(COMMITS) - 30) * NS, id=f"own-{number}", session="own", **told))


def _other(n: int, at_ns: int) -> dict[str, object]:
    session = f"session-{n // SESSION_RECORDS}"
    if n % DECISION_EVERY == 0:
        told = {"decision": "accepted", "actor": "ana", "changed_lines": 40, "commit": f"{n:040x}"}
        return _event("decision", at_ns, id=f"d{n}", **told)
    if n % EDIT_EVERY == 1:
        text = "".join(f"other_{n}_{m} = make_{m}({n})\n" for m in range(10))
        path = f"other/file_{n // EDIT_EVERY % OTHER_FILES}.py"
        return _event("edit", at_ns, id=f"e{n}", session=session, path=path, before="", after=text)
    if n % PROMPT_EVERY == 2:
        return _event("prompt", at_ns, id=f"p{n}", session=session, text=f"please do task {n}")
    told = {"name": "Bash", "status": "ok", "input": {"command": f"make step-{n}"}, "output": f"done with step {n}"}
    return _event("call", at_ns, id=f"c{n}", session=session, **told)


def _event(kind: str, at_ns: int, **fields: object) -> dict[str, object]:
    return {"custody": 1, "kind": kind, "at": format_timestamp(at_ns), "agent": AGENT, **fields}


def _arrival(event: dict[str, object]) -> Arrival:
    return arrival_from_bytes(EventId(f"recorded-{event['kind']}-{event['id']}"), json.dumps(event).encode())


def filled(place: Place, records: int, changes: int, tell: Tell) -> None:
    """Fill the store, then run one verdict, so that caches are full before the first pair."""
    with Workspace(place.repository).writing() as store:
        for number, batch in enumerate(split_row_batches(recorded(place, records), BATCH)):
            tell(f"recording: {number * BATCH:,} of {records:,}")
            store.append(batch)
        _indexed(store, changes)
    tell("the first verdict")
    said = json.loads(place.verdict())
    if said["added"]["agent"] != sum(last - first + 1 for some in place.ranges.values() for first, last in some):
        raise BenchError(f"the lines are not attributed to the agent: {said['added']}")
    if "duplicates" not in said["checks"]:
        raise BenchError("not checked for duplicates: the index is missing")


def _indexed(store: Store, changes: int) -> None:
    assert isinstance(store.db, SqliteDb), "a repository's own store is one file"
    dupes.fill(store.db, changes, [range(changes)])


# --- the command ------------------------------------------------------------------------------------------------------


def main(argv: Sequence[str] | None = None, *, out: TextIO | None = None, err: TextIO | None = None) -> int:
    """Measure the verdict in turns with git; return 1 when nothing could be measured."""
    out, err = out or sys.stdout, err or sys.stderr
    parser = arguments()
    args = parser.parse_args(argv)
    try:
        questions = chosen(by_name(QUESTIONS), args.names)
    except UnknownName as error:
        parser.error(str(error))
    with tempfile.TemporaryDirectory(prefix="custody-gate-") as temporary, Progress(err) as tell:
        try:
            place = a_place(Path(temporary), args.lines)
            filled(place, args.records, args.changes, tell)
            results = [timed(question, place, args.pairs, tell) for question in questions]
        except BenchError as error:
            err.write(f"not measured: {error}\n")
            return 1
    out.write(json.dumps(as_json(args, results), indent=2) + "\n" if args.json else table(args, results))
    return 0


def arguments() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    parser = argparse.ArgumentParser(prog="python -m bench gate", description="Time the gate against git's own.")
    parser.add_argument("names", nargs="*", metavar="NAME", help="a state of the store (default: all of them)")
    parser.add_argument("--records", type=int, default=RECORDS, metavar="N", help="records (%(default)s)")
    parser.add_argument("--changes", type=int, default=CHANGES, metavar="N", help="indexed changes (%(default)s)")
    parser.add_argument("--lines", type=int, default=LINES, metavar="N", help="lines of the change (%(default)s)")
    parser.add_argument("--pairs", type=int, default=PAIRS_MIN, metavar="N", help="pairs per round (%(default)s)")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    return parser


HEADER = ("gate", "ratio [quartiles]", "after 500 ms", "of processor time", "pairs", "bar", "verdict", "baseline")


def table(args: argparse.Namespace, results: Sequence[Timed]) -> str:
    """Format the figures for people."""
    said = f"{args.lines:,} lines, {args.records:,} records, {args.changes:,} indexed changes\n"
    return said + columns(HEADER, [_row(one) for one in results])


def _row(one: Timed) -> tuple[str, ...]:
    bar = "" if one.question.bar is None else str(one.question.bar)
    figures = (_words(spread(ratios)) for ratios in (one.plain, one.allowed, one.processor))
    return (one.question.name, *figures, str(len(one.plain)), bar, one.verdict.value, "git diff, git blame -L")


def _words(found: Spread) -> str:
    return f"{found.median:.3f} [{found.q1:.3f}, {found.q3:.3f}]"


def as_json(args: argparse.Namespace, results: Sequence[Timed]) -> dict[str, object]:
    """Return the figures for programs, with every ratio."""
    rows = [
        {
            "name": one.question.name,
            "bar": None if one.question.bar is None else str(one.question.bar),
            "verdict": one.verdict.value,
            "ratios": list(one.plain),
            "ratios_after_500_ms": list(one.allowed),
            "ratios_of_processor_time_after_500_ms": list(one.processor),
        }
        for one in results
    ]
    sizes = {"lines": args.lines, "records": args.records, "changes": args.changes}
    return {"version": 1, **sizes, "results": rows}
