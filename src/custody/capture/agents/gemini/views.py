"""Views of one stored message or call of Gemini CLI's chats: a pure function of the record."""

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType

from msgspec.structs import replace

from custody.capture.agent_event import (
    call_view,
    dispatch_transcript_event,
    empty_tool_use,
    prompt_id_from_text,
    prompt_view,
    to_tool_use,
)
from custody.capture.agents.gemini.tool_calls import (
    add_effects,
    find_edited_path,
    parse_agent_model,
    read_shell_run,
    resolve_call_commits,
)
from custody.capture.command_facts import find_written_files
from custody.capture.hook.call_name import extract_tool_result_text
from custody.capture.tool_use import ToolUse, views_from_tool_use
from custody.capture.typed_field import Fields, get_fields, get_items, get_string
from custody.core.ids import AgentName
from custody.core.views import CallStatus, View
from custody.core.wire.event import CallReference, TranscriptEvent
from custody.core.wire.event_views import find_call_subject, text_view_from_field

GEMINI = AgentName("gemini")
OK = "success"
STATUSES: Mapping[str, CallStatus] = MappingProxyType({OK: CallStatus.OK, "error": CallStatus.FAILED})
"""A call's status by the chat's word for it; any other, such as ``cancelled``, means that it was not done."""
NOT_TYPED = (
    "<session_context>",
    "<hook_context>",
    "<state_snapshot>",
    "<system-reminder",
    "This is the Gemini CLI. We are setting up the context",
    "System: Please continue.",
)
"""Prefixes of texts that the program writes in place of a prompt."""


def views_from_transcript_event(event: TranscriptEvent) -> tuple[View, ...]:
    """Return the views of one message or call."""
    return dispatch_transcript_event(event, MESSAGES, parse_agent_model(get_fields(event.payload).get("model")))


def extract_answer_text(event: TranscriptEvent) -> str | None:
    """Return the text that the agent said in a message; None if it has none."""
    line = get_fields(event.payload)
    # A record of a call has the type of its message, but no content.
    return extract_tool_result_text(line.get("content")) if line.get("type") == "gemini" else None


def add_chat_call(use: ToolUse, call: Fields) -> ToolUse:
    """Return the call with its fields in a chat."""
    return replace(
        use,
        tool=get_string(call.get("name")) or "",
        input=get_fields(call.get("args")),
        response=get_fields(call.get("resultDisplay")),
        result=extract_tool_result_text(call.get("result")),
        failed=call.get("status") != OK,
    )


def tool_use_from_chat_call(call: Fields) -> ToolUse:
    """Return a call of a chat without a session, to read the names in it."""
    return add_chat_call(empty_tool_use(GEMINI), call)


def list_chat_calls(chat: Fields) -> Iterator[Fields]:
    """Yield the calls of a chat that is one document."""
    for message in map(get_fields, get_items(chat.get("messages"))):
        yield from map(get_fields, get_items(message.get("toolCalls")))


def list_candidate_paths(call: Fields) -> list[str]:
    """Return possible paths of the project: the files that a call changed, and its input."""
    return [*list_changed_paths(call), *map(str, get_fields(call.get("args")).values())]


def list_changed_paths(call: Fields) -> Iterator[str]:
    """Yield the files that a call changed, as written."""
    use = tool_use_from_chat_call(call)
    name = find_edited_path(use)
    if name is not None and not use.failed:
        yield name
    yield from (write.path for write in find_written_files(read_shell_run(use)))


def _read_prompt_message(event: TranscriptEvent, line: Fields) -> Iterator[View]:
    text = extract_tool_result_text(line.get("content"))
    if event.subagent is not None or not text.strip() or text.lstrip().startswith(NOT_TYPED):
        return
    # The typed text, if the program replaced file names by their content.
    typed = extract_tool_result_text(line.get("displayContent")) or text
    yield prompt_view(event, prompt_id_from_text(_join_prompt_parts(line.get("content"))), text_view_from_field(typed))


def _join_prompt_parts(content: object) -> str:
    """Return a prompt as hooks report it: its parts joined without a separator."""
    return "".join(map(extract_tool_result_text, get_items(content))) or extract_tool_result_text(content)


def _read_tool_calls(event: TranscriptEvent, line: Fields) -> Iterator[View]:
    for call, reference in zip(map(get_fields, get_items(line.get("toolCalls"))), event.calls, strict=False):
        yield from _read_tool_call(event, line, call, reference)


def _read_tool_call(event: TranscriptEvent, line: Fields, call: Fields, reference: CallReference) -> Iterator[View]:
    status = STATUSES.get(get_string(call.get("status")) or "", CallStatus.ABANDONED)
    yield call_view(
        event, reference, status, model=parse_agent_model(line.get("model")), about=find_call_subject(call.get("args"))
    )
    use = add_effects(add_chat_call(to_tool_use(event, reference), call))
    yield from views_from_tool_use(
        replace(use, writes=find_written_files(read_shell_run(use)), commits=resolve_call_commits(use, event.commits))
    )


MESSAGES: Mapping[str, Callable[[TranscriptEvent, Fields], Iterator[View]]] = MappingProxyType(
    {"user": _read_prompt_message, "gemini": _read_tool_calls}
)
