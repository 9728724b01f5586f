"""The change that an outcome is told of: a commit, a range, or a branch, with the commits that it may be known by."""

from collections.abc import Sequence
from dataclasses import dataclass

from custody.core.errors import InputError
from custody.core.ids import CommitSha
from custody.git import FileDiff, Repository, Walk
from custody.trust.app.record import changed_files
from custody.workspace.change import change_of

BRANCHES = ("refs/heads/", "refs/remotes/")


@dataclass(frozen=True, slots=True)
class OutcomeSubject:
    """From ``base`` to ``head``; ``landed`` is what it became where that is another commit.

    ``names`` are all commits under which somebody may have decided about it.
    """

    base: CommitSha | None
    head: CommitSha
    files: Sequence[FileDiff]
    landed: CommitSha | None = None
    brought: Sequence[CommitSha] = ()

    @property
    def change(self) -> CommitSha:
        """The commit that it is decided under: what it became, where that is known."""
        return self.landed or self.head

    @property
    def names(self) -> tuple[CommitSha, ...]:
        """The commits that stand for the whole of it."""
        return tuple(dict.fromkeys((self.change, self.head, *self.brought)))


def subject_of(repository: Repository, typed: str, landed_as: str | None = None) -> OutcomeSubject:
    """The change called ``typed``; ``landed_as`` is the commit that it became by a squash, a rebase or a merge."""
    landed = None if landed_as is None else repository.resolve(landed_as)
    if ".." in typed:
        return _range(repository, typed, landed)
    branch = _branch(repository, typed)
    return commit_subject(repository, repository.resolve(typed), landed) if branch is None else branch


def commit_subject(
    repository: Repository, commit: CommitSha, landed: CommitSha | None = None, base: CommitSha | None = None
) -> OutcomeSubject:
    """One commit against its first parent; a merge against the parent that stayed, ``base`` or else the first."""
    with repository.log([commit], walk=Walk(count_max=1)) as answers:
        (found,) = answers
    stayed = base or next(iter(found.parents), None)
    if stayed is None or stayed == next(iter(found.parents), None):
        files: Sequence[FileDiff] = changed_files(repository, commit)
    else:
        files = change_of(repository, f"{stayed}..{commit}").files
    brought = [parent for parent in found.parents if parent != stayed] if len(found.parents) > 1 else []
    return OutcomeSubject(stayed, commit, files, landed, brought)


def _range(repository: Repository, typed: str, landed: CommitSha | None) -> OutcomeSubject:
    change = change_of(repository, typed)
    if not change.files:
        raise InputError(f"'{typed}' changes nothing", hint="name a change, such as 'main..topic'")
    return OutcomeSubject(change.fork, change.head, change.files, landed)


def _branch(repository: Repository, typed: str) -> OutcomeSubject | None:
    """What a branch has over HEAD's, or had over it when it was merged; None where no other branch has this name."""
    tip = next((sha for name, sha in _branches(repository) if name == typed), None)
    head = repository.head()
    own = (head.branch or b"").decode("utf-8", "surrogateescape").removeprefix(BRANCHES[0])
    if tip is None or head.commit is None or typed == own:
        return None
    with repository.log([head.commit], walk=Walk(without=[tip])) as since:
        merge = next((commit for commit in since if tip in commit.parents[1:]), None)
    if merge is not None:
        return _range(repository, f"{merge.parents[0]}..{tip}", merge.id)
    if change_of(repository, f"{head.commit}..{tip}").files:
        return _range(repository, f"{head.commit}..{tip}", None)
    raise InputError(
        f"nothing shows what '{typed}' brought: no merge has it as its second parent",
        hint="name the change as BASE..HEAD, or by its one commit",
    )


def _branches(repository: Repository) -> list[tuple[str, CommitSha]]:
    found = []
    for prefix in BRANCHES:
        with repository.refs(prefix) as refs:
            found += [(ref.name.decode("utf-8", "surrogateescape").removeprefix(prefix), ref.id) for ref in refs]
    return [(name, CommitSha(sha)) for name, sha in found]
