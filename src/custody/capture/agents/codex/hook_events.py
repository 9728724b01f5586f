"""Codex CLI's hook events, from ``codex-rs/hooks/src/schema.rs`` at commit 343074d4207d (August 2026).

Every event names its session, which a subagent shares with the thread that started it (``agent_id`` is then the
subagent's own thread), and all but the last of a session its model. What a patch replaced is told by the patch alone;
the files around it are in the snapshots that the hook takes. Codex says nothing when a tool fails, and of a command
that ended not how. Formats move: unknown fields and events are passed over, a field of another type counts as absent.
"""

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType

from msgspec.structs import replace

from custody.capture.agents.codex.line_shapes import request_in
from custody.capture.agents.codex.tool_calls import APPLY_PATCH, add_effects, parse_tool_input, plain
from custody.capture.agents.codex.tool_output import answer_of
from custody.capture.hook_event import ObservedHookEvent, views_by
from custody.capture.tool_use import use_views
from custody.capture.typed_field import Fields, get_string, model, text
from custody.core.ids import CallId, PromptId
from custody.core.views import CallStatus, Prompt, Session, ToolCall, View
from custody.core.wire.event import HookEvent
from custody.core.wire.event_views import about_of


def views_of(event: HookEvent) -> tuple[View, ...]:
    """The views that one hook event gives; none without a session or for an event that says nothing of its own."""
    return views_by(event, EVENTS, _CodexEvent)


class _CodexEvent(ObservedHookEvent):
    """An event with what this agent says of it."""

    def __init__(self, event: HookEvent, session: str, fields: Fields) -> None:
        super().__init__(event, session)
        self.fields = fields
        self.model = model(fields.get("model"))
        self.subagent = get_string(fields.get("agent_id"))
        turn = get_string(fields.get("turn_id"))
        self.prompt = PromptId(turn) if turn else None


def _session(seen: _CodexEvent) -> Iterator[View]:
    yield seen.begun(seen.model)


def _session_end(seen: _CodexEvent) -> Iterator[View]:
    yield seen.ended()


def _prompt(seen: _CodexEvent) -> Iterator[View]:
    """What a person typed, and the model that it was typed to: that may have changed since the session began."""
    if seen.subagent is not None:
        return
    if seen.model is not None:
        yield Session(agent=seen.agent, id=seen.session, started_ns=seen.at_ns, model=seen.model)
    asked = text(request_in(seen.fields.get("prompt")))
    if asked is not None:
        yield Prompt(seen.agent, seen.session, seen.prompt or PromptId(seen.event.id), seen.at_ns, asked)


def _make_call_start(seen: _CodexEvent) -> Iterator[View]:
    if seen.event.call is not None:
        yield _call(seen, CallId(seen.event.call), CallStatus.RUNNING)


def _ended(seen: _CodexEvent) -> Iterator[View]:
    if seen.event.call is None:
        return
    call, tool = CallId(seen.event.call), _tool(seen)
    given, answer = parse_tool_input(tool, seen.fields.get("tool_input")), answer_of(seen.fields.get("tool_response"))
    yield _call(seen, call, CallStatus.FAILED if answer.failed else CallStatus.OK)
    use = replace(
        seen.use(call, tool),
        input=given.kept(),
        answer=seen.fields.get("tool_response"),
        words=answer.words,
        failed=answer.failed,
    )
    yield from use_views(add_effects(use, given, answer, seen.event.folder or get_string(seen.fields.get("cwd"))))


def _tool(seen: _CodexEvent) -> str:
    return plain(get_string(seen.fields.get("tool_name")) or "")


def _call(seen: _CodexEvent, call: CallId, status: CallStatus) -> ToolCall:
    tool = _tool(seen)
    return ToolCall(
        agent=seen.agent,
        session=seen.session,
        id=call,
        name=tool,
        started_ns=seen.at_ns,
        ended_ns=None if status is CallStatus.RUNNING else seen.at_ns,
        status=status,
        prompt=seen.prompt,
        subagent=seen.subagent,
        model=seen.model,
        about=None if tool == APPLY_PATCH else about_of(parse_tool_input(tool, seen.fields.get("tool_input")).kept()),
    )


EVENTS: Mapping[str, Callable[[_CodexEvent], Iterator[View]]] = MappingProxyType(
    {
        "SessionStart": _session,
        "SessionEnd": _session_end,
        "UserPromptSubmit": _prompt,
        "PreToolUse": _make_call_start,
        "PostToolUse": _ended,
    }
)
