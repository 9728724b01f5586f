"""A commit of the work tree on disk, in a private repository beside the user's.

The commit contains:

* tracked files as they are on disk, links as links, submodules as their HEAD; deleted files are not in the commit;
* tracked files that git does not check (outside a sparse checkout, assumed unchanged) as they are in the index;
* untracked files that are not ignored;
* line endings as git would commit them. Other conversions (filters, ``ident``, other encodings) are never made: such a
  file is taken from the index, and reported unless its stat shows that it is unchanged.

Files that cannot be read are reported: a tracked file is taken from the index, an untracked file is missing.
"""

import os
import stat
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from msgspec import Struct

from custody.core.errors import GitError
from custody.core.ids import CommitSha
from custody.git.command import Git, ProcessLimits
from custody.git.commit_log import parse_commit
from custody.git.discovery import RepositoryPlace
from custody.git.objects import NoObject, Object, ObjectInfo, ObjectReader, write_tree_objects
from custody.git.private_repository import PrivateRepository, WorkTreePatterns, open_private_repository
from custody.git.work_tree_file import Disk, NoWorkFile, read_work_file
from custody.git.work_tree_index import (
    IndexedFile,
    PendingFile,
    SkippedFile,
    WorkTreeScan,
    git_mode_from_stat,
    is_index_entry_unchanged,
    keep_index_entry,
    scan_tracked_files,
    scan_untracked_files,
)
from custody.git.work_tree_settings import (
    Attributes,
    choose_line_endings,
    find_unsupported_conversion,
    normalize_line_endings,
    read_git_attributes,
    read_pattern_file,
    read_user_patterns,
    read_work_settings,
)


class WorkLimits(Struct, frozen=True, kw_only=True):
    """Limits of reading a work tree; files beyond them are left out and reported."""

    file_bytes_max: int = 16 << 20
    all_bytes_max: int = 1 << 30
    """Bytes of all changed and untracked files together."""
    untracked_files_max: int = 10_000


USUAL_WORK = WorkLimits()


class WorkReader:
    """Writes files as objects; ``indexed`` reads their versions in the index."""

    def __init__(self, scan: WorkTreeScan, limits: WorkLimits, indexed: ObjectReader[Object]) -> None:
        self._scan = scan
        self._limits = limits
        self._indexed = indexed
        self._left_bytes = limits.all_bytes_max

    def read_all(self, files: Sequence[PendingFile]) -> Iterator[IndexedFile | NoWorkFile]:
        """Yield the entries of the commit at these paths, and the files that are left out."""
        for file, file_attributes in self._with_attributes(files):
            answer = self._read(file, file_attributes)
            if isinstance(answer, IndexedFile):
                yield answer
            elif file.entry and is_index_entry_unchanged(self._scan, file.entry, file.found, by_seconds=False):
                yield IndexedFile(file.path, file.entry.mode, file.entry.id)
            else:
                yield from keep_index_entry(file.entry, answer)

    def _with_attributes(self, files: Sequence[PendingFile]) -> Iterator[tuple[PendingFile, Attributes]]:
        if not files:
            return
        with read_git_attributes(self._scan.git, (file.path for file in files)) as attributes:
            yield from zip(files, attributes, strict=True)

    def _read(self, file: PendingFile, attributes: Attributes) -> IndexedFile | NoWorkFile:
        mode = git_mode_from_stat(file.found, file.entry, self._scan.settings)
        if stat.S_ISLNK(file.found.st_mode):
            return self._store_file(file, mode, self._link(file))
        if why := find_unsupported_conversion(attributes, self._scan.settings.filters):
            return NoWorkFile(file.path, why)
        return self._store_file(file, mode, self._content(file, attributes))

    def _link(self, file: PendingFile) -> bytes | NoWorkFile:
        try:
            return os.readlink(self._scan.disk.name(file.path))
        except OSError as error:
            return NoWorkFile(file.path, f"cannot be read: {error.strerror}")

    def _content(self, pending_file: PendingFile, attributes: Attributes) -> bytes | NoWorkFile:
        if pending_file.found.st_size > self._left_bytes:
            return NoWorkFile(
                pending_file.path, f"exceeds the limit of {self._limits.all_bytes_max:,} bytes for all files"
            )
        file = read_work_file(self._scan.work_tree, pending_file.path, self._limits.file_bytes_max)
        if isinstance(file, NoWorkFile):
            return file
        self._left_bytes -= len(file.content)
        endings = choose_line_endings(attributes, guess=self._scan.settings.guesses_endings)
        return normalize_line_endings(file.content, endings, lambda: self._version_in_index(pending_file))

    def _store_file(self, file: PendingFile, mode: int, content: bytes | NoWorkFile) -> IndexedFile | NoWorkFile:
        if isinstance(content, NoWorkFile):
            return content
        known = file.entry.id if file.entry else None
        return IndexedFile(file.path, mode, self._scan.private.write("blob", content, known))

    def _version_in_index(self, file: PendingFile) -> bytes:
        known = self._indexed.read(file.entry.id) if file.entry else None
        return known.content if isinstance(known, Object) and known.info.kind == "blob" else b""


