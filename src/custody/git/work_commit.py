"""A commit of the work tree as it is on disk, in a private repository beside the user's.

This file is the only one that decides what such a commit holds:

* a tracked file as it is on disk, a link as a link, a submodule as its HEAD; what is not there is not in the commit;
* a tracked file that git does not look at (outside a sparse checkout, said to be unchanged) as the index has it;
* an untracked file that is not ignored;
* line endings as git would commit them (``line_endings``). Other conversions (filters, ``ident``, other encodings) are
  never made: such a file is as the index has it, and named unless its stat says that it has not changed.

What cannot be told is left out and named: a tracked file then stays as the index has it, an untracked one is missing.
"""

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from custody.core.errors import GitError
from custody.core.ids import CommitSha
from custody.git.command import Git
from custody.git.commit_object import parse_commit
from custody.git.discovery import RepositoryPlace
from custody.git.disk_entry import Disk
from custody.git.object_parser import NoObject, Object, ObjectInfo
from custody.git.object_reader import ObjectReader
from custody.git.private_repository import PrivateRepository, WorkTreePatterns, a_private_repository
from custody.git.process import ProcessLimits
from custody.git.tree_objects import write_trees
from custody.git.work_tree_file import NoWorkFile
from custody.git.work_tree_index import (
    IndexedFile,
    PendingFile,
    SkippedFile,
    WorkTreeScan,
    tracked_files,
    untracked_files,
)
from custody.git.work_tree_reader import WorkLimits, WorkReader
from custody.git.work_tree_settings import patterns, user_patterns, work_settings

NOBODY = b"Not Committed Yet <not.committed.yet>"
"""Who git blame says wrote what is only in the work tree."""
MESSAGE = b"the work tree as it is on disk\n"


@dataclass(frozen=True, slots=True)
class WorkCommitRequest:
    """The work tree to be made a commit of; ``parent`` is what HEAD names, if anything."""

    place: RepositoryPlace
    work_tree: Path
    parent: CommitSha | None
    process_limits: ProcessLimits
    limits: WorkLimits


@dataclass(frozen=True, slots=True)
class WorkTreeCommit:
    """The commit, the folder with what is new of its objects, and what is not in it and why, in the order of paths."""

    objects: Path
    commit: CommitSha
    left_out: tuple[NoWorkFile, ...]


@dataclass(frozen=True, slots=True)
class SealedObjects:
    """The objects that the user's repository has."""

    objects: ObjectReader[Object]
    look_up: Callable[[Iterable[str]], Iterator[ObjectInfo | NoObject]]


@contextmanager
def work_commit(asked: WorkCommitRequest, user: Git, sealed: SealedObjects) -> Iterator[WorkTreeCommit]:
    """Make the commit; ``user`` is the ``open`` git of the repository. All that was made goes with the block."""
    place, work_tree = asked.place, asked.work_tree
    settings = work_settings(user)
    with a_private_repository(place, work_tree, _patterns(user, place, work_tree)) as private:
        git = private.git(place, work_tree, settings, asked.process_limits.brief())
        here = WorkTreeScan(place, work_tree, private, git, settings, asked.process_limits, Disk(work_tree))
        entries = list(tracked_files(here))
        unseen = [entry for entry in entries if isinstance(entry, SkippedFile)]
        entries += untracked_files(here, asked.limits.untracked_files_max, unseen)
        read = WorkReader(here, asked.limits, sealed.objects).read_all(
            [entry for entry in entries if isinstance(entry, PendingFile)]
        )
        known = [*(entry for entry in entries if not isinstance(entry, PendingFile)), *read]
        tree = _tree([file for file in known if isinstance(file, IndexedFile)], private, sealed)
        commit = private.keep("commit", _commit(tree, asked.parent, _when(asked.parent, sealed.objects)))
        out = sorted((file for file in known if isinstance(file, NoWorkFile)), key=lambda file: file.path)
        yield WorkTreeCommit(private.objects, CommitSha(commit), tuple(out))


def _patterns(user: Git, place: RepositoryPlace, work_tree: Path) -> WorkTreePatterns:
    info = place.common_dir / "info"
    return WorkTreePatterns(
        user_ignores=user_patterns(user, "core.excludesFile", "ignore", work_tree, os.environ),
        ignores=patterns(info / "exclude"),
        user_attributes=user_patterns(user, "core.attributesFile", "attributes", work_tree, os.environ),
        attributes=patterns(info / "attributes"),
    )


def _tree(files: Iterable[IndexedFile], private: PrivateRepository, sealed: SealedObjects) -> str:
    """Write the trees that the user's repository does not have; git itself would touch those that it has."""
    trees: dict[str, bytes] = {}

    def note(content: bytes) -> str:
        sha = private.name("tree", content)
        trees[sha] = content
        return sha

    root = write_trees(((file.path.raw, file.mode, file.id) for file in files), note)
    for sha, info in zip(trees, sealed.look_up(trees), strict=True):
        if isinstance(info, NoObject):
            private.keep("tree", trees[sha])
    return root


def _when(parent: CommitSha | None, objects: ObjectReader[Object]) -> int:
    """When the commit says that it was made: when its parent was."""
    if parent is None:
        return 0
    found = objects.read(parent)
    if not isinstance(found, Object):
        raise GitError(f"the commit '{parent}' that HEAD names is {found.reason}", hint="try 'git fsck'")
    at = parse_commit(parent, found.content).committer.at
    return at.seconds if at else 0


def _commit(tree: str, parent: CommitSha | None, seconds: int) -> bytes:
    at = b"%d +0000" % max(0, seconds)
    parents = [b"parent " + parent.encode("ascii")] if parent else []
    heads = (b"tree " + tree.encode("ascii"), *parents, b"author %s %s" % (NOBODY, at))
    return b"\n".join((*heads, b"committer %s %s" % (NOBODY, at), b"", MESSAGE))
