"""The numbers of trust are document 001's and its page's, and they keep their relations."""

from typing import Any

import pytest

from custody.core.errors import RulesError
from custody.core.views import DecisionKind
from custody.trust.model import ChangeComplexity, DecisionType, TrustTier
from custody.trust.rules import TIERS, TrustRules
from tests.builders.rules import taken_though_impossible

RULES = TrustRules()


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


def test_the_tiers_of_rules_and_answers_are_the_same() -> None:
    assert [tier.value for tier in TrustTier] == list(TIERS)


def test_the_score_is_made_of_the_documents_numbers() -> None:
    assert dict(RULES.decision_values) == {"accepted": 1.0, "modified": 0.5, "rejected": 0.0}
    assert set(RULES.decision_values) == {kind.value for kind in DecisionType}
    assert {kind.value for kind in DecisionKind} == {*RULES.decision_values, "recovered"}
    assert dict(RULES.complexity_weights) == {complexity.word: complexity.value for complexity in ChangeComplexity}
    assert dict(RULES.complexity_weights) == {"trivial": 1, "minor": 2, "moderate": 3, "major": 5, "critical": 8}
    assert (RULES.start_score, RULES.neutral_score, RULES.ema_alpha) == (0.5, 0.5, 0.3)
    assert (RULES.decay_half_life_days, RULES.recovery_rate, RULES.recovery_days_min) == (30, 0.05, 7)
    assert (RULES.meaningful_samples_min, RULES.confident_samples_min) == (10, 100)


def test_stakes_approval_and_chance_have_the_numbers_of_the_page() -> None:
    assert RULES.complexity_lines_min == (0, 10, 50, 200, 500)
    assert (RULES.profile, RULES.rise_step_max) == ("cautious", 0.3)
    assert (RULES.size_lines, RULES.size_factor_min, RULES.size_factor_max) == (50, 0.5, 2)
    assert (RULES.review_bonus_max, RULES.review_half_life_ms, RULES.review_lines_per_minute_max) == (0.1, 60_000, 600)
    assert (RULES.approve_lines_max, RULES.approve_samples_min) == (500, 10)
    assert (RULES.budget_hours, RULES.budget_tier_limits_max) == (24, 1)
    assert (RULES.audit_share, RULES.settle_days_min) == (0.05, 14)
    assert (RULES.inherit_share, RULES.approve_clock_minutes_max, RULES.areas) == (0.5, 5, ())
    assert dict(RULES.prior_samples) == {"repository": 20, "area": 5, "agent": 4}
    assert (RULES.level_half_life_days, RULES.agent_half_life_days) == (90, 30)
    assert (RULES.chance_min, RULES.chance_max, RULES.reverted_share_max) == (0.01, 0.99, 0.01)


def test_chance_and_risk_control_begin_with_numbers_chosen_on_the_first_half_of_a_stream() -> None:
    assert dict(RULES.start_weights) == {
        "everyone": 1,
        "repository": 0.5,
        "area": 0.5,
        "agent": 0.5,
        "operator": 0.5,
        "rating": 0.5,
        "score": 0,
    }
    assert (RULES.rating_variance, RULES.rating_growth_per_day, RULES.weight_variance) == (0.25, 0.03, 0.05)
    assert (RULES.everyone_prior_samples, RULES.chance_deviations, RULES.weight_max) == (2, 1.645, 1.5)
    assert (RULES.risk_confidence, RULES.risk_headroom_share, RULES.risk_close_share) == (0.95, 0.1, 0.5)
    assert len(RULES.risk_thresholds) == 14
    assert (RULES.simulate_history_days, RULES.fix_days_max) == (365, 7)


def test_no_number_may_be_negative_infinite_or_nan() -> None:
    assert taken_though_impossible(TrustRules) == []


@pytest.mark.parametrize(
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
        ({"meaningful_samples_min": 101}, "is 101, above 'trust.confident_samples_min', which is 100"),
        ({"size_factor_min": 3.0}, "is 3.0, above 'trust.size_factor_max', which is 2.0"),
        ({"chance_min": 0.99, "chance_max": 0.5}, "is 0.99, above 'trust.chance_max', which is 0.5"),
        ({"chance_max": 1.0}, "'trust.chance_max' is 1.0, not below 1"),
        ({"ema_alpha": 0.0}, "'trust.ema_alpha' is 0.0, not above 0"),
        ({"decision_values": {"accepted": 0.4, "modified": 0.5, "rejected": 0.0}}, "decision_values.modified' is 0.5"),
        (
            {"complexity_weights": {**RULES.complexity_weights, "trivial": 9.0}},
            "above 'trust.complexity_weights.minor'",
        ),
        ({"prior_samples": {"repository": 20.0}}, "'trust.prior_samples' has no 'agent'"),
        ({"start_weights": {"everyone": 1.0}}, "'trust.start_weights' has no 'agent'"),
        ({"start_weights": {**RULES.start_weights, "score": -1.0}}, "'trust.start_weights.score' is -1.0, below 0"),
        ({"weight_max": 0.9}, "'trust.start_weights.everyone' is 1.0, above 0.9"),
        ({"risk_thresholds": ()}, "'trust.risk_thresholds' is empty"),
        ({"risk_thresholds": (0.9, 0.5)}, "falls from 0.9 .entry 1. to 0.5 .entry 2."),
        ({"risk_thresholds": (0.5, 1.5)}, "'trust.risk_thresholds' is 1.5, above 1"),
        ({"risk_confidence": 1.0}, "'trust.risk_confidence' is 1.0, not below 1"),
        ({"rating_variance": 0.0}, "'trust.rating_variance' is 0.0, not above 0"),
    ],
)
def test_numbers_that_do_not_fit_together_are_refused(arguments: dict[str, Any], problem: str) -> None:
    with pytest.raises(RulesError, match=problem):
        TrustRules(**arguments)


def test_equal_bounds_leave_a_tier_empty_and_are_allowed() -> None:
    assert TrustRules(tier_score_min=(0.0, 0.2, 0.5, 0.8, 0.8)).tier_score_min[3] == 0.8
