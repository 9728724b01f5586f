"""Import of git-ai's notes as claims: one record for each session of a commit, with the lines of that session.

Notes are read from a repository's references (``refs/notes/ai``, copies of remotes' notes, and ``refs/ai/authorship``
of the first versions), or from a folder. A note is about the commit that it is on; if that commit is missing, the note
is counted and skipped.
"""

import os
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from msgspec import Struct, field
from msgspec.structs import replace

from custody.capture import TRANSCRIPT_READERS
from custody.capture.claims.agent_trace import LineClaim, Range, make_commit_trace, trace_record_to_json
from custody.capture.claims.git_ai import GitAiNote, assign_claimed_lines, parse_git_ai_note
from custody.capture.claims.git_ai_conversations import (
    CONVERSATIONS_BYTES_MAX,
    NoteConversations,
    first_message_time,
    list_file_names,
    write_conversation,
)
from custody.capture.claims.traces import event_from_foreign_trace, normalize_foreign_timestamp
from custody.capture.transcripts import to_transcript_id
from custody.core.errors import CustodyError, GitError, InputError
from custody.core.ids import CommitSha
from custody.core.paths import Lines, RepoPath
from custody.core.patterns import lazy_pattern
from custody.core.plural import count_noun
from custody.core.wire.arrival import Arrival
from custody.core.wire.canonical import Json
from custody.core.wire.report import ImportTranscriptsReport
from custody.core.wire.time import format_timestamp, parse_timestamp
from custody.git import (
    FileAt,
    NoObject,
    Object,
    ObjectInfo,
    ObjectReader,
    Repository,
    discover_repository,
    parse_commit,
    read_small_file,
)
from custody.intake.import_traces import (
    ImportProblems,
    append_arrival_batches,
    make_redaction_key_loader,
    make_trace_arrival,
)
from custody.intake.import_transcripts import import_transcripts, open_transcript_paths
from custody.intake.wire import ImportGitAiReport
from custody.workspace.workspace import Workspace

PRODUCER = "git-ai"
NOTES = "refs/notes/"
OLD = "refs/ai/authorship/"
USUAL = lazy_pattern(r"refs/notes/ai(-remote/.+)?|refs/ai/authorship/.+")
NOTE_BYTES_MAX = 64 << 20
"""A larger note is reported and not read."""
NS = 1_000_000_000

_COMMIT = lazy_pattern(r"[0-9a-f]{40}|[0-9a-f]{64}")


class NoteRef(Struct, frozen=True):
    """A note before it is read: its commit, its place, and the id of its text or its file."""

    commit: CommitSha
    place: str
    at: str | Path


class _GitAiImport(Struct):
    """The result of an import."""

    place: str
    refs: list[str] = field(default_factory=list)
    count: Counter[str] = field(default_factory=Counter)
    versions: Counter[str] = field(default_factory=Counter)
    sessions: set[tuple[str, str]] = field(default_factory=set)
    problems: ImportProblems = field(default_factory=ImportProblems)
    conversations: NoteConversations = field(default_factory=NoteConversations)
    transcripts: list[ImportTranscriptsReport] = field(default_factory=list)

    def problem(self, place: str, what: str) -> None:
        self.problems.add(place, None, what)

    @property
    def report(self) -> ImportGitAiReport:
        """Return the report of this import."""
        return ImportGitAiReport(
            place=self.place,
            refs=self.refs,
            notes=self.count["notes"],
            gone=self.count["gone"],
            silent=self.count["silent"],
            unreadable=self.count["unreadable"],
            undescribed=self.count["undescribed"],
            sessions=len(self.sessions),
            lines=self.count["lines"],
            new=self.count["new"],
            known=self.count["known"],
            versions=dict(sorted(self.versions.items())),
            transcripts=self.transcripts,
            problems=self.problems.listed,
            problem_count=self.problems.count,
        )


def import_git_ai_notes(workspace: Workspace, place: Path | None = None, ref: str | None = None) -> ImportGitAiReport:
    """Store the claims of git-ai's notes: of this repository, of the one at ``place``, or of a folder of notes."""
    result = _GitAiImport(str(place or workspace.folder))
    notes = _read_git_ai_notes(workspace, place, ref, result)
    with workspace.writing() as store, workspace.repository.objects() as objects:
        claims = _Claims(workspace, objects, _collect_note_authors(note for _, note in notes), result)
        here = claims.times({note_ref.commit for note_ref, _ in notes})
        workspace.progress.start("importing notes", len(notes))
        for appended in append_arrival_batches(store, claims.arrivals(notes, here)):
            result.count["new"] += len(appended.made)
            result.count["known"] += len(appended.known)
    _import_conversations(workspace, result)
    return result.report


