"""Sessions as they were captured: which there are, and what happened in one."""

from collections.abc import Iterable
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


def log(desk: Desk, *, limit: int) -> LogReport:
    """The sessions that were active last, newest first."""
    with desk.reading() as store, store.db.reading():
        rows = store.sessions(limit=limit)
        return LogReport(sessions=[_line(store, row) for row in rows], total=store.session_count())


def log_session(desk: Desk, named: str) -> SessionReport:
    """What happened in the session whose id begins with ``named``: prompts, calls with their files and sources."""
    with desk.reading() as store, store.db.reading():
        rows = store.sessions(limit=3, named=named) or store.sessions(limit=3, starting=named)
        if len(rows) != 1:
            raise _which(named, rows)
        row = rows[0]
        calls, edits, reads = (_calls(store, row), _of(store, row, "file_edit", FileEdit), _reads(store, row))
        return SessionReport(
            session=_line(store, row),
            prompts=[
                PromptLine(prompt.id, text_from(prompt.at_ns), prompt.text.content)
                for prompt in _of(store, row, "prompt", Prompt)
            ],
            calls=[_call_line(call, edits, reads) for call in calls],
        )


def _line(store: Store, row: SessionRow) -> SessionLine:
    known = merged_session(_of(store, row, "session", Session))
    edits = _of(store, row, "file_edit", FileEdit)
    return SessionLine(
        agent=row.agent,
        session=row.session,
        started=text_from(row.first_ns),
        last=text_from(row.last_ns),
        model=known.model if known else None,
        operator=known.operator if known else None,
        prompts=len({prompt.id for prompt in _of(store, row, "prompt", Prompt)}),
        calls=len(_calls(store, row)),
        files=sorted({edit.path.display for edit in edits}),
        events=row.events,
    )


def _call_line(call: ToolCall, edits: Iterable[FileEdit], reads: Iterable[SourceRead]) -> CallLine:
    return CallLine(
        id=call.id,
        name=call.name,
        started=text_from(call.started_ns),
        ended=None if call.ended_ns is None else text_from(call.ended_ns),
        status=call.status.value,
        parent=call.parent,
        prompt=call.prompt,
        subagent=call.subagent,
        files=sorted({edit.path.display for edit in edits if edit.call == call.id}),
        sources=sorted({read.locator for read in reads if read.call == call.id}),
    )


def _calls(store: Store, row: SessionRow) -> list[ToolCall]:
    return merged_calls(_of(store, row, "tool_call", ToolCall))


def _reads(store: Store, row: SessionRow) -> list[SourceRead]:
    return _of(store, row, "source_read", SourceRead)


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
