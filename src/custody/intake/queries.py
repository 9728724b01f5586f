"""SQL about agents and their sessions, for imports and installation."""

from msgspec import Struct

from custody.core.ids import AgentName, SessionId
from custody.core.views import ToolCall
from custody.store import ObservedView, Store
from custody.store.tables import integer_from_sql


class CapturedAgentRow(Struct, frozen=True):
    """An agent with captured events; ``live_ns`` is the time of its last live event."""

    agent: AgentName
    last_ns: int
    live_ns: int | None
    sessions: int


def list_captured_agents(store: Store) -> list[CapturedAgentRow]:
    """Return every agent with a captured event, by name; imported transcripts and links to commits are not live."""
    rows = store.db.rows(
        "SELECT agent, max(at_ns), max(CASE WHEN event NOT IN ('transcript', 'link') THEN at_ns END),"
        " count(DISTINCT session) FROM observation GROUP BY agent ORDER BY agent"
    )
    return [
        CapturedAgentRow(
            AgentName(str(agent)),
            integer_from_sql(last),
            None if live is None else integer_from_sql(live),
            integer_from_sql(count),
        )
        for agent, last, live, count in rows
    ]


def list_captured_sessions(store: Store) -> list[tuple[str, str]]:
    """Return every captured session as (agent, session)."""
    rows = store.db.rows("SELECT DISTINCT agent, session FROM observation")
    return [(str(agent), str(session)) for agent, session in rows]


_TRACE_KEYS = ("import:trace:", "import:trace;")
"""Between these are the keys of imported traces."""
_CHECKPOINT_LINK_KEYS = "%:link:entire!%3A%"


def has_imported_traces(store: Store) -> bool:
    """Return whether traces of another tool were imported: git-ai's notes are stored as such, too."""
    return bool(store.db.rows("SELECT 1 FROM record WHERE natural_key >= ? AND natural_key < ? LIMIT 1", _TRACE_KEYS))


def has_imported_checkpoints(store: Store) -> bool:
    """Return whether commits are linked to imported checkpoints of Entire."""
    rows = store.db.rows(
        "SELECT 1 FROM record WHERE kind = 'link' AND natural_key LIKE ? ESCAPE '!' LIMIT 1", (_CHECKPOINT_LINK_KEYS,)
    )
    return bool(rows)


def list_captured_calls(store: Store, session: SessionId) -> list[ObservedView[ToolCall]]:
    """Return the captured tool calls of a session, of any agent."""
    return store.views.look_up(ToolCall, "session = ?", (session,))
