"""The command ``runs``: arguments in, the recorded commands out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

import click

from custody.core.plural import count_noun
from custody.terminal.dates import format_when
from custody.terminal.frame import current_screen, json_option, open_command_workspace, print_command_report
from custody.terminal.screen import Role, Screen, StyledText, TextLine, escape_controls

if TYPE_CHECKING:
    from custody.runs.wire import RunReport, RunsReport, TestsReport

RUNS_MAX = 10_000
FILES_SHOWN_MAX = 3
SECONDS_PER_MINUTE = 60
COMMAND_COLUMNS_PIPED = 500
MARKS: Mapping[str, tuple[str, str, Role]] = MappingProxyType(
    {"passed": ("✓", "passed", "ok"), "failed": ("✗", "failed", "bad"), "unknown": ("?", "unknown", "unknown")}
)
STATE_WORDS: Mapping[str, str] = MappingProxyType(
    {
        "after-edit": "passed after the last edit",
        "stale": "not since the last edit; the last passing run came before it",
        "failed": "the last test run failed",
        "none": "no test run was recorded",
        "unknown": "cannot tell whether tests passed after the last edit",
    }
)


@click.command("runs")
@click.argument("target", metavar="[SESSION | BASE..HEAD]", required=False)
@click.option("-a", "--all", "everything", is_flag=True, help="Also list git, programs and other commands.")
@click.option(
    "-n",
    "limit",
    type=click.IntRange(1, RUNS_MAX),
    default=100,
    show_default=True,
    help="Show at most this many runs, the last ones.",
)
@json_option
@click.pass_context
def runs_command(ctx: click.Context, target: str | None, *, everything: bool, limit: int, as_json: bool) -> int:
    """List the tests, builds and checks that agents ran, with their results.

    Without SESSION or BASE..HEAD, lists those of the last session. A result is unknown if the command hides it. Under a
    run are the files of the session or the change that were edited after it. docs/runs.md describes what counts.

    \b
    Examples:
      custody runs
      custody runs 91ab03c7 --all
      custody runs main..HEAD --json
    """
    from custody.runs.app.report import report_runs, shorten_run_sessions

    workspace = open_command_workspace(ctx)
    report = report_runs(workspace, target, everything=everything, limit=limit)
    ids = {} if as_json else shorten_run_sessions(workspace, {run.session for run in report.runs})
    lines = render_runs(report, ids, current_screen(workspace), workspace.now_ns())
    return print_command_report(report, lines, as_json=as_json)


def render_runs(report: RunsReport, ids: Mapping[str, str], screen: Screen, now_ns: int) -> Iterator[TextLine]:
    """Yield one line for each run, with the files that were edited after it below."""
    if not report.runs:
        yield "no test, build or check was recorded"
        yield StyledText("hint: --all lists all commands; review.test_commands names the tests of a project", "muted")
        return
    for run in report.runs:
        mark, word, role = MARKS[run.result]
        facts = [run.kind, describe_run_result(run), _format_seconds(run.seconds), format_when(run.ended, now_ns)]
        head = StyledText(f"{ids.get(run.session, run.session)}  ", "muted")
        sign = StyledText(f"{mark if screen.has_unicode else word} ", role)
        yield (head, sign, " · ".join(filter(None, facts)))
        width = screen.columns - 4 if screen.is_terminal else COMMAND_COLUMNS_PIPED
        yield f"    {screen.cut(escape_controls(run.command), width)}"
        if run.edited_after:
            yield StyledText(f"    edited after it: {escape_controls(_join_files(run.edited_after))}", "warn")
    if report.more:
        yield StyledText(f"{count_noun(report.more, 'earlier run')} left out; -n lists more", "muted")


def describe_run_result(run: RunReport) -> str:
    """Return the result in words, with the counts: ``23 passed``, ``failed``, ``result unknown``."""
    if run.result == "unknown":
        return "result unknown"
    if run.counts is None:
        return run.result
    counts = run.counts
    parts = ((counts.failed, "failed"), (counts.passed, "passed"), (counts.skipped, "skipped"))
    return ", ".join(f"{number:,} {word}" for number, word in parts if number) or run.result


def describe_tests(tests: TestsReport) -> str:
    """Return whether a file was tested, in words with the command: ``23 passed after the last edit: pytest -q``."""
    run = tests.run
    if run is None:
        return STATE_WORDS[tests.state]
    if tests.state == "after-edit":
        return f"{describe_run_result(run)} after the last edit: {run.command}"
    return f"{STATE_WORDS[tests.state]}: {run.command}"


def _format_seconds(seconds: float | None) -> str:
    if seconds is None:
        return ""
    if seconds < SECONDS_PER_MINUTE:
        return f"{seconds:.1f} s"
    return f"{int(seconds // SECONDS_PER_MINUTE)} min {int(seconds % SECONDS_PER_MINUTE):02} s"


def _join_files(files: list[str]) -> str:
    more = len(files) - FILES_SHOWN_MAX
    return ", ".join(files[:FILES_SHOWN_MAX]) + (f", {more} more" if more > 0 else "")
