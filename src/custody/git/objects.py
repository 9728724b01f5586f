"""Objects and trees: ``git cat-file`` kept open, ``git ls-tree``, their parsers, and loose objects written."""

import os
import re
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from hashlib import new
from itertools import islice
from pathlib import Path
from types import TracebackType
from typing import Generic, Self, TypeVar

from custody.core.errors import WorldError
from custody.core.ids import CommitSha
from custody.core.paths import RepoPath
from custody.git.chunk_reader import ChunkReader, object_id, repo_path, rubbish
from custody.git.command import AnswerStream, Child, Git
from custody.git.failure import full_id, pathspecs, printable, some_id

# Parsing ``git cat-file --batch`` and ``--batch-check``. Pure: pieces of bytes in, objects out.


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


# Writing loose objects, as git writes them: the id of an object is that of its content, whoever writes it.


SPACE = "free space there, or make it writable; nothing was lost"
OUR_NAME, OUR_EMAIL = "custody", "custody@localhost"
"""The author of commits that custody makes."""

_LEVEL = 1


def keep_loose(objects: Path, object_format: str, kind: str, content: bytes) -> str:
    """Keep an object below the folder ``objects``; its id."""
    whole = b"%s %d\0%s" % (kind.encode("ascii"), len(content), content)
    sha = new(object_format, whole, usedforsecurity=False).hexdigest()
    path = objects / sha[:2] / sha[2:]
    if not path.exists():
        write_at_once(path, zlib.compress(whole, _LEVEL))
    return sha


def commit_content(tree: str, parents: Iterable[str], message: str, at_seconds: int) -> bytes:
    """The content of a commit of custody's own."""
    head = "\n".join([f"tree {tree}", *(f"parent {full_id(parent)}" for parent in parents)])
    signature = f"{OUR_NAME} <{OUR_EMAIL}> {at_seconds} +0000"
    return f"{head}\nauthor {signature}\ncommitter {signature}\n\n{message}\n".encode()


def write_at_once(path: Path, content: bytes) -> None:
    """Put ``content`` at ``path`` in one step."""
    aside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(mode=0o700, exist_ok=True)
        with aside.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        aside.rename(path)
    except OSError as error:
        raise WorldError(f"cannot write to '{path.parent}': {error.strerror}", hint=SPACE) from error


# Parsing ``git ls-tree -z``: the files of a commit. Pure: pieces of bytes in, entries out.


