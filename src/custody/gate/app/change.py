"""The change that is judged: a range of commits, or the work tree as one more commit on top of HEAD."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from custody.config import EffectiveRules, Setting, rule_files
from custody.core.errors import InputError
from custody.core.evidence import ChangePeriod
from custody.core.ids import CommitSha
from custody.core.wire.canonical import dump, rule_value
from custody.git import Comparison, NoWorkFile, Repository, Walk, WorkCommit
from custody.workspace.change import NS, ChangeRange, additions_of, change_of
from custody.workspace.rules_in_force import loaded_at
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


# The rules by which a change is judged: those of its base, so that no change can set its own.


@dataclass(frozen=True, slots=True)
class Policy:
    """The rules in force for a change, where they were set, and what the change would set anew."""

    rules: EffectiveRules
    sources: tuple[str, ...]
    changed: tuple[str, ...]


def policy_of(review: ChangeUnderReview) -> Policy:
    """What the files of the base set, whoever asks; and which of it the change's own files differ in.

    What a user sets for themselves does not count: a verdict is the same for everybody, and nobody switches it off.
    """
    rules, sources = loaded_at(review.repository, review.change.base, {})
    read = tuple(source.name for source in sources if source.state == "read")
    return Policy(rules, read, _changed(review))


def _changed(review: ChangeUnderReview) -> tuple[str, ...]:
    """The rules that the head's files set otherwise than the files of the point where it left its base."""
    touched = {
        side.path for file in review.change.files for side in (file.change.old, file.change.new) if side is not None
    }
    if touched.isdisjoint(rule_files()):
        return ()
    before = loaded_at(review.repository, review.change.fork, {})[0]
    try:
        after = loaded_at(review.repository, review.change.head, {})[0]
    except InputError as error:
        return (f"they cannot be read: {error.message}",)
    pairs = zip(before.settings, after.settings, strict=True)
    return tuple(f"{old.rule.name} from {_shown(old)} to {_shown(new)}" for old, new in pairs if old.value != new.value)


def _shown(setting: Setting) -> str:
    return dump(rule_value(setting.value)).decode()
