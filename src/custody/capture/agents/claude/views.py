"""Views of one stored line of Claude Code's transcripts: a pure function of the record."""

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType

from msgspec.structs import replace

from custody.capture.agent_event import call_view, dispatch_transcript_event, prompt_view, to_tool_use
from custody.capture.agents.claude.tool_calls import EDITS, RAN, add_effects
from custody.capture.command_facts import find_written_files, make_pull_request_fact
from custody.capture.tool_use import ShellRun, ToolOutput, views_from_tool_use
from custody.capture.typed_field import Fields, get_agent_model, get_captured_text, get_fields, get_items, get_string
from custody.core.ids import AgentName, PromptId, SessionId
from custody.core.views import CallStatus, View
from custody.core.wire.event import CallReference, TranscriptEvent
from custody.core.wire.event_views import find_call_subject
from custody.core.wire.time import parse_timestamp

NOT_TYPED = (
    "<local-command-",
    "<command-",
    "<bash-",
    "<task-notification",
    "<system-reminder",
    "<user-memory-input",
    "<teammate-message",
    "[Request interrupted",
    "Caveat: The messages below",
)
"""Prefixes of texts that the program writes in place of a prompt."""
NOT_EDITED = ("<tool_use_error>", "Error:")
"""Prefixes of the result of an edit that was not made; some versions mark it no other way."""
NOT_READ = ("<tool_use_error>",)
OPENING = frozenset(("Read", "WebFetch"))
"""Tools whose result starts with ``NOT_READ`` if nothing was read."""
PR_LINK: Mapping[str, str] = MappingProxyType({"number": "prNumber", "url": "prUrl", "repository": "prRepository"})


def views_from_transcript_event(event: TranscriptEvent) -> tuple[View, ...]:
    """Return the views of one line."""
    return dispatch_transcript_event(event, LINES, _read_message_model(get_fields(event.payload)))


def extract_answer_text(event: TranscriptEvent) -> str | None:
    """Return the text that the agent said on a line; None if it has none."""
    line = get_fields(event.payload)
    return extract_prompt_text(line) if line.get("type") == "assistant" else None


def list_tool_results(line: Fields) -> list[Fields]:
    """Return the tool results of a line."""
    return [block for block in list_message_blocks(line) if block.get("type") == "tool_result"]


def list_message_blocks(line: Fields) -> list[Fields]:
    """Return the parts of a line's message; none if it is one text."""
    return [get_fields(block) for block in get_items(get_fields(line.get("message")).get("content"))]


def extract_prompt_text(line: Fields) -> str | None:
    """Return the text of a line in a person's role; None if it has none."""
    content = get_fields(line.get("message")).get("content")
    if isinstance(content, str):
        return content
    blocks = [get_fields(block) for block in get_items(content)]
    if any(block.get("type") == "tool_result" for block in blocks):
        return None
    texts = [get_string(block.get("text")) or "" for block in blocks if block.get("type") == "text"]
    return "\n".join(texts) if texts else None


def has_tool_failed(tool: str, result: Fields) -> bool:
    """Return whether a call failed, by its result's flag or, for edits and reads, by its text."""
    text = _read_tool_result_text(result)
    if tool in OPENING and text.startswith(NOT_READ):
        return True
    return result.get("is_error") is True or (tool in EDITS and text.startswith(NOT_EDITED))


def _read_tool_result_text(result: Fields) -> str:
    content = result.get("content")
    return get_string(content) or next(
        (get_string(get_fields(block).get("text")) or "" for block in get_items(content)), ""
    )


def read_shell_run(arguments: Fields, result: Fields, response: Fields) -> ShellRun:
    """Return the command that a call ran."""
    text, wrong = get_string(result.get("content")) or "", result.get("is_error") is True
    stopped = response.get("interrupted") is True
    answer = ToolOutput(text, 1 if wrong else None, running=stopped, refused=wrong and not text.startswith(RAN))
    return ShellRun(get_string(arguments.get("command")), answer)


def _read_assistant_line(event: TranscriptEvent, line: Fields) -> Iterator[View]:
    """Yield the calls that start on a line."""
    for block in list_message_blocks(line):
        call, name = get_string(block.get("id")), get_string(block.get("name"))
        if block.get("type") == "tool_use" and call and name:
            reference, about = CallReference(call, name), find_call_subject(block.get("input"))
            yield call_view(
                event,
                reference,
                CallStatus.RUNNING,
                prompt=_read_prompt_id(line),
                model=_read_message_model(line),
                about=about,
            )


def _read_progress_line(event: TranscriptEvent, line: Fields) -> Iterator[View]:
    """Yield a subagent's calls and results as its parent's file repeats them; its own file has the same ids."""
    yield from _read_assistant_line(event, line)
    if list_tool_results(line):
        yield from _read_user_line(event, line)


def _read_user_line(event: TranscriptEvent, line: Fields) -> Iterator[View]:
    results = list_tool_results(line)
    if not results:
        yield from _read_prompt_line(event, line)
        return
    references = {call.id: call for call in event.calls}
    response = get_fields(line.get("toolUseResult")) if len(results) == 1 else {}
    for result in results:
        call = get_string(result.get("tool_use_id"))
        if call:
            yield from _read_tool_result(event, line, result, references.get(call, CallReference(call, "?")), response)


def _read_tool_result(
    event: TranscriptEvent, line: Fields, result: Fields, call: CallReference, response: Fields
) -> Iterator[View]:
    failed, is_shell = has_tool_failed(call.name, result), call.name == "Bash"
    yield call_view(event, call, CallStatus.FAILED if failed else CallStatus.OK, prompt=_read_prompt_id(line))
    use = replace(
        to_tool_use(event, call),
        input=get_fields(call.input),
        response=response,
        answer=line.get("toolUseResult") if response or len(list_tool_results(line)) == 1 else None,
        result=_read_tool_result_text(result),
        failed=failed,
        writes=find_written_files(read_shell_run(get_fields(call.input), result, response) if is_shell else None),
    )
    yield from views_from_tool_use(add_effects(use), event.commits)


def _read_prompt_line(event: TranscriptEvent, line: Fields) -> Iterator[View]:
    prompt = get_captured_text(get_fields(line.get("message")).get("content")) or get_captured_text(
        extract_prompt_text(line)
    )
    if prompt is None or event.subagent is not None:
        return
    if line.get("isMeta") is True or line.get("isCompactSummary") is True:
        return
    if prompt.content is not None and (not prompt.content.strip() or prompt.content.lstrip().startswith(NOT_TYPED)):
        return
    yield prompt_view(event, _read_prompt_id(line) or event.id, prompt)


def _read_pull_request_line(event: TranscriptEvent, line: Fields) -> Iterator[View]:
    agent, session, at_ns = AgentName(event.agent), SessionId(event.session), parse_timestamp(event.at)
    request = {name: line.get(field) for name, field in PR_LINK.items()}
    fact = make_pull_request_fact(agent, session, at_ns, request)
    if fact is not None:
        yield fact


LINES: Mapping[str, Callable[[TranscriptEvent, Fields], Iterator[View]]] = MappingProxyType(
    {
        "assistant": _read_assistant_line,
        "user": _read_user_line,
        "progress": _read_progress_line,
        "pr-link": _read_pull_request_line,
    }
)


def _read_message_model(line: Fields) -> str | None:
    return get_agent_model(get_fields(line.get("message")).get("model"))


def _read_prompt_id(line: Fields) -> PromptId | None:
    name = get_string(line.get("promptId"))
    return PromptId(name) if name else None
