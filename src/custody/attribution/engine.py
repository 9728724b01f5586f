"""Which trace wrote a segment of lines: document 000's algorithm at one height."""

from collections.abc import Iterator, Sequence

from custody.attribution.model import AttributionFinding, NoAttribution, Segment, TraceAttribution, TraceCandidate
from custody.attribution.rules import AttributeRules
from custody.attribution.signals import look
from custody.attribution.tie_break import RankedCandidate, best_of
from custody.attribution.tiers import confidence_of, is_enough, is_vouched, tier_of
from custody.core.ids import Digest

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
