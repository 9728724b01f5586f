"""git-ai's notes become claims: one record for each session of a commit, saying which of its lines are the session's.

Notes are read from a repository's references (``refs/notes/ai``, copies of remotes' ones, and ``refs/ai/authorship``
of the first versions), or from a folder of them. What a note says is about the commit that it is on: where that is not
here, it is counted and passed over.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from custody.capture.claims.agent_trace import LineClaim, Range, commit_trace, trace_value
from custody.capture.claims.git_ai import GitAiNote, assign_claimed_lines, parse_note
from custody.capture.claims.traces import event_of
from custody.core.errors import CustodyError, GitError, InputError
from custody.core.ids import CommitSha
from custody.core.paths import Lines, RepoPath
from custody.core.wire.arrival import Arrival
from custody.core.wire.canonical import Json
from custody.core.wire.time import text_from
from custody.git import (
    FileAt,
    NoObject,
    Object,
    ObjectInfo,
    ObjectReader,
    Repository,
    discover,
    parse_commit,
    read_small_file,
)
from custody.intake.import_traces import ImportProblems, append_batches, redaction_key, trace_arrival
from custody.intake.wire import ImportGitAiReport
from custody.workspace.workspace import Workspace

PRODUCER = "git-ai"
NOTES = "refs/notes/"
OLD = "refs/ai/authorship/"
USUAL = re.compile(r"refs/notes/ai(-remote/.+)?|refs/ai/authorship/.+")
NOTE_BYTES_MAX = 64 << 20
"""A larger note is named and not read."""
NS = 1_000_000_000

_COMMIT = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class NoteRef:
    """A note before it is read: the commit that it is on, where it stands, and the id of its text or its file."""

    commit: CommitSha
    place: str
    at: str | Path


@dataclass(slots=True)
class _GitAiImport:
    """What an import comes to."""

    place: str
    refs: list[str] = field(default_factory=list)
    count: Counter[str] = field(default_factory=Counter)
    versions: Counter[str] = field(default_factory=Counter)
    sessions: set[tuple[str, str]] = field(default_factory=set)
    problems: ImportProblems = field(default_factory=ImportProblems)

    def problem(self, place: str, what: str) -> None:
        self.problems.add(place, None, what)

    @property
    def report(self) -> ImportGitAiReport:
        """The same as it leaves the program."""
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
            problems=self.problems.named,
            problem_count=self.problems.count,
        )


def import_gitai(workspace: Workspace, place: Path | None = None, ref: str | None = None) -> ImportGitAiReport:
    """Keep what git-ai's notes claim: of this repository, of the one at ``place``, or of a folder of notes there."""
    done = _GitAiImport(str(place or workspace.folder))
    notes = _notes(workspace, place, ref, done)
    with workspace.writing() as store, workspace.repository.objects() as objects:
        claims = _Claims(workspace, objects, _authors(note for _, note in notes), done)
        here = claims.times({found.commit for found, _ in notes})
        workspace.progress.start("importing notes", len(notes))
        for appended in append_batches(store, claims.arrivals(notes, here)):
            done.count["new"] += len(appended.made)
            done.count["known"] += len(appended.known)
    return done.report


# --- where notes are --------------------------------------------------------------------------------------------------


def _notes(
    workspace: Workspace, place: Path | None, ref: str | None, done: _GitAiImport
) -> list[tuple[NoteRef, GitAiNote]]:
    """Every note that can be read."""
    if place is not None and not place.exists():
        raise InputError(f"there is no '{place}'", hint="name a repository, or a folder of notes")
    inside = list(place.iterdir()) if place is not None and place.is_dir() else None
    if inside == []:
        return []  # an export that had nothing to tell
    if files := sorted(file for file in inside or () if _COMMIT.fullmatch(file.name)):
        return list(_parsed(((note_ref, _file(note_ref)) for note_ref in _in_folder(files)), done))
    repository = workspace.repository if place is None else discover(place)
    with repository.objects(NOTE_BYTES_MAX) as objects:
        note_refs = list(_in_refs(repository, ref, done))
        workspace.progress.start("reading notes", len(note_refs))
        blobs = objects.read_all(str(note_ref.at) for note_ref in note_refs)
        return list(_parsed(zip(note_refs, blobs, strict=True), done, workspace))


