"""Which decisions count: nothing that a record says by itself raises what may merge under a minimum."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from custody.core.assurance import Assurance
from custody.trust.approval import ApprovalCase, ProposedChange, decide_approval
from custody.trust.assurance import (
    DecisionBelief,
    DecisionVouching,
    Omission,
    find_largest_reviewed_change,
    rate_decision,
    select_counting_entries,
)
from custody.trust.engine import compute_trust, replay_decisions
from custody.trust.model import ChangeAuthor, ChangeStakes, CurrentModel, DecisionEntry, DecisionType, Entry, Trust
from custody.trust.rules import TrustRules
from tests.unit.trust.builders import (
    CAUTIOUS,
    DAY,
    NOON,
    ROBOT,
    a_decision,
    a_landing,
    a_recovery,
    an_override,
    decisions,
    histories,
    landings,
    recoveries,
)

SELF, ENROLLED, WITNESSED = Assurance
ACCEPTED, MODIFIED, REJECTED = DecisionType
NOW = NOON + 500 * DAY
PATCH = "1" * 64


def believing(entries: Sequence[Entry], least: Assurance = WITNESSED) -> DecisionBelief:
    """Return the belief that a second party vouches for exactly these entries."""
    return DecisionBelief({entry.record: WITNESSED for entry in entries}, least)


def grounded(entry: Entry) -> Entry:
    """Return an entry about a real change of the agent."""
    return entry if not isinstance(entry, DecisionEntry) else replace(entry, patch=PATCH, agent_lines=5)


def trust_in(entries: Sequence[Entry], belief: DecisionBelief, rules: TrustRules = CAUTIOUS) -> tuple[Trust, int]:
    """Return the trust by what counts, and the largest reviewed change."""
    counting = select_counting_entries(ROBOT, entries, belief).entries
    state = replay_decisions(ROBOT, counting, rules, now_ns=NOW, running=CurrentModel("m-1")).state
    return compute_trust(state, NOW, rules), find_largest_reviewed_change(ROBOT, counting)


def may_merge(entries: Sequence[Entry], belief: DecisionBelief, lines: int, rules: TrustRules) -> bool:
    trust, reviewed = trust_in(entries, belief, rules)
    change = ProposedChange(head="a" * 40, lines=lines)
    case = ApprovalCase(change=change, author=ChangeAuthor("robot"), trust=trust, now_ns=NOW, reviewed_lines=reviewed)
    return bool(decide_approval(case, rules))


@pytest.mark.parametrize(
    ("vouching", "assurance"),
    [
        (DecisionVouching(SELF), SELF),
        (DecisionVouching(ENROLLED), ENROLLED),
        (DecisionVouching(ENROLLED, is_witness_chain=True, claim="host", is_second_party=True), WITNESSED),
        (DecisionVouching(ENROLLED, is_witness_chain=True, claim="host"), ENROLLED),
        (DecisionVouching(ENROLLED, claim="host", is_second_party=True), ENROLLED),
        (DecisionVouching(SELF, claim="host", is_second_party=True), SELF),
        (DecisionVouching(SELF, claim="signature", is_second_party=True, is_signed=True), ENROLLED),
        (DecisionVouching(SELF, claim="signature", is_second_party=True, is_signed=True, is_present=True), WITNESSED),
        (DecisionVouching(SELF, claim="signature", is_signed=True, is_present=True), SELF),
        (DecisionVouching(SELF, claim="signature", is_second_party=True, is_present=True), SELF),
    ],
)
def test_who_vouches(vouching: DecisionVouching, assurance: Assurance) -> None:
    assert rate_decision(vouching) is assurance


small = TrustRules(approve_samples_min=2, tier_lines_max=(0, 10, 50, 200, 500), audit_share=0.0)


@st.composite
def reports(draw: st.DrawFn, entries: Sequence[Entry]) -> list[Entry]:
    """Draw what anybody can report: about new changes, and about anything in ``entries``, under the same ids."""
    made: list[Entry] = draw(st.lists(decisions | landings | recoveries, max_size=6))
    decided = [entry for entry in entries if isinstance(entry, DecisionEntry)]
    if decided:
        for target in draw(st.lists(st.sampled_from(decided), max_size=4)):
            made.append(an_override(target, draw(st.sampled_from(DecisionType)), day=draw(st.floats(0, 400))))
            made.append(
                a_decision(
                    draw(st.sampled_from(DecisionType)),
                    day=draw(st.floats(0, 400)),
                    id=target.id,
                    commit=target.commit,
                    model=draw(st.sampled_from((None, "m-1", "m-2"))),
                    stakes=draw(st.builds(ChangeStakes, st.none(), st.integers(0, 900))),
                )
            )
            made.append(a_decision(REJECTED, day=draw(st.floats(0, 400)), reverts=target.id))
    return [grounded(entry) for entry in made]


@given(st.data(), st.sampled_from((1, 10, 50, 200, 500)))
def test_no_report_raises_what_may_merge(data: st.DataObject, lines: int) -> None:
    past = [grounded(entry) for entry in data.draw(histories())]
    vouched = [entry for entry in past if data.draw(st.booleans())]
    more = data.draw(reports(past))
    belief = believing(vouched)
    assert may_merge([*past, *more], belief, lines, small) <= may_merge(past, belief, lines, small)
    before, after = trust_in(past, belief, small), trust_in([*past, *more], belief, small)
    assert after[0].score <= before[0].score + 1e-12 and after[1] <= before[1]
    assert after[0].state.samples <= before[0].state.samples


def test_reports_alone_are_left_out_and_counted() -> None:
    entries = [grounded(a_decision()), a_recovery(), grounded(a_landing()), grounded(a_decision(REJECTED))]
    chosen = select_counting_entries(ROBOT, entries, believing([], WITNESSED))
    assert (len(chosen.entries), chosen.lowest) == (1, None)
    assert chosen.left_out == {Omission.ASSURANCE: 2, Omission.UNREVIEWED: 1}


def test_a_rejection_by_anybody_lowers_a_score_and_is_not_a_review() -> None:
    good = [grounded(a_decision(day=day)) for day in range(9)]
    bad = a_decision(REJECTED, day=10, stakes=ChangeStakes(None, 1))
    before, after = trust_in(good, believing(good))[0], trust_in([*good, bad], believing(good))[0]
    assert (after.score < before.score, after.state.samples, after.state.rejected) == (True, 9, 1)


def test_an_override_that_somebody_vouches_for_stands_for_itself() -> None:
    reported = replace(a_decision(day=1, id="d", stakes=ChangeStakes(None, 900)), patch=PATCH, agent_lines=5)
    stated = replace(an_override(reported, ACCEPTED), patch=PATCH, agent_lines=5, stakes=ChangeStakes(None, 7))
    both: tuple[list[Entry], list[Entry]] = ([stated], [reported, stated])
    for entries in both:
        chosen = select_counting_entries(ROBOT, entries, believing([stated]))
        assert find_largest_reviewed_change(ROBOT, chosen.entries) == 7
        assert chosen.lowest is WITNESSED


@pytest.mark.parametrize("least", list(Assurance))
def test_a_change_without_lines_of_the_agent_weighs_nothing(least: Assurance) -> None:
    empty = [
        replace(a_decision(day=day), patch=patch, agent_lines=lines)
        for day, (patch, lines) in enumerate([(PATCH, 0), (None, 0), (None, 5)])
    ]
    chosen = select_counting_entries(ROBOT, empty, believing(empty, least))
    assert (chosen.entries, chosen.left_out) == ((), {Omission.NO_LINES: 3})


def test_a_commit_that_is_not_here_weighs_nothing_in_favor() -> None:
    here, gone, none = (grounded(a_decision(commit=name)) for name in ("a", "b", None))
    against = grounded(a_decision(REJECTED, commit="b"))
    belief = replace(believing([], SELF), commits=frozenset("a"))
    chosen = select_counting_entries(ROBOT, [here, gone, none, against], belief)
    assert (chosen.entries, chosen.left_out) == ((here, against), {Omission.NO_COMMIT: 2})


def test_uncounted_lines_are_not_evidence_under_a_minimum() -> None:
    old = a_decision()
    assert select_counting_entries(ROBOT, [old], believing([old], SELF)).entries == (old,)
    assert select_counting_entries(ROBOT, [old], believing([old])).left_out == {Omission.NO_LINES: 1}


def test_the_lowest_of_what_counts_is_named() -> None:
    strong, weak = grounded(a_decision()), grounded(a_decision(MODIFIED))
    belief = DecisionBelief({strong.record: WITNESSED, weak.record: ENROLLED})
    assert select_counting_entries(ROBOT, [strong, weak], belief).lowest is ENROLLED
    assert select_counting_entries(ROBOT, [strong, a_decision(REJECTED)], belief).lowest is WITNESSED


def test_only_what_a_person_accepted_is_a_reviewed_size() -> None:
    def sized(lines: int, entry: DecisionEntry) -> DecisionEntry:
        return replace(entry, stakes=ChangeStakes(None, lines))

    wrong = sized(70, a_decision(id="wrong"))
    entries: list[Entry] = [
        sized(10, a_decision()),
        sized(90, a_decision(REJECTED)),
        sized(80, a_decision(MODIFIED)),
        sized(60, a_landing()),
        wrong,
        an_override(wrong, REJECTED),
    ]
    assert find_largest_reviewed_change(ROBOT, entries) == 10


def test_nothing_larger_than_twice_the_largest_reviewed_change_merges() -> None:
    good = [grounded(a_decision(day=day, stakes=ChangeStakes(None, 20))) for day in range(480, 500)]
    belief = believing(good)
    assert may_merge(good, belief, 40, small)
    trust, reviewed = trust_in(good, belief, small)
    case = ApprovalCase(
        change=ProposedChange(head="a" * 40, lines=41),
        author=ChangeAuthor("robot"),
        trust=trust,
        now_ns=NOW,
        reviewed_lines=reviewed,
    )
    assert decide_approval(case, small).reasons == (
        "the change has 41 lines, more than twice the 20 of the largest reviewed change of 'robot'",
    )


@pytest.mark.parametrize(
    ("was", "says", "counts"),
    [
        (REJECTED, ACCEPTED, REJECTED),
        (MODIFIED, ACCEPTED, MODIFIED),
        (ACCEPTED, MODIFIED, MODIFIED),
        (ACCEPTED, REJECTED, REJECTED),
    ],
)
def test_an_override_by_anybody_only_lowers(was: DecisionType, says: DecisionType, counts: DecisionType) -> None:
    entry = replace(a_decision(was), patch=PATCH, agent_lines=5)
    chosen = select_counting_entries(ROBOT, [entry, an_override(entry, says)], believing([entry]))
    (kept,) = chosen.entries
    assert isinstance(kept, DecisionEntry)
    assert (kept.decision, kept.is_review) == (counts, (was, says) != (ACCEPTED, REJECTED))
