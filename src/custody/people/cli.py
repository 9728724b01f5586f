"""The verbs of people's statements.

May touch the terminal. Calls use cases and renders their reports.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from custody.core.errors import InputError
from custody.core.plural import count_noun
from custody.terminal.frame import json_option, open_command_workspace, print_command_report
from custody.terminal.screen import TextLine

if TYPE_CHECKING:
    from custody.people.wire import AuthorReport, HunkReader, HunkReadState, ReadReport, ReadShareReport

SHORT_DIGITS = 12
DAYS_COUNTED = 30


@click.command("read")
@click.argument("change", required=False, metavar="[CHANGE]")
@click.option("--hunk", "hunks", metavar="ID", multiple=True, help="Mark this hunk as read; repeatable.")
@click.option("--path", "paths", metavar="PATH", multiple=True, help="Mark the hunks of this file as read; repeatable.")
@click.option("--all", "is_whole", is_flag=True, help="Mark every hunk of CHANGE as read.")
@click.option("--actor", help="Who read them (default: you).")
@click.option("--since", metavar="DATE", help="Without CHANGE: count commits since this date (default: 30 days).")
@json_option
@click.pass_context
def read_command(  # noqa: PLR0913 - one argument for each option
    ctx: click.Context,
    change: str | None,
    *,
    hunks: tuple[str, ...],
    paths: tuple[str, ...],
    is_whole: bool,
    actor: str | None,
    since: str | None,
    as_json: bool,
) -> int:
    """Mark hunks of a change as read, or show who read them.

    CHANGE is BASE..HEAD. A mark belongs to the text of a hunk: a rebase, an amended message or a squash keeps it, and a
    changed hunk is unread again. Marks are self-reported: they never speak for a change of the reader.

    Without CHANGE, count the agents' lines on the current branch that a person read.

    \b
    Examples:
      custody read main..topic
      custody read main..topic --path src/app.py
      custody read --since 2026-01-01
    """
    from custody.people.reads import ReadRequest, list_change_reads, record_reads

    workspace = open_command_workspace(ctx)
    is_mark = bool(hunks or paths or is_whole)
    if change is None:
        if is_mark or actor is not None:
            raise InputError("missing CHANGE", hint="name the change, such as main..HEAD")
        from custody.people.read_share import count_read_lines

        share = count_read_lines(workspace, since=since, days=DAYS_COUNTED)
        return print_command_report(share, "\n".join(render_read_share(share)), as_json=as_json)
    if since is not None:
        raise InputError("--since excludes CHANGE", hint="leave out one of them")
    if is_mark:
        request = ReadRequest(change=change, hunks=hunks, paths=paths, is_whole=is_whole, person=actor)
        report = record_reads(workspace, request)
    elif actor is not None:
        raise InputError("--actor needs hunks to mark", hint="add --hunk, --path or --all")
    else:
        report = list_change_reads(workspace, change)
    return print_command_report(report, _render_reads(report), as_json=as_json)


def render_read_share(report: ReadShareReport) -> Iterator[str]:
    """Yield how many agent lines on main a person read."""
    yield (
        f"{report.read_lines:,} of {count_noun(report.agent_lines, 'agent line')} on main since {report.since[:10]}"
        f" were read by a person, {report.witnessed_lines:,} of them witnessed"
    )
    yield f"counted in {count_noun(report.commits, 'commit')}"
    yield from (f"note: {note}" for note in report.notes)


def _render_reads(report: ReadReport) -> Iterator[TextLine]:
    recorded = f"; {count_noun(report.recorded, 'mark')} recorded" if report.recorded else ""
    yield f"{report.read:,} of {count_noun(len(report.hunks), 'hunk')} read{recorded}"
    yield from (_render_hunk(hunk) for hunk in report.hunks)


def _render_hunk(hunk: HunkReadState) -> str:
    place = hunk.path if hunk.first is None else f"{hunk.path}:{hunk.first}-{hunk.last}"
    state = "; ".join(map(_render_reader, hunk.readers)) or "unread"
    return f"{hunk.id[:SHORT_DIGITS]}  {place}  +{hunk.added} -{hunk.removed}  {state}"


def _render_reader(reader: HunkReader) -> str:
    from custody.terminal.dates import format_time

    how = {"approval": "approved", "page": "read", "command": "read"}.get(reader.via, "read")
    return f"{how} by {reader.person} {format_time(reader.at)} ({reader.assurance})"


@click.command("author")
@click.argument("place", metavar="PATH[:LINES]")
@click.argument("revision", required=False, metavar="[REV]")
@click.option("--message", metavar="TEXT", help="Why, or how you wrote them.")
@click.option("--actor", help="Who wrote them (default: you).")
@json_option
@click.pass_context
def author_command(
    ctx: click.Context, place: str, revision: str | None, *, message: str | None, actor: str | None, as_json: bool
) -> int:
    """Record that you wrote lines by hand.

    LINES is 12 or 12-30 (default: the whole file). Without REV the file on disk counts, else the one in HEAD. The
    statement belongs to the text of the lines, so it follows them when they move.

    It is self-reported: blame, why and stats show you as the author of lines without evidence of an agent, never above
    Likely. It replaces no evidence, and never makes a verdict milder. 'custody erase RECORD' removes it.

    \b
    Examples:
      custody author src/app.py:12-30 --message "typed from the spec"
      custody author src/app.py HEAD~1
    """
    from custody.people.authorship import AuthorRequest, record_author

    request = AuthorRequest(place=place, revision=revision, message=message, person=actor)
    report = record_author(open_command_workspace(ctx), request)
    return print_command_report(report, "\n".join(_render_author(report)), as_json=as_json)


def _render_author(report: AuthorReport) -> Iterator[str]:
    place = f"{report.path}:{report.first}-{report.last}"
    state = "already recorded" if report.record is None else f"recorded as {report.record}"
    yield f"{report.person} wrote {place} ({count_noun(report.lines, 'line')}): {state}, self-reported"
    if report.contradicted:
        agents = ", ".join(report.agents)
        lines = count_noun(report.contradicted, "line")
        yield f"note: recorded evidence names {agents} for {lines}; it stays, and the contradiction is shown"
