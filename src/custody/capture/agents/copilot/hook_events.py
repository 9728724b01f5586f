"""GitHub Copilot's hook events, from VS Code and from Copilot CLI: one agent, since both run the same hook files.

VS Code: ``chatHookService.ts`` of microsoft/vscode-copilot-chat at 31acd00a (0.42 of March 2026), and of
microsoft/vscode at 09ebb65e (summer of 2026), which tells the model too. It names each call, and says that an edit
ended before the file is written: the edit's own text tells it then, and the next look at the disk finds it done.
Copilot CLI: ``app.js`` of @github/copilot 1.0.62 (June 2026) and ``hooks-reference.md`` of github/docs (autumn 2026),
in the shape that events with a capital get (``tool_name``, ``tool_input``, ``tool_result``) and in the other one
(``toolName``, ``toolArgs``, at first a text of JSON, ``toolResult``), and what 1.0.102 (November 2026) told hooks that
listened. It names no call: a call is named by its content (``hook/call_name.py``). VS Code does not say which subagent
made a call; in the CLI a subagent has a session of its own (1.0.64 to 1.0.102), which the hook puts under the one that
started it (``hook/call_match.py``).

Formats move: unknown fields and events are passed over, a field of another type than expected counts as absent.
"""

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType

from msgspec.structs import replace

from custody.capture.agent_event import ObservedHookEvent, prompt_id, session_end, views_by
from custody.capture.agents.copilot.tool_calls import NOTICE, about, add_effects, parse_call_input, plain, went_wrong
from custody.capture.hook.call_name import copilot_call_in
from custody.capture.tool_use import use_views
from custody.capture.typed_field import Fields, fields, get_string, model, text
from custody.core.ids import CallId
from custody.core.views import CallStatus, View
from custody.core.wire.event import HookEvent

_SUCCESS = frozenset((None, "success"))
UNTOLD = frozenset(("", "auto"))
"""What stands where Copilot chooses the model itself."""


def views_of(event: HookEvent) -> tuple[View, ...]:
    """The views that one hook event gives; none without a session or for an event that says nothing of its own."""
    return views_by(event, EVENTS, _CopilotEvent, event_of(event.event, fields(event.payload)))


def event_of(named: str, said: Fields) -> str:
    """The event in the spelling with a small letter; the CLI before 1.0.21 did not name it, its fields tell then.

    >>> event_of("PostToolUse", {}), event_of("unknown", {"toolName": "bash", "toolArgs": "{}"})
    ('postToolUse', 'preToolUse')
    """
    if named != "unknown":
        small = named[:1].lower() + named[1:]
        return "userPromptSubmit" if small == "userPromptSubmitted" else small
    if "toolName" in said:
        return "postToolUse" if "toolResult" in said else "postToolUseFailure" if "error" in said else "preToolUse"
    signs = {
        "prompt": "userPromptSubmit",
        "source": "sessionStart",
        "reason": "sessionEnd",
        "parent_agent_id": "subagentStart",
    }
    return next((event for sign, event in signs.items() if sign in said), named)


class _CopilotEvent(ObservedHookEvent):
    """An event with what this agent says of it."""

    def __init__(self, event: HookEvent, session: str, said: Fields) -> None:
        super().__init__(event, session, said)
        self.tool = plain(get_string(said.get("tool_name", said.get("toolName"))) or "")
        self.given = parse_call_input(said.get("tool_input", said.get("toolArgs")))
        kind = event_of(event.event, said)
        named = event.call or copilot_call_in(kind, dict(said))
        self.call = CallId(named) if named is not None and self.tool else None
        # A subagent's event names its own session; the hook says which one that is part of.
        own = get_string(said.get("session_id")) or get_string(said.get("sessionId"))
        self.subagent = own if own and own != session else None
        spoken = model(said.get("model"))
        self.model = None if spoken in UNTOLD else spoken

    @property
    def result_text(self) -> str:
        """What the model was shown."""
        answer = self.said.get("tool_result") or self.said.get("toolResult") or self.said.get("tool_response")
        told = fields(answer)
        shown = told.get("text_result_for_llm") or told.get("textResultForLlm") or answer or self.said.get("error")
        return get_string(shown) or get_string(fields(shown).get("message")) or ""

    @property
    def has_failed(self) -> bool:
        """Whether the call certainly went wrong."""
        told = fields(self.said.get("tool_result") or self.said.get("toolResult"))
        ended = get_string(told.get("result_type", told.get("resultType")))
        return ended not in _SUCCESS or bool(self.said.get("error"))


def _session(seen: _CopilotEvent) -> Iterator[View]:
    yield seen.begun(seen.model if seen.subagent is None else None)


def _prompt(seen: _CopilotEvent) -> Iterator[View]:
    """What a person typed; not what a subagent is told, nor what the program puts there."""
    asked = text(seen.said.get("prompt"))
    if asked is None or seen.subagent is not None:
        return
    if asked.content is not None and (not asked.content.strip() or NOTICE.fullmatch(asked.content)):
        return
    named = None if asked.content is None else prompt_id(asked.content)
    yield seen.typed(asked, named)


def _begun(seen: _CopilotEvent) -> Iterator[View]:
    if seen.call is not None:
        yield seen.called(seen.call, CallStatus.RUNNING, about=about(seen.tool, seen.given))


def _ended(seen: _CopilotEvent) -> Iterator[View]:
    if seen.call is None:
        return
    wrong = seen.has_failed or went_wrong(seen.tool, seen.result_text, seen.given)
    status = CallStatus.FAILED if wrong else CallStatus.OK
    yield seen.called(seen.call, status, about=about(seen.tool, seen.given))
    use = replace(
        seen.use(seen.call, seen.tool),
        input=seen.given,
        answer=seen.result_text,
        words=seen.result_text,
        failed=seen.has_failed,
    )
    yield from use_views(add_effects(use, seen.folder))


EVENTS: Mapping[str, Callable[[_CopilotEvent], Iterator[View]]] = MappingProxyType(
    {
        "sessionStart": _session,
        "sessionEnd": session_end,
        "userPromptSubmit": _prompt,
        "preToolUse": _begun,
        "postToolUse": _ended,
        "postToolUseFailure": _ended,
    }
)
