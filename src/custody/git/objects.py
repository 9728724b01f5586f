"""Objects and trees: ``git cat-file`` and ``git ls-tree`` with their parsers, and writing of loose objects."""

import os
import re
import zlib
from collections.abc import Callable, Iterable, Iterator
from hashlib import new
from itertools import islice
from pathlib import Path
from types import MappingProxyType
from typing import Generic, TypeVar

from msgspec import Struct, field

from custody.core.errors import WorldError
from custody.core.ids import CommitSha
from custody.core.paths import RepoPath
from custody.core.patterns import lazy_pattern
from custody.git.chunk_reader import ChunkReader, make_git_output_error, parse_object_id, parse_repo_path
from custody.git.command import AnswerStream, Child, Closeable, Git
from custody.git.failure import check_full_object_id, check_object_id_prefix, escape_git_output, to_pathspec_arguments

# Parsing of ``git cat-file --batch`` and ``--batch-check``. Pure.


_PRESENT = lazy_pattern(rb"([0-9a-f]{40}|[0-9a-f]{64}) (blob|tree|commit|tag) (\d{1,20})")
_ABSENT = lazy_pattern(rb"(.+) (missing|ambiguous|submodule)", re.DOTALL)


class FileAt(Struct, frozen=True):
    """The name of the contents of ``path`` in ``commit``."""

    commit: CommitSha
    path: RepoPath

    def __str__(self) -> str:
        return f"{self.commit}:{self.path.display}"


class ObjectInfo(Struct, frozen=True):
    """An object without its contents; ``kind`` is ``blob``, ``tree``, ``commit`` or ``tag``."""

    id: str
    kind: str
    size_bytes: int


class Object(Struct, frozen=True):
    """An object with its contents."""

    info: ObjectInfo
    content: bytes


class NoObject(Struct, frozen=True):
    """Why an object cannot be read: missing, damaged, ambiguous, submodule or too large; ``name`` is for people."""

    name: str
    reason: str


def read_object_info(reader: ChunkReader) -> ObjectInfo | NoObject:
    """Read one answer without contents."""
    line = reader.line()
    if present := _PRESENT.fullmatch(line):
        return ObjectInfo(present[1].decode("ascii"), present[2].decode("ascii"), int(present[3]))
    if absent := _ABSENT.fullmatch(line):
        return NoObject(escape_git_output(absent[1]), absent[2].decode("ascii"))
    raise make_git_output_error("expected an object", line)


def read_object(reader: ChunkReader, bytes_max: int) -> Object | NoObject:
    """Read one answer; contents over ``bytes_max`` are skipped, never held in memory."""
    info = read_object_info(reader)
    if isinstance(info, NoObject):
        return info
    if info.size_bytes > bytes_max:
        reader.skip(info.size_bytes)
        answer: Object | NoObject = NoObject(info.id, "too large")
    else:
        answer = Object(info, reader.read_exactly(info.size_bytes))
    if reader.read_exactly(1) != b"\n":
        raise make_git_output_error("expected the end of an object", info.id.encode())
    return answer


# Writing of loose objects, as git writes them.


SPACE = "free space, or make the folder writable; nothing was lost"
OUR_NAME, OUR_EMAIL = "custody", "custody@localhost"
"""The author of commits that custody makes."""

_COMPRESSION_LEVEL = 1
"""Speed matters more than size: most objects are read once."""


def write_loose_object(objects: Path, object_format: str, kind: str, content: bytes) -> str:
    """Write an object into the folder ``objects``, and return its id."""
    sha = compute_object_id(object_format, kind, content)
    path = objects / sha[:2] / sha[2:]
    if not path.exists():
        write_file_atomically(path, compress_loose_object(kind, content))
    return sha


def compute_object_id(object_format: str, kind: str, content: bytes) -> str:
    """Return the id of an object."""
    digest = new(object_format, _encode_object_header(kind, content), usedforsecurity=False)
    digest.update(content)
    return digest.hexdigest()


def compress_loose_object(kind: str, content: bytes) -> bytes:
    """Return the bytes of a loose object file."""
    return zlib.compress(_encode_object_header(kind, content) + content, _COMPRESSION_LEVEL)


def _encode_object_header(kind: str, content: bytes) -> bytes:
    return b"%s %d\0" % (kind.encode("ascii"), len(content))


def format_commit_content(tree: str, parents: Iterable[str], message: str, at_seconds: int) -> bytes:
    """Return the content of a commit by custody."""
    head = "\n".join([f"tree {tree}", *(f"parent {check_full_object_id(parent)}" for parent in parents)])
    signature = f"{OUR_NAME} <{OUR_EMAIL}> {at_seconds} +0000"
    return f"{head}\nauthor {signature}\ncommitter {signature}\n\n{message}\n".encode()


