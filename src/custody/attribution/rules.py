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
CALL_WORDS_SHARE_MIN = 0.95
"""``carry_words_share_min`` inside one tool call, where a line that is no copy is the agent's own."""

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
    mixed_share_min: float = 0.5
    """From this share up to below 1 a line is mixed; below it, it has no evidence."""

    def __post_init__(self) -> None:
        check_one_of("attribute.profile", self.profile, PROFILES)
        object.__setattr__(self, "points", MappingProxyType(dict(self.points)))
        self._check_points()
        self._check_tiers()
        window = {"window_hours_before": self.window_hours_before, "window_hours_after": self.window_hours_after}
        check_ranges("attribute", {"near_lines_max": self.near_lines_max, **window}, least=0)
        check_range("attribute.carry_words_share_min", self.carry_words_share_min, above=0, most=CALL_WORDS_SHARE_MIN)
        check_range("attribute.mixed_share_min", self.mixed_share_min, above=0, most=1)

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
