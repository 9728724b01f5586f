"""Recorded sessions: the list of them, and the prompts and calls of one."""

from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import TypeVar

from msgspec import Struct, structs
from msgspec.structs import replace

from custody.core.errors import InputError
from custody.core.ids import SessionId, shorten_session_id
from custody.core.view_merge import merge_call_views, merge_session_views
from custody.core.views import TRANSCRIPT, FileEdit, Prompt, Session, SourceAccess, ToolCall, View
from custody.core.wire.report import AgentLine, CallLine, LogReport, PromptLine, SessionLine, SessionReport
from custody.core.wire.time import format_timestamp
from custody.intake.queries import list_captured_agents
from custody.ledger.queries import (
    SessionRow,
    SessionView,
    count_recorded_sessions,
    list_first_session_views,
    list_last_session_calls_with_model,
    list_last_session_views,
    list_recorded_session_ids,
    list_session_agents,
    list_session_call_ids,
    list_session_paths,
    list_session_prompts,
    list_session_rows,
    list_session_views,
    list_session_views_by_kind,
)
from custody.store import ObservedView, Store
from custody.workspace.workspace import Workspace

V = TypeVar("V")

KINDS: tuple[type[SessionView], ...] = (Session, Prompt, ToolCall, FileEdit, SourceAccess)
"""The views of a session; one record often shows several of them."""
SAME_PROMPT_NS = 60 * 1_000_000_000
"""Maximum time between the hook's and the transcript's record of one prompt, which often has no common id."""
ENDS_READ_MAX = 20
"""Observations that are read at either end of a session to list it: a transcript has one in every line."""
ANY_NUMBER = 2**31 - 1
"""More sessions than exist; counting them would read every observation."""
SESSIONS_SHOWN_MAX = 3
"""Sessions that are listed if a name is ambiguous."""


class _SessionRecords(Struct, frozen=True):
    """Everything that was recorded of one session, read once."""

    row: SessionRow
    session: Session | None
    prompts: list[Prompt]
    calls: list[ToolCall]
    edits: list[FileEdit]
    reads: list[SourceAccess]


def list_session_log(
    workspace: Workspace,
    *,
    limit: int,
    agent: str | None = None,
    prompt_text: str | None = None,
    with_prompts: bool = False,
) -> LogReport:
    """Return the last active sessions, newest first, optionally of one agent or with a text in a prompt.

    Their first prompts are only returned ``with_prompts``.
    """
    with _reading_prompts(workspace, prompt_text) as (store, found):
        agents = list_captured_agents(store)
        if agent is not None:
            from custody.intake.install.agent_status import check_agent_name  # only needed with an agent

            check_agent_name(agent, (row.agent for row in agents))
        total = count_recorded_sessions(store)
        lines = [AgentLine(row.agent, row.sessions, format_timestamp(row.last_ns)) for row in agents]
        if agent is None and found is None:
            rows = list_session_rows(store, limit=limit)
        else:
            rows = _filter_sessions_by_agent(list_session_rows(store, limit=total), agent)
            if found is not None:
                rows = [row for row in rows if (row.agent, row.session) in found]
                lines = _count_agent_sessions(rows)
            total = len(rows)
        sessions = [_session_line_from_index(store, row) for row in rows[:limit]]
        return LogReport(
            sessions=sessions if with_prompts else [structs.replace(session, prompt=None) for session in sessions],
            total=total,
            agents=[line for line in lines if agent in (None, line.agent)],
        )


@contextmanager
def _reading_prompts(
    workspace: Workspace, text: str | None
) -> Iterator[tuple[Store, Collection[tuple[str, str]] | None]]:
    """Open the store to read, with the sessions that have ``text`` in a prompt; None without a text."""
    if text is None:
        with workspace.reading() as store, store.reading():
            yield store, None
        return
    from custody.search.app import find_sessions_by_prompt, open_search_index  # only needed with a text

    with open_search_index(workspace) as store:
        yield store, find_sessions_by_prompt(store, text)


def _count_agent_sessions(rows: Sequence[SessionRow]) -> list[AgentLine]:
    times: defaultdict[str, list[int]] = defaultdict(list)
    for row in rows:
        times[row.agent].append(row.last_ns)
    return [AgentLine(agent, len(ends), format_timestamp(max(ends))) for agent, ends in sorted(times.items())]


