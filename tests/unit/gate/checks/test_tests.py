"""Reasons about tests: code of agents that was not tested after its last edit."""

from msgspec.structs import replace

from custody.core.paths import Lines
from custody.gate.checks import check_tests
from custody.gate.model import ChangeSpot, ReasonCode, TestedFile, VerdictLevel
from custody.gate.rules import GateRules, LevelName
from custody.runs import TestEvidence, TestState
from tests.builders.table import table
from tests.unit.gate.builders import a_change, agents, rules_with

ON = GateRules(tests="agents")


def a_file(state: TestState, path: str = "file1.py") -> TestedFile:
    return TestedFile(path, (Lines(1, 3),), TestEvidence(state))


@table(
    "state, code",
    [
        (TestState.AFTER_EDIT, None),
        (TestState.NONE, ReasonCode.TEST_NONE),
        (TestState.UNKNOWN, ReasonCode.TEST_NONE),
        (TestState.STALE, ReasonCode.TEST_STALE),
        (TestState.FAILED, ReasonCode.TEST_FAILED),
    ],
)
def test_each_state_but_a_pass_after_the_edit_is_a_reason(state: TestState, code: ReasonCode | None) -> None:
    evidence = replace(a_change(agents()), tests=(a_file(state),))
    assert [reason.code for reason in check_tests(evidence, ON)] == ([] if code is None else [code])
    assert list(check_tests(evidence, GateRules())) == []


def test_files_of_one_state_share_a_reason_with_their_lines() -> None:
    evidence = replace(a_change(agents()), tests=(a_file(TestState.STALE), a_file(TestState.STALE, "b.py")))
    (reason,) = check_tests(evidence, ON)
    assert reason.sentence == "the last passing test run came before the last edit of 'file1.py'; 'b.py'"
    assert reason.spots == (ChangeSpot("file1.py", Lines(1, 3)), ChangeSpot("b.py", Lines(1, 3)))


def test_a_failure_is_never_milder_than_no_run() -> None:
    strict = (ReasonCode.TEST_NONE, ReasonCode.ATTR_NONE, ReasonCode.ATTR_UNSEEN)
    levels: dict[ReasonCode, LevelName] = dict.fromkeys(strict, "block")
    rules = rules_with({**levels, ReasonCode.TEST_FAILED: "approve"}, tests="agents")
    (reason,) = check_tests(replace(a_change(agents()), tests=(a_file(TestState.FAILED),)), rules)
    assert reason.level is VerdictLevel.BLOCK
