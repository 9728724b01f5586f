"""Entire's checkpoints become records: transcripts through the readers of the agents that wrote them, commits by links.

A checkpoint holds the whole transcript of a session up to a commit, so each is in many of them: what a later copy
begins with is read once. Transcripts are laid out in a private folder for the readers, which goes with the import.
"""

import hashlib
import os
import re
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path

from msgspec.structs import replace

from custody.capture import TRANSCRIPT_READERS, TranscriptLine, TranscriptReader, lines_for
from custody.capture.claims.entire import CheckpointSession, Folder, checkpoint_of_ref, folders, session_of, trailers
from custody.core.errors import InputError
from custody.core.ids import CommitSha, EventId
from custody.core.wire.arrival import Arrival, arrival_from
from custody.core.wire.canonical import Json, dump
from custody.core.wire.report import ImportTranscriptsReport
from custody.core.wire.time import ns_from, text_from
from custody.git import NoObject, Object, ObjectReader, Repository, discover
from custody.intake.import_traces import ImportProblems, append_batches
from custody.intake.import_transcripts import import_transcripts
from custody.intake.wire import ImportEntireReport
from custody.workspace.workspace import Workspace

BRANCH = "entire/checkpoints/v1"
PLACES = ("refs/heads/entire/", "refs/remotes/", "refs/entire/")
TRANSCRIPT_BYTES_MAX = 256 << 20
"""What of a transcript may lie in one file; git hosts take no more than 100 MB."""
LAID_OUT_BYTES_MAX = 2 << 30
"""What all transcripts together may take in the folder for temporary files; what is over that is named and left out."""
LINES_LOOKED_AT = 50
DOCUMENT = (b"{\n", b"{\r", b"[\n")
"""How a transcript begins that is one document over several lines."""
NS = 1_000_000_000

_FILE_NAME = re.compile(r"[\w-]{1,100}", re.ASCII)


@dataclass(frozen=True, slots=True)
class _Copy:
    """A session as one checkpoint has it."""

    folder: Folder
    session: CheckpointSession


@dataclass(slots=True)
class _EntireImport:
    """What an import comes to."""

    place: str
    refs: list[str] = field(default_factory=list)
    problems: ImportProblems = field(default_factory=ImportProblems)
    count: Counter[str] = field(default_factory=Counter)
    copies: list[_Copy] = field(default_factory=list)
    checkpoints: set[str] = field(default_factory=set)
    transcripts: list[ImportTranscriptsReport] = field(default_factory=list)
    kept_as: dict[str, tuple[str, str]] = field(default_factory=dict)
    """Whose a session is and under which name it is kept, as its transcript shows."""

    def problem(self, place: str, what: str) -> None:
        self.problems.add(place, None, what)

    @property
    def report(self) -> ImportEntireReport:
        """The same as it leaves the program."""
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
            problems=self.problems.named,
            problem_count=self.problems.count,
        )


def import_entire(workspace: Workspace, place: Path | None = None, ref: str | None = None) -> ImportEntireReport:
    """Keep what Entire's checkpoints hold: of this repository, or of the one at ``place``."""
    if place is not None and not place.exists():
        raise InputError(f"there is no '{place}'", hint="name a repository that has checkpoints")
    done = _EntireImport(str(place or workspace.folder))
    repository = workspace.repository if place is None else discover(place)
    with repository.objects(TRANSCRIPT_BYTES_MAX) as objects, tempfile.TemporaryDirectory() as name:
        laid_out = _TranscriptLayout(workspace, objects, Path(name), done, LAID_OUT_BYTES_MAX)
        laid_out.all(_in_refs(repository, ref, done))
        for reader in laid_out.readers():
            report = import_transcripts(workspace, reader, Path(name), laid_out.files[reader.agent])
            done.transcripts.append(laid_out.named(report))
    _link(workspace, done)
    return done.report


# --- where checkpoints are --------------------------------------------------------------------------------------------