def shorten_session_ids(workspace: Workspace, sessions: Collection[str]) -> dict[str, str]:
    """Return the shortest start of each id that names only this session, at least 8 characters."""
    with workspace.reading() as store, store.reading():
        recorded: Sequence[str] = list_recorded_session_ids(store)
    return {session: shorten_session_id(session, recorded) for session in sessions}


def show_session_log(workspace: Workspace, named: str, *, agent: str | None = None) -> SessionReport:
    """Return the prompts and calls of the session with the id or the prefix ``named``, optionally of one agent."""
    with workspace.reading() as store, store.reading():
        row = find_session_by_name(store, named, agent)
        return report_session_log(row, read_session_views(store, row))


def read_session_views(store: Store, row: SessionRow) -> list[ObservedView[SessionView]]:
    """Return everything that was recorded of one session of one agent."""
    return [view for view in list_session_views_by_kind(store, row.session, KINDS) if view.view.agent == row.agent]


def report_session_log(row: SessionRow, views: Sequence[ObservedView[SessionView]]) -> SessionReport:
    """Return the prompts and calls of a session from all its views."""
    records = _collect_session_records(row, views)
    files: defaultdict[str | None, set[str]] = defaultdict(set)
    sources: defaultdict[str | None, set[str]] = defaultdict(set)
    for edit in records.edits:
        files[edit.call].add(edit.path.display)
    for read in records.reads:
        sources[read.call].add(read.locator)
    return SessionReport(
        session=_session_line_from_records(records),
        prompts=[PromptLine(p.id, format_timestamp(p.at_ns), p.text.content) for p in records.prompts],
        calls=[_make_session_call_line(call, files[call.id], sources[call.id]) for call in records.calls],
    )


def find_session_by_name(store: Store, named: str, agent: str | None = None) -> SessionRow:
    """Return the session with the id or the prefix ``named``; ``InputError`` if there is not exactly one."""
    # The limit applies before other agents' sessions are removed.
    exact = _filter_sessions_by_agent(list_session_rows(store, limit=ANY_NUMBER, named=named), agent)
    rows = exact or _filter_sessions_by_agent(list_session_rows(store, limit=ANY_NUMBER, starting=named), agent)
    if len(rows) != 1:
        raise _make_session_name_error(named, agent, rows)
    return rows[0]


def _filter_sessions_by_agent(rows: list[SessionRow], agent: str | None) -> list[SessionRow]:
    return [row for row in rows if agent is None or row.agent == agent]


def _collect_session_records(row: SessionRow, views: Sequence[ObservedView[SessionView]]) -> _SessionRecords:
    return _SessionRecords(
        row=row,
        session=merge_session_views(_select_session_views(views, Session)),
        prompts=merge_session_prompts(views),
        calls=merge_call_views(_select_session_views(views, ToolCall)),
        edits=_select_session_views(views, FileEdit),
        reads=_select_session_views(views, SourceAccess),
    )


def _session_line_from_records(records: _SessionRecords) -> SessionLine:
    files = {edit.path.display for edit in records.edits}
    session = _fill_session_model(records.row, records.session, records.calls)
    return _make_session_line(records.row, session, records.prompts, len(records.calls), files)


def _session_line_from_index(store: Store, row: SessionRow) -> SessionLine:
    """Return a session for the list, counted by the index, which is fast for a session of any length."""
    if len(list_session_agents(store, row.session)) != 1:
        return _session_line_from_records(
            _collect_session_records(row, read_session_views(store, row))
        )  # the index does not tell the calls of two agents apart
    calls = list_session_call_ids(store, row.session)
    files = {path.display for path in list_session_paths(store, row.session)}
    prompts = merge_session_prompts(list_session_prompts(store, row.session))
    session = merge_session_views(observed.view for observed in read_session_ends(store, row.session))
    if session is None or session.model is None:
        last = list_last_session_calls_with_model(store, row.session, ENDS_READ_MAX)
        session = _fill_session_model(row, session, [observed.view for observed in last])
    return _make_session_line(row, session, prompts, len(calls), files)


