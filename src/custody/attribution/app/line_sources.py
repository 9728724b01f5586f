"""The commits that added the lines of many files, as ``git blame`` names them.

git blame needs a process for each file. One walk over the commits answers for all files with the hunks of one process.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from msgspec import Struct

from custody.attribution.app.commit_texts import PATHS_MAX, CommitFileChanges
from custody.core.errors import GitError
from custody.core.ids import BlobSha, CommitSha
from custody.core.paths import Hunk, Lines, RepoPath
from custody.git import ChangeKind, Comparison, FileChange, FileDiff, HunkDetail, LineSource, NoObject, Repository

LINES_END = 1 << 31
"""The end of the last run of a file, whose lines are not counted."""


BROKEN_MAX = 64
"""Maximum commits that lack a content: each needs a process of its own."""


class _Run(Struct, frozen=True):
    """Adjacent lines of a file in some commit from index ``here`` on, and their index in the answered version."""

    here: int
    blamed: int
    count: int


class _OpenLines(Struct, frozen=True):
    """Lines of an answered file whose commit is not found yet."""

    target: RepoPath
    runs: tuple[_Run, ...]


_OpenFiles = dict[RepoPath, tuple[_OpenLines, ...]]
"""The open lines of a commit, by its files."""


def read_sources_of_lines(
    repository: Repository, head: CommitSha, paths: Collection[RepoPath], changes: Sequence[CommitFileChanges]
) -> dict[RepoPath, list[LineSource]]:
    """Return where the lines of files as of ``head`` come from, as far as ``changes``, newest first, go back.

    Older lines have no source; the last source of a file may end after the file. A file is left out if only git blame
    can follow it: git does not show its hunks, or a commit is listed before its children.
    """
    questions = list(_list_questions(paths, changes))
    try:
        return _walk_commits(head, paths, changes, _read_diffs(repository, questions))
    except GitError:
        pass  # a partial clone lacks contents, perhaps of other files of these commits
    missing = _find_missing_blobs(repository, questions)
    broken = [question for question in questions if not missing.isdisjoint(question.blobs)]
    if not missing or len(broken) > BROKEN_MAX:
        return {}
    try:
        return _walk_commits(head, paths, changes, _read_diffs(repository, questions, missing))
    except GitError:
        return {}


class _Question(Struct, frozen=True):
    """A commit and a parent, the changed files whose hunks are needed, and the contents that git reads for them."""

    comparison: Comparison
    files: tuple[FileChange, ...]
    blobs: frozenset[BlobSha]


def _list_questions(paths: Collection[RepoPath], changes: Iterable[CommitFileChanges]) -> Iterator[_Question]:
    """Yield what git is asked, so that the hunks of these files are known under any of their names."""
    names = set(paths)
    for commit_changes in changes:
        for parent, files in commit_changes.by_parent.items():
            needed = [file for file in files if file.kind is ChangeKind.MODIFIED]
            is_needed = any(file.path in names for file in needed)
            added = [file for file in files if file.kind is ChangeKind.ADDED]
            deleted = [file for file in files if file.kind is ChangeKind.DELETED]
            if deleted and any(file.path in names for file in added):
                names.update(file.path for file in deleted)  # one of them may be a file under its former name
                needed += [*added, *deleted]
                is_needed = True
            if is_needed:
                blobs = frozenset(side.blob for file in needed for side in (file.old, file.new) if side is not None)
                needed = [file for file in needed if file.kind is not ChangeKind.MODIFIED or file.path in names]
                yield _Question(Comparison(commit_changes.commit, parent), tuple(needed), blobs)


def _read_diffs(
    repository: Repository, questions: Sequence[_Question], missing: Collection[BlobSha] = ()
) -> Iterator[tuple[Comparison, Sequence[FileDiff]]]:
    """Yield the hunks for each question; those that need a ``missing`` content are read without it."""
    is_whole = [not missing or question.blobs.isdisjoint(missing) for question in questions]
    whole = [question.comparison for question, is_read in zip(questions, is_whole, strict=True) if is_read]
    with repository.diffs(whole, renames=True, with_added=False) as diffs:
        for question, is_read in zip(questions, is_whole, strict=True):
            yield question.comparison, next(diffs).files if is_read else _read_around(repository, question, missing)


def _read_around(repository: Repository, question: _Question, missing: Collection[BlobSha]) -> list[FileDiff]:
    """Return the hunks of the files whose contents are here; the others are marked as not shown."""
    sides = {file: [side.blob for side in (file.old, file.new) if side is not None] for file in question.files}
    here = [file for file, blobs in sides.items() if not any(blob in missing for blob in blobs)]
    hidden = [file for file in question.files if file.kind is ChangeKind.MODIFIED and file not in here]
    if len(here) > PATHS_MAX:
        hidden = [file for file in question.files if file.new is not None]
        here = []
    diffs = [FileDiff(file, (), HunkDetail.TOO_LARGE) for file in hidden]
    if here:
        paths = [file.path for file in here]
        with repository.diffs([question.comparison], paths, renames=True, with_added=False) as answers:
            diffs += [file for answer in answers for file in answer.files]
    return diffs


def _find_missing_blobs(repository: Repository, questions: Iterable[_Question]) -> frozenset[BlobSha]:
    blobs = sorted({blob for question in questions for blob in question.blobs})
    known = zip(blobs, repository.look_up(blobs), strict=True)
    return frozenset(blob for blob, found in known if isinstance(found, NoObject))


def _walk_commits(
    head: CommitSha,
    paths: Collection[RepoPath],
    changes: Iterable[CommitFileChanges],
    diffs: Iterator[tuple[Comparison, Sequence[FileDiff]]],
) -> dict[RepoPath, list[LineSource]]:
    """Return the sources of lines; ``diffs`` are in the order of ``changes``."""
    walk, following = _SourceWalk(head, paths), next(diffs, None)
    for commit_changes in changes:
        hunks: dict[CommitSha | None, Sequence[FileDiff]] = {}
        while following is not None and following[0].commit == commit_changes.commit:
            hunks[following[0].parent] = following[1]
            following = next(diffs, None)
        walk.pass_commit(commit_changes, hunks)
    return walk.list_sources()


class _SourceWalk:
    """Open lines on their way from a commit to the commits that added them."""

    def __init__(self, head: CommitSha, paths: Iterable[RepoPath]) -> None:
        whole = (_Run(0, 0, LINES_END),)
        self._open: dict[CommitSha, _OpenFiles] = {head: {path: (_OpenLines(path, whole),) for path in paths}}
        self._sources: dict[RepoPath, list[LineSource]] = {path: [] for path in self._open[head]}
        self._passed: set[CommitSha] = set()
        self._failed: set[RepoPath] = set()

    def list_sources(self) -> dict[RepoPath, list[LineSource]]:
        """Return the sources of each file that could be followed, by line."""
        return {
            path: sorted(sources, key=lambda source: source.blamed)
            for path, sources in self._sources.items()
            if path not in self._failed
        }

    def pass_commit(self, changes: CommitFileChanges, diffs: Mapping[CommitSha | None, Sequence[FileDiff]]) -> None:
        """Pass the open lines of a commit to its parents; it added those that no parent has."""
        self._passed.add(changes.commit)
        files = self._open.pop(changes.commit, {})
        if not files:
            return
        # As git blame does, a file comes whole from the first parent that has the same content.
        for parent, changed in changes.by_parent.items():
            left: _OpenFiles = {}
            for change in changed:
                if change.path in files:
                    left[change.path] = files.pop(change.path)
            if parent is not None:
                self._add_open(parent, files)
            files = left
        for parent, diff in diffs.items():
            if parent is not None and files:
                files = self._pass_hunks(parent, files, diff)
        for path, parts in files.items():
            for part in parts:
                self._sources[part.target].extend(_make_sources(changes.commit, path, part.runs))

    def _pass_hunks(self, parent: CommitSha, files: _OpenFiles, diffs: Iterable[FileDiff]) -> _OpenFiles:
        """Pass the lines outside of the hunks to a parent, and return the others."""
        left = dict(files)
        for file in diffs:
            parts = left.pop(file.change.path, None)
            if parts is None or file.change.old is None:
                continue
            if file.shown is not HunkDetail.WHOLE:
                self._failed.update(part.target for part in parts)
                continue
            passed, kept = _split_parts(parts, file)
            if passed:
                self._add_open(parent, {file.change.old.path: passed})
            if kept:
                left[file.change.path] = kept
        return left

    def _add_open(self, commit: CommitSha, files: _OpenFiles) -> None:
        if commit in self._passed:
            self._failed.update(part.target for parts in files.values() for part in parts)
            return
        few, many = sorted((files, self._open.get(commit, {})), key=len)
        for path, parts in few.items():
            many[path] = (*many.get(path, ()), *parts)
        self._open[commit] = many


class _AddedBlock(Struct, frozen=True):
    """Indexes of lines that a hunk added, and what to add to later indexes to get those before the change."""

    first: int
    end: int
    shift: int


def _split_parts(parts: Iterable[_OpenLines], file: FileDiff) -> tuple[tuple[_OpenLines, ...], tuple[_OpenLines, ...]]:
    """Return the lines that the parent has, as numbered there, and those that were added."""
    passed, kept = [], []
    for part in parts:
        old, new = split_runs_by_hunks(part.runs, file.hunks)
        passed += [_OpenLines(part.target, old)] if old else []
        kept += [_OpenLines(part.target, new)] if new else []
    return tuple(passed), tuple(kept)


def split_runs_by_hunks(
    runs: Iterable[_Run], hunks: Sequence[Hunk[bytes]]
) -> tuple[tuple[_Run, ...], tuple[_Run, ...]]:
    """Return the runs outside of the hunks, as indexed before the change, and the runs that the hunks added.

    >>> split_runs_by_hunks([_Run(0, 0, 5)], [Hunk(2, 2, (b"b",), (b"B", b"C"))])
    ((_Run(here=0, blamed=0, count=1), _Run(here=2, blamed=3, count=2)), (_Run(here=1, blamed=1, count=2),))
    """
    blocks = [_added_from_hunk(hunk) for hunk in hunks]
    old: list[_Run] = []
    new: list[_Run] = []
    at = 0
    for run in sorted(runs, key=lambda run: run.here):
        here, end, blamed = run.here, run.here + run.count, run.blamed - run.here
        while at < len(blocks) and blocks[at].end <= here:
            at += 1
        after = at
        while here < end:
            shift = blocks[after - 1].shift if after else 0
            block = blocks[after] if after < len(blocks) else None
            until = end if block is None else min(end, max(block.first, here))
            if here < until:
                old.append(_Run(here + shift, blamed + here, until - here))
            here = until
            if block is not None and here < (until := min(block.end, end)):
                new.append(_Run(here, blamed + here, until - here))
                here = until
            after += 1
    return tuple(old), tuple(new)


def _added_from_hunk(hunk: Hunk[bytes]) -> _AddedBlock:
    end = hunk.new_index + len(hunk.added)
    return _AddedBlock(hunk.new_index, end, hunk.old_index + len(hunk.removed) - end)


def _make_sources(commit: CommitSha, path: RepoPath, runs: Iterable[_Run]) -> Iterator[LineSource]:
    for run in runs:
        blamed = Lines(run.blamed + 1, run.blamed + run.count)
        yield LineSource(commit, blamed, Lines(run.here + 1, run.here + run.count), path)
