"""Sessions as they were captured: which there are, and what happened in one."""

from collections import defaultdict
from dataclasses import dataclass
from typing import TypeVar

from custody.app.desk import Desk
from custody.model.errors import InputError
from custody.model.ids import AgentName
from custody.model.merging import merged_calls, merged_session
from custody.model.views import FileEdit, Prompt, Session, SourceRead, ToolCall
from custody.wire.reports import CallLine, LogReport, PromptLine, SessionLine, SessionReport
from custody.wire.times import text_from
from custody.world.store import Seen, SessionRow, Store

V = TypeVar("V")


@dataclass(frozen=True, slots=True)
class _Story:
    """Everything that was captured of one session, read once."""

    row: SessionRow
    session: Session | None
    prompts: list[Prompt]
    calls: list[ToolCall]
    edits: list[FileEdit]


def log(desk: Desk, *, limit: int) -> LogReport:
    """The sessions that were active last, newest first."""
    with desk.reading() as store, store.db.reading():
        stories = (_story(store, row) for row in store.sessions(limit=limit))
        return LogReport(sessions=[_line(story) for story in stories], total=store.session_count())


def log_session(desk: Desk, named: str) -> SessionReport:
    """What happened in the session whose id is or begins with ``named``: prompts, calls, their files and sources."""
    with desk.reading() as store, store.db.reading():
        rows = store.sessions(limit=3, named=named) or store.sessions(limit=3, starting=named)
        if len(rows) != 1:
            raise _which(named, rows)
        story = _story(store, rows[0])
        files: defaultdict[str | None, set[str]] = defaultdict(set)
        sources: defaultdict[str | None, set[str]] = defaultdict(set)
        for edit in story.edits:
            files[edit.call].add(edit.path.display)
        for read in _of(store, rows[0], "source_read", SourceRead):
            sources[read.call].add(read.locator)
        return SessionReport(
            session=_line(story),
            prompts=[PromptLine(p.id, text_from(p.at_ns), p.text.content) for p in story.prompts],
            calls=[_call_line(call, files[call.id], sources[call.id]) for call in story.calls],
        )


def _story(store: Store, row: SessionRow) -> _Story:
    prompts = {prompt.id: prompt for prompt in reversed(_of(store, row, "prompt", Prompt))}
    return _Story(
        row=row,
        session=merged_session(_of(store, row, "session", Session)),
        prompts=sorted(prompts.values(), key=lambda prompt: (prompt.at_ns, prompt.id)),
        calls=merged_calls(_of(store, row, "tool_call", ToolCall)),
        edits=_of(store, row, "file_edit", FileEdit),
    )


def _line(story: _Story) -> SessionLine:
    return SessionLine(
        agent=story.row.agent,
        session=story.row.session,
        started=text_from(story.row.first_ns),
        last=text_from(story.row.last_ns),
        model=story.session.model if story.session else None,
        operator=story.session.operator if story.session else None,
        prompts=len(story.prompts),
        calls=len(story.calls),
        files=sorted({edit.path.display for edit in story.edits}),
        events=story.row.events,
    )


def _call_line(call: ToolCall, files: set[str], sources: set[str]) -> CallLine:
    return CallLine(
        id=call.id,
        name=call.name,
        started=text_from(call.started_ns),
        ended=None if call.ended_ns is None else text_from(call.ended_ns),
        status=call.status.value,
        parent=call.parent,
        prompt=call.prompt,
        subagent=call.subagent,
        files=sorted(files),
        sources=sorted(sources),
    )


def _of(store: Store, row: SessionRow, table: str, kind: type[V]) -> list[V]:
    """The session's views of one kind, oldest first."""
    found: list[Seen] = store.views.look_up(table, "session = ?", (row.session,))
    return [seen.view for seen in found if isinstance(seen.view, kind) and _agent(seen.view) == row.agent]


def _agent(view: object) -> AgentName | None:
    return getattr(view, "agent", None)


def _which(named: str, rows: list[SessionRow]) -> InputError:
    if not rows:
        return InputError(f"no session is named '{named}'", hint="'custody log' lists the sessions")
    several = ", ".join(f"{row.agent} {row.session}" for row in rows)
    return InputError(f"'{named}' fits several sessions: {several}", hint="give more of the id")
