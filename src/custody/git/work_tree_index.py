"""The files of a work tree by index and stat; files that may have changed are left to be read."""

import os
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path

from msgspec import Struct

from custody.core.errors import CustodyError
from custody.core.ids import CommitSha
from custody.core.paths import RepoPath
from custody.core.patterns import lazy_pattern
from custody.git.chunk_reader import (
    ChunkReader,
    make_git_output_error,
    parse_commit_sha,
    parse_object_id,
    parse_repo_path,
)
from custody.git.command import AnswerStream, Git, ProcessLimits
from custody.git.discovery import RepositoryPlace, locate_repository
from custody.git.environment import make_open_environment
from custody.git.objects import list_tree_folders
from custody.git.private_repository import PrivateRepository
from custody.git.work_tree_file import Disk, NoWorkFile
from custody.git.work_tree_settings import WorkSettings

# Submodules, read in the ``open`` environment.


def read_submodule_head(
    outer: RepositoryPlace, folder: Path, path: RepoPath, limits: ProcessLimits
) -> CommitSha | NoWorkFile | None:
    """Return the commit of HEAD in ``folder``; None if nothing is checked out there."""
    if not os.path.lexists(folder / ".git"):
        return None
    try:
        inner = locate_repository(folder, limits)
        if inner.work_tree != folder or inner.object_format != outer.object_format:
            return NoWorkFile(path, "is not a valid submodule")
        git = Git(inner.common_dir, make_open_environment(os.environ, inner.git_dir), inner.common_dir, limits.brief())
        head = git.run("rev-parse", "--quiet", "--verify", "HEAD", statuses=(0, 1))
    except CustodyError as error:
        return NoWorkFile(path, f"has an unreadable HEAD: {error.message}")
    return parse_commit_sha(head.rstrip(b"\n")) if head else None


# Parsing of ``git ls-files --stage --debug -z``: the index with its cached stat data. Pure.


LIST_INDEX = ("ls-files", "--stage", "--debug", "-z", "--full-name")
"""git expands a sparse index for this, which may update the time of tree objects, as ``git status`` does."""

GITLINK = 0o160000
LINK = 0o120000
FILE = 0o100644
PROGRAM = 0o100755

_ENTRY = lazy_pattern(
    rb"([0-7]{6}) ([0-9a-f]+) ([0-3])\t([^\0]+)\0"
    rb"  ctime: (\d+):(\d+)\n  mtime: (\d+):(\d+)\n  dev: \d+\tino: (\d+)\n  uid: (\d+)\tgid: (\d+)\n"
    rb"  size: (\d+)\tflags: ([0-9a-f]+)\n"
)
_ENTRY_BYTES_MAX = 16_384

# Flags of git; skip-worktree marks files outside a sparse checkout.
_ASSUME_UNCHANGED = 1 << 15
_INTENT_TO_ADD = 1 << 29
_SKIP_WORKTREE = 1 << 30
_32_BITS = 0xFFFFFFFF
_SECOND_NS = 1_000_000_000

# Stages of an unmerged path in the order in which git prefers them: ours, base, theirs.
_STAGE_ORDER = (0, 2, 1, 3)


class CachedStat(Struct, frozen=True):
    """The stat of a file when it last matched its entry; numbers are cut to 32 bits."""

    changed: tuple[int, int]
    modified: tuple[int, int]
    """Seconds and nanoseconds; 0 nanoseconds may mean unknown."""
    inode: int
    owner: int
    group: int
    size: int


class IndexEntry(Struct, frozen=True):
    """A path of the index; ``stage`` is 0 unless it is unmerged."""

    path: RepoPath
    mode: int
    id: str
    stage: int
    cached: CachedStat
    flags: int

    @property
    def is_left_alone(self) -> bool:
        """Whether git does not check the file on disk: outside a sparse checkout, or assumed unchanged."""
        return self.stage == 0 and bool(self.flags & (_SKIP_WORKTREE | _ASSUME_UNCHANGED))

    @property
    def is_intended(self) -> bool:
        """Whether the file is only marked to be added, so that the entry has no version of it."""
        return bool(self.flags & _INTENT_TO_ADD)


def parse_index_entries(chunks: Iterable[bytes]) -> Iterator[IndexEntry]:
    """Yield the entries of the index, one per path; of an unmerged path, the one that git would compare with."""
    last: IndexEntry | None = None
    for entry in _scan_index_entries(chunks):
        if last and last.path.raw == entry.path.raw:
            last = min(last, entry, key=lambda candidate: _STAGE_ORDER.index(candidate.stage))
        else:
            if last:
                yield last
            last = entry
    if last:
        yield last


