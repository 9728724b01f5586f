"""Parsing ``git cat-file --batch`` and ``--batch-check``. Pure: pieces of bytes in, objects out."""

import re
from dataclasses import dataclass

from custody.core.ids import CommitSha
from custody.core.paths import RepoPath
from custody.git.chunk_reader import ChunkReader, rubbish
from custody.git.failure import printable

_FOUND = re.compile(rb"([0-9a-f]{40}|[0-9a-f]{64}) (blob|tree|commit|tag) (\d{1,20})")
_ABSENT = re.compile(rb"(.+) (missing|ambiguous|submodule)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class FileAt:
    """The contents of ``path`` in ``commit``, to be looked up by that name."""

    commit: CommitSha
    path: RepoPath

    def __str__(self) -> str:
        return f"{self.commit}:{self.path.display}"


@dataclass(frozen=True, slots=True)
class ObjectInfo:
    """An object without its contents; ``kind`` is ``blob``, ``tree``, ``commit`` or ``tag``."""

    id: str
    kind: str
    size_bytes: int


@dataclass(frozen=True, slots=True)
class Object:
    """An object with its contents."""

    info: ObjectInfo
    content: bytes


@dataclass(frozen=True, slots=True)
class NoObject:
    """Why there is none: missing, damaged, ambiguous, submodule or too large; ``name`` is for people."""

    name: str
    reason: str


def read_info(reader: ChunkReader) -> ObjectInfo | NoObject:
    """Take one answer without contents off ``reader``."""
    line = reader.line()
    if found := _FOUND.fullmatch(line):
        return ObjectInfo(found[1].decode("ascii"), found[2].decode("ascii"), int(found[3]))
    if absent := _ABSENT.fullmatch(line):
        return NoObject(printable(absent[1]), absent[2].decode("ascii"))
    raise rubbish("an object is expected", line)


def read_object(reader: ChunkReader, bytes_max: int) -> Object | NoObject:
    """Take one answer off ``reader``; contents over ``bytes_max`` are passed over, never held."""
    info = read_info(reader)
    if isinstance(info, NoObject):
        return info
    if info.size_bytes > bytes_max:
        reader.skip(info.size_bytes)
        answer: Object | NoObject = NoObject(info.id, "too large")
    else:
        answer = Object(info, reader.exactly(info.size_bytes))
    if reader.exactly(1) != b"\n":
        raise rubbish("the end of an object is expected", info.id.encode())
    return answer
