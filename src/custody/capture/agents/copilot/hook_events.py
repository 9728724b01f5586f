"""GitHub Copilot's hook events, from VS Code and from Copilot CLI: one agent, because both run the same hook files.

VS Code: ``chatHookService.ts`` of microsoft/vscode-copilot-chat at 31acd00a (0.42 of March 2026) and of
microsoft/vscode at 09ebb65e (summer 2026), which reports the model too. It names each call. It reports the end of an
edit before it writes the file; until the next snapshot, the edit's own text counts. It does not report a call's
subagent.

Copilot CLI: ``app.js`` of @github/copilot 1.0.62 (June 2026), ``hooks-reference.md`` of github/docs (autumn 2026) and
events of 1.0.102 (November 2026). Events with a capital have ``tool_name``, ``tool_input`` and ``tool_result``, the
others ``toolName``, ``toolArgs`` (at first JSON in a text) and ``toolResult``. Calls have no ids and are named by their
content (``hook/call_name.py``). A subagent has its own session (1.0.64 to 1.0.102), which the hook assigns to the
session that started it (``hook/call_match.py``).

Formats change: unknown fields and events are ignored, and a field of an unexpected type counts as absent.
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
from custody.capture.agents.copilot.tool_calls import (
    NOTICE,
    add_effects,
    describe_tool_call,
    has_command_failed,
    normalize_tool_name,
    parse_call_input,
)
from custody.capture.hook.call_name import find_copilot_call_id
from custody.capture.tool_use import views_from_tool_use
from custody.capture.typed_field import Fields, get_agent_model, get_captured_text, get_fields, get_string
from custody.core.ids import CallId
from custody.core.views import CallStatus, View
from custody.core.wire.event import HookEvent

_SUCCESS = frozenset((None, "success"))
UNKNOWN_MODELS = frozenset(("", "auto"))
"""Model names that mean that Copilot chose the model."""


def views_from_hook_event(event: HookEvent) -> tuple[View, ...]:
    """Return the views of one hook event; none without a session or for an event without a reader."""
    return dispatch_hook_event(
        event, EVENTS, _CopilotEvent, normalize_hook_event_name(event.event, get_fields(event.payload))
    )


def normalize_hook_event_name(name: str, fields: Fields) -> str:
    """Return the event's name with a small first letter; without a name (CLI before 1.0.21), by its fields.

    >>> normalize_hook_event_name("PostToolUse", {})
    'postToolUse'
    >>> normalize_hook_event_name("unknown", {"toolName": "bash", "toolArgs": "{}"})
    'preToolUse'
    """
    if name != "unknown":
        small = name[:1].lower() + name[1:]
        return "userPromptSubmit" if small == "userPromptSubmitted" else small
    if "toolName" in fields:
        return "postToolUse" if "toolResult" in fields else "postToolUseFailure" if "error" in fields else "preToolUse"
    marks = {
        "prompt": "userPromptSubmit",
        "source": "sessionStart",
        "reason": "sessionEnd",
        "parent_agent_id": "subagentStart",
    }
    return next((event for mark, event in marks.items() if mark in fields), name)


class _CopilotEvent(ObservedHookEvent):
    """An event with Copilot's own fields."""

    def __init__(self, event: HookEvent, session: str, payload: Fields) -> None:
        super().__init__(event, session, payload)
        self.tool = normalize_tool_name(get_string(payload.get("tool_name", payload.get("toolName"))) or "")
        self.given = parse_call_input(payload.get("tool_input", payload.get("toolArgs")))
        kind = normalize_hook_event_name(event.event, payload)
        name = event.call or find_copilot_call_id(kind, dict(payload))
        self.call = CallId(name) if name is not None and self.tool else None
        # A subagent's event names its own session; the hook recorded the session above it.
        own = get_string(payload.get("session_id")) or get_string(payload.get("sessionId"))
        self.subagent = own if own and own != session else None
        spoken = get_agent_model(payload.get("model"))
        self.model = None if spoken in UNKNOWN_MODELS else spoken

    @property
    def result_text(self) -> str:
        """The text that the model was shown."""
        answer = self.payload.get("tool_result") or self.payload.get("toolResult") or self.payload.get("tool_response")
        fields = get_fields(answer)
        shown = (
            fields.get("text_result_for_llm") or fields.get("textResultForLlm") or answer or self.payload.get("error")
        )
        return get_string(shown) or get_string(get_fields(shown).get("message")) or ""

    @property
    def has_failed(self) -> bool:
        """Whether the call certainly failed."""
        fields = get_fields(self.payload.get("tool_result") or self.payload.get("toolResult"))
        ended = get_string(fields.get("result_type", fields.get("resultType")))
        return ended not in _SUCCESS or bool(self.payload.get("error"))


def _read_user_prompt(hook: _CopilotEvent) -> Iterator[View]:
    """Yield a person's prompt; nothing for a subagent's or the program's."""
    prompt = get_captured_text(hook.payload.get("prompt"))
    if prompt is None or hook.subagent is not None:
        return
    if prompt.content is not None and (not prompt.content.strip() or NOTICE.fullmatch(prompt.content)):
        return
    name = None if prompt.content is None else prompt_id_from_text(prompt.content)
    yield hook.to_prompt(prompt, name)


def _read_call_start(hook: _CopilotEvent) -> Iterator[View]:
    if hook.call is not None:
        yield hook.to_tool_call(hook.call, CallStatus.RUNNING, about=describe_tool_call(hook.tool, hook.given))


def _read_call_end(hook: _CopilotEvent) -> Iterator[View]:
    if hook.call is None:
        return
    wrong = hook.has_failed or has_command_failed(hook.tool, hook.result_text, hook.given)
    status = CallStatus.FAILED if wrong else CallStatus.OK
    yield hook.to_tool_call(hook.call, status, about=describe_tool_call(hook.tool, hook.given))
    use = replace(
        hook.use(hook.call, hook.tool),
        input=hook.given,
        answer=hook.result_text,
        result=hook.result_text,
        failed=hook.has_failed,
        folder=hook.folder,
    )
    yield from views_from_tool_use(add_effects(use))


EVENTS: Mapping[str, Callable[[_CopilotEvent], Iterator[View]]] = MappingProxyType(
    {
        "sessionStart": read_session_start,
        "sessionEnd": read_session_end,
        "userPromptSubmit": _read_user_prompt,
        "preToolUse": _read_call_start,
        "postToolUse": _read_call_end,
        "postToolUseFailure": _read_call_end,
    }
)
