"""Sessions: a list of them, and one with what was asked, edited and read in it, and with its calls as a tree."""

import shlex
from collections.abc import Sequence

from custody.core.wire.time import text_from
from custody.graph.app.call_tree import CallRow
from custody.server.page_data.sessions import ROWS_MAX, read_session_page, session_now, sessions_listed
from custody.server.pages.page import Page, PageParams, PageView
from custody.server.pages.phrases import digest, escape_control_characters, short
from custody.workspace.workspace import Workspace

LISTED = 50
LISTED_MAX = 100
PROMPTS_SHOWN = 100
FILES_SHOWN = 200
NAME_SIGNS, DETAIL_SIGNS = 120, 160
STATES = ("ok", "failed", "running", "none")
ROWS_WITHOUT_SCRIPT = 200
NS_IN_MS = 1_000_000
MENDED = {
    "same-id": "calls under an id that was taken",
    "no-start": "calls whose start nobody saw",
    "backwards": "calls that ended before they began",
    "other-parent": "calls that two records put into different ones",
    "no-parent": "calls inside one that never came",
    "cycle": "calls inside each other in a circle",
}
"""What had to be mended in a tree, of what a reader may want to know; that a call has no end is said beside it."""


def sessions(workspace: Workspace, asked: PageParams) -> PageView:
    """The sessions that were active last."""
    limit = asked.number("limit", LISTED, least=1, most=LISTED_MAX)
    agent, text, after = asked.text("agent"), asked.text("text"), asked.text("after")
    found = sessions_listed(workspace, limit=limit, after=after, agent=agent, text=text, note=asked.note)
    return PageView(
        title="Sessions",
        template="sessions.html",
        fields={
            "found": found,
            "agent": agent or "",
            "text": text or "",
            "limit": limit,
            "limits": sorted({10, LISTED, LISTED_MAX, limit}),
            "agents": sorted({item.agent for item in found.items}),
            "at_first": after is None,
            "with_words": asked.note is not None,
        },
    )


def session(workspace: Workspace, asked: PageParams) -> PageView:
    """One session."""
    seen = read_session_page(
        workspace, asked.memory.sessions, asked.needed("id"), agent=asked.text("agent"), note=asked.note
    )
    line, repairs = seen.report.session, seen.tree.repairs
    sources = [(source, _address(source)) for source in seen.read.locators]
    return PageView(
        title=f"Session {digest(line.session)}",
        template="session.html",
        fields={
            "seen": seen,
            "line": line,
            "prompts": seen.report.prompts[:PROMPTS_SHOWN],
            "files": line.files[:FILES_SHOWN],
            "sources": sources,
            "with_words": asked.note is not None,
            "failed": sum(row.state == "failed" for row in seen.rows),
            "unended": sum(row.state == "running" and row.kind == "tool" for row in seen.rows),
            "rows_max": ROWS_MAX,
            "mended": [(words, repairs[code]) for code, words in MENDED.items() if code in repairs],
            "without_script": [(row, _label(row)) for row in seen.rows[:ROWS_WITHOUT_SCRIPT]],
            "tree": tree_data(seen.rows, asked.text("call")),
            "events": line.events,
            "whole": shlex.join(("custody", "log", line.session, "--agent", line.agent, "--tree")),
            "over": seen.tree.ended_ns is not None,
        },
        scripts=("tree.js",),
    )


def session_now_part(workspace: Workspace, asked: PageParams) -> PageView:
    """Whether more came of a session than the page shows."""
    known = asked.number("events", 0, least=0, most=999_999_999)
    now, state = session_now(workspace, asked.needed("id"), asked.needed("agent"))
    fields = {"now": now, "state": state, "last": text_from(now.last_ns), "known": known}
    return PageView(title="Now", template="session_now.html", fields=fields)


def tree_data(rows: Sequence[CallRow], call: str | None) -> dict[str, object]:
    """Calls for the island: words once, and for each row its depth, name, kind, state, start, length and detail.

    Starts are milliseconds after the first one; a length is null where nobody saw the end.
    """
    words: dict[str, int] = {}
    starts = [row.began_ns for row in rows if row.began_ns is not None]
    ends = [row.ended_ns for row in rows if row.ended_ns is not None]
    zero = min(starts, default=0)

    def word(text: str) -> int:
        return words.setdefault(text, len(words))

    told = [
        [
            row.depth,
            word(_label(row)),
            word(row.kind),
            STATES.index(row.state),
            None if row.began_ns is None else (row.began_ns - zero) // NS_IN_MS,
            None if row.began_ns is None or row.ended_ns is None else (row.ended_ns - row.began_ns) // NS_IN_MS,
            -1 if row.detail is None else word(short(row.detail, DETAIL_SIGNS)),
        ]
        for row in rows
    ]
    wanted = next((n for n, row in enumerate(rows) if call in (row.id, row.id.partition(":")[2])), -1) if call else -1
    span = max([*starts, *ends], default=0) - zero
    return {"words": list(words), "states": STATES, "rows": told, "wanted": wanted, "span": span // NS_IN_MS}


def _label(row: CallRow) -> str:
    return short(escape_control_characters(row.name, NAME_SIGNS * 2), NAME_SIGNS)


def _address(locator: str) -> str | None:
    """Where a source is, if it is on the web: nothing else is ever made a link."""
    is_web = locator.startswith(("https://", "http://")) and locator.isprintable()
    return locator if is_web and len(locator) <= 2_000 else None


PAGES = (
    Page(
        name="sessions",
        label="Sessions",
        view=sessions,
        takes={
            "agent": "only sessions of this agent",
            "text": "only sessions with this in their id",
            "limit": f"how many, at most {LISTED_MAX}",
            "after": "where the page before ended",
        },
    ),
    Page(
        name="session",
        section="sessions",
        view=session,
        takes={
            "id": "the session's id, or the beginning of it",
            "agent": "whose session, where two agents have one of that id",
            "call": "a call to begin with",
        },
    ),
    Page(
        name="session-now",
        view=session_now_part,
        part=True,
        takes={"id": "the session's id", "agent": "whose session", "events": "how many events are shown already"},
    ),
)
