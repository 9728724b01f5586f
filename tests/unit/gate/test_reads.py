"""REVIEW-UNREAD: off by default, stricter when on, and read only by a second person who is vouched for."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from custody.core.assurance import Assurance
from custody.core.paths import Lines
from custody.gate.app.gate import CHECKS, GateRequest, gate
from custody.gate.checks import check_reads, judge
from custody.gate.model import ChangeSpot, MissingEvidence, ReadState, ReasonCode
from custody.gate.rules import GateRules
from custody.people.reads import ReadRequest, record_reads
from tests.builders.judged import Judged
from tests.unit.gate.builders import a_change, agents

SPOTS = st.lists(st.builds(ChangeSpot, st.sampled_from(("a.py", "b.py")), st.just(Lines(1, 2)) | st.none()), max_size=3)
STATES = st.builds(ReadState, SPOTS.map(tuple), st.integers(3, 9), st.sampled_from(Assurance) | st.none())
SEEN = a_change(agents(1, 4))


@given(STATES | st.just(MissingEvidence("gone", "look")))
def test_requiring_reads_never_makes_a_verdict_milder(state: ReadState | MissingEvidence) -> None:
    rules = GateRules()
    without = judge(SEEN, list(CHECKS.values()), rules)
    with_reads = judge(replace(SEEN, reads=state), list(CHECKS.values()), rules)
    assert with_reads.level.strictness >= without.level.strictness
    assert set(without.reasons) <= set(with_reads.reasons)
    assert replace(SEEN, reads=state).assurance.rank <= SEEN.assurance.rank


@given(STATES)
def test_one_more_unread_hunk_never_helps(state: ReadState) -> None:
    more = replace(state, unread=(*state.unread, ChangeSpot("c.py")))
    levels = [judge(replace(SEEN, reads=each), [check_reads], GateRules()).level.strictness for each in (state, more)]
    assert levels[0] <= levels[1] == 1


@pytest.fixture
def judged(tmp_path: Path) -> Judged:
    return Judged(tmp_path / "repository")


def strict(judged: Judged, least: str = "self-reported") -> str:
    """Return the change on a base that requires reads."""
    built = judged.built
    rules = f'[gate]\nreads = "on"\nassurance_min = "{least}"\n'.encode()
    base = built.commit({b"a.py": built.blob(judged.first, b"a.py"), b"custody.toml": rules}, judged.first)
    return f"{base}..{judged.second}"


def unread(judged: Judged, change: str) -> list[str]:
    report = gate(judged.workspace, GateRequest(change=change))
    return [reason.sentence for reason in report.reasons if reason.code == ReasonCode.REVIEW_UNREAD.value]


def test_the_check_is_off_without_a_rule(judged: Judged) -> None:
    judged.edit()
    report = gate(judged.workspace, GateRequest(change=f"{judged.first}..{judged.second}"))
    assert "reads" not in report.checks and "REVIEW-UNREAD" not in {reason.code for reason in report.reasons}


def test_a_second_person_reads_and_the_author_does_not(judged: Judged) -> None:
    judged.edit()
    change = strict(judged)
    assert unread(judged, change) == [
        "no second person has read 1 of 1 hunk (gate.assurance_min = self-reported): 'a.py'"
    ]
    for name in (
        "A Tester",
        "tester@example.invalid",
        "A TESTER <tester@example.invalid>",
        "claude-code",
        "Claude-Code",
    ):
        record_reads(judged.workspace, ReadRequest(change=change, is_whole=True, person=name))
    assert len(unread(judged, change)) == 1
    record_reads(judged.workspace, ReadRequest(change=change, is_whole=True, person="ana"))
    assert unread(judged, change) == []
    report = gate(judged.workspace, GateRequest(change=change))
    assert report.assurance == "self-reported" and "reads" in report.checks


def test_under_a_team_policy_a_mark_of_this_account_does_not_count(judged: Judged) -> None:
    judged.edit()
    change = strict(judged, "witnessed")
    record_reads(judged.workspace, ReadRequest(change=change, is_whole=True, person="ana"))
    record_reads(
        judged.workspace,
        ReadRequest(change=change, is_whole=True, person="github:ben", via="approval", host_account="github:ben"),
    )
    assert len(unread(judged, change)) == 1
