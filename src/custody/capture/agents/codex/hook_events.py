"""Codex CLI's hook events, from ``codex-rs/hooks/src/schema.rs`` at commit 343074d4207d (August 2026).

Every event names its session, which a subagent shares with the thread that started it (``agent_id`` is then the
subagent's own thread), and all but the last of a session its model. What a patch replaced is told by the patch alone;
the files around it are in the snapshots that the hook takes. Codex says nothing when a tool fails, and of a command
that ended not how. Formats move: unknown fields and events are passed over, a field of another type counts as absent.
"""

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType

from msgspec.structs import replace

from custody.capture.agent_event import ObservedHookEvent, views_by
from custody.capture.agents.codex.line_shapes import request_in
from custody.capture.agents.codex.tool_calls import APPLY_PATCH, add_effects, answer_of, parse_tool_input, plain
from custody.capture.tool_use import use_views
from custody.capture.typed_field import Fields, get_string, model, text
from custody.core.ids import PromptId
from custody.core.views import CallStatus, View
from custody.core.wire.event import HookEvent
from custody.core.wire.event_views import about_of


def views_of(event: HookEvent) -> tuple[View, ...]:
    """The views that one hook event gives; none without a session or for an event that says nothing of its own."""
    return views_by(event, EVENTS, _CodexEvent)


class _CodexEvent(ObservedHookEvent):
    """An event with what this agent says of it."""

    def __init__(self, event: HookEvent, session: str, said: Fields) -> None:
        super().__init__(event, session, said)
        self.tool = plain(self.tool)
        self.given = parse_tool_input(self.tool, said.get("tool_input"))
        self.model = model(said.get("model"))
        self.subagent = get_string(said.get("agent_id"))
        turn = get_string(said.get("turn_id"))
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
        yield seen.speaks(seen.model)
    asked = text(request_in(seen.said.get("prompt")))
    if asked is not None:
        yield seen.typed(asked, seen.prompt)


def _begun(seen: _CodexEvent) -> Iterator[View]:
    if seen.call is not None:
        yield seen.called(seen.call, CallStatus.RUNNING, about=_about(seen))


def _ended(seen: _CodexEvent) -> Iterator[View]:
    if seen.call is None:
        return
    answer = answer_of(seen.said.get("tool_response"))
    yield seen.called(seen.call, CallStatus.FAILED if answer.failed else CallStatus.OK, about=_about(seen))
    use = replace(
        seen.use(seen.call, seen.tool),
        input=seen.given.kept(),
        answer=seen.said.get("tool_response"),
        words=answer.words,
        failed=answer.failed,
    )
    yield from use_views(add_effects(use, seen.given, answer, seen.folder))


def _about(seen: _CodexEvent) -> str | None:
    return None if seen.tool == APPLY_PATCH else about_of(seen.given.kept())


EVENTS: Mapping[str, Callable[[_CodexEvent], Iterator[View]]] = MappingProxyType(
    {
        "SessionStart": _session,
        "SessionEnd": _session_end,
        "UserPromptSubmit": _prompt,
        "PreToolUse": _begun,
        "PostToolUse": _ended,
    }
)
