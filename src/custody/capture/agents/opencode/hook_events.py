"""opencode's events as custody's plugin reports them.

Sources: ``@opencode-ai/plugin`` 1.18.33 (August 2026), back to 0.9.0, and the plugins of 2.0 (``packages/plugin``,
2.0.22 of October 2026), which the plugin (``intake/settings/opencode.js``) reports in the same form. Each event has its
session, its model, and a tool's input and output. A subagent shares the session that started it; ``agent_id`` is its
own. A subagent's call is named with its session, because some models number calls from zero in each session. The hook's
snapshots contain a file's previous text. Formats change: unknown fields and events are ignored, and a field of an
unexpected type counts as absent.
"""

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType

from msgspec.structs import replace

from custody.capture.agent_event import ObservedHookEvent, dispatch_hook_event
from custody.capture.agents.opencode.tool_calls import add_effects, describe_tool_call, read_call_status
from custody.capture.tool_use import views_from_tool_use
from custody.capture.typed_field import Fields, get_agent_model, get_captured_text, get_fields, get_items, get_string
from custody.core.ids import CallId, PromptId
from custody.core.views import CallStatus, ToolCall, View
from custody.core.wire.event import HookEvent


def views_from_hook_event(event: HookEvent) -> tuple[View, ...]:
    """Return the views of one event; none without a session or for an event without a reader."""
    return dispatch_hook_event(event, EVENTS, _OpencodeEvent)


class _OpencodeEvent(ObservedHookEvent):
    """An event with opencode's own fields."""

    def __init__(self, event: HookEvent, session: str, payload: Fields) -> None:
        super().__init__(event, session, payload)
        self.model = get_agent_model(payload.get("model"))
        self.subagent = get_string(payload.get("agent_id"))


def _read_session_start(hook: _OpencodeEvent) -> Iterator[View]:
    if hook.subagent is None:
        yield hook.to_session_start(hook.model)


def _read_user_prompt(hook: _OpencodeEvent) -> Iterator[View]:
    """Yield a prompt, and the model that it was sent to; a subagent's prompt is not a person's."""
    if hook.subagent is not None:
        return
    yield hook.to_session_start(hook.model)
    prompt = get_captured_text(hook.payload.get("prompt"))
    if prompt is not None and prompt.content != "":
        yield hook.to_prompt(prompt, PromptId(get_string(hook.payload.get("prompt_id")) or ""))


def _read_call_start(hook: _OpencodeEvent) -> Iterator[View]:
    if hook.call is not None and hook.tool:
        yield _make_tool_call(hook, hook.call, CallStatus.RUNNING)


def _read_call_end(hook: _OpencodeEvent) -> Iterator[View]:
    if hook.call is None or not hook.tool:
        return
    answer = get_fields(hook.payload.get("tool_response"))
    use = replace(
        hook.use(hook.call, hook.tool),
        input=get_fields(hook.payload.get("tool_input")),
        response=get_fields(answer.get("metadata")),
        answer=get_items(answer.get("content")),
        result=get_string(answer.get("output")) or get_string(answer.get("error")) or "",
        failed=isinstance(answer.get("error"), str),
        folder=hook.folder,
    )
    yield _make_tool_call(hook, hook.call, read_call_status(use))
    yield from views_from_tool_use(add_effects(use))


def _make_tool_call(hook: _OpencodeEvent, call: CallId, status: CallStatus) -> ToolCall:
    parent = get_string(hook.payload.get("parent_call")) if hook.subagent is not None else None
    return hook.to_tool_call(call, status, about=describe_tool_call(hook.payload.get("tool_input")), parent=parent)


EVENTS: Mapping[str, Callable[[_OpencodeEvent], Iterator[View]]] = MappingProxyType(
    {
        "session.created": _read_session_start,
        "chat.message": _read_user_prompt,
        "tool.execute.before": _read_call_start,
        "tool.execute.after": _read_call_end,
        "message.part.updated": _read_call_end,
    }
)
