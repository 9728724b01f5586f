"""Past decisions in order: overrides count in place, reverts count twice, recoveries do not count."""

from random import Random

import pytest
from hypothesis import given
from msgspec.structs import replace

from custody.trust.engine import replay_decisions
from custody.trust.levels import LevelCase
from custody.trust.model import DecisionType, Entry
from custody.trust.past_decisions import HERE, PastDecision, past_decisions_from_account, replay_past_decisions
from tests.unit.trust.builders import (
    CAUTIOUS,
    DAY,
    NOON,
    ROBOT,
    a_decision,
    a_landing,
    a_recovery,
    an_override,
    histories,
)

ACCEPTED, MODIFIED, REJECTED = DecisionType


def pasts(*entries: Entry, until: float = 1000) -> list[PastDecision]:
    account = replay_decisions(ROBOT, entries, CAUTIOUS, now_ns=NOON + round(until * DAY))
    return list(past_decisions_from_account(ROBOT, account))


def decided(*entries: Entry) -> list[tuple[DecisionType, float]]:
    """Return the decisions that count, with their times in days."""
    return [
        (past.entry.decision, (past.entry.at_ns - NOON) / DAY)
        for past in pasts(*entries)
        if hasattr(past.entry, "decision")
    ]


def chance(*entries: Entry, day: float = 50) -> float:
    at_ns = NOON + round(day * DAY)
    return (
        replay_past_decisions(pasts(*entries), CAUTIOUS, at_ns)
        .model.predict(LevelCase(ROBOT, HERE, opened_ns=at_ns))
        .probability
    )


def test_an_override_counts_in_the_place_of_what_it_overrides() -> None:
    wrong = a_decision(ACCEPTED)
    assert decided(wrong, an_override(wrong, REJECTED, day=3)) == [(REJECTED, 0)]


def test_what_was_recorded_twice_or_by_the_agent_itself_counts_not_at_all() -> None:
    once = a_decision(id="same")
    assert decided(once, once, a_decision(actor=ROBOT)) == [(ACCEPTED, 0)]


def test_an_unreviewed_merge_counts_when_it_settles() -> None:
    assert decided(a_landing()) == [(ACCEPTED, CAUTIOUS.settle_days_min)]
    landed = a_landing()
    taken_back = a_decision(REJECTED, day=2, reverts=landed.id)
    assert decided(landed, taken_back) == [(REJECTED, 2)]


def test_a_recovery_is_past_without_a_change() -> None:
    decision, recovery = pasts(a_decision(), a_recovery(day=1))
    assert decision.is_change and decision.case is not None
    assert not recovery.is_change and recovery.case is None


def test_a_revert_lowers_the_probability_and_a_recovery_does_not_lift_it() -> None:
    landed = [a_decision(day=n) for n in range(12)]
    back = a_decision(REJECTED, day=13, reverts=landed[0].id)
    assert chance(*landed, back) < chance(*landed)
    assert chance(*landed, a_recovery(day=13)) == chance(*landed)


def test_a_revert_makes_what_was_let_through_bad() -> None:
    landed = [a_decision(day=n / 10) for n in range(400)]
    back = a_decision(REJECTED, day=45, reverts=landed[390].id)
    at_ns, rules = NOON + 50 * DAY, replace(CAUTIOUS, reverted_share_max=0.1)
    fine, spoilt = (
        replay_past_decisions(pasts(*entries), rules, at_ns).risk.control(at_ns)
        for entries in (landed, [*landed, back])
    )
    assert fine.passed == spoilt.passed > 0
    assert (fine.bad, spoilt.bad) == (0, 1)
    assert fine.seen == spoilt.seen == 400


def test_what_is_decided_after_the_time_is_not_known_at_it() -> None:
    good = [a_decision(day=n) for n in range(5)]
    bad = [a_decision(REJECTED, day=n) for n in range(20, 25)]
    assert chance(*good, *bad, day=10) == chance(*good, day=10)


def test_a_decision_without_a_known_opening_was_opened_when_it_was_decided() -> None:
    entry = a_decision(day=4)
    for opened_ns, taken_ns in ((None, entry.at_ns), (NOON, NOON), (NOON + 9 * DAY, entry.at_ns)):
        account = replay_decisions(ROBOT, [replace(entry, opened_ns=opened_ns)], CAUTIOUS)
        (past,) = past_decisions_from_account(ROBOT, account)
        assert past.opened_ns == taken_ns


def test_an_unreviewed_merge_that_settles_was_opened_before_it_merged() -> None:
    landing = a_landing(day=1)
    account = replay_decisions(ROBOT, [landing], CAUTIOUS, now_ns=NOON + 30 * DAY)
    (past,) = past_decisions_from_account(ROBOT, account)
    assert past.opened_ns == landing.at_ns < past.entry.at_ns


@given(histories())
def test_the_order_of_arrival_changes_no_probability(entries: list[Entry]) -> None:
    shuffled = list(entries)
    Random(1).shuffle(shuffled)
    assert chance(*shuffled, day=500) == chance(*entries, day=500)


@pytest.mark.parametrize("day", [0, 3])
def test_nothing_recorded_is_an_even_probability(day: float) -> None:
    assert chance(day=day) == 0.5
