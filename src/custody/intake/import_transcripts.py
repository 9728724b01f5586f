"""Read agents' transcripts into the chain: one record per line that says something, redacted before it is written.

Killed anywhere and run again it goes on: every line has an event id of its own, and what is there is passed over.
"""

import os
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from custody.capture import (
    TRANSCRIPT_READERS,
    FileLine,
    LineProblem,
    SkippedLine,
    SubagentLaunch,
    TranscriptLine,
    TranscriptReader,
    lines_for,
)
from custody.core.errors import InputError
from custody.core.ids import EventId, SessionId, digest_of
from custody.core.record import Record
from custody.core.wire.arrival import Arrival, arrival_from, transcript_key
from custody.core.wire.body import digest_text
from custody.core.wire.canonical import Json, dump
from custody.core.wire.report import ImportAgentsReport, ImportTranscriptsReport
from custody.git import ObjectInfo
from custody.intake.backfill import Paths, paths_of_history, work_trees
from custody.intake.import_traces import ImportProblems
from custody.intake.queries import calls_of_session
from custody.intake.record import key_for, redact_event_payload
from custody.store import Store
from custody.workspace.workspace import Workspace

BATCH_RECORDS = 1000
BATCH_BYTES = 16 * 1024 * 1024
"""What is written in one transaction: bounds memory, and what a kill costs."""
NAMED_MAX = 10_000
SEEN_MAX = 2_000_000
TYPES_MAX = 100
BY_PLACE = "line-"
"""How calls are named that a transcript tells of without an id."""


def import_transcripts(
    workspace: Workspace, reader: TranscriptReader, place: Path | None, files: list[Path] | None = None
) -> ImportTranscriptsReport:
    """Import the transcripts at ``place``, or those that the agent keeps of this repository's work trees.

    Of ``files`` the caller knows that they are this agent's, whatever their names are.
    """
    trees = work_trees(workspace.repository)
    if reader.in_trees is not None:
        reader = reader.in_trees(trees)
    home = reader.home(os.environ)
    try:
        if files is None:
            files = reader.of_trees(home, trees) if place is None else reader.files(place)
    except OSError as error:
        raise InputError(f"cannot look into '{error.filename}': {error.strerror}") from error
    if place is not None and not place.exists():
        raise InputError(f"there is no '{place}'", hint="name a transcript, or a folder that holds some")
    paths = Paths(trees, lambda: paths_of_history(workspace.repository))
    with workspace.writing() as store:
        importing = _TranscriptImport(workspace, reader, store, paths)
        importing.all(files)
    return importing.report(str(home if place is None else place))


