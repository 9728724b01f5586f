"""The change of an outcome: a commit, a range or a branch, with all commits that decisions may refer to."""

from collections.abc import Sequence

from msgspec import Struct

from custody.core.errors import InputError
from custody.core.ids import CommitSha
from custody.git import FileDiff, Repository, Walk
from custody.trust.app.record import read_decision_diff
from custody.workspace.change import resolve_change_range

BRANCHES = ("refs/heads/", "refs/remotes/")


class OutcomeSubject(Struct, frozen=True):
    """A change from ``base`` to ``head``; ``merged`` is the commit that it became, where that is another one.

    ``names`` are all commits that decisions about it may refer to.
    """

    base: CommitSha | None
    head: CommitSha
    files: Sequence[FileDiff]
    merged: CommitSha | None = None
    merged_parents: Sequence[CommitSha] = ()

    @property
    def change(self) -> CommitSha:
        """Return the commit that decisions refer to: the merged commit, where known."""
        return self.merged or self.head

    @property
    def names(self) -> tuple[CommitSha, ...]:
        """Return the commits that stand for the whole change."""
        return tuple(dict.fromkeys((self.change, self.head, *self.merged_parents)))


def resolve_outcome_subject(repository: Repository, name: str, landed_as: str | None = None) -> OutcomeSubject:
    """Return the change called ``name``; ``landed_as`` is the commit that it became by a squash, rebase or merge."""
    merged = None if landed_as is None else repository.resolve(landed_as)
    if ".." in name:
        return _outcome_subject_from_range(repository, name, merged)
    branch = _outcome_subject_from_branch(repository, name)
    return outcome_subject_from_commit(repository, repository.resolve(name), merged) if branch is None else branch


def outcome_subject_from_commit(
    repository: Repository, commit: CommitSha, merged: CommitSha | None = None, base: CommitSha | None = None
) -> OutcomeSubject:
    """Return one commit compared with its first parent, or with ``base``."""
    with repository.log([commit], walk=Walk(count_max=1)) as answers:
        (head,) = answers
    parent = base or next(iter(head.parents), None)
    if parent is None or parent == next(iter(head.parents), None):
        files: Sequence[FileDiff] = read_decision_diff(repository, commit)
    else:
        files = resolve_change_range(repository, f"{parent}..{commit}").files
    others = [other for other in head.parents if other != parent] if len(head.parents) > 1 else []
    return OutcomeSubject(parent, commit, files, merged, others)


def _outcome_subject_from_range(repository: Repository, name: str, merged: CommitSha | None) -> OutcomeSubject:
    change = resolve_change_range(repository, name)
    if not change.files:
        raise InputError(f"'{name}' changes nothing", hint="pass a change, such as 'main..topic'")
    return OutcomeSubject(change.fork, change.head, change.files, merged)


def _outcome_subject_from_branch(repository: Repository, name: str) -> OutcomeSubject | None:
    """Return what a branch adds to HEAD, or added when it was merged; None where no other branch has this name."""
    tip = next((sha for branch, sha in _list_outcome_branches(repository) if branch == name), None)
    head = repository.head()
    own = (head.branch or b"").decode("utf-8", "surrogateescape").removeprefix(BRANCHES[0])
    if tip is None or head.commit is None or name == own:
        return None
    with repository.log([head.commit], walk=Walk(without=[tip])) as since:
        merge = next((commit for commit in since if tip in commit.parents[1:]), None)
    if merge is not None:
        return _outcome_subject_from_range(repository, f"{merge.parents[0]}..{tip}", merge.id)
    if resolve_change_range(repository, f"{head.commit}..{tip}").files:
        return _outcome_subject_from_range(repository, f"{head.commit}..{tip}", None)
    raise InputError(
        f"cannot tell what '{name}' changed: no merge has it as its second parent",
        hint="pass the change as BASE..HEAD or as a commit",
    )


def _list_outcome_branches(repository: Repository) -> list[tuple[str, CommitSha]]:
    branches = []
    for prefix in BRANCHES:
        with repository.refs(prefix) as refs:
            branches += [(ref.name.decode("utf-8", "surrogateescape").removeprefix(prefix), ref.id) for ref in refs]
    return [(name, CommitSha(sha)) for name, sha in branches]
