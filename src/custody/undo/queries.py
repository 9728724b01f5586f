"""SQL that finds calls by their ids, whatever their session is."""

from collections.abc import Sequence
from typing import NamedTuple

from custody.core.ids import AgentName, CallId, SessionId
from custody.store import Store

_LAST = chr(0x10FFFF)


class CallOwner(NamedTuple):
    """A call with its session and agent."""

    agent: AgentName
    session: SessionId
    call: CallId


def list_calls_by_id(store: Store, name: str, *, exact: bool, limit: int) -> Sequence[CallOwner]:
    """Return the calls with this id, or with one that starts with it."""
    least, most = (name, name) if exact else (name, name + _LAST)
    rows = store.db.rows(
        "SELECT DISTINCT agent, session, call FROM tool_call WHERE call >= ? AND call <= ?"
        " ORDER BY agent, session, call LIMIT ?",
        (least, most, limit),
    )
    return [
        CallOwner(AgentName(str(agent)), SessionId(str(session)), CallId(str(call))) for agent, session, call in rows
    ]
