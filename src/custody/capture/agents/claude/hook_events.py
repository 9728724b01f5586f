"""Claude Code's hook events, as its typings and real transcripts show them.

Formats change: unknown fields and events are ignored, and a field of an unexpected type counts as absent.
"""

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType

from msgspec.structs import replace

from custody.capture.agent_event import ObservedHookEvent, dispatch_hook_event, parse_call_duration_ns
from custody.capture.agents.claude.tool_calls import add_effects
from custody.capture.tool_use import views_from_tool_use
from custody.capture.typed_field import Fields, get_agent_model, get_captured_text, get_fields, get_string
from custody.core.ids import PromptId
from custody.core.views import CallStatus, View
from custody.core.wire.event import HookEvent
from custody.core.wire.event_views import find_call_subject


def views_from_hook_event(event: HookEvent) -> tuple[View, ...]:
    """Return the views of one hook event; none without a session or for an event without a reader."""
    return dispatch_hook_event(event, EVENTS, _ClaudeEvent)


class _ClaudeEvent(ObservedHookEvent):
    """An event with Claude Code's own fields."""

    def __init__(self, event: HookEvent, session: str, payload: Fields) -> None:
        super().__init__(event, session, payload)
        prompt = get_string(payload.get("prompt_id"))
        self.prompt = None if prompt is None else PromptId(prompt)
        self.subagent = get_string(payload.get("agent_id"))


def _read_session_start(hook: _ClaudeEvent) -> Iterator[View]:
    yield hook.to_session_start(get_agent_model(hook.payload.get("model")))


def _read_session_end(hook: _ClaudeEvent) -> Iterator[View]:
    yield hook.to_session_end()


def _read_model_switch(hook: _ClaudeEvent) -> Iterator[View]:
    yield hook.to_model_change(get_agent_model(hook.payload.get("to_model")))


def _read_user_prompt(hook: _ClaudeEvent) -> Iterator[View]:
    prompt = get_captured_text(hook.payload.get("prompt"))
    if prompt is not None:
        yield hook.to_prompt(prompt)


def _read_call_start(hook: _ClaudeEvent) -> Iterator[View]:
    yield from _read_tool_call(hook, CallStatus.RUNNING)


def _read_call_end(hook: _ClaudeEvent) -> Iterator[View]:
    yield from _read_tool_call(hook, CallStatus.OK)


def _read_call_failure(hook: _ClaudeEvent) -> Iterator[View]:
    yield from _read_tool_call(hook, CallStatus.FAILED)


def _read_tool_call(hook: _ClaudeEvent, status: CallStatus) -> Iterator[View]:
    if hook.call is None:
        return
    arguments, answer = hook.payload.get("tool_input"), hook.payload.get("tool_response")
    took_ns = parse_call_duration_ns(hook.payload.get("duration_ms"))
    yield hook.to_tool_call(hook.call, status, about=find_call_subject(arguments), took_ns=took_ns)
    if status is not CallStatus.RUNNING:
        use = replace(
            hook.use(hook.call, hook.tool),
            input=get_fields(arguments),
            response=get_fields(answer),
            answer=answer,
            result=get_string(hook.payload.get("error")) or "",
            failed=status is CallStatus.FAILED,
        )
        yield from views_from_tool_use(add_effects(use))


EVENTS: Mapping[str, Callable[[_ClaudeEvent], Iterator[View]]] = MappingProxyType(
    {
        "SessionStart": _read_session_start,
        "SessionEnd": _read_session_end,
        "PostModelSwitch": _read_model_switch,
        "UserPromptSubmit": _read_user_prompt,
        "PreToolUse": _read_call_start,
        "PostToolUse": _read_call_end,
        "PostToolUseFailure": _read_call_failure,
    }
)