def _import_conversations(workspace: Workspace, result: _GitAiImport) -> None:
    """Import the conversations of the notes as transcripts of their agents."""
    if result.conversations.skipped:
        limit = f"{CONVERSATIONS_BYTES_MAX:,} bytes"
        result.problem(result.place, f"skipped {count_noun(result.conversations.skipped, 'message')} over {limit}")
    files: dict[str, list[Path]] = {}
    paths = open_transcript_paths(workspace)
    with tempfile.TemporaryDirectory() as name:
        for number, conversation in enumerate(result.conversations.by_session.values()):
            # Notes do not have the agent's folder, without which a file at its top could be any project's.
            data = write_conversation(conversation, paths.find_roots(list_file_names(conversation)))
            if not data:
                continue
            # The readers take the session from the file's name where lines have none.
            path = Path(name) / str(number) / f"{to_transcript_id(conversation.session).replace('/', '_')[:200]}.jsonl"
            path.parent.mkdir()
            path.write_bytes(data)
            _set_conversation_time(path, first_message_time(conversation))
            files.setdefault(conversation.agent, []).append(path)
        for agent, transcripts in files.items():
            report = import_transcripts(workspace, TRANSCRIPT_READERS[agent], Path(name), transcripts, paths)
            result.transcripts.append(_name_conversations(report, result.place))


def _set_conversation_time(path: Path, at: str | None) -> None:
    """Give a file the time of its first message, for readers of transcripts without times."""
    try:
        at_ns = 0 if at is None else parse_timestamp(normalize_foreign_timestamp(at))
    except InputError:
        at_ns = 0
    os.utime(path, ns=(at_ns, at_ns))


def _name_conversations(report: ImportTranscriptsReport, place: str) -> ImportTranscriptsReport:
    """Return the report with the names of sessions instead of temporary files."""
    problems = [replace(problem, file=f"conversation {Path(problem.file).stem}") for problem in report.problems]
    return replace(report, place=place, problems=problems)


# --- where notes are --------------------------------------------------------------------------------------------------


def _read_git_ai_notes(
    workspace: Workspace, place: Path | None, ref: str | None, result: _GitAiImport
) -> list[tuple[NoteRef, GitAiNote]]:
    """Return every note that can be read."""
    if place is not None and not place.exists():
        raise InputError(f"cannot find '{place}'", hint="pass a repository, or a folder of notes")
    entries = list(place.iterdir()) if place is not None and place.is_dir() else None
    if entries == []:
        return []  # an empty export
    if files := sorted(file for file in entries or () if _COMMIT.fullmatch(file.name)):
        return list(
            _parse_git_ai_notes(
                ((note_ref, _read_note_file(note_ref)) for note_ref in _note_refs_in_folder(files)), result
            )
        )
    repository = workspace.repository if place is None else discover_repository(place)
    with repository.objects(NOTE_BYTES_MAX) as objects:
        note_refs = list(_find_note_refs(repository, ref, result))
        workspace.progress.start("reading notes", len(note_refs))
        blobs = objects.read_all(str(note_ref.at) for note_ref in note_refs)
        return list(_parse_git_ai_notes(zip(note_refs, blobs, strict=True), result, workspace))


def _note_refs_in_folder(files: Iterable[Path]) -> Iterator[NoteRef]:
    for file in files:
        yield NoteRef(CommitSha(file.name), file.name, file)


def _read_note_file(note_ref: NoteRef) -> Object | NoObject:
    path = Path(note_ref.at)
    try:
        data = read_small_file(path, NOTE_BYTES_MAX)
    except OSError as error:
        return NoObject(path.name, f"unreadable: {error.strerror}")
    if isinstance(data, str):
        return NoObject(path.name, f"unreadable: it {data}")
    return Object(ObjectInfo("", "blob", len(data)), data)


