"""Import of traces of other tools: of files on request, and of a repository's own ``.agent-trace`` automatically.

A line that is not a trace is reported, and the others are imported. A known trace is not imported again.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from hashlib import sha256
from itertools import islice
from pathlib import Path
from typing import Any

from msgspec import Struct

from custody.capture.claims.traces import event_from_foreign_trace
from custody.core.errors import InputError
from custody.core.ids import PENDING, EventId
from custody.core.paths import RepoPath
from custody.core.plural import count_noun
from custody.core.wire.arrival import Arrival, arrival_from_json
from custody.core.wire.canonical import EVENT_BYTES_MAX, Json, dump_canonical_json, parse_json_bytes
from custody.core.wire.report import ImportProblem, ImportTracesReport
from custody.core.wire.time import format_timestamp
from custody.git import WorkFile
from custody.intake.record import open_redaction_key, redact_event_payload
from custody.store import AppendResult, Store, StoreUnwritable
from custody.workspace.workspace import Workspace

FOLDER = ".agent-trace"
NAMES = ("traces.jsonl", "commit-links.jsonl")
FILE_BYTES_MAX = 512 << 20
"""A repository's own traces are read whole; a larger file is not read, with a warning."""
STAMPS_FILE = "traces-seen.json"
BATCH = 256
"""Records per transaction."""
_SUFFIXES = (".jsonl", ".json")
_SHOWN_MAX = 5


PROBLEMS_MAX = 1_000
"""How many problems a report lists; it counts all."""

TraceLine = tuple[str, int, Json]
"""One JSON value, with its file and its line; in a file that is one JSON value, lines are its entries."""


class ImportProblems:
    """The problems of an import: all counted, the first ones listed."""

    def __init__(self) -> None:
        self.count = 0
        self.listed: list[ImportProblem] = []

    def add(self, file: str, line: int | None, what: str) -> None:
        """Add one problem."""
        self.count += 1
        if len(self.listed) < PROBLEMS_MAX:
            self.listed.append(ImportProblem(file, line, what))


def append_arrival_batches(store: Store, arrivals: Iterator[Arrival]) -> Iterator[AppendResult]:
    """Append the arrivals in several transactions, and yield the result of each."""
    while batch := list(islice(arrivals, BATCH)):
        yield store.append(batch)
    store.catch_up()


def import_traces(workspace: Workspace, path: Path) -> ImportTracesReport:
    """Store the traces and commit links of a file, or of every such file in a folder."""
    from custody.intake.import_conversations import (
        LocalConversations,  # questions, which never need it, import this file
    )

    problems, count, known = ImportProblems(), Counter[str](), 0
    conversations = LocalConversations(workspace, lambda url, why: problems.add(url[:300], None, f"not read: {why}"))
    files = _list_trace_files(path)
    with workspace.writing() as store:
        workspace.progress.start("importing", None)
        for file in files:
            for appended in append_arrival_batches(
                store,
                _arrivals_from_traces(workspace, _read_trace_values(file, problems), problems, conversations.arrivals),
            ):
                known += len(appended.known)
                count.update(record.entry.kind for record in appended.made)
                workspace.progress.step(len(appended.known) + len(appended.made))
    return ImportTracesReport(
        path=str(path),
        traces=count["trace"],
        links=count["trace_link"],
        known=known,
        problem_count=problems.count,
        problems=problems.listed,
    )


@contextmanager
def open_store_with_own_traces(workspace: Workspace) -> Iterator[Store]:
    """Yield a store that includes the traces of ``.agent-trace``: stored if possible, else in memory."""
    with workspace.reading() as store:
        update = _TraceUpdate.of(workspace, store)
        updated = _store_trace_update(workspace, store, update)
        try:
            yield updated
        finally:
            if updated is not store:
                updated.close()


def _store_trace_update(workspace: Workspace, store: Store, update: "_TraceUpdate") -> Store:
    """Return the store with the update in it, or a private copy of it if it cannot be written."""
    if not update.stamps:
        return store
    if store.is_temporary():
        _append_trace_arrivals(store, update.arrivals, own=False)
        return store
    try:
        _append_trace_arrivals(store, update.arrivals, own=True)
    except StoreUnwritable as error:
        workspace.talk(f"{error.message}; the traces in '{FOLDER}' are used but not stored")
        copy = workspace.private_copy(store)
        if copy is None:
            return store
        _append_trace_arrivals(copy, update.arrivals, own=False)
        return copy
    update.remember(workspace, store)
    return store


