"""Recording of decisions about an agent: checked first, then appended to the chain; nothing is changed in place."""

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from custody.core.errors import InputError, WorldError
from custody.core.identity import is_same_identity
from custody.core.ids import PENDING, CommitSha, RecordRef, Seq
from custody.core.views import DecisionKind
from custody.core.wire.canonical import Json
from custody.core.wire.time import parse_timestamp
from custody.dupes.app.patch_identity import compute_patch_identity
from custody.git import Comparison, FileDiff, HunkDetail, Repository
from custody.trust.app.authors import AuthorLines, count_trust_author_lines
from custody.trust.app.decision_log import DecisionReceipt, Log
from custody.trust.app.decisions import (
    TrustQuery,
    list_agents_with_decisions,
    load_trust_rules,
    make_unknown_agent_error,
)
from custody.trust.app.score_cache import read_score_state
from custody.trust.approval import find_trust_area
from custody.trust.engine import find_recovery_objection
from custody.trust.model import ChangeAuthor, ChangeComplexity, DecisionType, RecoveryEntry
from custody.trust.rules import TrustRules
from custody.trust.score import COMPLEXITY_LINES_MIN, decision_complexity_from_lines
from custody.workspace.change import list_change_additions
from custody.workspace.machine import machine_user_name
from custody.workspace.workspace import Workspace

SHA_DIGITS = (40, 64)
AREAS_MAX = 1000
"""The most areas recorded with a decision."""
AREA_CHARACTERS_MAX = 1000
SESSIONS_MAX = 1000
"""The most sessions recorded with a decision."""


class DecisionRequest(Struct, frozen=True, kw_only=True):
    """A decision to record; without an ``id`` it gets a new one.

    ``overrides`` or ``reverts`` is the id of the earlier decision that this one corrects. A recovery adds ``boost`` to
    the score. ``unreviewed`` marks an approval by rule: by the rules of ``rules_digest``, with the chains up to
    ``chain_head``. ``patch`` is the patch identity of the change, ``agent_lines`` how many added lines the agent wrote.
    The decision is signed with ``sign_key``; ``host_account`` reviewed the change, as the code host itself reported.
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
    patch: str | None = None
    agent_lines: int | None = None
    sign_key: Path | None = None
    host_account: str | None = None


def record_commit_decision(workspace: Workspace, request: DecisionRequest) -> DecisionReceipt:
    """Record a decision about a commit of this repository, once.

    Size, complexity and areas are those of its diff; model and operator those of the sessions that wrote it, where
    attribution knows them.
    """
    rules = load_trust_rules(workspace)
    assert request.commit is not None, "the caller names a commit"
    commit = workspace.repository.resolve(request.commit)
    files = read_decision_diff(workspace.repository, commit)
    lines = raise_decision_size("lines", request.lines, count_decision_lines(files))
    by = _count_decision_author_lines(workspace, files, commit)
    if by is not None and request.decision is DecisionType.REJECTED:
        by = by.with_claims
    author = ChangeAuthor(request.agent) if by is None else by.author(request.agent)
    whole = replace(
        request,
        commit=commit,
        complexity=raise_decision_complexity(request.complexity, decision_complexity_from_lines(lines)),
        lines=lines,
        actor=request.actor or machine_user_name(),
        id=f"commit:{commit}",
        model=author.model,
        operator=author.operator,
        areas=list_trust_areas(files, rules),
        patch=compute_patch_identity(files),
        agent_lines=None if by is None else by.lines(request.agent),
    )
    return record_trust_decision(workspace, whole, rules)


def record_trust_decision(
    workspace: Workspace, request: DecisionRequest, rules: TrustRules | None = None
) -> DecisionReceipt:
    """Record a decision as requested."""
    fields = decision_fields_from_request(workspace, request)
    with workspace.writing() as store:
        return Log(workspace, store, request.agent, rules).append_entry(
            request.id or workspace.token(), fields, sign_key=request.sign_key
        )


def decision_fields_from_request(workspace: Workspace, request: DecisionRequest) -> dict[str, Json]:
    """Return the fields of a decision's record; an ``InputError`` if the request is invalid."""
    check_decision_count("the size of the change", request.lines)
    check_decision_count("the time of the review", request.review_ms)
    if request.decision is not DecisionType.REJECTED and is_same_identity(request.actor, request.agent):
        raise InputError(
            f"'{request.agent}' cannot decide about its own change", hint="pass the person who decided with --actor"
        )
    if request.opened is not None and parse_timestamp(request.opened) > workspace.now_ns():
        raise InputError(f"the opening time '{request.opened}' is in the future", hint="pass a past time")
    return {
        "decision": request.decision.value,
        "complexity": None if request.complexity is None else request.complexity.word,
        "changed_lines": request.lines,
        "review_ms": request.review_ms,
        "actor": request.actor,
        "reason": request.reason,
        "opened_at": request.opened,
        "model": request.model,
        "operator": request.operator,
        "areas": list(request.areas) or None,
        "head": request.head,
        "outcome": request.outcome,
        "sessions": list(request.sessions[:SESSIONS_MAX]) or None,
        "overrides": request.overrides,
        "reverts": request.reverts,
        "boost": request.boost,
        "unreviewed": request.unreviewed or None,
        "rules_digest": request.rules_digest,
        "chain_head": request.chain_head,
        "patch": request.patch,
        "agent_lines": request.agent_lines,
        "witness": None if request.host_account is None else {"kind": "host", "by": request.host_account},
        **_decision_commit_fields(request.commit),
    }