def write_file_atomically(path: Path, content: bytes) -> None:
    """Write ``content`` to ``path`` atomically."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(mode=0o700, exist_ok=True)
        with temporary.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        temporary.rename(path)
    except OSError as error:
        raise WorldError(f"cannot write to '{path.parent}': {error.strerror}", hint=SPACE) from error


# Parsing of ``git ls-tree -z``: the files of a commit. Pure.


_ENTRY = lazy_pattern(rb"([0-7]{6}) (blob|tree|commit) ([0-9a-f]+)\t(.+)", re.DOTALL)


class TreeEntry(Struct, frozen=True):
    """A path in a commit; ``kind`` is ``blob``, ``tree`` or ``commit`` (a submodule)."""

    path: RepoPath
    mode: int
    kind: str
    id: str


def parse_tree_entries(chunks: Iterable[bytes]) -> Iterator[TreeEntry]:
    """Yield the entries of ``git ls-tree -z`` in git's order (by bytes)."""
    reader = ChunkReader(chunks)
    while not reader.is_at_end():
        raw = reader.read_until(b"\0")
        match = _ENTRY.fullmatch(raw)
        if not match:
            raise make_git_output_error("expected an entry of a tree", raw)
        mode, kind, sha, path = match.groups()
        yield TreeEntry(parse_repo_path(path), int(mode, 8), kind.decode("ascii"), parse_object_id(sha))


_KINDS = MappingProxyType({0o040000: "tree", 0o160000: "commit"})


def parse_tree_object(content: bytes, id_bytes: int) -> Iterator[TreeEntry]:
    r"""Yield the entries of one folder, from a tree object with ids of this length.

    >>> [(entry.path.display, entry.kind) for entry in parse_tree_object(b"40000 src\0" + bytes(20), 20)]
    [('src', 'tree')]
    """
    at = 0
    while at < len(content):
        space, end = content.find(b" ", at), content.find(b"\0", at)
        if not at < space < end - 1 <= len(content) - 2 - id_bytes:
            raise make_git_output_error("expected an entry of a tree", content[at : at + 80])
        mode, path = int(content[at:space], 8), parse_repo_path(content[space + 1 : end])
        at = end + 1 + id_bytes
        yield TreeEntry(path, mode, _KINDS.get(mode, "blob"), content[end + 1 : at].hex())


ParsedObject = TypeVar("ParsedObject")

_BATCH = 512
_NO_ID = b"0" * 40


class _BatchConnection(Struct, frozen=True):
    child: Child
    reader: ChunkReader


class ObjectConnections(Closeable):
    """The idle git processes of one repository's readers, shared by all readers of one command."""

    def __init__(self) -> None:
        self._by_option: dict[str, list[_BatchConnection]] = {}

    def list_idle(self, option: str) -> list[_BatchConnection]:
        """Return the idle processes with this option; a reader takes one and puts it back."""
        return self._by_option.setdefault(option, [])

    def close(self) -> None:
        """End all of them."""
        for idle in self._by_option.values():
            while idle:
                idle.pop().child.close()


