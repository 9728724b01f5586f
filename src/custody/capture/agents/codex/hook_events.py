"""Codex CLI's hook events, from ``codex-rs/hooks/src/schema.rs`` at commit 343074d4207d (August 2026).

Every event names its session. A subagent shares the session of the thread that started it; ``agent_id`` is then its own
thread. All events but the last of a session name the model. Only the patch shows what it replaced; the hook's snapshots
hold the files around it. Codex reports neither failed tools nor exit codes. Formats change: unknown fields and events
are ignored, and a field of an unexpected type counts as absent.
"""

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType

from msgspec.structs import replace

from custody.capture.agent_event import ObservedHookEvent, dispatch_hook_event
from custody.capture.agents.codex.line_shapes import extract_typed_request
from custody.capture.agents.codex.tool_calls import (
    APPLY_PATCH,
    add_effects,
    normalize_tool_name,
    parse_tool_input,
    parse_tool_output,
)
from custody.capture.tool_use import views_from_tool_use
from custody.capture.typed_field import Fields, get_agent_model, get_captured_text, get_string
from custody.core.ids import PromptId
from custody.core.views import CallStatus, View
from custody.core.wire.event import HookEvent
from custody.core.wire.event_views import find_call_subject


def views_from_hook_event(event: HookEvent) -> tuple[View, ...]:
    """Return the views of one hook event; none without a session or for an event without a reader."""
    return dispatch_hook_event(event, EVENTS, _CodexEvent)


class _CodexEvent(ObservedHookEvent):
    """An event with Codex's own fields."""

    def __init__(self, event: HookEvent, session: str, payload: Fields) -> None:
        super().__init__(event, session, payload)
        self.tool = normalize_tool_name(self.tool)
        self.given = parse_tool_input(self.tool, payload.get("tool_input"))
        self.model = get_agent_model(payload.get("model"))
        self.subagent = get_string(payload.get("agent_id"))
        turn = get_string(payload.get("turn_id"))
        self.prompt = PromptId(turn) if turn else None


def _read_session_start(hook: _CodexEvent) -> Iterator[View]:
    yield hook.to_session_start(hook.model)


def _read_session_end(hook: _CodexEvent) -> Iterator[View]:
    yield hook.to_session_end()


def _read_user_prompt(hook: _CodexEvent) -> Iterator[View]:
    """Yield a prompt, and the model that it was sent to, which may have changed during the session."""
    if hook.subagent is not None:
        return
    if hook.model is not None:
        yield hook.to_model_change(hook.model)
    prompt = get_captured_text(extract_typed_request(hook.payload.get("prompt")))
    if prompt is not None:
        yield hook.to_prompt(prompt, hook.prompt)


def _read_call_start(hook: _CodexEvent) -> Iterator[View]:
    if hook.call is not None:
        yield hook.to_tool_call(hook.call, CallStatus.RUNNING, about=_describe_tool_call(hook))


def _read_call_end(hook: _CodexEvent) -> Iterator[View]:
    if hook.call is None:
        return
    answer = parse_tool_output(hook.payload.get("tool_response"))
    yield hook.to_tool_call(
        hook.call, CallStatus.FAILED if answer.failed else CallStatus.OK, about=_describe_tool_call(hook)
    )
    use = replace(
        hook.use(hook.call, hook.tool),
        input=hook.given.input,
        answer=hook.payload.get("tool_response"),
        result=answer.text,
        output=answer,
        failed=answer.failed,
        folder=hook.folder,
    )
    yield from views_from_tool_use(add_effects(use))


def _describe_tool_call(hook: _CodexEvent) -> str | None:
    return None if hook.tool == APPLY_PATCH else find_call_subject(hook.given.input)


EVENTS: Mapping[str, Callable[[_CodexEvent], Iterator[View]]] = MappingProxyType(
    {
        "SessionStart": _read_session_start,
        "SessionEnd": _read_session_end,
        "UserPromptSubmit": _read_user_prompt,
        "PreToolUse": _read_call_start,
        "PostToolUse": _read_call_end,
    }
)
