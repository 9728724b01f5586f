"""Gemini CLI's hook events, as ``packages/core/src/hooks`` has them: 0.13 of November 2025 to 5411f113 of August 2026.

Formats move: unknown fields and events are passed over, a field of another type than expected counts as absent. A hook
does not say which call it speaks of: a call is named by its content (``hook/call_name.py``), from its end on. Models
are told only by the events around model calls, which ``custody init`` does not ask for, and by chats.
"""

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType

from msgspec.structs import replace

from custody.capture.agent_event import ObservedHookEvent, prompt_id, session_end, views_by
from custody.capture.agents.gemini.tool_calls import SERVERS, add_effects, model_named
from custody.capture.hook.call_name import call_of, extract_result_text
from custody.capture.tool_use import use_views
from custody.capture.typed_field import fields, text
from custody.core.ids import CallId
from custody.core.views import CallStatus, View
from custody.core.wire.event import HookEvent
from custody.core.wire.event_views import about_of


def views_of(event: HookEvent) -> tuple[View, ...]:
    """The views that one hook event gives; none without a session or for an event that says nothing of its own."""
    return views_by(event, EVENTS, ObservedHookEvent)


def _session(seen: ObservedHookEvent) -> Iterator[View]:
    yield seen.begun(seen.model)


def _model(seen: ObservedHookEvent) -> Iterator[View]:
    named = model_named(fields(seen.said.get("llm_request")).get("model"))
    if named is not None:
        yield seen.speaks(named)


def _prompt(seen: ObservedHookEvent) -> Iterator[View]:
    asked = text(seen.said.get("prompt"))
    if asked is None or (asked.content is not None and not asked.content.strip()):
        return
    yield seen.typed(asked, None if asked.content is None else prompt_id(asked.content))


def _call(seen: ObservedHookEvent) -> Iterator[View]:
    said = seen.said
    tool, given, answer = seen.tool, said.get("tool_input"), fields(said.get("tool_response"))
    if not tool:
        return
    failed = bool(answer.get("error"))
    # A hook of before calls were named by their content has none.
    call = CallId(seen.event.call or call_of(tool, given, answer.get("llmContent")))
    yield seen.called(call, CallStatus.FAILED if failed else CallStatus.OK, about=about_of(given))
    served = isinstance(said.get("mcp_context"), dict) and not tool.startswith(SERVERS)
    use = replace(
        seen.use(call, f"{SERVERS}{tool}" if served else tool),
        input=fields(given),
        response=fields(answer.get("returnDisplay")),
        words=extract_result_text(answer.get("llmContent")) or extract_result_text(answer.get("error")),
        failed=failed,
    )
    yield from use_views(add_effects(use))


EVENTS: Mapping[str, Callable[[ObservedHookEvent], Iterator[View]]] = MappingProxyType(
    {
        "SessionStart": _session,
        "SessionEnd": session_end,
        "BeforeModel": _model,
        "AfterModel": _model,
        "BeforeToolSelection": _model,
        "BeforeAgent": _prompt,
        "AfterTool": _call,
    }
)
