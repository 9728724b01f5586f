"""The reasons of the attribution check, at each of its thresholds."""

import pytest
from msgspec.structs import replace

from custody.attribution.model import Grade, LineOwner
from custody.core.assurance import Assurance
from custody.core.record import RecordingGap
from custody.gate.model import AddedRange, MissingEvidence
from custody.trust import FileVoucher
from tests.unit.gate.builders import (
    HOUR_NS,
    NOON_NS,
    PERIOD,
    UNSEEN,
    a_change,
    agents,
    codes,
    mixed,
    nobodys,
    persons,
    rules_with,
    verdict,
)


def test_lines_whose_writers_are_well_shown_give_no_reason() -> None:
    assert codes(a_change(agents(), mixed(), persons())) == []


def test_a_change_that_adds_nothing_gives_no_reason_whatever_is_missing() -> None:
    assert codes(replace(a_change(period=None), recorded=None)) == []
    assert codes(a_change(recorded=UNSEEN, period=None)) == ["INTEG-UNSEEN"]
    assert codes(a_change(gaps=[RecordingGap(None, "lost")])) == []


def unvouched(*paths: str) -> tuple[FileVoucher, ...]:
    return tuple(FileVoucher(path, Assurance.SELF_REPORTED) for path in paths)


def test_a_change_that_only_removes_needs_a_voucher_under_a_team_policy() -> None:
    removed = replace(a_change(), vouchers=unvouched("a.py", "b.py"))
    assert (codes(removed), removed.assurance.value) == ([], "self-reported")
    (reason,) = verdict(removed, rules_with(assurance_min="enrolled")).reasons
    assert (reason.code.value, reason.level.value, [spot.path for spot in reason.spots]) == (
        "ATTR-NONE",
        "review",
        ["a.py", "b.py"],
    )
    assert "'a.py'; 'b.py'" in reason.sentence
    assert codes(a_change(), rules_with(assurance_min="witnessed")) == []


def test_removed_lines_beside_vouched_ones_need_a_voucher_too() -> None:
    added = a_change(replace(agents(), assurance=Assurance.ENROLLED))
    beside = replace(added, vouchers=unvouched("b.py"))
    strict = rules_with(assurance_min="enrolled")
    assert "ATTR-NONE" not in codes(added, strict)
    assert "ATTR-NONE" in codes(beside, strict)
    assert (codes(beside), beside.assurance) == ([], Assurance.SELF_REPORTED)
    vouched = replace(beside, vouchers=(FileVoucher("b.py", Assurance.ENROLLED),))
    assert "ATTR-NONE" not in codes(vouched, strict)


def test_where_nothing_was_recorded_that_is_the_only_reason() -> None:
    (reason,) = verdict(replace(a_change(nobodys(), agents(tier=6)), recorded=None)).reasons
    assert (reason.code.value, reason.sentence) == (
        "ATTR-UNSEEN",
        "no agent activity has been recorded in this repository",
    )
    assert "custody init" in reason.remedy


def test_files_that_could_not_be_read_are_named_and_from_the_fourth_on_counted() -> None:
    unread = [MissingEvidence(f"is binary {n}", "read it") for n in range(1, 6)]
    (reason,) = verdict(a_change(*unread)).reasons
    assert reason.sentence == (
        "cannot check who wrote the additions to 5 files: 'file1.py' is binary 1; 'file2.py' is binary 2;"
        " 'file3.py' is binary 3; and 2 more"
    )
    assert reason.remedy == "read it"


@pytest.mark.parametrize(
    ("at_ns", "counts"),
    [
        (NOON_NS - 24 * HOUR_NS - 1, False),
        (NOON_NS - 24 * HOUR_NS, True),
        (NOON_NS + 2 * HOUR_NS, True),
        (NOON_NS + 2 * HOUR_NS + 1, False),
        (None, True),
    ],
)
def test_a_gap_counts_unless_it_was_surely_at_another_time(at_ns: int | None, counts: bool) -> None:
    assert codes(a_change(agents(), gaps=[RecordingGap(at_ns, "lost")])) == (["ATTR-UNSEEN"] if counts else [])