def _find_note_refs(repository: Repository, ref: str | None, result: _GitAiImport) -> Iterator[NoteRef]:
    """Yield the notes of every reference, each text on each commit once."""
    yielded: set[tuple[str, str]] = set()
    prefixes = (NOTES, OLD) if ref is None else (f"{ref.rpartition('/')[0]}/",)
    for prefix in prefixes:
        for reference in list(repository.refs(prefix)):
            name = reference.name.decode("utf-8", "backslashreplace")
            if name != ref if ref is not None else not USUAL.fullmatch(name):
                continue
            if not name.startswith(OLD):
                result.refs.append(name)
            for note_ref in _note_refs_in_ref(repository, name, reference.id, result):
                if (note_ref.commit, str(note_ref.at)) not in yielded:
                    yielded.add((note_ref.commit, str(note_ref.at)))
                    yield note_ref
    if any(OLD in prefix for prefix in prefixes) and any(True for _ in repository.refs(OLD)):
        result.refs.append(OLD)
    if ref is not None and not result.refs:
        raise InputError(
            f"cannot find the reference {ref!a}", hint="'git for-each-ref refs/notes' lists all references"
        )


def _note_refs_in_ref(repository: Repository, name: str, target: str, result: _GitAiImport) -> Iterator[NoteRef]:
    (info,) = repository.look_up([target])
    kind = info.kind if isinstance(info, ObjectInfo) else info.reason
    if kind == "blob" and _COMMIT.fullmatch(name.rpartition("/")[2]):
        yield NoteRef(CommitSha(name.rpartition("/")[2]), name, target)
        return
    if kind != "commit":
        result.problem(name, f"not a reference to notes, but a {kind}")
        return
    for entry in repository.tree(CommitSha(target)):
        # git spreads many notes over folders, named by the first digits.
        commit = str(entry.path).replace("/", "")
        if entry.kind == "blob" and _COMMIT.fullmatch(commit):
            yield NoteRef(CommitSha(commit), f"{name}:{commit}", entry.id)
        else:
            result.problem(name, f"'{entry.path.display[:100]}' is not a note")


def _parse_git_ai_notes(
    note_blobs: Iterable[tuple[NoteRef, Object | NoObject]], result: _GitAiImport, workspace: Workspace | None = None
) -> Iterator[tuple[NoteRef, GitAiNote]]:
    for note_ref, blob in note_blobs:
        result.count["notes"] += 1
        if workspace is not None:
            workspace.progress.step(1)
        try:
            if isinstance(blob, NoObject):
                raise InputError(f"cannot read the note: {blob.reason}")
            note = parse_git_ai_note(blob.content)
            result.conversations.add_note(blob.content)
        except InputError as error:
            result.count["unreadable"] += 1
            result.problem(note_ref.place, error.message)
            continue
        result.versions[note.version] += 1
        for what in note.problems:
            result.problem(note_ref.place, what)
        yield note_ref, note


def _collect_note_authors(notes: Iterable[GitAiNote]) -> dict[str, LineClaim]:
    """Return every session that a note describes: the note of a rewritten commit may rely on an earlier note."""
    authors: dict[str, LineClaim] = {}
    for note in notes:
        for key, author in note.authors.items():
            authors.setdefault(key, author)
    return authors


# --- claims -----------------------------------------------------------------------------------------------------------


