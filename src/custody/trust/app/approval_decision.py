"""The decision whether agents' lines may merge without review, and the reservation of their lines.

``gate`` and ``trust approve`` both ask here, so that they never disagree.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Literal

from msgspec import Struct, field

from custody.config import EffectiveRules
from custody.core.assurance import Assurance
from custody.core.errors import WorldError
from custody.core.ids import Digest
from custody.core.plural import count_noun, noun_for_count
from custody.core.wire.arrival import Arrival
from custody.core.wire.body import format_digest
from custody.store import Store
from custody.trust.app.acceptance import AcceptanceAccount
from custody.trust.app.approval_case import (
    ApprovalQuery,
    digest_approval_chain_heads,
    list_reservations,
    sort_approval_authors,
)
from custody.trust.app.authors import AuthorLines
from custody.trust.app.decision_assurance import DecisionPolicy
from custody.trust.app.decision_log import arrival_from_decision
from custody.trust.app.decisions import TrustQuery, append_decision, read_settled_decisions
from custody.trust.app.record import DecisionRequest, decision_fields_from_request
from custody.trust.app.reservations import STORE, BudgetLedger, BudgetPlace, LedgerState, Reservation
from custody.trust.approval import (
    ApprovalCase,
    ProposedChange,
    budget_since_ns,
    compute_budget_left,
    compute_merge_budget,
    refuse_unknown_author,
)
from custody.trust.assurance import CountingEntries
from custody.trust.model import (
    GATE_ACTOR,
    Approval,
    ChangeAuthor,
    DecisionType,
    FileVoucher,
    ReviewReason,
    ReviewRequirement,
)
from custody.trust.queries import ScoreTables, list_unreviewed_decisions
from custody.trust.rules import TrustRules
from custody.trust.score import decision_complexity_from_lines
from custody.trust.wire import AgentApproval, LeftOutDecisions, ReviewReasonReport
from custody.workspace.change import ChangeRange
from custody.workspace.wiring import import_wired_name
from custody.workspace.workspace import Workspace

EXACT = ("agent", "id", "operator", "areas", "head", "patch")
"""The fields that budgets are counted by: they must not be redacted."""
LOCAL_REQUIREMENTS = (ReviewRequirement.BUDGET, ReviewRequirement.AUDIT)
"""Requirements that depend on the machine and the time, not on the change and the records."""
RESERVE_ATTEMPTS_MAX = 5
"""How often a reservation is repeated when another one came first."""
RESUMES = "review the change; approvals resume when these reservations leave the budget's window"
SHARED_LEDGER = "custody.share.budget:open_shared_ledger"


class ApprovalQuestion(Struct, frozen=True, kw_only=True):
    """A change, who wrote its added lines, the rules that decide, whom they believe, and where lines are reserved.

    ``approver`` is the person who approves, None for the gate. ``damage`` is a change of the log, None if another check
    reports it. Without ``audit_key`` every change that would pass is selected for an audit, if any are.
    ``vouchers`` say how far recorded edits explain each changed file.
    """

    change: ChangeRange
    by: AuthorLines
    query: TrustQuery
    decisions: DecisionPolicy = field(default_factory=DecisionPolicy)
    place: BudgetPlace = STORE
    approver: str | None = None
    damage: str | None = None
    audit_key: bytes | None = None
    vouchers: Sequence[FileVoucher] = ()


class AuthorApproval(Struct, frozen=True):
    """The approval for one author of a change, and its evidence."""

    case: ApprovalCase
    approval: Approval
    counting: CountingEntries
    acceptance: AcceptanceAccount | None = None

    @property
    def assurance(self) -> Assurance:
        """Return the lowest assurance of the decisions in favor of the author; self-reported without any."""
        return self.counting.lowest or Assurance.SELF_REPORTED


class ApprovalResult(Struct, frozen=True):
    """The approvals for all authors of a change, with the digest of all chain heads at that time."""

    change: ProposedChange
    answers: tuple[AuthorApproval, ...]
    no_author: Approval
    chain_head: str

    def __bool__(self) -> bool:
        return bool(self.no_author) and all(author_approval.approval for author_approval in self.answers)


class AgentBudget(Struct, frozen=True):
    """The lines that an author may merge without review in the budget window, and how many are left."""

    author: ChangeAuthor
    budget: int
    left: int


BudgetOutcome = Literal["reserved", "known", "refused", "dry"]
"""The lines are reserved now, were reserved before, are not reserved since they may not merge, or in a dry run."""


class SpentApproval(Struct, frozen=True):
    """An approval, what became of the reservation of its lines, and the new records."""

    result: ApprovalResult
    outcome: BudgetOutcome
    records: tuple[str, ...] = ()


def budget_place_from_rules(effective: EffectiveRules) -> BudgetPlace:
    """Return where the rules of the gate reserve lines."""
    values = {name: setting.value for name, setting in effective.settings_of("gate").items()}
    return BudgetPlace(str(values["gate.budget_remote"])) if values["gate.budget"] == "remote" else STORE


def list_review_paths(effective: EffectiveRules) -> tuple[str, ...]:
    """Return the patterns of the files whose changes always need a review."""
    return effective.of(TrustRules).review_paths


def make_approval_query(effective: EffectiveRules, now_ns: int) -> TrustQuery:
    """Return the query by the rules of a change's base."""
    return TrustQuery(effective.of(TrustRules), now_ns)


