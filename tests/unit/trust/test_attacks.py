"""Attempts to merge without review beyond what the record allows: none gains anything.

Tampering with the log is in tests/unit/trust/app/test_verify.py and test_approve.py; so are processes that ask at
once, in the latter.
"""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from custody.core.ids import AgentName
from custody.trust.approval import ApprovalCase, BudgetUse, ProposedChange, budget_since_ns, decide_approval
from custody.trust.engine import compute_trust, replay_decisions
from custody.trust.model import (
    ChangeAuthor,
    ChangeComplexity,
    ChangeStakes,
    CurrentModel,
    DecisionEntry,
    DecisionType,
    Entry,
    Trust,
    TrustTier,
)
from custody.trust.rules import TrustRules
from custody.trust.score import read_tier_lines_max
from tests.unit.trust.builders import DAY, NOON, ROBOT, a_decision, a_landing, a_recovery

ACCEPTED, MODIFIED, REJECTED = DecisionType
RULES = TrustRules(audit_share=0.0)
TINY = ChangeStakes(ChangeComplexity.TRIVIAL, 1)
LARGE = ChangeStakes(ChangeComplexity.CRITICAL, 500)
GOOD = [a_decision(day=day) for day in range(12)]
HOUR = DAY // 24


def trust(*entries: Entry, day: float = 12, agent: str = ROBOT, running: CurrentModel | None = None) -> Trust:
    now_ns = NOON + round(day * DAY)
    state = replay_decisions(AgentName(agent), entries, RULES, now_ns=now_ns, running=running).state
    return compute_trust(state, now_ns, RULES)


NOTHING = BudgetUse()


def a_case(
    known: Trust, lines: int = 10, *, spent: BudgetUse = NOTHING, day: float = 12, approver: str | None = None
) -> ApprovalCase:
    now_ns = NOON + round(day * DAY)
    change = ProposedChange(head="a" * 40, lines=lines, areas=("src",), newest_ns=NOON)
    return ApprovalCase(
        change=change, author=ChangeAuthor("robot"), trust=known, now_ns=now_ns, spent=spent, approver=approver
    )


def test_an_agent_with_this_good_record_may_merge_something() -> None:
    assert decide_approval(a_case(trust(*GOOD), 200), RULES)


class TestValueImbalance:
    """Many tiny accepts, then one large change."""

    def test_tiny_accepts_do_not_open_the_way_for_a_change_beyond_the_tier(self) -> None:
        known = trust(*(a_decision(stakes=TINY, day=n / 100) for n in range(1000)))
        assert known.tier is TrustTier.VERIFIED
        assert not decide_approval(a_case(known, 501), RULES)

    def test_one_large_rejection_outweighs_a_thousand_tiny_accepts(self) -> None:
        tiny = [a_decision(stakes=TINY, day=n / 100) for n in range(1000)]
        known = trust(*tiny, a_decision(REJECTED, day=11, stakes=LARGE))
        assert not decide_approval(a_case(known, 0), RULES)

    def test_what_merged_unseen_and_was_reverted_costs_everything_at_once(self) -> None:
        landed = a_landing(day=12, stakes=LARGE)
        known = trust(*GOOD, landed, a_decision(REJECTED, day=12.5, stakes=LARGE, reverts=landed.id), day=13)
        assert known.tier is TrustTier.UNTRUSTED

    @given(st.integers(1, 60), st.integers(0, 60))
    def test_merging_unseen_lifts_nothing_before_it_settled(self, count: int, more: int) -> None:
        landings = [a_landing(day=12 + n / 100) for n in range(count)]
        known = trust(*GOOD, *landings, day=13 + more / 60)
        assert known == trust(*GOOD, day=13 + more / 60)


class TestOnOff:
    """Good until trusted, bad until nearly distrusted, and again."""

    @pytest.mark.parametrize("good", [2, 5, 8])
    def test_every_bad_turn_costs_more_than_the_good_ones_gave(self, good: int) -> None:
        major = ChangeStakes(ChangeComplexity.MAJOR, 200)
        turns = [*[ACCEPTED] * good, REJECTED] * 10
        entries = [a_decision(kind, stakes=major, day=n / 10) for n, kind in enumerate(turns)]
        assert not decide_approval(a_case(trust(*entries), 1), RULES), "right after a bad turn nothing lands"

    def test_good_again_after_bad_starts_lower_than_good_all_along(self) -> None:
        bad = a_decision(REJECTED, stakes=LARGE, day=5.5)
        assert trust(*GOOD, bad).score < trust(*GOOD).score


