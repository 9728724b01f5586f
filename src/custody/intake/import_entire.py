"""Import of Entire's checkpoints: transcripts through the readers of their agents, and links to commits.

A checkpoint has the whole transcript of a session up to a commit, so most of it repeats: a copy that a later one
starts with is not read. Transcripts are written to a temporary folder for the readers.
"""

import hashlib
import os
import re
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path

from msgspec import Struct, field
from msgspec.structs import replace

from custody.capture import TRANSCRIPT_READERS, TranscriptLine, TranscriptReader, read_transcript_lines
from custody.capture.claims.entire import (
    CheckpointSession,
    Folder,
    checkpoint_from_ref,
    collect_checkpoint_folders,
    parse_checkpoint_session,
    parse_checkpoint_trailers,
)
from custody.core.errors import InputError
from custody.core.ids import CommitSha, EventId
from custody.core.patterns import lazy_pattern
from custody.core.wire.arrival import Arrival, arrival_from_json
from custody.core.wire.canonical import Json, dump_canonical_json
from custody.core.wire.report import ImportTranscriptsReport
from custody.core.wire.time import format_timestamp, parse_timestamp
from custody.git import NoObject, Object, ObjectReader, Repository, discover_repository
from custody.intake.import_traces import ImportProblems, append_arrival_batches
from custody.intake.import_transcripts import import_transcripts
from custody.intake.wire import ImportEntireReport
from custody.workspace.workspace import Workspace

BRANCH = "entire/checkpoints/v1"
PLACES = ("refs/heads/entire/", "refs/remotes/", "refs/entire/")
TRANSCRIPT_BYTES_MAX = 256 << 20
"""Limit of one file of a transcript; git hosts accept at most 100 MB."""
LAYOUT_BYTES_MAX = 2 << 30
"""Limit of all transcripts in the temporary folder; transcripts over it are reported and skipped."""
DETECTION_LINES_MAX = 50
DOCUMENT = (b"{\n", b"{\r", b"[\n")
"""How a transcript starts that is one document over several lines."""
NS = 1_000_000_000

_FILE_NAME = lazy_pattern(r"[\w-]{1,100}", re.ASCII)


class _Copy(Struct, frozen=True):
    """A session as stored in one checkpoint."""

    folder: Folder
    session: CheckpointSession


class _EntireImport(Struct):
    """The result of an import."""

    place: str
    refs: list[str] = field(default_factory=list)
    problems: ImportProblems = field(default_factory=ImportProblems)
    count: Counter[str] = field(default_factory=Counter)
    copies: list[_Copy] = field(default_factory=list)
    checkpoints: set[str] = field(default_factory=set)
    transcripts: list[ImportTranscriptsReport] = field(default_factory=list)
    stored_as: dict[str, tuple[str, str]] = field(default_factory=dict)
    """The agent and the id under which each session is stored, from its transcript."""

    def problem(self, place: str, what: str) -> None:
        self.problems.add(place, None, what)

    @property
    def report(self) -> ImportEntireReport:
        """Return the report of this import."""
        return ImportEntireReport(
            place=self.place,
            refs=self.refs,
            checkpoints=len(self.checkpoints),
            sessions=len({copy.session.id for copy in self.copies}),
            without=self.count["without"],
            commits=self.count["commits"],
            links=self.count["links"],
            known_links=self.count["known_links"],
            transcripts=self.transcripts,
            problems=self.problems.listed,
            problem_count=self.problems.count,
        )


def import_entire_checkpoints(
    workspace: Workspace, place: Path | None = None, ref: str | None = None
) -> ImportEntireReport:
    """Import Entire's checkpoints of this repository, or of the one at ``place``."""
    if place is not None and not place.exists():
        raise InputError(f"cannot find '{place}'", hint="pass a repository that has checkpoints")
    result = _EntireImport(str(place or workspace.folder))
    repository = workspace.repository if place is None else discover_repository(place)
    with repository.objects(TRANSCRIPT_BYTES_MAX) as objects, tempfile.TemporaryDirectory() as name:
        layout = _TranscriptLayout(workspace, objects, Path(name), result, LAYOUT_BYTES_MAX)
        layout.write_transcripts(_find_checkpoint_folders(repository, ref, result))
        for reader in layout.readers():
            report = import_transcripts(workspace, reader, Path(name), layout.files[reader.agent])
            result.transcripts.append(layout.name_checkpoints(report))
    _link_checkpoint_commits(workspace, result)
    return result.report


# --- where checkpoints are --------------------------------------------------------------------------------------------


