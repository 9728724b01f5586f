"""A merge without review weighs nothing until it is reviewed or has settled."""

import pytest
from hypothesis import event, given
from hypothesis import strategies as st
from msgspec.structs import replace

from custody.trust.engine import (
    can_follow_fold,
    compute_trust,
    decision_order_key,
    fold_entries,
    make_empty_fold,
    replay_decisions,
    settle_score_state,
)
from custody.trust.model import (
    ChangeComplexity,
    ChangeStakes,
    CurrentModel,
    DecisionEntry,
    DecisionOverride,
    DecisionType,
    Entry,
    ScoreState,
)
from custody.trust.rules import TrustRules
from tests.unit.trust.builders import (
    CAUTIOUS,
    DAY,
    DOCUMENT,
    NOON,
    ROBOT,
    a_decision,
    a_landing,
    a_recovery,
    an_override,
    histories,
)

ACCEPTED, MODIFIED, REJECTED = DecisionType
profiles = st.sampled_from((CAUTIOUS, DOCUMENT))


def state(*entries: Entry, day: float = 0) -> ScoreState:
    return replay_decisions(ROBOT, entries, CAUTIOUS, now_ns=NOON + round(day * DAY)).state


def test_it_moves_nothing_and_is_neither_sample_nor_activity() -> None:
    before, landed = a_decision(day=0), a_landing(day=1)
    assert state(before, landed, day=14.99) == state(before, day=14.99)
    _, second = replay_decisions(ROBOT, [before, landed], CAUTIOUS).steps
    assert not second.counts
    assert second.notes == ("merged without review: counts after 14 days unless reverted",)


def test_after_14_days_without_a_revert_it_counts_at_that_time() -> None:
    account = replay_decisions(ROBOT, [a_decision(day=0), a_landing(day=1)], CAUTIOUS, now_ns=NOON + 15 * DAY)
    _, _, settled = account.steps
    assert (settled.counts, settled.at_ns, settled.decision) == (True, NOON + 15 * DAY, ACCEPTED)
    assert settled.before == pytest.approx(0.5 + 0.15 * 2 ** (-15 / 30))
    assert settled.after == pytest.approx(settled.before + 0.3 * (1 - settled.before))
    assert (account.state.accepted, account.state.active_ns) == (2, NOON), "settling is not activity"
    assert account.state.since_ns == NOON + 15 * DAY


def test_it_settles_before_what_is_decided_later() -> None:
    entries = [a_landing(day=0), a_decision(REJECTED, day=20)]
    steps = replay_decisions(ROBOT, entries, CAUTIOUS).steps
    assert [(step.settled_ns is not None, step.counts) for step in steps] == [
        (False, False),
        (True, True),
        (False, True),
    ]
    assert state(*entries, day=20) == state(*entries, day=0), "a clock set back takes nothing back"


def test_a_revert_is_a_rejection_at_full_stakes_and_nothing_settles() -> None:
    landed = a_landing(stakes=ChangeStakes(ChangeComplexity.CRITICAL, 50))
    taken_back = a_decision(REJECTED, day=13, stakes=landed.stakes, reverts=landed.id)
    found = state(landed, taken_back, day=100)
    assert (found.accepted, found.rejected) == (0, 1)
    assert found.score == pytest.approx(0.5 * 0.7**8)


def test_a_revert_at_the_very_time_is_in_time_and_one_after_it_is_not() -> None:
    landed = a_landing()
    assert state(landed, a_decision(REJECTED, day=14, reverts=landed.id), day=100).accepted == 0
    late = state(landed, a_decision(REJECTED, day=14.001, reverts=landed.id), day=100)
    assert (late.accepted, late.rejected) == (1, 1)


@pytest.mark.parametrize("decision", DecisionType)
@pytest.mark.parametrize("day", [0, 13.9])
def test_an_audit_counts_in_its_place(decision: DecisionType, day: float) -> None:
    landed, audit = a_landing(day=0.5, head="abc"), a_decision(decision, day=day, commit="abc")
    assert state(landed, audit, day=100) == state(audit, day=100)


def test_an_override_is_an_audit_too() -> None:
    landed = a_landing()
    found = state(landed, an_override(landed, REJECTED, day=2), day=100)
    assert (found.accepted, found.rejected, found.since_ns) == (0, 1, NOON)


def test_an_agent_does_not_audit_itself() -> None:
    landed, own = a_landing(head="abc"), a_decision(commit="abc", day=1, actor="robot")
    assert state(landed, own, day=13).samples == 0
    assert state(landed, own, day=14).samples == 1


