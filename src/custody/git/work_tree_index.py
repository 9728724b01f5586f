"""What a work tree holds, as far as names and stat tell; what they leave open is to be read."""

import os
import re
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from custody.core.errors import CustodyError
from custody.core.ids import CommitSha
from custody.core.paths import RepoPath
from custody.git.chunk_reader import ChunkReader, commit_sha, object_id, repo_path, rubbish
from custody.git.command import AnswerStream, Git, ProcessLimits
from custody.git.discovery import RepositoryPlace, find_place
from custody.git.environment import open_environment
from custody.git.objects import folders_of
from custody.git.private_repository import PrivateRepository
from custody.git.work_tree_file import Disk, NoWorkFile
from custody.git.work_tree_settings import WorkSettings

# Which commit a submodule has checked out: git is asked in the submodule, as ``open`` and as carefully as anywhere.


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


# Parsing ``git ls-files --stage --debug -z``: the index and what it remembers of files. Pure: bytes in, entries out.
# This file is the only one that decides when a file is unchanged because its stat is.


LISTING = ("ls-files", "--stage", "--debug", "-z", "--full-name")
"""git unfolds a sparse index for this: it may give trees that the user has a new time, as its own status does."""

GITLINK = 0o160000
LINK = 0o120000
FILE = 0o100644
PROGRAM = 0o100755

_ENTRY = re.compile(
    rb"([0-7]{6}) ([0-9a-f]+) ([0-3])\t([^\0]+)\0"
    rb"  ctime: (\d+):(\d+)\n  mtime: (\d+):(\d+)\n  dev: \d+\tino: (\d+)\n  uid: (\d+)\tgid: (\d+)\n"
    rb"  size: (\d+)\tflags: ([0-9a-f]+)\n"
)
_ENTRY_BYTES_MAX = 16_384

# git's bits: assume-unchanged, intent-to-add, skip-worktree (outside a sparse checkout).
_ASSUMED = 1 << 15
_INTENDED = 1 << 29
_SKIPPED = 1 << 30
_32_BITS = 0xFFFFFFFF
_SECOND_NS = 1_000_000_000

# Of an unmerged path git looks at ours first, then at the base, then at theirs.
_PREFERRED = (0, 2, 1, 3)


@dataclass(frozen=True, slots=True)
class CachedStat:
    """What a file's stat was when it was last found equal to its entry; numbers are cut to 32 bits."""

    changed: tuple[int, int]
    modified: tuple[int, int]
    """Seconds and nanoseconds; 0 nanoseconds may also mean that nobody knew them."""
    inode: int
    owner: int
    group: int
    size: int


@dataclass(frozen=True, slots=True)
class IndexEntry:
    """One path of the index; ``stage`` is 0 unless a merge is in progress and left it open."""

    path: RepoPath
    mode: int
    id: str
    stage: int
    remembered: CachedStat
    flags: int

    @property
    def is_left_alone(self) -> bool:
        """Whether git does not look at the file on disk: outside a sparse checkout, or said to be unchanged."""
        return self.stage == 0 and bool(self.flags & (_SKIPPED | _ASSUMED))

    @property
    def is_intended(self) -> bool:
        """Whether the file is only meant to be added: the entry's id is no version of it."""
        return bool(self.flags & _INTENDED)


def parse_entries(chunks: Iterable[bytes]) -> Iterator[IndexEntry]:
    """The entries of the index, one for each path; of an unmerged one, that which git would compare with."""
    last: IndexEntry | None = None
    for entry in _every(chunks):
        if last and last.path.raw == entry.path.raw:
            last = min(last, entry, key=lambda candidate: _PREFERRED.index(candidate.stage))
        else:
            if last:
                yield last
            last = entry
    if last:
        yield last