def _append_trace_arrivals(store: Store, arrivals: Sequence[Arrival], *, own: bool) -> None:
    for at in range(0, len(arrivals), BATCH):
        store.append(arrivals[at : at + BATCH], chain=None if own else PENDING)
    if arrivals:
        store.catch_up()


# --- a repository's own traces ----------------------------------------------------------------------------------------


class _TraceUpdate(Struct, frozen=True):
    """New traces of a repository's own files, and the stamps of these files to store with them."""

    arrivals: tuple[Arrival, ...]
    stamps: dict[str, list[Any]]

    @classmethod
    def of(cls, workspace: Workspace, store: Store) -> "_TraceUpdate":
        """Return the new traces; a file with an unchanged size and time is not read."""
        work_tree = None if workspace.home is None else workspace.repository.work_tree
        if work_tree is None or not (work_tree / FOLDER).is_dir():
            return cls((), {})
        before = {} if store.is_temporary() else _read_trace_stamps(workspace, store)
        problems, stamps = ImportProblems(), dict[str, list[Any]]()
        arrivals: list[Arrival] = []
        for name in NAMES:
            stamp = _stamp_trace_file(work_tree / FOLDER / name)
            old = before.get(str(work_tree / FOLDER / name), [])
            if stamp is None or old[:2] == stamp:
                continue
            data = _read_trace_content(workspace, f"{FOLDER}/{name}")
            new_data, known_lines = _cut_known_trace_lines(data, old)
            values = _split_trace_lines(new_data, f"{FOLDER}/{name}", problems, after=known_lines)
            arrivals += _arrivals_from_traces(workspace, values, problems)
            stamps[str(work_tree / FOLDER / name)] = [*stamp, len(data), sha256(data).hexdigest()]
        _warn_of_trace_problems(workspace, problems)
        return cls(tuple(arrivals), stamps)

    def remember(self, workspace: Workspace, store: Store) -> None:
        """Store the stamps of the files, so that the next command need not read them again."""
        if workspace.home is None:
            return
        stamps = {"store": store.own(), "files": {**_read_trace_stamps(workspace, store), **self.stamps}}
        temporary = workspace.home / f".{STAMPS_FILE}.{workspace.token()}"
        try:
            temporary.write_text(json.dumps(stamps), encoding="utf-8")
            temporary.replace(workspace.home / STAMPS_FILE)
        except OSError as error:
            temporary.unlink(missing_ok=True)
            workspace.talk(f"cannot remember which traces were read: {error.strerror}")


def _read_trace_stamps(workspace: Workspace, store: Store) -> dict[str, list[Any]]:
    """Return the stamps of files read into this store; none if they belong to another store or cannot be read."""
    try:
        value = json.loads((workspace.home / STAMPS_FILE).read_bytes()) if workspace.home is not None else {}
    except (OSError, ValueError):
        return {}  # never written, or damaged: the files are read again, and their lines are known
    if not isinstance(value, dict) or value.get("store") != store.own() or not isinstance(value.get("files"), dict):
        return {}
    return {name: stamp for name, stamp in value["files"].items() if isinstance(stamp, list) and len(stamp) == 4}


def _stamp_trace_file(path: Path) -> list[Any] | None:
    try:
        status = path.lstat()
    except OSError:
        return None  # no such file, or not readable: nothing to read either way
    return [status.st_size, status.st_mtime_ns]


def _cut_known_trace_lines(data: bytes, old: list[Any]) -> tuple[bytes, int]:
    """Return the data after the known part, and how many lines that part has; all data if the file was rewritten."""
    known = old[2] if len(old) == 4 and isinstance(old[2], int) else 0
    whole_lines = 0 < known <= len(data) and data[known - 1 : known] == b"\n"
    if whole_lines and sha256(data[:known]).hexdigest() == old[3]:
        return data[known:], data.count(b"\n", 0, known)
    return data, 0


def _read_trace_content(workspace: Workspace, name: str) -> bytes:
    file = workspace.repository.work_file(RepoPath.of(name), FILE_BYTES_MAX)
    if isinstance(file, WorkFile):
        return file.content
    workspace.talk(f"cannot use the traces of '{name}': it {file.reason}")
    return b""