def record_override(  # noqa: PLR0913 - the parts of a correction
    workspace: Workspace,
    agent: str,
    target: str,
    decision: DecisionType,
    *,
    actor: str,
    reason: str,
    sign_key: Path | None = None,
) -> DecisionReceipt:
    """Record that an earlier decision was wrong: from now on ``decision`` counts instead."""
    check_decision_correction(agent, actor, reason)
    with workspace.writing() as store:
        log = Log(workspace, store, agent)
        wrong = log.find(target)
        if log.find_counting_decision(wrong) is decision:
            raise InputError(f"'{wrong.id}' is already {decision.value}", hint="nothing to override")
        request = DecisionRequest(
            agent=agent,
            decision=decision,
            overrides=wrong.id,
            actor=actor,
            reason=reason,
            commit=wrong.commit,
            complexity=wrong.stakes.complexity,
            lines=wrong.stakes.lines,
            patch=wrong.patch,
            agent_lines=wrong.agent_lines,
        )
        fields = decision_fields_from_request(workspace, request)
        return log.append_entry(workspace.token(), fields, sign_key=sign_key)


def record_revert(
    workspace: Workspace, agent: str, target: str, *, actor: str, reason: str, sign_key: Path | None = None
) -> DecisionReceipt:
    """Record that a merged change was reverted: a rejection with the stakes of the decision."""
    check_decision_correction(agent, actor, reason)
    with workspace.writing() as store:
        log = Log(workspace, store, agent)
        merged = log.find(target)
        if log.find_counting_decision(merged) is DecisionType.REJECTED:
            raise InputError(f"'{merged.id}' was rejected, so it never merged", hint="nothing to revert")
        request = DecisionRequest(
            agent=agent,
            decision=DecisionType.REJECTED,
            commit=merged.commit,
            complexity=merged.stakes.complexity,
            lines=merged.stakes.lines,
            actor=actor,
            reason=reason,
            reverts=merged.id,
            patch=merged.patch,
            agent_lines=merged.agent_lines,
        )
        fields = decision_fields_from_request(workspace, request)
        return log.append_entry(f"revert:{merged.id}", fields, sign_key=sign_key)


