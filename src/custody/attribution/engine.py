"""Which trace wrote a segment of lines: document 000's algorithm at one height."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from custody.attribution.model import (
    AttributionFinding,
    Grade,
    NoAttribution,
    Segment,
    TraceAttribution,
    TraceCandidate,
)
from custody.attribution.rules import AttributeRules
from custody.attribution.signals import look
from custody.core.evidence import Evidence
from custody.core.ids import Digest
from custody.core.paths import Lines

# What is enough to attribute, and how sure it is then (document 000, sections 6 and 7).
# This file is the only one that turns evidence into a tier.


STRUCTURAL = (
    "commit_link",
    "content_hash",
    "revision_parent",
    "revision_ancestor",
    "range_match",
    "range_overlap",
)
"""Signals about the change itself; a time alone would take every line written that day."""

COMBINATIONS = (
    ("range_match",),
    ("range_overlap",),
    ("commit_link", "content_hash"),
    ("commit_link", "revision_parent"),
)
"""One of these must have been seen whole."""


def is_enough(evidence: Evidence) -> bool:
    """Whether a trace may be attributed at all: something structural, and one whole combination."""
    return any(evidence.has(name) for name in STRUCTURAL) and any(evidence.has(*names) for names in COMBINATIONS)


def tier_of(evidence: Evidence, rules: AttributeRules, *, vouched: bool = True) -> int | None:
    """The tier from 1 to 6 of evidence that is enough, or None when its points do not count at all.

    Tier 1 also needs commit link and content hash, and that somebody vouches for what the trace says.
    """
    score = evidence.score
    if score <= 0:
        return None
    reached = [tier for tier, least in enumerate(rules.tier_points_min, start=1) if score >= least]
    tier = min(reached, default=len(rules.tier_confidence))
    certain = vouched and evidence.has("commit_link", "content_hash")
    return tier if certain else max(tier, 2)


def is_vouched(candidate: TraceCandidate, rules: AttributeRules) -> bool:
    """Whether tier 1 is open to ``candidate``: always in profile ``document``, which knows no grades.

    In profile ``lineage`` its records must be more than a claim, and their chain intact.
    """
    if rules.profile == "document":
        return True
    return candidate.intact and candidate.grade.standing >= Grade.RECORDED.standing


def confidence_of(tier: int, rules: AttributeRules) -> float:
    """The number that stands for ``tier``."""
    return rules.tier_confidence[tier - 1]


# Which of several traces with enough evidence is the answer. This file is the only one that decides ties.


_NS_PER_SECOND = 1_000_000_000


@dataclass(frozen=True, slots=True)
class RankedCandidate:
    """A candidate with what was seen in it and the tier that it reaches."""

    candidate: TraceCandidate
    evidence: Evidence
    tier: int


RankKey = tuple[int, float, int, tuple[bool, int], tuple[str, ...]]


def rank_candidate(segment: Segment, weighed: RankedCandidate) -> RankKey:
    """The smaller, the better: tier, score, text support, the latest not after the commit, the smaller id.

    Under the document's points a better tier is a better score. Where they differ, the tier leads: a mere claim must
    not displace what is certain by claiming more, and so the answer's tier is always the best that any trace reaches.
    """
    candidate = weighed.candidate
    return (
        weighed.tier,
        -weighed.evidence.score,
        -candidate.supports,
        _lateness(segment, candidate),
        _name(candidate),
    )


def best_of(segment: Segment, weighed: list[RankedCandidate]) -> RankedCandidate:
    """The one that stands best; the order of ``weighed`` never matters."""
    first = min(rank_candidate(segment, candidate) for candidate in weighed)
    # Two observations under one name differ only in what they say of the file; their own text decides.
    return min(
        (candidate for candidate in weighed if rank_candidate(segment, candidate) == first),
        key=lambda ranked_candidate: repr(ranked_candidate.candidate),
    )


def _lateness(segment: Segment, candidate: TraceCandidate) -> tuple[bool, int]:
    if candidate.at_ns is None or _is_after(candidate.at_ns, segment.at_ns):
        return True, 0
    return False, -candidate.at_ns


def _is_after(at_ns: int, commit_ns: int | None) -> bool:
    # git keeps whole seconds: a call in the commit's own second came before it.
    return commit_ns is not None and at_ns // _NS_PER_SECOND > commit_ns // _NS_PER_SECOND


def _name(candidate: TraceCandidate) -> tuple[str, ...]:
    trace = candidate.trace
    return (trace.id, trace.agent, trace.session, candidate.call or "")


NONE_TOUCHED = "no recorded trace touched this file"
NOT_ENOUGH = "no trace that touched this file has enough evidence"


def attribute(
    segment: Segment, candidates: Sequence[TraceCandidate], rules: AttributeRules, *, rules_digest: Digest
) -> AttributionFinding:
    """Say which trace wrote ``segment``, or why none can be shown to have.

    ``rules_digest`` is the name under which the evidence keeps ``rules``.
    """
    touching = [candidate for candidate in candidates if candidate.path == segment.path]
    if not touching:
        return NoAttribution(segment, NONE_TOUCHED)
    weighed = list(_weighed(segment, touching, rules, rules_digest))
    if not weighed:
        return NoAttribution(segment, NOT_ENOUGH)
    best = best_of(segment, weighed)
    return TraceAttribution(segment, best.candidate, best.tier, confidence_of(best.tier, rules), best.evidence)


def _weighed(
    segment: Segment, candidates: Sequence[TraceCandidate], rules: AttributeRules, digest: Digest
) -> Iterator[RankedCandidate]:
    """The candidates that pass the evidence gate, with what they reach."""
    for candidate in candidates:
        evidence = look(segment, candidate, rules, rules_digest=digest)
        tier = tier_of(evidence, rules, vouched=is_vouched(candidate, rules)) if is_enough(evidence) else None
        if tier is not None:
            yield RankedCandidate(candidate, evidence, tier)


# Neighbouring findings as one answer (document 000, section 11).


@dataclass(frozen=True, slots=True)
class AttributionRun:
    """Neighbouring segments that say the same; each keeps its own finding, so that no evidence is lost."""

    lines: Lines
    findings: tuple[AttributionFinding, ...]


def merge_findings(findings: Sequence[AttributionFinding]) -> list[AttributionRun]:
    """Findings of one file in the order of its lines, those with the same trace and tier side by side as one."""
    made: list[AttributionRun] = []
    for finding in findings:
        if made and _belongs(made[-1].findings[-1], finding):
            lines = Lines(made[-1].lines.first, finding.segment.lines.last)
            made[-1] = AttributionRun(lines, (*made[-1].findings, finding))
        else:
            made.append(AttributionRun(finding.segment.lines, (finding,)))
    return made


def _belongs(before: AttributionFinding, after: AttributionFinding) -> bool:
    neighbours = before.segment.lines.last + 1 == after.segment.lines.first
    return neighbours and before.segment.path == after.segment.path and _says(before) == _says(after)


def _says(finding: AttributionFinding) -> tuple[object, ...]:
    if isinstance(finding, TraceAttribution):
        return (finding.candidate.trace, finding.tier)
    return (finding.reason,)
