"""Sessions as they were captured: which there are, and what happened in one."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from custody.core.errors import InputError
from custody.core.ids import SessionId
from custody.core.view_merge import merge_calls, merge_session
from custody.core.views import TRANSCRIPT, FileEdit, Prompt, Session, SourceAccess, ToolCall, View
from custody.core.wire.report import AgentLine, CallLine, LogReport, PromptLine, SessionLine, SessionReport
from custody.core.wire.time import text_from
from custody.intake.queries import agent_rows
from custody.ledger.queries import (
    SessionRow,
    SessionView,
    agents_of_session,
    call_ids,
    first_session_views,
    last_calls,
    last_session_views,
    paths_of_session,
    prompts_of_session,
    session_count,
    session_rows,
    session_views,
    views_of_session,
)
from custody.store import ObservedView, Store
from custody.workspace.workspace import Workspace

V = TypeVar("V")

KINDS: tuple[type[SessionView], ...] = (Session, Prompt, ToolCall, FileEdit, SourceAccess)
"""The views of a session; one record often shows several of them."""
SAME_PROMPT_NS = 60 * 1_000_000_000
"""How far apart hook and transcript may place one prompt: the agent names it in neither, or in one of them only."""
ENDS_READ_MAX = 20
"""Observations of a session that are read at either end to list it: a transcript has one in every line."""
ANY_NUMBER = 2**31 - 1
"""More sessions than there are: counting them would look at every observation."""
SESSIONS_NAMED_MAX = 10
"""Sessions that are named when a name fits more than one."""


@dataclass(frozen=True, slots=True)
class _SessionRecords:
    """Everything that was captured of one session, read once."""

    row: SessionRow
    session: Session | None
    prompts: list[Prompt]
    calls: list[ToolCall]
    edits: list[FileEdit]
    reads: list[SourceAccess]


def log(workspace: Workspace, *, limit: int, agent: str | None = None) -> LogReport:
    """The sessions that were active last, newest first, perhaps of one agent only."""
    with workspace.reading() as store, store.reading():
        agents = agent_rows(store)
        if agent is not None:
            from custody.intake.install.agent_status import check_agent  # only a named agent needs the table

            check_agent(agent, (row.agent for row in agents))
        total = session_count(store)
        if agent is None:
            rows = session_rows(store, limit=limit)
        else:
            rows = _of_agent(session_rows(store, limit=total), agent)
            total = len(rows)
        return LogReport(
            sessions=[_listed(store, row) for row in rows[:limit]],
            total=total,
            agents=[
                AgentLine(row.agent, row.sessions, text_from(row.last_ns))
                for row in agents
                if agent in (None, row.agent)
            ],
        )


def log_session(workspace: Workspace, named: str, *, agent: str | None = None) -> SessionReport:
    """What happened in the session whose id is or begins with ``named``, perhaps of one agent only."""
    with workspace.reading() as store, store.reading():
        row = session_named(store, named, agent)
        return report_session(row, session_read(store, row))


def session_read(store: Store, row: SessionRow) -> list[ObservedView[SessionView]]:
    """Everything that was captured of one session of one agent."""
    return [seen for seen in views_of_session(store, row.session, KINDS) if seen.view.agent == row.agent]


def report_session(row: SessionRow, seen: Sequence[ObservedView[SessionView]]) -> SessionReport:
    """What happened in a session, of which everything was read."""
    story = _story(row, seen)
    files: defaultdict[str | None, set[str]] = defaultdict(set)
    sources: defaultdict[str | None, set[str]] = defaultdict(set)
    for edit in story.edits:
        files[edit.call].add(edit.path.display)
    for read in story.reads:
        sources[read.call].add(read.locator)
    return SessionReport(
        session=_line(story),
        prompts=[PromptLine(p.id, text_from(p.at_ns), p.text.content) for p in story.prompts],
        calls=[_call_line(call, files[call.id], sources[call.id]) for call in story.calls],
    )


def session_named(store: Store, named: str, agent: str | None = None) -> SessionRow:
    """The one session whose id is or begins with ``named``; an ``InputError`` when there is none, or several."""
    # Those of other agents are among them, before they are passed over.
    exact = _of_agent(session_rows(store, limit=ANY_NUMBER, named=named), agent)
    rows = exact or _of_agent(session_rows(store, limit=ANY_NUMBER, starting=named), agent)
    if len(rows) != 1:
        raise _which(named, agent, rows)
    return rows[0]


def _of_agent(rows: list[SessionRow], agent: str | None) -> list[SessionRow]:
    return [row for row in rows if agent is None or row.agent == agent]


def _story(row: SessionRow, seen: Sequence[ObservedView[SessionView]]) -> _SessionRecords:
    return _SessionRecords(
        row=row,
        session=merge_session(_of(seen, Session)),
        prompts=prompts_of(seen),
        calls=merge_calls(_of(seen, ToolCall)),
        edits=_of(seen, FileEdit),
        reads=_of(seen, SourceAccess),
    )


def _line(story: _SessionRecords) -> SessionLine:
    files = {edit.path.display for edit in story.edits}
    session = _with_model(story.row, story.session, story.calls)
    return _session_line(story.row, session, len(story.prompts), len(story.calls), files)


def _listed(store: Store, row: SessionRow) -> SessionLine:
    """A session as it is listed: counted by the index, which a session of any length answers at once."""
    if len(agents_of_session(store, row.session)) != 1:
        return _line(_story(row, session_read(store, row)))  # the index does not say whose of two agents a call was
    calls = call_ids(store, row.session)
    files = {path.display for path in paths_of_session(store, row.session)}
    prompts = prompts_of(prompts_of_session(store, row.session))
    session = merge_session(seen.view for seen in session_ends(store, row.session))
    if session is None or session.model is None:
        last = last_calls(store, row.session, ENDS_READ_MAX)
        session = _with_model(row, session, [seen.view for seen in last])
    return _session_line(row, session, len(prompts), len(calls), files)


def _with_model(row: SessionRow, session: Session | None, calls: Sequence[ToolCall]) -> Session:
    """The session under its last call's model, where it names none: a resumed one may open with another's lines."""
    whole = session or Session(agent=row.agent, id=row.session, started_ns=row.first_ns)
    named = [call for call in calls if call.model is not None and call.subagent is None]
    if whole.model is not None or not named:
        return whole
    return replace(whole, model=max(named, key=lambda call: (call.started_ns, call.id)).model)


def session_ends(store: Store, session: SessionId) -> list[ObservedView[Session]]:
    """The first and the last observations of a session; all of them where those do not name a model."""
    ends = [
        *first_session_views(store, session, ENDS_READ_MAX),
        *last_session_views(store, session, ENDS_READ_MAX),
    ]
    if len(ends) < 2 * ENDS_READ_MAX or any(seen.view.model is not None for seen in ends):
        return ends
    return session_views(store, session)


def _session_line(row: SessionRow, session: Session | None, prompts: int, calls: int, files: set[str]) -> SessionLine:
    return SessionLine(
        agent=row.agent,
        session=row.session,
        started=text_from(row.first_ns),
        last=text_from(row.last_ns),
        model=session.model if session else None,
        operator=session.operator if session else None,
        prompts=prompts,
        calls=calls,
        files=sorted(files),
        events=row.events,
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


def prompts_of(seen: Sequence[ObservedView[View]]) -> list[Prompt]:
    """The prompts in order; one that was seen twice counts once, as it was seen first."""
    prompts = {view.view.id: (view, view.view) for view in reversed(seen) if isinstance(view.view, Prompt)}
    written = [prompt for view, prompt in prompts.values() if view.record.entry.kind == TRANSCRIPT]
    typed = [prompt for view, prompt in prompts.values() if view.record.entry.kind != TRANSCRIPT]
    for prompt in typed:
        again = [other for other in written if _is_same(prompt, other)]
        if again:
            written.remove(min(again, key=lambda other: (abs(other.at_ns - prompt.at_ns), other.id)))
    return sorted((*typed, *written), key=lambda prompt: (prompt.at_ns, prompt.id))


def _is_same(prompt: Prompt, other: Prompt) -> bool:
    """Whether a hook and a transcript may have seen one prompt, which they name differently."""
    near = abs(prompt.at_ns - other.at_ns) <= SAME_PROMPT_NS
    return near and prompt.agent == other.agent and prompt.text.digest == other.text.digest


def _of(seen: Sequence[ObservedView[SessionView]], kind: type[V]) -> list[V]:
    return [view.view for view in seen if isinstance(view.view, kind)]


def _which(named: str, agent: str | None, rows: Sequence[SessionRow]) -> InputError:
    whose = "" if agent is None else f" of the agent '{agent}'"
    if not rows:
        return InputError(f"no session{whose} is named '{named}'", hint="'custody log' lists the sessions")
    several = ", ".join(f"{row.agent} {row.session}" for row in rows[:SESSIONS_NAMED_MAX])
    more = f" and {len(rows) - SESSIONS_NAMED_MAX} more" if len(rows) > SESSIONS_NAMED_MAX else ""
    alike = len({row.session for row in rows}) == 1
    hint = "choose one with --agent" if alike else "give more of the id"
    return InputError(f"'{named}' fits several sessions{whose}: {several}{more}", hint=hint)