@dataclass
class _TranscriptImport:
    """An import under way: what waits to be written, and what the report will say."""

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
    named: set[str] = field(default_factory=set)
    seen: set[int] = field(default_factory=set)
    commits: dict[str, str | None] = field(default_factory=dict)
    told: dict[str, bool] = field(default_factory=dict)
    """Of sessions whose transcripts have no ids, whether anything else told of them."""
    fresh: bool = False
    """Whether the file under way has brought a line that was not known."""

    def all(self, files: list[Path]) -> None:
        """Look for subagents in all files first, since what started one may stand in a later file; then read them."""
        sizes = {file: _size(file) for file in files}
        self.workspace.progress.start("looking for subagents", sum(sizes.values()))
        for file in files:
            for started in self._started(file):
                self.starts.setdefault((started.session, started.subagent), started.call)
            self.workspace.progress.step(sizes[file])
        self.workspace.progress.start("importing transcripts", sum(sizes.values()))
        for file in files:
            self._file(file)
        self._write()

    def _started(self, file: Path) -> Iterator[SubagentLaunch]:
        try:
            yield from self.reader.starts(file, lines_for(self.reader, file))
        except OSError:
            return  # named when the file is read

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
            self._problem(file, None, f"cannot be read: {error.strerror}")
        self.workspace.progress.step(done)

    def _lines(self, file: Path) -> Iterator[int]:
        """Take up the lines of one file; gives how many bytes each has."""
        sizes: list[int] = []

        def counted() -> Iterator[FileLine]:
            for line in lines_for(self.reader, file):
                self.count["lines"] += 1
                sizes.append(line.size)
                yield line

        for item in self.reader.read(file, counted(), self.starts):
            match item:
                case TranscriptLine():
                    self._found(file, item)
                case SkippedLine(kind=kind, known=known, version=version):
                    self._saw(version)
                    if not known and (kind in self.types or len(self.types) < TYPES_MAX):
                        self.types[kind[:100]] += 1
                case LineProblem(line=number, what=what):
                    self._problem(file, number, what)
            yield sum(sizes)
            sizes.clear()

    def _found(self, file: Path, found: TranscriptLine) -> None:
        self._saw(found.version)
        if found.unless_known and self._is_known(found.session):
            self.count["known"] += 1
            return
        if not found.unless_known:
            self.told[found.session] = True
        self._count(found)
        paths = {named.name: self.paths.find(named) for named in found.edits}
        for name, path in paths.items():
            if path is None:
                self.count["unplaced"] += 1
                self._name(file, found.line, name)
        event_id = EventId(transcript_key(self.reader.agent, found.id))
        if self._repeats(event_id):
            self.count["repeated"] += 1
            return
        if not self.fresh and (there := self.store.tables.records_named(event_id)):
            self.count["known"] += 1
            if not self._knows_parent_now(found, there[0]):
                return
            # One record more, since what is kept is never changed: views of both are put together.
            found = replace(found, id=f"{found.id}+parent")
            event_id = EventId(transcript_key(self.reader.agent, found.id))
        else:
            # An import that was killed had kept the lines of a file in order: the rest of it is as good as always new,
            # and appending asks once more.
            self.fresh = True
        try:
            event = self._event(file, found, paths)
            self._keep(event_id, self._clean(file, found, event))
        except InputError as error:
            self._problem(file, found.line, error.message)

    def _is_known(self, session: str) -> bool:
        """Whether hooks, or a transcript whose lines have ids, told of the session: then its calls have other names."""
        if session not in self.told:
            calls = (seen.view for seen in calls_of_session(self.store, SessionId(session)))
            self.told[session] = any(
                call.agent == self.reader.agent and not call.id.startswith(BY_PLACE) for call in calls
            )
        return self.told[session]

    def _knows_parent_now(self, found: TranscriptLine, record: Record) -> bool:
        """Whether a subagent's call was kept while nobody knew who had started it: the session was under way then."""
        if not found.begun or found.parent_call is None:
            return False
        kept = self.store.tables.payload(record)
        return (
            isinstance(kept, dict)
            and kept.get("parent_call") is None
            and not self.store.tables.records_named(transcript_key(self.reader.agent, f"{found.id}+parent"))
        )

    def _event(self, file: Path, found: TranscriptLine, paths: dict[str, str | None]) -> dict[str, Json]:
        commits = {sha: self._resolved(sha) for sha in found.commits}
        for sha in (sha for sha, full in commits.items() if full is None):
            self._problem(file, found.line, f"made a commit '{sha}' that is not in this repository")
        event: dict[str, Json] = {
            "custody": 1,
            "kind": "transcript",
            "id": found.id,
            "agent": self.reader.agent,
            "session": found.session,
            "at": found.at,
            "payload": found.payload,
            "calls": list(found.calls),
            "paths": dict(paths),
            "commits": dict(commits),
            "subagent": found.subagent,
            "parent_call": found.parent_call,
            "opens": found.opens,
            "worktree": self.paths.tree_of(found.cwd),
        }
        return {name: value for name, value in event.items() if value or name == "payload"}

    def _clean(self, file: Path, found: TranscriptLine, event: dict[str, Json]) -> dict[str, Json]:
        """The event without its secrets; its digest and size alone where they cannot be taken out."""
        try:
            return redact_event_payload(event, lambda: key_for(self.workspace))
        except InputError as error:
            self._problem(file, found.line, f"{error.message}: only its digest and size are kept")
            data = dump(event)
            lost: Json = {"digest": digest_text(digest_of(data)), "bytes": len(data), "why": error.message}
            kept = ("custody", "kind", "id", "agent", "session", "at")
            return {**{name: event[name] for name in kept}, "dropped": lost}

    def _keep(self, event_id: EventId, event: dict[str, Json]) -> None:
        arrival = arrival_from(event_id, self.reader.trimmed(event))
        self.batch.append(arrival)
        self.batch_bytes += len(arrival.payload) + sum(map(len, arrival.texts.values()))
        if len(self.batch) >= BATCH_RECORDS or self.batch_bytes >= BATCH_BYTES:
            self._write()

    def _write(self) -> None:
        if self.batch:
            done = self.store.append(self.batch)
            self.count["new"] += len(done.made)
            self.count["known"] += len(done.known)
        self.batch, self.batch_bytes = [], 0

    def _resolved(self, sha: str) -> str | None:
        """The whole id of a commit that a transcript abbreviates; None where it is not here, or not one alone."""
        if sha not in self.commits:
            (info,) = self.workspace.repository.look_up([sha])
            self.commits[sha] = info.id if isinstance(info, ObjectInfo) and info.kind == "commit" else None
        return self.commits[sha]

    # --- what the report will say -------------------------------------------------------------------------------------

    def _count(self, found: TranscriptLine) -> None:
        self.sessions.add(found.session)
        self.count["calls"] += found.begun
        self.count["edits"] += len(found.edits)
        if found.subagent is not None:
            agent = (found.session, found.subagent)
            self.agents[agent] = self.agents.get(agent, False) or found.parent_call is not None

    def _repeats(self, event_id: EventId) -> bool:
        """Whether a line with this id was read in this import already: sessions that are resumed repeat others."""
        mark = hash(event_id)
        if mark in self.seen:
            # Two ids may have the same hash, however seldom: what is there decides.
            waits = any(arrival.entry.event == event_id for arrival in self.batch)
            return waits or bool(self.store.tables.records_named(event_id))
        if len(self.seen) < SEEN_MAX:
            self.seen.add(mark)
        return False

    def _saw(self, version: str | None) -> None:
        if version is not None and len(self.versions) < TYPES_MAX:
            self.versions.add(version[:100])

    def _name(self, file: Path, line: int, path: str) -> None:
        """Name a path that is no file of this repository, once."""
        if path not in self.named and len(self.named) < NAMED_MAX:
            self.named.add(path)
            self._problem(file, line, f"'{path[:300]}' is no file of this repository: its edits are kept without one")

    def _problem(self, file: Path, line: int | None, what: str) -> None:
        self.problems.add(str(file), line, what)

    def report(self, place: str) -> ImportTranscriptsReport:
        """What was read and what became of it."""
        return ImportTranscriptsReport(
            agent=self.reader.agent,
            place=place,
            files=self.count["files"],
            lines=self.count["lines"],
            new=self.count["new"],
            known=self.count["known"],
            repeated=self.count["repeated"],
            sessions=len(self.sessions),
            calls=self.count["calls"],
            edits=self.count["edits"],
            edits_without_file=self.count["unplaced"],
            subagents=len(self.agents),
            subagents_unattached=sum(not attached for attached in self.agents.values()),
            unknown_types=dict(sorted(self.types.items())),
            versions=sorted(self.versions),
            problems=self.problems.named,
            problem_count=self.problems.count,
        )


def _size(file: Path) -> int:
    try:
        return file.stat().st_size
    except OSError:
        return 0  # named when the file is read


# Import what every agent left on this machine of this repository: one after the other, none in the way of another.


def import_agents(workspace: Workspace) -> ImportAgentsReport:
    """What each agent whose sessions we can read left here; one that cannot be looked at is named."""
    read: list[ImportTranscriptsReport] = []
    trouble: dict[str, str] = {}
    for agent, reader in TRANSCRIPT_READERS.items():
        try:
            read.append(import_transcripts(workspace, reader, None))
        except InputError as error:
            trouble[agent] = error.message
    return ImportAgentsReport(
        agents=[report for report in read if report.files],
        without=[report.agent for report in read if not report.files],
        trouble=trouble,
    )
