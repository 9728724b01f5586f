"""Whether a file was tested after its last edit."""

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from custody.core.ids import AgentName, CallId, SessionId
from custody.core.paths import RepoPath
from custody.runs.evidence import judge_tests, merge_runs
from custody.runs.model import CommandKind, CommandRun, RunCoverage, RunResult, RunScope, TestState
from tests.builders.table import table

PATH = RepoPath.of("src/fees.py")
SUITE = RunCoverage(RunScope.SUITE, "")


def a_run(at: int, result: RunResult = RunResult.PASSED, coverage: RunCoverage = SUITE, call: str = "") -> CommandRun:
    return CommandRun(
        agent=AgentName("robot"),
        session=SessionId("s"),
        call=CallId(call or str(at)),
        n=0,
        command="pytest",
        kind=CommandKind.TEST,
        runner="pytest",
        result=result,
        ended_ns=at,
        coverage=coverage,
    )


P, F, U = RunResult.PASSED, RunResult.FAILED, RunResult.UNKNOWN
OTHER = RunCoverage(RunScope.NAMED, "", ("tests/test_other.py",))


@table(
    "edits, runs, state",
    [
        ([5], [], TestState.NONE),
        ([5], [a_run(6)], TestState.AFTER_EDIT),
        ([5], [a_run(4)], TestState.STALE),
        ([5, 7], [a_run(6)], TestState.STALE),
        ([5], [a_run(6), a_run(7, F)], TestState.FAILED),
        ([5], [a_run(4, F)], TestState.FAILED),
        ([5], [a_run(6, F), a_run(7)], TestState.AFTER_EDIT),
        ([5], [a_run(6, U)], TestState.UNKNOWN),
        ([5], [a_run(4), a_run(6, U)], TestState.UNKNOWN),
        ([5], [a_run(6, coverage=OTHER)], TestState.UNKNOWN),
        ([5], [a_run(6), a_run(7, F, OTHER)], TestState.AFTER_EDIT),
        ([5], [a_run(6, coverage=RunCoverage(RunScope.SUITE, "web"))], TestState.UNKNOWN),
        ([5], [a_run(6, coverage=RunCoverage(RunScope.NAMED, "", ("tests/test_fees.py",)))], TestState.AFTER_EDIT),
        ([5], [replace(a_run(6), started_ns=4)], TestState.STALE),
        ([5], [replace(a_run(6), kind=CommandKind.LINT)], TestState.NONE),
        ([], [a_run(6)], TestState.UNKNOWN),
        ([5, 20], [a_run(6)], TestState.AFTER_EDIT),
        ([5, 20], [a_run(25)], TestState.NONE),
    ],
)
def test_the_state_is_that_of_the_last_run_after_the_last_edit(
    edits: list[int], runs: list[CommandRun], state: TestState
) -> None:
    assert judge_tests(PATH, edits, runs, until_ns=10).state is state


some_runs = st.lists(
    st.builds(
        a_run,
        st.integers(0, 20),
        st.sampled_from(RunResult),
        st.sampled_from((SUITE, OTHER, RunCoverage(RunScope.UNKNOWN, ""))),
        st.sampled_from("abcdef"),
    ),
    max_size=5,
)


@given(edits=st.lists(st.integers(0, 20), max_size=3), runs=some_runs, late=st.integers(0, 20))
def test_another_edit_or_a_failure_never_makes_a_file_tested(
    edits: list[int], runs: list[CommandRun], late: int
) -> None:
    before = judge_tests(PATH, edits, runs).state
    if before is TestState.AFTER_EDIT:
        return
    failed = a_run(late, F, call="z")
    assert judge_tests(PATH, edits, [*runs, failed]).state is not TestState.AFTER_EDIT
    if edits:
        assert judge_tests(PATH, [*edits, late], runs).state is not TestState.AFTER_EDIT


@given(runs=some_runs)
def test_runs_merge_to_one_per_call_in_any_order(runs: list[CommandRun]) -> None:
    merged = merge_runs(runs)
    assert len({run.call for run in runs}) == len(merged)
    assert {run.call: run.result for run in merge_runs(reversed(runs))} == {run.call: run.result for run in merged}
    for run in merged:
        same = {each.result for each in runs if each.call == run.call}
        assert run.result is (F if F in same else P if P in same else U)