_ENTRY = re.compile(rb"([0-7]{6}) (blob|tree|commit) ([0-9a-f]+)\t(.+)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class TreeEntry:
    """One name in a commit; ``kind`` is ``blob``, ``tree`` or ``commit`` (a submodule)."""

    path: RepoPath
    mode: int
    kind: str
    id: str


def parse_tree(chunks: Iterable[bytes]) -> Iterator[TreeEntry]:
    """The entries of ``git ls-tree -z`` in git's order (by bytes)."""
    reader = ChunkReader(chunks)
    while not reader.ended():
        raw = reader.until(b"\0")
        match = _ENTRY.fullmatch(raw)
        if not match:
            raise rubbish("an entry of a tree is expected", raw)
        mode, kind, sha, path = match.groups()
        yield TreeEntry(repo_path(path), int(mode, 8), kind.decode("ascii"), object_id(sha))


ParsedObject = TypeVar("ParsedObject")

_TOGETHER = 512
_NO_ID = b"0" * 40


@dataclass(frozen=True, slots=True)
class _BatchHeader:
    child: Child
    reader: ChunkReader


class ObjectReader(Generic[ParsedObject]):
    """Finds objects by id, by the unique start of one, or as ``FileAt``; git starts with the first question."""

    def __init__(self, git: Git, form: str, take: Callable[[ChunkReader], ParsedObject | NoObject]) -> None:
        self._git = git
        self._form = form
        self._take = take
        self._idle: list[_BatchHeader] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End git; a later question starts it again."""
        while self._idle:
            self._idle.pop().child.close()

    def read(self, name: str | FileAt) -> ParsedObject | NoObject:
        """The object called ``name``, or why there is none."""
        (answer,) = self.read_all((name,))
        return answer

    def read_all(self, names: Iterable[str | FileAt]) -> Iterator[ParsedObject | NoObject]:
        """One answer for each of ``names``, in their order, as they come; only one is in memory at a time."""
        # A line serves one reading at a time: questions asked while another is under way get a line of their own.
        line = self._idle.pop() if self._idle else self._connect()
        try:
            yield from self._converse(line, iter(names))
        except BaseException:
            line.child.close()  # answers may still be on the line, so nobody can use it again
            raise
        self._idle.append(line)

    def _converse(self, line: _BatchHeader, names: Iterator[str | FileAt]) -> Iterator[ParsedObject | NoObject]:
        while together := tuple(islice(names, _TOGETHER)):
            said_bytes = line.child.said_bytes()
            questions = [self._question(name) for name in together]
            line.child.ask(b"".join(questions))
            for name, question in zip(together, questions, strict=True):
                answer = self._take(line.reader)
                if isinstance(answer, NoObject):
                    complained = line.child.said_bytes() > said_bytes
                    damaged = complained and answer.reason == "missing" and self._is_damaged(question)
                    yield NoObject(str(name), "damaged" if damaged else answer.reason)
                else:
                    yield answer

    def _is_damaged(self, question: bytes) -> bool:
        """Whether git complains when it is asked this alone: it calls a damaged object missing, but not silently."""
        line = self._connect()
        with line.child:
            line.child.ask(question)
            self._take(line.reader)
            return line.child.said_bytes() > 0

    def _connect(self) -> _BatchHeader:
        child = self._git.connect("cat-file", self._form)
        return _BatchHeader(child, ChunkReader(child.chunks()))

    def _question(self, name: str | FileAt) -> bytes:
        if isinstance(name, str):
            return some_id(name).encode("ascii") + b"\n"
        raw = name.path.raw
        # cat-file reads lines and drops a carriage return at their end; these few names are looked up otherwise.
        if b"\n" in raw or raw.endswith(b"\r"):
            return self._looked_up(name) + b"\n"
        return full_id(name.commit).encode("ascii") + b":" + raw + b"\n"

    def _looked_up(self, name: FileAt) -> bytes:
        answer = self._git.run("ls-tree", "-z", "--full-tree", full_id(name.commit), "--", name.path.raw)
        return next((entry.id.encode("ascii") for entry in parse_tree((answer,))), _NO_ID)


# Asking ``git ls-tree`` and ``git cat-file``: what a commit holds, and what an object is.


def tree(git: Git, commit: CommitSha, paths: Iterable[RepoPath]) -> AnswerStream[TreeEntry]:
    """All files of ``commit``, or those below ``paths``."""
    return AnswerStream(git.start("ls-tree", "-r", "-z", "--full-tree", full_id(commit), *pathspecs(paths)), parse_tree)


def look_up(git: Git, names: Iterable[str | FileAt]) -> Iterator[ObjectInfo | NoObject]:
    """What the objects with these names are: one answer for each, in their order."""
    with ObjectReader(git, "--batch-check", read_info) as reader:
        yield from reader.read_all(names)


# Making trees of a list of files, as git writes them. Pure: entries in, contents of objects out.


FOLDER = 0o040000


@dataclass(frozen=True, slots=True)
class _OpenTree:
    """A folder some of whose entries are still to come."""

    name: bytes
    lines: list[bytes] = field(default_factory=list)


def write_trees(entries: Iterable[tuple[bytes, int, str]], keep: Callable[[bytes], str]) -> str:
    """The id of the tree with these paths, modes and ids; ``keep`` is given every tree's content and tells its id.

    In the order of whole paths the entries of each folder come in git's own order, and a folder's all together.
    """
    stack = [_OpenTree(b"")]
    for path, mode, sha in sorted(entries):
        *folders, name = path.split(b"/")
        _close(stack, _shared(stack, folders) + 1, keep)
        stack.extend(_OpenTree(folder) for folder in folders[len(stack) - 1 :])
        stack[-1].lines.append(_line(mode, name, sha))
    _close(stack, 1, keep)
    return keep(b"".join(stack[0].lines))


def folders_of(path: bytes) -> Iterator[bytes]:
    """The folders around ``path``, from the top.

    >>> list(folders_of(b"a/b/c"))
    [b'a', b'a/b']
    """
    end = path.find(b"/")
    while end >= 0:
        yield path[:end]
        end = path.find(b"/", end + 1)


def _shared(stack: list[_OpenTree], folders: list[bytes]) -> int:
    count = 0
    for opened, folder in zip(stack[1:], folders, strict=False):
        if opened.name != folder:
            break
        count += 1
    return count


def _close(stack: list[_OpenTree], count: int, keep: Callable[[bytes], str]) -> None:
    """Leave only the outer ``count`` folders open."""
    while len(stack) > count:
        done = stack.pop()
        stack[-1].lines.append(_line(FOLDER, done.name, keep(b"".join(done.lines))))


def _line(mode: int, name: bytes, sha: str) -> bytes:
    return b"%o %s\0%s" % (mode, name, bytes.fromhex(sha))