def _find_checkpoint_folders(repository: Repository, ref: str | None, result: _EntireImport) -> Iterator[Folder]:
    """Yield every session of every checkpoint once, merged from all references."""
    sessions: dict[tuple[str, str], Folder] = {}
    for name, target in _list_checkpoint_refs(repository, ref):
        result.refs.append(name)
        try:
            entries = [
                (str(entry.path), entry.id) for entry in repository.tree(CommitSha(target)) if entry.kind == "blob"
            ]
        except InputError as error:
            result.problem(name, f"no checkpoints: {error.message}")
            continue
        for key, folder in collect_checkpoint_folders(entries, checkpoint_from_ref(name)).items():
            merged = sessions.setdefault(key, folder)
            merged.metadata = merged.metadata or folder.metadata
            merged.parts = merged.parts or folder.parts
            merged.tasks = {**folder.tasks, **merged.tasks}
    if ref is not None and not result.refs:
        raise InputError(
            f"cannot find the reference {ref!a}",
            hint=f"'git for-each-ref' lists all references; the usual one is '{BRANCH}'",
        )
    yield from sessions.values()


def _list_checkpoint_refs(repository: Repository, ref: str | None) -> Iterator[tuple[str, str]]:
    places = PLACES if ref is None else (f"{ref.rpartition('/')[0]}/",)
    for reference in chain.from_iterable(list(repository.refs(place)) for place in places):
        name = reference.name.decode("utf-8", "backslashreplace")
        if (
            name == ref
            if ref is not None
            else name.endswith(f"/{BRANCH}") or name.startswith("refs/entire/checkpoints/")
        ):
            yield name, reference.id


# --- a folder of transcripts for their readers ------------------------------------------------------------------------


class _TranscriptLayout(Struct):
    """Writes transcripts to a temporary folder."""

    workspace: Workspace
    objects: ObjectReader[Object]
    place: Path
    result: _EntireImport
    bytes_left: int
    """How many bytes may still be written."""
    names: dict[str, str] = field(default_factory=dict)
    files: dict[str, list[Path]] = field(default_factory=dict)
    """Files by agent."""

    def write_transcripts(self, folders: Iterable[Folder]) -> None:
        """Write the transcripts that add something, session by session."""
        by_session: dict[str, list[_Copy]] = {}
        for folder in folders:
            self.result.checkpoints.add(folder.checkpoint)
            session = self._session(folder)
            if session is not None:
                self.result.copies.append(_Copy(folder, session))
                by_session.setdefault(session.id, []).append(self.result.copies[-1])
        self.workspace.progress.start("reading checkpoints", len(by_session))
        for copies in by_session.values():
            self._lay_out_session(sorted(copies, key=lambda copy: (copy.session.at or "", copy.folder.place)))
            self.workspace.progress.step(1)

    def _session(self, folder: Folder) -> CheckpointSession | None:
        if folder.metadata is None:
            self.result.problem(folder.place, "no metadata")
            return None
        metadata = self.objects.read(folder.metadata)
        try:
            if isinstance(metadata, NoObject):
                raise InputError(f"its metadata is {metadata.reason}")
            return parse_checkpoint_session(metadata.content)
        except InputError as error:
            self.result.problem(folder.place, error.message)
            return None

    def _lay_out_session(self, copies: list[_Copy]) -> None:
        """Write the copies of a session that a later copy does not start with."""
        later, is_written = b"", False
        for copy in reversed(copies):
            content = self._transcript(copy.folder)
            if content is None or later.startswith(content):
                continue
            later = content
            is_written |= self._lay_out(copy, content)
        self.result.count["without"] += not is_written

    def _transcript(self, folder: Folder) -> bytes | None:
        if not folder.parts:
            self.result.problem(folder.place, "no transcript")
            return None
        parts: list[bytes] = []
        size = 0
        for part in self.objects.read_all(folder.transcript):
            if isinstance(part, NoObject):
                self.result.problem(folder.place, f"its transcript is {part.reason}")
                return None
            size += len(part.content)
            if size > self.bytes_left:
                self._report_size_limit(folder.place)
                return None
            parts.append(part.content if part.content.endswith(b"\n") else part.content + b"\n")
        return b"".join(parts)

    def _lay_out(self, copy: _Copy, content: bytes) -> bool:
        """Write a transcript where its reader finds it; return whether there is a reader and room."""
        reader = _detect_transcript_reader(content, copy.session.agent)
        if reader is None:
            self.result.problem(copy.folder.place, "unknown transcript format")
            return False
        name = copy.session.id if _FILE_NAME.fullmatch(copy.session.id) else "session"
        folder = self.place / reader.agent / copy.folder.place.replace("/", "-") / "chats"
        suffix = ".json" if content[:2] in DOCUMENT else ".jsonl"
        own = folder / f"{name}{suffix}"
        if not self._write(own, content, copy, ""):
            return False
        self.result.stored_as[copy.session.id] = (
            reader.agent,
            _resolve_transcript_session(reader, own) or copy.session.id,
        )
        files = self.files.setdefault(reader.agent, [])
        files.append(own)
        for task, sha in copy.folder.tasks.items():
            transcript, path = self.objects.read(sha), folder / name / "subagents" / task
            if isinstance(transcript, Object) and self._write(path, transcript.content, copy, f"/{task}"):
                files.append(path)
        return True

    def _write(self, path: Path, content: bytes, copy: _Copy, what: str) -> bool:
        """Write one file; return whether there was room for it."""
        if len(content) > self.bytes_left:
            self._report_size_limit(copy.folder.place + what)
            return False
        self.bytes_left -= len(content)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        self.names[str(path)] = copy.folder.place + what
        if copy.session.at is not None:
            # Readers read the oldest file first.
            at_ns = parse_timestamp(copy.session.at)
            os.utime(path, ns=(at_ns, at_ns))
        return True

    def _report_size_limit(self, place: str) -> None:
        limit = f"{LAYOUT_BYTES_MAX:,} bytes of transcripts"
        self.result.problem(place, f"skipped: over the limit of {limit} per import; --ref imports one reference")

    def readers(self) -> list[TranscriptReader]:
        """Return the readers that have files; the oldest file comes first."""
        for files in self.files.values():
            files.sort(key=lambda file: (file.stat().st_mtime_ns, file))
        return [reader for name, reader in TRANSCRIPT_READERS.items() if name in self.files]

    def name_checkpoints(self, report: ImportTranscriptsReport) -> ImportTranscriptsReport:
        """Return the report with the names of checkpoints instead of temporary files."""
        problems = [replace(problem, file=self.names.get(problem.file, problem.file)) for problem in report.problems]
        return replace(report, place=self.result.place, problems=problems)


