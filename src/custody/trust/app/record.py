"""Record what was decided about an agent: checked first, then a record of the chain; nothing is changed in place."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from custody.core.errors import InputError, WorldError
from custody.core.ids import PENDING, CommitSha, RecordRef, Seq
from custody.core.views import DecisionKind
from custody.core.wire.canonical import Json
from custody.core.wire.time import ns_from
from custody.git import Comparison, FileDiff, HunkDetail, Repository
from custody.trust.app.authors import AuthorLines, count_author_lines
from custody.trust.app.decision_log import DecisionReceipt, Log
from custody.trust.app.decisions import TrustQuery, agents_in, make_unknown_agent_error, trust_rules
from custody.trust.app.standing import read_standing
from custody.trust.approval import area_of
from custody.trust.engine import against_recovery
from custody.trust.model import ChangeComplexity, DecisionType, RecoveryEntry
from custody.trust.rules import TrustRules
from custody.trust.score import COMPLEXITY_LINES_MIN, complexity_of
from custody.workspace.change import additions_of
from custody.workspace.machine import user
from custody.workspace.workspace import Workspace

SHA_DIGITS = (40, 64)
AREAS_MAX = 1000
"""No more areas are recorded with a decision; nobody reads a change of more."""
AREA_SIGNS_MAX = 1000
SESSIONS_MAX = 1000
"""No more sessions are recorded with a decision."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionRequest:
    """A decision to record; without an ``id`` it gets one.

    ``overrides`` or ``reverts`` is the id of the earlier decision that this one corrects. ``boost`` is what a recovery
    adds to the score. ``unreviewed`` marks a change that was approved by rule: by the rules of ``rules_digest``, with
    the chains as far as ``chain_head``.
    """

    agent: str
    decision: DecisionType | Literal[DecisionKind.RECOVERED]
    commit: str | None = None
    complexity: ChangeComplexity | None = None
    lines: int | None = None
    review_ms: int | None = None
    actor: str | None = None
    reason: str | None = None
    id: str | None = None
    opened: str | None = None
    model: str | None = None
    operator: str | None = None
    areas: tuple[str, ...] = ()
    head: str | None = None
    outcome: str | None = None
    sessions: tuple[str, ...] = ()
    overrides: str | None = None
    reverts: str | None = None
    boost: float | None = None
    unreviewed: bool = False
    rules_digest: str | None = None
    chain_head: str | None = None


def record_commit(workspace: Workspace, wanted: DecisionRequest) -> DecisionReceipt:
    """Record a decision about a commit of this repository, once.

    Size, complexity and areas are those of its diff; model and operator those of the sessions that wrote it, as far as
    attribution tells them.
    """
    rules = trust_rules(workspace)
    assert wanted.commit is not None, "the caller names a commit"
    commit = workspace.repository.resolve(wanted.commit)
    files = changed_files(workspace.repository, commit)
    lines = at_least("lines", wanted.lines, count_changed_lines(files))
    by = _written(workspace, files, commit)
    author = (by.with_claims if wanted.decision is DecisionType.REJECTED else by).author(wanted.agent)
    whole = replace(
        wanted,
        commit=commit,
        complexity=raise_complexity(wanted.complexity, complexity_of(lines)),
        lines=lines,
        actor=wanted.actor or user(),
        id=f"commit:{commit}",
        model=author.model,
        operator=author.operator,
        areas=areas_of(files, rules),
    )
    return record(workspace, whole, rules)


def record(workspace: Workspace, wanted: DecisionRequest, rules: TrustRules | None = None) -> DecisionReceipt:
    """Record a decision as it is said."""
    fields = decision_fields(workspace, wanted)
    with workspace.writing() as store:
        return Log(workspace, store, wanted.agent, rules).keep(wanted.id or workspace.token(), fields)


def decision_fields(workspace: Workspace, wanted: DecisionRequest) -> dict[str, Json]:
    """A decision as it is recorded; refused where it cannot be one."""
    check_number("the size of the change", wanted.lines)
    check_number("the time of the review", wanted.review_ms)
    if wanted.actor is not None and wanted.actor == wanted.agent and wanted.decision is not DecisionType.REJECTED:
        raise InputError(f"'{wanted.agent}' cannot decide about its own change", hint="name the person who decided")
    if wanted.opened is not None and ns_from(wanted.opened) > workspace.now_ns():
        raise InputError(f"the change was opened at '{wanted.opened}', which is yet to come", hint="give a past moment")
    return {
        "decision": wanted.decision.value,
        "complexity": None if wanted.complexity is None else wanted.complexity.word,
        "changed_lines": wanted.lines,
        "review_ms": wanted.review_ms,
        "actor": wanted.actor,
        "reason": wanted.reason,
        "opened_at": wanted.opened,
        "model": wanted.model,
        "operator": wanted.operator,
        "areas": list(wanted.areas) or None,
        "head": wanted.head,
        "outcome": wanted.outcome,
        "sessions": list(wanted.sessions[:SESSIONS_MAX]) or None,
        "overrides": wanted.overrides,
        "reverts": wanted.reverts,
        "boost": wanted.boost,
        "unreviewed": wanted.unreviewed or None,
        "rules_digest": wanted.rules_digest,
        "chain_head": wanted.chain_head,
        **_commit_fields(wanted.commit),
    }


def override(
    workspace: Workspace, agent: str, target: str, decision: DecisionType, *, actor: str, reason: str
) -> DecisionReceipt:
    """Record that an earlier decision was wrong: from now on ``decision`` counts in its place."""
    check_correction(agent, actor, reason)
    with workspace.writing() as store:
        log = Log(workspace, store, agent)
        wrong = log.find(target)
        if log.stands(wrong) is decision:
            raise InputError(f"'{wrong.id}' is {decision.value} already", hint="there is nothing to override")
        wanted = DecisionRequest(agent=agent, decision=decision, overrides=wrong.id, actor=actor, reason=reason)
        return log.keep(workspace.token(), decision_fields(workspace, wanted))