def _fill_session_model(row: SessionRow, session: Session | None, calls: Sequence[ToolCall]) -> Session:
    """Return the session with its last call's model if it has none: a resumed one may start with another's lines."""
    whole = session or Session(agent=row.agent, id=row.session, started_ns=row.first_ns)
    with_model = [call for call in calls if call.model is not None and call.subagent is None]
    if whole.model is not None or not with_model:
        return whole
    return replace(whole, model=max(with_model, key=lambda call: (call.started_ns, call.id)).model)


def read_session_ends(store: Store, session: SessionId) -> list[ObservedView[Session]]:
    """Return the first and the last observations of a session; all of them if none of those has a model."""
    ends = [
        *list_first_session_views(store, session, ENDS_READ_MAX),
        *list_last_session_views(store, session, ENDS_READ_MAX),
    ]
    if len(ends) < 2 * ENDS_READ_MAX or any(observed.view.model is not None for observed in ends):
        return ends
    return list_session_views(store, session)


def _make_session_line(
    row: SessionRow, session: Session | None, prompts: Sequence[Prompt], calls: int, files: set[str]
) -> SessionLine:
    return SessionLine(
        agent=row.agent,
        session=row.session,
        started=format_timestamp(row.first_ns),
        last=format_timestamp(row.last_ns),
        model=session.model if session else None,
        operator=session.operator if session else None,
        prompts=len(prompts),
        calls=calls,
        files=sorted(files),
        events=row.events,
        ended=format_timestamp(row.ended_ns),
        prompt=prompts[0].text.content if prompts else None,
        imported=row.is_imported,
    )


def _make_session_call_line(call: ToolCall, files: set[str], sources: set[str]) -> CallLine:
    return CallLine(
        id=call.id,
        name=call.name,
        started=format_timestamp(call.started_ns),
        ended=None if call.ended_ns is None else format_timestamp(call.ended_ns),
        status=call.status.value,
        parent=call.parent,
        prompt=call.prompt,
        subagent=call.subagent,
        files=sorted(files),
        sources=sorted(sources),
    )


def merge_session_prompts(views: Sequence[ObservedView[View]]) -> list[Prompt]:
    """Return the prompts in order; a repeated one counts once, as recorded first."""
    prompts = {view.view.id: (view, view.view) for view in reversed(views) if isinstance(view.view, Prompt)}
    imported = [prompt for view, prompt in prompts.values() if view.record.entry.kind == TRANSCRIPT]
    live = [prompt for view, prompt in prompts.values() if view.record.entry.kind != TRANSCRIPT]
    for prompt in live:
        repeats = [other for other in imported if _is_same_session_prompt(prompt, other)]
        if repeats:
            imported.remove(min(repeats, key=lambda other: (abs(other.at_ns - prompt.at_ns), other.id)))
    return sorted((*live, *imported), key=lambda prompt: (prompt.at_ns, prompt.id))


def _is_same_session_prompt(prompt: Prompt, other: Prompt) -> bool:
    """Return whether a hook and a transcript recorded the same prompt under different ids."""
    is_near = abs(prompt.at_ns - other.at_ns) <= SAME_PROMPT_NS
    return is_near and prompt.agent == other.agent and prompt.text.digest == other.text.digest


def _select_session_views(views: Sequence[ObservedView[SessionView]], kind: type[V]) -> list[V]:
    return [view.view for view in views if isinstance(view.view, kind)]


def _make_session_name_error(named: str, agent: str | None, rows: Sequence[SessionRow]) -> InputError:
    of_agent = "" if agent is None else f" of the agent '{agent}'"
    if not rows:
        return InputError(f"unknown session '{named}'{of_agent}", hint="'custody log' lists the sessions")
    ids = sorted({row.session for row in rows})
    is_same_id = len(ids) == 1
    shown = [f"{row.agent} {shorten_session_id(row.session, ids)}" for row in rows[:SESSIONS_SHOWN_MAX]]
    sessions = ", ".join(shown)
    more = f" and {len(rows) - SESSIONS_SHOWN_MAX:,} more" if len(rows) > SESSIONS_SHOWN_MAX else ""
    hint = "pass --agent" if is_same_id else "pass more of the id"
    return InputError(f"'{named}' is ambiguous{of_agent}: {sessions}{more}", hint=hint)