def _detect_transcript_reader(content: bytes, agent: str | None) -> TranscriptReader | None:
    """Return the reader that knows the transcript, else the reader of the checkpoint's agent for a document."""
    first = content[: 1 << 20].split(b"\n", DETECTION_LINES_MAX)[:DETECTION_LINES_MAX]
    by_agent = TRANSCRIPT_READERS.get(agent or "")
    candidates = [*([by_agent] if by_agent is not None else []), *TRANSCRIPT_READERS.values()]
    by_content = next((reader for reader in candidates if any(reader.knows(line) for line in first)), None)
    # A document with sorted fields can be recognized only at its end.
    return by_content if by_content is not None or content[:2] not in DOCUMENT else by_agent


def _resolve_transcript_session(reader: TranscriptReader, file: Path) -> str | None:
    """Return the session under which a transcript is stored: a subagent belongs to the session that started it."""
    entries = reader.read(file, read_transcript_lines(reader, file), {})
    return next((entry.session for entry in entries if isinstance(entry, TranscriptLine)), None)


# --- links to commits -------------------------------------------------------------------------------------------------


def _link_checkpoint_commits(workspace: Workspace, result: _EntireImport) -> None:
    """Link sessions to the commits that name their checkpoints."""
    by_checkpoint: dict[str, list[_Copy]] = {}
    for copy in result.copies:
        by_checkpoint.setdefault(copy.folder.checkpoint, []).append(copy)
    if not by_checkpoint:
        return
    with workspace.writing() as store:
        for appended in append_arrival_batches(store, _checkpoint_link_arrivals(workspace, by_checkpoint, result)):
            result.count["links"] += len(appended.made)
            result.count["known_links"] += len(appended.known)


def _checkpoint_link_arrivals(
    workspace: Workspace, by_checkpoint: dict[str, list[_Copy]], result: _EntireImport
) -> Iterator[Arrival]:
    with workspace.repository.log(workspace.repository.tips()) as commits:
        for commit in commits:
            checkpoints = parse_checkpoint_trailers(commit.message.decode("utf-8", "replace"))
            result.count["commits"] += bool(checkpoints)
            seconds = 0 if commit.author.at is None else commit.author.at.seconds
            for copy in (copy for name in checkpoints for copy in by_checkpoint.get(name, ())):
                agent, session = result.stored_as.get(copy.session.id, (copy.session.agent, copy.session.id))
                if agent is not None:
                    yield _make_checkpoint_link_arrival(
                        commit.id, copy.folder.checkpoint, agent, session, format_timestamp(seconds * NS)
                    )


def _make_checkpoint_link_arrival(commit: CommitSha, checkpoint: str, agent: str, session: str, at: str) -> Arrival:
    event: dict[str, Json] = {
        "custody": 1,
        "kind": "link",
        "id": f"entire:{checkpoint}:{commit}",
        "at": at,
        "agent": agent,
        "session": session,
        "commit": commit,
        "origin": "imported",
    }
    return arrival_from_json(EventId(f"import-{hashlib.sha256(dump_canonical_json(event)).hexdigest()[:32]}"), event)