def has_same_stat(entry: IndexEntry, found: os.stat_result, settings: WorkSettings) -> bool:
    """Whether ``found`` is what the index remembers, as far as the settings say that it counts."""
    then = entry.remembered
    # git writes a size of 0 to say that it does not trust its memory; an empty file has an id of its own.
    if then.size != found.st_size & _32_BITS or (then.size == 0 and not _is_empty(entry)):
        return False
    if not _same_time(then.modified, found.st_mtime_ns):
        return False
    if not settings.whole_stat:
        return True
    if settings.trusts_ctime and not _same_time(then.changed, found.st_ctime_ns):
        return False
    now = (found.st_ino & _32_BITS, found.st_uid & _32_BITS, found.st_gid & _32_BITS)
    return now == (then.inode, then.owner, then.group)


def was_written_before(entry: IndexEntry, index_ns: int, *, by_seconds: bool) -> bool:
    """Whether the file was last written before the index was: a later write could have left its stat as it is.

    ``by_seconds`` is git's own rule for clocks that count seconds only. Without it the writes must lie apart by the
    grain of the file system's clock, which is enough where contents cannot be compared.
    """
    seconds, nanoseconds = entry.remembered.modified
    if by_seconds or nanoseconds == 0:
        return seconds < index_ns // _SECOND_NS
    return seconds * _SECOND_NS + nanoseconds < index_ns


def mode_on_disk(found: os.stat_result, entry: IndexEntry | None, settings: WorkSettings) -> int:
    """The mode that git would give to the link or regular file ``found``."""
    if stat.S_ISLNK(found.st_mode):
        return LINK
    known = entry.mode if entry else FILE
    if not settings.has_links and known == LINK:
        return LINK
    if not settings.has_file_mode:
        return known if stat.S_ISREG(known) else FILE
    return PROGRAM if found.st_mode & stat.S_IXUSR else FILE


def _every(chunks: Iterable[bytes]) -> Iterator[IndexEntry]:
    # By one expression for all of an entry: there may be a million of them.
    rest = b""
    for chunk in chunks:
        rest += chunk
        end = 0
        while match := _ENTRY.match(rest, end):
            end = match.end()
            yield _entry(*match.groups())
        rest = rest[end:]
        if len(rest) > _ENTRY_BYTES_MAX:
            break
    if rest:
        raise rubbish("an entry of the index is expected", rest)


def _entry(mode: bytes, sha: bytes, stage: bytes, path: bytes, *numbers: bytes) -> IndexEntry:
    *known, flags = numbers
    ctime, ctime_ns, mtime, mtime_ns, inode, owner, group, size = map(int, known)
    remembered = CachedStat((ctime, ctime_ns), (mtime, mtime_ns), inode, owner, group, size)
    return IndexEntry(repo_path(path), int(mode, 8), object_id(sha), int(stage), remembered, int(flags, 16))


def _same_time(then: tuple[int, int], now_ns: int) -> bool:
    seconds, nanoseconds = divmod(now_ns, _SECOND_NS)
    return then[0] == seconds & _32_BITS and then[1] in (0, nanoseconds)


_EMPTY = (
    "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391",
    "473a0f4c3be8a93681a267e3b1e9a7dcda1185436fe141f7749120a303721813",
)


def _is_empty(entry: IndexEntry) -> bool:
    return entry.id in _EMPTY


@dataclass(frozen=True, slots=True)
class IndexedFile:
    """The commit has ``id`` at ``path``."""

    path: RepoPath
    mode: int
    id: str


@dataclass(frozen=True, slots=True)
class SkippedFile(IndexedFile):
    """The same, because git was told not to look there: outside a sparse checkout, or said to be unchanged."""


@dataclass(frozen=True, slots=True)
class PendingFile:
    """The link or regular file at ``path`` must be read; ``entry`` is None for an untracked one."""

    path: RepoPath
    entry: IndexEntry | None
    found: os.stat_result


WorkTreeEntry = IndexedFile | PendingFile | NoWorkFile
"""At a path. Of a path that is not found nothing is said, and the commit does not have it."""


@dataclass(frozen=True, slots=True)
class WorkTreeScan:
    """The work tree that is looked at, and how."""

    place: RepositoryPlace
    work_tree: Path
    private: PrivateRepository
    git: Git
    """That lives in ``private``."""
    settings: WorkSettings
    limits: ProcessLimits
    disk: Disk