def decide_change_approval(
    store: Store, question: ApprovalQuestion, reserved: Sequence[Reservation] = ()
) -> ApprovalResult:
    """Return the approvals of a change, from the records of ``store`` and what others reserved; nothing is recorded."""
    return _ChangeApproval(store, question).decide(reserved)


def preview_approval(workspace: Workspace, question: ApprovalQuestion) -> SpentApproval:
    """Return the approvals of a change with the reservations of every place that counts; nothing is recorded."""
    ledger = _open_ledger(workspace, question)
    state = LedgerState() if ledger is None else ledger.read(_since_ns(question))
    with workspace.reading() as store:
        _refuse_incomplete_ledger(store, question, state)
        return SpentApproval(decide_change_approval(store, question, state.reservations), "dry")


def reserve_approval(
    workspace: Workspace, question: ApprovalQuestion, accept: Callable[[ApprovalResult], bool] = bool
) -> SpentApproval:
    """Decide about a change and reserve its lines if ``accept`` agrees; no other process can spend them in between.

    A patch that is reserved already costs nothing. A ``CustodyError`` means that nothing was reserved for certain.
    """
    ledger = _open_ledger(workspace, question)
    if ledger is None:
        return _record_reservations(workspace, question, accept, LedgerState())
    state, is_new = LedgerState(), False
    for _ in range(RESERVE_ATTEMPTS_MAX):
        state = ledger.read(_since_ns(question))
        with workspace.reading() as store:
            _refuse_incomplete_ledger(store, question, state)
            result = decide_change_approval(store, question, state.reservations)
        if not accept(result):
            return SpentApproval(result, "refused")
        missing = _list_missing_reservations(question, result, state.reservations)
        is_new = bool(missing)
        if not missing or ledger.extend(state, missing, question.query.now_ns):
            break
    else:
        raise WorldError(
            f"others reserved lines meanwhile, {RESERVE_ATTEMPTS_MAX} times in a row", hint="check the change again"
        )
    # The ledger decides; the own record is what scores and other changes of this clone are computed from.
    here = _record_reservations(workspace, question, lambda _: True, state)
    return SpentApproval(here.result, "reserved" if is_new else "known", here.records)


def _open_ledger(workspace: Workspace, question: ApprovalQuestion) -> BudgetLedger | None:
    if question.place.remote is None:
        return None
    ledger: BudgetLedger = import_wired_name(SHARED_LEDGER)(workspace, question.place.remote)
    return ledger


