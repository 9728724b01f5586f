"""The change that is judged: a range of commits, or the work tree as one more commit on top of HEAD."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from custody.core.errors import InputError
from custody.core.ids import CommitSha
from custody.git import Comparison, NoWorkFile, Repository, Walk, WorkCommit
from custody.workspace.change import NS, ChangeRange, additions_of, change_of
from custody.workspace.period import ChangePeriod
from custody.workspace.workspace import Workspace


@dataclass(frozen=True, slots=True)
class ChangeUnderReview:
    """A change, the repository in which all its objects can be read, and what of a work tree it does not tell."""

    repository: Repository
    change: ChangeRange
    left_out: tuple[NoWorkFile, ...] = ()
    is_work_tree: bool = False

    @property
    def version(self) -> CommitSha | None:
        """The commit whose files are judged; None for those on disk."""
        return None if self.is_work_tree else self.change.head


@contextmanager
def resolve_change(workspace: Workspace, typed: str | None) -> Iterator[ChangeUnderReview]:
    """The change that somebody typed; None for the work tree."""
    if typed is not None:
        yield ChangeUnderReview(workspace.repository, change_of(workspace.repository, typed))
        return
    base = workspace.repository.head().commit
    if base is None:
        raise InputError("there is no commit yet", hint="a work tree is judged by what it has over a first commit")
    with workspace.repository.with_work_tree() as work:
        yield ChangeUnderReview(
            work.repository, _work_change(work, base, workspace.now_ns()), work.left_out, is_work_tree=True
        )


def _work_change(work: WorkCommit, base: CommitSha, now_ns: int) -> ChangeRange:
    with work.repository.diffs([Comparison(work.commit, base)], renames=True) as answers:
        files = tuple(file for diff in answers for file in diff.files)
    with work.repository.log([base], walk=Walk(count_max=1)) as commits:
        (commit,) = commits
    made = commit.committer.at
    period = None if made is None else ChangePeriod(made.seconds * NS, made.seconds * NS, now_ns)
    return ChangeRange(base, work.commit, base, period, additions_of(files), files)
