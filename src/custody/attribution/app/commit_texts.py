"""Texts of commits for the history of files: removed lines, many files at once, secrets masked."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from msgspec import Struct

from custody.attribution.text import decode_lineage_text, make_lineage_keys
from custody.core.ids import CommitSha
from custody.core.paths import Hunk, RepoPath
from custody.git import Commit, Comparison, FileChange, FileDiff, HunkDetail, Repository, Walk

FILES_MAX = 200
"""Maximum files of one commit that are searched for moved lines."""
CACHED_COMMITS_MAX = 64


class FileRemoval(Struct, frozen=True):
    """A commit's change of one file; ``path`` is its old path, ``now`` its new one, ``keys`` are of removed lines."""

    path: RepoPath
    now: RepoPath
    hunks: tuple[Hunk[str], ...]
    keys: frozenset[int]


class RemovedLines:
    """The lines that commits removed, cached for the last few commits."""

    def __init__(self, repository: Repository) -> None:
        self._repository = repository
        self._cache: dict[CommitSha, tuple[FileRemoval, ...]] = {}

    def by(self, commit: CommitSha) -> tuple[FileRemoval, ...]:
        """Return the lines that a commit removed from files, against its first parent."""
        if commit not in self._cache:
            if len(self._cache) >= CACHED_COMMITS_MAX:
                del self._cache[next(iter(self._cache))]
            self._cache[commit] = tuple(self._read(commit))
        return self._cache[commit]

    def _read(self, commit: CommitSha) -> Iterator[FileRemoval]:
        (commit_diff,) = self._repository.diffs([Comparison(commit)])
        for diff in commit_diff.files[:FILES_MAX]:
            hunks = tuple(decode_hunk(hunk) for hunk in diff.hunks if hunk.removed)
            if diff.change.old is not None and hunks:
                keys = frozenset(key for hunk in hunks for key in make_lineage_keys(hunk.removed))
                yield FileRemoval(diff.change.old.path, diff.change.path, hunks, keys)


def decode_hunk(hunk: Hunk[bytes]) -> Hunk[str]:
    """Return a hunk as text without line ends."""
    return Hunk(hunk.old_first, hunk.new_first, _decode_hunk_lines(hunk.removed), _decode_hunk_lines(hunk.added))


def _decode_hunk_lines(lines: Iterable[bytes]) -> tuple[str, ...]:
    return tuple(decode_lineage_text(line).removesuffix("\n").removesuffix("\r") for line in lines)


# The history of many files read by two git processes, as many as one file alone needs. This works only if the commits
# since the horizon have no merges. Otherwise only git knows which commits belong to a file's history, and each file is
# read by itself.


COMMITS_MAX = 2_000
"""Maximum commits that are read at once."""
PATHS_MAX = 500
"""Maximum paths of one git command; for more files, all changes are read."""


class Touch(Struct, frozen=True):
    """A commit that changed a file, with the diff of the file."""

    commit: Commit
    diff: FileDiff


def read_file_history_touches(
    repository: Repository, head: CommitSha, paths: Collection[RepoPath], since_seconds: int | None
) -> Mapping[RepoPath, list[Touch]]:
    """Return the commits that changed each of these files since a time, newest first; no entry for unread files."""
    with repository.log([head], walk=Walk(since_seconds=since_seconds, count_max=COMMITS_MAX + 1)) as log:
        commits = list(log)
    if len(commits) > COMMITS_MAX or any(len(commit.parents) > 1 for commit in commits):
        return {}
    touches: dict[RepoPath, list[Touch]] = {path: [] for path in paths}
    comparisons = [Comparison(commit.id, commit.parents[0] if commit.parents else None) for commit in commits]
    with repository.diffs(comparisons, paths if len(paths) <= PATHS_MAX else ()) as diffs:
        for commit, commit_diff in zip(commits, diffs, strict=True):
            for diff in commit_diff.files:
                if diff.change.path in touches:
                    touches[diff.change.path].append(Touch(commit, diff))
    return {
        path: path_touches
        for path, path_touches in touches.items()
        if all(touch.diff.shown is not HunkDetail.TOO_LARGE for touch in path_touches)
    }


