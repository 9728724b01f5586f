"""The numbers of attribution; the defaults are those of document 000 and of docs/attribution.md."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal

from msgspec import Struct, field
from msgspec.structs import force_setattr

from custody.attribution.model import TIERS
from custody.core.rules import (
    check_rule_choice,
    check_rule_falling,
    check_rule_keys,
    check_rule_length,
    check_rule_order,
    check_rule_range,
    check_rule_ranges,
)
from custody.core.structs import hash_struct

Profile = Literal["lineage", "document"]
PROFILES: tuple[Profile, ...] = ("lineage", "document")
CALL_WORDS_SHARE_MIN = 1.0
"""``carry_words_share_min`` within one tool call: the agent wrote every line in which it added or removed a word."""

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


class AttributeRules(Struct, frozen=True, kw_only=True):
    """The points of signals, the requirements of tiers, and the limits of lineage."""

    profile: Literal["lineage", "document"] = "lineage"
    """``lineage``: captured text decides where there is any; ``document``: document 000 to the letter."""
    points: Mapping[str, int] = field(default_factory=lambda: _POINTS)
    """Points that this signal adds to a candidate's score."""
    near_lines_max: int = 5
    """Maximum distance in lines between a line and a recorded range that still counts as overlap."""
    window_hours_before: float = 24.0
    """Hours before the commit's author time at which the time window begins."""
    window_hours_after: float = 1.0
    """Hours after the commit's author time at which the time window ends."""
    tier_points_min: tuple[int, ...] = (95, 80, 60, 45, 25)
    """Minimum score of tiers 1 to 5; tier 6 is any score above 0. Tier 1 also needs commit link and content hash."""
    tier_confidence: tuple[float, ...] = (1.0, 0.999, 0.95, 0.85, 0.7, 0.4)
    """Confidence of tiers 1 to 6."""
    carry_words_share_min: float = 0.7
    """Minimum share of a line's words that come from an older line for the line to take its origin."""

    def __post_init__(self) -> None:
        check_rule_choice("attribute.profile", self.profile, PROFILES)
        force_setattr(self, "points", MappingProxyType(dict(self.points)))
        self._check_points()
        self._check_tiers()
        window = {"window_hours_before": self.window_hours_before, "window_hours_after": self.window_hours_after}
        check_rule_ranges("attribute", {"near_lines_max": self.near_lines_max, **window}, least=0)
        check_rule_range(
            "attribute.carry_words_share_min", self.carry_words_share_min, above=0, most=CALL_WORDS_SHARE_MIN
        )

    def _check_points(self) -> None:
        check_rule_keys("attribute.points", self.points, _POINTS)
        check_rule_ranges("attribute.points", self.points, least=0)
        # A near match must not be worth more than the exact match.
        for weaker, stronger in (("range_overlap", "range_match"), ("revision_ancestor", "revision_parent")):
            check_rule_order(*((f"attribute.points.{name}", self.points[name]) for name in (weaker, stronger)))

    def _check_tiers(self) -> None:
        check_rule_length("attribute.tier_points_min", self.tier_points_min, TIERS[:-1])
        for points in self.tier_points_min:
            check_rule_range("attribute.tier_points_min", points, above=0)
        check_rule_falling("attribute.tier_points_min", self.tier_points_min)
        check_rule_length("attribute.tier_confidence", self.tier_confidence, TIERS)
        for confidence in self.tier_confidence:
            check_rule_range("attribute.tier_confidence", confidence, above=0, most=1)
        check_rule_falling("attribute.tier_confidence", self.tier_confidence)

    def __hash__(self) -> int:
        return hash_struct(self, but=("points",))
