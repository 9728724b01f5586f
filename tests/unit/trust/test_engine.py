"""A score is a fold over records: order of arrival, repetition and invalid corrections change nothing."""

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from custody.trust.engine import compute_trust, decision_order_key, fold_entries, make_empty_fold, replay_decisions
from custody.trust.model import ChangeComplexity, ChangeStakes, DecisionType, Entry, TrustTier
from custody.trust.rules import TrustRules
from custody.trust.score import approve_change_lines
from tests.unit.trust.builders import (
    CAUTIOUS,
    DAY,
    DOCUMENT,
    NOON,
    ROBOT,
    a_decision,
    a_recovery,
    an_override,
    histories,
)

ACCEPTED, MODIFIED, REJECTED = DecisionType
profiles = st.sampled_from((CAUTIOUS, DOCUMENT))


def after(*entries: Entry, rules: TrustRules = CAUTIOUS) -> list[float]:
    """Return the score after each entry, in order."""
    return [round(step.after, 6) for step in replay_decisions(ROBOT, entries, rules).steps]


# Conformance: 001-001
def test_each_decision_counts_once_in_its_kind() -> None:
    state = replay_decisions(
        ROBOT, [a_decision(kind) for kind in (ACCEPTED, ACCEPTED, MODIFIED, REJECTED)], CAUTIOUS
    ).state
    assert (state.accepted, state.modified, state.rejected, state.samples) == (2, 1, 1, 4)


# Conformance: 001-045
def test_a_decision_is_made_on_the_faded_score() -> None:
    first, second = replay_decisions(ROBOT, [a_decision(day=0), a_decision(day=30)], CAUTIOUS).steps
    assert first.after == pytest.approx(0.65)
    assert second.before == pytest.approx(0.575)
    assert second.after == pytest.approx(0.7025)


def test_a_decision_recorded_twice_counts_once() -> None:
    once = a_decision(id="same")
    account = replay_decisions(ROBOT, [once, once, a_decision(REJECTED, day=1, id="same")], CAUTIOUS)
    assert account.state.samples == 1
    assert [step.counts for step in account.steps] == [True, False, False]
    assert account.steps[1].notes == ("the same decision was recorded before",)


def test_an_override_counts_in_the_place_of_what_it_overrides() -> None:
    wrong, later = a_decision(ACCEPTED), a_decision(ACCEPTED, day=1)
    overridden = replay_decisions(ROBOT, [wrong, later, an_override(wrong, REJECTED, day=2)], CAUTIOUS)
    right = replay_decisions(ROBOT, [a_decision(REJECTED), later], CAUTIOUS)
    assert overridden.state == right.state
    assert overridden.steps[0].notes == ("was accepted; overridden by ben: it broke the build",)


def test_the_last_override_stands() -> None:
    wrong = a_decision(ACCEPTED)
    account = replay_decisions(
        ROBOT, [an_override(wrong, MODIFIED, day=2), an_override(wrong, REJECTED, day=1), wrong], CAUTIOUS
    )
    assert account.steps[0].decision is MODIFIED


@pytest.mark.parametrize(("actor", "reason"), [(None, "x"), ("ben", None), ("ben", ""), ("robot", "x")])
def test_an_override_without_somebody_else_and_a_reason_changes_nothing(actor: str | None, reason: str | None) -> None:
    decided = a_decision(REJECTED)
    account = replay_decisions(ROBOT, [decided, an_override(decided, ACCEPTED, actor=actor, reason=reason)], CAUTIOUS)
    assert account.state == replay_decisions(ROBOT, [decided], CAUTIOUS).state
    assert not account.steps[1].counts


def test_a_revert_is_a_rejection_of_its_own_beside_what_it_reverts() -> None:
    landed = a_decision(stakes=ChangeStakes(ChangeComplexity.CRITICAL, 50))
    account = replay_decisions(ROBOT, [landed, a_decision(REJECTED, stakes=landed.stakes, reverts=landed.id)], CAUTIOUS)
    assert (account.state.accepted, account.state.rejected) == (1, 1)
    assert account.state.score == pytest.approx(0.65 * 0.7**8)
    assert account.steps[1].notes == (f"reverts '{landed.id}'",)


def test_a_recovery_is_not_activity_or_a_sample_but_restarts_the_clock() -> None:
    account = replay_decisions(ROBOT, [a_decision(day=0), a_recovery(day=30)], CAUTIOUS)
    assert account.state.score == pytest.approx(0.625)
    assert (account.state.active_ns, account.state.since_ns) == (NOON, NOON + 30 * DAY)
    assert account.state.samples == 1
    assert compute_trust(account.state, NOON + 60 * DAY, CAUTIOUS).score == pytest.approx(0.5625)


