"""Ask whether a change may land without review, and record that it did: one look, alone among writers."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from custody.config import EffectiveRules
from custody.core.errors import InputError
from custody.core.ids import Digest
from custody.core.wire.arrival import Arrival
from custody.core.wire.body import digest_text
from custody.core.wire.time import text_from
from custody.ledger.verify import verify
from custody.store import Store
from custody.trust.app.approval_case import ApprovalQuery, AuthorStanding, heads_digest, sort_authors
from custody.trust.app.authors import AuthorLines, count_author_lines
from custody.trust.app.chance import ChanceAccount
from custody.trust.app.decision_log import arrival_of_decision
from custody.trust.app.decisions import TrustQuery, append_decision, make_trust_query, read_settled_decisions
from custody.trust.app.record import DecisionRequest, decision_fields
from custody.trust.approval import ApprovalCase, ProposedChange, budget_of, compute_budget_left, nobody_known
from custody.trust.model import Approval, ChangeAuthor, DecisionType
from custody.trust.queries import StandingTables
from custody.trust.rules import TrustRules
from custody.trust.score import complexity_of
from custody.trust.wire import AgentApproval, ReviewReasonReport, TrustApproveReport
from custody.workspace.change import ChangeRange, change_of
from custody.workspace.machine import user
from custody.workspace.workspace import Workspace

EXACT = ("agent", "id", "operator", "areas", "head")
"""What budgets are counted by: it must be recorded as it was asked."""


@dataclass(frozen=True, slots=True)
class AuthorApproval:
    """The answer about one author of a change, and the case that it was given on."""

    case: ApprovalCase
    approval: Approval
    chance: ChanceAccount | None = None


@dataclass(frozen=True, slots=True)
class ApprovalResult:
    """The answers about all authors of a change, bound to how far every chain reached when they were given."""

    change: ProposedChange
    said: tuple[AuthorApproval, ...]
    nobody: Approval
    chain_head: str

    def __bool__(self) -> bool:
        return bool(self.nobody) and all(author_approval.approval for author_approval in self.said)


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalRequest:
    """Who asks about which change; without an agent, those that attribution names."""

    change: str
    agent: str | None = None
    approver: str | None = None
    dry_run: bool = False


def trust_approve(workspace: Workspace, request: ApprovalRequest) -> TrustApproveReport:
    """Whether a change may land without review; if so, and it is no dry run, that is recorded."""
    asked = make_trust_query(workspace)
    change = change_of(workspace.repository, request.change)
    if not change.files:
        raise InputError(f"'{request.change}' changes nothing", hint="name a change, such as 'main..HEAD'")
    by = _authors(count_author_lines(workspace, change.additions, change.head), request.agent)
    request = replace(request, approver=request.approver or user())
    records: Sequence[str] = ()
    if request.dry_run or not workspace.exists():
        with workspace.reading() as store:
            answer = _MergeCheck(workspace, store, asked, change, by, request).asked_only()
    else:
        with workspace.writing() as store:
            answer, records = _MergeCheck(workspace, store, asked, change, by, request).recorded()
    return _report(change, by, request, asked, answer, records)


def _authors(found: AuthorLines, agent: str | None) -> AuthorLines:
    """Who is asked about: whom attribution names, and whom the caller names, to whom all unknown lines are given.

    Whom only claims name is asked about as well: what is known of it may speak against the change.
    """
    if agent is None:
        return found
    named = found.author(agent)
    given = {named: found.authors.get(named, 0) + found.unknown}
    every = AuthorLines({**found.with_claims.authors, **given}, found.persons)
    return AuthorLines({**found.authors, **given}, found.persons, told=every)


class _MergeCheck:
    """One change at the door."""

    def __init__(
        self,
        workspace: Workspace,
        store: Store,
        asked: TrustQuery,
        change: ChangeRange,
        by: AuthorLines,
        request: ApprovalRequest,
    ) -> None:
        self._workspace = workspace
        self._store = store
        self._asked = asked
        self._change = change
        self._by = by
        self._request = request
        self._asking = ApprovalQuery(store, asked, change, unknown_lines=by.unknown)
        self._damage = _damage(workspace)
        with read_settled_decisions(store):
            self._known = [self._asking.known(author) for author in sort_authors(by.with_claims.authors)]

    def asked_only(self) -> ApprovalResult:
        """The answer, and nothing is kept."""
        with read_settled_decisions(self._store):
            return self._answer()

    def recorded(self) -> tuple[ApprovalResult, tuple[str, ...]]:
        """The answer, and the records that say so; between the look and the record nobody else can spend a budget."""
        answers: list[ApprovalResult] = []

        def look() -> Sequence[Arrival]:
            answers[:] = [self._answer()]
            return list(self._arrivals(answers[0])) if answers[0] else []

        made = append_decision(self._store, look).made
        return answers[0], tuple(str(record.ref) for record in made)

    def _answer(self) -> ApprovalResult:
        said = tuple(self._approve_author(known) for known in self._known)
        change = self._asking.proposed()
        nobody = Approval() if said else nobody_known(change, persons=self._by.persons)
        heads = heads_digest(self._store.tables.chains())
        return ApprovalResult(change, said, nobody, digest_text(Digest(heads)))

    def _approve_author(self, known: AuthorStanding) -> AuthorApproval:
        case = self._asking.case(known, approver=self._request.approver, damage=self._damage)
        return AuthorApproval(case, self._asking.allowed(case), known.chance)

    def _arrivals(self, answer: ApprovalResult) -> Iterable[Arrival]:
        for place, author_approval in enumerate(answer.said):
            author = author_approval.case.author
            if author not in self._by.authors:
                continue  # a claim that it wrote this: what landed is none of its merits
            twice = [other for other in answer.said[:place] if other.case.author.agent == author.agent]
            id_ = f"unreviewed:{self._change.head}" + (f":{len(twice)}" if twice else "")
            if not StandingTables(self._store).named(author.agent, "id", [id_]):
                yield arrival_of_decision(
                    self._workspace,
                    author.agent,
                    id_,
                    decision_fields(self._workspace, self._decision(author_approval, answer)),
                    self._asked.now_ns,
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
            complexity=complexity_of(change.lines),
            areas=change.areas,
            model=author.model,
            operator=author.operator,
            actor=self._request.approver,
            rules_digest=self._asked.digest,
            chain_head=answer.chain_head,
        )


def _damage(workspace: Workspace) -> str | None:
    """The first thing in the store that is not as it was written."""
    findings = verify(workspace).findings
    return findings[0].what if findings else None


def decide_approvals(
    store: Store, change: ChangeRange, lines: Mapping[ChangeAuthor, int], effective: EffectiveRules, now_ns: int
) -> list[tuple[AuthorApproval, AgentApproval]]:
    """Return the answer about each author of ``lines``, with its report; every record is read again, no cache is used.

    Nothing is recorded. Whether the store is damaged is not checked here.
    """
    asked = TrustQuery(effective.of(TrustRules), now_ns)
    asking = ApprovalQuery(store, asked, change)
    with read_settled_decisions(store):
        known = [asking.known(author) for author in sort_authors(lines)]
        cases = [asking.case(author) for author in known]
        said = [
            AuthorApproval(case, asking.allowed(case), author.chance) for case, author in zip(cases, known, strict=True)
        ]
    return [(answer, report_agent_approval(answer, lines[answer.case.author], asked.rules)) for answer in said]


def report_agent_approval(said: AuthorApproval, lines: int, rules: TrustRules) -> AgentApproval:
    """One author's case and answer, as they are reported."""
    case, trust = said.case, said.case.trust
    return AgentApproval(
        agent=case.author.agent,
        model=case.author.model,
        operator=case.author.operator,
        lines=lines,
        score=trust.score,
        tier=trust.tier.value,
        samples=trust.standing.samples,
        budget=budget_of(trust, rules),
        budget_left=compute_budget_left(case, rules),
        approved=bool(said.approval),
        reasons=reasons_of(said.approval),
        chance=None if said.chance is None else said.chance.to_report(),
    )


def reasons_of(approval: Approval) -> list[ReviewReasonReport]:
    """What is against a change, as it is reported."""
    return [ReviewReasonReport(reason.code.value, reason.sentence) for reason in approval.against]


def _report(
    change: ChangeRange,
    by: AuthorLines,
    request: ApprovalRequest,
    asked: TrustQuery,
    answer: ApprovalResult,
    records: Sequence[str],
) -> TrustApproveReport:
    agents = [
        report_agent_approval(author_approval, by.with_claims.authors[author_approval.case.author], asked.rules)
        for author_approval in answer.said
    ]
    every = [*reasons_of(answer.nobody), *(reason for agent in agents for reason in agent.reasons)]
    return TrustApproveReport(
        outcome="fine" if answer else "found",
        base=change.base,
        head=change.head,
        fork=change.fork,
        as_of=text_from(asked.now_ns),
        rules_digest=asked.digest,
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
