"""What a range of commits brings: the lines that its head has over the point where it left its base."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from itertools import permutations

from custody.core.evidence import ChangePeriod
from custody.core.ids import CommitSha
from custody.core.paths import Lines, RepoPath
from custody.git import Ancestry, Commit, Comparison, FileDiff, HunkDetail, Person, Repository, Walk

NS = 1_000_000_000
NOT_SHOWN = {HunkDetail.BINARY: "is a binary file", HunkDetail.TOO_LARGE: "is too large to be compared line by line"}


@dataclass(frozen=True, slots=True)
class Addition:
    """Lines that a change adds to a file, or why they cannot be told."""

    path: RepoPath
    lines: tuple[Lines, ...]
    unread: str | None = None


@dataclass(frozen=True, slots=True)
class ChangeRange:
    """From ``base`` to ``head``: compared with ``fork``, the point where ``head`` left ``base``.

    ``files`` are all that differ, also those that only lost lines; ``commits`` are those that only ``head`` has.
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
        """Who signed its commits."""
        return tuple(person for commit in self.commits for person in (commit.author, commit.committer))


def change_of(repository: Repository, typed: str) -> ChangeRange:
    """What ``BASE..HEAD``, ``BASE...HEAD`` or ``BASE`` alone brings."""
    base, head = map(repository.resolve, _sides(typed))
    brought = _commits(repository, head, without=base)
    fork = _fork(repository, base, head, brought)
    with repository.diffs([Comparison(head, fork)], renames=True) as answers:
        files = tuple(file for diff in answers for file in diff.files)
    return ChangeRange(base, head, fork, _period(repository, fork, brought), additions_of(files), files, tuple(brought))


def additions_of(files: Iterable[FileDiff]) -> tuple[Addition, ...]:
    """What each of the changed files adds, of those that add anything."""
    return tuple(addition for file in files if (addition := _addition(file)) is not None)


def _sides(typed: str) -> tuple[str, str]:
    """Two dots mean the same as three here: a change is what its commits bring, not what its base got meanwhile.

    A base that is left out is not HEAD, as it is for git: an empty variable in a script would make an empty change.
    """
    for dots in ("...", ".."):
        base, found, head = typed.partition(dots)
        if found:
            return base, head or "HEAD"
    return typed, "HEAD"


def _commits(repository: Repository, head: CommitSha, *, without: CommitSha) -> list[Commit]:
    with repository.log([head], walk=Walk(without=[without])) as commits:
        return list(commits)


def _fork(repository: Repository, base: CommitSha, head: CommitSha, brought: Collection[Commit]) -> CommitSha:
    """The newest commit that both have; where there is none, or more than one, the base itself."""
    if not brought:
        return head
    meanwhile = _commits(repository, base, without=head)
    if not meanwhile:
        return base
    common = _edge(brought) & _edge(meanwhile)
    pairs = [Ancestry(old, new) for old, new in permutations(sorted(common), 2)]
    older = {pair.ancestor for pair in repository.ancestries(pairs)} if pairs else set()
    newest = common - older
    return newest.pop() if len(newest) == 1 else base


def _edge(commits: Iterable[Commit]) -> set[CommitSha]:
    """The parents of ``commits`` that are none of them."""
    commits = list(commits)
    return {parent for commit in commits for parent in commit.parents} - {commit.id for commit in commits}


def _period(repository: Repository, fork: CommitSha, brought: Collection[Commit]) -> ChangePeriod | None:
    """When the change was made, as its commits say; None when one of them does not."""
    with repository.log([fork], walk=Walk(count_max=1)) as answers:
        (base,) = answers
    moments = [person.at for commit in brought for person in (commit.author, commit.committer)]
    seconds = [moment.seconds for moment in moments if moment is not None]
    if base.committer.at is None or not seconds or len(seconds) < len(moments):
        return None
    return ChangePeriod(base.committer.at.seconds * NS, min(seconds) * NS, max(seconds) * NS)


def _addition(file: FileDiff) -> Addition | None:
    """What a changed file adds; None when it is gone, or only lost lines, or only has another name or mode."""
    if file.change.new is None:
        return None
    if file.shown is not HunkDetail.WHOLE:
        return Addition(file.change.path, (), NOT_SHOWN[file.shown])
    lines = tuple(hunk.new_lines for hunk in file.hunks if hunk.new_lines is not None)
    return Addition(file.change.path, lines) if lines else None
