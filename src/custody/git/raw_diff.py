"""Parsing ``git diff-tree --raw -z``: which files a commit changed. Pure: pieces of bytes in, changes out."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Generic, TypeAlias, TypeVar

from custody.core.ids import BlobSha, CommitSha
from custody.core.paths import RepoPath
from custody.git.chunk_reader import ChunkReader, blob_sha, commit_sha, repo_path, rubbish

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
