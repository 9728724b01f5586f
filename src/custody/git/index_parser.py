"""Parsing ``git ls-files --stage --debug -z``: the index and what it remembers of files. Pure: bytes in, entries out.

This file is the only one that decides when a file is unchanged because its stat is.
"""

import os
import re
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from custody.core.paths import RepoPath
from custody.git.chunk_reader import object_id, repo_path, rubbish
from custody.git.work_tree_settings import WorkSettings

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
