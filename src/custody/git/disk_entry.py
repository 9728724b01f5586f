"""What is at a path of the work tree, without following a symbolic link on the way: behind one, nothing is there."""

import os
import stat
from pathlib import Path

from custody.core.paths import RepoPath
from custody.git.work_tree_file import NoWorkFile


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
