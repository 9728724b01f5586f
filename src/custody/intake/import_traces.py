"""Traces of other tools become records: named files on request, a repository's own ``.agent-trace`` by itself.

A line that is no trace is passed over and named; the others are used. What was imported once is not imported again.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from itertools import islice
from pathlib import Path
from typing import Any

from custody.capture.claims.traces import event_of
from custody.core.errors import InputError
from custody.core.ids import PENDING, EventId
from custody.core.paths import RepoPath
from custody.core.wire.arrival import Arrival, arrival_from
from custody.core.wire.canonical import EVENT_BYTES_MAX, Json, dump, parse
from custody.core.wire.report import ImportProblem, ImportTracesReport
from custody.core.wire.time import text_from
from custody.git import WorkFile
from custody.intake.record import key_for, redact_event_payload
from custody.store import AppendResult, Store, StoreUnwritable
from custody.workspace.workspace import Workspace

FOLDER = ".agent-trace"
NAMES = ("traces.jsonl", "commit-links.jsonl")
FILE_BYTES_MAX = 512 << 20
"""A repository's own traces are read whole; more than this is not read at all, and said."""
SEEN = "traces-seen.json"
BATCH = 256
"""Records per transaction."""
_SUFFIXES = (".jsonl", ".json")
_NAMED_MAX = 5


PROBLEMS_MAX = 1_000
"""How many problems a report names; it counts all."""

TraceLine = tuple[str, int, Json]
"""One JSON value, with its file and its line; in a file that is one JSON value, lines are its entries."""


class ImportProblems:
    """What an import could not use: all counted, the first of them named."""

    def __init__(self) -> None:
        self.count = 0
        self.named: list[ImportProblem] = []

    def add(self, file: str, line: int | None, what: str) -> None:
        """Take up one more."""
        self.count += 1
        if len(self.named) < PROBLEMS_MAX:
            self.named.append(ImportProblem(file, line, what))


def append_batches(store: Store, arrivals: Iterator[Arrival]) -> Iterator[AppendResult]:
    """Append the arrivals, some in each transaction; give what became of them."""
    while batch := list(islice(arrivals, BATCH)):
        yield store.append(batch)
    store.catch_up()


def import_traces(workspace: Workspace, path: Path) -> ImportTracesReport:
    """Store the traces and commit links of a file, or of every such file in a folder."""
    problems, count, known = ImportProblems(), Counter[str](), 0
    files = _files(path)
    with workspace.writing() as store:
        workspace.progress.start("importing", None)
        for file in files:
            for appended in append_batches(store, _arrivals(workspace, _values(file, problems), problems)):
                known += len(appended.known)
                count.update(record.entry.kind for record in appended.made)
                workspace.progress.step(len(appended.known) + len(appended.made))
    return ImportTracesReport(
        path=str(path),
        traces=count["trace"],
        links=count["trace_link"],
        known=known,
        problem_count=problems.count,
        problems=problems.named,
    )


@contextmanager
def reading_with_traces(workspace: Workspace) -> Iterator[Store]:
    """A store that also shows what the repository's ``.agent-trace`` says: kept if it can be, else in memory."""
    with workspace.reading() as store:
        news = _TraceUpdate.of(workspace, store)
        shown = _keep(workspace, store, news)
        try:
            yield shown
        finally:
            if shown is not store:
                shown.close()


def _keep(workspace: Workspace, store: Store, news: "_TraceUpdate") -> Store:
    """The store with the news in it, or a private copy of it where it cannot be written."""
    if not news.seen:
        return store
    if store.is_temporary():
        _append(store, news.arrivals, own=False)
        return store
    try:
        _append(store, news.arrivals, own=True)
    except StoreUnwritable as error:
        workspace.talk(f"{error.message}; the traces in '{FOLDER}' are read without being kept")
        copy = workspace.private_copy(store)
        if copy is None:
            return store
        _append(copy, news.arrivals, own=False)
        return copy
    news.remember(workspace, store)
    return store