class _Claims(Struct):
    """Turns notes into records."""

    workspace: Workspace
    objects: ObjectReader[Object]
    authors: Mapping[str, LineClaim]
    result: _GitAiImport
    unknown: set[str] = field(default_factory=set)

    def times(self, commits: Iterable[CommitSha]) -> dict[CommitSha, str]:
        """Return the commits that this repository has, with the time of each."""
        shas = sorted(commits)
        times: dict[CommitSha, str] = {}
        for sha, commit in zip(shas, self.objects.read_all(shas), strict=True):
            if isinstance(commit, Object) and commit.info.kind == "commit":
                at = parse_commit(sha, commit.content).author.at
                times[sha] = format_timestamp(0 if at is None else at.seconds * NS)
        return times

    def arrivals(self, notes: Iterable[tuple[NoteRef, GitAiNote]], here: Mapping[CommitSha, str]) -> Iterator[Arrival]:
        """Yield the records of every note on a commit of this repository."""
        key = make_redaction_key_loader(self.workspace)
        for note_ref, note in notes:
            self.workspace.progress.step(1)
            if note_ref.commit not in here:
                self.result.count["gone"] += 1
                continue
            claims = self._collect_note_claims(note_ref, note)
            self.result.count["silent"] += not claims
            for author, files in sorted(claims.items(), key=lambda item: repr(item[0])):
                try:
                    value = self._trace(note_ref, here[note_ref.commit], note, author, files)
                    yield make_trace_arrival(
                        event_from_foreign_trace(value, worktree=None, now=here[note_ref.commit]), key
                    )
                except CustodyError as error:
                    self.result.problem(note_ref.place, error.message)

    def _collect_note_claims(self, note_ref: NoteRef, note: GitAiNote) -> dict[LineClaim, dict[str, list[Lines]]]:
        """Return the lines that a note attributes to each session, as far as the commit has such lines."""
        claims: dict[LineClaim, dict[str, list[Lines]]] = {}
        paths = list(self._paths(note_ref, note))
        files = list(self.objects.read_all(FileAt(note_ref.commit, path) for _, path in paths))
        reasons = {
            path: file.reason for (_, path), file in zip(paths, files, strict=True) if isinstance(file, NoObject)
        }
        listed = self._listed(note_ref.commit, list(reasons))
        for (name, path), file in zip(paths, files, strict=True):
            if isinstance(file, NoObject) or file.info.kind != "blob":
                reason = f"its text is {reasons[path]} here" if path in listed else "not a file in the commit"
                self.result.problem(note_ref.place, f"cannot use claims about '{path.display[:200]}': {reason}")
                continue
            authors = dict(self._described_authors(note, name, note_ref.place))
            # As in git-ai itself, a line of an undescribed session stays with its earlier author.
            entries = [entry for entry in note.files[name] if entry.is_persons or entry.key in authors]
            lines_by_key, beyond = assign_claimed_lines(entries, _count_noted_file_lines(file.content))
            if beyond:
                self.result.problem(note_ref.place, f"claims lines beyond the end of '{path.display[:200]}'")
            for key, author in authors.items():
                if key in lines_by_key:
                    claims.setdefault(author, {}).setdefault(str(path), []).extend(lines_by_key[key])
        return claims

    def _listed(self, commit: CommitSha, paths: list[RepoPath]) -> set[RepoPath]:
        """Return the paths that a commit has although their texts are missing, as in a partial clone."""
        try:
            entries = self.workspace.repository.tree(commit, paths) if paths else ()
            return {entry.path for entry in entries if entry.kind == "blob"}
        except GitError:
            return set()  # the names are missing too

    def _paths(self, note_ref: NoteRef, note: GitAiNote) -> Iterator[tuple[str, RepoPath]]:
        for name in note.files:
            try:
                yield name, RepoPath.of(name)
            except InputError as error:
                self.result.problem(note_ref.place, error.message)

    def _report_unknown_author(self, place: str, key: str) -> None:
        """Report a session without a description, once."""
        if key not in self.unknown:
            self.unknown.add(key)
            self.result.problem(place, f"no note describes the session '{key}'")

    def _described_authors(self, note: GitAiNote, name: str, place: str) -> Iterator[tuple[str, LineClaim]]:
        """Yield the keys of a file's entries that name an agent's session, with its author."""
        for entry in {entry.key: entry for entry in note.files[name] if not entry.is_persons}.values():
            author = note.author(entry) or self.authors.get(entry.key) or self.authors.get(entry.name)
            if author is None:
                self.result.count["undescribed"] += 1
                self._report_unknown_author(place, entry.name)
                continue
            yield entry.key, author

    def _trace(
        self, note_ref: NoteRef, at: str, note: GitAiNote, author: LineClaim, files: Mapping[str, list[Lines]]
    ) -> Json:
        claim = replace(author, call=None, producer=PRODUCER, version=note.version[:40])
        self.result.sessions.add((author.agent, author.session))
        self.result.count["lines"] += sum(len(lines) for blocks in files.values() for lines in blocks)
        ranges = {
            path: [Range(lines.first, lines.last) for lines in sorted(blocks)] for path, blocks in sorted(files.items())
        }
        value: Json = trace_record_to_json(make_commit_trace(note_ref.commit, at, claim, ranges))
        return value


def _count_noted_file_lines(content: bytes) -> int:
    return content.count(b"\n") + (not content.endswith(b"\n") and bool(content))
