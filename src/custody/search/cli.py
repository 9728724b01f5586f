"""The command ``search``: arguments in, the found sessions out."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from custody.core.plural import count_noun
from custody.terminal.dates import format_when
from custody.terminal.frame import current_screen, json_option, open_command_workspace, print_command_report
from custody.terminal.screen import Screen, StyledText, TextLine, escape_controls

if TYPE_CHECKING:
    from collections.abc import Mapping

    from custody.search.wire import FoundCommit, FoundSession, SearchReport

RESULTS_MAX = 1000
SHA_DIGITS = 7
TEXT_COLUMNS_PIPED = 200
KINDS = ("prompt", "answer", "command", "file", "commit")


@click.command("search")
@click.argument("words", nargs=-1, required=True)
@click.option(
    "-n",
    "limit",
    type=click.IntRange(1, RESULTS_MAX),
    default=10,
    show_default=True,
    help="Show at most this many sessions.",
)
@click.option("--agent", metavar="NAME", help="Search only sessions of this agent.")
@click.option("--since", metavar="WHEN", help="Search only since: 30d, 12h, 2w, 2026-01-31 or a timestamp.")
@click.option("--file", "path", metavar="PATH", help="Search only sessions that changed this file or folder.")
@click.option(
    "--in",
    "kinds",
    type=click.Choice(KINDS),
    multiple=True,
    help="Search only texts of this kind; several times for several kinds.",
)
@json_option
@click.pass_context
def search_command(  # noqa: PLR0913 - one for each option
    ctx: click.Context,
    words: tuple[str, ...],
    *,
    limit: int,
    agent: str | None,
    since: str | None,
    path: str | None,
    kinds: tuple[str, ...],
    as_json: bool,
) -> int:
    """Search sessions by words of prompts, answers, commands, files and commits.

    The best sessions come first: those with rare words, in prompts, close together. A session does not need to have
    all of the words. Put words that belong together in quotes ('"half to even"'); 'refu*' finds words that start so.

    \b
    Examples:
      custody search refund partial payment
      custody search '"half to even"' --file src/ledger
      custody search flaky test --since 30d --agent claude-code
    """
    from custody.core.wire.time import parse_start_time
    from custody.search.app import SearchRequest, search_sessions, shorten_found_session_ids
    from custody.search.model import TextKind

    workspace = open_command_workspace(ctx)
    now_ns = workspace.now_ns()
    request = SearchRequest(
        words=" ".join(words),
        limit=limit,
        agent=agent,
        since_ns=None if since is None else parse_start_time(since, now_ns),
        path=None if path is None else workspace.repository.path(path, workspace.folder).display,
        kinds=tuple(TextKind(kind) for kind in dict.fromkeys(kinds)) or tuple(TextKind),
    )
    report = search_sessions(workspace, request)
    ids = {} if as_json else shorten_found_session_ids(workspace, report)
    return print_command_report(report, render_found_sessions(report, ids, current_screen(), now_ns), as_json=as_json)


def render_found_sessions(
    report: SearchReport, ids: Mapping[str, str], screen: Screen, now_ns: int
) -> Iterator[TextLine]:
    """Yield two or three lines for each session: its best text, who and when, and what became of it."""
    if not report.sessions:
        yield f"No session found among {count_noun(report.searched, 'session')}."
        if report.missing and report.searched:
            yield f"No text has: {escape_controls(', '.join(report.missing))}."
        hint = "custody import reads past sessions of agents" if not report.searched else "try fewer or other words"
        yield StyledText(f"hint: {hint}", "muted")
        return
    for session in report.sessions:
        yield from _render_found_session(session, ids[session.session], screen, now_ns)
    yield ""
    shown = "" if report.total == len(report.sessions) else f"{len(report.sessions):,} of "
    first = ids[report.sessions[0].session]
    if report.missing:
        yield f"No text has: {escape_controls(', '.join(report.missing))}."
    yield (
        f"{shown}{count_noun(report.total, 'session')} found among {report.searched:,}. ",
        StyledText(f"hint: custody log {escape_controls(first)} shows one", "muted"),
    )


def _render_found_session(session: FoundSession, id_: str, screen: Screen, now_ns: int) -> Iterator[TextLine]:
    name = escape_controls(id_)
    indent = " " * (len(name) + 2)
    text = "(erased, or shared without text)" if session.text is None else " ".join(session.text.split())
    columns = screen.columns if screen.is_terminal else TEXT_COLUMNS_PIPED
    yield name, "  ", screen.cut(escape_controls(text), columns - len(indent))
    facts = f" · {format_when(session.at, now_ns)} · in {_name_kinds(session)}"
    yield indent, StyledText(escape_controls(session.agent), "agent"), StyledText(facts, "muted")
    if session.commits:
        outcome = escape_controls(_describe_commits(session.commits))
        yield indent, StyledText(screen.cut(outcome, columns - len(indent)), "muted")


def _name_kinds(session: FoundSession) -> str:
    return ", ".join(sorted(session.matched, key=KINDS.index))


def _describe_commits(commits: list[FoundCommit]) -> str:
    """Return the last commit of a session, and whether it is merged.

    >>> from custody.search.wire import FoundCommit
    >>> _describe_commits([FoundCommit("a" * 40, "round fees", True), FoundCommit("b" * 40, None, None)])
    'committed bbbbbbb, 1 earlier commit'
    >>> _describe_commits([FoundCommit("a" * 40, "round fees", False)])
    'committed aaaaaaa round fees (not merged into HEAD)'
    """
    last = commits[-1]
    subject = "" if last.subject is None else f" {last.subject}"
    state = " (not merged into HEAD)" if last.merged is False else ""
    earlier = "" if len(commits) == 1 else f", {count_noun(len(commits) - 1, 'earlier commit')}"
    return f"committed {last.commit[:SHA_DIGITS]}{subject}{state}{earlier}"
