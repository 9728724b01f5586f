"""Reading of work tree files without git, which would run filters, and without following links."""

import errno
import os
import stat
from contextlib import ExitStack
from pathlib import Path

from msgspec import Struct

from custody.core.errors import InputError, WorldError
from custody.core.paths import RepoPath
from custody.core.platform import CLOEXEC, DIRECTORY, NOCTTY, NOFOLLOW, NONBLOCK
from custody.git.failure import encode_git_argument

# Reading of untrusted files: a pipe must not block, and a huge file must not fill the memory.


FOLDER = os.O_RDONLY | DIRECTORY | NOFOLLOW | CLOEXEC
FILE = os.O_RDONLY | NONBLOCK | NOCTTY | CLOEXEC


def read_regular_file(descriptor: int, bytes_max: int) -> bytes | str:
    """Return the bytes of an open file, or why it cannot be read."""
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        return "is not a regular file"
    pieces, left = [], bytes_max + 1
    while left and (piece := os.read(descriptor, min(left, 1 << 20))):
        pieces.append(piece)
        left -= len(piece)
    return b"".join(pieces) if left else f"is larger than {bytes_max:,} bytes"


def read_small_file(path: Path, bytes_max: int) -> bytes | str:
    """Return the bytes of a file, or why it cannot be read; raises ``OSError``."""
    descriptor = os.open(path, FILE)
    try:
        return read_regular_file(descriptor, bytes_max)
    finally:
        os.close(descriptor)


FILE_BYTES_MAX = 64 << 20

_REASONS = {
    errno.ENOENT: "does not exist",
    errno.ENAMETOOLONG: "does not exist",  # it cannot exist
    errno.ENOTDIR: "is behind a symbolic link or a file",
    errno.ELOOP: "is a symbolic link",
    errno.ENXIO: "is not a regular file",
    errno.EACCES: "cannot be read: permission denied",
}


class WorkFile(Struct, frozen=True):
    """A regular file with its bytes on disk."""

    path: RepoPath
    content: bytes


class NoWorkFile(Struct, frozen=True):
    """Why ``path`` cannot be read."""

    path: RepoPath
    reason: str


def read_work_file(work_tree: Path, path: RepoPath, bytes_max: int = FILE_BYTES_MAX) -> WorkFile | NoWorkFile:
    """Read a regular file of the work tree, never through a symbolic link and never from ``.git``."""
    *parents, name = path.raw.split(b"/")
    if _belongs_to_git(path):
        return NoWorkFile(path, "belongs to git")
    with ExitStack() as opened:
        try:
            folder = _open_work_tree_entry(opened, work_tree, FOLDER, None)
            for parent in parents:
                folder = _open_work_tree_entry(opened, parent, FOLDER, folder)
            content = read_regular_file(_open_work_tree_entry(opened, name, FILE | NOFOLLOW, folder), bytes_max)
        except OSError as error:
            if error.errno in _REASONS:
                return NoWorkFile(path, _REASONS[error.errno])
            raise WorldError(f"cannot read '{path.display}': {error.strerror}") from error
    return NoWorkFile(path, content) if isinstance(content, str) else WorkFile(path, content)


def limit_work_file(file: WorkFile, bytes_max: int) -> WorkFile | NoWorkFile:
    """Return a file that was not read from disk, or why it would not have been read."""
    if _belongs_to_git(file.path):
        return NoWorkFile(file.path, "belongs to git")
    if len(file.content) > bytes_max:
        return NoWorkFile(file.path, f"is larger than {bytes_max:,} bytes")
    return file


def _belongs_to_git(path: RepoPath) -> bool:
    return any(part.lower() == b".git" for part in path.raw.split(b"/"))


def _open_work_tree_entry(opened: ExitStack, name: Path | bytes, flags: int, folder: int | None) -> int:
    descriptor = os.open(name, flags, dir_fd=folder)
    opened.callback(os.close, descriptor)
    return descriptor


def resolve_work_tree_path(work_tree: Path, typed: str, folder: Path) -> RepoPath:
    """Return the repository path of what a user typed in ``folder``.

    Raises ``InputError`` for paths outside the repository or through links inside it.
    """
    raw = encode_git_argument(typed)
    if not raw or b"\0" in raw:
        raise InputError(f"invalid path {typed!a}", hint="name a file of the repository")
    root = os.fsencode(work_tree)
    inside: list[bytes] | None = None
    outside = b"/"
    for part in os.path.join(os.path.realpath(os.fsencode(folder)), raw).split(b"/"):
        if part in (b"", b"."):
            continue
        if inside and os.path.islink(os.path.join(root, *inside)):
            raise InputError(f"{typed!a} leads through a symbolic link", hint="name the target of the link")
        if not inside and (inside is None or part == b".."):
            # Links outside the repository are trusted; git also resolves them.
            outside = os.path.join(outside if inside is None else root, part)
            inside = _split_path_below_root(root, os.path.realpath(outside))
        elif part == b"..":
            inside.pop()
        else:
            inside.append(part)
    if not inside:
        where = "outside the repository" if inside is None else "the repository root, not a file"
        raise InputError(f"{typed!a} is {where}", hint=f"the repository is '{work_tree}'")
    return RepoPath(b"/".join(inside))


def _split_path_below_root(root: bytes, real: bytes) -> list[bytes] | None:
    if real == root:
        return []
    return real[len(root) :].strip(b"/").split(b"/") if real.startswith(root.rstrip(b"/") + b"/") else None


# Stat of paths in the work tree, without following symbolic links.


class Disk:
    """Stat results below a folder; parents are cached."""

    def __init__(self, root: Path) -> None:
        self._root = os.fsencode(root)
        self._are_folders = {b"": True}

    def look(self, path: RepoPath) -> os.stat_result | NoWorkFile | None:
        """Return the result of ``lstat``, or why it fails; None if nothing is there."""
        try:
            return os.lstat(self.name(path)) if self._is_folder(path.raw.rpartition(b"/")[0]) else None
        except (FileNotFoundError, NotADirectoryError):
            return None  # missing, or deleted meanwhile
        except OSError as error:
            return NoWorkFile(path, f"cannot be read: {error.strerror}")

    def name(self, path: RepoPath) -> bytes:
        """Return the path for the operating system."""
        return self._root + b"/" + path.raw

    def _is_folder(self, raw: bytes) -> bool:
        if raw not in self._are_folders:
            parts = raw.split(b"/")
            # Iterative, from the top: a hostile index may name thousands of nested folders.
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
