"""Diffs of commits: ``git diff-tree`` with the parsers of its raw changes and patches."""

import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from enum import Enum
from typing import Generic, TypeAlias, TypeVar

from msgspec import Struct

from custody.core.errors import GitError, InputError
from custody.core.ids import BlobSha, CommitSha
from custody.core.paths import Hunk, RepoPath
from custody.core.patterns import lazy_pattern
from custody.git.chunk_reader import (
    ChunkReader,
    make_git_output_error,
    parse_blob_sha,
    parse_commit_sha,
    parse_repo_path,
)
from custody.git.command import AnswerStream, Git
from custody.git.failure import check_full_object_id, to_pathspec_arguments

# Parsing of ``git diff-tree --raw -z``: the changed files of a commit. Pure.


_HEAD = lazy_pattern(rb":([0-7]{6}) ([0-7]{6}) ([0-9a-f]+) ([0-9a-f]+) ([AMDTRC])(\d{0,3})")


class ChangeKind(Enum):
    """What happened to a file, by git's letter."""

    ADDED = "A"
    MODIFIED = "M"
    DELETED = "D"
    RETYPED = "T"
    """A file became a link, a link a submodule, …"""
    RENAMED = "R"
    COPIED = "C"


class DiffSide(Struct, frozen=True):
    """One side of a change; ``mode`` is 0o120000 for a link, 0o160000 for a submodule (``blob`` is its commit)."""

    path: RepoPath
    mode: int
    blob: BlobSha


class FileChange(Struct, frozen=True):
    """A file before and after; None if it did not exist. ``similarity`` is git's percentage for renames and copies."""

    kind: ChangeKind
    old: DiffSide | None
    new: DiffSide | None
    similarity: int | None = None

    @property
    def path(self) -> RepoPath:
        """The path after the change; of a deleted file, the path before."""
        side = self.new or self.old
        assert side is not None, "a change has at least one side"
        return side.path


T = TypeVar("T")


class CommitFiles(Struct, Generic[T], frozen=True):
    """The changed files of ``commit``, in git's order."""

    commit: CommitSha
    files: tuple[T, ...]


CommitChanges: TypeAlias = CommitFiles[FileChange]
"""A commit with the names of its changed files."""


def parse_diff_changes(chunks: Iterable[bytes]) -> Iterator[CommitChanges]:
    """Yield one answer per commit from ``git diff-tree --stdin --raw -z --always``."""
    reader = ChunkReader(chunks)
    while not reader.is_at_end():
        commit = parse_commit_sha(reader.read_until(b"\0"))
        yield CommitFiles(commit, tuple(parse_raw_diff_entries(reader)))


def parse_raw_diff_entries(reader: ChunkReader) -> Iterator[FileChange]:
    """Read the raw entries of one commit."""
    while reader.peek(1) == b":":
        yield _parse_file_change(reader)


def _parse_file_change(reader: ChunkReader) -> FileChange:
    head = reader.read_until(b"\0")
    match = _HEAD.fullmatch(head)
    if not match:
        raise make_git_output_error("expected a changed file", head)
    kind = ChangeKind(match[5].decode("ascii"))
    old_path = parse_repo_path(reader.read_until(b"\0"))
    new_path = (
        parse_repo_path(reader.read_until(b"\0")) if kind in (ChangeKind.RENAMED, ChangeKind.COPIED) else old_path
    )
    old, new = _parse_diff_side(old_path, match[1], match[3]), _parse_diff_side(new_path, match[2], match[4])
    if old is None and new is None:
        raise make_git_output_error("expected a file on at least one side", head)
    return FileChange(kind, old, new, int(match[6]) if match[6] else None)


def _parse_diff_side(path: RepoPath, mode: bytes, blob: bytes) -> DiffSide | None:
    sha = parse_blob_sha(blob)
    return DiffSide(path, int(mode, 8), sha) if sha else None


# All defaults are explicit. A merge is compared with one parent, which avoids combined diffs; --always prints commits
# without changes, too.
_DIFF_TREE = (
    *("diff-tree", "--stdin", "-r", "-z", "--root", "--always", "--diff-merges=first-parent", "--full-index"),
    *("--no-color", "--no-ext-diff", "--no-textconv", "--no-relative", "--submodule=short"),
    *("--diff-algorithm=myers", "--indent-heuristic", "--inter-hunk-context=0"),
)


