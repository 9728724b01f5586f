"""A policy applied to the past: judged as of the opening, by what was known then, with its own budget."""

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from custody.trust.approval import TouchedPath
from custody.trust.model import ChangeComplexity, ChangeStakes, DecisionEntry, DecisionType
from custody.trust.past_decisions import PastDecision
from custody.trust.rules import TrustRules
from custody.trust.simulate import NO_SIZE, SimulatedChange, simulate_policy
from tests.unit.trust.builders import DAY, NOON, a_decision

ACCEPTED, MODIFIED, REJECTED = DecisionType
RULES = TrustRules(audit_share=0.0)
"""No change is drawn for an audit, so that a test knows what merges."""
SMALL = ChangeStakes(ChangeComplexity.TRIVIAL, 5)


def a_past(
    day: float = 0,
    decision: DecisionType = ACCEPTED,
    *,
    lines: int | None = 5,
    agent: str = "robot",
    waited: float = 0,
    reverts: str | None = None,
    touched: tuple[TouchedPath, ...] | None = None,
) -> PastDecision:
    """Return a change decided on a day and proposed this many days earlier."""
    entry = a_decision(decision, day=day, stakes=replace(SMALL, lines=lines), reverts=reverts)
    return PastDecision(agent, replace(entry, opened_ns=entry.at_ns - round(waited * DAY)), touched)


def a_record(count: int = 12, **more: str) -> list[PastDecision]:
    """Return enough good changes for an agent to merge something."""
    return [a_past(n, **more) for n in range(count)]  # type: ignore[arg-type]


def since(day: float) -> int:
    return NOON + round(day * DAY)


def judged(pasts: list[PastDecision], *, day: float = 11.5, rules: TrustRules = RULES) -> list[SimulatedChange]:
    return list(simulate_policy(pasts, rules, since(day)).judged)


def test_a_change_merges_on_the_record_that_there_was() -> None:
    (one,) = judged([*a_record(), a_past(12)])
    assert one.approved and not one.bad
    (early,) = judged([*a_record(5), a_past(12)])
    assert early.reasons == ("TRUST-SAMPLES",)


def test_what_is_decided_after_the_opening_does_not_count_for_it() -> None:
    record = a_record(9)
    (one,) = judged([*record, a_past(12, waited=0.1), a_past(11.95)], day=11.9)[:1]
    assert one.reasons == ("TRUST-SAMPLES",)


def test_a_change_that_was_rejected_or_reverted_was_bad() -> None:
    landed = a_past(12)
    pasts = [*a_record(), landed, a_past(20, REJECTED, reverts=landed.entry.id), a_past(12.2, REJECTED), a_past(12.4)]
    simulated = simulate_policy(pasts, RULES, since(11.5))
    tally = simulated.tally()
    assert (tally.changes, tally.approved, tally.rejected, tally.reverted, tally.bad) == (3, 3, 1, 1, 2)
    assert tally.bad_share == 2 / 3
    assert tally.lines == 15


def test_a_revert_of_another_agents_change_is_not_held_against_this_one() -> None:
    landed = a_past(12)
    other = a_past(13, REJECTED, agent="other", reverts=landed.entry.id)
    assert not judged([*a_record(), landed, other])[0].bad


def test_modified_counts_apart_and_is_not_bad() -> None:
    tally = simulate_policy([*a_record(), a_past(12, MODIFIED)], RULES, since(11.5)).tally()
    assert (tally.modified, tally.bad) == (1, 0)


def test_a_change_without_a_recorded_size_never_merges() -> None:
    (one,) = judged([*a_record(), a_past(12, lines=None)])
    assert one.reasons == (NO_SIZE,)
    assert one.lines == 0


def test_what_merges_is_taken_from_the_budget() -> None:
    lines = RULES.tier_lines_max[-1] // 2 + 1
    many = [a_past(12 + n / 100, lines=lines) for n in range(3)]
    assert [one.approved for one in judged([*a_record(), *many])] == [True, False, False]
    assert [one.approved for one in judged([*a_record(), *many, a_past(13.5, lines=lines)])][-1]


def test_a_path_that_the_rules_name_never_merges() -> None:
    (one,) = judged([*a_record(), a_past(12, touched=(TouchedPath(".github/workflows/ci.yml"),))])
    assert one.reasons == ("TRUST-PATH",)


def test_audits_are_drawn_from_what_would_merge() -> None:
    everything = replace(RULES, audit_share=1.0)
    (one,) = judged([*a_record(), a_past(12)], rules=everything)
    assert one.reasons == ("TRUST-AUDIT",)


def test_agents_are_counted_apart() -> None:
    pasts = [*a_record(), *a_record(agent="other"), a_past(12), a_past(12, REJECTED, agent="other")]
    by_agent = simulate_policy(pasts, RULES, since(11.5)).tally_by_agent()
    assert {agent: (tally.approved, tally.bad) for agent, tally in by_agent.items()} == {
        "other": (1, 1),
        "robot": (1, 0),
    }


def test_risk_control_lets_nothing_through_that_it_cannot_show() -> None:
    simulated = simulate_policy([*a_record(), a_past(12)], RULES, since(11.5))
    assert (simulated.tally().approved, simulated.controlled.approved) == (1, 0)
    assert simulated.controlled.bad_share is None


def test_risk_control_lets_through_what_a_long_good_record_shows() -> None:
    lenient = replace(RULES, reverted_share_max=0.2)
    pasts = [a_past(n / 20) for n in range(600)]
    assert simulate_policy(pasts, lenient, since(25)).controlled.approved > 0


def test_reasons_are_counted_the_most_frequent_first() -> None:
    pasts = [a_past(0), a_past(1), a_past(2, lines=None)]
    assert list(simulate_policy(pasts, RULES, since(0)).reasons().items()) == [("TRUST-SAMPLES", 3), (NO_SIZE, 1)]


@given(
    st.lists(
        st.tuples(st.integers(0, 60), st.sampled_from(DecisionType), st.sampled_from((None, 1, 30, 300))), max_size=40
    ),
    st.integers(0, 60),
)
def test_a_policy_that_asks_for_more_merges_no_change_that_another_had_refused(
    told: list[tuple[int, DecisionType, int | None]], day: int
) -> None:
    """Use budgets so large that earlier merges do not use them up."""
    loose = replace(RULES, budget_tier_limits_max=1e6)
    strict = replace(loose, approve_samples_min=20, tier_lines_max=(0, 5, 10, 20, 50))
    pasts = [a_past(at, decision, lines=lines) for at, decision, lines in sorted(told, key=lambda row: row[0])]
    for one, other in zip(judged(pasts, day=day, rules=loose), judged(pasts, day=day, rules=strict), strict=True):
        assert one.approved or not other.approved


@given(st.lists(st.tuples(st.integers(0, 60), st.sampled_from(DecisionType)), max_size=30))
def test_a_simulation_is_the_same_to_the_bit(told: list[tuple[int, DecisionType]]) -> None:
    pasts = [a_past(at, decision) for at, decision in told]
    assert simulate_policy(pasts, RULES, since(10)) == simulate_policy(pasts, RULES, since(10))


def test_a_decided_change_is_judged_once() -> None:
    opened_at_once = a_past(12)
    assert isinstance(opened_at_once.entry, DecisionEntry)
    assert len(judged([*a_record(), opened_at_once, a_past(13, waited=0.4)])) == 2
