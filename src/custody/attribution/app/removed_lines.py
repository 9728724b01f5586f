"""Which lines commits took out of which files: asked for every file of a commit, so it is remembered for a while."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from custody.attribution.origin_search import CommitHunk
from custody.attribution.text import keys_of, text_of
from custody.core.ids import CommitSha
from custody.core.paths import RepoPath
from custody.git import Comparison, Repository
from custody.git import Hunk as GitHunk

FILES_MAX = 200
"""Files of one commit in which a moved line is looked for."""
COMMITS_KEPT = 64


@dataclass(frozen=True, slots=True)
class FileRemoval:
    """What a commit changed in one file, under the name that the file had before; ``keys`` are of lines taken out."""

    path: RepoPath
    now: RepoPath
    hunks: tuple[CommitHunk, ...]
    keys: frozenset[int]


class RemovedLines:
    """The lines that commits removed, remembered for the last few commits."""

    def __init__(self, repository: Repository) -> None:
        self._repository = repository
        self._kept: dict[CommitSha, tuple[FileRemoval, ...]] = {}

    def by(self, commit: CommitSha) -> tuple[FileRemoval, ...]:
        """What a commit took out of files, against its first parent."""
        if commit not in self._kept:
            if len(self._kept) >= COMMITS_KEPT:
                del self._kept[next(iter(self._kept))]
            self._kept[commit] = tuple(self._read(commit))
        return self._kept[commit]

    def _read(self, commit: CommitSha) -> Iterator[FileRemoval]:
        (answer,) = self._repository.diffs([Comparison(commit)])
        for diff in answer.files[:FILES_MAX]:
            hunks = tuple(hunk_of(hunk) for hunk in diff.hunks if hunk.old_count)
            if diff.change.old is not None and hunks:
                keys = frozenset(key for hunk in hunks for key in keys_of(hunk.removed))
                yield FileRemoval(diff.change.old.path, diff.change.path, hunks, keys)


def hunk_of(hunk: GitHunk) -> CommitHunk:
    """git's hunk with lines from 0 and without line ends; where nothing was, git names the line before."""
    old_first = hunk.old_first - 1 if hunk.old_count else hunk.old_first
    new_first = hunk.new_first - 1 if hunk.new_count else hunk.new_first
    return CommitHunk(old_first, _texts(hunk.removed), new_first, _texts(hunk.added))


def _texts(lines: Iterable[bytes]) -> tuple[str, ...]:
    return tuple(text_of(line).removesuffix("\n").removesuffix("\r") for line in lines)
