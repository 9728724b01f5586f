"""The verdict on a change: what was seen of it, what the checks say, and the report."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

from custody.attribution import LineOwner
from custody.core.ids import digest_of
from custody.core.wire.body import digest_text
from custody.core.wire.canonical import rules_digest
from custody.core.wire.sarif import SarifRule
from custody.core.wire.time import text_from
from custody.gate.app.change import ChangeUnderReview, Policy, policy_of, resolve_change
from custody.gate.app.gather import GatheredEvidence, gather_evidence
from custody.gate.app.snapshot import EvidenceBasis, rests_on
from custody.gate.checks import GateCheck, attribution, calls, citations, duplicates, integrity, judge, policy, trust
from custody.gate.model import CODES, ChangeSpot, GateVerdict, MissingEvidence, Reason, VerdictLevel
from custody.gate.rules import GateRules
from custody.gate.wire.report import (
    AddedLines,
    ChainExtent,
    GateReport,
    PlaceReport,
    ReasonReport,
    SkippedCheck,
    UnreadFile,
)
from custody.workspace.rules_in_force import warn_of_ignored
from custody.workspace.workspace import Workspace

CHECKS: Mapping[str, GateCheck] = MappingProxyType(
    {
        "integrity": integrity,
        "policy": policy,
        "attribution": attribution,
        "trust": trust,
        "duplicates": duplicates,
        "citations": citations,
        "calls": calls,
    }
)
"""Every check by its name."""

LOOKS_MAX = 3
"""So often a change is looked at while records arrive; then what was there is looked at in a copy."""
RULES_FILE = "custody.toml"
"""Where something stands that is said of a change without files: what is asked of it is written there."""
TABLES = ("attribute", "cite", "dedupe", "gate", "graph", "trust")
"""The rules on which a verdict rests."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GateRequest:
    """A change to be judged: ``BASE..HEAD`` as typed, or the work tree; ``description`` is what its author says."""

    change: str | None = None
    description: bytes | None = None


def gate(workspace: Workspace, request: GateRequest) -> GateReport:
    """Judge what a change brings, by the rules of its base."""
    now_ns = workspace.now_ns()
    still = replace(workspace, now_ns=lambda: now_ns)
    with resolve_change(still, request.change) as review:
        policy = policy_of(review)
        warn_of_ignored(workspace, policy.rules)
        rests, looked = _gather_stable_evidence(still, review, policy, request.description)
        verdict = judge(looked.seen, tuple(CHECKS.values()), policy.rules.of(GateRules))
        return _report(review, policy, looked, verdict, _VerdictBinding(now_ns, rests, request.description))


def _gather_stable_evidence(
    workspace: Workspace, review: ChangeUnderReview, policy: Policy, description: bytes | None
) -> tuple[EvidenceBasis, GatheredEvidence]:
    """What was seen, and what all of it rests on: nothing may have arrived between the first look and the last."""
    rests = rests_on(workspace)
    for _ in range(LOOKS_MAX):
        looked = gather_evidence(workspace, review, policy, description, workspace.now_ns())
        before, rests = rests, rests_on(workspace)
        if rests == before:
            return rests, looked
    from custody.gate.app.snapshot import past_workspace  # agents are at work in this very moment

    with past_workspace(workspace, rests) as past:
        return rests, gather_evidence(past, review, policy, description, workspace.now_ns())


def first_place(workspace: Workspace, request: GateRequest) -> PlaceReport:
    """Where something is said that is about the change as a whole: at the first line that it adds."""
    with resolve_change(workspace, request.change) as review:
        for addition in review.change.additions:
            if addition.lines:
                line = addition.lines[0].first
                return PlaceReport(addition.path.display, line, line)
        files = [file.change.path.display for file in review.change.files]
    return PlaceReport(files[0] if files else RULES_FILE, None, None)


def formed(report: GateReport, form: str, version: str, at: PlaceReport | None = None) -> bytes:
    """The verdict in another shape: ``markdown``, ``annotations``, ``check-run``, or ``sarif`` with a first place."""
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


@dataclass(frozen=True, slots=True)
class _VerdictBinding:
    """What a verdict is bound to beside its change and its rules."""

    now_ns: int
    rests: EvidenceBasis
    description: bytes | None


def _report(
    review: ChangeUnderReview, policy: Policy, looked: GatheredEvidence, verdict: GateVerdict, bound: _VerdictBinding
) -> GateReport:
    seen, change = looked.seen, review.change
    lines = Counter[LineOwner]()
    for _, stretch in seen.ranges:
        lines[stretch.whose] += len(stretch.lines)
    rests = bound.rests
    index = None if "duplicates" in looked.skipped else rests.index
    digest = rules_digest({table: policy.rules.tables[table] for table in TABLES})
    return GateReport(
        outcome="found" if verdict.level is VerdictLevel.BLOCK else "fine",
        base=change.base,
        head=change.head,
        fork=change.fork,
        worktree=review.is_work_tree,
        level=verdict.level.value,
        reasons=[_report_reason(reason) for reason in verdict.reasons],
        added=AddedLines(**{whose.value: lines[whose] for whose in LineOwner}),
        unread=[
            UnreadFile(file.path, file.found.why) for file in seen.files if isinstance(file.found, MissingEvidence)
        ],
        checks=[name for name in CHECKS if name not in looked.skipped],
        skipped=[SkippedCheck(name, why) for name, why in looked.skipped.items()],
        rules_digest=digest_text(digest),
        rules_from=list(policy.sources),
        as_of=text_from(bound.now_ns),
        chain_head=rests.chain_head,
        chains=[ChainExtent(head.store, int(head.seq), head.link.hex()) for head in rests.chains],
        index=index,
        gaps=rests.gaps,
        description=None if bound.description is None else digest_text(digest_of(bound.description)),
        trust=list(looked.agents),
    )


def _report_reason(reason: Reason) -> ReasonReport:
    places = [_place(spot) for spot in reason.spots]
    return ReasonReport(reason.code.value, reason.level.value, reason.sentence, reason.remedy, places)


def _place(spot: ChangeSpot) -> PlaceReport:
    if spot.lines is None:
        return PlaceReport(spot.path, None, None)
    return PlaceReport(spot.path, spot.lines.first, spot.lines.last)