class Comparison(Struct, frozen=True):
    """A comparison of ``commit`` with ``parent``, which may be any commit.

    None means its first parent; a commit without parents (a root, or the boundary of a shallow clone) adds everything.
    """

    commit: CommitSha
    parent: CommitSha | None = None


def start_diff_tree(
    git: Git,
    comparisons: Iterable[Comparison],
    paths: Iterable[RepoPath],
    options: Iterable[str],
    parse: Callable[[Iterable[bytes]], Iterator[CommitFiles[T]]],
) -> AnswerStream[CommitFiles[T]]:
    """Start ``git diff-tree <options>`` for any number of comparisons."""
    requests = _ComparisonRequests(comparisons)
    child = git.start(*_DIFF_TREE, *options, *to_pathspec_arguments(paths), feed=requests.lines())
    return AnswerStream(child, lambda chunks: requests.match_answers(parse(chunks)))


class _ComparisonRequests:
    """The sent comparisons, to notice missing answers: diff-tree silently skips unknown commits."""

    def __init__(self, comparisons: Iterable[Comparison]) -> None:
        self._comparisons = comparisons
        self._waiting: deque[Comparison] = deque()
        self._with_parent: dict[CommitSha, bool] = {}

    def lines(self) -> Iterator[bytes]:
        """Yield the comparisons for git's standard input."""
        for comparison in self._comparisons:
            self._check(comparison)
            self._waiting.append(comparison)
            ids = [check_full_object_id(comparison.commit)] + (
                [check_full_object_id(comparison.parent)] if comparison.parent else []
            )
            yield f"{' '.join(ids)}\n".encode("ascii")

    def match_answers(self, answers: Iterable[CommitFiles[T]]) -> Iterator[CommitFiles[T]]:
        """Yield ``answers``; raises ``GitError`` if one is missing."""
        for answer in answers:
            comparison = self._waiting.popleft() if self._waiting else Comparison(CommitSha(""))
            if answer.commit != comparison.commit:
                raise _make_unknown_commit_error(comparison)
            yield answer
        if self._waiting:
            raise _make_unknown_commit_error(self._waiting[0])

    def _check(self, comparison: Comparison) -> None:
        # git remembers a named parent, and would use it again for a comparison without one.
        has_parent = comparison.parent is not None
        if self._with_parent.setdefault(comparison.commit, has_parent) != has_parent:
            raise InputError(
                f"cannot compare '{comparison.commit}' with its own and with a named parent at once",
                hint="use two calls, or name the parent both times",
            )


def _make_unknown_commit_error(comparison: Comparison) -> GitError:
    return GitError(
        f"cannot find commit '{comparison.commit}'",
        hint="the clone may be shallow, partial or damaged: run 'git fsck'",
    )


# Parsing of ``git diff-tree --raw -p -z``: the removed and added lines of a commit. Pure.
# Names come from the raw entries, which are exact; the patches follow in the same order, so nothing is read from a
# ``diff --git`` line, where two names with spaces are ambiguous.


_HUNK = lazy_pattern(rb"@@ -(\d{1,10})(?:,(\d{1,10}))? \+(\d{1,10})(?:,(\d{1,10}))? @@.*", re.DOTALL)
_START = b"diff --git "
_REMOVED, _ADDED, _NO_NEWLINE = b"-", b"+", b"\\"
_BINARY = b"Binary files "
_HEADER = (
    *(b"old mode", b"new mode", b"new file", b"deleted ", b"copy ", b"rename ", b"similarity", b"dissimilarity"),
    *(b"index ", b"--- ", b"+++ ", _BINARY),
)
_HEADER_BYTES = max(map(len, _HEADER))
_MEGABYTE = 1 << 20


class HunkDetail(Enum):
    """How much of a change the hunks show."""

    WHOLE = "whole"
    BINARY = "binary"
    """git does not compare lines of this file; no hunks."""
    TOO_LARGE = "too large"
    """The lines exceed the limits; no hunks."""


class FileDiff(Struct, frozen=True):
    """A changed file with its hunks; none if only mode or name changed, or if ``shown`` says why."""

    change: FileChange
    hunks: tuple[Hunk[bytes], ...]
    shown: HunkDetail = HunkDetail.WHOLE


CommitDiff: TypeAlias = CommitFiles[FileDiff]
"""A commit with its removed and added lines."""


