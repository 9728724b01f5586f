"""Choose the trace that wrote a segment of lines (document 000)."""

from collections.abc import Iterator, Sequence

from msgspec import Struct

from custody.attribution.model import (
    AttributionFinding,
    Grade,
    NoAttribution,
    Segment,
    TraceAttribution,
    TraceCandidate,
)
from custody.attribution.rules import AttributeRules
from custody.attribution.signals import collect_trace_evidence
from custody.core.evidence import Evidence
from custody.core.ids import Digest
from custody.core.paths import Lines

# The evidence gate and the tiers (document 000, sections 6 and 7). Only this module turns evidence into a tier.


STRUCTURAL = (
    "commit_link",
    "content_hash",
    "revision_parent",
    "revision_ancestor",
    "range_match",
    "range_overlap",
)
"""Signals about the change itself; a time alone would match every line written that day."""

COMBINATIONS = (
    ("range_match",),
    ("range_overlap",),
    ("commit_link", "content_hash"),
    ("commit_link", "revision_parent"),
)
"""Sets of signals; all signals of at least one set are required."""


def can_attribute_trace(evidence: Evidence) -> bool:
    """Return whether the evidence passes the gate: a structural signal and one whole combination."""
    return any(evidence.has(name) for name in STRUCTURAL) and any(evidence.has(*names) for names in COMBINATIONS)


def compute_attribution_tier(evidence: Evidence, rules: AttributeRules, *, vouched: bool = True) -> int | None:
    """Return the tier from 1 to 6 of evidence that passed the gate, or None for a score of 0.

    Tier 1 also needs commit link, content hash and a ``vouched`` trace.
    """
    score = evidence.score
    if score <= 0:
        return None
    reached = [tier for tier, least in enumerate(rules.tier_points_min, start=1) if score >= least]
    tier = min(reached, default=len(rules.tier_confidence))
    certain = vouched and evidence.has("commit_link", "content_hash")
    return tier if certain else max(tier, 2)


def is_vouched(candidate: TraceCandidate, rules: AttributeRules) -> bool:
    """Return whether ``candidate`` may reach tier 1: always in profile ``document``, which has no grades.

    In profile ``lineage`` its records must be more than a claim, and their chain intact.
    """
    if rules.profile == "document":
        return True
    return candidate.intact and candidate.grade.standing >= Grade.RECORDED.standing


def confidence_from_tier(tier: int, rules: AttributeRules) -> float:
    """Return the confidence of ``tier``."""
    return rules.tier_confidence[tier - 1]


# The choice among several traces with enough evidence. Only this module decides ties.


_NS_PER_SECOND = 1_000_000_000


class RankedCandidate(Struct, frozen=True):
    """A candidate with its evidence and tier."""

    candidate: TraceCandidate
    evidence: Evidence
    tier: int


RankKey = tuple[int, float, int, tuple[bool, int], tuple[str, ...]]


def rank_candidate(segment: Segment, ranked: RankedCandidate) -> RankKey:
    """Return a sort key, best first: tier, score, text support, latest time not after the commit, smaller id.

    Under the document's points a better tier has a better score. Where they differ, the tier leads: a claim must not
    displace a certain answer by claiming more. So the answer always has the best tier of any trace.
    """
    candidate = ranked.candidate
    return (
        ranked.tier,
        -ranked.evidence.score,
        -candidate.supports,
        _rank_trace_lateness(segment, candidate),
        _make_trace_sort_key(candidate),
    )


def select_best_candidate(segment: Segment, candidates: list[RankedCandidate]) -> RankedCandidate:
    """Return the best candidate; the order of ``candidates`` never matters."""
    best = min(rank_candidate(segment, ranked) for ranked in candidates)
    # Two observations of one trace may tie; their representation decides, so that the choice is stable.
    return min(
        (ranked for ranked in candidates if rank_candidate(segment, ranked) == best),
        key=lambda ranked: repr(ranked.candidate),
    )


def _rank_trace_lateness(segment: Segment, candidate: TraceCandidate) -> tuple[bool, int]:
    if candidate.at_ns is None or _is_trace_after_commit(candidate.at_ns, segment.at_ns):
        return True, 0
    return False, -candidate.at_ns


def _is_trace_after_commit(at_ns: int, commit_ns: int | None) -> bool:
    # git stores whole seconds: a call in the commit's own second came before it.
    return commit_ns is not None and at_ns // _NS_PER_SECOND > commit_ns // _NS_PER_SECOND


def _make_trace_sort_key(candidate: TraceCandidate) -> tuple[str, ...]:
    trace = candidate.trace
    return (trace.id, trace.agent, trace.session, candidate.call or "")


NONE_TOUCHED = "no recorded trace touched this file"
NOT_ENOUGH = "no trace that touched this file has enough evidence"


def attribute(
    segment: Segment, candidates: Sequence[TraceCandidate], rules: AttributeRules, *, rules_digest: Digest
) -> AttributionFinding:
    """Return the trace that wrote ``segment``, or the reason why none is shown to have.

    ``rules_digest`` identifies ``rules`` in the evidence.
    """
    touching = [candidate for candidate in candidates if candidate.path == segment.path]
    if not touching:
        return NoAttribution(segment, NONE_TOUCHED)
    ranked = list(_rank_attributable_candidates(segment, touching, rules, rules_digest))
    if not ranked:
        return NoAttribution(segment, NOT_ENOUGH)
    best = select_best_candidate(segment, ranked)
    return TraceAttribution(segment, best.candidate, best.tier, confidence_from_tier(best.tier, rules), best.evidence)


def _rank_attributable_candidates(
    segment: Segment, candidates: Sequence[TraceCandidate], rules: AttributeRules, digest: Digest
) -> Iterator[RankedCandidate]:
    """Yield the candidates that pass the evidence gate, with their tiers."""
    for candidate in candidates:
        evidence = collect_trace_evidence(segment, candidate, rules, rules_digest=digest)
        tier = (
            compute_attribution_tier(evidence, rules, vouched=is_vouched(candidate, rules))
            if can_attribute_trace(evidence)
            else None
        )
        if tier is not None:
            yield RankedCandidate(candidate, evidence, tier)


# Adjacent findings as one answer (document 000, section 11).


class AttributionRun(Struct, frozen=True):
    """Adjacent segments with the same conclusion; each keeps its own finding, so that no evidence is lost."""

    lines: Lines
    findings: tuple[AttributionFinding, ...]


def merge_findings(findings: Sequence[AttributionFinding]) -> list[AttributionRun]:
    """Return the findings of one file in line order, adjacent ones with the same trace and tier merged."""
    runs: list[AttributionRun] = []
    for finding in findings:
        if runs and _can_merge_findings(runs[-1].findings[-1], finding):
            lines = Lines(runs[-1].lines.first, finding.segment.lines.last)
            runs[-1] = AttributionRun(lines, (*runs[-1].findings, finding))
        else:
            runs.append(AttributionRun(finding.segment.lines, (finding,)))
    return runs


def _can_merge_findings(before: AttributionFinding, after: AttributionFinding) -> bool:
    is_adjacent = before.segment.lines.last + 1 == after.segment.lines.first
    return (
        is_adjacent
        and before.segment.path == after.segment.path
        and _extract_finding_conclusion(before) == _extract_finding_conclusion(after)
    )


def _extract_finding_conclusion(finding: AttributionFinding) -> tuple[object, ...]:
    if isinstance(finding, TraceAttribution):
        return (finding.candidate.trace, finding.tier)
    return (finding.reason,)
