"""The test state of a hunk as JSON."""

from custody.core.wire.time import format_timestamp
from custody.runs import CommandRun, TestEvidence
from custody.runs.wire import RunCountsReport, RunReport, TestsReport

COMMAND_CHARACTERS_MAX = 300
NS_PER_S = 1_000_000_000


def report_tests(tests: TestEvidence) -> TestsReport:
    """Return whether a file was tested after its last edit, and the run that this rests on."""
    return TestsReport(
        state=tests.state.value,
        edited=None if tests.edited_ns is None else format_timestamp(tests.edited_ns),
        run=None if tests.run is None else _report_run(tests.run),
    )


def _report_run(run: CommandRun) -> RunReport:
    duration = run.duration_ns
    counts = run.counts
    return RunReport(
        agent=run.agent,
        session=run.session,
        call=run.call,
        command=run.command[:COMMAND_CHARACTERS_MAX],
        kind=run.kind.value,
        runner=run.runner,
        result=run.result.value,
        source="output" if run.from_output else "none" if run.exit_code is None else "status",
        ended=format_timestamp(run.ended_ns),
        started=None if run.started_ns is None else format_timestamp(run.started_ns),
        seconds=None if duration is None else duration / NS_PER_S,
        exit_code=run.exit_code,
        counts=None if counts is None else RunCountsReport(counts.passed, counts.failed, counts.skipped),
        scope=run.coverage.scope.value,
        folder=run.coverage.folder,
        names=list(run.coverage.names),
        record=None if run.record is None else str(run.record),
    )