def record_recovery(  # noqa: PLR0913 - the parts of a correction
    workspace: Workspace,
    agent: str,
    *,
    boost: float | None,
    actor: str,
    reason: str,
    rules: TrustRules | None = None,
    sign_key: Path | None = None,
) -> DecisionReceipt:
    """Raise the score of an agent with decisions, by at most the recovery rate."""
    check_decision_correction(agent, actor, reason)
    with workspace.writing() as store:
        log = Log(workspace, store, agent, rules)
        amount = log.rules.recovery_rate if boost is None else boost
        if not amount > 0 or amount > 1:
            raise InputError(f"invalid boost {amount}", hint="pass a number above 0 and at most 1")
        state = read_score_state(store, agent, TrustQuery(log.rules, workspace.now_ns()))
        if not state.samples:
            raise make_unknown_agent_error(agent, list_agents_with_decisions(store))
        entry = RecoveryEntry("", workspace.now_ns(), RecordRef(PENDING, Seq(0)), amount, actor, reason)
        against = find_recovery_objection(log.agent, entry, state, log.rules)
        if against is not None:
            raise InputError(f"'{agent}' cannot recover: {against}", hint="wait, or record reviews of its changes")
        request = DecisionRequest(
            agent=agent, decision=DecisionKind.RECOVERED, boost=amount, actor=actor, reason=reason
        )
        fields = decision_fields_from_request(workspace, request)
        return log.append_entry(workspace.token(), fields, sign_key=sign_key)


def read_decision_diff(repository: Repository, commit: CommitSha) -> tuple[FileDiff, ...]:
    """Return the diff of a commit against its first parent."""
    with repository.diffs([Comparison(commit)], renames=True) as answers:
        return tuple(file for diff in answers for file in diff.files)


def count_decision_lines(files: Sequence[FileDiff]) -> int:
    """Return how many lines a diff adds and removes; a file too large to count makes the change critical."""
    counted = sum(len(hunk.removed) + len(hunk.added) for file in files for hunk in file.hunks)
    uncounted = any(file.shown is HunkDetail.TOO_LARGE for file in files)
    return max(counted, COMPLEXITY_LINES_MIN[-1]) if uncounted else counted


def list_trust_areas(files: Sequence[FileDiff], rules: TrustRules) -> tuple[str, ...]:
    """Return the areas that a diff touches, by name, including the old path of a moved file."""
    paths = {side.path for file in files for side in (file.change.old, file.change.new) if side is not None}
    areas = sorted({find_trust_area(path.display, rules)[:AREA_CHARACTERS_MAX] for path in paths})
    return tuple(areas[:AREAS_MAX])


def check_decision_count(what: str, value: object) -> None:
    """Raise an ``InputError`` unless ``value`` is a count or None."""
    if value is not None and (not isinstance(value, int) or isinstance(value, bool) or value < 0):
        raise InputError(f"{what} is {value}, not a whole number of at least 0", hint="leave it out if unknown")


def _decision_commit_fields(commit: str | None) -> dict[str, Json]:
    """Return a full id as a commit, any other name as a name."""
    if commit is None:
        return {}
    is_full = len(commit) in SHA_DIGITS and set(commit) <= set("0123456789abcdef")
    return {"commit" if is_full else "commit_name": commit}


def raise_decision_size(what: str, requested: int | None, measured: int) -> int:
    """Return the requested size, which must not be below the size of the diff."""
    check_decision_count(what, requested)
    if requested is not None and requested < measured:
        raise InputError(
            f"the change has {measured} {what}, not {requested}",
            hint="the value of the diff can be raised, not lowered",
        )
    return measured if requested is None else requested


def raise_decision_complexity(requested: ChangeComplexity | None, measured: ChangeComplexity) -> ChangeComplexity:
    """Return the requested complexity, which must not be below that of the diff."""
    if requested is not None and requested.value < measured.value:
        raise InputError(
            f"a change of this size is {measured.word}, not {requested.word}",
            hint="the value of the diff can be raised, not lowered",
        )
    return requested or measured


def check_decision_correction(agent: str, actor: str, reason: str) -> None:
    """Raise an ``InputError`` for a correction without actor or reason, or by the agent itself."""
    if not actor.strip() or not reason.strip():
        raise InputError("a correction needs an actor and a reason", hint="pass --actor and --reason")
    if is_same_identity(actor, agent):
        raise InputError(f"'{agent}' cannot correct its own record", hint="pass the person who decided with --actor")


def _count_decision_author_lines(
    workspace: Workspace, files: Sequence[FileDiff], commit: CommitSha
) -> AuthorLines | None:
    """Return who wrote a commit; no authors where nothing was captured, None where attribution fails."""
    if not workspace.exists():
        return AuthorLines({})
    try:
        return count_trust_author_lines(workspace, list_change_additions(files), commit)
    except WorldError:
        return None  # the decision is recorded anyway, without model, operator and lines
