"""Sessions as pages show them: a list that is quick in a store of any size, and one session as a tree of its calls."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from custody.core.errors import InputError
from custody.core.ids import AgentName, SessionId
from custody.core.views import Prompt, Session, ToolCall
from custody.core.wire.report import SessionReport
from custody.core.wire.time import text_from
from custody.graph.app.call_tree import CallRow, CallTree, build_call_tree
from custody.graph.app.learn import graph_rules
from custody.ledger.queries import ReadRows, SessionRow, first_prompt, locators_read_by, session_rows, was_open
from custody.ledger.sessions import ANY_NUMBER, report_session, session_named, session_read
from custody.server.app.listing import cursor, is_storable_name, make_cursor_error, number_in, parts_of
from custody.server.app.questions import NameNotFound, Note, hide_session_text, name_not_found
from custody.server.page_data.cache import StateCache, chains_of, place_of
from custody.server.queries import ActiveSession, ActivityTables
from custody.store import ObservedView, Store
from custody.workspace.workspace import Workspace

ENDS_READ_MAX = 2
"""Records of a session that are read at either end for its model."""
ROWS_MAX = 50_000
"""Calls of one session that a page takes; the rest is counted."""
SOURCES_MAX = 200
ASKED_SIGNS_MAX = 400
ACTIVE_NS = 10 * 60 * 1_000_000_000
"""Something of a session that came so lately says that it may be under way."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionListRow:
    """A session in a list. Counts are exact below ``COUNTED_MAX``, else at least so many."""

    agent: str
    session: str
    began: str
    last: str
    state: str
    """``ended``, ``active`` when something came of it lately, ``open`` when nobody saw it end."""
    model: str | None
    asked: str | None
    """What was asked first, as far as it may be read."""
    calls: int
    files: int


@dataclass(frozen=True, slots=True)
class SessionListPage:
    """A page of sessions, and the cursor of the next one."""

    items: Sequence[SessionListRow]
    next: str | None


def sessions_listed(
    workspace: Workspace,
    *,
    limit: int,
    after: str | None = None,
    agent: str | None = None,
    text: str | None = None,
    note: Note | None = None,
) -> SessionListPage:
    """The sessions that were active last, newest first; what was asked in them only with a ``note``."""
    _check_text(agent, text)
    with workspace.reading() as store, store.reading():
        looked = ActivityTables(store)
        rows = looked.sessions(_behind(after), limit + 1, agent=agent, text=text)
        items = [_listed(workspace, store, looked, row, with_text=note is not None) for row in rows[:limit]]
    last = rows[limit - 1] if len(rows) > limit else None
    told = sorted(f"{item.agent} {item.session}" for item in items if item.asked is not None)
    if note is not None and told:
        note(f"first prompts of {len(told)} session(s): {', '.join(told)}")
    return SessionListPage(items, None if last is None else cursor(last.last_ns, [last.agent, last.session]))


def _listed(
    workspace: Workspace, store: Store, looked: ActivityTables, row: ActiveSession, *, with_text: bool
) -> SessionListRow:
    counted = looked.counted(row.agent, row.session)
    said = _read_session_facts(store, row)
    first = first_prompt(store, row.agent, row.session) if with_text else None
    return SessionListRow(
        agent=row.agent,
        session=row.session,
        began=text_from(counted.first_ns),
        last=text_from(row.last_ns),
        state=_state(workspace, store, row, said.ended_ns),
        model=said.model,
        asked=_read_prompt(first),
        calls=counted.calls,
        files=counted.files,
    )


def _read_session_facts(store: Store, row: ActiveSession) -> Session:
    """What the first and the last records of a session say of it; what was said last wins."""
    whole = Session(agent=row.agent, id=row.session, started_ns=row.last_ns)
    for record in ActivityTables(store).ends(row.agent, row.session, ENDS_READ_MAX):
        for view in store.views.of(record):
            if isinstance(view, Session | ToolCall) and view.agent == row.agent:
                whole = replace(whole, model=view.model or whole.model)
            if isinstance(view, Session) and view.agent == row.agent:
                ended = whole.ended_ns if view.ended_ns is None else view.ended_ns
                whole = replace(whole, ended_ns=ended)
    return whole


