"""Parsing ``git diff-tree --raw -p -z``: the lines a commit removed and added. Pure: pieces of bytes in, diffs out.

Names come from the raw entries, which are exact bytes; the patches follow in the same order, so that nothing is ever
read from a ``diff --git`` line, where two names with spaces cannot be told apart.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

from custody.core.ids import CommitSha
from custody.core.lines import Lines
from custody.git.chunk_reader import ChunkReader, commit_sha, rubbish
from custody.git.raw_diff import ChangeKind, FileChange, parse_raw_entries

_HUNK = re.compile(rb"@@ -(\d{1,10})(?:,(\d{1,10}))? \+(\d{1,10})(?:,(\d{1,10}))? @@.*", re.DOTALL)
_START = b"diff --git "
_NO_NEWLINE = b"\\"
_BINARY = b"Binary files "
_HEADER = (
    *(b"old mode", b"new mode", b"new file", b"deleted ", b"copy ", b"rename ", b"similarity", b"dissimilarity"),
    *(b"index ", b"--- ", b"+++ ", _BINARY),
)
_HEADER_BYTES = max(map(len, _HEADER))
_MEGABYTE = 1 << 20


class HunkSide(Enum):
    """Whether a line of a hunk is on both sides, only before or only after."""

    KEPT = b" "
    REMOVED = b"-"
    ADDED = b"+"


_SIGNS = {sign.value: sign for sign in HunkSide}


class HunkLine(NamedTuple):
    """A line with its own line feed; only the last line of a file can be without."""

    sign: HunkSide
    text: bytes


@dataclass(frozen=True, slots=True)
class Hunk:
    """A stretch that changed. Where a count is 0, nothing is there and the first is the line before (0: the start)."""

    old_first: int
    old_count: int
    new_first: int
    new_count: int
    lines: tuple[HunkLine, ...]

    @property
    def removed(self) -> tuple[bytes, ...]:
        """The lines that are gone, in order."""
        return tuple(text for sign, text in self.lines if sign is HunkSide.REMOVED)

    @property
    def added(self) -> tuple[bytes, ...]:
        """The lines that are new, in order."""
        return tuple(text for sign, text in self.lines if sign is HunkSide.ADDED)

    @property
    def new_lines(self) -> Lines | None:
        """Where the hunk stands after the change; None when nothing is left of it."""
        return Lines(self.new_first, self.new_first + self.new_count - 1) if self.new_count else None

    @property
    def old_lines(self) -> Lines | None:
        """Where the hunk stood before the change; None when nothing was there."""
        return Lines(self.old_first, self.old_first + self.old_count - 1) if self.old_count else None


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


@dataclass(frozen=True, slots=True)
class CommitDiff:
    """The files that ``commit`` changed against ``parent``, in git's order; None: its own first parent, if any."""

    commit: CommitSha
    files: tuple[FileDiff, ...]
    parent: CommitSha | None = None


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
        yield CommitDiff(commit, tuple(_files(reader, changes, limits)))


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
        lines = self._read_lines(old_count, new_count)
        if self.shown is HunkDetail.WHOLE:
            self._hunks.append(Hunk(old_first, old_count, new_first, new_count, tuple(lines)))
        else:
            self._hunks.clear()

    def _read_lines(self, old_left: int, new_left: int) -> list[HunkLine]:
        lines: list[HunkLine] = []
        while old_left > 0 or new_left > 0 or self._reader.peek(1) == _NO_NEWLINE:
            raw = self._reader.line()
            if raw[:1] == _NO_NEWLINE:
                _cut_newline(lines, raw)
                continue
            sign = _SIGNS.get(raw[:1])
            if sign is None:
                raise rubbish("a line of a hunk is expected", raw)
            old_left -= sign is not HunkSide.ADDED
            new_left -= sign is not HunkSide.REMOVED
            self._seen_bytes += len(raw)
            if self._seen_bytes > self._bytes_max:
                lines.clear()  # read on to the end of the hunk, but keep nothing more
            lines.append(HunkLine(sign, raw[1:] + b"\n"))
        if old_left or new_left:
            raise rubbish("a hunk has other lines than its head says", lines[-1].text if lines else b"")
        return lines


def _cut_newline(lines: list[HunkLine], marker: bytes) -> None:
    if not lines or not lines[-1].text.endswith(b"\n"):
        raise rubbish("a line is expected before its missing end", marker)
    lines[-1] = HunkLine(lines[-1].sign, lines[-1].text[:-1])