def _in_refs(repository: Repository, ref: str | None, done: _EntireImport) -> Iterator[Folder]:
    """Every session of every checkpoint, each once, with what several references say of it put together."""
    sessions: dict[tuple[str, str], Folder] = {}
    for name, target in _refs(repository, ref):
        done.refs.append(name)
        try:
            entries = [
                (str(entry.path), entry.id) for entry in repository.tree(CommitSha(target)) if entry.kind == "blob"
            ]
        except InputError as error:
            done.problem(name, f"holds no checkpoints: {error.message}")
            continue
        for key, folder in folders(entries, checkpoint_of_ref(name)).items():
            there = sessions.setdefault(key, folder)
            there.metadata = there.metadata or folder.metadata
            there.parts = there.parts or folder.parts
            there.tasks = {**folder.tasks, **there.tasks}
    if ref is not None and not done.refs:
        raise InputError(f"there is no reference {ref!a}", hint=f"'git for-each-ref' lists them; usual is '{BRANCH}'")
    yield from sessions.values()


def _refs(repository: Repository, ref: str | None) -> Iterator[tuple[str, str]]:
    places = PLACES if ref is None else (f"{ref.rpartition('/')[0]}/",)
    for reference in chain.from_iterable(list(repository.refs(place)) for place in places):
        name = reference.name.decode("utf-8", "backslashreplace")
        if (
            name == ref
            if ref is not None
            else name.endswith(f"/{BRANCH}") or name.startswith("refs/entire/checkpoints/")
        ):
            yield name, reference.id


# --- laying transcripts out for their readers -------------------------------------------------------------------------


@dataclass(slots=True)
class _TranscriptLayout:
    """Transcripts on their way into a private folder."""

    workspace: Workspace
    objects: ObjectReader[Object]
    place: Path
    done: _EntireImport
    left: int
    """How many bytes may still be laid out."""
    names: dict[str, str] = field(default_factory=dict)
    files: dict[str, list[Path]] = field(default_factory=dict)
    """By the agents that they are of."""

    def all(self, found: Iterable[Folder]) -> None:
        """Lay out what is worth reading, session by session."""
        by_session: dict[str, list[_Copy]] = {}
        for folder in found:
            self.done.checkpoints.add(folder.checkpoint)
            session = self._session(folder)
            if session is not None:
                self.done.copies.append(_Copy(folder, session))
                by_session.setdefault(session.id, []).append(self.done.copies[-1])
        self.workspace.progress.start("reading checkpoints", len(by_session))
        for copies in by_session.values():
            self._of_session(sorted(copies, key=lambda copy: (copy.session.at or "", copy.folder.place)))
            self.workspace.progress.step(1)

    def _session(self, folder: Folder) -> CheckpointSession | None:
        if folder.metadata is None:
            self.done.problem(folder.place, "has no metadata")
            return None
        found = self.objects.read(folder.metadata)
        try:
            if isinstance(found, NoObject):
                raise InputError(f"its metadata is {found.reason}")
            return session_of(found.content)
        except InputError as error:
            self.done.problem(folder.place, error.message)
            return None

    def _of_session(self, copies: list[_Copy]) -> None:
        """The copies of a session that are not the beginning of a later one."""
        later, laid_out = b"", False
        for copy in reversed(copies):
            content = self._transcript(copy.folder)
            if content is None or later.startswith(content):
                continue
            later = content
            laid_out |= self._lay_out(copy, content)
        self.done.count["without"] += not laid_out

    def _transcript(self, folder: Folder) -> bytes | None:
        if not folder.parts:
            self.done.problem(folder.place, "has no transcript")
            return None
        parts: list[bytes] = []
        size = 0
        for part in self.objects.read_all(folder.transcript):
            if isinstance(part, NoObject):
                self.done.problem(folder.place, f"its transcript is {part.reason}")
                return None
            size += len(part.content)
            if size > self.left:
                self._too_much(folder.place)
                return None
            parts.append(part.content if part.content.endswith(b"\n") else part.content + b"\n")
        return b"".join(parts)

    def _lay_out(self, copy: _Copy, content: bytes) -> bool:
        """Put a transcript where its reader looks; whether there is one."""
        reader = _reader(content, copy.session.agent)
        if reader is None:
            self.done.problem(copy.folder.place, "its transcript is in no form that is known here")
            return False
        name = copy.session.id if _FILE_NAME.fullmatch(copy.session.id) else "session"
        folder = self.place / reader.agent / copy.folder.place.replace("/", "-") / "chats"
        suffix = ".json" if content[:2] in DOCUMENT else ".jsonl"
        own = folder / f"{name}{suffix}"
        if not self._write(own, content, copy, ""):
            return False
        self.done.kept_as[copy.session.id] = (reader.agent, _kept_as(reader, own) or copy.session.id)
        files = self.files.setdefault(reader.agent, [])
        files.append(own)
        for task, sha in copy.folder.tasks.items():
            found, path = self.objects.read(sha), folder / name / "subagents" / task
            if isinstance(found, Object) and self._write(path, found.content, copy, f"/{task}"):
                files.append(path)
        return True

    def _write(self, path: Path, content: bytes, copy: _Copy, what: str) -> bool:
        """Lay out one file; whether there was room for it."""
        if len(content) > self.left:
            self._too_much(copy.folder.place + what)
            return False
        self.left -= len(content)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        self.names[str(path)] = copy.folder.place + what
        if copy.session.at is not None:
            # Readers take up first what was written first.
            at_ns = ns_from(copy.session.at)
            os.utime(path, ns=(at_ns, at_ns))
        return True

    def _too_much(self, place: str) -> None:
        most = f"{LAID_OUT_BYTES_MAX:,} bytes of transcripts"
        self.done.problem(place, f"is left out: one import takes no more than {most}; --ref names less at once")

    def readers(self) -> list[TranscriptReader]:
        """The readers that have something to read; what was written first comes first."""
        for files in self.files.values():
            files.sort(key=lambda file: (file.stat().st_mtime_ns, file))
        return [reader for name, reader in TRANSCRIPT_READERS.items() if name in self.files]

    def named(self, report: ImportTranscriptsReport) -> ImportTranscriptsReport:
        """The report with checkpoints instead of files that are gone by now."""
        problems = [replace(problem, file=self.names.get(problem.file, problem.file)) for problem in report.problems]
        return replace(report, place=self.done.place, problems=problems)


