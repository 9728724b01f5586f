"""Reading of changes from git: their files and commit messages, and the sketch of each change.

One ``diff-tree`` and one ``cat-file`` serve any number of changes. An unreadable change does not affect the others.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct

from custody.core.errors import CustodyError, GitError
from custody.core.ids import CommitSha
from custody.dupes.app.patch_identity import decode_file_hunks
from custody.dupes.facts.model import Channel, Facts
from custody.dupes.model import NO_COMMIT, ChangeDescription, ChangedPiece, ChangeSketch, Shape
from custody.dupes.rules import DedupeRules
from custody.git import (
    ChangeKind,
    Commit,
    CommitDiff,
    Comparison,
    FileDiff,
    HunkDetail,
    NoObject,
    Object,
    ObjectReader,
    PatchLimits,
    Repository,
    discover_repository,
    parse_commit,
)
from custody.workspace.machine import machine_now_ns

NS = 1_000_000_000
COMMITS_READ_MAX = 32
"""Commit messages read per change."""
FILES_PARSED_MAX = 200
"""Files parsed per change."""
SOURCE_BYTES_MAX = 1 << 20
FILES_CACHED_MAX = 1_024
"""Parsed files cached per batch: the next change often starts where this one ended."""
LIMITS = PatchLimits(file_bytes_max=2 << 20, commit_bytes_max=16 << 20)
SUBMODULE_MODE = 0o160000
_SHAPES = {
    ChangeKind.ADDED: Shape.ADDED,
    ChangeKind.DELETED: Shape.DELETED,
    ChangeKind.MODIFIED: Shape.MODIFIED,
    ChangeKind.RENAMED: Shape.RENAMED,
    ChangeKind.RETYPED: Shape.RETYPED,
    ChangeKind.COPIED: Shape.ADDED,
}
_OPAQUE = {HunkDetail.BINARY: "a binary file", HunkDetail.TOO_LARGE: "too large to be compared line by line"}
NO_FACTS = Facts()
PARSE_NS_MAX = 2 * NS
"""A file that takes longer to parse is compared by its words."""
OWN = ""
"""The repository that this store belongs to."""


class ChangeRef(Struct, frozen=True, kw_only=True):
    """A change to read; ``commits`` are newest first, its first commit last; ``base`` is empty for a root commit.

    ``opened_ns`` defaults to the commit time of its head, ``title`` to the subject of its first commit. ``onto`` is the
    tip of the branch that it targets, ``target`` the name of that branch; empty if unknown. ``merged`` is the commit of
    main that merged it.
    """

    base: CommitSha
    head: CommitSha
    name: str = ""
    commits: tuple[CommitSha, ...] = ()
    opened_ns: int | None = None
    title: str = ""
    on_main: bool = False
    onto: CommitSha = NO_COMMIT
    target: str = ""
    merged: CommitSha = NO_COMMIT


class FileReading(Struct, frozen=True):
    """The facts of a file, and whether it declares itself generated."""

    facts: Facts = NO_FACTS
    is_generated: bool = False


NOT_READ = FileReading()


class UnreadableChange(Struct, frozen=True):
    """A change that could not be read, and why."""

    ref: ChangeRef
    why: str


class ReadChange(Struct, frozen=True):
    """A change as read from git."""

    ref: ChangeRef
    description: ChangeDescription


class SketchedChange(Struct, frozen=True):
    """A change ready for the index."""

    ref: ChangeRef
    title: str
    author: str
    opened_ns: int
    sketch: ChangeSketch
    degraded: int
    """Number of files whose syntax could not be parsed."""


class ChangeBatch(Struct, frozen=True):
    """Changes of a repository for one worker; ``rules`` are serialized."""

    folder: str
    refs: tuple[ChangeRef, ...]
    rules: dict[str, Any]


def serialize_dedupe_rules(rules: DedupeRules) -> dict[str, Any]:
    """Return the rules as plain values that can be sent to another process."""
    values = ((name, getattr(rules, name)) for name in rules.__struct_fields__)
    return {name: dict(value) if isinstance(value, Mapping) else value for name, value in values}


def sketch_change_batch(batch: ChangeBatch) -> list[SketchedChange | UnreadableChange]:
    """Read and sketch a batch of changes; runs in a worker process, maybe on another machine."""
    rules = DedupeRules(**batch.rules)
    repository = discover_repository(Path(batch.folder))
    return [_sketch_read_change(change, rules) for change in read_changes(repository, batch.refs, rules)]


def _sketch_read_change(read: ReadChange | UnreadableChange, rules: DedupeRules) -> SketchedChange | UnreadableChange:
    from custody.dupes.signature import sketch_change

    if isinstance(read, UnreadableChange):
        return read
    change = read.description
    degraded = sum(piece.degraded is not None for piece in change.pieces)
    return SketchedChange(
        read.ref, change.title, change.author, change.opened_ns, sketch_change(change, rules), degraded
    )


def read_changes(
    repository: Repository, refs: Sequence[ChangeRef], rules: DedupeRules
) -> Iterator[ReadChange | UnreadableChange]:
    """Yield every change in the order of ``refs``, or why it cannot be read."""
    try:
        diffs: Sequence[CommitDiff | None] = _read_change_diffs(repository, refs)
    except GitError:
        diffs = [_try_read_change_diff(repository, ref) for ref in refs]  # find out which change is damaged
    with repository.objects(SOURCE_BYTES_MAX) as objects:
        reader = _Reader(objects, rules)
        for ref, diff in zip(refs, diffs, strict=True):
            yield reader.read(ref, diff)


def _read_change_diffs(repository: Repository, refs: Iterable[ChangeRef]) -> list[CommitDiff]:
    comparisons = [Comparison(ref.head, ref.base or None) for ref in refs]
    with repository.diffs(comparisons, renames=True, limits=LIMITS) as diffs:
        return list(diffs)


def _try_read_change_diff(repository: Repository, ref: ChangeRef) -> CommitDiff | None:
    try:
        return _read_change_diffs(repository, [ref])[0]
    except CustodyError:
        return None


class _Reader:
    """Reads files and messages of changes through one open git process."""

    def __init__(self, objects: ObjectReader[Object], rules: DedupeRules) -> None:
        self._objects = objects
        self._rules = rules
        self._files: dict[tuple[str, str], FileReading] = {}
        """Files by language and object id, the most recently used last."""

    def read(self, ref: ChangeRef, diff: CommitDiff | None) -> ReadChange | UnreadableChange:
        """Return the change of ``ref``, or why it cannot be read."""
        if diff is None:
            return UnreadableChange(ref, "cannot diff its base and head: an object is missing or damaged")
        commits = list(self._commits(ref))
        if not commits:
            return UnreadableChange(ref, "cannot read its head")
        head = commits[0]
        messages = tuple(
            _decode_commit_text(commit.message) for commit in commits if len(commit.parents) < 2 or commit is head
        )
        pieces = tuple(self._pieces(diff))
        return ReadChange(
            ref,
            ChangeDescription(
                base=ref.base,
                head=ref.head,
                opened_ns=_get_change_opened_ns(head) if ref.opened_ns is None else ref.opened_ns,
                pieces=pieces,
                title=ref.title or _choose_change_title(commits),
                messages=messages,
                author=_decode_commit_text(commits[-1].author.name),
                commits=tuple(commit.id for commit in commits),
                origins=tuple(_format_origin(commit) for commit in commits if len(commit.parents) < 2),
            ),
        )

    def _commits(self, ref: ChangeRef) -> Iterator[Commit]:
        ids = ref.commits[:COMMITS_READ_MAX] or (ref.head,)
        for sha, answer in zip(ids, self._objects.read_all(ids), strict=True):
            if isinstance(answer, Object) and answer.info.kind == "commit":
                yield parse_commit(sha, answer.content)

    def _pieces(self, diff: CommitDiff) -> Iterator[ChangedPiece]:
        for position, file in enumerate(diff.files):
            yield self._piece(file, parsed=position < FILES_PARSED_MAX)

    def _piece(self, file: FileDiff, *, parsed: bool) -> ChangedPiece:
        from custody.dupes.facts.extractor import classify_file_channel
        from custody.dupes.facts.touched_facts import find_touched_facts

        change = file.change
        path = str(change.path)
        channel = classify_file_channel(path, self._rules.channel_patterns)
        runs = tuple(decode_file_hunks(file))
        sides = [side for side in (change.old, change.new) if side is not None]
        opaque = _explain_opaque_file(file)
        before = after = NOT_READ
        if parsed and opaque is None and runs and channel not in (Channel.META, Channel.GENERATED):
            before, after = (
                NOT_READ if side is None else self._file(path, side.blob) for side in (change.old, change.new)
            )
            channel = _refine_file_channel(channel, before if change.new is None else after)
        return ChangedPiece(
            path=path,
            channel=channel,
            shape=_SHAPES[change.kind],
            old_path=str(change.old.path) if change.kind is ChangeKind.RENAMED and change.old is not None else None,
            runs=runs,
            objects=("" if change.old is None else change.old.blob, "" if change.new is None else change.new.blob),
            modes=(sides[0].mode, sides[-1].mode) if len(sides) == 2 else (0, 0),
            opaque=opaque,
            degraded=after.facts.degraded or before.facts.degraded,
            before=find_touched_facts(before.facts, filter(None, (run.old_lines for run in runs))),
            after=find_touched_facts(after.facts, filter(None, (run.new_lines for run in runs))),
        )

    def _file(self, path: str, blob: str) -> FileReading:
        """Return the facts of a file; a file in an unsupported language is not read."""
        from custody.dupes.facts.extractor import detect_file_language

        language = detect_file_language(path)
        if language is None:
            return NOT_READ
        reading = self._files.pop((language, blob), None) or self._read_file(path, blob)
        self._files[language, blob] = reading
        while len(self._files) > FILES_CACHED_MAX:
            del self._files[next(iter(self._files))]
        return reading

    def _read_file(self, path: str, blob: str) -> FileReading:
        from custody.dupes.facts.extractor import extract_file_facts, is_generated_file

        answer = self._objects.read(blob)
        if isinstance(answer, NoObject):
            return FileReading(Facts(degraded=f"its content is {answer.reason}"))
        until_ns = machine_now_ns() + PARSE_NS_MAX
        facts = extract_file_facts(path, answer.content, enough=lambda: machine_now_ns() > until_ns)
        return FileReading(facts, is_generated_file(answer.content))


def _refine_file_channel(channel: Channel, reading: FileReading) -> Channel:
    """Return the channel by content: a production file may turn out to be tests or generated."""
    from custody.dupes.facts.extractor import refine_channel

    if channel is Channel.PRODUCTION and reading.is_generated:
        return Channel.GENERATED
    return refine_channel(channel, reading.facts)


def _explain_opaque_file(file: FileDiff) -> str | None:
    if any(side is not None and side.mode == SUBMODULE_MODE for side in (file.change.old, file.change.new)):
        return "a submodule"
    return _OPAQUE.get(file.shown)


def _decode_commit_text(raw: bytes) -> str:
    return raw.decode("utf-8", "replace")


def _choose_change_title(commits: Sequence[Commit]) -> str:
    """Return the subject of the first commit: later commits often only fix it.

    The merge of a pull request has the title of the pull request in its body.
    """
    first = commits[-1]
    subject = _decode_commit_text(first.subject).strip()
    if len(first.parents) > 1 and subject.startswith(("Merge pull request ", "Merge branch ")):
        body = _decode_commit_text(first.message).partition("\n")[2]
        return next((line.strip() for line in body.splitlines() if line.strip()), subject)
    return subject


def _format_origin(commit: Commit) -> str:
    at = commit.author.at
    seconds = "" if at is None else str(at.seconds)
    return f"{_decode_commit_text(commit.author.name)}\n{seconds}\n{_decode_commit_text(commit.subject)}"


def _get_change_opened_ns(head: Commit) -> int:
    timestamp = head.committer.at or head.author.at
    return 0 if timestamp is None else timestamp.seconds * NS
