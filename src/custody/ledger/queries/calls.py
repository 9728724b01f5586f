"""SQL about the tool calls of sessions."""

from custody.core.ids import CallId, SessionId
from custody.core.views import ToolCall
from custody.store import ObservedView, Store


def call_views(store: Store, session: SessionId, call: str) -> list[ObservedView[ToolCall]]:
    """Return what was captured of one tool call, of any agent."""
    return store.views.look_up(ToolCall, "session = ? AND call = ?", (session, call))


def call_ids(store: Store, session: SessionId) -> list[CallId]:
    """Return the ids of the tool calls of a session, of any agent."""
    return [CallId(str(call)) for call in store.views.distinct(ToolCall, "call", "session = ?", (session,))]


def last_calls(store: Store, session: SessionId, limit: int) -> list[ObservedView[ToolCall]]:
    """Return the last records about tool calls of a session, of any agent."""
    return store.views.look_up(ToolCall, f"session = ? ORDER BY started_ns DESC LIMIT {int(limit)}", (session,))
