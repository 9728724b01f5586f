"""Reasons about what the texts of a change say."""

from msgspec.structs import replace

from custody.core.assurance import Assurance
from custody.gate.checks import check_statements
from custody.gate.model import ChangeSpot, ChangeStatement, ReasonCode, VerdictLevel
from custody.gate.rules import GateRules, LevelName
from custody.runs import ComparedStatement, StatementKind, StatementState, TextStatement
from tests.builders.table import table
from tests.unit.gate.builders import a_change, agents, rules_with

ON = GateRules(statements="on")


def a_statement(state: StatementState, *paths: str) -> ChangeStatement:
    said = TextStatement(StatementKind.TESTS_PASS, "All tests pass", 3)
    return ChangeStatement(
        "the description", ComparedStatement(said, state, "", None, paths), "no test run is recorded"
    )


@table(
    "state, code",
    [
        (StatementState.BACKED, None),
        (StatementState.UNKNOWN, None),
        (StatementState.UNBACKED, ReasonCode.STATEMENT_UNBACKED),
        (StatementState.CONTRADICTED, ReasonCode.STATEMENT_CONTRADICTED),
    ],
)
def test_only_what_records_doubt_is_a_reason(state: StatementState, code: ReasonCode | None) -> None:
    evidence = replace(a_change(agents()), statements=(a_statement(state),))
    assert [reason.code for reason in check_statements(evidence, ON)] == ([] if code is None else [code])
    assert list(check_statements(evidence, GateRules())) == []


def test_a_reason_has_both_texts_and_the_files() -> None:
    evidence = replace(a_change(agents()), statements=(a_statement(StatementState.UNBACKED, "fees.py"),))
    (reason,) = check_statements(evidence, ON)
    assert reason.sentence == "the description, line 3, says “All tests pass”, but no test run is recorded"
    assert reason.spots == (ChangeSpot("fees.py"),)


def test_many_statements_are_counted() -> None:
    evidence = replace(a_change(agents()), statements=(a_statement(StatementState.UNBACKED),) * 25)
    reasons = list(check_statements(evidence, ON))
    assert len(reasons) == 21 and reasons[-1].sentence == "5 more statements with this code"


def test_a_failure_is_never_milder_than_no_run() -> None:
    strict = (ReasonCode.STATEMENT_UNBACKED, ReasonCode.ATTR_NONE, ReasonCode.ATTR_UNSEEN)
    levels: dict[ReasonCode, LevelName] = dict.fromkeys(strict, "block")
    rules = rules_with({**levels, ReasonCode.STATEMENT_CONTRADICTED: "approve"}, statements="on")
    evidence = replace(a_change(agents()), statements=(a_statement(StatementState.CONTRADICTED),))
    (reason,) = check_statements(evidence, rules)
    assert reason.level is VerdictLevel.BLOCK


def test_the_run_behind_a_backed_statement_speaks_for_the_change() -> None:
    sound = a_change(replace(agents(), assurance=Assurance.WITNESSED))
    backed = replace(a_statement(StatementState.BACKED), assurance=Assurance.SELF_REPORTED)
    assert replace(sound, statements=(backed,)).assurance is Assurance.SELF_REPORTED
