"""The trust check covers agents' lines only, reports every reason by its code, and treats unknown agents as bad."""

import pytest
from msgspec.structs import replace

from custody.attribution import LineOwner
from custody.core.assurance import Assurance
from custody.gate.model import AddedRange, MissingEvidence, ReasonCode, VerdictLevel
from custody.trust.model import Approval, FileVoucher, ReviewReason, ReviewRequirement
from tests.unit.gate.builders import (
    FINE,
    OTHER,
    REFUSED,
    ROBOT,
    UNSEEN,
    a_change,
    agents,
    codes,
    level,
    mixed,
    nobodys,
    persons,
    rules_with,
    verdict,
)


def test_an_agent_whose_record_allows_it_merges() -> None:
    assert codes(a_change(agents(), answers={ROBOT: FINE})) == []


def test_every_reason_is_reported_with_the_agent_that_it_is_about() -> None:
    found = verdict(a_change(agents(), answers={ROBOT: REFUSED}))
    assert [(reason.code.value, reason.sentence) for reason in found.reasons] == [
        ("TRUST-SAMPLES", "robot: the agent is new"),
        ("TRUST-SIZE", "robot: the change is large"),
    ]
    assert found.level is VerdictLevel.REVIEW


def test_of_several_agents_each_is_asked() -> None:
    seen = a_change(agents(), agents(author=OTHER), answers={ROBOT: FINE, OTHER: REFUSED})
    assert codes(seen) == ["TRUST-SAMPLES", "TRUST-SIZE"]


def test_a_line_that_is_partly_an_agents_is_one_of_it() -> None:
    assert codes(a_change(mixed(), answers={ROBOT: REFUSED})) == ["TRUST-SAMPLES", "TRUST-SIZE"]


def test_nothing_is_said_of_lines_that_no_agent_wrote() -> None:
    assert codes(a_change(persons(), trust=UNSEEN)) == []
    assert codes(a_change(nobodys(), trust=UNSEEN)) == ["ATTR-NONE"]
    assert codes(a_change(trust=UNSEEN)) == []


@pytest.mark.parametrize("author", [None, OTHER])
def test_an_agent_that_was_not_asked_about_is_not_known(author: object) -> None:
    stretch = AddedRange(agents(7, 9).lines, LineOwner.AGENT, 1, agents().grade, author)  # type: ignore[arg-type]
    (reason,) = verdict(a_change(stretch, answers={ROBOT: FINE})).reasons
    assert reason.code is ReasonCode.TRUST_UNKNOWN
    assert reason.sentence == "cannot tell which agent wrote 3 added lines, first at 'file1.py:7'"


def test_records_that_could_not_be_read_are_not_good_records() -> None:
    (reason,) = verdict(a_change(agents(), trust=MissingEvidence("the store is gone", "find it"))).reasons
    assert (reason.code, reason.sentence, reason.remedy) == (ReasonCode.TRUST_UNKNOWN, "the store is gone", "find it")


@pytest.mark.parametrize(
    "never", [never for never in ReviewRequirement if never not in (ReviewRequirement.SELF, ReviewRequirement.LOG)]
)
def test_every_never_has_its_code_in_the_gate(never: ReviewRequirement) -> None:
    assert codes(a_change(agents(), answers={ROBOT: Approval((ReviewReason(never, "because"),))})) == [never.value]


def test_by_default_it_never_blocks_and_a_policy_may() -> None:
    seen = a_change(agents(), answers={ROBOT: REFUSED})
    assert level(seen) is VerdictLevel.REVIEW
    blocking = {ReasonCode.ATTR_UNSEEN, ReasonCode.ATTR_NONE, ReasonCode.TRUST_UNKNOWN, ReasonCode.TRUST_SAMPLES}
    assert level(seen, rules_with({code: "block" for code in blocking})) is VerdictLevel.BLOCK


def test_a_rejected_change_without_lines_of_agents_is_named() -> None:
    (reason,) = verdict(
        replace(a_change(), vouchers=(FileVoucher("a.py", Assurance.SELF_REPORTED),), rejected_by="ana")
    ).reasons
    assert (reason.code.value, reason.sentence) == (
        "TRUST-REJECTED",
        "this change was already rejected or reverted by ana",
    )