class CommitFileChanges(Struct, frozen=True):
    """The changed files of a commit against each parent, None for a commit without one."""

    commit: CommitSha
    by_parent: Mapping[CommitSha | None, tuple[FileChange, ...]]


def read_file_changes(repository: Repository, head: CommitSha, since_seconds: int | None) -> list[CommitFileChanges]:
    """Return the changed files of each commit since a time, newest first."""
    with repository.log([head], walk=Walk(since_seconds=since_seconds)) as log:
        commits = list(log)
    comparisons = [Comparison(commit.id, parent) for commit in commits for parent in (commit.parents or (None,))]
    if not comparisons:
        return []
    with repository.changes(comparisons, renames=False) as changes:
        return [
            CommitFileChanges(commit.id, {parent: tuple(next(changes).files) for parent in (commit.parents or (None,))})
            for commit in commits
        ]


def read_last_touches(repository: Repository, head: CommitSha, since_seconds: int | None) -> dict[RepoPath, CommitSha]:
    """Return the last commit since a time that changed each file as of ``head``."""
    return list_last_touches(head, read_file_changes(repository, head, since_seconds))


def list_last_touches(head: CommitSha, changes: Iterable[CommitFileChanges]) -> dict[RepoPath, CommitSha]:
    """Return the last of these commits that changed each file as of ``head``."""
    return find_last_touches(
        head,
        {
            change.commit: {parent: {file.path for file in files} for parent, files in change.by_parent.items()}
            for change in changes
        },
    )


def find_last_touches(
    commit: CommitSha, changed: Mapping[CommitSha, Mapping[CommitSha | None, Collection[RepoPath]]]
) -> dict[RepoPath, CommitSha]:
    """Return the last commit that changed each file as of ``commit``, as git simplifies the history of one file.

    ``changed`` are the files that each commit changed, by parent. A file comes from the first parent that has the same
    content, and a commit that it does not have ends the search.

    >>> first, second, merge = (CommitSha(letter * 40) for letter in "abc")
    >>> old, new = RepoPath(b"old"), RepoPath(b"new")
    >>> changed = {first: {None: [old]}, second: {first: [new]}, merge: {first: [new], second: []}}
    >>> find_last_touches(merge, changed) == {old: first, new: second}
    True
    """
    touches: dict[RepoPath, CommitSha] = {}
    open_paths = {path for parents in changed.values() for paths in parents.values() for path in paths}
    pending = {commit: open_paths}
    while pending:
        at, paths = pending.popitem()
        for parent, files in changed.get(at, {}).items():
            here = {path for path in files if path in paths}
            paths -= here
            if parent is not None and paths:
                few, many = sorted((paths, pending.get(parent, set())), key=len)
                many |= few
                pending[parent] = many
            paths = here
        if at in changed:
            touches.update(dict.fromkeys(paths, at))
    return touches


# A committed text as it would have been captured, without its secrets, so that the two can be compared. It is neither
# shown nor stored; without it, a line with a secret would not be recognized.


def mask_hunk_secrets(lines: Sequence[str]) -> tuple[str, ...]:
    """Return the lines without their secrets; unchanged if redaction changes the count of lines or fails."""
    from custody.capture.hook.secret_scan import has_possible_secret  # stored versions need no search

    text = "\n".join(lines)
    if not has_possible_secret(text.encode("utf-8", "surrogatepass")):
        return tuple(lines)
    from custody.capture.hook.redact import redact_text
    from custody.capture.hook.secret_removal import REDACTION_FAILURES

    try:
        clean = tuple(redact_text(text)[0].split("\n"))
    except REDACTION_FAILURES:
        return tuple(lines)  # such a text was not captured either
    return clean if len(clean) == len(lines) else tuple(lines)