class PatchLimits(Struct, frozen=True, kw_only=True):
    """Limits of the bytes of lines; larger files are marked as too large."""

    file_bytes_max: int = 16 * _MEGABYTE
    commit_bytes_max: int = 128 * _MEGABYTE


USUAL_PATCH = PatchLimits()


def parse_patches(chunks: Iterable[bytes], limits: PatchLimits = USUAL_PATCH) -> Iterator[CommitDiff]:
    """Yield one answer per commit from ``git diff-tree --stdin --raw -p -z --always``."""
    reader = ChunkReader(chunks)
    while not reader.is_at_end():
        commit = parse_commit_sha(reader.read_until(b"\0"))
        changes = tuple(parse_raw_diff_entries(reader))
        if changes and reader.read_until(b"\0"):
            raise make_git_output_error("expected patches after the names", b"")
        yield CommitFiles(commit, tuple(_parse_file_diffs(reader, changes, limits)))


def _parse_file_diffs(reader: ChunkReader, changes: tuple[FileChange, ...], limits: PatchLimits) -> Iterator[FileDiff]:
    left = limits.commit_bytes_max
    for change in changes:
        section = _Section(reader, min(limits.file_bytes_max, left))
        # git prints a change of type as a deleted and an added file.
        for _ in range(2 if change.kind is ChangeKind.RETYPED else 1):
            section.read()
        left = max(0, left - section.stored_bytes)
        yield FileDiff(change, section.hunks, section.shown)


class _Section:
    """The patch of one file while it is read."""

    def __init__(self, reader: ChunkReader, bytes_max: int) -> None:
        self._reader = reader
        self._bytes_max = bytes_max
        self._hunks: list[Hunk[bytes]] = []
        self._binary = False
        self._read_bytes = 0

    @property
    def shown(self) -> HunkDetail:
        if self._binary:
            return HunkDetail.BINARY
        return HunkDetail.TOO_LARGE if self._read_bytes > self._bytes_max else HunkDetail.WHOLE

    @property
    def hunks(self) -> tuple[Hunk[bytes], ...]:
        return tuple(self._hunks) if self.shown is HunkDetail.WHOLE else ()

    @property
    def stored_bytes(self) -> int:
        return self._read_bytes if self.hunks else 0

    def read(self) -> None:
        start = self._reader.line()
        if not start.startswith(_START):
            raise make_git_output_error("expected the patch of a file", start)
        while self._reader.peek(_HEADER_BYTES).startswith(_HEADER):
            self._binary |= self._reader.line().startswith(_BINARY)
        while self._reader.peek(2) == b"@@":
            self._read_hunk(self._reader.line())

    def _read_hunk(self, head: bytes) -> None:
        match = _HUNK.fullmatch(head)
        if not match:
            raise make_git_output_error("expected a hunk", head)
        old_first, old_count, new_first, new_count = (1 if n is None else int(n) for n in match.groups())
        removed, added = self._read_lines(old_count, new_count)
        if self.shown is HunkDetail.WHOLE:
            self._hunks.append(Hunk(old_first, new_first, tuple(removed), tuple(added)))
        else:
            self._hunks.clear()

    def _read_lines(self, old_left: int, new_left: int) -> tuple[list[bytes], list[bytes]]:
        """Return the removed and the added lines."""
        removed: list[bytes] = []
        added: list[bytes] = []
        last: list[bytes] = []
        while old_left > 0 or new_left > 0 or self._reader.peek(1) == _NO_NEWLINE:
            raw = self._reader.line()
            if raw[:1] == _NO_NEWLINE:
                _strip_hunk_newline(last, raw)
                continue
            if raw[:1] not in (_REMOVED, _ADDED):
                raise make_git_output_error("expected a line of a hunk", raw)
            old_left -= raw[:1] == _REMOVED
            new_left -= raw[:1] == _ADDED
            last = removed if raw[:1] == _REMOVED else added
            self._read_bytes += len(raw)
            if self._read_bytes > self._bytes_max:
                last.clear()  # read to the end of the hunk, but store nothing more
            last.append(raw[1:] + b"\n")
        if old_left or new_left:
            raise make_git_output_error("the lines of a hunk do not match its header", last[-1] if last else b"")
        return removed, added


def _strip_hunk_newline(lines: list[bytes], marker: bytes) -> None:
    if not lines or not lines[-1].endswith(b"\n"):
        raise make_git_output_error("expected a line before its missing end", marker)
    lines[-1] = lines[-1][:-1]
