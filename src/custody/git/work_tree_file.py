"""Files of the work tree, read by ourselves: git would run the repository's filters, and links may lead elsewhere."""

import errno
import os
import stat
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from custody.core.errors import InputError, WorldError
from custody.core.paths import RepoPath
from custody.git.failure import typed_bytes

# Reading one file that others may have prepared: a pipe must not make us wait, nor a huge file fill the memory.


FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
FILE = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


def read_regular(descriptor: int, bytes_max: int) -> bytes | str:
    """The bytes of an open file, or why they are not to be had."""
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        return "is not a regular file"
    pieces, left = [], bytes_max + 1
    while left and (piece := os.read(descriptor, min(left, 1 << 20))):
        pieces.append(piece)
        left -= len(piece)
    return b"".join(pieces) if left else f"is larger than {bytes_max} bytes"


def read_small_file(path: Path, bytes_max: int) -> bytes | str:
    """The bytes of the file ``path``, or why they are not to be had; an ``OSError`` is left to the caller."""
    descriptor = os.open(path, FILE)
    try:
        return read_regular(descriptor, bytes_max)
    finally:
        os.close(descriptor)


FILE_BYTES_MAX = 64 << 20

_REASONS = {
    errno.ENOENT: "does not exist",
    errno.ENAMETOOLONG: "does not exist",  # nor could it
    errno.ENOTDIR: "lies behind a symbolic link or a file",
    errno.ELOOP: "is a symbolic link",
    errno.ENXIO: "is not a regular file",
    errno.EACCES: "may not be read",
}


@dataclass(frozen=True, slots=True)
class WorkFile:
    """The bytes of a regular file as they are on disk."""

    path: RepoPath
    content: bytes


@dataclass(frozen=True, slots=True)
class NoWorkFile:
    """Why there is nothing to read at ``path``."""

    path: RepoPath
    reason: str


def read_work_file(work_tree: Path, path: RepoPath, bytes_max: int = FILE_BYTES_MAX) -> WorkFile | NoWorkFile:
    """The regular file ``path`` below ``work_tree``: never through a symbolic link, never out of ``.git``."""
    *parents, name = path.raw.split(b"/")
    if any(part.lower() == b".git" for part in (*parents, name)):
        return NoWorkFile(path, "belongs to git")
    with ExitStack() as opened:
        try:
            folder = _open(opened, work_tree, FOLDER, None)
            for parent in parents:
                folder = _open(opened, parent, FOLDER, folder)
            content = read_regular(_open(opened, name, FILE | os.O_NOFOLLOW, folder), bytes_max)
        except OSError as error:
            if error.errno in _REASONS:
                return NoWorkFile(path, _REASONS[error.errno])
            raise WorldError(f"cannot read '{path.display}': {error.strerror}") from error
    return NoWorkFile(path, content) if isinstance(content, str) else WorkFile(path, content)


def _open(opened: ExitStack, name: Path | bytes, flags: int, folder: int | None) -> int:
    descriptor = os.open(name, flags, dir_fd=folder)
    opened.callback(os.close, descriptor)
    return descriptor


def path_in_work_tree(work_tree: Path, typed: str, folder: Path) -> RepoPath:
    """What a user typed in ``folder`` as a path of the repository; outside it or through links inside it is refused."""
    raw = typed_bytes(typed)
    if not raw or b"\0" in raw:
        raise InputError(f"{typed!a} is not a path", hint="name a file of the repository")
    root = os.fsencode(work_tree)
    inside: list[bytes] | None = None
    outside = b"/"
    for part in os.path.join(os.path.realpath(os.fsencode(folder)), raw).split(b"/"):
        if part in (b"", b"."):
            continue
        if inside and os.path.islink(os.path.join(root, *inside)):
            raise InputError(f"{typed!a} leads through a symbolic link", hint="name the file where it really is")
        if not inside and (inside is None or part == b".."):
            # Links on the way to the repository are the user's own; git also names its folders without them.
            outside = os.path.join(outside if inside is None else root, part)
            inside = _below(root, os.path.realpath(outside))
        elif part == b"..":
            inside.pop()
        else:
            inside.append(part)
    if not inside:
        where = "outside the repository" if inside is None else "the repository's root, not a file in it"
        raise InputError(f"{typed!a} is {where}", hint=f"the repository is '{work_tree}'")
    return RepoPath(b"/".join(inside))


def _below(root: bytes, real: bytes) -> list[bytes] | None:
    if real == root:
        return []
    return real[len(root) :].strip(b"/").split(b"/") if real.startswith(root.rstrip(b"/") + b"/") else None


# What is at a path of the work tree, without following a symbolic link on the way: behind one, nothing is there.


class Disk:
    """Looks at paths below one folder; a parent is looked at once."""

    def __init__(self, root: Path) -> None:
        self._root = os.fsencode(root)
        self._are_folders = {b"": True}

    def look(self, path: RepoPath) -> os.stat_result | NoWorkFile | None:
        """What ``lstat`` says, or why it says nothing; None when there is nothing."""
        try:
            return os.lstat(self.name(path)) if self._is_folder(path.raw.rpartition(b"/")[0]) else None
        except (FileNotFoundError, NotADirectoryError):
            return None  # never there, or gone since we looked at its parent
        except OSError as error:
            return NoWorkFile(path, f"cannot be looked at: {error.strerror}")

    def name(self, path: RepoPath) -> bytes:
        """``path`` as the operating system knows it."""
        return self._root + b"/" + path.raw

    def _is_folder(self, raw: bytes) -> bool:
        if raw not in self._are_folders:
            parts = raw.split(b"/")
            # From the top down and one by one: a hostile index may name thousands of folders in each other.
            above = True
            for count in range(1, len(parts) + 1):
                above = above and self._is_folder_below_a_folder(b"/".join(parts[:count]))
            self._are_folders[raw] = above
        return self._are_folders[raw]

    def _is_folder_below_a_folder(self, raw: bytes) -> bool:
        if raw not in self._are_folders:
            try:
                self._are_folders[raw] = stat.S_ISDIR(os.lstat(self._root + b"/" + raw).st_mode)
            except FileNotFoundError:
                self._are_folders[raw] = False
        return self._are_folders[raw]