def _append(store: Store, arrivals: Sequence[Arrival], *, own: bool) -> None:
    for at in range(0, len(arrivals), BATCH):
        store.append(arrivals[at : at + BATCH], chain=None if own else PENDING)
    if arrivals:
        store.catch_up()


# --- a repository's own traces ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _TraceUpdate:
    """What a repository's own traces say that was not read before, and what to remember once it is kept."""

    arrivals: tuple[Arrival, ...]
    seen: dict[str, list[Any]]

    @classmethod
    def of(cls, workspace: Workspace, store: Store) -> "_TraceUpdate":
        """Look at the files' sizes and times first: what has not changed is not read."""
        work_tree = None if workspace.home is None else workspace.repository.work_tree
        if work_tree is None or not (work_tree / FOLDER).is_dir():
            return cls((), {})
        before = {} if store.is_temporary() else _read_file_memory(workspace, store)
        problems, seen = ImportProblems(), dict[str, list[Any]]()
        arrivals: list[Arrival] = []
        for name in NAMES:
            stamp = _stamp(work_tree / FOLDER / name)
            old = before.get(str(work_tree / FOLDER / name), [])
            if stamp is None or old[:2] == stamp:
                continue
            data = _content(workspace, f"{FOLDER}/{name}")
            fresh, skipped_lines = _tail(data, old)
            values = _lines(fresh, f"{FOLDER}/{name}", problems, after=skipped_lines)
            arrivals += _arrivals(workspace, values, problems)
            seen[str(work_tree / FOLDER / name)] = [*stamp, len(data), sha256(data).hexdigest()]
        _tell(workspace, problems)
        return cls(tuple(arrivals), seen)

    def remember(self, workspace: Workspace, store: Store) -> None:
        """Keep what the files were like, so that the next look is cheap; without it everything is read again."""
        if workspace.home is None:
            return
        seen = {"store": store.own(), "files": {**_read_file_memory(workspace, store), **self.seen}}
        aside = workspace.home / f".{SEEN}.{workspace.token()}"
        try:
            aside.write_text(json.dumps(seen), encoding="utf-8")
            aside.replace(workspace.home / SEEN)
        except OSError as error:
            aside.unlink(missing_ok=True)
            workspace.talk(f"cannot remember which traces were read: {error.strerror}")


def _read_file_memory(workspace: Workspace, store: Store) -> dict[str, list[Any]]:
    """What was remembered of files under this very store; nothing when it is another one or cannot be read."""
    try:
        value = json.loads((workspace.home / SEEN).read_bytes()) if workspace.home is not None else {}
    except (OSError, ValueError):
        return {}  # never written, or damaged: the files are read again, and their lines are known
    if not isinstance(value, dict) or value.get("store") != store.own() or not isinstance(value.get("files"), dict):
        return {}
    return {name: stamp for name, stamp in value["files"].items() if isinstance(stamp, list) and len(stamp) == 4}


def _stamp(path: Path) -> list[Any] | None:
    try:
        found = path.lstat()
    except OSError:
        return None  # there is no such file, or nobody may look: nothing to read either way
    return [found.st_size, found.st_mtime_ns]


def _tail(data: bytes, old: list[Any]) -> tuple[bytes, int]:
    """What was added behind what is known, and how many lines that has; everything if the file is not the same."""
    known = old[2] if len(old) == 4 and isinstance(old[2], int) else 0
    whole_lines = 0 < known <= len(data) and data[known - 1 : known] == b"\n"
    if whole_lines and sha256(data[:known]).hexdigest() == old[3]:
        return data[known:], data.count(b"\n", 0, known)
    return data, 0


def _content(workspace: Workspace, name: str) -> bytes:
    file = workspace.repository.work_file(RepoPath.of(name), FILE_BYTES_MAX)
    if isinstance(file, WorkFile):
        return file.content
    workspace.talk(f"'{name}' {file.reason}; its traces are not used")
    return b""


