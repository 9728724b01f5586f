"""SQL about the calls of sessions, for the cards of hunks."""

from collections.abc import Mapping

from custody.core.ids import AgentName, SessionId
from custody.store import Store

CALLS_NUMBERED_MAX = 20_000
"""Calls of one session that are counted; later ones have no number."""


def number_session_calls(store: Store, agent: AgentName, session: SessionId) -> Mapping[str, int]:
    """Return the calls of an agent's session, numbered from 1 by their start."""
    rows = store.db.rows(
        "SELECT call, min(started_ns) AS first_ns FROM tool_call WHERE session = ? AND agent = ?"
        f" GROUP BY call ORDER BY first_ns, call LIMIT {CALLS_NUMBERED_MAX}",
        (session, agent),
    )
    return {str(call): number for number, (call, _) in enumerate(rows, 1)}
