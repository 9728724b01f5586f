"""Approval of a change without review, decided and recorded in one write transaction."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from custody.config import EffectiveRules
from custody.core.assurance import Assurance
from custody.core.errors import InputError
from custody.core.ids import Digest
from custody.core.wire.arrival import Arrival
from custody.core.wire.body import format_digest
from custody.core.wire.time import format_timestamp
from custody.dupes.app.patch_identity import compute_patch_identity
from custody.ledger.verify import verify_ledger
from custody.store import Store
from custody.trust.app.acceptance import AcceptanceAccount
from custody.trust.app.approval_case import (
    ApprovalQuery,
    AuthorScore,
    digest_approval_chain_heads,
    sort_approval_authors,
)
from custody.trust.app.authors import AuthorLines, count_trust_author_lines
from custody.trust.app.decision_assurance import DecisionPolicy, load_base_decision_policy
from custody.trust.app.decision_log import arrival_from_decision
from custody.trust.app.decisions import TrustQuery, append_decision, make_trust_query, read_settled_decisions
from custody.trust.app.record import DecisionRequest, decision_fields_from_request
from custody.trust.approval import (
    ApprovalCase,
    ProposedChange,
    compute_budget_left,
    compute_merge_budget,
    refuse_unknown_author,
)
from custody.trust.assurance import CountingEntries
from custody.trust.model import Approval, ChangeAuthor, DecisionType
from custody.trust.queries import ScoreTables
from custody.trust.rules import TrustRules
from custody.trust.score import decision_complexity_from_lines
from custody.trust.wire import AgentApproval, LeftOutDecisions, ReviewReasonReport, TrustApproveReport
from custody.workspace.change import ChangeRange, resolve_change_range
from custody.workspace.machine import machine_user_name
from custody.workspace.workspace import Workspace

EXACT = ("agent", "id", "operator", "areas", "head")
"""The fields that budgets are counted by: they must not be redacted."""


@dataclass(frozen=True, slots=True)
class AuthorApproval:
    """The approval for one author of a change, and its evidence."""

    case: ApprovalCase
    approval: Approval
    counting: CountingEntries
    acceptance: AcceptanceAccount | None = None

    @property
    def assurance(self) -> Assurance:
        """Return the lowest assurance of the decisions in favor of the author; self-reported without any."""
        return self.counting.lowest or Assurance.SELF_REPORTED


@dataclass(frozen=True, slots=True)
class ApprovalResult:
    """The approvals for all authors of a change, with the digest of all chain heads at that time."""

    change: ProposedChange
    answers: tuple[AuthorApproval, ...]
    no_author: Approval
    chain_head: str

    def __bool__(self) -> bool:
        return bool(self.no_author) and all(author_approval.approval for author_approval in self.answers)


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalRequest:
    """A request to approve a change; without an agent, its authors are those of attribution."""

    change: str
    agent: str | None = None
    approver: str | None = None
    dry_run: bool = False


def trust_approve(workspace: Workspace, request: ApprovalRequest) -> TrustApproveReport:
    """Return whether a change may merge without review; an approval is recorded, except in a dry run."""
    query = make_trust_query(workspace)
    change = resolve_change_range(workspace.repository, request.change)
    if not change.files:
        raise InputError(f"'{request.change}' changes nothing", hint="pass a change, such as 'main..HEAD'")
    by = _select_approval_authors(count_trust_author_lines(workspace, change.additions, change.head), request.agent)
    request = replace(request, approver=request.approver or machine_user_name())
    records: Sequence[str] = ()
    if request.dry_run or not workspace.exists():
        with workspace.reading() as store:
            answer = _MergeCheck(workspace, store, query, change, by, request).check_only()
    else:
        with workspace.writing() as store:
            answer, records = _MergeCheck(workspace, store, query, change, by, request).check_and_record()
    return _build_approval_report(change, by, request, query, answer, records)


def _select_approval_authors(found: AuthorLines, agent: str | None) -> AuthorLines:
    """Return the authors of attribution and the named agent, which gets all unknown lines.

    Authors by claims alone are included too: their records may count against the change.
    """
    if agent is None:
        return found
    named = found.author(agent)
    named_lines = {named: found.authors.get(named, 0) + found.unknown}
    every = AuthorLines({**found.with_claims.authors, **named_lines}, found.persons)
    return AuthorLines({**found.authors, **named_lines}, found.persons, claimed=every)


class _MergeCheck:
    """The check of one change, with everything it needs."""

    def __init__(
        self,
        workspace: Workspace,
        store: Store,
        query: TrustQuery,
        change: ChangeRange,
        by: AuthorLines,
        request: ApprovalRequest,
    ) -> None:
        self._workspace = workspace
        self._store = store
        self._query = query
        self._change = change
        self._by = by
        self._request = request
        policy = load_base_decision_policy(workspace, store, change.fork)
        self._approvals = ApprovalQuery(store, query, change, unknown_lines=by.unknown, policy=policy)
        self._damage = _find_decision_log_damage(workspace)
        with read_settled_decisions(store):
            self._known = [
                self._approvals.read_author_score(author) for author in sort_approval_authors(by.with_claims.authors)
            ]

    def check_only(self) -> ApprovalResult:
        """Return the result without recording it."""
        with read_settled_decisions(self._store):
            return self._answer()

    def check_and_record(self) -> tuple[ApprovalResult, tuple[str, ...]]:
        """Return the result and its records; no other process can spend a budget in between."""
        answers: list[ApprovalResult] = []

        def look() -> Sequence[Arrival]:
            answers[:] = [self._answer()]
            return list(self._arrivals(answers[0])) if answers[0] else []

        made = append_decision(self._store, look).made
        return answers[0], tuple(str(record.ref) for record in made)

    def _answer(self) -> ApprovalResult:
        answers = tuple(self._approve_author(known) for known in self._known)
        change = self._approvals.proposed_change()
        no_author = Approval() if answers else refuse_unknown_author(change, persons=self._by.persons)
        heads = digest_approval_chain_heads(self._store.tables.chains())
        return ApprovalResult(change, answers, no_author, format_digest(Digest(heads)))

    def _approve_author(self, known: AuthorScore) -> AuthorApproval:
        known = self._approvals.refresh_author_score(known)
        case = self._approvals.case(known, approver=self._request.approver, damage=self._damage)
        return AuthorApproval(case, self._approvals.decide_author_approval(case), known.counting, known.acceptance)

    def _arrivals(self, answer: ApprovalResult) -> Iterable[Arrival]:
        for place, author_approval in enumerate(answer.answers):
            author = author_approval.case.author
            if author not in self._by.authors:
                continue  # an author by claims alone gets no credit for the merge
            twice = [other for other in answer.answers[:place] if other.case.author.agent == author.agent]
            id_ = f"unreviewed:{self._change.head}" + (f":{len(twice)}" if twice else "")
            if not ScoreTables(self._store).find_decision_records(author.agent, "id", [id_]):
                yield arrival_from_decision(
                    self._workspace,
                    author.agent,
                    id_,
                    decision_fields_from_request(self._workspace, self._decision(author_approval, answer)),
                    self._query.now_ns,
                    exact=EXACT,
                )

    def _decision(self, approval: AuthorApproval, answer: ApprovalResult) -> DecisionRequest:
        change, author = approval.case.change, approval.case.author
        return DecisionRequest(
            agent=author.agent,
            decision=DecisionType.ACCEPTED,
            unreviewed=True,
            commit=change.head,
            head=change.head,
            lines=change.lines,
            complexity=decision_complexity_from_lines(change.lines),
            areas=change.areas,
            model=author.model,
            operator=author.operator,
            actor=self._request.approver,
            rules_digest=self._query.digest,
            chain_head=answer.chain_head,
            patch=compute_patch_identity(self._change.files),
            agent_lines=self._by.lines(author.agent),
        )


def _find_decision_log_damage(workspace: Workspace) -> str | None:
    """Return the first damage found in the store; None if it is intact."""
    findings = verify_ledger(workspace).findings
    return findings[0].what if findings else None


def decide_approvals(
    store: Store,
    change: ChangeRange,
    lines: Mapping[ChangeAuthor, int],
    effective: EffectiveRules,
    now_ns: int,
    policy: DecisionPolicy | None = None,
) -> list[tuple[AuthorApproval, AgentApproval]]:
    """Return the approval for each author of ``lines``, with its report, from the records without the cache.

    Decisions are believed as far as ``policy`` says. Nothing is recorded. Damage of the store is not checked here.
    """
    query = TrustQuery(effective.of(TrustRules), now_ns)
    approvals = ApprovalQuery(store, query, change, policy=policy)
    with read_settled_decisions(store):
        known = [approvals.read_author_score(author) for author in sort_approval_authors(lines)]
        cases = [approvals.case(author) for author in known]
        answers = [
            AuthorApproval(case, approvals.decide_author_approval(case), author.counting, author.acceptance)
            for case, author in zip(cases, known, strict=True)
        ]
    return [(answer, report_agent_approval(answer, lines[answer.case.author], query.rules)) for answer in answers]


def report_agent_approval(answer: AuthorApproval, lines: int, rules: TrustRules) -> AgentApproval:
    """Return the JSON shape of one author's approval."""
    case, trust = answer.case, answer.case.trust
    return AgentApproval(
        agent=case.author.agent,
        model=case.author.model,
        operator=case.author.operator,
        lines=lines,
        score=trust.score,
        tier=trust.tier.value,
        samples=trust.state.samples,
        budget=compute_merge_budget(trust, rules),
        budget_left=compute_budget_left(case, rules),
        approved=bool(answer.approval),
        reasons=report_review_reasons(answer.approval),
        chance=None if answer.acceptance is None else answer.acceptance.to_report(),
        assurance=answer.assurance.value,
        left_out=[LeftOutDecisions(omission.value, count) for omission, count in answer.counting.left_out.items()],
    )


def report_review_reasons(approval: Approval) -> list[ReviewReasonReport]:
    """Return the JSON shape of the reasons against a change."""
    return [ReviewReasonReport(reason.code.value, reason.sentence) for reason in approval.against]


def _build_approval_report(
    change: ChangeRange,
    by: AuthorLines,
    request: ApprovalRequest,
    query: TrustQuery,
    answer: ApprovalResult,
    records: Sequence[str],
) -> TrustApproveReport:
    agents = [
        report_agent_approval(author_approval, by.with_claims.authors[author_approval.case.author], query.rules)
        for author_approval in answer.answers
    ]
    every = [*report_review_reasons(answer.no_author), *(reason for agent in agents for reason in agent.reasons)]
    return TrustApproveReport(
        outcome="fine" if answer else "found",
        base=change.base,
        head=change.head,
        fork=change.fork,
        as_of=format_timestamp(query.now_ns),
        rules_digest=query.digest,
        chain_head=answer.chain_head,
        lines=answer.change.lines,
        areas=list(answer.change.areas),
        unknown_lines=by.unknown,
        approver=request.approver or "",
        approved=bool(answer),
        dry_run=request.dry_run,
        recorded=list(records),
        agents=agents,
        reasons=list(dict.fromkeys(every)),
    )
