"""Sessions: the list, and one session with its prompts, files, sources and call tree."""

import shlex
from collections.abc import Sequence

from custody.core.ids import CallId
from custody.core.wire.time import format_timestamp
from custody.graph.app.call_tree import CallRow
from custody.graph.app.session_spans import span_id_from_call
from custody.server.page_data.sessions import ROWS_MAX, poll_session_for_page, read_session_list_page, read_session_page
from custody.server.pages.page import Page, PageParams, PageView
from custody.server.pages.phrases import escape_page_text, shorten_digest, shorten_page_text
from custody.workspace.workspace import Workspace

LISTED = 50
LISTED_MAX = 100
PROMPTS_SHOWN = 100
FILES_SHOWN = 200
NAME_CHARACTERS, DETAIL_CHARACTERS = 120, 160
STATES = ("ok", "failed", "running", "none")
ROWS_WITHOUT_SCRIPT = 200
NS_IN_MS = 1_000_000
REPAIRS = {
    "same-id": "calls with the id of another call",
    "no-start": "calls without a recorded start",
    "backwards": "calls that end before they start",
    "other-parent": "calls with two parents",
    "no-parent": "calls with a missing parent",
    "cycle": "calls in a cycle",
}
"""Repairs of a call tree that a reader should know; a missing end is shown beside its call."""


def view_sessions(workspace: Workspace, params: PageParams) -> PageView:
    """Show the list of sessions, the last active first."""
    limit = params.number("limit", LISTED, least=1, most=LISTED_MAX)
    agent, text, after = params.text("agent"), params.text("text"), params.text("after")
    sessions = read_session_list_page(workspace, limit=limit, after=after, agent=agent, text=text, note=params.note)
    return PageView(
        title="Sessions",
        template="sessions.html",
        fields={
            "sessions": sessions,
            "agent": agent or "",
            "text": text or "",
            "limit": limit,
            "limits": sorted({10, LISTED, LISTED_MAX, limit}),
            "agents": sorted({item.agent for item in sessions.items}),
            "at_first": after is None,
            "with_text": params.note is not None,
        },
    )


def view_session(workspace: Workspace, params: PageParams) -> PageView:
    """Show one session."""
    session = read_session_page(
        workspace, params.memory.sessions, params.require_text("id"), agent=params.text("agent"), note=params.note
    )
    line, repairs = session.report.session, session.tree.repairs
    sources = [(source, _to_page_link_url(source)) for source in session.read.locators]
    return PageView(
        title=f"Session {shorten_digest(line.session)}",
        template="session.html",
        fields={
            "session": session,
            "line": line,
            "prompts": session.report.prompts[:PROMPTS_SHOWN],
            "files": line.files[:FILES_SHOWN],
            "sources": sources,
            "with_text": params.note is not None,
            "failed": sum(row.state == "failed" for row in session.rows),
            "unended": sum(row.state == "running" and row.kind == "tool" for row in session.rows),
            "rows_max": ROWS_MAX,
            "repairs": [(text, repairs[code]) for code, text in REPAIRS.items() if code in repairs],
            "without_script": [(row, _format_page_call_label(row)) for row in session.rows[:ROWS_WITHOUT_SCRIPT]],
            "tree": make_call_tree_island(session.rows, params.text("call")),
            "events": line.events,
            "whole": shlex.join(("custody", "log", line.session, "--agent", line.agent, "--tree")),
            "over": session.tree.ended_ns is not None,
        },
        scripts=("tree.js",),
    )


def view_session_updates(workspace: Workspace, params: PageParams) -> PageView:
    """Show whether the session has newer events than the page."""
    known = params.number("events", 0, least=0, most=999_999_999)
    now, state = poll_session_for_page(workspace, params.require_text("id"), params.require_text("agent"))
    fields = {"now": now, "state": state, "last": format_timestamp(now.last_ns), "known": known}
    return PageView(title="Now", template="session_now.html", fields=fields)


def make_call_tree_island(rows: Sequence[CallRow], call: str | None) -> dict[str, object]:
    """Return calls for the script: texts once, and for each row its depth, name, kind, state, start, length and detail.

    Starts are milliseconds after the first one; a length is null without a recorded end.
    """
    texts: dict[str, int] = {}
    starts = [row.began_ns for row in rows if row.began_ns is not None]
    ends = [row.ended_ns for row in rows if row.ended_ns is not None]
    zero = min(starts, default=0)

    def index(text: str) -> int:
        return texts.setdefault(text, len(texts))

    cells = [
        [
            row.depth,
            index(_format_page_call_label(row)),
            index(row.kind),
            STATES.index(row.state),
            None if row.began_ns is None else (row.began_ns - zero) // NS_IN_MS,
            None if row.began_ns is None or row.ended_ns is None else (row.ended_ns - row.began_ns) // NS_IN_MS,
            -1 if row.detail is None else index(shorten_page_text(row.detail, DETAIL_CHARACTERS)),
        ]
        for row in rows
    ]
    wanted = (call, span_id_from_call(CallId(call))) if call else ()
    selected = next((n for n, row in enumerate(rows) if row.id in wanted), -1)
    span = max([*starts, *ends], default=0) - zero
    return {"words": list(texts), "states": STATES, "rows": cells, "wanted": selected, "span": span // NS_IN_MS}


def _format_page_call_label(row: CallRow) -> str:
    return shorten_page_text(escape_page_text(row.name, NAME_CHARACTERS * 2), NAME_CHARACTERS)


def _to_page_link_url(locator: str) -> str | None:
    """Return the URL of a source on the web; None for anything else, which never becomes a link."""
    is_web = locator.startswith(("https://", "http://")) and locator.isprintable()
    return locator if is_web and len(locator) <= 2_000 else None


PAGES = (
    Page(
        name="sessions",
        label="Sessions",
        view=view_sessions,
        takes={
            "agent": "only sessions of this agent",
            "text": "only sessions whose id contains this",
            "limit": f"how many, at most {LISTED_MAX}",
            "after": "the end of the previous page",
        },
    ),
    Page(
        name="session",
        section="sessions",
        view=view_session,
        takes={
            "id": "the session id, or the start of it",
            "agent": "the agent, if two agents have this id",
            "call": "the call to show first",
        },
    ),
    Page(
        name="session-now",
        view=view_session_updates,
        part=True,
        takes={"id": "the session id", "agent": "the agent", "events": "the number of events on the page"},
    ),
)
