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
import stat
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from custody.core.errors import GitError
from custody.core.ids import CommitSha
from custody.git.command import Git, ProcessLimits
from custody.git.commit_log import parse_commit
from custody.git.discovery import RepositoryPlace
from custody.git.objects import NoObject, Object, ObjectInfo, ObjectReader, write_trees
from custody.git.private_repository import PrivateRepository, WorkTreePatterns, a_private_repository
from custody.git.work_tree_file import Disk, NoWorkFile, read_work_file
from custody.git.work_tree_index import (
    IndexedFile,
    PendingFile,
    SkippedFile,
    WorkTreeScan,
    is_unchanged,
    keep_index_entry,
    mode_on_disk,
    tracked_files,
    untracked_files,
)
from custody.git.work_tree_settings import (
    Attributes,
    as_committed,
    attributes,
    endings,
    other_conversion,
    patterns,
    user_patterns,
    work_settings,
)

# Reading the files of a work tree into objects, as git would commit them.


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkLimits:
    """How much of a work tree is read; what is beyond is left out and named."""

    file_bytes_max: int = 16 << 20
    all_bytes_max: int = 1 << 30
    """Of all files that are read, changed and untracked ones together."""
    untracked_files_max: int = 10_000


USUAL_WORK = WorkLimits()


class WorkReader:
    """Makes objects of files; ``indexed`` is where their versions in the index are read."""

    def __init__(self, here: WorkTreeScan, limits: WorkLimits, indexed: ObjectReader[Object]) -> None:
        self._here = here
        self._limits = limits
        self._indexed = indexed
        self._left_bytes = limits.all_bytes_max

    def read_all(self, wanted: Sequence[PendingFile]) -> Iterator[IndexedFile | NoWorkFile]:
        """What the commit has at each of these paths, and what is left out."""
        for file, file_attributes in self._with_attributes(wanted):
            answer = self._read(file, file_attributes)
            if isinstance(answer, IndexedFile):
                yield answer
            elif file.entry and is_unchanged(self._here, file.entry, file.found, by_seconds=False):
                yield IndexedFile(file.path, file.entry.mode, file.entry.id)
            else:
                yield from keep_index_entry(file.entry, answer)

    def _with_attributes(self, wanted: Sequence[PendingFile]) -> Iterator[tuple[PendingFile, Attributes]]:
        if not wanted:
            return
        with attributes(self._here.git, (file.path for file in wanted)) as answers:
            yield from zip(wanted, answers, strict=True)

    def _read(self, file: PendingFile, found: Attributes) -> IndexedFile | NoWorkFile:
        mode = mode_on_disk(file.found, file.entry, self._here.settings)
        if stat.S_ISLNK(file.found.st_mode):
            return self._kept(file, mode, self._link(file))
        if why := other_conversion(found, self._here.settings.filters):
            return NoWorkFile(file.path, why)
        return self._kept(file, mode, self._content(file, found))

    def _link(self, file: PendingFile) -> bytes | NoWorkFile:
        try:
            return os.readlink(self._here.disk.name(file.path))
        except OSError as error:
            return NoWorkFile(file.path, f"cannot be read: {error.strerror}")

    def _content(self, pending_file: PendingFile, found: Attributes) -> bytes | NoWorkFile:
        if pending_file.found.st_size > self._left_bytes:
            return NoWorkFile(pending_file.path, f"would make more than {self._limits.all_bytes_max} bytes to be read")
        file = read_work_file(self._here.work_tree, pending_file.path, self._limits.file_bytes_max)
        if isinstance(file, NoWorkFile):
            return file
        self._left_bytes -= len(file.content)
        how = endings(found, guess=self._here.settings.guesses_endings)
        return as_committed(file.content, how, lambda: self._version_in_index(pending_file))

    def _kept(self, file: PendingFile, mode: int, content: bytes | NoWorkFile) -> IndexedFile | NoWorkFile:
        if isinstance(content, NoWorkFile):
            return content
        known = file.entry.id if file.entry else None
        return IndexedFile(file.path, mode, self._here.private.keep("blob", content, known))

    def _version_in_index(self, file: PendingFile) -> bytes:
        known = self._indexed.read(file.entry.id) if file.entry else None
        return known.content if isinstance(known, Object) and known.info.kind == "blob" else b""


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