def test_a_gap_counts_from_an_older_base_on() -> None:
    old = a_change(agents(), gaps=[RecordingGap(PERIOD.base_ns, "lost")])
    assert codes(old, rules_with(gap_hours_before=1.0)) == ["ATTR-UNSEEN"]
    older = a_change(agents(), gaps=[RecordingGap(PERIOD.base_ns - 1, "lost")])
    assert codes(older, rules_with(gap_hours_before=1.0)) == []


def test_every_gap_counts_where_the_changes_time_cannot_be_told() -> None:
    assert codes(a_change(agents(), gaps=[RecordingGap(0, "lost long ago")], period=None)) == ["ATTR-UNSEEN"]


def test_gaps_are_counted_and_the_last_one_told() -> None:
    gaps = [
        RecordingGap(NOON_NS, "the later"),
        RecordingGap(NOON_NS - 1, "the earlier"),
        RecordingGap(None, "the timeless"),
    ]
    (reason,) = verdict(a_change(agents(), gaps=gaps)).reasons
    assert reason.sentence == ("recording failed 3 times while the change was made; last: the later")


def test_lines_without_evidence_are_counted_and_the_first_is_placed() -> None:
    (reason,) = verdict(a_change(agents(1, 4), nobodys(7, 9), nobodys(2, 2))).reasons
    assert reason.code.value == "ATTR-NONE"
    assert reason.sentence == "nothing shows who wrote 4 of 8 added lines, first at 'file2.py:7'"


@pytest.mark.parametrize(("tier", "weak"), [(3, False), (4, True), (None, True)])
def test_a_tier_above_the_bound_is_weak(tier: int | None, weak: bool) -> None:
    assert codes(a_change(agents(tier=tier)), rules_with(tier_max=3)) == (["ATTR-WEAK"] if weak else [])


@pytest.mark.parametrize(("grade", "weak"), [(Grade.RECORDED, True), (Grade.WITNESSED, False), (None, True)])
def test_a_grade_below_the_bound_is_weak_for_agents_and_persons_alike(grade: Grade | None, weak: bool) -> None:
    rules = rules_with(grade_min="witnessed")
    assert codes(a_change(agents(grade=grade)), rules) == (["ATTR-WEAK"] if weak else [])
    assert codes(a_change(persons(grade=grade)), rules) == (["ATTR-WEAK"] if weak else [])


def test_a_persons_lines_need_no_tier() -> None:
    assert codes(a_change(persons()), rules_with(tier_max=1)) == []


def test_lines_without_evidence_are_not_weak_too() -> None:
    assert codes(a_change(nobodys())) == ["ATTR-NONE"]


@pytest.mark.parametrize(("bound", "above"), [(0.51, False), (0.5, False), (0.49, True), (0.0, True)])
def test_agents_share_above_the_bound(bound: float, above: bool) -> None:
    seen = a_change(agents(1, 5), persons(1, 5))
    assert codes(seen, rules_with(agent_share_max=bound)) == (["ATTR-SHARE"] if above else [])


def test_a_mixed_line_counts_whole_for_the_share() -> None:
    (reason,) = verdict(a_change(mixed(3, 3), persons()), rules_with(agent_share_max=0.4)).reasons
    assert reason.sentence == (
        "agents wrote 50.0% of the added lines, more than 40.0%: 1 of 2 added lines, first at 'file1.py:3'"
    )


def test_no_agents_have_no_share() -> None:
    assert codes(a_change(persons()), rules_with(agent_share_max=0.0)) == []


def test_every_kind_of_reason_can_stand_beside_the_others() -> None:
    seen = a_change(UNSEEN, nobodys(), agents(tier=6), gaps=[RecordingGap(None, "lost")])
    rules = rules_with(agent_share_max=0.1)
    assert codes(seen, rules) == ["ATTR-UNSEEN", "ATTR-UNSEEN", "ATTR-NONE", "ATTR-WEAK", "ATTR-SHARE"]


@pytest.mark.parametrize("whose", LineOwner)
def test_whatever_is_not_known_of_an_answer_is_said(whose: LineOwner) -> None:
    bare = a_change(AddedRange(agents().lines, whose))
    said = {LineOwner.NONE: ["ATTR-NONE"], LineOwner.PERSON: ["ATTR-WEAK"]}
    assert codes(bare) == said.get(whose, ["ATTR-WEAK", "TRUST-UNKNOWN"])
