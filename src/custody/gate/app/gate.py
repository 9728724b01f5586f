"""The verdict on a change: gather evidence, run the checks, build the report."""

from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import MappingProxyType

from msgspec import Struct
from msgspec.structs import replace

from custody.attribution import LineOwner
from custody.core.ids import digest_from_bytes
from custody.core.wire.body import format_digest
from custody.core.wire.canonical import digest_rule_tables
from custody.core.wire.sarif import SarifRule
from custody.core.wire.time import format_timestamp
from custody.gate.app.change import ChangeUnderReview, Policy, read_base_policy, resolve_change_under_review
from custody.gate.app.gather import GatheredEvidence, gather_evidence
from custody.gate.app.reading_order import ReadingOrder, make_reading_order
from custody.gate.app.snapshot import EvidenceBasis, read_verdict_basis
from custody.gate.app.spending import (
    BudgetUseMode,
    SettledVerdict,
    VerdictBudget,
    report_local_state,
)
from custody.gate.checks import (
    GateCheck,
    check_attribution,
    check_calls,
    check_citations,
    check_duplicates,
    check_integrity,
    check_policy,
    check_reads,
    check_statements,
    check_tests,
    check_trust,
)
from custody.gate.model import CODES, ChangeSpot, GateEvidence, GateVerdict, MissingEvidence, Reason, VerdictLevel
from custody.gate.risk import summarize_verdict
from custody.gate.rules import GateRules
from custody.gate.wire.report import (
    AddedLines,
    ChainExtent,
    GateReport,
    PlaceReport,
    ReasonReport,
    SkippedCheck,
    UnreadFile,
    render_added_lines,
)
from custody.workspace.rules_in_force import warn_of_ignored_rules
from custody.workspace.workspace import Workspace

READS = "reads"
TESTS = "tests"
STATEMENTS = "statements"
"""Optional checks: a report names them only where a policy requires them."""
CHECKS: Mapping[str, GateCheck] = MappingProxyType(
    {
        "integrity": check_integrity,
        "policy": check_policy,
        "attribution": check_attribution,
        "trust": check_trust,
        "duplicates": check_duplicates,
        "citations": check_citations,
        "calls": check_calls,
        TESTS: check_tests,
        STATEMENTS: check_statements,
        READS: check_reads,
    }
)
"""Every check by its name."""

GATHER_ATTEMPTS_MAX = 3
"""Attempts to gather evidence while records arrive; after that a copy of the store is used."""
RULES_FILE = "custody.toml"
"""The place of a finding about a change without files."""
TABLES = ("attribute", "cite", "dedupe", "gate", "graph", "review", "trust")
"""The tables of rules that a verdict depends on."""


class GateRequest(Struct, frozen=True, kw_only=True):
    """A change to judge: ``BASE..HEAD``, or the work tree for None; ``description`` is its author's text.

    With ``budget = "reserve"`` an approval that rests on trust reserves the lines of the change. Otherwise nothing is
    recorded: ``look`` reads every place that lines are reserved in, ``here`` this store only.
    """

    change: str | None = None
    description: bytes | None = None
    budget: BudgetUseMode = "here"


class JudgedChange(Struct, frozen=True, kw_only=True):
    """A change with its verdict, the evidence behind it, and its hunks in reading order."""

    review: ChangeUnderReview
    policy: Policy
    gathered: GatheredEvidence
    verdict: GateVerdict
    report: GateReport

    def make_order(self) -> ReadingOrder:
        """Return the hunks in reading order."""
        summary = summarize_verdict(self.verdict.reasons, render_added_lines(self.report.added))
        return make_reading_order(self.review, self.policy, self.gathered, self.verdict.reasons, summary)


def gate(workspace: Workspace, request: GateRequest) -> GateReport:
    """Judge the lines that a change adds, by the rules of its base."""
    with judge_change(workspace, request) as judged:
        return judged.report


@contextmanager
def judge_change(workspace: Workspace, request: GateRequest) -> Iterator[JudgedChange]:
    """Judge a change by the rules of its base; its objects can be read until the end of the block."""
    now_ns = workspace.now_ns()
    still = replace(workspace, now_ns=lambda: now_ns)
    with resolve_change_under_review(still, request.change) as review:
        policy = read_base_policy(review)
        warn_of_ignored_rules(workspace, policy.rules)
        budget = VerdictBudget(still, tuple(CHECKS.values()), policy.rules.of(GateRules), request.budget)
        basis, gathered = _gather_stable_evidence(still, review, policy, request.description)
        settled = budget.settle(gathered)
        for _ in range(GATHER_ATTEMPTS_MAX):
            if not settled.is_outdated:
                break
            basis, gathered = _gather_stable_evidence(still, review, policy, request.description)
            settled = budget.settle(gathered)
        report = _build_gate_report(
            review, policy, gathered, settled, _VerdictBinding(now_ns, basis, request.description)
        )
        yield JudgedChange(review=review, policy=policy, gathered=gathered, verdict=settled.verdict, report=report)


