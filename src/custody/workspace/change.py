"""The lines that a range of commits adds, compared with the point where it left its base."""

from collections.abc import Collection, Iterable
from itertools import permutations

from msgspec import Struct

from custody.core.evidence import ChangePeriod
from custody.core.ids import CommitSha
from custody.core.paths import Lines, RepoPath
from custody.git import Ancestry, Commit, Comparison, FileDiff, HunkDetail, Person, Repository, Walk

NS = 1_000_000_000
NOT_SHOWN = {HunkDetail.BINARY: "is a binary file", HunkDetail.TOO_LARGE: "is too large to be compared line by line"}


class Addition(Struct, frozen=True):
    """Lines that a change adds to a file, or why they are unknown."""

    path: RepoPath
    lines: tuple[Lines, ...]
    unread: str | None = None


class ChangeRange(Struct, frozen=True):
    """From ``base`` to ``head``: compared with ``fork``, the point where ``head`` left ``base``.

    ``files`` are all files that differ; ``commits`` are those that only ``head`` has.
    """

    base: CommitSha
    head: CommitSha
    fork: CommitSha
    period: ChangePeriod | None
    additions: tuple[Addition, ...]
    files: tuple[FileDiff, ...] = ()
    commits: tuple[Commit, ...] = ()

    @property
    def people(self) -> tuple[Person, ...]:
        """Return the authors and committers of its commits."""
        return tuple(person for commit in self.commits for person in (commit.author, commit.committer))


def resolve_change_range(repository: Repository, text: str) -> ChangeRange:
    """Return the change ``BASE..HEAD``, ``BASE...HEAD`` or ``BASE`` alone."""
    base, head = map(repository.resolve, _split_change_range(text))
    commits = _list_change_commits(repository, head, without=base)
    fork = _find_change_fork(repository, base, head, commits)
    with repository.diffs([Comparison(head, fork)], renames=True) as answers:
        files = tuple(file for diff in answers for file in diff.files)
    return ChangeRange(
        base,
        head,
        fork,
        _find_change_period(repository, fork, commits),
        list_change_additions(files),
        files,
        tuple(commits),
    )


def list_change_additions(files: Iterable[FileDiff]) -> tuple[Addition, ...]:
    """Return the additions of the changed files that add lines."""
    return tuple(addition for file in files if (addition := _addition_from_diff(file)) is not None)


def _split_change_range(text: str) -> tuple[str, str]:
    """Return base and head; two dots mean the same as three, so later commits of the base do not count.

    An omitted base is not HEAD, unlike in git: an empty variable in a script would make an empty change.
    """
    for dots in ("...", ".."):
        base, separator, head = text.partition(dots)
        if separator:
            return base, head or "HEAD"
    return text, "HEAD"


def _list_change_commits(repository: Repository, head: CommitSha, *, without: CommitSha) -> list[Commit]:
    with repository.log([head], walk=Walk(without=[without])) as commits:
        return list(commits)


def _find_change_fork(
    repository: Repository, base: CommitSha, head: CommitSha, commits: Collection[Commit]
) -> CommitSha:
    """Return the newest common commit; the base itself if there is not exactly one."""
    if not commits:
        return head
    meanwhile = _list_change_commits(repository, base, without=head)
    if not meanwhile:
        return base
    common = _find_change_parents(commits) & _find_change_parents(meanwhile)
    pairs = [Ancestry(old, new) for old, new in permutations(sorted(common), 2)]
    older = {pair.ancestor for pair in repository.ancestries(pairs)} if pairs else set()
    newest = common - older
    return newest.pop() if len(newest) == 1 else base


def _find_change_parents(commits: Iterable[Commit]) -> set[CommitSha]:
    """Return the parents of ``commits`` that are not in ``commits``."""
    commits = list(commits)
    return {parent for commit in commits for parent in commit.parents} - {commit.id for commit in commits}


def _find_change_period(repository: Repository, fork: CommitSha, commits: Collection[Commit]) -> ChangePeriod | None:
    """Return the period of the change from its commits' times; None if one of them has no time."""
    with repository.log([fork], walk=Walk(count_max=1)) as answers:
        (base,) = answers
    times = [person.at for commit in commits for person in (commit.author, commit.committer)]
    seconds = [time.seconds for time in times if time is not None]
    if base.committer.at is None or not seconds or len(seconds) < len(times):
        return None
    return ChangePeriod(base.committer.at.seconds * NS, min(seconds) * NS, max(seconds) * NS)


def _addition_from_diff(file: FileDiff) -> Addition | None:
    """Return the added lines of a file; None if it was deleted, only lost lines, or only changed its name or mode."""
    if file.change.new is None:
        return None
    if file.shown is not HunkDetail.WHOLE:
        return Addition(file.change.path, (), NOT_SHOWN[file.shown])
    lines = tuple(hunk.new_lines for hunk in file.hunks if hunk.new_lines is not None)
    return Addition(file.change.path, lines) if lines else None
