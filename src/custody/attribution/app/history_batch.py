"""The history of many files read at once: two questions to git, where one file alone takes two as well.

That is possible where the commits since the horizon stand in one line. Where they do not, git alone knows which of them
belong to a file's history, and each file is asked for by itself.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from custody.core.ids import CommitSha
from custody.core.paths import RepoPath
from custody.git import Commit, Comparison, FileDiff, HunkDetail, Repository, Walk

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
