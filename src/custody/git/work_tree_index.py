"""What a work tree holds, as far as names and stat tell; what they leave open is to be read."""

import os
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from custody.core.paths import RepoPath
from custody.git.answer_stream import AnswerStream
from custody.git.chunk_reader import ChunkReader, repo_path
from custody.git.command import Git
from custody.git.discovery import RepositoryPlace
from custody.git.disk_entry import Disk
from custody.git.index_parser import (
    GITLINK,
    LISTING,
    IndexEntry,
    has_same_stat,
    mode_on_disk,
    parse_entries,
    was_written_before,
)
from custody.git.private_repository import PrivateRepository
from custody.git.process import ProcessLimits
from custody.git.submodules import checked_out
from custody.git.tree_objects import folders_of
from custody.git.work_tree_file import NoWorkFile
from custody.git.work_tree_settings import WorkSettings


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
