"""The numbers of attribution are those of document 000 and docs/attribution.md, and impossible ones are rejected."""

from typing import Any

import pytest

from custody.attribution import TIERS
from custody.attribution.app.history import DONORS_MAX, FOLLOWED_FILES_MAX, HORIZON_DAYS, HUNK_LINES_MAX
from custody.attribution.app.proposals import CANDIDATES_MIN
from custody.attribution.carry import MOVED_CHARACTERS_MIN
from custody.attribution.origin_search import TRAIL_COMMITS_MAX
from custody.attribution.rules import CALL_WORDS_SHARE_MIN, AttributeRules
from custody.attribution.signals import REVISION_DIGITS_MIN
from custody.core.errors import RulesError
from tests.builders.rules import taken_though_impossible
from tests.builders.table import table

RULES = AttributeRules()


# Conformance: 000-036, 000-037, 000-038, 000-041, 000-042, 000-043
def test_the_points_are_those_of_section_5() -> None:
    assert dict(RULES.points) == {
        "commit_link": 40,
        "content_hash": 30,
        "revision_parent": 15,
        "revision_ancestor": 8,
        "range_match": 10,
        "range_overlap": 5,
        "timestamp_match": 5,
    }


# Conformance: 000-065, 000-066, 000-067, 000-068, 000-069, 000-070
def test_the_tiers_are_those_of_section_7() -> None:
    assert RULES.tier_points_min == (95, 80, 60, 45, 25)
    assert dict(zip(TIERS, RULES.tier_confidence, strict=True)) == {
        "1": 1.0,
        "2": 0.999,
        "3": 0.95,
        "4": 0.85,
        "5": 0.70,
        "6": 0.40,
    }


# Conformance: 000-028, 000-081
def test_the_other_numbers_of_the_document_and_its_page() -> None:
    assert (RULES.near_lines_max, REVISION_DIGITS_MIN, CANDIDATES_MIN) == (5, 7, 5)
    assert (RULES.window_hours_before, RULES.window_hours_after) == (24, 1)
    assert (RULES.carry_words_share_min, CALL_WORDS_SHARE_MIN) == (0.7, 1.0)
    assert (HORIZON_DAYS, DONORS_MAX, MOVED_CHARACTERS_MIN) == (2, 8, 24)
    assert (HUNK_LINES_MAX, FOLLOWED_FILES_MAX, TRAIL_COMMITS_MAX) == (5_000, 64, 64)
    assert RULES.profile == "lineage"


def test_no_number_may_be_negative_infinite_or_nan() -> None:
    assert taken_though_impossible(AttributeRules) == []


@table(
    ("arguments", "problem"),
    [
        ({"profile": "other"}, "'attribute.profile' is 'other', not one of lineage, document"),
        ({"tier_points_min": (95, 80, 60, 45)}, "'attribute.tier_points_min' has 4 entries, not 5"),
        ({"tier_points_min": (95, 80, 85, 45, 25)}, "rises from 80 .entry 2. to 85 .entry 3."),
        ({"tier_points_min": (95, 80, 60, 45, 0)}, "'attribute.tier_points_min' is 0, not above 0"),
        ({"tier_confidence": (1.0,) * 5}, "'attribute.tier_confidence' has 5 entries, not 6"),
        ({"tier_confidence": (0.5, 0.6, 0.5, 0.4, 0.3, 0.2)}, "rises from 0.5 .entry 1. to 0.6 .entry 2."),
        ({"carry_words_share_min": 1.01}, "'attribute.carry_words_share_min' is 1.01, above 1"),
        ({"points": {**RULES.points, "range_overlap": 11}}, "is 11, above 'attribute.points.range_match', which is 10"),
        ({"points": {**RULES.points, "revision_ancestor": 16}}, "above 'attribute.points.revision_parent'"),
        ({"points": {"commit_link": 40}}, "'attribute.points' has no 'content_hash'"),
        ({"points": {**RULES.points, "luck": 7}}, "'attribute.points' has 'luck'"),
    ],
)
def test_contradictory_numbers_are_rejected(arguments: dict[str, Any], problem: str) -> None:
    with pytest.raises(RulesError, match=problem):
        AttributeRules(**arguments)


def test_rules_are_immutable() -> None:
    points = dict(RULES.points)
    rules = AttributeRules(points=points)
    points["commit_link"] = 0
    assert rules == RULES
    assert hash(rules) == hash(RULES)
    with pytest.raises(TypeError):
        rules.points["commit_link"] = 0  # type: ignore[index]
    with pytest.raises(AttributeError):
        rules.near_lines_max = 6  # type: ignore[misc]
