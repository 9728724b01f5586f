"""Sessions: the list, and one session with its prompts, files, sources and call tree."""

import shlex
from collections.abc import Sequence

from msgspec import Struct

from custody.core.ids import CallId
from custody.core.wire.time import format_timestamp
from custody.graph.app.call_tree import CallRow
from custody.graph.app.session_spans import span_id_from_call
from custody.server.page_data.session_lines import count_session_lines
from custody.server.page_data.sessions import ROWS_MAX, poll_session_for_page, read_session_list_page, read_session_page
from custody.server.pages.page import Page, PageParams, PageView, attempt_page_part
from custody.server.pages.phrases import escape_page_text, format_agent_title, shorten_digest, shorten_page_text
from custody.server.pages.timeline import SHOWN, TimelineRow, build_timeline, filter_timeline, summarize_timeline
from custody.workspace.workspace import Workspace

LISTED = 50
LISTED_MAX = 100
PROMPTS_SHOWN = 50
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


VIEWS = ("timeline", "tree")
TIMELINE_ROWS = 100
REPORT_ROWS = 2_000
"""Rows in a report, which cannot load more."""
TITLE_CHARACTERS = 110


class TimelinePage(Struct, frozen=True, kw_only=True):
    """Rows of a timeline: those of one filter, from ``start`` on; ``next`` starts the following ones."""

    rows: Sequence[TimelineRow]
    show: str
    start: int
    total: int
    next: int | None
    selected: str | None
    began_ns: int | None
    ended_ns: int | None


def view_sessions(workspace: Workspace, params: PageParams) -> PageView:
    """Show the list of sessions, the last active first."""
    limit = params.number("limit", LISTED, least=1, most=LISTED_MAX)
    agent, text, after = params.text("agent"), params.text("text"), params.text("after")
    sessions = read_session_list_page(workspace, limit=limit, after=after, agent=agent, text=text, note=params.note)
    return PageView(
        title="Sessions",
        template="sessions.html",
        styles=("sessions.css",),
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
    form, call = params.choice("view", VIEWS), params.text("call")
    timeline = build_timeline(session.rows, session.report.calls, session.runs)
    return PageView(
        title=_make_session_title(line.prompt, line.session, line.agent),
        template="session.html",
        styles=("sessions.css",),
        fields={
            "view": form,
            "summary": summarize_timeline(timeline),
            "timeline": _make_timeline_page(timeline, params),
            "filters": SHOWN,
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
            "tree": make_call_tree_island(session.rows, call) if form == "tree" else None,
            "events": line.events,
            "whole": shlex.join(("custody", "log", line.session, "--agent", line.agent, "--tree")),
            "over": session.tree.ended_ns is not None,
        },
        scripts=("tree.js",) if form == "tree" else (),
    )


def view_session_rows(workspace: Workspace, params: PageParams) -> PageView:
    """Show more rows of the timeline of a session."""
    session = read_session_page(
        workspace, params.memory.sessions, params.require_text("id"), agent=params.text("agent"), note=params.note
    )
    timeline = _make_timeline_page(build_timeline(session.rows, session.report.calls, session.runs), params)
    fields = {"timeline": timeline, "line": session.report.session}
    return PageView(title="Timeline", template="session_rows.html", fields=fields)


def view_session_lines(workspace: Workspace, params: PageParams) -> PageView:
    """Show how many lines of a session are still there, by file."""
    name, agent = params.require_text("id"), params.require_text("agent")
    lines = attempt_page_part(lambda: count_session_lines(workspace, params.memory, name, agent))
    return PageView(title="Lines still there", template="session_lines.html", fields={"lines": lines})


def _make_session_title(prompt: str | None, session: str, agent: str) -> str:
    """Return the start of the first prompt, or the name of the session."""
    first = shorten_page_text(prompt or "", TITLE_CHARACTERS)
    return first or f"Session {shorten_digest(session)} of {format_agent_title(agent)}"


def _make_timeline_page(rows: Sequence[TimelineRow], params: PageParams) -> TimelinePage:
    """Return the rows of the filter from a position on: at first those around the requested call."""
    show, call = params.choice("show", SHOWN), params.text("call")
    matching = filter_timeline(rows, show)
    wanted = (call, span_id_from_call(CallId(call))) if call else ()
    at = next((n for n, row in enumerate(matching) if row.id in wanted), None)
    start = params.number("start", 0, least=0, most=ROWS_MAX)
    if at is not None and not start:
        start = at // TIMELINE_ROWS * TIMELINE_ROWS
    shown = matching[start : start + (TIMELINE_ROWS if params.memory.work is not None else REPORT_ROWS)]
    following = start + len(shown)
    times = [row.began_ns for row in rows if row.began_ns is not None]
    return TimelinePage(
        rows=shown,
        show=show,
        start=start,
        total=len(matching),
        next=following if following < len(matching) else None,
        selected=None if at is None else matching[at].id,
        began_ns=min(times, default=None),
        ended_ns=max((row.began_ns + (row.duration_ns or 0) for row in rows if row.began_ns is not None), default=None),
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
            "view": "timeline or tree",
            "show": "all, edits, commands, reads or failed",
            "start": "the number of rows to skip",
        },
        long=True,
    ),
    Page(
        name="session-rows",
        view=view_session_rows,
        takes={
            "id": "the session id",
            "agent": "the agent",
            "show": "all, edits, commands, reads or failed",
            "start": "the number of rows to skip",
        },
        part=True,
        long=True,
    ),
    Page(
        name="session-lines",
        view=view_session_lines,
        takes={"id": "the session id", "agent": "the agent"},
        part=True,
    ),
    Page(
        name="session-now",
        view=view_session_updates,
        part=True,
        takes={"id": "the session id", "agent": "the agent", "events": "the number of events on the page"},
    ),
)
