"""Reading files of the work tree ourselves: git would run the repository's filters on them."""

import errno
import os
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from custody.core.errors import InputError, WorldError
from custody.core.paths import RepoPath
from custody.git.argument import typed_bytes
from custody.git.safe_file import FILE, FOLDER, read_regular

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