def _in_folder(files: Iterable[Path]) -> Iterator[NoteRef]:
    for file in files:
        yield NoteRef(CommitSha(file.name), file.name, file)


def _file(found: NoteRef) -> Object | NoObject:
    path = Path(found.at)
    try:
        data = read_small_file(path, NOTE_BYTES_MAX)
    except OSError as error:
        return NoObject(path.name, f"unreadable: {error.strerror}")
    if isinstance(data, str):
        return NoObject(path.name, f"unreadable: it {data}")
    return Object(ObjectInfo("", "blob", len(data)), data)


def _in_refs(repository: Repository, ref: str | None, done: _GitAiImport) -> Iterator[NoteRef]:
    """The notes of every reference that holds some, each text on each commit once."""
    seen: set[tuple[str, str]] = set()
    prefixes = (NOTES, OLD) if ref is None else (f"{ref.rpartition('/')[0]}/",)
    for prefix in prefixes:
        for reference in list(repository.refs(prefix)):
            name = reference.name.decode("utf-8", "backslashreplace")
            if name != ref if ref is not None else not USUAL.fullmatch(name):
                continue
            if not name.startswith(OLD):
                done.refs.append(name)
            for note_ref in _in_ref(repository, name, reference.id, done):
                if (note_ref.commit, str(note_ref.at)) not in seen:
                    seen.add((note_ref.commit, str(note_ref.at)))
                    yield note_ref
    if any(OLD in prefix for prefix in prefixes) and any(True for _ in repository.refs(OLD)):
        done.refs.append(OLD)
    if ref is not None and not done.refs:
        raise InputError(f"there is no reference {ref!a}", hint="'git for-each-ref refs/notes' lists what there is")


def _in_ref(repository: Repository, name: str, target: str, done: _GitAiImport) -> Iterator[NoteRef]:
    (info,) = repository.look_up([target])
    kind = info.kind if isinstance(info, ObjectInfo) else info.reason
    if kind == "blob" and _COMMIT.fullmatch(name.rpartition("/")[2]):
        yield NoteRef(CommitSha(name.rpartition("/")[2]), name, target)
        return
    if kind != "commit":
        done.problem(name, f"is a {kind}, and holds no notes")
        return
    for entry in repository.tree(CommitSha(target)):
        # git spreads many notes over folders, whose names are the first digits.
        commit = str(entry.path).replace("/", "")
        if entry.kind == "blob" and _COMMIT.fullmatch(commit):
            yield NoteRef(CommitSha(commit), f"{name}:{commit}", entry.id)
        else:
            done.problem(name, f"'{entry.path.display[:100]}' is no note")


def _parsed(
    note_blobs: Iterable[tuple[NoteRef, Object | NoObject]], done: _GitAiImport, workspace: Workspace | None = None
) -> Iterator[tuple[NoteRef, GitAiNote]]:
    for note_ref, blob in note_blobs:
        done.count["notes"] += 1
        if workspace is not None:
            workspace.progress.step(1)
        try:
            if isinstance(blob, NoObject):
                raise InputError(f"its text is {blob.reason}")
            note = parse_note(blob.content)
        except InputError as error:
            done.count["unreadable"] += 1
            done.problem(note_ref.place, error.message)
            continue
        done.versions[note.version] += 1
        for what in note.problems:
            done.problem(note_ref.place, what)
        yield note_ref, note


def _authors(notes: Iterable[GitAiNote]) -> dict[str, LineClaim]:
    """Every session that some note describes: a rewritten commit's note may leave that to the one before."""
    known: dict[str, LineClaim] = {}
    for note in notes:
        for key, author in note.authors.items():
            known.setdefault(key, author)
    return known


