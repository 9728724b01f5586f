"""Whether recorded runs and the diff back a statement."""

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from custody.core.ids import AgentName, CallId, SessionId
from custody.core.run_summary import RunCounts
from custody.runs.comparison import compare_statement
from custody.runs.model import (
    ChangedFileFacts,
    CommandKind,
    CommandRun,
    RunCoverage,
    RunResult,
    RunScope,
    StatementFacts,
    StatementState,
    TextStatement,
)
from custody.runs.model import StatementKind as Kind
from tests.builders.table import table

P, F, U = RunResult.PASSED, RunResult.FAILED, RunResult.UNKNOWN
TEST, LINT, BUILD, OTHER = CommandKind.TEST, CommandKind.LINT, CommandKind.BUILD, CommandKind.OTHER
CODE = ChangedFileFacts(path="src/fees.py", is_code=True, is_test=False, edits_ns=(5,))
TESTS = ChangedFileFacts(path="tests/test_fees.py", is_code=True, is_test=True, has_new_tests=True)
DOCS = ChangedFileFacts(path="docs/fees.md", is_code=False, is_test=False, edits_ns=(50,))
SUITE = RunCoverage(RunScope.SUITE, "")
PART = RunCoverage(RunScope.NAMED, "", ("tests/test_fees.py",))


def a_run(
    at: int,
    result: RunResult = P,
    kind: CommandKind = TEST,
    command: str = "pytest",
    *,
    coverage: RunCoverage = SUITE,
    runner: str = "pytest",
) -> CommandRun:
    return CommandRun(
        agent=AgentName("robot"),
        session=SessionId("s"),
        call=CallId(str(at)),
        n=0,
        command=command,
        kind=kind,
        runner=runner,
        result=result,
        ended_ns=at,
        coverage=coverage,
    )


def some_facts(
    *runs: CommandRun, files: tuple[ChangedFileFacts, ...] = (CODE,), until_ns: int | None = None
) -> StatementFacts:
    return StatementFacts(files=files, runs=runs, counted=runs, sessions=1, until_ns=until_ns)


def state_of(kind: Kind, facts: StatementFacts, *, is_whole: bool = False) -> str:
    return compare_statement(TextStatement(kind, "it does", 1, is_whole), facts).state.value


@table(
    "kind, runs, state",
    [
        (Kind.TESTS_PASS, [], "unbacked"),
        (Kind.TESTS_PASS, [a_run(6)], "backed"),
        (Kind.TESTS_PASS, [a_run(4)], "unbacked"),
        (Kind.TESTS_PASS, [a_run(6, F)], "contradicted"),
        (Kind.TESTS_PASS, [a_run(4, F)], "contradicted"),
        (Kind.TESTS_PASS, [a_run(6, F), a_run(7)], "backed"),
        (Kind.TESTS_PASS, [a_run(6), a_run(7, F)], "contradicted"),
        (Kind.TESTS_PASS, [a_run(6, U)], "unbacked"),
        (Kind.TESTS_PASS, [a_run(4), a_run(6, U)], "unbacked"),
        (Kind.TESTS_PASS, [a_run(6, kind=LINT)], "unbacked"),
        (Kind.TESTS_PASS, [a_run(6, U, OTHER, "npm run validate")], "unknown"),
        (Kind.LINT_PASSES, [a_run(6)], "unbacked"),
        (Kind.LINT_PASSES, [a_run(6, kind=LINT)], "backed"),
        (Kind.LINT_PASSES, [a_run(6, F, LINT), a_run(7)], "contradicted"),
        (Kind.BUILD_PASSES, [a_run(6, runner="go")], "backed"),
        (Kind.BUILD_PASSES, [a_run(6)], "unbacked"),
        (Kind.BUILD_PASSES, [a_run(6, F, BUILD)], "contradicted"),
        (Kind.CHECKS_PASS, [a_run(6), a_run(7, F, LINT)], "contradicted"),
        (Kind.CHECKS_PASS, [a_run(6)], "backed"),
        (Kind.TESTS_RAN, [a_run(6, F)], "backed"),
        (Kind.TESTS_RAN, [a_run(6, kind=LINT)], "unbacked"),
        (Kind.NO_BEHAVIOR_CHANGE, [a_run(6)], "backed"),
        (Kind.NO_BEHAVIOR_CHANGE, [], "unbacked"),
        (Kind.NO_BEHAVIOR_CHANGE, [a_run(6, F)], "unbacked"),
    ],
)
def test_runs_back_or_contradict_a_statement(kind: Kind, runs: list[CommandRun], state: str) -> None:
    assert state_of(kind, some_facts(*runs)) == state


