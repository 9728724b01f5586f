"""SQL about agents and their sessions that imports and installation ask."""

from dataclasses import dataclass

from custody.core.ids import AgentName, SessionId
from custody.core.views import ToolCall
from custody.store import ObservedView, Store
from custody.store.tables import integer


@dataclass(frozen=True, slots=True)
class CapturedAgentRow:
    """An agent by what was captured of it; ``live_ns`` is when something last came as it happened."""

    agent: AgentName
    last_ns: int
    live_ns: int | None
    sessions: int


def agent_rows(store: Store) -> list[CapturedAgentRow]:
    """Return every agent with a captured event, by name."""
    rows = store.db.rows(
        "SELECT agent, max(at_ns), max(CASE WHEN event <> 'transcript' THEN at_ns END), count(DISTINCT session)"
        " FROM observation GROUP BY agent ORDER BY agent"
    )
    return [
        CapturedAgentRow(AgentName(str(agent)), integer(last), None if live is None else integer(live), integer(count))
        for agent, last, live, count in rows
    ]


def session_names(store: Store) -> list[tuple[str, str]]:
    """Return every captured session as (agent, session)."""
    rows = store.db.rows("SELECT DISTINCT agent, session FROM observation")
    return [(str(agent), str(session)) for agent, session in rows]


def calls_of_session(store: Store, session: SessionId) -> list[ObservedView[ToolCall]]:
    """Return what was captured of the tool calls of a session, of any agent."""
    return store.views.look_up(ToolCall, "session = ?", (session,))