def _warn_of_trace_problems(workspace: Workspace, problems: ImportProblems) -> None:
    if problems.count:
        first = problems.listed[:_SHOWN_MAX]
        shown = "; ".join(f"line {problem.line} of '{problem.file}': {problem.what}" for problem in first)
        more = ", …" if problems.count > _SHOWN_MAX else ""
        workspace.talk(f"cannot use {count_noun(problems.count, 'line')} of traces: {shown}{more}")


# --- files on request -------------------------------------------------------------------------------------------------


def _list_trace_files(path: Path) -> list[Path]:
    if not path.exists():
        raise InputError(f"cannot find '{path}'", hint="pass a file of traces, or a folder that contains some")
    if not path.is_dir():
        return [path]
    own = [folder / name for folder in (path, path / FOLDER) for name in NAMES if (folder / name).is_file()]
    files = own or sorted(file for file in path.iterdir() if file.suffix in _SUFFIXES and file.is_file())
    if not files:
        raise InputError(f"no traces in '{path}'", hint="traces are files that end in .jsonl or .json")
    return files


def _read_trace_values(file: Path, problems: ImportProblems) -> Iterator[TraceLine]:
    """Yield the traces of a file: its lines, or the entries of its single JSON value."""
    try:
        if file.suffix == ".json":
            yield from _parse_trace_document(file.read_bytes(), str(file), problems)
            return
        with file.open("rb") as lines:
            yield from _parse_trace_lines(_limit_trace_lines(lines), str(file), problems)
    except OSError as error:
        raise InputError(f"cannot read '{file}': {error.strerror}") from error


def _limit_trace_lines(lines: Any) -> Iterator[bytes]:
    while line := lines.readline(EVENT_BYTES_MAX + 1):
        yield line
        while len(line) > EVENT_BYTES_MAX and not line.endswith(b"\n"):
            line = lines.readline(EVENT_BYTES_MAX + 1)  # skip the rest of a line that is too long


def _parse_trace_document(data: bytes, name: str, problems: ImportProblems) -> Iterator[TraceLine]:
    try:
        value = parse_json_bytes(data, bytes_max=FILE_BYTES_MAX)
    except InputError as error:
        if data.count(b"\n") > 1:
            yield from _split_trace_lines(data, name, problems)  # lines under the other suffix
        else:
            problems.add(name, 1, error.message)
        return
    for number, entry in enumerate(value if isinstance(value, list) else [value], start=1):
        yield (name, number, entry)


def _split_trace_lines(data: bytes, name: str, problems: ImportProblems, after: int = 0) -> Iterator[TraceLine]:
    return _parse_trace_lines(iter(data.split(b"\n")), name, problems, after)


def _parse_trace_lines(
    lines: Iterable[bytes], name: str, problems: ImportProblems, after: int = 0
) -> Iterator[TraceLine]:
    for number, line in enumerate(lines, start=after + 1):
        if not line.strip():
            continue
        try:
            yield (name, number, parse_json_bytes(line))
        except InputError as error:
            problems.add(name, number, error.message)


# --- from values to records -------------------------------------------------------------------------------------------


def _arrivals_from_traces(
    workspace: Workspace,
    values: Iterator[TraceLine],
    problems: ImportProblems,
    more: Callable[[dict[str, Json], Callable[[], bytes]], Iterator[Arrival]] = lambda _event, _key: iter(()),
) -> Iterator[Arrival]:
    """Yield the record of each trace, and ``more`` records about it."""
    worktree = (
        None
        if workspace.home is None or workspace.repository.work_tree is None
        else str(workspace.repository.work_tree)
    )
    key = make_redaction_key_loader(workspace)
    for file, line, value in values:
        try:
            event = event_from_foreign_trace(value, worktree=worktree, now=format_timestamp(workspace.now_ns()))
            yield make_trace_arrival(event, key)
            yield from more(event, key)
        except InputError as error:
            problems.add(file, line, error.message)


def make_trace_arrival(event: dict[str, Json], key: Callable[[], bytes]) -> Arrival:
    """Return the arrival of a trace or a link, without secrets."""
    # Its name is a digest of its content, so that a copy from another file is known.
    name = EventId(f"import-{sha256(dump_canonical_json(event['payload'])).hexdigest()[:32]}")
    return arrival_from_json(name, redact_event_payload(event, key))


def make_redaction_key_loader(workspace: Workspace) -> Callable[[], bytes]:
    """Return a loader of the machine's redaction key; of a temporary key if none can be stored."""

    def key() -> bytes:
        try:
            return open_redaction_key(workspace)
        except OSError:
            return workspace.token().encode()  # the home is not writable, so these records are not stored either

    return key
