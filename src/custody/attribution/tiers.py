"""What is enough to attribute, and how sure it is then (document 000, sections 6 and 7).

This file is the only one that turns evidence into a tier.
"""

from custody.attribution.model import Grade, TraceCandidate
from custody.attribution.rules import AttributeRules
from custody.core.evidence import Evidence

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
