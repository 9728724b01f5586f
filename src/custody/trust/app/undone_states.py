"""Read from git what commits took back of earlier ones: four states of every file that the earlier one changed."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from custody.core.ids import CommitSha
from custody.git import Comparison, FileAt, FileChange, NoObject, Object, ObjectInfo, ObjectReader, Repository
from custody.trust.undo_check import (
    UNDONE_NOTHING,
    LineCounts,
    States,
    UndoMeasure,
    lines_of,
    undone_lines,
    undone_whole,
)
from custody.workspace.workspace import Progress

FILES_MAX = 2000
"""Of a commit that changed more files only so many are looked at."""
FILE_BYTES_MAX = 1 << 20
"""A larger file is compared as a whole."""
BINARY_BYTES = 8000
"""A zero byte among the first of them makes a file binary, as it does for git."""


@dataclass(frozen=True, slots=True)
class RevertPair:
    """A commit and the parent that it is compared with, and a later one that may have taken it back."""

    target: CommitSha
    parent: CommitSha | None
    by: CommitSha
    by_parent: CommitSha


def undone_by(repository: Repository, pairs: Sequence[RevertPair], progress: Progress) -> Iterator[UndoMeasure]:
    """What each pair's later commit took back of the earlier one, in their order."""
    progress.start("comparing commits", len(pairs))
    changed = _changed(repository, pairs)
    looked = [(pair, changed[pair.target, pair.parent]) for pair in pairs]
    found = repository.look_up(_names(looked))
    with repository.objects(FILE_BYTES_MAX) as objects:
        for _, changes in looked:
            yield sum((_undone(objects, file) for file in _files(changes, found)), UNDONE_NOTHING)
            progress.step(1)


def _changed(
    repository: Repository, pairs: Sequence[RevertPair]
) -> dict[tuple[CommitSha, CommitSha | None], tuple[FileChange, ...]]:
    wanted = list(dict.fromkeys((pair.target, pair.parent) for pair in pairs))
    with repository.changes([Comparison(*commits) for commits in wanted], renames=False) as answers:
        return {commits: answer.files[:FILES_MAX] for commits, answer in zip(wanted, answers, strict=True)}


def _names(looked: Iterable[tuple[RevertPair, Sequence[FileChange]]]) -> Iterator[FileAt]:
    """Every file of every pair before and after the later commit."""
    for pair, changes in looked:
        for change in changes:
            yield FileAt(pair.by_parent, change.path)
            yield FileAt(pair.by, change.path)


def _files(changes: Sequence[FileChange], infos: Iterator[ObjectInfo | NoObject]) -> Iterator[States[str | None]]:
    """The names of each file's four states; None where there is no file."""
    for change in changes:
        then, now = (None if isinstance(info, NoObject) else info.id for info in (next(infos), next(infos)))
        old, new = (None if side is None else side.blob for side in (change.old, change.new))
        yield States(old, new, then, now)


def _undone(objects: ObjectReader[Object], file: States[str | None]) -> UndoMeasure:
    texts = {name: _lines(objects, name) for name in set(file)}
    old, new, then, now = (texts[name] for name in file)
    if old is None or new is None or then is None or now is None:
        return undone_whole(file)
    # Lines that only changed places, or the space before them, are the same lines: then the whole file is compared.
    by_lines = undone_lines(States(old, new, then, now))
    return by_lines if by_lines.changed else undone_whole(file)


def _lines(objects: ObjectReader[Object], name: str | None) -> LineCounts | None:
    """The lines of a file; none of one that is not there, None of what has no lines."""
    if name is None:
        return {}
    found = objects.read(name)
    if isinstance(found, NoObject) or found.info.kind != "blob" or b"\0" in found.content[:BINARY_BYTES]:
        return None
    return lines_of(found.content)
