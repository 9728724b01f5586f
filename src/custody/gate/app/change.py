"""The change that is judged: a range of commits, or the work tree as one more commit on top of HEAD."""

from collections.abc import Iterator
from contextlib import contextmanager

from msgspec import Struct

from custody.config import TEAM_FILE, EffectiveRules, Setting, TeamPolicy, list_rule_files
from custody.core.errors import InputError
from custody.core.evidence import ChangePeriod
from custody.core.ids import CommitSha
from custody.core.paths import RepoPath, matches_path_pattern
from custody.core.wire.canonical import dump_canonical_json, rule_value_to_json
from custody.git import Comparison, NoWorkFile, Repository, Walk, WorkCommit
from custody.workspace.change import NS, ChangeRange, list_change_additions, resolve_change_range
from custody.workspace.rules_in_force import load_base_team_policy, load_rules_at_commit
from custody.workspace.workspace import Workspace

GUARDED = (TEAM_FILE, ".github/workflows/**", ".gitlab-ci.yml")
"""Patterns of the files that decide what may merge: rules, stores, reviewers and CI workflows."""


class ChangeUnderReview(Struct, frozen=True):
    """A change, the repository that holds its objects, and the files of the work tree that it leaves out."""

    repository: Repository
    change: ChangeRange
    left_out: tuple[NoWorkFile, ...] = ()
    is_work_tree: bool = False

    @property
    def version(self) -> CommitSha | None:
        """Return the commit to judge; None for the files on disk."""
        return None if self.is_work_tree else self.change.head


@contextmanager
def resolve_change_under_review(workspace: Workspace, name: str | None) -> Iterator[ChangeUnderReview]:
    """Yield the change named ``BASE..HEAD``, or the work tree for None."""
    if name is not None:
        yield ChangeUnderReview(workspace.repository, resolve_change_range(workspace.repository, name))
        return
    base = workspace.repository.head().commit
    if base is None:
        raise InputError("cannot judge the work tree: HEAD has no commit", hint="make a first commit")
    with workspace.repository.with_work_tree() as work:
        yield ChangeUnderReview(
            work.repository, _resolve_work_tree_review(work, base, workspace.now_ns()), work.left_out, is_work_tree=True
        )


def _resolve_work_tree_review(work: WorkCommit, base: CommitSha, now_ns: int) -> ChangeRange:
    with work.repository.diffs([Comparison(work.commit, base)], renames=True) as answers:
        files = tuple(file for diff in answers for file in diff.files)
    with work.repository.log([base], walk=Walk(count_max=1)) as commits:
        (commit,) = commits
    made = commit.committer.at
    period = None if made is None else ChangePeriod(made.seconds * NS, made.seconds * NS, now_ns)
    return ChangeRange(base, work.commit, base, period, list_change_additions(files), files)


# A change is judged by the rules of its base, so that it cannot set its own.


class Policy(Struct, frozen=True):
    """The rules in force for a change, the files that set them, and the rules that the change edits.

    ``guarded`` are the files it edits that decide what may merge. ``team`` lists the stores and reviewers.
    """

    rules: EffectiveRules
    sources: tuple[str, ...]
    changed: tuple[str, ...]
    guarded: tuple[str, ...]
    team: TeamPolicy


def read_base_policy(review: ChangeUnderReview) -> Policy:
    """Return the rules of the base, and the rules that the change edits.

    User settings do not count: a verdict is the same for everybody, and cannot be switched off locally.
    """
    rules, sources = load_rules_at_commit(review.repository, review.change.base, {})
    read = tuple(source.name for source in sources if source.state == "read")
    changed = _list_policy_changes(review)
    return Policy(
        rules,
        read,
        changed,
        _list_guarded_files(review, TEAM_FILE if changed else ""),
        load_base_team_policy(review.repository, review.change.base, review.change.fork),
    )


def _list_guarded_files(review: ChangeUnderReview, named: str) -> tuple[str, ...]:
    """List the edited files that decide what may merge, without the file whose changes are ``named`` already."""
    touched = {path.display for path in _list_touched_paths(review)} - {named}
    return tuple(
        f"'{path}'" for path in sorted(touched) if any(matches_path_pattern(pattern, path) for pattern in GUARDED)
    )


def _list_touched_paths(review: ChangeUnderReview) -> set[RepoPath]:
    sides = (side for file in review.change.files for side in (file.change.old, file.change.new))
    return {side.path for side in sides if side is not None}


def _list_policy_changes(review: ChangeUnderReview) -> tuple[str, ...]:
    """List the rules that differ between the fork point and the head."""
    if _list_touched_paths(review).isdisjoint(list_rule_files()):
        return ()
    before = load_rules_at_commit(review.repository, review.change.fork, {})[0]
    try:
        after = load_rules_at_commit(review.repository, review.change.head, {})[0]
    except InputError as error:
        return (f"they cannot be read: {error.message}",)
    pairs = zip(before.settings, after.settings, strict=True)
    return tuple(
        f"{old.rule.name} from {_render_policy_setting(old)} to {_render_policy_setting(new)}"
        for old, new in pairs
        if old.value != new.value
    )


def _render_policy_setting(setting: Setting) -> str:
    return dump_canonical_json(rule_value_to_json(setting.value)).decode()