# --- what they claim --------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Claims:
    """From notes to records."""

    workspace: Workspace
    objects: ObjectReader[Object]
    authors: Mapping[str, LineClaim]
    done: _GitAiImport
    unknown: set[str] = field(default_factory=set)

    def times(self, commits: Iterable[CommitSha]) -> dict[CommitSha, str]:
        """The commits that are here, with when each was made."""
        wanted = sorted(commits)
        made: dict[CommitSha, str] = {}
        for sha, found in zip(wanted, self.objects.read_all(wanted), strict=True):
            if isinstance(found, Object) and found.info.kind == "commit":
                at = parse_commit(sha, found.content).author.at
                made[sha] = text_from(0 if at is None else at.seconds * NS)
        return made

    def arrivals(self, notes: Iterable[tuple[NoteRef, GitAiNote]], here: Mapping[CommitSha, str]) -> Iterator[Arrival]:
        """The records of every note whose commit is here."""
        key = redaction_key(self.workspace)
        for found, note in notes:
            self.workspace.progress.step(1)
            if found.commit not in here:
                self.done.count["gone"] += 1
                continue
            claims = self._of(found, note)
            self.done.count["silent"] += not claims
            for author, files in sorted(claims.items(), key=lambda item: repr(item[0])):
                try:
                    value = self._trace(found, here[found.commit], note, author, files)
                    yield trace_arrival(event_of(value, worktree=None, now=here[found.commit]), key)
                except CustodyError as error:
                    self.done.problem(found.place, error.message)

    def _of(self, note_ref: NoteRef, note: GitAiNote) -> dict[LineClaim, dict[str, list[Lines]]]:
        """The lines that a note gives to each session, as far as the commit has such lines."""
        made: dict[LineClaim, dict[str, list[Lines]]] = {}
        paths = list(self._paths(note_ref, note))
        files = list(self.objects.read_all(FileAt(note_ref.commit, path) for _, path in paths))
        why_not = {
            path: file.reason for (_, path), file in zip(paths, files, strict=True) if isinstance(file, NoObject)
        }
        listed = self._listed(note_ref.commit, list(why_not))
        for (name, path), file in zip(paths, files, strict=True):
            if isinstance(file, NoObject) or file.info.kind != "blob":
                why = f"whose text is {why_not[path]} here" if path in listed else "which the commit has not"
                self.done.problem(note_ref.place, f"claims lines of '{path.display[:200]}', {why}")
                continue
            named = dict(self._named(note, name, note_ref.place))
            # As in git-ai's own answers, a line of a session that nobody describes is left to who had it before.
            entries = [entry for entry in note.files[name] if entry.is_persons or entry.key in named]
            whose, beyond = assign_claimed_lines(entries, _count(file.content))
            if beyond:
                self.done.problem(note_ref.place, f"claims lines beyond the end of '{path.display[:200]}'")
            for key, author in named.items():
                if key in whose:
                    made.setdefault(author, {}).setdefault(str(path), []).extend(whose[key])
        return made

    def _listed(self, commit: CommitSha, paths: list[RepoPath]) -> set[RepoPath]:
        """Which of these files a commit has all the same: a partial clone has not their texts."""
        try:
            entries = self.workspace.repository.tree(commit, paths) if paths else ()
            return {entry.path for entry in entries if entry.kind == "blob"}
        except GitError:
            return set()  # not even the names are here

    def _paths(self, found: NoteRef, note: GitAiNote) -> Iterator[tuple[str, RepoPath]]:
        for name in note.files:
            try:
                yield name, RepoPath.of(name)
            except InputError as error:
                self.done.problem(found.place, error.message)

    def _unknown(self, place: str, key: str) -> None:
        """Name a session that nobody describes, once."""
        if key not in self.unknown:
            self.unknown.add(key)
            self.done.problem(place, f"gives lines to '{key}', which no note describes")

    def _named(self, note: GitAiNote, name: str, place: str) -> Iterator[tuple[str, LineClaim]]:
        """The keys of a file's entries that name an agent's session."""
        for entry in {entry.key: entry for entry in note.files[name] if not entry.is_persons}.values():
            author = note.author(entry) or self.authors.get(entry.key) or self.authors.get(entry.name)
            if author is None:
                self.done.count["undescribed"] += 1
                self._unknown(place, entry.name)
                continue
            yield entry.key, author

    def _trace(
        self, found: NoteRef, at: str, note: GitAiNote, author: LineClaim, files: Mapping[str, list[Lines]]
    ) -> Json:
        who = replace(author, call=None, producer=PRODUCER, version=note.version[:40])
        self.done.sessions.add((author.agent, author.session))
        self.done.count["lines"] += sum(len(lines) for some in files.values() for lines in some)
        ranges = {
            path: [Range(lines.first, lines.last) for lines in sorted(some)] for path, some in sorted(files.items())
        }
        value: Json = trace_value(commit_trace(found.commit, at, who, ranges))
        return value


def _count(content: bytes) -> int:
    return content.count(b"\n") + (not content.endswith(b"\n") and bool(content))
