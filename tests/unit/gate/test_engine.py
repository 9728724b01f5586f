"""A verdict is as strict as its strictest reason, and needs at least one check."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from custody.core.errors import InputError
from custody.gate.checks import check_attribution, judge
from custody.gate.model import CODES, GateEvidence, Reason, ReasonCode, VerdictLevel
from custody.gate.rules import GateRules
from tests.unit.gate.builders import a_change, agents, level, nobodys, rules_with, verdict

RULES = GateRules()


def test_an_empty_list_of_checks_is_refused_not_passed() -> None:
    with pytest.raises(InputError, match="without checks"):
        judge(a_change(agents()), [], RULES)
    with pytest.raises(InputError, match="without checks"):
        judge(a_change(), [], RULES)


def test_without_a_reason_a_change_is_approved() -> None:
    assert verdict(a_change(agents())).reasons == ()
    assert level(a_change(agents())) is VerdictLevel.APPROVE
    assert level(a_change()) is VerdictLevel.APPROVE


def test_the_strictest_reason_decides_and_stands_first() -> None:
    rules = rules_with(
        {ReasonCode.ATTR_UNSEEN: "block", ReasonCode.ATTR_NONE: "block", ReasonCode.ATTR_WEAK: "approve"}
    )
    found = verdict(a_change(agents(tier=6), nobodys()), rules)
    assert found.level is VerdictLevel.BLOCK
    assert [(reason.code, reason.level) for reason in found.reasons] == [
        (ReasonCode.ATTR_NONE, VerdictLevel.BLOCK),
        (ReasonCode.ATTR_WEAK, VerdictLevel.APPROVE),
    ]


def test_a_reason_that_only_approves_is_still_told() -> None:
    rules = rules_with({ReasonCode.ATTR_WEAK: "approve"})
    found = verdict(a_change(agents(tier=6)), rules)
    assert found.level is VerdictLevel.APPROVE
    assert [reason.code for reason in found.reasons] == [ReasonCode.ATTR_WEAK]


def test_the_order_of_checks_does_not_matter() -> None:
    def other(_seen: GateEvidence, rules: GateRules) -> Iterator[Reason]:
        yield rules.reason(ReasonCode.ATTR_NONE, "another check's sentence")

    seen = a_change(nobodys(), agents(tier=6))
    assert judge(seen, [check_attribution, other], RULES) == judge(seen, [other, check_attribution], RULES)


def test_every_code_has_its_row_and_names_its_check() -> None:
    assert list(CODES) == list(ReasonCode)
    assert {code.value.partition("-")[0] for code in ReasonCode} == {
        "ATTR",
        "TRUST",
        "DUPE",
        "CITE",
        "GRAPH",
        "INTEG",
        "POLICY",
        "REVIEW",
        "STATEMENT",
        "TEST",
    }
    assert all(about.meaning.endswith(".") and not about.remedy.endswith(".") for about in CODES.values())


def test_what_is_unseen_may_be_milder_than_nothing_that_its_check_can_say() -> None:
    for code, about in CODES.items():
        check, _, name = code.value.partition("-")
        if name in ("UNSEEN", "UNKNOWN"):
            others = {other for other in ReasonCode if other.value.startswith(f"{check}-") and other is not code}
            assert set(about.never_milder_than) >= others


def test_lines_of_an_unknown_author_are_never_milder_than_what_is_said_of_an_agents_lines() -> None:
    records = {code for code in ReasonCode if code.value.startswith(("TRUST-", "GRAPH-"))}
    records |= {ReasonCode.CITE_UNREAD, ReasonCode.CITE_MISSING}
    for code in (ReasonCode.ATTR_UNSEEN, ReasonCode.ATTR_NONE):
        assert set(CODES[code].never_milder_than) >= records


def test_every_code_has_its_paragraph_and_its_row_in_the_reference() -> None:
    docs = Path(__file__).resolve().parents[3] / "docs"
    page, reference = (docs / "gate.md").read_text(), (docs / "reference" / "reasons.md").read_text()
    assert [code.value for code in ReasonCode if f"\n`{code.value}`: " not in page] == []
    assert [code.value for code in ReasonCode if f"\n| `{code.value}` | " not in reference] == []
