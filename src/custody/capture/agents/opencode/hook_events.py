"""opencode's events as our plugin hands them on.

Followed: ``@opencode-ai/plugin`` 1.18.33 (August 2026), back to 0.9.0, and the plugins of 2.0 (``packages/plugin``,
2.0.22 of October 2026), whose hooks the plugin (``intake/settings/opencode.js``) tells in the same words. It says of
each event its session, which a subagent shares with the one that started it (``agent_id`` is then the subagent's own
session), the model that speaks there, and what a tool was given and gave back. A call of a subagent is named with its
session, since some models count calls from nought in each. What was in a file before is in the snapshots that the hook
takes. Formats move: unknown fields and events are passed over, a field of another type counts as absent.
"""

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType

from msgspec.structs import replace

from custody.capture.agent_event import ObservedHookEvent, views_by
from custody.capture.agents.opencode.tool_calls import about, add_effects, status_of
from custody.capture.tool_use import use_views
from custody.capture.typed_field import Fields, fields, get_string, items, model, text
from custody.core.ids import CallId, PromptId
from custody.core.views import CallStatus, ToolCall, View
from custody.core.wire.event import HookEvent


def views_of(event: HookEvent) -> tuple[View, ...]:
    """The views that one event gives; none without a session or for an event that says nothing of its own."""
    return views_by(event, EVENTS, _OpencodeEvent)


class _OpencodeEvent(ObservedHookEvent):
    """An event with what this agent says of it."""

    def __init__(self, event: HookEvent, session: str, said: Fields) -> None:
        super().__init__(event, session, said)
        self.model = model(said.get("model"))
        self.subagent = get_string(said.get("agent_id"))


def _session(seen: _OpencodeEvent) -> Iterator[View]:
    if seen.subagent is None:
        yield seen.begun(seen.model)


def _prompt(seen: _OpencodeEvent) -> Iterator[View]:
    """What a person typed, and the model that it was typed to; what a subagent is told nobody typed."""
    if seen.subagent is not None:
        return
    yield seen.begun(seen.model)
    asked = text(seen.said.get("prompt"))
    if asked is not None and asked.content != "":
        yield seen.typed(asked, PromptId(get_string(seen.said.get("prompt_id")) or ""))


def _begun(seen: _OpencodeEvent) -> Iterator[View]:
    if seen.call is not None and seen.tool:
        yield _call(seen, seen.call, CallStatus.RUNNING)


def _ended(seen: _OpencodeEvent) -> Iterator[View]:
    if seen.call is None or not seen.tool:
        return
    answer = fields(seen.said.get("tool_response"))
    use = replace(
        seen.use(seen.call, seen.tool),
        input=fields(seen.said.get("tool_input")),
        response=fields(answer.get("metadata")),
        answer=items(answer.get("content")),
        words=get_string(answer.get("output")) or get_string(answer.get("error")) or "",
        failed=isinstance(answer.get("error"), str),
    )
    yield _call(seen, seen.call, status_of(use))
    yield from use_views(add_effects(use, seen.folder))


def _call(seen: _OpencodeEvent, call: CallId, status: CallStatus) -> ToolCall:
    parent = get_string(seen.said.get("parent_call")) if seen.subagent is not None else None
    return seen.called(call, status, about=about(seen.said.get("tool_input")), parent=parent)


EVENTS: Mapping[str, Callable[[_OpencodeEvent], Iterator[View]]] = MappingProxyType(
    {
        "session.created": _session,
        "chat.message": _prompt,
        "tool.execute.before": _begun,
        "tool.execute.after": _ended,
        "message.part.updated": _ended,
    }
)