def _gather_stable_evidence(
    workspace: Workspace, review: ChangeUnderReview, policy: Policy, description: bytes | None
) -> tuple[EvidenceBasis, GatheredEvidence]:
    """Return the evidence and its basis, consistent even if records arrive meanwhile."""
    basis = read_verdict_basis(workspace)
    for _ in range(GATHER_ATTEMPTS_MAX):
        gathered = gather_evidence(workspace, review, policy, description)
        before, basis = basis, read_verdict_basis(workspace)
        if basis == before:
            return basis, gathered
    from custody.gate.app.snapshot import open_verdict_workspace  # only needed while agents are working

    with open_verdict_workspace(workspace, basis) as past:
        return basis, gather_evidence(past, review, policy, description)


def find_first_added_place(workspace: Workspace, request: GateRequest) -> PlaceReport:
    """Return the first added line: the place of findings about the change as a whole."""
    with resolve_change_under_review(workspace, request.change) as review:
        for addition in review.change.additions:
            if addition.lines:
                line = addition.lines[0].first
                return PlaceReport(addition.path.display, line, line)
        files = [file.change.path.display for file in review.change.files]
    return PlaceReport(files[0] if files else RULES_FILE, None, None)


def encode_verdict_form(report: GateReport, form: str, version: str, at: PlaceReport | None = None) -> bytes:
    """Encode the verdict as ``markdown``, ``annotations``, ``check-run`` or ``sarif``; SARIF needs a default place."""
    from custody.gate.wire.forms import (
        encode_check_run,
        encode_gate_annotations,
        encode_gate_sarif,
        encode_markdown,
    )

    if form == "markdown":
        return encode_markdown(report).encode()
    if form == "annotations":
        return encode_gate_annotations(report)
    if form == "check-run":
        return encode_check_run(report)
    rules = [SarifRule(code.value, code.value, about.meaning, about.remedy) for code, about in CODES.items()]
    return encode_gate_sarif(report, version, rules, at or PlaceReport(RULES_FILE, None, None))


def _list_checks_off(policy: Policy, evidence: GateEvidence) -> list[str]:
    """Return the checks that only some teams turn on, where they are off."""
    off = [] if evidence.reads is not None else [READS]
    rules = policy.rules.of(GateRules)
    off += [] if rules.tests == "agents" else [TESTS]
    return off if rules.statements == "on" else [*off, STATEMENTS]


class _VerdictBinding(Struct, frozen=True):
    """The time, records and description that a verdict depends on."""

    now_ns: int
    basis: EvidenceBasis
    description: bytes | None


def _build_gate_report(
    review: ChangeUnderReview,
    policy: Policy,
    gathered: GatheredEvidence,
    settled: SettledVerdict,
    bound: _VerdictBinding,
) -> GateReport:
    evidence, change, verdict = gathered.evidence, review.change, settled.verdict
    lines = Counter[LineOwner]()
    for _, added_range in evidence.ranges:
        lines[added_range.whose] += len(added_range.lines)
    basis = bound.basis
    index = None if "duplicates" in gathered.skipped else basis.index
    digest = digest_rule_tables({table: policy.rules.table(table) for table in TABLES})
    return GateReport(
        outcome="found" if verdict.level is VerdictLevel.BLOCK else "fine",
        base=change.base,
        head=change.head,
        fork=change.fork,
        worktree=review.is_work_tree,
        level=verdict.level.value,
        assurance=evidence.assurance.value,
        reasons=[_report_gate_reason(reason) for reason in verdict.reasons],
        added=AddedLines(**{whose.value: lines[whose] for whose in LineOwner}),
        unread=[
            UnreadFile(file.path, file.authorship.why)
            for file in evidence.files
            if isinstance(file.authorship, MissingEvidence)
        ],
        checks=[
            name for name in CHECKS if name not in gathered.skipped and name not in _list_checks_off(policy, evidence)
        ],
        skipped=[SkippedCheck(name, why) for name, why in gathered.skipped.items()],
        rules_digest=format_digest(digest),
        rules_from=list(policy.sources),
        as_of=format_timestamp(bound.now_ns),
        chain_head=basis.chain_head,
        chains=[ChainExtent(head.store, int(head.seq), head.link.hex()) for head in basis.chains],
        index=index,
        gaps=basis.gaps,
        description=None if bound.description is None else format_digest(digest_from_bytes(bound.description)),
        trust=list(gathered.agents),
        local=report_local_state(gathered, settled, basis.withheld),
        files=len(change.files),
        removed_lines=sum(len(hunk.removed) for file in change.files for hunk in file.hunks),
        removals=list(gathered.removals),
    )


def _report_gate_reason(reason: Reason) -> ReasonReport:
    places = [_report_reason_place(spot) for spot in reason.spots]
    return ReasonReport(reason.code.value, reason.level.value, reason.sentence, reason.remedy, places)


def _report_reason_place(spot: ChangeSpot) -> PlaceReport:
    if spot.lines is None:
        return PlaceReport(spot.path, None, None)
    return PlaceReport(spot.path, spot.lines.first, spot.lines.last)
