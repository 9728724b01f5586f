"""What one kept message or call of Gemini CLI's chats says: a pure function of it and of what was put beside it."""

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType

from msgspec.structs import replace

from custody.capture.agent_event import bare_use, call_view, prompt_id, prompt_view, record_views, use_of
from custody.capture.agents.gemini.tool_calls import add_effects, edited_path, known_commits, model_named, writes_of
from custody.capture.hook.call_name import extract_result_text
from custody.capture.tool_use import ToolUse, use_views
from custody.capture.typed_field import Fields, fields, get_string, items
from custody.core.ids import AgentName
from custody.core.views import CallStatus, View
from custody.core.wire.event import CallReference, TranscriptEvent
from custody.core.wire.event_views import about_of, text_view

GEMINI = AgentName("gemini")
OK = "success"
STATUSES: Mapping[str, CallStatus] = MappingProxyType({OK: CallStatus.OK, "error": CallStatus.FAILED})
"""How a call ended, by the chat's word for it; any other end, such as ``cancelled``, left it undone."""
NOT_TYPED = (
    "<session_context>",
    "<hook_context>",
    "<state_snapshot>",
    "<system-reminder",
    "This is the Gemini CLI. We are setting up the context",
    "System: Please continue.",
)
"""How texts begin that stand where a person's do, and were put there by the program."""


def views_of(event: TranscriptEvent) -> tuple[View, ...]:
    """The views that one kept message or call gives."""
    return record_views(event, MESSAGES, model_named(fields(event.payload).get("model")))


def add_call(use: ToolUse, call: Fields) -> ToolUse:
    """A call of a chat as its tools are read."""
    return replace(
        use,
        tool=get_string(call.get("name")) or "",
        input=fields(call.get("args")),
        response=fields(call.get("resultDisplay")),
        words=extract_result_text(call.get("result")),
        failed=call.get("status") != OK,
    )


def named_use(call: Fields) -> ToolUse:
    """A call of a chat that is read only for the names in it."""
    return add_call(bare_use(GEMINI), call)


def calls_in(chat: Fields) -> Iterator[Fields]:
    """The calls of a chat that is there as a whole."""
    for message in map(fields, items(chat.get("messages"))):
        yield from map(fields, items(message.get("toolCalls")))


def names_in(call: Fields) -> list[str]:
    """What may be a path of the project: the files that a call changed, and what it was given."""
    return [*names_changed(call), *map(str, fields(call.get("args")).values())]


def names_changed(call: Fields) -> Iterator[str]:
    """The files that a call changed, as they were written."""
    use = named_use(call)
    named = edited_path(use)
    if named is not None and not use.failed:
        yield named
    yield from (write.path for write in writes_of(use))


def _prompt(event: TranscriptEvent, line: Fields) -> Iterator[View]:
    said = extract_result_text(line.get("content"))
    if event.subagent is not None or not said.strip() or said.lstrip().startswith(NOT_TYPED):
        return
    # What a person typed, where files that it names were put into what the model got.
    typed = extract_result_text(line.get("displayContent")) or said
    yield prompt_view(event, prompt_id(_joined(line.get("content"))), text_view(typed))


def _joined(content: object) -> str:
    """A prompt as hooks tell it: its parts without anything between them."""
    return "".join(map(extract_result_text, items(content))) or extract_result_text(content)


def _calls(event: TranscriptEvent, line: Fields) -> Iterator[View]:
    for call, made in zip(map(fields, items(line.get("toolCalls"))), event.calls, strict=False):
        yield from _call(event, line, call, made)


def _call(event: TranscriptEvent, line: Fields, call: Fields, made: CallReference) -> Iterator[View]:
    status = STATUSES.get(get_string(call.get("status")) or "", CallStatus.ABANDONED)
    yield call_view(event, made, status, model=model_named(line.get("model")), about=about_of(call.get("args")))
    use = add_effects(add_call(use_of(event, made), call))
    yield from use_views(replace(use, writes=writes_of(use), commits=known_commits(use, event.commits)))


MESSAGES: Mapping[str, Callable[[TranscriptEvent, Fields], Iterator[View]]] = MappingProxyType(
    {"user": _prompt, "gemini": _calls}
)
