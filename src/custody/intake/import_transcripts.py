"""Import of agents' transcripts: one record per meaningful line, redacted before it is written.

An import that was killed can be run again: every line has its own event id, and known lines are skipped.
"""

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from msgspec import Struct, field
from msgspec.structs import replace

from custody.capture import (
    FileLine,
    LineProblem,
    SkippedLine,
    SubagentLaunch,
    TranscriptLine,
    TranscriptReader,
    read_transcript_lines,
)
from custody.capture.secret_prefilter import SecretPrefilter
from custody.core.errors import InputError
from custody.core.ids import EventId, SessionId, digest_from_bytes
from custody.core.record import Record
from custody.core.wire.arrival import Arrival, arrival_from_json, transcript_natural_key
from custody.core.wire.body import format_digest
from custody.core.wire.canonical import Json, dump_canonical_json
from custody.core.wire.report import ImportProblem, ImportTranscriptsReport
from custody.git import ObjectInfo
from custody.intake.backfill import Paths, list_backfill_work_trees, list_history_paths
from custody.intake.import_traces import ImportProblems
from custody.intake.queries import list_captured_calls
from custody.intake.record import open_redaction_key, redact_event_payload
from custody.store import Store
from custody.workspace.workspace import Workspace

BATCH_RECORDS = 1000
BATCH_BYTES = 16 * 1024 * 1024
"""Limits of one transaction: they bound memory, and the work that a kill loses."""
OUTSIDE_PATHS_MAX = 10_000
LINE_MARKS_MAX = 2_000_000
TYPES_MAX = 100
BY_PLACE = "line-"
"""The prefix of call ids for transcripts that have none."""
OUTSIDE = "outside this repository: its edits are stored without a file"


def is_outside_repository_problem(problem: ImportProblem) -> bool:
    """Return whether the problem is about a file outside this repository."""
    return problem.what.endswith(OUTSIDE)


def import_transcripts(
    workspace: Workspace,
    reader: TranscriptReader,
    place: Path | None,
    files: list[Path] | None = None,
    paths: Paths | None = None,
) -> ImportTranscriptsReport:
    """Import the transcripts at ``place``, or those of the agent for this repository's work trees.

    With ``files``, import these files as the agent's, whatever their names are.
    """
    trees = list_backfill_work_trees(workspace.repository)
    if reader.in_trees is not None:
        reader = reader.in_trees(trees)
    home = reader.home(os.environ)
    try:
        if files is None:
            files = reader.of_trees(home, trees) if place is None else reader.files(place)
    except OSError as error:
        raise InputError(f"cannot read '{error.filename}': {error.strerror}") from error
    if place is not None and not place.exists():
        raise InputError(f"cannot find '{place}'", hint="pass a transcript, or a folder that contains transcripts")
    paths = paths or open_transcript_paths(workspace, trees)
    with workspace.writing() as store:
        transcript_import = _TranscriptImport(workspace, reader, store, paths)
        transcript_import.import_files(files)
    return transcript_import.report(str(home if place is None else place))


def open_transcript_paths(workspace: Workspace, trees: Sequence[str] | None = None) -> Paths:
    """Return what resolves names in transcripts to this repository's paths."""
    trees = list_backfill_work_trees(workspace.repository) if trees is None else trees
    return Paths(trees, lambda: list_history_paths(workspace.repository))


