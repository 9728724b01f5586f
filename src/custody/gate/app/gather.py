"""Gathering of all evidence that the gate's checks need about one change."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct, field
from msgspec.structs import replace

from custody.attribution import Grade
from custody.attribution.app.answers import LineAnswer
from custody.attribution.app.context import AttributionContext, open_attribution
from custody.attribution.app.findings import LineAttributor
from custody.core.assurance import Assurance
from custody.core.errors import InputError, StoreError
from custody.core.ids import StoreId
from custody.dupes.app.indexed_changes import get_newest_change_id
from custody.gate.app.change import ChangeUnderReview, Policy
from custody.gate.app.removals import gather_call_removals
from custody.gate.app.statements import StatementRecords, gather_statements
from custody.gate.app.tests import rate_change_tests, read_change_tests
from custody.gate.app.texts import has_prose
from custody.gate.model import (
    AddedRange,
    CallsBeforeEdit,
    ChangeStatement,
    ChangeText,
    FileAdditions,
    GateEvidence,
    MissingEvidence,
    ReadState,
    RecordState,
    SimilarChange,
    TrustAnswer,
)
from custody.gate.rules import GateRules
from custody.gate.wire.report import CallRemovals
from custody.ledger.assurance import rate_workspace_chains
from custody.ledger.records import list_recording_gaps
from custody.ledger.verify import check_ledger_integrity
from custody.runs import TestEvidence
from custody.store import Store
from custody.trust import ChangeAuthor, FileVoucher
from custody.trust.app.approval_case import ApprovalQuery
from custody.trust.app.approval_decision import (
    ApprovalQuestion,
    ApprovalResult,
    budget_place_from_rules,
    decide_change_approval,
    make_approval_query,
    report_agent_approval,
)
from custody.trust.app.authors import AuthorLines, Operators, trust_author_from_answer
from custody.trust.app.decision_assurance import DecisionPolicy
from custody.trust.app.decisions import read_settled_decisions
from custody.trust.app.file_vouchers import list_missing_vouchers, rate_file_vouchers
from custody.trust.wire import AgentApproval
from custody.workspace.change import Addition
from custody.workspace.workspace import Workspace

if TYPE_CHECKING:
    from custody.gate.app.contradictions import ContradictionCheck


READ_IT = "have a person read it"
ASK_DOCTOR = "run 'custody doctor'"
NOT_INDEXED = "no change is indexed, gate.duplicates = when-indexed"


class GatheredEvidence(Struct, frozen=True):
    """The evidence, the agents' approvals for the report, and the skipped checks with the reason.

    ``edited`` has the attribution of the added lines, by path. ``question`` is what ``approval`` answers, None where no
    agent wrote added lines. ``removals`` are the calls that removed text. Recordings outside the
    ``believed`` chains are claims.
    """

    evidence: GateEvidence
    agents: tuple[AgentApproval, ...] = ()
    question: ApprovalQuestion | None = None
    approval: ApprovalResult | None = None
    edited: Mapping[str, Sequence[LineAnswer]] = field(default_factory=dict)
    skipped: Mapping[str, str] = field(default_factory=dict)
    removals: tuple[CallRemovals, ...] = ()
    believed: frozenset[StoreId] = frozenset()
    tests: Mapping[str, TestEvidence] = field(default_factory=dict)
    statements: tuple[ChangeStatement, ...] = ()


def gather_evidence(
    workspace: Workspace, review: ChangeUnderReview, policy: Policy, description: bytes | None
) -> GatheredEvidence:
    """Return the evidence for all checks that are on."""
    gathered = _gather_attribution_evidence(workspace, review, policy, description)
    rules = policy.rules.of(GateRules)
    skipped = {}
    duplicates = _gather_duplicates(workspace, review, policy, rules)
    if duplicates is None:
        skipped["duplicates"] = "gate.duplicates = off" if rules.duplicates == "off" else NOT_INDEXED
    texts: tuple[ChangeText, ...] = ()
    if rules.citations == "off":
        skipped["citations"] = "gate.citations = off"
    elif has_prose(review, description):
        from custody.gate.app.texts import gather_citation_evidence  # loads parsers that most verdicts do not need

        texts = gather_citation_evidence(workspace, review, description, policy)
    calls: tuple[CallsBeforeEdit, ...] | MissingEvidence | None = None
    if rules.calls == "off":
        skipped["calls"] = "gate.calls = off"
    else:
        calls = _gather_risky_calls(workspace, gathered, policy)
    reads: ReadState | MissingEvidence | None = None
    if rules.reads == "on":
        from custody.gate.app.reads import gather_read_evidence  # only teams that require reads need it

        reads = gather_read_evidence(workspace, review, policy, gathered.evidence)
    evidence = replace(
        gathered.evidence,
        reads=reads,
        rejected_by=None if gathered.question is not None else _find_rejecting_reviewer(workspace, review, policy),
        duplicates=duplicates,
        texts=texts,
        calls=calls,
        policy=policy.changed,
        guarded=policy.guarded,
    )
    return replace(gathered, evidence=evidence, skipped=skipped)


def _gather_attribution_evidence(
    workspace: Workspace, review: ChangeUnderReview, policy: Policy, description: bytes | None
) -> GatheredEvidence:
    """Return who wrote the added lines, and the decisions about these agents."""
    from custody.gate.app.contradictions import ContradictionCheck

    change = review.change
    recorded = _read_gate_record_state(workspace)  # first: the queries below may create the store
    if not change.additions and not review.left_out:
        # Gaps concern only added lines; damage concerns everything.
        known = (
            recorded
            if isinstance(recorded, MissingEvidence)
            else RecordState(damage=recorded.damage if recorded else ())
        )
        evidence = GateEvidence((), change.period, known, vouchers=list_missing_vouchers(change))
        return _add_statements(
            GatheredEvidence(evidence, removals=_gather_removals_alone(workspace, review, policy)),
            policy,
            gather_statements(review, policy, description),
        )
    left_out = tuple(
        FileAdditions(file.path.display, MissingEvidence(file.reason, READ_IT)) for file in review.left_out
    )
    try:
        with open_attribution(workspace, effective=policy.rules, policy=policy.team) as context:
            attributor, operators = LineAttributor(context, strict=True), Operators(context)
            if review.version is not None:
                context.history.prepare(review.version, [addition.path for addition in change.additions])
            answers = {
                addition.path: _gather_addition_answers(attributor, review, addition) for addition in change.additions
            }
            contradictions = ContradictionCheck(context, review.version)
            files = tuple(
                _gather_file_evidence(addition, answers[addition.path], operators, contradictions)
                for addition in change.additions
            )
            recorded = contradictions.add_unfounded_damage(recorded)
            removals = gather_call_removals(context, attributor, review)
            context.save()
            evidence = GateEvidence((*files, *left_out), change.period, recorded)
            evidence = replace(evidence, vouchers=_gather_file_vouchers(context, review, policy, evidence))
            edited = {
                path.display: answer for path, answer in answers.items() if not isinstance(answer, MissingEvidence)
            }
            question = _ask_about_trust(context, review, policy, evidence)
            answered = _add_trust_answers(context.store, evidence, question)
            attributed = {path: lines for path, lines in answers.items() if not isinstance(lines, MissingEvidence)}
            tests = read_change_tests(context.store, review, policy, attributed)
            if policy.rules.of(GateRules).tests == "agents":
                rated = rate_change_tests(tests, answered.evidence, policy, context.store, context.ratings)
                answered = replace(answered, evidence=replace(answered.evidence, tests=rated))
            believed = context.ratings.believed
            records = StatementRecords(context.store, tests, context.ratings)
            statements = gather_statements(review, policy, description, records)
            return _add_statements(
                replace(answered, edited=edited, removals=removals, believed=believed, tests=tests.judge_all()),
                policy,
                statements,
            )
    except StoreError as error:
        unknown = MissingEvidence(f"was not checked: {error.message}", error.hint or ASK_DOCTOR)
        nothing = tuple(FileAdditions(addition.path.display, unknown) for addition in change.additions)
        missing = list_missing_vouchers(change)
        evidence = GateEvidence((*nothing, *left_out), change.period, recorded, unknown, vouchers=missing)
        return _add_statements(GatheredEvidence(evidence), policy, gather_statements(review, policy, description))


def _add_statements(
    gathered: GatheredEvidence, policy: Policy, statements: tuple[ChangeStatement, ...]
) -> GatheredEvidence:
    """Add compared statements; the verdict rests on them where the rules say so."""
    judged = statements if policy.rules.of(GateRules).statements == "on" else ()
    return replace(gathered, statements=statements, evidence=replace(gathered.evidence, statements=judged))


def _gather_file_vouchers(
    context: AttributionContext, review: ChangeUnderReview, policy: Policy, evidence: GateEvidence
) -> tuple[FileVoucher, ...]:
    """Return how far recorded edits vouch for each changed file, where that matters."""
    if policy.rules.of(GateRules).counts(Assurance.SELF_REPORTED) and evidence.assurance is Assurance.SELF_REPORTED:
        return list_missing_vouchers(review.change)
    agents = {added_range.author.agent for _, added_range in evidence.ranges if added_range.author is not None}
    return rate_file_vouchers(context, review.change, review.version, agents)


def _gather_removals_alone(workspace: Workspace, review: ChangeUnderReview, policy: Policy) -> tuple[CallRemovals, ...]:
    """Return what captured calls removed in a change that adds no line."""
    if not workspace.exists() or not any(hunk.removed for file in review.change.files for hunk in file.hunks):
        return ()
    try:
        with open_attribution(workspace, effective=policy.rules, policy=policy.team) as context:
            return gather_call_removals(context, LineAttributor(context, strict=True), review)
    except StoreError:
        return ()  # the integrity check reports a store that cannot be read


def _find_rejecting_reviewer(workspace: Workspace, review: ChangeUnderReview, policy: Policy) -> str | None:
    """Return who rejected or reverted a change without lines of agents; trust answers for others."""
    if not review.change.files:
        return None
    try:
        with workspace.reading() as store:
            ratings = rate_workspace_chains(workspace, store, policy.team)
            least = Assurance(policy.rules.of(GateRules).assurance_min)
            decisions = DecisionPolicy(policy.team, least, ratings, review.repository)
            query = make_approval_query(policy.rules, workspace.now_ns())
            with read_settled_decisions(store):
                return ApprovalQuery(store, query, review.change, policy=decisions).find_rejecting_reviewer()
    except StoreError:
        return None  # the integrity check reports a store that cannot be read


def _read_gate_record_state(workspace: Workspace) -> RecordState | MissingEvidence | None:
    try:
        # Even without a database: its head files may still exist.
        report = check_ledger_integrity(workspace)
        if not (report.records or report.pending or report.findings or report.warnings):
            return None
        return RecordState(tuple(list_recording_gaps(workspace)), tuple(finding.what for finding in report.findings))
    except StoreError as error:
        return MissingEvidence(f"cannot read the store: {error.message}", error.hint or ASK_DOCTOR)


def _gather_addition_answers(
    attributor: LineAttributor, review: ChangeUnderReview, addition: Addition
) -> Sequence[LineAnswer] | MissingEvidence:
    """Return who wrote the added lines of one file."""
    if addition.unread is not None:
        return MissingEvidence(addition.unread, READ_IT)
    try:
        return attributor.of_file(addition.path, review.version, addition.lines)[1]
    except InputError as error:
        # Not the caller's mistake: the change has a submodule, a damaged object or a file that is too large.
        return MissingEvidence(f"cannot be read: {error.message}", READ_IT)


def _gather_file_evidence(
    addition: Addition,
    answers: Sequence[LineAnswer] | MissingEvidence,
    operators: Operators,
    contradictions: ContradictionCheck,
) -> FileAdditions:
    """Return the attribution of the added lines of one file."""
    path = addition.path.display
    if isinstance(answers, MissingEvidence):
        return FileAdditions(path, answers)
    if sum(len(answer.lines) for answer in answers) != sum(map(len, addition.lines)):
        return FileAdditions(path, MissingEvidence("has lines that could not be attributed", READ_IT))
    doubted = contradictions.find_contradicted_lines(addition.path, answers)
    ranges = (
        _gate_range_from_answer(
            answer, operators, contradictions.rate_answer(answer), is_doubted=answer.lines in doubted
        )
        for answer in answers
    )
    return FileAdditions(path, tuple(ranges))


def _gate_range_from_answer(
    answer: LineAnswer, operators: Operators, assurance: Assurance | None, *, is_doubted: bool
) -> AddedRange:
    """Return added lines with their author; contradicted evidence is only a claim."""
    if is_doubted and assurance is not None:
        assurance = Assurance.SELF_REPORTED
    grade = Grade.CLAIMED if is_doubted and answer.grade is not None else answer.grade
    return AddedRange(
        answer.lines, answer.owner, answer.tier, grade, trust_author_from_answer(answer, operators), assurance
    )


def _ask_about_trust(
    context: AttributionContext, review: ChangeUnderReview, policy: Policy, evidence: GateEvidence
) -> ApprovalQuestion | None:
    """Return the question whether the agents' records allow the change; None where no agent wrote added lines.

    Lines of unknown authors belong to the attribution check.
    """
    from custody.trust.app.audit_key import open_audit_key

    lines = Counter[ChangeAuthor]()
    for _, added_range in evidence.ranges:
        if added_range.author is not None:
            lines[added_range.author] += len(added_range.lines)
    if not lines:
        return None
    least = Assurance(policy.rules.of(GateRules).assurance_min)
    return ApprovalQuestion(
        change=review.change,
        by=AuthorLines(lines),
        query=make_approval_query(policy.rules, context.workspace.now_ns()),
        decisions=DecisionPolicy(policy.team, least, context.ratings, review.repository),
        place=budget_place_from_rules(policy.rules),
        audit_key=open_audit_key(context.workspace),
    )


def _add_trust_answers(store: Store, evidence: GateEvidence, question: ApprovalQuestion | None) -> GatheredEvidence:
    """Return the evidence with the approval of each agent, computed from the records that were just verified."""
    if question is None:
        return GatheredEvidence(evidence)
    approval = decide_change_approval(store, question)
    agents = tuple(
        report_agent_approval(answer, question.by.authors[answer.case.author], question.query.rules, is_portable=True)
        for answer in approval.answers
    )
    evidence = replace(evidence, trust=list_trust_answers(approval))
    return GatheredEvidence(evidence, agents, question, approval)


def list_trust_answers(approval: ApprovalResult) -> tuple[TrustAnswer, ...]:
    """Return the approval of each agent as evidence."""
    return tuple(TrustAnswer(answer.case.author, answer.approval, answer.assurance) for answer in approval.answers)


def _gather_duplicates(
    workspace: Workspace, review: ChangeUnderReview, policy: Policy, rules: GateRules
) -> tuple[SimilarChange, ...] | MissingEvidence | None:
    """Return the duplicates of the change; None if the check is off or nothing is indexed."""
    if rules.duplicates == "off":
        return None
    try:
        with workspace.reading() as store:
            if rules.duplicates == "when-indexed" and not get_newest_change_id(store):
                return None
            # Imported late: it loads parsers that most verdicts do not need.
            from custody.gate.app.duplicates import gather_duplicate_evidence

            return gather_duplicate_evidence(review, store, policy.rules)
    except StoreError as error:
        return MissingEvidence(error.message, error.hint or ASK_DOCTOR)


def _gather_risky_calls(
    workspace: Workspace, gathered: GatheredEvidence, policy: Policy
) -> tuple[CallsBeforeEdit, ...] | MissingEvidence:
    """Return the calls that agents made before they changed risky files."""
    from custody.gate.app.calls import gather_risky_call_evidence

    try:
        with workspace.reading() as store:
            return gather_risky_call_evidence(store, gathered.edited, policy.rules, gathered.believed)
    except StoreError as error:
        return MissingEvidence(error.message, error.hint or ASK_DOCTOR)
