"""Approval of a change without review by a person, decided and recorded in one go."""

from collections.abc import Sequence

from msgspec import Struct

from custody.attribution.app.context import open_attribution
from custody.core.assurance import Assurance
from custody.core.errors import CustodyError, InputError, StoreError
from custody.core.wire.time import format_timestamp
from custody.ledger.verify import check_ledger_integrity
from custody.trust.app.approval_decision import (
    ApprovalQuestion,
    SpentApproval,
    budget_place_from_rules,
    decide_change_approval,
    make_approval_query,
    preview_approval,
    refuse_unverifiable_budget,
    report_agent_approval,
    report_review_reasons,
    reserve_approval,
)
from custody.trust.app.audit_key import open_audit_key
from custody.trust.app.authors import AuthorBelief, AuthorLines, count_trust_author_lines
from custody.trust.app.decision_assurance import DecisionPolicy, load_base_decision_policy
from custody.trust.app.file_vouchers import rate_file_vouchers
from custody.trust.app.reservations import STORE
from custody.trust.model import FileVoucher, ReviewReason
from custody.trust.wire import TrustApproveReport
from custody.workspace.change import ChangeRange, resolve_change_range
from custody.workspace.machine import machine_user_name
from custody.workspace.rules_in_force import load_rules_at_commit, warn_of_ignored_rules
from custody.workspace.workspace import Workspace


class ApprovalRequest(Struct, frozen=True, kw_only=True):
    """A request to approve a change; without an agent, its authors are those of attribution."""

    change: str
    agent: str | None = None
    approver: str | None = None
    dry_run: bool = False


def trust_approve(workspace: Workspace, request: ApprovalRequest) -> TrustApproveReport:
    """Return whether a change may merge without review, by the rules of its base; an approval reserves its lines.

    A dry run records nothing.
    """
    change = resolve_change_range(workspace.repository, request.change)
    if not change.files:
        raise InputError(
            f"'{request.change}' changes nothing", hint="pass BASE..HEAD, where HEAD has commits that BASE lacks"
        )
    effective, _ = load_rules_at_commit(workspace.repository, change.base, {})
    warn_of_ignored_rules(workspace, effective)
    decisions = load_base_decision_policy(workspace, change, effective)
    belief = AuthorBelief(decisions.team, decisions.least)
    found = count_trust_author_lines(workspace, change.additions, change.head, belief)
    by = _select_approval_authors(found, request.agent, belief)
    question = ApprovalQuestion(
        change=change,
        by=by,
        vouchers=_rate_file_vouchers(workspace, change, by, decisions),
        query=make_approval_query(effective, workspace.now_ns()),
        decisions=decisions,
        place=budget_place_from_rules(effective),
        approver=request.approver or machine_user_name(),
        damage=_find_decision_log_damage(workspace),
        audit_key=open_audit_key(workspace),
    )
    spent, more = _ask(workspace, question, dry_run=request.dry_run or not workspace.exists())
    return _build_approval_report(question, request, spent, more)


def _ask(
    workspace: Workspace, question: ApprovalQuestion, *, dry_run: bool
) -> tuple[SpentApproval, Sequence[ReviewReason]]:
    """Return the answer, and the reason against it if a shared budget cannot be verified."""
    try:
        return (preview_approval if dry_run else reserve_approval)(workspace, question), ()
    except CustodyError as error:
        if question.place is STORE or isinstance(error, StoreError):
            raise
        with workspace.reading() as store:
            alone = decide_change_approval(store, question)
        return SpentApproval(alone, "refused"), (refuse_unverifiable_budget(error.message),)


def _rate_file_vouchers(
    workspace: Workspace, change: ChangeRange, by: AuthorLines, decisions: DecisionPolicy
) -> Sequence[FileVoucher]:
    """Return how far recorded edits vouch for each file; empty if no assurance is required."""
    if decisions.least is Assurance.SELF_REPORTED:
        return ()
    with open_attribution(workspace, policy=decisions.team) as context:
        return rate_file_vouchers(context, change, change.head, {author.agent for author in by.authors})


def _select_approval_authors(found: AuthorLines, agent: str | None, belief: AuthorBelief) -> AuthorLines:
    """Return the authors of attribution and the named agent.

    It gets all unknown lines, unless an agent's name needs more than the word of whoever asks.
    Authors by claims alone are included too: their records may count against the change.
    """
    if agent is None:
        return found
    named = found.author(agent)
    taken = found.unknown if belief.least is Assurance.SELF_REPORTED else 0
    named_lines = {named: found.authors.get(named, 0) + taken}
    unknown = found.unknown - taken
    every = AuthorLines({**found.with_claims.authors, **named_lines}, found.persons, unknown)
    return AuthorLines({**found.authors, **named_lines}, found.persons, unknown, claimed=every)


def _find_decision_log_damage(workspace: Workspace) -> str | None:
    """Return the first damage found in the store; None if it is intact."""
    findings = check_ledger_integrity(workspace).findings
    return findings[0].what if findings else None


def _build_approval_report(
    question: ApprovalQuestion, request: ApprovalRequest, spent: SpentApproval, more: Sequence[ReviewReason]
) -> TrustApproveReport:
    change, by, query, answer = question.change, question.by, question.query, spent.result
    agents = [
        report_agent_approval(author_approval, by.with_claims.authors[author_approval.case.author], query.rules)
        for author_approval in answer.answers
    ]
    every = [
        *report_review_reasons((*answer.no_author.against, *more)),
        *(reason for agent in agents for reason in agent.reasons),
    ]
    return TrustApproveReport(
        outcome="found" if every else "fine",
        base=change.base,
        head=change.head,
        fork=change.fork,
        as_of=format_timestamp(query.now_ns),
        rules_digest=query.digest,
        chain_head=answer.chain_head,
        lines=answer.change.lines,
        areas=list(answer.change.areas),
        unknown_lines=by.unknown,
        approver=question.approver or "",
        approved=not every,
        dry_run=request.dry_run,
        recorded=list(spent.records),
        agents=agents,
        reasons=list(dict.fromkeys(every)),
    )