NOT_COMMITTED = b"Not Committed Yet <not.committed.yet>"
"""The author that git blame shows for uncommitted lines."""
MESSAGE = b"the work tree as it is on disk\n"


class WorkCommitRequest(Struct, frozen=True):
    """The work tree to commit; ``parent`` is the commit of HEAD, if any."""

    place: RepositoryPlace
    work_tree: Path
    parent: CommitSha | None
    process_limits: ProcessLimits
    limits: WorkLimits


class WorkTreeCommit(Struct, frozen=True):
    """The commit, the folder of its new objects, and the files left out, by path."""

    objects: Path
    commit: CommitSha
    left_out: tuple[NoWorkFile, ...]


class SealedObjects(Struct, frozen=True):
    """The objects of the user's repository."""

    objects: ObjectReader[Object]
    look_up: Callable[[Iterable[str]], Iterator[ObjectInfo | NoObject]]


@contextmanager
def make_work_tree_commit(request: WorkCommitRequest, user: Git, sealed: SealedObjects) -> Iterator[WorkTreeCommit]:
    """Make the commit; ``user`` is the ``open`` git of the repository. Its files are deleted after the block."""
    place, work_tree = request.place, request.work_tree
    settings = read_work_settings(user)
    with open_private_repository(place, work_tree, _read_work_tree_patterns(user, place, work_tree)) as private:
        git = private.git(place, work_tree, settings, request.process_limits.brief())
        scan = WorkTreeScan(place, work_tree, private, git, settings, request.process_limits, Disk(work_tree))
        entries = list(scan_tracked_files(scan))
        skipped = [entry for entry in entries if isinstance(entry, SkippedFile)]
        entries += scan_untracked_files(scan, request.limits.untracked_files_max, skipped)
        files = WorkReader(scan, request.limits, sealed.objects).read_all(
            [entry for entry in entries if isinstance(entry, PendingFile)]
        )
        known = [*(entry for entry in entries if not isinstance(entry, PendingFile)), *files]
        tree = _write_work_tree_objects([file for file in known if isinstance(file, IndexedFile)], private, sealed)
        commit = private.write(
            "commit",
            encode_work_commit(tree, request.parent, read_parent_commit_time(request.parent, sealed.objects)),
        )
        left_out = sorted((file for file in known if isinstance(file, NoWorkFile)), key=lambda file: file.path)
        yield WorkTreeCommit(private.objects, CommitSha(commit), tuple(left_out))


def _read_work_tree_patterns(user: Git, place: RepositoryPlace, work_tree: Path) -> WorkTreePatterns:
    info = place.common_dir / "info"
    return WorkTreePatterns(
        user_ignores=read_user_patterns(user, "core.excludesFile", "ignore", work_tree, os.environ),
        ignores=read_pattern_file(info / "exclude"),
        user_attributes=read_user_patterns(user, "core.attributesFile", "attributes", work_tree, os.environ),
        attributes=read_pattern_file(info / "attributes"),
    )


def _write_work_tree_objects(files: Iterable[IndexedFile], private: PrivateRepository, sealed: SealedObjects) -> str:
    """Write the trees that the user's repository lacks; git itself would touch existing ones."""
    trees: dict[str, bytes] = {}

    def collect(content: bytes) -> str:
        sha = private.compute_id("tree", content)
        trees[sha] = content
        return sha

    root = write_tree_objects(((file.path.raw, file.mode, file.id) for file in files), collect)
    for sha, info in zip(trees, sealed.look_up(trees), strict=True):
        if isinstance(info, NoObject):
            private.write("tree", trees[sha])
    return root


def read_parent_commit_time(parent: CommitSha | None, objects: ObjectReader[Object]) -> int:
    """Return the time of the parent, which the commit uses as its own."""
    if parent is None:
        return 0
    head = objects.read(parent)
    if not isinstance(head, Object):
        raise GitError(f"the commit of HEAD, '{parent}', is {head.reason}", hint="run 'git fsck'")
    at = parse_commit(parent, head.content).committer.at
    return at.seconds if at else 0


def encode_work_commit(tree: str, parent: CommitSha | None, seconds: int, message: bytes = MESSAGE) -> bytes:
    """Return a commit at this time, without an author."""
    at = b"%d +0000" % max(0, seconds)
    parents = [b"parent " + parent.encode("ascii")] if parent else []
    heads = (b"tree " + tree.encode("ascii"), *parents, b"author %s %s" % (NOT_COMMITTED, at))
    return b"\n".join((*heads, b"committer %s %s" % (NOT_COMMITTED, at), b"", message))