def has_same_stat(entry: IndexEntry, found: os.stat_result, settings: WorkSettings) -> bool:
    """Return whether the stat matches the index, in the fields that the settings trust."""
    then = entry.cached
    # git writes a size of 0 for untrusted entries; an empty file is known by its id.
    if then.size != found.st_size & _32_BITS or (then.size == 0 and not _is_empty_blob(entry)):
        return False
    if not _is_same_stat_time(then.modified, found.st_mtime_ns):
        return False
    if not settings.whole_stat:
        return True
    if settings.trusts_ctime and not _is_same_stat_time(then.changed, found.st_ctime_ns):
        return False
    now = (found.st_ino & _32_BITS, found.st_uid & _32_BITS, found.st_gid & _32_BITS)
    return now == (then.inode, then.owner, then.group)


def is_older_than_index(entry: IndexEntry, index_ns: int, *, by_seconds: bool) -> bool:
    """Return whether the file was written before the index: a later write could leave the stat unchanged.

    ``by_seconds`` is git's rule for clocks with a resolution of seconds. Without it nanoseconds are compared, which is
    enough if contents cannot be compared.
    """
    seconds, nanoseconds = entry.cached.modified
    if by_seconds or nanoseconds == 0:
        return seconds < index_ns // _SECOND_NS
    return seconds * _SECOND_NS + nanoseconds < index_ns


def git_mode_from_stat(found: os.stat_result, entry: IndexEntry | None, settings: WorkSettings) -> int:
    """Return git's mode of a link or regular file."""
    if stat.S_ISLNK(found.st_mode):
        return LINK
    known = entry.mode if entry else FILE
    if not settings.has_links and known == LINK:
        return LINK
    if not settings.has_file_mode:
        return known if stat.S_ISREG(known) else FILE
    return PROGRAM if found.st_mode & stat.S_IXUSR else FILE


def _scan_index_entries(chunks: Iterable[bytes]) -> Iterator[IndexEntry]:
    # One expression per entry: there may be a million of them.
    rest = b""
    for chunk in chunks:
        rest += chunk
        end = 0
        while match := _ENTRY.match(rest, end):
            end = match.end()
            yield _make_index_entry(*match.groups())
        rest = rest[end:]
        if len(rest) > _ENTRY_BYTES_MAX:
            break
    if rest:
        raise make_git_output_error("expected an entry of the index", rest)


def _make_index_entry(mode: bytes, sha: bytes, stage: bytes, path: bytes, *numbers: bytes) -> IndexEntry:
    *fields, flags = numbers
    ctime, ctime_ns, mtime, mtime_ns, inode, owner, group, size = map(int, fields)
    cached = CachedStat((ctime, ctime_ns), (mtime, mtime_ns), inode, owner, group, size)
    return IndexEntry(parse_repo_path(path), int(mode, 8), parse_object_id(sha), int(stage), cached, int(flags, 16))


def _is_same_stat_time(then: tuple[int, int], now_ns: int) -> bool:
    seconds, nanoseconds = divmod(now_ns, _SECOND_NS)
    return then[0] == seconds & _32_BITS and then[1] in (0, nanoseconds)


_EMPTY = (
    "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391",
    "473a0f4c3be8a93681a267e3b1e9a7dcda1185436fe141f7749120a303721813",
)


def _is_empty_blob(entry: IndexEntry) -> bool:
    return entry.id in _EMPTY


class IndexedFile(Struct, frozen=True):
    """A path of the commit with its object."""

    path: RepoPath
    mode: int
    id: str


class SkippedFile(IndexedFile, frozen=True):
    """A path that git does not check: outside a sparse checkout, or assumed unchanged."""


class PendingFile(Struct, frozen=True):
    """A link or regular file that must be read; ``entry`` is None if it is untracked."""

    path: RepoPath
    entry: IndexEntry | None
    found: os.stat_result


WorkTreeEntry = IndexedFile | PendingFile | NoWorkFile
"""The state of a path; a missing path has none, and is not in the commit."""


class WorkTreeScan(Struct, frozen=True):
    """The scanned work tree with its settings."""

    place: RepositoryPlace
    work_tree: Path
    private: PrivateRepository
    git: Git
    """The git of ``private``."""
    settings: WorkSettings
    limits: ProcessLimits
    disk: Disk


