"""Every number of attribution; the defaults are those of document 000 and of its page."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal

from custody.attribution.model import TIERS
from custody.core.rules import (
    check_falling,
    check_keys,
    check_length,
    check_one_of,
    check_order,
    check_range,
    check_ranges,
)

Profile = Literal["lineage", "document"]
PROFILES: tuple[Profile, ...] = ("lineage", "document")
REVISION_DIGITS_MIN = 7
"""What document 000 calls the shortest revision that can be compared; a rule may ask for more, never for less."""
REVISION_DIGITS_MAX = 64

_POINTS = MappingProxyType(
    {
        "commit_link": 40,
        "content_hash": 30,
        "revision_parent": 15,
        "revision_ancestor": 8,
        "range_match": 10,
        "range_overlap": 5,
        "timestamp_match": 5,
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class AttributeRules:
    """How much each signal weighs, what a tier needs, and how far lineage is followed."""

    profile: Literal["lineage", "document"] = "lineage"
    """``lineage``: where content is known, content decides; ``document``: document 000 to the letter."""
    points: Mapping[str, int] = field(hash=False, default_factory=lambda: _POINTS)
    """What this signal adds to a candidate's score."""
    near_lines_max: int = 5
    """How far a line may lie outside a recorded range and still overlap it."""
    revision_digits_min: int = REVISION_DIGITS_MIN
    """How many digits of two revisions must agree."""
    candidates_min: int = 5
    """While there are fewer candidates than this, the time window proposes more."""
    window_hours_before: float = 24.0
    """How long before the commit's author time the time window begins."""
    window_hours_after: float = 1.0
    """How long after the commit's author time the time window ends."""
    tier_points_min: tuple[int, ...] = (95, 80, 60, 45, 25)
    """The least score of tiers 1 to 5; tier 6 is any score above 0. Tier 1 needs commit link and content hash too."""
    tier_confidence: tuple[float, ...] = (1.0, 0.999, 0.95, 0.85, 0.7, 0.4)
    """The confidence that tiers 1 to 6 stand for."""
    carry_words_share_min: float = 0.7
    """The least share of a line's words that it must have from an older line to take that line's origin."""
    call_words_share_min: float = 0.95
    """The same inside one tool call, where what is new is the agent's."""
    moved_signs_min: int = 24
    """How many signs other than white space a block must have to be recognised at another place."""
    mixed_share_min: float = 0.5
    """From this share up to below 1 a line is mixed; below it, it has no evidence."""
    horizon_days_before: float = 2.0
    """Commits older than the earliest recorded edit by more than this are not looked up."""
    candidate_edits_max: int = 8
    """How many recorded edits are aligned with one hunk, the best first."""
    hunk_lines_max: int = 5_000
    """A longer hunk is compared exactly and without white space only, and the answer says so."""
    recursions_max: int = 64
    """How many earlier commits a moved line is followed through, and the answer says so where it stops."""

    def __post_init__(self) -> None:
        check_one_of("attribute.profile", self.profile, PROFILES)
        object.__setattr__(self, "points", MappingProxyType(dict(self.points)))
        self._check_points()
        self._check_tiers()
        check_ranges(
            "attribute", {"near_lines_max": self.near_lines_max, "candidates_min": self.candidates_min}, least=0
        )
        check_range(
            "attribute.revision_digits_min",
            self.revision_digits_min,
            least=REVISION_DIGITS_MIN,
            most=REVISION_DIGITS_MAX,
        )
        hours = {"window_hours_before": self.window_hours_before, "window_hours_after": self.window_hours_after}
        check_ranges("attribute", {**hours, "horizon_days_before": self.horizon_days_before}, least=0)
        self._check_lineage()

    def _check_points(self) -> None:
        check_keys("attribute.points", self.points, _POINTS)
        check_ranges("attribute.points", self.points, least=0)
        # A near miss must not be worth more than the hit that it stands in for.
        for weaker, stronger in (("range_overlap", "range_match"), ("revision_ancestor", "revision_parent")):
            check_order(*((f"attribute.points.{name}", self.points[name]) for name in (weaker, stronger)))

    def _check_tiers(self) -> None:
        check_length("attribute.tier_points_min", self.tier_points_min, TIERS[:-1])
        for points in self.tier_points_min:
            check_range("attribute.tier_points_min", points, above=0)
        check_falling("attribute.tier_points_min", self.tier_points_min)
        check_length("attribute.tier_confidence", self.tier_confidence, TIERS)
        for confidence in self.tier_confidence:
            check_range("attribute.tier_confidence", confidence, above=0, most=1)
        check_falling("attribute.tier_confidence", self.tier_confidence)

    def _check_lineage(self) -> None:
        carry = ("attribute.carry_words_share_min", self.carry_words_share_min)
        call = ("attribute.call_words_share_min", self.call_words_share_min)
        for rule, share in (carry, call, ("attribute.mixed_share_min", self.mixed_share_min)):
            check_range(rule, share, above=0, most=1)
        # Inside one call a line that is no copy is the agent's own, so a copy needs more there than elsewhere.
        check_order(carry, call)
        limits = {
            "moved_signs_min": self.moved_signs_min,
            "candidate_edits_max": self.candidate_edits_max,
            "hunk_lines_max": self.hunk_lines_max,
            "recursions_max": self.recursions_max,
        }
        check_ranges("attribute", limits, least=1)