def tracked_files(here: WorkTreeScan) -> Iterator[WorkTreeEntry]:
    """What is at the paths of the index, in their order; what stat proves to be unchanged need not be read."""
    with AnswerStream(here.git.start(*LISTING), parse_entries) as entries:
        for entry in entries:
            yield from (
                (SkippedFile(entry.path, entry.mode, entry.id),) if entry.is_left_alone else _tracked(here, entry)
            )


def untracked_files(here: WorkTreeScan, count_max: int, unseen: Iterable[SkippedFile]) -> Iterator[WorkTreeEntry]:
    """Files that are neither tracked nor ignored, in the order of paths; what is beyond ``count_max`` is named once.

    One in the place of something ``unseen`` is left out: a commit cannot have both.
    """
    taken = {file.path.raw for file in unseen}
    around = {folder for path in taken for folder in folders_of(path)}
    child = here.git.start("ls-files", "--others", "-z", "--full-name", *here.private.ignores)
    count = 0
    with AnswerStream(child, parse_untracked) as names:
        for path, is_repository in names:
            if is_repository:
                yield NoWorkFile(path, "is a repository of its own")
                continue
            count += 1
            if count > count_max:
                yield NoWorkFile(path, f"and what follows it are more than {count_max} untracked files")
                return
            if path.raw in around or not taken.isdisjoint(folders_of(path.raw)):
                yield NoWorkFile(path, "is in the place of something that git was told not to look at")
            else:
                yield from _untracked(here, path)


def parse_untracked(chunks: Iterable[bytes]) -> Iterator[tuple[RepoPath, bool]]:
    """The names of ``git ls-files --others -z``, and whether each is a repository, which git ends with a slash."""
    reader = ChunkReader(chunks)
    while not reader.ended():
        raw = reader.until(b"\0")
        yield repo_path(raw.removesuffix(b"/")), raw.endswith(b"/")


def keep_index_entry(entry: IndexEntry | None, why: NoWorkFile) -> Iterator[IndexedFile | NoWorkFile]:
    """A file whose contents cannot be told stays as the index has it."""
    yield why
    if entry and not entry.is_intended:
        yield IndexedFile(entry.path, entry.mode, entry.id)


def _untracked(here: WorkTreeScan, path: RepoPath) -> Iterator[WorkTreeEntry]:
    found = here.disk.look(path)
    if isinstance(found, NoWorkFile):
        yield found
    elif found:
        yield PendingFile(path, None, found)


def _tracked(here: WorkTreeScan, entry: IndexEntry) -> Iterator[WorkTreeEntry]:
    found = here.disk.look(entry.path)
    if isinstance(found, NoWorkFile):
        yield from keep_index_entry(entry, found)
    elif found and stat.S_ISDIR(found.st_mode):
        yield from _folder(here, entry)
    elif found and is_unchanged(here, entry, found, by_seconds=True):
        yield IndexedFile(entry.path, entry.mode, entry.id)
    elif found:
        yield PendingFile(entry.path, entry, found)


def is_unchanged(here: WorkTreeScan, entry: IndexEntry, found: os.stat_result, *, by_seconds: bool) -> bool:
    """Whether stat proves that the file is as the index has it; ``by_seconds`` as in ``was_written_before``."""
    return (
        entry.stage == 0
        and not entry.is_intended
        and entry.mode == mode_on_disk(found, entry, here.settings)
        and has_same_stat(entry, found, here.settings)
        and was_written_before(entry, here.private.index_ns, by_seconds=by_seconds)
    )


def _folder(here: WorkTreeScan, entry: IndexEntry) -> Iterator[WorkTreeEntry]:
    folder = Path(os.fsdecode(here.disk.name(entry.path)))
    if entry.mode == GITLINK:
        commit = checked_out(here.place, folder, entry.path, here.limits)
        if isinstance(commit, NoWorkFile):
            yield from keep_index_entry(entry, commit)
        else:
            yield IndexedFile(entry.path, GITLINK, commit or entry.id)
    elif os.path.lexists(folder / ".git"):
        yield NoWorkFile(entry.path, "is a repository of its own")