def _refuse_incomplete_ledger(store: Store, question: ApprovalQuestion, state: LedgerState) -> None:
    """Raise ``WorldError`` if chains of other stores name reservations that are gone from the ledger."""
    if state.patches is None:
        return
    own = store.tables.list_owned_chains()
    patches = {
        decision.view.patch
        for decision in list_unreviewed_decisions(store, _since_ns(question))
        if decision.record.store not in own and decision.view.patch is not None
    }
    if missing := len(patches - state.patches):
        count = f"{count_noun(missing, 'reservation')} of other stores {noun_for_count(missing, 'is', 'are')}"
        raise WorldError(f"{count} missing at the remote", hint=RESUMES)


def _since_ns(question: ApprovalQuestion) -> int:
    return budget_since_ns(question.query.now_ns, question.query.rules)


def _record_reservations(
    workspace: Workspace, question: ApprovalQuestion, accept: Callable[[ApprovalResult], bool], state: LedgerState
) -> SpentApproval:
    """Decide and record in one write transaction of the own store."""
    with workspace.writing() as store:
        approval = _ChangeApproval(store, question)
        results: list[ApprovalResult] = []

        def look() -> Sequence[Arrival]:
            results[:] = [approval.decide_now(state.reservations)]
            return list(_list_arrivals(workspace, store, question, results[0])) if accept(results[0]) else []

        records = tuple(str(record.ref) for record in append_decision(store, look).made)
    (result,) = results
    if not accept(result):
        return SpentApproval(result, "refused")
    return SpentApproval(result, "reserved" if records else "known", records)


def _list_missing_reservations(
    question: ApprovalQuestion, result: ApprovalResult, known: Iterable[Reservation]
) -> list[Reservation]:
    """Return the reservations that the change needs and ``known`` does not cover."""
    known = tuple(known)
    wanted = (reservation for _, reservation in _list_wanted_reservations(question, result))
    return [reservation for reservation in wanted if not any(each.covers(reservation) for each in known)]


def _list_wanted_reservations(
    question: ApprovalQuestion, result: ApprovalResult
) -> Iterator[tuple[AuthorApproval, Reservation]]:
    """Yield the reservation for each author; an author by claims alone gets no credit for the merge."""
    for answer in result.answers:
        author = answer.case.author
        if author in question.by.authors:
            yield (
                answer,
                Reservation(
                    patch=result.change.patch,
                    agent=author.agent,
                    operator=author.operator,
                    areas=result.change.areas,
                    lines=result.change.lines,
                    at_ns=question.query.now_ns,
                    head=result.change.head,
                ),
            )


def _list_arrivals(
    workspace: Workspace, store: Store, question: ApprovalQuestion, result: ApprovalResult
) -> Iterator[Arrival]:
    known = list_reservations(store, _since_ns(question), question.query.rules)
    taken: set[tuple[str, str]] = set()
    for answer, reservation in _list_wanted_reservations(question, result):
        if any(each.covers(reservation) for each in known):
            continue
        id_ = _choose_reservation_id(store, reservation.agent, result.change.head, taken)
        taken.add((reservation.agent, id_))
        fields = decision_fields_from_request(workspace, _decision_from_approval(question, answer, result))
        yield arrival_from_decision(workspace, reservation.agent, id_, fields, question.query.now_ns, exact=EXACT)


def _choose_reservation_id(store: Store, agent: str, head: str, taken: set[tuple[str, str]]) -> str:
    """Return an unused id; the same head is recorded again once an earlier reservation has expired."""
    id_ = name = f"unreviewed:{head}"
    tables, number = ScoreTables(store), 0
    while (agent, id_) in taken or tables.find_decision_records(agent, "id", [id_]):
        number += 1
        id_ = f"{name}:{number}"
    return id_


