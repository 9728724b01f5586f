"""Which commit a submodule has checked out: git is asked in the submodule, as ``open`` and as carefully as anywhere."""

import os
from pathlib import Path

from custody.core.errors import CustodyError
from custody.core.ids import CommitSha
from custody.core.paths import RepoPath
from custody.git.chunk_reader import commit_sha
from custody.git.command import Git
from custody.git.discovery import RepositoryPlace, find_place
from custody.git.environment import open_environment
from custody.git.process import ProcessLimits
from custody.git.work_tree_file import NoWorkFile


def checked_out(
    outer: RepositoryPlace, folder: Path, path: RepoPath, limits: ProcessLimits
) -> CommitSha | NoWorkFile | None:
    """The commit that HEAD names in ``folder``; None when nothing is checked out there."""
    if not os.path.lexists(folder / ".git"):
        return None
    try:
        inner = find_place(folder, limits)
        if inner.work_tree != folder or inner.object_format != outer.object_format:
            return NoWorkFile(path, "is not a repository that could be a submodule here")
        git = Git(inner.common_dir, open_environment(os.environ, inner.git_dir), inner.common_dir, limits.brief())
        head = git.run("rev-parse", "--quiet", "--verify", "HEAD", fine=(0, 1))
    except CustodyError as error:
        return NoWorkFile(path, f"cannot be asked for its commit: {error.message}")
    return commit_sha(head.rstrip(b"\n")) if head else None