def test_what_speaks_against_the_agent_counts_at_once() -> None:
    refused = replace(a_landing(), decision=REJECTED)
    assert state(refused).rejected == 1


def test_the_past_does_not_know_what_settled_later() -> None:
    entries = [a_landing(day=0)]
    assert state(*entries, day=13).samples == 0
    assert state(*entries, day=14).samples == 1


class TestModels:
    def test_what_another_model_earned_is_worth_half(self) -> None:
        account = replay_decisions(ROBOT, [a_decision(model="m-1")], CAUTIOUS, running=CurrentModel("m-2"))
        assert account.state.score == pytest.approx(0.575)
        assert compute_trust(account.state, NOON, CAUTIOUS).confidence == pytest.approx(0.005)

    def test_what_the_same_model_earned_and_what_is_asked_without_a_model_is_worth_all(self) -> None:
        for running in (CurrentModel("m-1"), None):
            account = replay_decisions(ROBOT, [a_decision(model="m-1")], CAUTIOUS, running=running)
            assert account.state.score == pytest.approx(0.65)
            assert account.state.inherited == 0

    @pytest.mark.parametrize(("model", "running"), [(None, "m-1"), ("m-1", None)])
    def test_a_model_that_is_not_told_is_another_one(self, model: str | None, running: str | None) -> None:
        account = replay_decisions(ROBOT, [a_decision(model=model)], CAUTIOUS, running=CurrentModel(running))
        assert account.state.inherited == 1

    def test_what_is_held_against_one_model_is_held_against_the_next(self) -> None:
        account = replay_decisions(ROBOT, [a_decision(REJECTED, model="m-1")], CAUTIOUS, running=CurrentModel("m-2"))
        assert account.state.score == pytest.approx(0.35)

    @given(histories())
    def test_a_model_never_has_more_than_all_models_together(self, entries: list[Entry]) -> None:
        plain = [entry for entry in entries if not isinstance(entry, DecisionEntry) or entry.decision is not MODIFIED]
        plain = [entry for entry in plain if not isinstance(entry, DecisionOverride)]
        whole = replay_decisions(ROBOT, plain, CAUTIOUS).state
        one = replay_decisions(ROBOT, plain, CAUTIOUS, running=CurrentModel("m-2")).state
        assert one.score <= whole.score + 1e-12 and one.samples == whole.samples


class TestCarrying:
    @given(histories(), profiles, st.data())
    def test_a_fold_that_is_carried_on_is_the_fold_of_everything(
        self, entries: list[Entry], rules: TrustRules, data: st.DataObject
    ) -> None:
        ordered = sorted({entry.record: entry for entry in entries}.values(), key=decision_order_key)
        cut = data.draw(st.integers(0, len(ordered)))
        before, after = ordered[:cut], ordered[cut:]
        folded = fold_entries(ROBOT, make_empty_fold(rules), before, rules).folded
        allowed = can_follow_fold(folded, after) and not concern(before, after)
        event(f"may be carried on: {allowed and bool(before) and bool(after)}")
        if not allowed:
            return
        carried = fold_entries(ROBOT, folded, after, rules).folded
        assert carried == fold_entries(ROBOT, make_empty_fold(rules), ordered, rules).folded
        for day in (0, 14, 500):
            now_ns = NOON + day * DAY
            whole = replay_decisions(ROBOT, ordered, rules, now_ns=now_ns).state
            assert settle_score_state(ROBOT, carried, now_ns, rules) == whole

    def test_an_override_and_what_is_earlier_cannot_follow(self) -> None:
        first = a_decision(day=5)
        folded = fold_entries(ROBOT, make_empty_fold(CAUTIOUS), [first], CAUTIOUS).folded
        assert can_follow_fold(folded, [a_decision(day=5), a_recovery(day=6)])
        assert not can_follow_fold(folded, [a_decision(day=4)])
        assert not can_follow_fold(folded, [an_override(first, REJECTED, day=9)])
        assert can_follow_fold(make_empty_fold(CAUTIOUS), [first])


def concern(before: list[Entry], after: list[Entry]) -> bool:
    """Return whether an arriving record has a known name, as the store would report."""
    ids = {entry.id for entry in after}
    heads = {name for entry in after if isinstance(entry, DecisionEntry) and entry.unreviewed for name in entry.names}
    for entry in before:
        target = entry.target if isinstance(entry, DecisionOverride) else getattr(entry, "reverts", None)
        if entry.id in ids or target in ids or (isinstance(entry, DecisionEntry) and entry.names & heads):
            return True
    return False
