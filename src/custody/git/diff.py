"""Differences of commits: ``git diff-tree`` asked, its raw changes and patches parsed."""

import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Generic, TypeAlias, TypeVar

from custody.core.errors import GitError, InputError
from custody.core.ids import BlobSha, CommitSha
from custody.core.paths import Lines, RepoPath
from custody.git.chunk_reader import ChunkReader, blob_sha, commit_sha, repo_path, rubbish
from custody.git.command import AnswerStream, Git
from custody.git.failure import full_id, pathspecs

# Parsing ``git diff-tree --raw -z``: which files a commit changed. Pure: pieces of bytes in, changes out.


_HEAD = re.compile(rb":([0-7]{6}) ([0-7]{6}) ([0-9a-f]+) ([0-9a-f]+) ([AMDTRC])(\d{0,3})")


class ChangeKind(Enum):
    """What happened to a file, by git's letter."""

    ADDED = "A"
    MODIFIED = "M"
    DELETED = "D"
    RETYPED = "T"
    """A file became a link, a link a submodule, …"""
    RENAMED = "R"
    COPIED = "C"


@dataclass(frozen=True, slots=True)
class DiffSide:
    """One end of a change; ``mode`` is git's: 0o120000 for a link, 0o160000 for a submodule (``blob``: its commit)."""

    path: RepoPath
    mode: int
    blob: BlobSha


@dataclass(frozen=True, slots=True)
class FileChange:
    """One file before and after; None where it did not exist. ``likeness``: git's percentage for renames and copies."""

    kind: ChangeKind
    old: DiffSide | None
    new: DiffSide | None
    likeness: int | None = None

    @property
    def path(self) -> RepoPath:
        """The file's name after the change; the last one it had when it was deleted."""
        side = self.new or self.old
        assert side is not None, "a change has at least one side"
        return side.path


T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class CommitFiles(Generic[T]):
    """The files that ``commit`` changed against the commit that it was compared with, in git's order."""

    commit: CommitSha
    files: tuple[T, ...]


CommitChanges: TypeAlias = CommitFiles[FileChange]
"""A commit with the names of what it changed."""


def parse_changes(chunks: Iterable[bytes]) -> Iterator[CommitChanges]:
    """One answer per commit that ``git diff-tree --stdin --raw -z --always`` was asked for."""
    reader = ChunkReader(chunks)
    while not reader.ended():
        commit = commit_sha(reader.until(b"\0"))
        yield CommitFiles(commit, tuple(parse_raw_entries(reader)))


def parse_raw_entries(reader: ChunkReader) -> Iterator[FileChange]:
    """Take the raw entries of one commit off ``reader``."""
    while reader.peek(1) == b":":
        yield _change(reader)


def _change(reader: ChunkReader) -> FileChange:
    head = reader.until(b"\0")
    match = _HEAD.fullmatch(head)
    if not match:
        raise rubbish("a changed file is expected", head)
    kind = ChangeKind(match[5].decode("ascii"))
    old_path = repo_path(reader.until(b"\0"))
    new_path = repo_path(reader.until(b"\0")) if kind in (ChangeKind.RENAMED, ChangeKind.COPIED) else old_path
    old, new = _side(old_path, match[1], match[3]), _side(new_path, match[2], match[4])
    if old is None and new is None:
        raise rubbish("a file on at least one side is expected", head)
    return FileChange(kind, old, new, int(match[6]) if match[6] else None)


def _side(path: RepoPath, mode: bytes, blob: bytes) -> DiffSide | None:
    sha = blob_sha(blob)
    return DiffSide(path, int(mode, 8), sha) if sha else None


# Every default is said aloud. A merge is compared with one parent, so that there are no combined diffs; --always
# answers also for a commit that changed nothing.
_DIFF_TREE = (
    *("diff-tree", "--stdin", "-r", "-z", "--root", "--always", "--diff-merges=first-parent", "--full-index"),
    *("--no-color", "--no-ext-diff", "--no-textconv", "--no-relative", "--submodule=short"),
    *("--diff-algorithm=myers", "--indent-heuristic", "--inter-hunk-context=0"),
)


@dataclass(frozen=True, slots=True)
class Comparison:
    """What did ``commit`` change against ``parent``, which may be any commit?

    None is its own first parent; a commit without one (a root, or the cut of a shallow clone) adds all it has.
    """

    commit: CommitSha
    parent: CommitSha | None = None