def test_recoveries_wait_7_days() -> None:
    steps = replay_decisions(ROBOT, [a_decision(), *(a_recovery(day=day) for day in (1, 7.99, 8))], CAUTIOUS).steps
    assert [step.counts for step in steps] == [True, True, False, True]
    assert steps[2].notes == ("the last recovery is less than 7 days old",)


def test_a_recovery_without_a_reason_is_flagged() -> None:
    for reason in (None, "unspecified"):
        assert replay_decisions(ROBOT, [a_decision(), a_recovery(reason=reason)], CAUTIOUS).steps[1].notes == (
            "without a reason",
        )


def test_an_agent_cannot_decide_about_itself() -> None:
    own: list[Entry] = [a_decision(actor="robot"), a_decision(), a_recovery(actor="robot")]
    assert [step.counts for step in replay_decisions(ROBOT, own, CAUTIOUS).steps] == [False, True, False]
    assert after(a_decision(REJECTED, actor="robot")) == [0.35], "a confession counts"


def test_a_rubber_stamp_is_flagged() -> None:
    (step,) = replay_decisions(
        ROBOT, [a_decision(stakes=ChangeStakes(ChangeComplexity.MAJOR, 400, 1_000))], CAUTIOUS
    ).steps
    assert step.notes == ("rubber stamp: too fast to be a review",)


def test_many_tiny_accepts_do_not_outlive_one_large_rejection() -> None:
    tiny, large = ChangeStakes(ChangeComplexity.TRIVIAL, 1), ChangeStakes(ChangeComplexity.CRITICAL, 400)
    entries = [*(a_decision(stakes=tiny) for _ in range(60)), a_decision(REJECTED, stakes=large)]
    trust = compute_trust(replay_decisions(ROBOT, entries, CAUTIOUS).state, NOON, CAUTIOUS)
    assert trust.tier is TrustTier.UNTRUSTED
    assert not approve_change_lines(trust, 1, CAUTIOUS)


def test_on_and_off_is_worth_less_than_either_half_of_it() -> None:
    in_turn = [a_decision(kind) for _ in range(20) for kind in (ACCEPTED, REJECTED)]
    assert after(*in_turn)[-1] < 0.5


def test_a_new_id_starts_without_the_right_to_merge_anything() -> None:
    assert not approve_change_lines(
        compute_trust(replay_decisions(ROBOT, [], CAUTIOUS).state, NOON, CAUTIOUS), 0, CAUTIOUS
    )


@given(histories(), st.randoms(use_true_random=False), profiles)
def test_the_order_of_arrival_changes_nothing(entries: list[Entry], chance: Random, rules: TrustRules) -> None:
    shuffled = list(entries)
    chance.shuffle(shuffled)
    assert replay_decisions(ROBOT, shuffled, rules) == replay_decisions(ROBOT, entries, rules)


@given(histories(), profiles)
def test_every_score_is_between_0_and_1_and_every_step_starts_where_fading_left_the_last(
    entries: list[Entry], rules: TrustRules
) -> None:
    account = replay_decisions(ROBOT, entries, rules)
    assert len([step for step in account.steps if step.settled_ns is None]) == len(entries)
    assert [step.at_ns for step in account.steps] == sorted(step.at_ns for step in account.steps)
    for step in account.steps:
        assert 0 <= step.before <= 1 and 0 <= step.after <= 1
        assert step.counts or (step.before == step.after and step.notes)
    assert account.state.samples == sum(step.counts and step.decision is not None for step in account.steps)


@given(histories(), profiles)
def test_a_replay_of_a_beginning_is_the_beginning_of_the_replay(entries: list[Entry], rules: TrustRules) -> None:
    plain = sorted((entry for entry in entries if not hasattr(entry, "target")), key=decision_order_key)
    whole = replay_decisions(ROBOT, plain, rules).steps
    for end in range(len(plain) + 1):
        part = fold_entries(ROBOT, make_empty_fold(rules), plain[:end], rules).steps
        assert part == whole[: len(part)]


@given(histories())
def test_caution_never_gives_more_than_the_document(entries: list[Entry]) -> None:
    cautious, document = (replay_decisions(ROBOT, entries, rules).steps for rules in (CAUTIOUS, DOCUMENT))
    for careful, plain in zip(cautious, document, strict=True):
        if careful.size is not None and plain.size is not None and careful.after > careful.before:
            assert careful.size <= CAUTIOUS.rise_step_max