@table(
    "kind, files, state",
    [
        (Kind.DOCS_ONLY, (DOCS,), "backed"),
        (Kind.DOCS_ONLY, (DOCS, CODE), "contradicted"),
        (Kind.DOCS_ONLY, (TESTS,), "contradicted"),
        (Kind.NO_PRODUCTION_CODE, (TESTS, DOCS), "backed"),
        (Kind.NO_PRODUCTION_CODE, (CODE,), "contradicted"),
        (Kind.TESTS_WRITTEN, (CODE, TESTS), "backed"),
        (Kind.TESTS_WRITTEN, (CODE,), "unbacked"),
        (Kind.NO_BEHAVIOR_CHANGE, (DOCS, TESTS), "backed"),
    ],
)
def test_the_diff_alone_decides_what_changed(kind: Kind, files: tuple[ChangedFileFacts, ...], state: str) -> None:
    assert state_of(kind, StatementFacts(files=files)) == state


def test_all_tests_pass_needs_more_than_a_run_of_some() -> None:
    part = some_facts(a_run(6, coverage=PART))
    assert state_of(Kind.TESTS_PASS, part, is_whole=True) == "unbacked"
    assert state_of(Kind.TESTS_PASS, part) == "backed"
    folder = some_facts(a_run(6, coverage=RunCoverage(RunScope.NAMED, "", ("src/...",))))
    assert state_of(Kind.TESTS_PASS, folder, is_whole=True) == "backed"


def test_edits_of_documents_after_the_run_do_not_matter() -> None:
    assert state_of(Kind.TESTS_PASS, some_facts(a_run(6), files=(CODE, DOCS))) == "backed"


def test_later_edits_and_runs_belong_to_another_change() -> None:
    later = replace(CODE, edits_ns=(5, 20))
    assert state_of(Kind.TESTS_PASS, some_facts(a_run(6), a_run(25, F), files=(later,), until_ns=10)) == "backed"
    assert state_of(Kind.TESTS_PASS, some_facts(a_run(25), files=(later,), until_ns=10)) == "unbacked"


def test_without_recorded_sessions_runs_say_nothing() -> None:
    facts = replace(some_facts(), sessions=0)
    assert state_of(Kind.TESTS_PASS, facts) == "unknown"
    assert state_of(Kind.DOCS_ONLY, facts) == "contradicted"


def test_a_failure_is_named_with_its_count_and_the_files_of_a_late_edit_are() -> None:
    failed = replace(a_run(6, F), counts=RunCounts(3, 2, 0))
    found = compare_statement(TextStatement(Kind.TESTS_PASS, "Tests pass", 1), some_facts(failed))
    assert (found.record, found.run) == ("the last test run failed (2 failed): {run}", failed)
    stale = compare_statement(TextStatement(Kind.TESTS_PASS, "Tests pass", 1), some_facts(a_run(4)))
    assert stale.paths == ("src/fees.py",)


some_runs = st.builds(
    a_run,
    st.integers(1, 30),
    st.sampled_from(RunResult),
    st.sampled_from(CommandKind),
    st.sampled_from(("pytest", "npm run check")),
    coverage=st.sampled_from((SUITE, PART)),
    runner=st.sampled_from(("pytest", "go")),
)
DOUBTED = (StatementState.UNBACKED, StatementState.CONTRADICTED)


@given(st.sampled_from(Kind), st.booleans(), st.lists(some_runs, max_size=6), st.lists(some_runs, max_size=3))
def test_runs_that_do_not_count_never_speak_for_a_statement(
    kind: Kind,
    whole: bool,
    counted: list[CommandRun],
    more: list[CommandRun],
) -> None:
    def ordered(runs: list[CommandRun]) -> tuple[CommandRun, ...]:
        return tuple(sorted(runs, key=lambda run: run.ended_ns))

    said = TextStatement(kind, "it does", 1, whole)
    facts = replace(some_facts(), runs=ordered(counted), counted=ordered(counted))
    before = compare_statement(said, facts).state in DOUBTED
    after = compare_statement(said, replace(facts, runs=ordered([*counted, *more]))).state in DOUBTED
    assert after or not before