def compare(
    git: Git,
    comparisons: Iterable[Comparison],
    paths: Iterable[RepoPath],
    options: Iterable[str],
    parse: Callable[[Iterable[bytes]], Iterator[CommitFiles[T]]],
) -> AnswerStream[CommitFiles[T]]:
    """Start ``git diff-tree <options>`` for any number of comparisons."""
    questions = _Questions(comparisons)
    child = git.start(*_DIFF_TREE, *options, *pathspecs(paths), feed=questions.lines())
    return AnswerStream(child, lambda chunks: questions.answered(parse(chunks)))


class _Questions:
    """Comparisons as they are sent: diff-tree passes over a commit that it cannot find without a word."""

    def __init__(self, comparisons: Iterable[Comparison]) -> None:
        self._comparisons = comparisons
        self._waiting: deque[Comparison] = deque()
        self._with_parent: dict[CommitSha, bool] = {}

    def lines(self) -> Iterator[bytes]:
        """The comparisons for git's standard input."""
        for comparison in self._comparisons:
            self._check(comparison)
            self._waiting.append(comparison)
            ids = [full_id(comparison.commit)] + ([full_id(comparison.parent)] if comparison.parent else [])
            yield f"{' '.join(ids)}\n".encode("ascii")

    def answered(self, answers: Iterable[CommitFiles[T]]) -> Iterator[CommitFiles[T]]:
        """``answers``, in the order of the comparisons; a ``GitError`` when one is left out."""
        for answer in answers:
            comparison = self._waiting.popleft() if self._waiting else Comparison(CommitSha(""))
            if answer.commit != comparison.commit:
                raise _unknown(comparison)
            yield answer
        if self._waiting:
            raise _unknown(self._waiting[0])

    def _check(self, comparison: Comparison) -> None:
        # git remembers the parent it was given, and would use it again where none is given.
        named = comparison.parent is not None
        if self._with_parent.setdefault(comparison.commit, named) != named:
            raise InputError(
                f"'{comparison.commit}' is to be compared both with its own and with a given parent",
                hint="ask in two questions, or name the parent both times",
            )


def _unknown(comparison: Comparison) -> GitError:
    return GitError(
        f"git knows no commit '{comparison.commit}'",
        hint="the clone may be shallow, partial or damaged: try 'git fsck'",
    )


# Parsing ``git diff-tree --raw -p -z``: the lines a commit removed and added. Pure: pieces of bytes in, diffs out.
# Names come from the raw entries, which are exact bytes; the patches follow in the same order, so that nothing is
# ever read from a ``diff --git`` line, where two names with spaces cannot be told apart.


_HUNK = re.compile(rb"@@ -(\d{1,10})(?:,(\d{1,10}))? \+(\d{1,10})(?:,(\d{1,10}))? @@.*", re.DOTALL)
_START = b"diff --git "
_REMOVED, _ADDED, _NO_NEWLINE = b"-", b"+", b"\\"
_BINARY = b"Binary files "
_HEADER = (
    *(b"old mode", b"new mode", b"new file", b"deleted ", b"copy ", b"rename ", b"similarity", b"dissimilarity"),
    *(b"index ", b"--- ", b"+++ ", _BINARY),
)
_HEADER_BYTES = max(map(len, _HEADER))
_MEGABYTE = 1 << 20


@dataclass(frozen=True, slots=True)
class Hunk:
    """Lines that changed, each with its own line feed; only the last line of a file can be without.

    Where nothing was removed (added), the first is the line before (0: the start).
    """

    old_first: int
    new_first: int
    removed: tuple[bytes, ...]
    added: tuple[bytes, ...]

    @property
    def old_count(self) -> int:
        """How many lines are gone."""
        return len(self.removed)

    @property
    def new_count(self) -> int:
        """How many lines are new."""
        return len(self.added)

    @property
    def new_lines(self) -> Lines | None:
        """Where the hunk stands after the change; None when nothing is left of it."""
        return Lines(self.new_first, self.new_first + self.new_count - 1) if self.new_count else None


class HunkDetail(Enum):
    """How much of a change the hunks show."""

    WHOLE = "whole"
    BINARY = "binary"
    """git compares no lines of this file; there are no hunks."""
    TOO_LARGE = "too large"
    """The lines are more than the limits allow; there are no hunks."""


@dataclass(frozen=True, slots=True)
class FileDiff:
    """One changed file with its hunks; none when only mode or name changed, or when ``shown`` says why."""

    change: FileChange
    hunks: tuple[Hunk, ...]
    shown: HunkDetail = HunkDetail.WHOLE


