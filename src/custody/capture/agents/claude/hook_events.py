"""Claude Code's hook events, as its typings and real transcripts show them.

Formats move: unknown fields and events are passed over, a field of another type than expected counts as absent.
"""

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType

from msgspec.structs import replace

from custody.capture.agent_event import ObservedHookEvent, duration_ns, views_by
from custody.capture.agents.claude.tool_calls import add_effects
from custody.capture.tool_use import use_views
from custody.capture.typed_field import Fields, fields, get_string, model, text
from custody.core.ids import PromptId
from custody.core.views import CallStatus, View
from custody.core.wire.event import HookEvent
from custody.core.wire.event_views import about_of


def views_of(event: HookEvent) -> tuple[View, ...]:
    """The views that one hook event gives; none without a session or for an event that says nothing of its own."""
    return views_by(event, EVENTS, _ClaudeEvent)


class _ClaudeEvent(ObservedHookEvent):
    """An event with what this agent says of it."""

    def __init__(self, event: HookEvent, session: str, said: Fields) -> None:
        super().__init__(event, session, said)
        prompt = get_string(said.get("prompt_id"))
        self.prompt = None if prompt is None else PromptId(prompt)
        self.subagent = get_string(said.get("agent_id"))


def _session(seen: _ClaudeEvent) -> Iterator[View]:
    yield seen.begun(model(seen.said.get("model")))


def _session_end(seen: _ClaudeEvent) -> Iterator[View]:
    yield seen.ended()


def _model_switch(seen: _ClaudeEvent) -> Iterator[View]:
    yield seen.speaks(model(seen.said.get("to_model")))


def _prompt(seen: _ClaudeEvent) -> Iterator[View]:
    asked = text(seen.said.get("prompt"))
    if asked is not None:
        yield seen.typed(asked)


def _begun(seen: _ClaudeEvent) -> Iterator[View]:
    yield from _call(seen, CallStatus.RUNNING)


def _ended(seen: _ClaudeEvent) -> Iterator[View]:
    yield from _call(seen, CallStatus.OK)


def _failed(seen: _ClaudeEvent) -> Iterator[View]:
    yield from _call(seen, CallStatus.FAILED)


def _call(seen: _ClaudeEvent, status: CallStatus) -> Iterator[View]:
    if seen.call is None:
        return
    given, answer = seen.said.get("tool_input"), seen.said.get("tool_response")
    took_ns = duration_ns(seen.said.get("duration_ms"))
    yield seen.called(seen.call, status, about=about_of(given), took_ns=took_ns)
    if status is not CallStatus.RUNNING:
        use = replace(
            seen.use(seen.call, seen.tool),
            input=fields(given),
            response=fields(answer),
            answer=answer,
            words=get_string(seen.said.get("error")) or "",
            failed=status is CallStatus.FAILED,
        )
        yield from use_views(add_effects(use))


EVENTS: Mapping[str, Callable[[_ClaudeEvent], Iterator[View]]] = MappingProxyType(
    {
        "SessionStart": _session,
        "SessionEnd": _session_end,
        "PostModelSwitch": _model_switch,
        "UserPromptSubmit": _prompt,
        "PreToolUse": _begun,
        "PostToolUse": _ended,
        "PostToolUseFailure": _failed,
    }
)