def revert(workspace: Workspace, agent: str, target: str, *, actor: str, reason: str) -> DecisionReceipt:
    """Record that a change which had landed was taken back: a rejection with everything that was at stake."""
    check_correction(agent, actor, reason)
    with workspace.writing() as store:
        log = Log(workspace, store, agent)
        landed = log.find(target)
        if log.stands(landed) is DecisionType.REJECTED:
            raise InputError(f"'{landed.id}' was rejected: it never landed", hint="there is nothing to take back")
        wanted = DecisionRequest(
            agent=agent,
            decision=DecisionType.REJECTED,
            commit=landed.commit,
            complexity=landed.stakes.complexity,
            lines=landed.stakes.lines,
            actor=actor,
            reason=reason,
            reverts=landed.id,
        )
        return log.keep(f"revert:{landed.id}", decision_fields(workspace, wanted))


def recover(
    workspace: Workspace, agent: str, *, boost: float | None, actor: str, reason: str, rules: TrustRules | None = None
) -> DecisionReceipt:
    """Lift the score of an agent that has a record, by at most the recovery rate."""
    check_correction(agent, actor, reason)
    with workspace.writing() as store:
        log = Log(workspace, store, agent, rules)
        amount = log.rules.recovery_rate if boost is None else boost
        if not amount > 0 or amount > 1:
            raise InputError(f"a recovery of {amount} adds nothing", hint="give a number above 0 and at most 1")
        standing = read_standing(store, agent, TrustQuery(log.rules, workspace.now_ns()))
        if not standing.samples:
            raise make_unknown_agent_error(agent, agents_in(store))
        entry = RecoveryEntry("", workspace.now_ns(), RecordRef(PENDING, Seq(0)), amount, actor, reason)
        against = against_recovery(log.agent, entry, standing, log.rules)
        if against is not None:
            raise InputError(f"'{agent}' cannot recover: {against}", hint="wait, or let its work speak for it")
        wanted = DecisionRequest(agent=agent, decision=DecisionKind.RECOVERED, boost=amount, actor=actor, reason=reason)
        return log.keep(workspace.token(), decision_fields(workspace, wanted))


def changed_files(repository: Repository, commit: CommitSha) -> tuple[FileDiff, ...]:
    """What a commit changed against its first parent."""
    with repository.diffs([Comparison(commit)], renames=True) as answers:
        return tuple(file for diff in answers for file in diff.files)


def count_changed_lines(files: Sequence[FileDiff]) -> int:
    """How many lines a diff adds and removes; what is too large to count is the largest."""
    counted = sum(hunk.old_count + hunk.new_count for file in files for hunk in file.hunks)
    uncounted = any(file.shown is HunkDetail.TOO_LARGE for file in files)
    return max(counted, COMPLEXITY_LINES_MIN[-1]) if uncounted else counted


def areas_of(files: Sequence[FileDiff], rules: TrustRules) -> tuple[str, ...]:
    """The areas that a diff touches, by name, the old place of a moved file too."""
    paths = {side.path for file in files for side in (file.change.old, file.change.new) if side is not None}
    areas = sorted({area_of(path.display, rules)[:AREA_SIGNS_MAX] for path in paths})
    return tuple(areas[:AREAS_MAX])


def check_number(what: str, value: object) -> None:
    """Refuse what is no count: negative, not whole, not a number at all."""
    if value is not None and (not isinstance(value, int) or isinstance(value, bool) or value < 0):
        raise InputError(f"{what} is {value}, not a whole number from 0 on", hint="leave it out when it is not known")


def _commit_fields(commit: str | None) -> dict[str, Json]:
    """A full id as a commit, any other name as a name."""
    if commit is None:
        return {}
    is_full = len(commit) in SHA_DIGITS and set(commit) <= set("0123456789abcdef")
    return {"commit" if is_full else "commit_name": commit}


def at_least(what: str, said: int | None, seen: int) -> int:
    """What was said of a size, where the diff does not show more."""
    check_number(what, said)
    if said is not None and said < seen:
        raise InputError(
            f"the change has {seen} {what}, not {said}", hint="what the diff shows can be raised, never lowered"
        )
    return seen if said is None else said


def raise_complexity(said: ChangeComplexity | None, seen: ChangeComplexity) -> ChangeComplexity:
    """What was said of a complexity, where the diff does not show more."""
    if said is not None and said.value < seen.value:
        raise InputError(
            f"a change of this size is {seen.word}, not {said.word}",
            hint="what the diff shows can be raised, never lowered",
        )
    return said or seen


def check_correction(agent: str, actor: str, reason: str) -> None:
    """Refuse a correction that nobody answers for, or the agent itself."""
    if not actor.strip() or not reason.strip():
        raise InputError("a correction needs somebody who makes it and a reason", hint="give --actor and --reason")
    if actor == agent:
        raise InputError(f"'{agent}' cannot correct its own record", hint="name the person who decided")


def _written(workspace: Workspace, files: Sequence[FileDiff], commit: CommitSha) -> AuthorLines:
    """Who wrote a commit; nobody known where nothing was captured, or it cannot be told now."""
    if not workspace.exists():
        return AuthorLines({})
    try:
        return count_author_lines(workspace, additions_of(files), commit)
    except WorldError:
        return AuthorLines({})  # what was decided is recorded all the same, without what it would have told beside it
