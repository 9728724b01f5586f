"""The numbers of trust are those of document 001 and its page, and keep their relations."""

from typing import Any

import pytest

from custody.core.errors import RulesError
from custody.core.views import DecisionKind
from custody.trust import acceptance, levels, risk, score
from custody.trust.app import git_history
from custody.trust.model import ChangeComplexity, DecisionType, TrustTier
from custody.trust.rules import TIERS, TrustRules
from custody.trust.score import DECISION_VALUES
from tests.builders.rules import taken_though_impossible
from tests.builders.table import table

RULES = TrustRules()


# Conformance: 001-052, 001-053, 001-054, 001-055, 001-056
def test_the_tiers_are_those_of_the_document() -> None:
    assert dict(zip(TIERS, RULES.tier_score_min, strict=True)) == {
        "untrusted": 0.0,
        "low": 0.2,
        "medium": 0.4,
        "high": 0.6,
        "verified": 0.8,
    }
    assert dict(zip(TIERS, RULES.tier_lines_max, strict=True)) == {
        "untrusted": 0,
        "low": 10,
        "medium": 50,
        "high": 200,
        "verified": 500,
    }


# Conformance: 001-005
def test_the_tiers_of_rules_and_answers_are_the_same() -> None:
    assert [tier.value for tier in TrustTier] == list(TIERS)


# Conformance: 001-019, 001-020, 001-021, 001-024, 001-028, 001-029, 001-041, 001-065, 001-073
def test_the_score_is_made_of_the_documents_numbers() -> None:
    assert {kind.value: value for kind, value in DECISION_VALUES.items()} == {
        "accepted": 1.0,
        "modified": 0.5,
        "rejected": 0.0,
    }
    assert {kind.value for kind in DecisionKind} == {*(kind.value for kind in DecisionType), "recovered"}
    assert {complexity.word: complexity.value for complexity in ChangeComplexity} == {
        "trivial": 1,
        "minor": 2,
        "moderate": 3,
        "major": 5,
        "critical": 8,
    }
    assert (RULES.start_score, score.NEUTRAL_SCORE, RULES.ema_alpha) == (0.5, 0.5, 0.3)
    assert (RULES.decay_half_life_days, RULES.recovery_rate, RULES.recovery_days_min) == (30, 0.05, 7)
    assert (score.MEANINGFUL_SAMPLES_MIN, score.CONFIDENT_SAMPLES_MIN) == (10, 100)


# Conformance: 001-031
def test_stakes_approval_and_probability_have_the_numbers_of_the_page() -> None:
    assert score.COMPLEXITY_LINES_MIN == (0, 10, 50, 200, 500)
    assert (RULES.profile, RULES.rise_step_max) == ("cautious", 0.3)
    assert (score.SIZE_LINES, score.SIZE_FACTOR_MIN, score.SIZE_FACTOR_MAX) == (50, 0.5, 2)
    assert (score.REVIEW_BONUS_MAX, score.REVIEW_HALF_LIFE_MS, RULES.review_lines_per_minute_max) == (0.1, 60_000, 600)
    assert (RULES.approve_lines_max, RULES.approve_samples_min) == (500, 10)
    assert (RULES.budget_hours, RULES.budget_tier_limits_max) == (24, 1)
    assert (RULES.audit_share, RULES.settle_days_min) == (0.05, 14)
    assert RULES.areas == ()
    assert dict(levels.PRIOR_SAMPLES) == {"repository": 20, "area": 5, "agent": 4}
    assert (levels.LEVEL_HALF_LIFE_DAYS, levels.AGENT_HALF_LIFE_DAYS) == (90, 30)
    assert (acceptance.PROBABILITY_MIN, acceptance.PROBABILITY_MAX, RULES.reverted_share_max) == (0.01, 0.99, 0.01)
    assert (git_history.HISTORY_DAYS, RULES.fix_days_max) == (365, 7)


def test_probability_and_risk_control_begin_with_numbers_chosen_on_the_first_half_of_a_stream() -> None:
    assert dict(zip(levels.LEVELS, acceptance.LEVEL_WEIGHTS, strict=True)) == {
        "everyone": 1,
        "repository": 0.5,
        "area": 0.5,
        "agent": 0.5,
        "operator": 0.5,
    }
    assert (acceptance.RATING_WEIGHT, acceptance.SCORE_WEIGHT) == (0.5, 0)
    assert (acceptance.VARIANCE_MAX, acceptance.VARIANCE_GROWTH_PER_DAY) == (0.25, 0.03)
    assert acceptance.WEIGHT_VARIANCE == 0.05
    assert (levels.EVERYONE_PRIOR_SAMPLES, acceptance.DEVIATIONS, acceptance.WEIGHT_MAX) == (2, 1.645, 1.5)
    assert (RULES.risk_confidence, risk.HEADROOM_SHARE, risk.CLOSE_SHARE) == (0.95, 0.1, 0.5)
    assert len(risk.THRESHOLDS) == 14
    assert list(risk.THRESHOLDS) == sorted(risk.THRESHOLDS)


def test_no_number_may_be_negative_infinite_or_nan() -> None:
    assert taken_though_impossible(TrustRules) == []


@table(
    ("arguments", "problem"),
    [
        ({"profile": "bold"}, "'trust.profile' is 'bold', not one of cautious, document"),
        ({"tier_score_min": (0.0, 0.2, 0.4, 0.6)}, "has 4 entries, not 5 .untrusted, low, medium, high, verified."),
        ({"tier_score_min": (0.0, 0.2, 0.9, 0.6, 0.8)}, "falls from 0.9 .entry 3. to 0.6 .entry 4."),
        ({"tier_score_min": (0.1, 0.2, 0.4, 0.6, 0.8)}, "starts at 0.1, so a score of 0 has no tier"),
        ({"tier_score_min": (0.0, 0.2, 0.4, 0.6, 1.1)}, "'trust.tier_score_min' is 1.1, above 1"),
        ({"tier_lines_max": (0, 10, 50)}, "'trust.tier_lines_max' has 3 entries, not 5"),
        ({"tier_lines_max": (0, 10, 5, 200, 500)}, "falls from 10 .entry 2. to 5 .entry 3."),
        ({"tier_lines_max": (0, 10, 50, 200, 501)}, "is 501, above 'trust.approve_lines_max', which is 500"),
        ({"ema_alpha": 0.0}, "'trust.ema_alpha' is 0.0, not above 0"),
        ({"risk_confidence": 1.0}, "'trust.risk_confidence' is 1.0, not below 1"),
    ],
)
def test_numbers_that_do_not_fit_together_are_refused(arguments: dict[str, Any], problem: str) -> None:
    with pytest.raises(RulesError, match=problem):
        TrustRules(**arguments)


def test_equal_bounds_leave_a_tier_empty_and_are_allowed() -> None:
    assert TrustRules(tier_score_min=(0.0, 0.2, 0.5, 0.8, 0.8)).tier_score_min[3] == 0.8