def _state(workspace: Workspace, store: Store, row: ActiveSession, ended_ns: int | None) -> str:
    """How a session stands; one that went on after it had ended has not ended."""
    if ended_ns is not None and ended_ns >= row.last_ns:
        return "ended"
    if not was_open(store, row.agent, row.session, row.last_ns, 1):
        return "ended"
    return "active" if workspace.now_ns() - row.last_ns < ACTIVE_NS else "open"


def _read_prompt(seen: ObservedView[Prompt] | None) -> str | None:
    text = None if seen is None else seen.view.text.content
    return None if text is None else text[:ASKED_SIGNS_MAX]


def _behind(word: str | None) -> ActiveSession | None:
    if word is None:
        return None
    last, names = parts_of(word)
    if not isinstance(names, list) or len(names) != 2 or not all(isinstance(name, str) for name in names):
        raise make_cursor_error()
    agent, session = str(names[0]), str(names[1])
    _check_text(agent, session)
    return ActiveSession(AgentName(agent), SessionId(session), number_in(last))


def _check_text(*words: str | None) -> None:
    if not all(is_storable_name(word) for word in words if word is not None):
        raise InputError("a name holds a sign that no name has")


# --- one session ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class SessionContent:
    """All that the records of a session say, whoever may read it."""

    report: SessionReport
    tree: CallTree
    read: ReadRows


@dataclass(frozen=True, slots=True)
class SessionPage(SessionContent):
    """A session as whoever asks may see it, with its calls in the order in which a tree is read.

    Of ``total`` rows at most ``ROWS_MAX`` are here.
    """

    rows: Sequence[CallRow]
    total: int


SessionMemory = StateCache[SessionContent]
"""A session of ten thousand calls takes seconds to read, and is looked at again and again."""


def read_session_page(
    workspace: Workspace, memory: SessionMemory, session: str, *, agent: str | None, note: Note | None
) -> SessionPage:
    """A session with its call tree; what was asked, and what calls were about, only with a ``note``."""
    _check_text(session, agent)
    with workspace.reading() as store, store.reading():
        with name_not_found(InputError, hint="the list of sessions has every one"):
            row = session_named(store, session, agent)
        rules = graph_rules(workspace)
        content = memory.get(
            (*place_of(workspace), row.agent, row.session),
            (chains_of(store), row, rules),
            workspace.now_ns(),
            lambda: _read_content(workspace, store, row),
        )
    report = hide_session_text(content.report, note=note)
    words = {prompt.id: prompt.text for prompt in report.prompts}
    rows = list(content.tree.rows(words if note is not None else None))
    if note is not None and not any(words.values()) and any(row.detail is not None for row in rows):
        note(f"calls of {row.agent} {row.session}")
    return SessionPage(report, content.tree, content.read, rows[:ROWS_MAX], len(rows))


def _read_content(workspace: Workspace, store: Store, row: SessionRow) -> SessionContent:
    seen = session_read(store, row)
    return SessionContent(
        report_session(row, seen),
        build_call_tree(store, row, seen),
        locators_read_by(store, [row.session], row.last_ns, SOURCES_MAX),
    )


def session_now(workspace: Workspace, session: str, agent: str) -> tuple[SessionRow, str]:
    """How much was captured of a session by now, and its state, without reading what it says."""
    _check_text(session, agent)
    with workspace.reading() as store, store.reading():
        row = next(
            (
                session_row
                for session_row in session_rows(store, limit=ANY_NUMBER, named=session)
                if session_row.agent == agent
            ),
            None,
        )
        if row is None:
            raise NameNotFound("no session has this name", hint="the list of sessions has every one")
        active = ActiveSession(row.agent, row.session, row.last_ns)
        return row, _state(workspace, store, active, _read_session_facts(store, active).ended_ns)