class TestWhitewashing:
    """A new name, or a long wait, in place of a bad record."""

    def test_a_new_id_starts_without_the_right_to_merge_anything(self) -> None:
        assert decide_approval(a_case(trust(agent="robot-2"), 0), RULES).codes == ("TRUST-SAMPLES",)

    def test_a_new_model_keeps_what_is_held_against_the_old_one(self) -> None:
        bad = [a_decision(REJECTED, stakes=LARGE, model="m-1", day=day) for day in range(12)]
        assert trust(*bad, running=CurrentModel("m-2")).score == trust(*bad).score
        assert not decide_approval(a_case(trust(*bad, running=CurrentModel("m-2")), 0), RULES)

    @pytest.mark.parametrize("days", [30, 90, 365, 10_000])
    def test_waiting_does_not_raise_a_tier(self, days: int) -> None:
        bad = [a_decision(REJECTED, stakes=LARGE, day=day) for day in range(12)]
        assert not decide_approval(a_case(trust(*bad, day=12 + days), 0, day=12 + days), RULES)

    # Conformance: 001-042
    def test_a_long_wait_and_one_small_accept_do_not_raise_a_tier(self) -> None:
        bad = [a_decision(REJECTED, stakes=LARGE, day=day) for day in range(12)]
        known = trust(*bad, a_decision(stakes=TINY, day=400), day=400)
        assert known.tier is TrustTier.MEDIUM, "the score itself has faded to neutral"
        assert decide_approval(a_case(known, 0, day=400), RULES).codes == ("TRUST-IDLE",)

    def test_a_long_wait_and_a_recovery_do_not_raise_a_tier(self) -> None:
        bad = [a_decision(REJECTED, stakes=LARGE, day=day) for day in range(12)]
        known = trust(*bad, a_recovery(day=400), day=400)
        assert not decide_approval(a_case(known, 0, day=400), RULES)


class TestSlicing:
    """One large change as many small ones."""

    # Conformance: 001-058
    @given(st.lists(st.integers(0, 200), max_size=40), st.integers(0, 23))
    def test_slices_together_never_exceed_the_budget_of_a_day(self, slices: list[int], hours: int) -> None:
        known = trust(*GOOD)
        landed: list[DecisionEntry] = []
        for n, lines in enumerate(slices):
            day = 12 + n * hours / 24 / max(1, len(slices))
            since_ns = budget_since_ns(NOON + round(day * DAY), RULES)
            used = sum(one.stakes.lines or 0 for one in landed if one.at_ns > since_ns)
            if decide_approval(a_case(known, lines, spent=BudgetUse(used, used, {"src": used}), day=day), RULES):
                landed.append(a_landing(day=day, stakes=ChangeStakes(None, lines)))
        assert sum(one.stakes.lines or 0 for one in landed) <= read_tier_lines_max(known.tier, RULES)

    def test_another_agent_of_the_same_operator_or_in_the_same_area_shares_the_budget(self) -> None:
        known = trust(*GOOD)
        most = read_tier_lines_max(known.tier, RULES)
        for spent in (BudgetUse(operator=most), BudgetUse(areas={"src": most})):
            assert decide_approval(a_case(known, 1, spent=spent), RULES).codes == ("TRUST-BUDGET",)


class TestSelfApproval:
    @pytest.mark.parametrize("approver", ["robot", "ROBOT", " robot "])
    def test_an_author_cannot_approve_their_own_change(self, approver: str) -> None:
        assert decide_approval(a_case(trust(*GOOD), approver=approver), RULES).codes == ("TRUST-SELF",)

    def test_accepting_oneself_makes_no_record(self) -> None:
        own = [a_decision(actor="robot", day=day) for day in range(12)]
        assert (trust(*own).score, trust(*own).state.samples) == (0.5, 0)
        landed = [replace(a_landing(day=0), actor="robot") for _ in range(12)]
        assert trust(*landed, day=100).state.samples == 0


class TestRubberStamps:
    def test_a_review_in_no_time_weighs_no_more_than_one_of_unknown_length(self) -> None:
        stamped = [a_decision(stakes=ChangeStakes(ChangeComplexity.MAJOR, 400, 1), day=day) for day in range(12)]
        unknown = [a_decision(stakes=ChangeStakes(ChangeComplexity.MAJOR, 400), day=day) for day in range(12)]
        assert trust(*stamped).score == trust(*unknown).score
        assert all("rubber stamp" in step.notes[0] for step in replay_decisions(ROBOT, stamped, RULES).steps)


class TestClock:
    def test_a_clock_set_back_approves_nothing(self) -> None:
        case = a_case(trust(*GOOD), day=12)
        behind = replace(case, change=replace(case.change, newest_ns=case.now_ns + HOUR))
        assert decide_approval(behind, RULES).codes == ("TRUST-CLOCK",)

    def test_a_clock_set_back_reverts_no_fading_and_no_rejection(self) -> None:
        entries = [*GOOD, a_decision(REJECTED, day=20, stakes=LARGE)]
        assert trust(*entries, day=12).score == trust(*entries, day=20).score

    def test_what_merged_in_the_future_still_uses_up_the_budget(self) -> None:
        assert budget_since_ns(NOON, RULES) < NOON + DAY