def scan_tracked_files(scan: WorkTreeScan) -> Iterator[WorkTreeEntry]:
    """Yield the state of the paths in the index, in order; unchanged files need not be read."""
    with AnswerStream(scan.git.start(*LIST_INDEX), parse_index_entries) as entries:
        for entry in entries:
            yield from (
                (SkippedFile(entry.path, entry.mode, entry.id),)
                if entry.is_left_alone
                else _scan_tracked_file(scan, entry)
            )


def scan_untracked_files(scan: WorkTreeScan, count_max: int, skipped: Iterable[SkippedFile]) -> Iterator[WorkTreeEntry]:
    """Yield files that are neither tracked nor ignored, by path; files beyond ``count_max`` are reported once.

    A file in place of a ``skipped`` one is left out: a commit cannot have both.
    """
    taken = {file.path.raw for file in skipped}
    parents = {folder for path in taken for folder in list_tree_folders(path)}
    child = scan.git.start("ls-files", "--others", "-z", "--full-name", *scan.private.ignores)
    count = 0
    with AnswerStream(child, parse_untracked_paths) as names:
        for path, is_repository in names:
            if is_repository:
                yield NoWorkFile(path, "is a separate repository")
                continue
            count += 1
            if count > count_max:
                yield NoWorkFile(path, f"and all after it exceed the limit of {count_max:,} untracked files")
                return
            if path.raw in parents or not taken.isdisjoint(list_tree_folders(path.raw)):
                yield NoWorkFile(path, "is in the place of a file that git does not check")
            else:
                yield from _scan_untracked_file(scan, path)


def parse_untracked_paths(chunks: Iterable[bytes]) -> Iterator[tuple[RepoPath, bool]]:
    """Yield the paths of ``git ls-files --others -z``, and whether each is a repository (a trailing slash)."""
    reader = ChunkReader(chunks)
    while not reader.is_at_end():
        raw = reader.read_until(b"\0")
        yield parse_repo_path(raw.removesuffix(b"/")), raw.endswith(b"/")


def keep_index_entry(entry: IndexEntry | None, why: NoWorkFile) -> Iterator[IndexedFile | NoWorkFile]:
    """Yield the reason, and the file as it is in the index, since its contents cannot be read."""
    yield why
    if entry and not entry.is_intended:
        yield IndexedFile(entry.path, entry.mode, entry.id)


def _scan_untracked_file(scan: WorkTreeScan, path: RepoPath) -> Iterator[WorkTreeEntry]:
    found = scan.disk.look(path)
    if isinstance(found, NoWorkFile):
        yield found
    elif found:
        yield PendingFile(path, None, found)


def _scan_tracked_file(scan: WorkTreeScan, entry: IndexEntry) -> Iterator[WorkTreeEntry]:
    found = scan.disk.look(entry.path)
    if isinstance(found, NoWorkFile):
        yield from keep_index_entry(entry, found)
    elif found and stat.S_ISDIR(found.st_mode):
        yield from _scan_submodule_folder(scan, entry)
    elif found and is_index_entry_unchanged(scan, entry, found, by_seconds=True):
        yield IndexedFile(entry.path, entry.mode, entry.id)
    elif found:
        yield PendingFile(entry.path, entry, found)


def is_index_entry_unchanged(scan: WorkTreeScan, entry: IndexEntry, found: os.stat_result, *, by_seconds: bool) -> bool:
    """Return whether the stat proves that the file matches the index; ``by_seconds`` as in ``is_older_than_index``."""
    return (
        entry.stage == 0
        and not entry.is_intended
        and entry.mode == git_mode_from_stat(found, entry, scan.settings)
        and has_same_stat(entry, found, scan.settings)
        and is_older_than_index(entry, scan.private.index_ns, by_seconds=by_seconds)
    )


def _scan_submodule_folder(scan: WorkTreeScan, entry: IndexEntry) -> Iterator[WorkTreeEntry]:
    folder = Path(os.fsdecode(scan.disk.name(entry.path)))
    if entry.mode == GITLINK:
        commit = read_submodule_head(scan.place, folder, entry.path, scan.limits)
        if isinstance(commit, NoWorkFile):
            yield from keep_index_entry(entry, commit)
        else:
            yield IndexedFile(entry.path, GITLINK, commit or entry.id)
    elif os.path.lexists(folder / ".git"):
        yield NoWorkFile(entry.path, "is a separate repository")
