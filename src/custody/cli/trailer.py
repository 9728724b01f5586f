"""``custody trailer``."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from custody.core.errors import InputError
from custody.core.plural import count_noun
from custody.terminal.frame import json_option, open_command_workspace, print_command_report
from custody.terminal.screen import StyledText, TextLine, escape_controls

if TYPE_CHECKING:
    from custody.attribution.wire import CommitTrailers, TrailerReport

SHA_DIGITS = 7


@click.command("trailer")
@click.argument("what", required=False, default="HEAD", metavar="[COMMIT|BASE..HEAD]")
@click.option("--check", is_flag=True, help="Exit with 1 if a trailer is missing or no record backs it.")
@click.option(
    "--write",
    "message",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Add the missing trailers to the message in FILE, as a commit-msg hook does.",
)
@json_option
@click.pass_context
def trailer_command(ctx: click.Context, what: str, *, check: bool, message: Path | None, as_json: bool) -> int:
    """Show, write or check 'Assisted-by' trailers that rest on records.

    A commit should have one trailer 'Assisted-by: NAME:MODEL' for each agent and model that wrote lines of it. Only
    recorded edits count, so a trailer cannot back itself. Merges of a range are left out. Exit status of --check: 0
    each commit has the trailers that the records support, 1 not.

    \b
    Examples:
      custody trailer
      custody trailer main..topic --check
      custody trailer HEAD --write .git/COMMIT_EDITMSG
    """
    from custody.attribution.app.trailers import find_commit_trailers

    if check and message is not None:
        raise InputError("--check and --write are mutually exclusive", hint="leave out one of them")
    report = find_commit_trailers(open_command_workspace(ctx), what, check=check, message=message)
    lines = _render_check(report) if check else _render_trailers(report)
    return print_command_report(report, lines, as_json=as_json)


def _render_trailers(report: TrailerReport) -> Iterator[TextLine]:
    """Yield the trailers of one commit as they go into its message; with the commits if there are several."""
    if len(report.commits) == 1:
        (commit,) = report.commits
        yield from (escape_controls(trailer) for trailer in commit.trailers)
        if not commit.trailers:
            yield f"No recorded agent wrote lines of {_name_commit(commit)}."
        if report.written is not None and commit.missing:
            added = count_noun(len(commit.missing), "trailer")
            yield StyledText(f"added {added} to {escape_controls(report.written)}", "muted")
        return
    for commit in report.commits:
        yield _name_commit(commit)
        yield from (f"  {escape_controls(trailer)}" for trailer in commit.trailers or ["(no recorded agent)"])
    if not report.commits:
        yield "No commits."


def _render_check(report: TrailerReport) -> Iterator[TextLine]:
    wrong = [commit for commit in report.commits if commit.missing or commit.unbacked]
    total = count_noun(len(report.commits), "commit")
    if not wrong:
        yield StyledText(f"OK: {total} checked, each has the trailers that the records support", "ok")
        return
    yield StyledText(f"FAILED: trailers of {count_noun(len(wrong), 'commit')} of {total}", "bad")
    for commit in wrong:
        yield _name_commit(commit)
        yield from (f"  missing   {escape_controls(trailer)}" for trailer in commit.missing)
        yield from (f"  unbacked  {escape_controls(trailer)}" for trailer in commit.unbacked)
    yield StyledText("hint: 'custody trailer COMMIT' prints the trailers; add them with 'git rebase' or amend", "muted")


def _name_commit(commit: CommitTrailers) -> str:
    return f"{commit.commit[:SHA_DIGITS]} {escape_controls(commit.subject)}"
