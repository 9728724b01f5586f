"""Sessions for pages: a list that is fast in a store of any size, and one session with its call tree."""

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from custody.core.errors import InputError
from custody.core.ids import AgentName, PromptId, SessionId
from custody.core.plural import count_noun
from custody.core.views import Prompt, Session, ToolCall
from custody.core.wire.report import SessionReport
from custody.core.wire.time import format_timestamp
from custody.graph.app.call_tree import CallRow, CallTree, build_call_tree
from custody.graph.app.learn import load_graph_rules
from custody.ledger.queries import (
    ReadRows,
    SessionRow,
    find_first_session_prompt,
    list_session_rows,
    list_session_source_locators,
    was_session_open,
)
from custody.ledger.sessions import ANY_NUMBER, find_session_by_name, read_session_views, report_session_log
from custody.runs import CommandRun
from custody.runs.app.evidence import list_session_runs
from custody.server.app.listing import (
    check_cursor_number,
    decode_page_cursor,
    encode_page_cursor,
    is_storable_param,
    make_cursor_error,
)
from custody.server.app.questions import NameNotFound, Note, hide_prompts_from_caller, map_errors_to_404
from custody.server.page_data.cache import StateCache, make_page_cache_key, read_page_cache_state
from custody.server.queries import ActiveSession, ActivityTables
from custody.store import ObservedView, Store
from custody.workspace.workspace import Workspace

ENDS_READ_MAX = 2
"""Records read at the start and the end of a session to find its model."""
ROWS_MAX = 50_000
"""Maximum calls of one session on a page."""
SOURCES_MAX = 200
PROMPT_CHARACTERS_MAX = 400
ACTIVE_NS = 10 * 60 * 1_000_000_000
"""A session with an event within this time counts as active."""


class SessionListRow(Struct, frozen=True, kw_only=True):
    """A session in a list; counts are exact below ``COUNTED_MAX``, else lower bounds."""

    agent: str
    session: str
    began: str
    last: str
    state: str
    """``ended``, ``active`` with a recent event, or ``open`` without a recorded end."""
    model: str | None
    prompt: str | None
    """The first prompt; None if the caller may not read it."""
    calls: int
    files: int


class SessionListPage(Struct, frozen=True):
    """A page of sessions, and the cursor of the next one."""

    items: Sequence[SessionListRow]
    next: str | None


def read_session_list_page(
    workspace: Workspace,
    *,
    limit: int,
    after: str | None = None,
    agent: str | None = None,
    text: str | None = None,
    note: Note | None = None,
) -> SessionListPage:
    """Return the last active sessions, newest first; prompts only with a ``note``."""
    _check_page_search_text(agent, text)
    with workspace.reading() as store, store.reading():
        activity = ActivityTables(store)
        rows = activity.sessions(_parse_session_page_cursor(after), limit + 1, agent=agent, text=text)
        items = [
            _make_session_list_row(workspace, store, activity, row, with_text=note is not None) for row in rows[:limit]
        ]
    last = rows[limit - 1] if len(rows) > limit else None
    names = sorted(f"{item.agent} {item.session}" for item in items if item.prompt is not None)
    if note is not None and names:
        note(f"first prompts of {count_noun(len(names), 'session')}: {', '.join(names)}")
    return SessionListPage(
        items, None if last is None else encode_page_cursor(last.last_ns, [last.agent, last.session])
    )


def _make_session_list_row(
    workspace: Workspace, store: Store, activity: ActivityTables, row: ActiveSession, *, with_text: bool
) -> SessionListRow:
    counts = activity.count_session(row.agent, row.session)
    facts = _read_page_session_facts(store, row)
    first = find_first_session_prompt(store, row.agent, row.session) if with_text else None
    return SessionListRow(
        agent=row.agent,
        session=row.session,
        began=format_timestamp(counts.first_ns),
        last=format_timestamp(row.last_ns),
        state=_read_session_page_state(workspace, store, row, facts.ended_ns),
        model=facts.model,
        prompt=_shorten_prompt_for_page(first),
        calls=counts.calls,
        files=counts.files,
    )


def _read_page_session_facts(store: Store, row: ActiveSession) -> Session:
    """Return the model and the end of a session from its first and last records; later records win."""
    whole = Session(agent=row.agent, id=row.session, started_ns=row.last_ns)
    for record in ActivityTables(store).ends(row.agent, row.session, ENDS_READ_MAX):
        for view in store.views.read_views(record):
            if isinstance(view, Session | ToolCall) and view.agent == row.agent:
                whole = replace(whole, model=view.model or whole.model)
            if isinstance(view, Session) and view.agent == row.agent:
                ended = whole.ended_ns if view.ended_ns is None else view.ended_ns
                whole = replace(whole, ended_ns=ended)
    return whole


