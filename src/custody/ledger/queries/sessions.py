"""SQL about sessions: which there are, and what was captured of one."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Final, TypeVar

from custody.core.ids import AgentName, SessionId
from custody.core.views import FileEdit, Observation, Prompt, Session, SourceAccess, ToolCall
from custody.store import EVERYTHING, ObservedView, RecordFilter, Store
from custody.store.tables import integer

SESSIONS_READ_MAX: Final = 20
"""Maximum records of one session that are read for what they say of it as a whole."""

SessionView = Session | Prompt | ToolCall | FileEdit | SourceAccess
"""Views that belong to one session of one agent."""

V = TypeVar("V", bound=SessionView)


@dataclass(frozen=True, slots=True)
class SessionRow:
    """A session by what was captured of it: when first, when last, how many events."""

    agent: AgentName
    session: SessionId
    first_ns: int
    last_ns: int
    events: int


def session_rows(store: Store, *, limit: int, starting: str = "", named: str | None = None) -> list[SessionRow]:
    """Return the sessions whose id begins with ``starting`` or equals ``named``, the last active first."""
    least, most = (starting, starting + chr(0x10FFFF)) if named is None else (named, named)
    rows = store.db.rows(
        "SELECT agent, session, min(at_ns), max(at_ns), count(*) FROM observation"
        " WHERE session >= ? AND session <= ? GROUP BY agent, session"
        " ORDER BY max(at_ns) DESC, agent, session LIMIT ?",
        (least, most, limit),
    )
    return [
        SessionRow(AgentName(str(agent)), SessionId(str(session)), integer(first), integer(last), integer(count))
        for agent, session, first, last, count in rows
    ]


def session_count(store: Store) -> int:
    """Return how many sessions have a captured event."""
    rows = store.db.rows("SELECT count(*) FROM (SELECT DISTINCT agent, session FROM observation) AS seen")
    return integer(rows[0][0])


def agents_of_session(store: Store, session: SessionId) -> list[AgentName]:
    """Return the agents with a session of this id, by name."""
    return [AgentName(str(agent)) for agent in store.views.distinct(Observation, "agent", "session = ?", (session,))]


def views_of_session(store: Store, session: SessionId, kinds: Collection[type[V]]) -> list[ObservedView[V]]:
    """Return everything of these kinds that was captured of a session, of any agent."""
    return store.views.look_up_in(kinds, "session = ?", (session,))


def session_views(store: Store, session: SessionId) -> list[ObservedView[Session]]:
    """Return what was captured of a session as a whole, of any agent."""
    return store.views.look_up(Session, "session = ?", (session,))


def first_session_views(store: Store, session: SessionId, limit: int) -> list[ObservedView[Session]]:
    """Return the first records about a session as a whole, of any agent."""
    return store.views.look_up(Session, f"session = ? ORDER BY started_ns LIMIT {int(limit)}", (session,))


def last_session_views(store: Store, session: SessionId, limit: int) -> list[ObservedView[Session]]:
    """Return the last records about a session as a whole, of any agent."""
    return store.views.look_up(Session, f"session = ? ORDER BY started_ns DESC LIMIT {int(limit)}", (session,))


def sessions_before(
    store: Store, agent: AgentName, session: SessionId, at_ns: int, only: RecordFilter = EVERYTHING
) -> list[ObservedView[Session]]:
    """Return the last ``SESSIONS_READ_MAX`` records about a session up to a time."""
    where = (
        f"session = ? AND agent = ? AND started_ns <= ?{only.where('session')}"
        f" ORDER BY started_ns DESC LIMIT {SESSIONS_READ_MAX}"
    )
    return store.views.look_up(Session, where, (session, agent, at_ns, *only.values))


def was_open(
    store: Store, agent: AgentName, session: SessionId, at_ns: int, within_ns: int, only: RecordFilter = EVERYTHING
) -> bool:
    """Whether the last event of a session within ``within_ns`` before a time is not its end."""
    last = store.db.rows(
        "SELECT event FROM observation WHERE session = ? AND agent = ? AND at_ns <= ? AND at_ns > ?"
        f"{only.where('observation')} ORDER BY at_ns DESC, store_id DESC, seq DESC, n DESC LIMIT 1",
        (session, agent, at_ns, at_ns - within_ns, *only.values),
    )
    return bool(last) and str(last[0][0]).lower() != "sessionend"


def work_trees_of(store: Store, agent: AgentName, session: SessionId, only: RecordFilter = EVERYTHING) -> set[str]:
    """Return the work trees in which a session started or resumed."""
    where = (
        f"session = ? AND agent = ?{only.where('session')}"
        f" ORDER BY started_ns, store_id, seq, n LIMIT {SESSIONS_READ_MAX}"
    )
    views = (seen.view for seen in store.views.look_up(Session, where, (session, agent, *only.values)))
    return {view.worktree for view in views if view.agent == agent and view.worktree is not None}
