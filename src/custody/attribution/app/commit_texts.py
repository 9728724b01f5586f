"""Texts of commits as a file's history needs them: removed lines, many files at once, secrets masked."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from custody.attribution.origin_search import CommitHunk
from custody.attribution.text import keys_of, text_of
from custody.capture.hook.redact import redact_text
from custody.capture.hook.secret_removal import REDACTION_FAILURES
from custody.capture.hook.secret_scan import trips
from custody.core.ids import CommitSha
from custody.core.paths import RepoPath
from custody.git import Commit, Comparison, FileDiff, HunkDetail, Repository, Walk
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


# The history of many files read at once: two questions to git, where one file alone takes two as well.
# That is possible where the commits since the horizon stand in one line. Where they do not, git alone knows which of
# them belong to a file's history, and each file is asked for by itself.


COMMITS_MAX = 2_000
"""A longer line is not read whole for the sake of some files."""
PATHS_MAX = 500
"""So many paths fit into a command; of more files, all that commits changed is read."""


@dataclass(frozen=True, slots=True)
class Touch:
    """A commit that changed a file, with what it did to it."""

    commit: Commit
    diff: FileDiff


def touches_of(
    repository: Repository, head: CommitSha, paths: Collection[RepoPath], since_seconds: int | None
) -> Mapping[RepoPath, list[Touch]]:
    """The commits that changed each of these files since a moment, newest first; no entry for what was not read."""
    with repository.log([head], walk=Walk(since_seconds=since_seconds, count_max=COMMITS_MAX + 1)) as answers:
        commits = list(answers)
    if len(commits) > COMMITS_MAX or any(len(commit.parents) > 1 for commit in commits):
        return {}
    touches: dict[RepoPath, list[Touch]] = {path: [] for path in paths}
    questions = [Comparison(commit.id, commit.parents[0] if commit.parents else None) for commit in commits]
    named = paths if len(paths) <= PATHS_MAX else ()
    with repository.diffs(questions, named) as diffs:
        for commit, answer in zip(commits, diffs, strict=True):
            for diff in answer.files:
                if diff.change.path in touches:
                    touches[diff.change.path].append(Touch(commit, diff))
    return {
        path: path_touches
        for path, path_touches in touches.items()
        if all(touch.diff.shown is not HunkDetail.TOO_LARGE for touch in path_touches)
    }


# A committed text as it would have been captured: with its secrets taken out, so that the two can be compared.
# Nothing of this is shown or kept; without it, a line that holds a secret would not be recognised.


def mask_secrets(lines: Sequence[str]) -> tuple[str, ...]:
    """The lines without their secrets; as they are where that changes nothing, or not line by line."""
    text = "\n".join(lines)
    if not trips(text.encode("utf-8", "surrogatepass")):
        return tuple(lines)
    try:
        clean = tuple(redact_text(text)[0].split("\n"))
    except REDACTION_FAILURES:
        return tuple(lines)  # then it was not captured either
    return clean if len(clean) == len(lines) else tuple(lines)