def _reader(content: bytes, agent: str | None) -> TranscriptReader | None:
    """Whose transcript it is: as it says itself, else as its checkpoint does."""
    first = content[: 1 << 20].split(b"\n", LINES_LOOKED_AT)[:LINES_LOOKED_AT]
    told = TRANSCRIPT_READERS.get(agent or "")
    asked = [*([told] if told is not None else []), *TRANSCRIPT_READERS.values()]
    known = next((reader for reader in asked if any(reader.knows(line) for line in first)), None)
    # A document with sorted fields says only at its end what it is.
    return known if known is not None or content[:2] not in DOCUMENT else told


def _kept_as(reader: TranscriptReader, file: Path) -> str | None:
    """The session under which a transcript is kept: a subagent's is part of the one that started it."""
    found = reader.read(file, lines_for(reader, file), {})
    return next((item.session for item in found if isinstance(item, TranscriptLine)), None)


# --- which commits they led to ----------------------------------------------------------------------------------------


def _link(workspace: Workspace, done: _EntireImport) -> None:
    """Link sessions with the commits whose messages name their checkpoints."""
    by_checkpoint: dict[str, list[_Copy]] = {}
    for copy in done.copies:
        by_checkpoint.setdefault(copy.folder.checkpoint, []).append(copy)
    if not by_checkpoint:
        return
    with workspace.writing() as store:
        for appended in append_batches(store, _links(workspace, by_checkpoint, done)):
            done.count["links"] += len(appended.made)
            done.count["known_links"] += len(appended.known)


def _links(workspace: Workspace, by_checkpoint: dict[str, list[_Copy]], done: _EntireImport) -> Iterator[Arrival]:
    with workspace.repository.log(workspace.repository.tips()) as commits:
        for commit in commits:
            named = trailers(commit.message.decode("utf-8", "replace"))
            done.count["commits"] += bool(named)
            seconds = 0 if commit.author.at is None else commit.author.at.seconds
            for copy in (copy for name in named for copy in by_checkpoint.get(name, ())):
                agent, session = done.kept_as.get(copy.session.id, (copy.session.agent, copy.session.id))
                if agent is not None:
                    yield _linked(commit.id, copy.folder.checkpoint, agent, session, text_from(seconds * NS))


def _linked(commit: CommitSha, checkpoint: str, agent: str, session: str, at: str) -> Arrival:
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
    return arrival_from(EventId(f"import-{hashlib.sha256(dump(event)).hexdigest()[:32]}"), event)
