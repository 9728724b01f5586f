"""Claude Code's hook events, as its typings and real transcripts show them.

Formats move: unknown fields and events are passed over, a field of another type than expected counts as absent.
"""

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType

from msgspec.structs import replace

from custody.capture.agents.claude.tool_calls import add_effects
from custody.capture.hook_event import ObservedHookEvent, views_by
from custody.capture.tool_use import ToolUse, use_views
from custody.capture.typed_field import Fields, get_string, model, text
from custody.capture.typed_field import fields as fields_of
from custody.core.ids import CallId, PromptId
from custody.core.views import CallStatus, Prompt, Session, ToolCall, View
from custody.core.wire.event import HookEvent
from custody.core.wire.event_views import about_of

NS_PER_MS = 1_000_000
DURATION_MS_MAX = 30 * 24 * 3600 * 1000
"""A call that claims to have taken longer than a month says nothing about its start."""


def views_of(event: HookEvent) -> tuple[View, ...]:
    """The views that one hook event gives; none without a session or for an event that says nothing of its own."""
    return views_by(event, EVENTS, _ClaudeEvent)


class _ClaudeEvent(ObservedHookEvent):
    """An event with what this agent says of it."""

    def __init__(self, event: HookEvent, session: str, fields: Fields) -> None:
        super().__init__(event, session)
        self.fields = fields
        self.call = None if event.call is None else CallId(event.call)
        self.tool = get_string(fields.get("tool_name")) or ""
        self.input = fields_of(fields.get("tool_input"))
        self.response = fields_of(fields.get("tool_response"))


def _session(seen: _ClaudeEvent) -> Iterator[View]:
    yield seen.begun(model(seen.fields.get("model")))


def _session_end(seen: _ClaudeEvent) -> Iterator[View]:
    yield seen.ended()


def _model_switch(seen: _ClaudeEvent) -> Iterator[View]:
    yield Session(agent=seen.agent, id=seen.session, started_ns=seen.at_ns, model=model(seen.fields.get("to_model")))


def _prompt(seen: _ClaudeEvent) -> Iterator[View]:
    asked = text(seen.fields.get("prompt"))
    if asked is not None:
        yield Prompt(seen.agent, seen.session, PromptId(seen.event.id), seen.at_ns, asked)


def _call(status: CallStatus) -> Callable[[_ClaudeEvent], Iterator[View]]:
    def read(seen: _ClaudeEvent) -> Iterator[View]:
        if seen.call is None:
            return
        running = status is CallStatus.RUNNING
        duration = seen.fields.get("duration_ms")
        took = 0
        if isinstance(duration, int | float) and 0 <= duration <= DURATION_MS_MAX:
            took = int(duration * NS_PER_MS)
        prompt = get_string(seen.fields.get("prompt_id"))
        yield ToolCall(
            agent=seen.agent,
            session=seen.session,
            id=seen.call,
            name=seen.tool,
            started_ns=seen.at_ns if running else seen.at_ns - took,
            ended_ns=None if running else seen.at_ns,
            status=status,
            prompt=None if prompt is None else PromptId(prompt),
            subagent=get_string(seen.fields.get("agent_id")),
            about=about_of(seen.fields.get("tool_input")),
        )
        if not running:
            yield from use_views(add_effects(_use(seen, seen.call, failed=status is CallStatus.FAILED)))

    return read


def _use(seen: _ClaudeEvent, call: CallId, *, failed: bool) -> ToolUse:
    return replace(
        seen.use(call, seen.tool),
        input=seen.input,
        response=seen.response,
        answer=seen.fields.get("tool_response"),
        words=get_string(seen.fields.get("error")) or "",
        failed=failed,
    )


EVENTS: Mapping[str, Callable[[_ClaudeEvent], Iterator[View]]] = MappingProxyType(
    {
        "SessionStart": _session,
        "SessionEnd": _session_end,
        "PostModelSwitch": _model_switch,
        "UserPromptSubmit": _prompt,
        "PreToolUse": _call(CallStatus.RUNNING),
        "PostToolUse": _call(CallStatus.OK),
        "PostToolUseFailure": _call(CallStatus.FAILED),
    }
)
