"""The policy check yields one reason with the first five changed rules."""

import pytest
from msgspec.structs import replace

from custody.gate.checks import check_policy
from custody.gate.model import CODES, Reason, ReasonCode, VerdictLevel
from custody.gate.rules import GateRules, LevelName
from tests.unit.gate.builders import a_change, rules_with


def reasons(changed: tuple[str, ...], rules: GateRules | None = None) -> list[Reason]:
    return list(check_policy(replace(a_change(), policy=changed), rules or GateRules()))


def test_no_reason_for_a_change_that_sets_no_rule() -> None:
    assert reasons(()) == []


@pytest.mark.parametrize(
    ("count", "sentence"),
    [
        (1, "the change edits rules: r1"),
        (2, "the change edits rules: r1; r2"),
        (5, "the change edits rules: r1; r2; r3; r4; r5"),
        (6, "the change edits rules: r1; r2; r3; r4; r5; and 1 more"),
        (9, "the change edits rules: r1; r2; r3; r4; r5; and 4 more"),
    ],
)
def test_five_rules_are_named_and_the_others_counted(count: int, sentence: str) -> None:
    (reason,) = reasons(tuple(f"r{number}" for number in range(1, count + 1)))
    assert reason == Reason(
        ReasonCode.POLICY_CHANGED, VerdictLevel.REVIEW, sentence, CODES[ReasonCode.POLICY_CHANGED].remedy, spots=()
    )


@pytest.mark.parametrize(("level", "shown"), [("approve", "review"), ("review", "review"), ("block", "block")])
def test_the_rules_set_its_level_and_no_level_approves_it(level: LevelName, shown: str) -> None:
    (reason,) = reasons(("gate.calls from 'off' to 'on'",), rules_with({ReasonCode.POLICY_CHANGED: level}))
    assert reason.level is VerdictLevel(shown)


def test_edited_files_that_decide_what_may_merge_are_a_reason_of_their_own() -> None:
    evidence = replace(a_change(), guarded=("'custody.toml'", "'.github/workflows/ci.yml'"))
    (reason,) = check_policy(evidence, rules_with({ReasonCode.POLICY_CHANGED: "approve"}))
    assert reason.sentence == (
        "the change edits files that decide what may merge: 'custody.toml'; '.github/workflows/ci.yml'"
    )
    assert reason.level is VerdictLevel.REVIEW