def _read_session_page_state(workspace: Workspace, store: Store, row: ActiveSession, ended_ns: int | None) -> str:
    """Return the state of a session; one with events after its end has not ended."""
    if ended_ns is not None and ended_ns >= row.last_ns:
        return "ended"
    if not was_session_open(store, row.agent, row.session, row.last_ns, 1):
        return "ended"
    return "active" if workspace.now_ns() - row.last_ns < ACTIVE_NS else "open"


def _shorten_prompt_for_page(prompt: ObservedView[Prompt] | None) -> str | None:
    text = None if prompt is None else prompt.view.text.content
    return None if text is None else text[:PROMPT_CHARACTERS_MAX]


def _parse_session_page_cursor(cursor: str | None) -> ActiveSession | None:
    if cursor is None:
        return None
    last, names = decode_page_cursor(cursor)
    if not isinstance(names, list) or len(names) != 2 or not all(isinstance(name, str) for name in names):
        raise make_cursor_error()
    agent, session = str(names[0]), str(names[1])
    _check_page_search_text(agent, session)
    return ActiveSession(AgentName(agent), SessionId(session), check_cursor_number(last))


def _check_page_search_text(*names: str | None) -> None:
    if not all(is_storable_param(name) for name in names if name is not None):
        raise InputError("invalid character in a name")


# --- one session ------------------------------------------------------------------------------------------------------


class SessionContent(Struct, frozen=True):
    """Everything recorded of a session, before anything is hidden from the caller."""

    report: SessionReport
    tree: CallTree
    read: ReadRows
    runs: Sequence[CommandRun]


class SessionPage(SessionContent, frozen=True):
    """A session as the caller may see it, with the calls in tree order: at most ``ROWS_MAX`` of ``total`` rows."""

    rows: Sequence[CallRow]
    total: int


SessionMemory = StateCache[SessionContent]
"""A session of ten thousand calls takes seconds to read."""


def read_session_page(
    workspace: Workspace, memory: SessionMemory, session: str, *, agent: str | None, note: Note | None
) -> SessionPage:
    """Return a session with its call tree; prompts and details of calls only with a ``note``."""
    _check_page_search_text(session, agent)
    with workspace.reading() as store, store.reading():
        with map_errors_to_404(InputError, hint="see the list of sessions"):
            row = find_session_by_name(store, session, agent)
        rules = load_graph_rules(workspace)
        content = memory.get(
            (*make_page_cache_key(workspace), row.agent, row.session),
            (read_page_cache_state(store), row, rules),
            workspace.now_ns(),
            lambda: _read_session_page_content(workspace, store, row),
        )
    report = hide_prompts_from_caller(content.report, note=note)
    texts = {PromptId(prompt.id): prompt.text for prompt in report.prompts}
    rows = list(content.tree.rows(texts if note is not None else None))
    if note is not None and not any(texts.values()) and any(row.detail is not None for row in rows):
        note(f"calls of {row.agent} {row.session}")
    return SessionPage(report, content.tree, content.read, content.runs, rows[:ROWS_MAX], len(rows))


def _read_session_page_content(workspace: Workspace, store: Store, row: SessionRow) -> SessionContent:
    views = read_session_views(store, row)
    return SessionContent(
        report_session_log(row, views),
        build_call_tree(store, row, views),
        list_session_source_locators(store, [row.session], row.last_ns, SOURCES_MAX),
        [run for run in list_session_runs(workspace, store, row.session) if run.agent == row.agent],
    )


def poll_session_for_page(workspace: Workspace, session: str, agent: str) -> tuple[SessionRow, str]:
    """Return the counts and the state of a session, without reading its content."""
    _check_page_search_text(session, agent)
    with workspace.reading() as store, store.reading():
        row = next(
            (
                session_row
                for session_row in list_session_rows(store, limit=ANY_NUMBER, named=session)
                if session_row.agent == agent
            ),
            None,
        )
        if row is None:
            raise NameNotFound("unknown session", hint="see the list of sessions")
        active = ActiveSession(row.agent, row.session, row.last_ns)
        return row, _read_session_page_state(workspace, store, active, _read_page_session_facts(store, active).ended_ns)
