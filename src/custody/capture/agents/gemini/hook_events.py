"""Gemini CLI's hook events, as in ``packages/core/src/hooks``: 0.13 of November 2025 to 5411f113 of August 2026.

Hooks do not name the call: it is named by its content (``hook/call_name.py``), once it has ended. Only chats and the
events around model calls report the model; ``custody init`` does not enable the latter. Formats change: unknown fields
and events are ignored, and a field of an unexpected type counts as absent.
"""

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType

from msgspec.structs import replace

from custody.capture.agent_event import (
    ObservedHookEvent,
    dispatch_hook_event,
    prompt_id_from_text,
    read_session_end,
    read_session_start,
)
from custody.capture.agents.gemini.tool_calls import SERVERS, add_effects, parse_agent_model
from custody.capture.hook.call_name import extract_tool_result_text, make_gemini_call_id
from custody.capture.tool_use import views_from_tool_use
from custody.capture.typed_field import get_captured_text, get_fields
from custody.core.ids import CallId
from custody.core.views import CallStatus, View
from custody.core.wire.event import HookEvent
from custody.core.wire.event_views import find_call_subject


def views_from_hook_event(event: HookEvent) -> tuple[View, ...]:
    """Return the views of one hook event; none without a session or for an event without a reader."""
    return dispatch_hook_event(event, EVENTS, ObservedHookEvent)


def _read_model_change(hook: ObservedHookEvent) -> Iterator[View]:
    name = parse_agent_model(get_fields(hook.payload.get("llm_request")).get("model"))
    if name is not None:
        yield hook.to_model_change(name)


def _read_user_prompt(hook: ObservedHookEvent) -> Iterator[View]:
    prompt = get_captured_text(hook.payload.get("prompt"))
    if prompt is None or (prompt.content is not None and not prompt.content.strip()):
        return
    yield hook.to_prompt(prompt, None if prompt.content is None else prompt_id_from_text(prompt.content))


def _read_tool_call(hook: ObservedHookEvent) -> Iterator[View]:
    payload = hook.payload
    tool, arguments, answer = hook.tool, payload.get("tool_input"), get_fields(payload.get("tool_response"))
    if not tool:
        return
    failed = bool(answer.get("error"))
    # Older hooks did not name calls by their content.
    call = CallId(hook.event.call or make_gemini_call_id(tool, arguments, answer.get("llmContent")))
    yield hook.to_tool_call(call, CallStatus.FAILED if failed else CallStatus.OK, about=find_call_subject(arguments))
    served = isinstance(payload.get("mcp_context"), dict) and not tool.startswith(SERVERS)
    use = replace(
        hook.use(call, f"{SERVERS}{tool}" if served else tool),
        input=get_fields(arguments),
        response=get_fields(answer.get("returnDisplay")),
        result=extract_tool_result_text(answer.get("llmContent")) or extract_tool_result_text(answer.get("error")),
        failed=failed,
    )
    yield from views_from_tool_use(add_effects(use))


EVENTS: Mapping[str, Callable[[ObservedHookEvent], Iterator[View]]] = MappingProxyType(
    {
        "SessionStart": read_session_start,
        "SessionEnd": read_session_end,
        "BeforeModel": _read_model_change,
        "AfterModel": _read_model_change,
        "BeforeToolSelection": _read_model_change,
        "BeforeAgent": _read_user_prompt,
        "AfterTool": _read_tool_call,
    }
)