class ObjectReader(Closeable, Generic[ParsedObject]):
    """Reads objects by id, by a unique prefix, or as ``FileAt``; git starts with the first request.

    With ``shared``, its process is one of these, and stays when the reader is closed.
    """

    def __init__(
        self,
        git: Git,
        option: str,
        parse: Callable[[ChunkReader], ParsedObject | NoObject],
        shared: ObjectConnections | None = None,
    ) -> None:
        self._git = git
        self._option = option
        self._parse = parse
        self._connections = ObjectConnections() if shared is None else shared
        self._idle = self._connections.list_idle(option)
        self._is_shared = shared is not None

    def close(self) -> None:
        """End git, unless it is shared; a later request starts it again."""
        if not self._is_shared:
            self._connections.close()

    def read(self, name: str | FileAt) -> ParsedObject | NoObject:
        """Return the object ``name``, or why there is none."""
        (answer,) = self.read_all((name,))
        return answer

    def read_all(self, names: Iterable[str | FileAt]) -> Iterator[ParsedObject | NoObject]:
        """Yield one answer for each of ``names``, in order; only one is in memory at a time."""
        # A connection serves one reading at a time; a concurrent reading gets its own.
        connection = self._idle.pop() if self._idle else self._connect()
        try:
            yield from self._read_batches(connection, iter(names))
        except BaseException:
            connection.child.close()  # unread answers make it unusable
            raise
        self._idle.append(connection)

    def _read_batches(
        self, connection: _BatchConnection, names: Iterator[str | FileAt]
    ) -> Iterator[ParsedObject | NoObject]:
        while batch := tuple(islice(names, _BATCH)):
            stderr_bytes = connection.child.count_stderr_bytes()
            lines = [self._make_request_line(name) for name in batch]
            connection.child.request(b"".join(lines))
            for name, line in zip(batch, lines, strict=True):
                answer = self._parse(connection.reader)
                if isinstance(answer, NoObject):
                    has_complained = connection.child.count_stderr_bytes() > stderr_bytes
                    damaged = has_complained and answer.reason == "missing" and self._is_damaged(line)
                    yield NoObject(str(name), "damaged" if damaged else answer.reason)
                else:
                    yield answer

    def _is_damaged(self, line: bytes) -> bool:
        """Return whether git prints an error for this request alone: it calls a damaged object missing."""
        connection = self._connect()
        with connection.child:
            connection.child.request(line)
            self._parse(connection.reader)
            return connection.child.count_stderr_bytes() > 0

    def _connect(self) -> _BatchConnection:
        child = self._git.connect("cat-file", self._option)
        return _BatchConnection(child, ChunkReader(child.chunks()))

    def _make_request_line(self, name: str | FileAt) -> bytes:
        if isinstance(name, str):
            return check_object_id_prefix(name).encode("ascii") + b"\n"
        raw = name.path.raw
        # cat-file reads lines and drops a trailing carriage return; these rare names are resolved otherwise.
        if b"\n" in raw or raw.endswith(b"\r"):
            return self._resolve_path_id(name) + b"\n"
        return check_full_object_id(name.commit).encode("ascii") + b":" + raw + b"\n"

    def _resolve_path_id(self, name: FileAt) -> bytes:
        # As of cat-file, the answer about a commit that is not here is that the file is missing.
        commit, fails = check_full_object_id(name.commit), 128
        answer = self._git.run("ls-tree", "-z", "--full-tree", commit, "--", name.path.raw, statuses=(0, fails))
        return next((entry.id.encode("ascii") for entry in parse_tree_entries((answer,))), _NO_ID)


# Calls of ``git ls-tree`` and ``git cat-file``.


def list_commit_tree(git: Git, commit: CommitSha, paths: Iterable[RepoPath]) -> AnswerStream[TreeEntry]:
    """List all files of ``commit``, or those below ``paths``."""
    return AnswerStream(
        git.start("ls-tree", "-r", "-z", "--full-tree", check_full_object_id(commit), *to_pathspec_arguments(paths)),
        parse_tree_entries,
    )


def look_up_objects(
    git: Git, names: Iterable[str | FileAt], shared: ObjectConnections | None = None
) -> Iterator[ObjectInfo | NoObject]:
    """Yield the kind and size of each object, or why there is none, in the order of ``names``."""
    with ObjectReader(git, "--batch-check", read_object_info, shared) as reader:
        yield from reader.read_all(names)


# Tree objects of a list of files, as git writes them. Pure.


FOLDER = 0o040000


class _OpenTree(Struct, frozen=True):
    """A folder whose entries are not complete yet."""

    name: bytes
    lines: list[bytes] = field(default_factory=list)


def write_tree_objects(entries: Iterable[tuple[bytes, int, str]], write: Callable[[bytes], str]) -> str:
    """Return the id of the tree of these paths, modes and ids; ``write`` stores the content of a tree, returns its id.

    Sorted by whole paths, the entries of each folder are in git's order and adjacent.
    """
    stack = [_OpenTree(b"")]
    for path, mode, sha in sorted(entries):
        *folders, name = path.split(b"/")
        _close_open_trees(stack, _count_shared_folders(stack, folders) + 1, write)
        stack.extend(_OpenTree(folder) for folder in folders[len(stack) - 1 :])
        stack[-1].lines.append(_encode_tree_entry(mode, name, sha))
    _close_open_trees(stack, 1, write)
    return write(b"".join(stack[0].lines))


def list_tree_folders(path: bytes) -> Iterator[bytes]:
    """Yield the folders that contain ``path``, from the top.

    >>> list(list_tree_folders(b"a/b/c"))
    [b'a', b'a/b']
    """
    end = path.find(b"/")
    while end >= 0:
        yield path[:end]
        end = path.find(b"/", end + 1)


def _count_shared_folders(stack: list[_OpenTree], folders: list[bytes]) -> int:
    count = 0
    for open_tree, folder in zip(stack[1:], folders, strict=False):
        if open_tree.name != folder:
            break
        count += 1
    return count


def _close_open_trees(stack: list[_OpenTree], count: int, write: Callable[[bytes], str]) -> None:
    """Leave only the outer ``count`` folders open."""
    while len(stack) > count:
        tree = stack.pop()
        stack[-1].lines.append(_encode_tree_entry(FOLDER, tree.name, write(b"".join(tree.lines))))


def _encode_tree_entry(mode: int, name: bytes, sha: str) -> bytes:
    return b"%o %s\0%s" % (mode, name, bytes.fromhex(sha))