CommitDiff: TypeAlias = CommitFiles[FileDiff]
"""A commit with the lines that it removed and added."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PatchLimits:
    """How many bytes of lines are kept; what is over them is passed over and said to be too large."""

    file_bytes_max: int = 16 * _MEGABYTE
    commit_bytes_max: int = 128 * _MEGABYTE


USUAL_PATCH = PatchLimits()


def parse_patches(chunks: Iterable[bytes], limits: PatchLimits = USUAL_PATCH) -> Iterator[CommitDiff]:
    """One answer per commit that ``git diff-tree --stdin --raw -p -z --always`` was asked for."""
    reader = ChunkReader(chunks)
    while not reader.ended():
        commit = commit_sha(reader.until(b"\0"))
        changes = tuple(parse_raw_entries(reader))
        if changes and reader.until(b"\0"):
            raise rubbish("patches are expected after the names", b"")
        yield CommitFiles(commit, tuple(_files(reader, changes, limits)))


def _files(reader: ChunkReader, changes: tuple[FileChange, ...], limits: PatchLimits) -> Iterator[FileDiff]:
    left = limits.commit_bytes_max
    for change in changes:
        section = _Section(reader, min(limits.file_bytes_max, left))
        # git shows a change of type as the end of one file and the start of another.
        for _ in range(2 if change.kind is ChangeKind.RETYPED else 1):
            section.read()
        left = max(0, left - section.kept_bytes)
        yield FileDiff(change, section.hunks, section.shown)


class _Section:
    """The patch of one file while it is read."""

    def __init__(self, reader: ChunkReader, bytes_max: int) -> None:
        self._reader = reader
        self._bytes_max = bytes_max
        self._hunks: list[Hunk] = []
        self._binary = False
        self._seen_bytes = 0

    @property
    def shown(self) -> HunkDetail:
        if self._binary:
            return HunkDetail.BINARY
        return HunkDetail.TOO_LARGE if self._seen_bytes > self._bytes_max else HunkDetail.WHOLE

    @property
    def hunks(self) -> tuple[Hunk, ...]:
        return tuple(self._hunks) if self.shown is HunkDetail.WHOLE else ()

    @property
    def kept_bytes(self) -> int:
        return self._seen_bytes if self.hunks else 0

    def read(self) -> None:
        start = self._reader.line()
        if not start.startswith(_START):
            raise rubbish("the patch of a file is expected", start)
        while self._reader.peek(_HEADER_BYTES).startswith(_HEADER):
            self._binary |= self._reader.line().startswith(_BINARY)
        while self._reader.peek(2) == b"@@":
            self._read_hunk(self._reader.line())

    def _read_hunk(self, head: bytes) -> None:
        match = _HUNK.fullmatch(head)
        if not match:
            raise rubbish("a hunk is expected", head)
        old_first, old_count, new_first, new_count = (1 if n is None else int(n) for n in match.groups())
        removed, added = self._read_lines(old_count, new_count)
        if self.shown is HunkDetail.WHOLE:
            self._hunks.append(Hunk(old_first, new_first, tuple(removed), tuple(added)))
        else:
            self._hunks.clear()

    def _read_lines(self, old_left: int, new_left: int) -> tuple[list[bytes], list[bytes]]:
        """The lines that are gone and those that are new."""
        removed: list[bytes] = []
        added: list[bytes] = []
        last: list[bytes] = []
        while old_left > 0 or new_left > 0 or self._reader.peek(1) == _NO_NEWLINE:
            raw = self._reader.line()
            if raw[:1] == _NO_NEWLINE:
                _cut_newline(last, raw)
                continue
            if raw[:1] not in (_REMOVED, _ADDED):
                raise rubbish("a line of a hunk is expected", raw)
            old_left -= raw[:1] == _REMOVED
            new_left -= raw[:1] == _ADDED
            last = removed if raw[:1] == _REMOVED else added
            self._seen_bytes += len(raw)
            if self._seen_bytes > self._bytes_max:
                last.clear()  # read on to the end of the hunk, but keep nothing more
            last.append(raw[1:] + b"\n")
        if old_left or new_left:
            raise rubbish("a hunk has other lines than its head says", last[-1] if last else b"")
        return removed, added


def _cut_newline(lines: list[bytes], marker: bytes) -> None:
    if not lines or not lines[-1].endswith(b"\n"):
        raise rubbish("a line is expected before its missing end", marker)
    lines[-1] = lines[-1][:-1]
