"""The call that started a subagent, where the subagent's own calls do not name it.

The hooks of Claude Code and Cursor say of a call only which subagent made it; the call that started the subagent says
so in its answer, which comes later and in a record of its own, with Cursor in the event that the subagent starts.
"""

from custody.attribution import Trace
from custody.capture.typed_field import fields, get_string
from custody.core.ids import CallId
from custody.core.views import ToolCall
from custody.intake.queries import calls_of_session
from custody.store import ObservedView, Store

STARTING = frozenset(("Agent", "Task"))
"""The tools that start a subagent, by all the names that they have had."""


def starter_of(store: Store, trace: Trace, subagent: str) -> CallId | None:
    """The captured call of the session that says it started this subagent, if there is one."""
    for seen in calls_of_session(store, trace.session):
        call = seen.view
        if call.agent != trace.agent or call.name not in STARTING:
            continue
        if _started(store, seen) == subagent:
            return call.id
    return None


def _started(store: Store, seen: ObservedView[ToolCall]) -> str | None:
    said = fields(fields(store.tables.payload(seen.record)).get("payload"))
    starts = said.get("hook_event_name") == "subagentStart"
    return get_string(fields(said.get("tool_response")).get("agentId")) or (
        get_string(said.get("conversation_id")) if starts else None
    )