def _tell(workspace: Workspace, problems: ImportProblems) -> None:
    if problems.count:
        named = (f"line {problem.line} of '{problem.file}': {problem.what}" for problem in problems.named[:_NAMED_MAX])
        more = ", …" if problems.count > _NAMED_MAX else ""
        workspace.talk(f"{problems.count} line(s) of traces could not be used: {'; '.join(named)}{more}")


# --- files that were named --------------------------------------------------------------------------------------------


def _files(path: Path) -> list[Path]:
    if not path.exists():
        raise InputError(f"there is no '{path}'", hint="name a file of traces, or a folder that has some")
    if not path.is_dir():
        return [path]
    own = [folder / name for folder in (path, path / FOLDER) for name in NAMES if (folder / name).is_file()]
    found = own or sorted(file for file in path.iterdir() if file.suffix in _SUFFIXES and file.is_file())
    if not found:
        raise InputError(f"'{path}' has no traces", hint="traces are files that end in .jsonl or .json")
    return found


def _values(file: Path, problems: ImportProblems) -> Iterator[TraceLine]:
    """The traces of a file: its lines, or the entries of the one JSON value that it is."""
    try:
        if file.suffix == ".json":
            yield from _entries(file.read_bytes(), str(file), problems)
            return
        with file.open("rb") as lines:
            yield from _parsed(_limited(lines), str(file), problems)
    except OSError as error:
        raise InputError(f"cannot read '{file}': {error.strerror}") from error


def _limited(lines: Any) -> Iterator[bytes]:
    while line := lines.readline(EVENT_BYTES_MAX + 1):
        yield line
        while len(line) > EVENT_BYTES_MAX and not line.endswith(b"\n"):
            line = lines.readline(EVENT_BYTES_MAX + 1)  # the rest of a line that was too long is no line


def _entries(data: bytes, name: str, problems: ImportProblems) -> Iterator[TraceLine]:
    try:
        value = parse(data, bytes_max=FILE_BYTES_MAX)
    except InputError as error:
        if data.count(b"\n") > 1:
            yield from _lines(data, name, problems)  # lines under the other suffix
        else:
            problems.add(name, 1, error.message)
        return
    for number, entry in enumerate(value if isinstance(value, list) else [value], start=1):
        yield (name, number, entry)


def _lines(data: bytes, name: str, problems: ImportProblems, after: int = 0) -> Iterator[TraceLine]:
    return _parsed(iter(data.split(b"\n")), name, problems, after)


def _parsed(lines: Iterable[bytes], name: str, problems: ImportProblems, after: int = 0) -> Iterator[TraceLine]:
    for number, line in enumerate(lines, start=after + 1):
        if not line.strip():
            continue
        try:
            yield (name, number, parse(line))
        except InputError as error:
            problems.add(name, number, error.message)


# --- from values to records -------------------------------------------------------------------------------------------


def _arrivals(workspace: Workspace, values: Iterator[TraceLine], problems: ImportProblems) -> Iterator[Arrival]:
    worktree = (
        None
        if workspace.home is None or workspace.repository.work_tree is None
        else str(workspace.repository.work_tree)
    )
    key = redaction_key(workspace)
    for file, line, value in values:
        try:
            yield trace_arrival(event_of(value, worktree=worktree, now=text_from(workspace.now_ns())), key)
        except InputError as error:
            problems.add(file, line, error.message)


def trace_arrival(event: dict[str, Json], key: Callable[[], bytes]) -> Arrival:
    """A trace or a link on its way into the chain, without secrets."""
    # Named by its content, so that it is known again wherever it is read from.
    name = EventId(f"import-{sha256(dump(event['payload'])).hexdigest()[:32]}")
    return arrival_from(name, redact_event_payload(event, key))


def redaction_key(workspace: Workspace) -> Callable[[], bytes]:
    """The machine's own key; where none can be kept, one that is forgotten."""

    def key() -> bytes:
        try:
            return key_for(workspace)
        except OSError:
            return workspace.token().encode()  # a home that cannot be written: then these records are not kept either

    return key
