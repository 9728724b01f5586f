"""What a tier allows, and what requires a review."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from custody.core.errors import RulesError
from custody.trust.engine import compute_trust, make_newcomer_score_state
from custody.trust.model import Approval, ReviewReason, ReviewRequirement, TrustTier
from custody.trust.rules import TrustRules
from custody.trust.score import approve_change_lines, read_tier_lines_max, tier_from_score
from tests.unit.trust.builders import CAUTIOUS, DAY, NOON, a_standing, a_trust


# Conformance: 001-003, 001-016
def test_a_new_agent_is_medium_with_no_confidence_and_always_needs_review() -> None:
    trust = compute_trust(make_newcomer_score_state(CAUTIOUS), NOON, CAUTIOUS)
    assert (trust.score, trust.tier, trust.confidence, trust.meaningful) == (0.5, TrustTier.MEDIUM, 0.0, False)
    assert approve_change_lines(trust, 1, CAUTIOUS).reasons == ("the agent has 0 reviews, fewer than 10",)


# Conformance: 001-049
def test_each_tier_has_the_documents_limit() -> None:
    assert [read_tier_lines_max(tier, CAUTIOUS) for tier in TrustTier] == [0, 10, 50, 200, 500]


# Conformance: 001-006, 001-057
def test_an_untrusted_agent_may_not_merge_0_lines() -> None:
    assert not approve_change_lines(a_trust(TrustTier.UNTRUSTED), 0, CAUTIOUS)


# Conformance: 001-046
def test_waiting_does_not_raise_a_tier() -> None:
    waited = compute_trust(a_standing(0.1), NOON + 60 * DAY, CAUTIOUS)
    assert waited.tier is TrustTier.MEDIUM
    assert approve_change_lines(waited, 1, CAUTIOUS).reasons == ("MEDIUM only because old rejections have decayed",)


# Conformance: 001-048
def test_waiting_takes_a_tier_away() -> None:
    waited = compute_trust(a_standing(0.9), NOON + 60 * DAY, CAUTIOUS)
    assert waited.tier is TrustTier.HIGH
    assert approve_change_lines(waited, 200, CAUTIOUS) and not approve_change_lines(waited, 201, CAUTIOUS)


# Conformance: 001-062
def test_nothing_above_500_lines_merges_without_review() -> None:
    refused = approve_change_lines(a_trust(TrustTier.VERIFIED, samples=1000), 501, CAUTIOUS)
    assert refused.reasons == ("the change has 501 lines, more than the 500 of VERIFIED",)


# Conformance: 001-083
def test_equal_bounds_leave_a_tier_empty() -> None:
    rules = TrustRules(tier_score_min=(0, 0.2, 0.5, 0.8, 0.8))
    assert [tier_from_score(score, rules).name for score in (0.49, 0.5, 0.79, 0.8)] == [
        "LOW",
        "MEDIUM",
        "MEDIUM",
        "VERIFIED",
    ]


def test_bounds_out_of_order_are_refused_with_both_values() -> None:
    with pytest.raises(RulesError, match=r"falls from 0\.9 \(entry 4\) to 0\.8 \(entry 5\)"):
        TrustRules(tier_score_min=(0, 0.2, 0.4, 0.9, 0.8))


# Conformance: 001-077
def test_an_approval_is_usable_as_a_bool() -> None:
    yes, no = Approval(), Approval((ReviewReason(ReviewRequirement.SIZE, "because"),))
    assert yes and not no
    assert (yes == True, no == False, yes == no) == (True, True, False)  # noqa: E712 - what callers of the document write
    assert (f"{yes}", f"{no}", hash(yes)) == ("True", "False", hash(True))


@given(st.floats(0, 1), st.floats(0, 1))
def test_a_higher_score_is_never_in_a_lower_tier(one: float, other: float) -> None:
    low, high = sorted((one, other))
    assert tier_from_score(low, CAUTIOUS).rank <= tier_from_score(high, CAUTIOUS).rank


@given(st.floats(0, 1), st.integers(0, 30), st.floats(0, 200), st.integers(0, 600), st.integers(0, 600))
def test_a_smaller_change_is_approved_wherever_a_larger_one_is(
    score: float, samples: int, days: float, one: int, other: int
) -> None:
    small, large = sorted((one, other))
    trust = compute_trust(a_standing(score, samples=samples), NOON + round(days * DAY), CAUTIOUS)
    assert approve_change_lines(trust, small, CAUTIOUS) or not approve_change_lines(trust, large, CAUTIOUS)
