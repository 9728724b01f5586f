"""Refuse paths that a patch must not touch: of git itself, behind links, in submodules, or equal but for their case."""

import os
import stat
import unicodedata
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path

from custody.core.paths import RepoPath

_IGNORED = frozenset("\u200c\u200d\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u206a\u206b\u206c\u206d\u206e\u206f\ufeff")
"""Characters that a file system may ignore in names."""
_SHORT_NAMES = frozenset(("git~1", "git~2", "git~3", "git~4"))


class PathGuard:
    """Checks paths of one work tree; folders are listed once."""

    def __init__(self, work_tree: Path) -> None:
        self._root = os.fsencode(work_tree)
        self._names: dict[bytes, frozenset[bytes]] = {}
        self._folded: dict[bytes, Mapping[str, list[bytes]]] = {}

    def refuse(self, path: RepoPath) -> str | None:
        """Return why a path must not be changed; None if it may be."""
        parts = path.raw.split(b"/")
        if any(is_git_name(part) for part in parts):
            return "belongs to git"
        folder = b""
        for at, part in enumerate(parts):
            twin = self._find_twin(folder, part)
            if twin is not None:
                return f"differs only by case from '{RepoPath(twin).display}'"
            if part not in self._list(folder):
                return None  # what is not there hides nothing
            folder = folder + b"/" + part if folder else part
            found = os.lstat(self._root + b"/" + folder)
            is_last = at == len(parts) - 1
            if stat.S_ISLNK(found.st_mode):
                return "is a symbolic link" if is_last else "is behind a symbolic link"
            if not is_last and not stat.S_ISDIR(found.st_mode):
                return f"is below the file '{RepoPath(folder).display}'"
            if is_last and not stat.S_ISREG(found.st_mode):
                return "is not a regular file"
            if stat.S_ISDIR(found.st_mode) and b".git" in self._list(folder):
                return "is in a submodule or another repository"
        return None

    def exists(self, path: RepoPath) -> bool:
        """Return whether anything has this path, with exactly these bytes."""
        return os.path.lexists(self._root + b"/" + path.raw) and path.name in self._list(path.raw.rpartition(b"/")[0])

    def read_mode(self, path: RepoPath) -> int:
        """Return the mode of a regular file as git stores it."""
        return 0o100755 if os.lstat(self._root + b"/" + path.raw).st_mode & 0o100 else 0o100644

    def _find_twin(self, folder: bytes, part: bytes) -> bytes | None:
        """Return another path in a folder that some file system takes for the same."""
        if folder not in self._folded:
            folded: defaultdict[str, list[bytes]] = defaultdict(list)
            for name in sorted(self._list(folder)):
                folded[fold_name(name)].append(name)
            self._folded[folder] = folded
        twin = next((name for name in self._folded[folder].get(fold_name(part), ()) if name != part), None)
        return twin if twin is None or not folder else folder + b"/" + twin

    def _list(self, folder: bytes) -> frozenset[bytes]:
        if folder not in self._names:
            try:
                self._names[folder] = frozenset(os.listdir(self._root + b"/" + folder if folder else self._root))
            except (FileNotFoundError, NotADirectoryError):
                self._names[folder] = frozenset()
        return self._names[folder]


def fold_name(name: bytes) -> str:
    """Return a name as file systems that ignore case and composition compare it.

    >>> fold_name("É".encode()) == fold_name("e\\u0301".encode())
    True
    """
    text = name.decode("utf-8", "surrogateescape")
    return unicodedata.normalize("NFC", unicodedata.normalize("NFD", text).casefold())


def is_git_name(part: bytes) -> bool:
    """Return whether any file system takes a part of a path for ``.git``.

    >>> [is_git_name(part) for part in (b".GIT", b".git. ", b"git~1", b".git::$INDEX_ALLOCATION", b".gitignore")]
    [True, True, True, True, False]
    """
    text = part.decode("utf-8", "surrogateescape")
    plain = "".join(character for character in text if character not in _IGNORED).partition(":")[0]
    folded = plain.rstrip(". ").casefold()
    return folded == ".git" or folded in _SHORT_NAMES