class _TranscriptImport(Struct):
    """A running import: what is still to be written, and what the report counts."""

    workspace: Workspace
    reader: TranscriptReader
    store: Store
    paths: Paths
    starts: dict[tuple[str, str], str] = field(default_factory=dict)
    batch: list[Arrival] = field(default_factory=list)
    batch_bytes: int = 0
    count: Counter[str] = field(default_factory=Counter)
    sessions: set[str] = field(default_factory=set)
    agents: dict[tuple[str, str], bool] = field(default_factory=dict)
    types: Counter[str] = field(default_factory=Counter)
    versions: set[str] = field(default_factory=set)
    problems: ImportProblems = field(default_factory=ImportProblems)
    outside_paths: set[str] = field(default_factory=set)
    line_marks: set[int] = field(default_factory=set)
    commits: dict[str, str | None] = field(default_factory=dict)
    prefilter: SecretPrefilter = field(default_factory=SecretPrefilter)
    subagent_calls: set[tuple[str, str]] = field(default_factory=set)
    """The calls in subagents' own transcripts."""
    repeated_calls: dict[tuple[str, str], tuple[int, int]] = field(default_factory=dict)
    """Subagents' calls in their parents' transcripts: the files that each edited, and those outside the repository."""
    known_sessions: dict[str, bool] = field(default_factory=dict)
    """For sessions whose transcripts have no ids: whether another source recorded them."""
    fresh: bool = False
    """Whether the current file had a line that was not known."""

    def import_files(self, files: list[Path]) -> None:
        """Find subagents in all files first, since the call that started one may be in a later file; then import."""
        sizes = {file: _transcript_file_size(file) for file in files}
        self.workspace.progress.start_bytes("finding subagents", sum(sizes.values()))
        for file in files:
            for launch in self._find_subagent_launches(file):
                self.starts.setdefault((launch.session, launch.subagent), launch.call)
            self.workspace.progress.step(sizes[file])
        self.workspace.progress.start_bytes("importing transcripts", sum(sizes.values()))
        for file in files:
            self._file(file)
        self._write()

    def _find_subagent_launches(self, file: Path) -> Iterator[SubagentLaunch]:
        try:
            yield from self.reader.starts(file, read_transcript_lines(self.reader, file))
        except OSError:
            return  # reported when the file is read

    def _file(self, file: Path) -> None:
        self.count["files"] += 1
        self.fresh = False
        done = 0
        try:
            for line in self._lines(file):
                done += line
                if done > BATCH_BYTES:
                    self.workspace.progress.step(done)
                    done = 0
        except OSError as error:
            self._problem(file, None, f"cannot read: {error.strerror}")
        self.workspace.progress.step(done)

    def _lines(self, file: Path) -> Iterator[int]:
        """Import the lines of one file; yield the bytes of each."""
        sizes: list[int] = []

        def counted() -> Iterator[FileLine]:
            for line in read_transcript_lines(self.reader, file):
                self.count["lines"] += 1
                sizes.append(line.size)
                yield line

        for item in self.reader.read(file, counted(), self.starts):
            match item:
                case TranscriptLine():
                    self._import_line(file, item)
                case SkippedLine(kind=kind, known=known, version=version):
                    self._note_version(version)
                    if not known and (kind in self.types or len(self.types) < TYPES_MAX):
                        self.types[kind[:100]] += 1
                case LineProblem(line=number, what=what):
                    self._problem(file, number, what)
            yield sum(sizes)
            sizes.clear()

    def _import_line(self, file: Path, line: TranscriptLine) -> None:
        self._note_version(line.version)
        if line.unless_known and self._is_known(line.session):
            self.count["known"] += 1
            return
        if not line.unless_known:
            self.known_sessions[line.session] = True
        paths = {edit.name: self.paths.find(edit) for edit in line.edits}
        outside = [name for name, path in paths.items() if path is None]
        self._count(line, len(outside))
        for name in outside:
            self._report_outside_path(file, line.line, name)
        event_id = EventId(transcript_natural_key(self.reader.agent, line.id))
        if self._repeats(event_id):
            self.count["repeated"] += 1
            return
        if not self.fresh and (records := self.store.tables.records_named(event_id)):
            self.count["known"] += 1
            if not self._knows_parent_now(line, records[0]):
                return
            # Another record, since records never change: the views of both are merged.
            line = replace(line, id=f"{line.id}+parent")
            event_id = EventId(transcript_natural_key(self.reader.agent, line.id))
        else:
            # A killed import had stored the lines of a file in order, so the rest is almost always new; appending
            # checks again.
            self.fresh = True
        try:
            event = self._event(file, line, paths)
            self._add_to_batch(event_id, self._clean(file, line, event))
        except InputError as error:
            self._problem(file, line.line, error.message)

    def _is_known(self, session: str) -> bool:
        """Return whether hooks, or a transcript with line ids, recorded the session: then its calls have other ids."""
        if session not in self.known_sessions:
            calls = (observed.view for observed in list_captured_calls(self.store, SessionId(session)))
            self.known_sessions[session] = any(
                call.agent == self.reader.agent and not call.id.startswith(BY_PLACE) for call in calls
            )
        return self.known_sessions[session]

    def _knows_parent_now(self, line: TranscriptLine, record: Record) -> bool:
        """Return whether a subagent's call was stored before its parent was known: the session was running then."""
        if not line.begun or line.parent_call is None:
            return False
        stored = self.store.tables.payload(record)
        return (
            isinstance(stored, dict)
            and stored.get("parent_call") is None
            and not self.store.tables.records_named(transcript_natural_key(self.reader.agent, f"{line.id}+parent"))
        )

    def _event(self, file: Path, line: TranscriptLine, paths: dict[str, str | None]) -> dict[str, Json]:
        commits = {sha: self._resolve_commit(sha) for sha in line.commits}
        for sha in (sha for sha, full in commits.items() if full is None):
            self._problem(file, line.line, f"commit '{sha}' is not in this repository")
        event: dict[str, Json] = {
            "custody": 1,
            "kind": "transcript",
            "id": line.id,
            "agent": self.reader.agent,
            "session": line.session,
            "at": line.at,
            "payload": line.payload,
            "calls": list(line.calls),
            "paths": dict(paths),
            "commits": dict(commits),
            "subagent": line.subagent,
            "parent_call": line.parent_call,
            "opens": line.opens,
            "worktree": self.paths.tree_of(line.cwd),
        }
        return {name: value for name, value in event.items() if value or name == "payload"}

    def _clean(self, file: Path, line: TranscriptLine, event: dict[str, Json]) -> dict[str, Json]:
        """Return the event without its secrets, or only its digest and size if they cannot be removed."""
        try:
            return redact_event_payload(event, lambda: open_redaction_key(self.workspace), self.prefilter)
        except InputError as error:
            self._problem(file, line.line, f"{error.message}: stored only its digest and size")
            data = dump_canonical_json(event)
            lost: Json = {"digest": format_digest(digest_from_bytes(data)), "bytes": len(data), "why": error.message}
            fields = ("custody", "kind", "id", "agent", "session", "at")
            return {**{name: event[name] for name in fields}, "dropped": lost}

    def _add_to_batch(self, event_id: EventId, event: dict[str, Json]) -> None:
        arrival = arrival_from_json(event_id, self.reader.trimmed(event))
        self.batch.append(arrival)
        self.batch_bytes += len(arrival.payload) + sum(map(len, arrival.texts.values()))
        if len(self.batch) >= BATCH_RECORDS or self.batch_bytes >= BATCH_BYTES:
            self._write()

    def _write(self) -> None:
        if self.batch:
            appended = self.store.append(self.batch)
            self.count["new"] += len(appended.made)
            self.count["known"] += len(appended.known)
        self.batch, self.batch_bytes = [], 0

    def _resolve_commit(self, sha: str) -> str | None:
        """Return the full id of an abbreviated commit; None if it is missing or ambiguous."""
        if sha not in self.commits:
            (info,) = self.workspace.repository.look_up([sha])
            self.commits[sha] = info.id if isinstance(info, ObjectInfo) and info.kind == "commit" else None
        return self.commits[sha]

    # --- the report ---------------------------------------------------------------------------------------------------

    def _count(self, line: TranscriptLine, outside: int) -> None:
        self.sessions.add(line.session)
        calls = [(line.session, call) for call in line.subagent_calls]
        if line.is_repeated:
            for call in calls:
                self.repeated_calls[call] = max(self.repeated_calls.get(call, (0, 0)), (len(line.edits), outside))
        else:
            self.subagent_calls.update(calls)
            self.count["calls"] += line.begun
            self.count["edits"] += len(line.edits)
            self.count["unplaced"] += outside
        if line.subagent is not None:
            agent = (line.session, line.subagent)
            self.agents[agent] = self.agents.get(agent, False) or line.parent_call is not None

    def _repeats(self, event_id: EventId) -> bool:
        """Return whether this import already read a line with this id: resumed sessions repeat earlier ones."""
        mark = hash(event_id)
        if mark in self.line_marks:
            # Two ids may have the same hash: the batch and the store decide.
            is_in_batch = any(arrival.entry.event == event_id for arrival in self.batch)
            return is_in_batch or bool(self.store.tables.records_named(event_id))
        if len(self.line_marks) < LINE_MARKS_MAX:
            self.line_marks.add(mark)
        return False

    def _note_version(self, version: str | None) -> None:
        if version is not None and len(self.versions) < TYPES_MAX:
            self.versions.add(version[:100])

    def _report_outside_path(self, file: Path, line: int, path: str) -> None:
        """Report a path outside this repository, once."""
        if path not in self.outside_paths and len(self.outside_paths) < OUTSIDE_PATHS_MAX:
            self.outside_paths.add(path)
            self._problem(file, line, f"'{path[:300]}' is {OUTSIDE}")

    def _problem(self, file: Path, line: int | None, what: str) -> None:
        self.problems.add(str(file), line, what)

    def report(self, place: str) -> ImportTranscriptsReport:
        """Return what was read and what was stored."""
        without_own = [edits for call, edits in self.repeated_calls.items() if call not in self.subagent_calls]
        return ImportTranscriptsReport(
            agent=self.reader.agent,
            place=place,
            files=self.count["files"],
            lines=self.count["lines"],
            new=self.count["new"],
            known=self.count["known"],
            repeated=self.count["repeated"],
            sessions=len(self.sessions),
            calls=self.count["calls"] + len(without_own),
            edits=self.count["edits"] + sum(edits for edits, _ in without_own),
            edits_without_file=self.count["unplaced"] + sum(outside for _, outside in without_own),
            subagents=len(self.agents),
            subagents_unattached=sum(not attached for attached in self.agents.values()),
            unknown_types=dict(sorted(self.types.items())),
            versions=sorted(self.versions),
            problems=self.problems.listed,
            problem_count=self.problems.count,
        )


def _transcript_file_size(file: Path) -> int:
    try:
        return file.stat().st_size
    except OSError:
        return 0  # reported when the file is read
