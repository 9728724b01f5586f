"""``custody`` without a verb: the state of this repository and the next command."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from custody.core.plural import count_noun, noun_for_count
from custody.terminal.dates import format_when
from custody.terminal.screen import Screen, StyledText, TextLine, table_lines

if TYPE_CHECKING:
    from custody.intake.install.repository_status import RepositoryStatus


HOOK_STATES = {
    "set up": "hooks installed",
    "partly": "hooks partly installed",
    "misled": "hooks of another repository",
    "off": "hooks disabled",
    "unreadable": "unreadable settings",
    "not set up": "no hooks",
    "transcripts": "transcripts only, no hook",
    "none": "no hooks supported",
}
"""The states of an agent's hooks, for people."""
TOOL_TITLES = {"entire": "Entire", "git-ai": "git-ai", ".agent-trace": "Agent Trace"}
"""Other attribution tools, by their argument of ``custody import``."""


def render_repository_status(status: RepositoryStatus | None, screen: Screen, now_ns: int) -> Iterator[TextLine]:
    """Yield the status for people; its last line is the next command."""
    if status is None:
        yield "custody shows who wrote each line of a git repository, but this folder is not in one"
        yield _hint("run it inside a git repository, or see 'custody --help'")
        return
    live = status.recorded_live
    yield f"Recording is set up for {', '.join(live)}" if live else "Recording is not set up in this repository"
    yield from table_lines([(StyledText(name, "muted"), text) for name, text in _status_rows(status, now_ns)], screen)
    yield _hint(_next_command(status))
    yield from map(_hint, list_tool_commands(status.tools))


def list_tool_commands(tools: Iterable[str]) -> list[str]:
    """Return for each other attribution tool the command that imports its evidence."""
    return [f"run 'custody import {name}' to import what {TOOL_TITLES[name]} recorded here" for name in tools]


def _status_rows(status: RepositoryStatus, now_ns: int) -> Iterator[tuple[str, str]]:
    yield "  repository", str(status.path)
    if status.broken:
        yield "  problems", ", ".join(f"{agent.title} ({HOOK_STATES[agent.hooks]})" for agent in status.broken)
    if not status.recorded_live and status.found:
        yield "  agents found", ", ".join(agent.title for agent in status.found)
    last = "" if status.last is None else f", last session {format_when(status.last, now_ns)}"
    records = count_noun(status.records, "record")
    yield "  recorded", f"{count_noun(status.sessions, 'session')}, {records}{last}"
    if status.not_imported:
        count = sum(status.not_imported.values())
        yield "  not imported", f"{count_noun(count, 'session')} on disk ({_join_counts(status.not_imported.items())})"
    if status.tools:
        yield "  other tools", f"{', '.join(TOOL_TITLES[name] for name in status.tools)}, not imported"


def _join_counts(counts: Iterable[tuple[str, int]]) -> str:
    return ", ".join(f"{title} {count:,}" for title, count in counts)


def _next_command(status: RepositoryStatus) -> str:
    if status.broken:
        return "run 'custody doctor' to see what to fix"
    if not status.recorded_live and status.used:
        return f"run 'custody init' to record {noun_for_count(len(status.used), 'this agent', 'these agents')}"
    if not status.recorded_live and status.found:
        return f"run 'custody init --agent {status.found[0].name}' to record it"
    if status.not_imported:
        count = sum(status.not_imported.values())
        return f"run 'custody import' to import {noun_for_count(count, 'this session', 'these sessions')}"
    if status.sessions:
        return "run 'custody blame FILE' to see who wrote each line, 'custody why FILE:LINE' to see why"
    if status.recorded_live:
        return "work with an agent, then run 'custody log'"
    return "run 'custody init --agent NAME' to record an agent, or 'custody demo' to try a sample repository"


def _hint(text: str) -> TextLine:
    return StyledText(f"hint: {text}", "muted")
