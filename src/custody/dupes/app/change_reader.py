"""Read changes from git: what each did to every file, and what was said about it; then sketch them.

One ``diff-tree`` and one ``cat-file`` serve any number of changes. A change that cannot be read costs that change only.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from custody.core.errors import CustodyError, GitError
from custody.core.ids import CommitSha
from custody.core.paths import Lines
from custody.dupes.facts.extractor import channel_of, facts_of, is_generated, language_of, refined
from custody.dupes.facts.model import Channel, Facts
from custody.dupes.facts.touched_facts import find_touched_facts
from custody.dupes.model import ChangeDescription, ChangedPiece, ChangeSketch, LineRun, Shape
from custody.dupes.rules import DedupeRules
from custody.dupes.signature import sketch_change
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
    discover,
    parse_commit,
)
from custody.workspace.machine import now_ns

NS = 1_000_000_000
COMMITS_READ_MAX = 32
"""Of a change with more commits, only so many messages are read."""
FILES_PARSED_MAX = 200
"""Of a change with more files, only so many are read for their syntax."""
SOURCE_BYTES_MAX = 1 << 20
FILES_KEPT = 1_024
"""Files of which a process remembers what they say: the next change often starts from where this one ended."""
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
"""A file whose syntax takes longer to read is compared by its words."""
OWN = ""
"""Stands for the repository whose store this is."""
NO_COMMIT = CommitSha("")


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeRef:
    """A change that is to be read; ``commits`` are its own, the newest first; ``base`` is empty for a first commit.

    Without ``opened_ns`` it was opened when its head was committed; without ``title`` its last message begins with one.
    ``onto`` is the tip of the line that it is to land on, empty where that is not known.
    """

    base: CommitSha
    head: CommitSha
    name: str = ""
    commits: tuple[CommitSha, ...] = ()
    opened_ns: int | None = None
    title: str = ""
    on_main: bool = False
    onto: CommitSha = NO_COMMIT


@dataclass(frozen=True, slots=True)
class FileReading:
    """What a file says, and whether it says that a program wrote it."""

    facts: Facts = NO_FACTS
    is_generated: bool = False


NOT_READ = FileReading()

_KEPT: dict[tuple[str, str], FileReading] = {}
"""What files say by language and object id, the one used last at the end; the same bytes always say the same."""


@dataclass(frozen=True, slots=True)
class UnreadableChange:
    """A change that could not be read, and why."""

    asked: ChangeRef
    why: str


@dataclass(frozen=True, slots=True)
class ReadChange:
    """A change as it was read."""

    asked: ChangeRef
    described: ChangeDescription


@dataclass(frozen=True, slots=True)
class SketchedChange:
    """A change ready for the index."""

    asked: ChangeRef
    title: str
    opened_ns: int
    sketched: ChangeSketch
    degraded: int
    """How many of its files could not be read for their syntax."""


@dataclass(frozen=True, slots=True)
class ChangeBatch:
    """Some changes of a repository: what one worker is handed; ``rules`` by name, as they travel."""

    folder: str
    asked: tuple[ChangeRef, ...]
    rules: dict[str, Any]


def travelling(rules: DedupeRules) -> dict[str, Any]:
    """Rules as they travel to another process."""
    found = ((each.name, getattr(rules, each.name)) for each in fields(rules))
    return {name: dict(value) if isinstance(value, Mapping) else value for name, value in found}


def sketch_batch(batch: ChangeBatch) -> list[SketchedChange | UnreadableChange]:
    """Read and sketch some changes; the one function that is mapped over processes, or over machines."""
    rules = DedupeRules(**batch.rules)
    repository = discover(Path(batch.folder))
    return [_sketch(change, rules) for change in read_changes(repository, batch.asked, rules)]


def _sketch(read: ReadChange | UnreadableChange, rules: DedupeRules) -> SketchedChange | UnreadableChange:
    if isinstance(read, UnreadableChange):
        return read
    change = read.described
    degraded = sum(piece.degraded is not None for piece in change.pieces)
    return SketchedChange(read.asked, change.title, change.opened_ns, sketch_change(change, rules), degraded)


def read_changes(
    repository: Repository, asked: Sequence[ChangeRef], rules: DedupeRules
) -> Iterator[ReadChange | UnreadableChange]:
    """Every change in the order asked for, or why it cannot be read."""
    try:
        diffs: Sequence[CommitDiff | None] = _diffs(repository, asked)
    except GitError:
        diffs = [_diff(repository, ref) for ref in asked]  # one of them is damaged: find out which
    with repository.objects(SOURCE_BYTES_MAX) as objects:
        reader = _Reader(objects, rules)
        for ref, diff in zip(asked, diffs, strict=True):
            yield reader.read(ref, diff)


def _diffs(repository: Repository, asked: Iterable[ChangeRef]) -> list[CommitDiff]:
    comparisons = [Comparison(ref.head, ref.base or None) for ref in asked]
    with repository.diffs(comparisons, renames=True, limits=LIMITS) as answers:
        return list(answers)


def _diff(repository: Repository, asked: ChangeRef) -> CommitDiff | None:
    try:
        return _diffs(repository, [asked])[0]
    except CustodyError:
        return None


class _Reader:
    """Reads the files and messages of changes through one open line to git."""

    def __init__(self, objects: ObjectReader[Object], rules: DedupeRules) -> None:
        self._objects = objects
        self._rules = rules

    def read(self, asked: ChangeRef, diff: CommitDiff | None) -> ReadChange | UnreadableChange:
        """One change."""
        if diff is None:
            return UnreadableChange(asked, "git cannot compare its base and head: an object is missing or damaged")
        commits = list(self._commits(asked))
        if not commits:
            return UnreadableChange(asked, "its head cannot be read")
        head = commits[0]
        messages = tuple(_text(commit.message) for commit in commits if len(commit.parents) < 2 or commit is head)
        pieces = tuple(self._pieces(diff))
        return ReadChange(
            asked,
            ChangeDescription(
                base=asked.base,
                head=asked.head,
                opened_ns=_opened_ns(head) if asked.opened_ns is None else asked.opened_ns,
                pieces=pieces,
                title=asked.title or _title(commits),
                messages=messages,
                author=_text(head.author.name),
                commits=tuple(commit.id for commit in commits),
            ),
        )

    def _commits(self, asked: ChangeRef) -> Iterator[Commit]:
        ids = asked.commits[:COMMITS_READ_MAX] or (asked.head,)
        for sha, found in zip(ids, self._objects.read_all(ids), strict=True):
            if isinstance(found, Object) and found.info.kind == "commit":
                yield parse_commit(sha, found.content)

    def _pieces(self, diff: CommitDiff) -> Iterator[ChangedPiece]:
        for place, file in enumerate(diff.files):
            yield self._piece(file, parsed=place < FILES_PARSED_MAX)

    def _piece(self, file: FileDiff, *, parsed: bool) -> ChangedPiece:
        change = file.change
        path = str(change.path)
        channel = channel_of(path, self._rules.channel_patterns)
        runs = tuple(_runs(file))
        sides = [side for side in (change.old, change.new) if side is not None]
        opaque = _opaque(file)
        before = after = NOT_READ
        if parsed and opaque is None and runs and channel not in (Channel.META, Channel.GENERATED):
            before, after = (
                NOT_READ if side is None else self._file(path, side.blob) for side in (change.old, change.new)
            )
            channel = _channel(channel, before if change.new is None else after)
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
            before=find_touched_facts(
                before.facts, (Lines(r.old_first, r.old_first + len(r.removed) - 1) for r in runs if r.removed)
            ),
            after=find_touched_facts(
                after.facts, (Lines(r.new_first, r.new_first + len(r.added) - 1) for r in runs if r.added)
            ),
        )

    def _file(self, path: str, blob: str) -> FileReading:
        """What a file says; one without a reader for its syntax is not looked into."""
        language = language_of(path)
        if language is None:
            return NOT_READ
        read = _KEPT.pop((language, blob), None) or self._read_file(path, blob)
        _KEPT[language, blob] = read
        while len(_KEPT) > FILES_KEPT:
            del _KEPT[next(iter(_KEPT))]
        return read

    def _read_file(self, path: str, blob: str) -> FileReading:
        found = self._objects.read(blob)
        if isinstance(found, NoObject):
            return FileReading(Facts(degraded=f"its content is {found.reason}"))
        until_ns = now_ns() + PARSE_NS_MAX
        facts = facts_of(path, found.content, enough=lambda: now_ns() > until_ns)
        return FileReading(facts, is_generated(found.content))


def _channel(channel: Channel, read: FileReading) -> Channel:
    """The channel after a look into the file: production may prove to be tests, or a program's work."""
    if channel is Channel.PRODUCTION and read.is_generated:
        return Channel.GENERATED
    return refined(channel, read.facts)


def _runs(file: FileDiff) -> Iterator[LineRun]:
    for hunk in file.hunks:
        yield LineRun(
            hunk.old_first if hunk.old_count else 0,
            hunk.new_first if hunk.new_count else 0,
            tuple(_line(text) for text in hunk.removed),
            tuple(_line(text) for text in hunk.added),
        )


def _opaque(file: FileDiff) -> str | None:
    if any(side is not None and side.mode == SUBMODULE_MODE for side in (file.change.old, file.change.new)):
        return "a submodule"
    return _OPAQUE.get(file.shown)


def _line(raw: bytes) -> str:
    return raw.decode("utf-8", "surrogateescape").removesuffix("\n").removesuffix("\r")


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "replace")


def _title(commits: Sequence[Commit]) -> str:
    """The subject of the first commit: later ones often only mend it."""
    return _text(commits[-1].subject).strip()


def _opened_ns(head: Commit) -> int:
    moment = head.committer.at or head.author.at
    return 0 if moment is None else moment.seconds * NS