def _decision_from_approval(
    question: ApprovalQuestion, approval: AuthorApproval, result: ApprovalResult
) -> DecisionRequest:
    change, author = result.change, approval.case.author
    return DecisionRequest(
        agent=author.agent,
        decision=DecisionType.ACCEPTED,
        unreviewed=True,
        commit=change.head,
        head=change.head,
        patch=change.patch or None,
        agent_lines=question.by.lines(author.agent),
        lines=change.lines,
        complexity=decision_complexity_from_lines(change.lines),
        areas=change.areas,
        model=author.model,
        operator=author.operator,
        actor=question.approver or GATE_ACTOR,
        rules_digest=question.query.digest,
        chain_head=result.chain_head,
    )


class _ChangeApproval:
    """The decision about one change, with everything it needs; scores are read once."""

    def __init__(self, store: Store, question: ApprovalQuestion) -> None:
        self._store = store
        self._question = question
        self._approvals = ApprovalQuery(
            store,
            question.query,
            question.change,
            unknown_lines=question.by.unknown,
            vouchers=question.vouchers,
            policy=question.decisions,
            audit_key=question.audit_key,
        )
        with read_settled_decisions(store):
            self._known = [
                self._approvals.read_author_score(author)
                for author in sort_approval_authors(question.by.with_claims.authors)
            ]

    def decide(self, reserved: Sequence[Reservation]) -> ApprovalResult:
        """Return the result as of now, from one read transaction."""
        with read_settled_decisions(self._store):
            return self.decide_now(reserved)

    def decide_now(self, reserved: Sequence[Reservation]) -> ApprovalResult:
        """Return the result; call it inside a transaction with a complete index."""
        question = self._question
        answers = []
        for scored in self._known:
            known = self._approvals.refresh_author_score(scored)
            case = self._approvals.case(known, approver=question.approver, damage=question.damage, reserved=reserved)
            approval = self._approvals.decide_author_approval(case)
            answers.append(AuthorApproval(case, approval, known.counting, known.acceptance))
        change = self._approvals.make_proposed_change()
        no_author = Approval() if answers else refuse_unknown_author(change, persons=question.by.persons)
        heads = digest_approval_chain_heads(self._store.tables.chains())
        return ApprovalResult(change, tuple(answers), no_author, format_digest(Digest(heads)))


def report_agent_approval(
    answer: AuthorApproval, lines: int, rules: TrustRules, *, is_portable: bool = False
) -> AgentApproval:
    """Return the JSON shape of one author's approval; a portable one leaves out budget use and audit draw."""
    case, trust = answer.case, answer.case.trust
    against = tuple(
        reason for reason in answer.approval.against if not (is_portable and reason.code in LOCAL_REQUIREMENTS)
    )
    return AgentApproval(
        agent=case.author.agent,
        model=case.author.model,
        operator=case.author.operator,
        lines=lines,
        score=trust.score,
        tier=trust.tier.value,
        samples=trust.state.samples,
        budget=compute_merge_budget(trust, rules),
        budget_left=None if is_portable else compute_budget_left(case, rules),
        approved=not against,
        reasons=report_review_reasons(against),
        chance=None if answer.acceptance is None else answer.acceptance.to_report(),
        assurance=answer.assurance.value,
        left_out=[LeftOutDecisions(omission.value, count) for omission, count in answer.counting.left_out.items()],
    )


def compute_agent_budgets(approval: ApprovalResult, question: ApprovalQuestion) -> list[AgentBudget]:
    """Return the budget of each author, without what the change itself takes."""
    rules = question.query.rules
    return [
        AgentBudget(
            answer.case.author, compute_merge_budget(answer.case.trust, rules), compute_budget_left(answer.case, rules)
        )
        for answer in approval.answers
    ]


def report_review_reasons(against: Iterable[ReviewReason]) -> list[ReviewReasonReport]:
    """Return the JSON shape of reasons against a change."""
    return [ReviewReasonReport(reason.code.value, reason.sentence) for reason in against]


def refuse_unverifiable_budget(why: str) -> ReviewReason:
    """Return the reason against a change whose lines cannot be reserved."""
    return ReviewReason(ReviewRequirement.BUDGET, f"budget not verifiable: {why}")
