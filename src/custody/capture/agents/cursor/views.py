"""Views of a stored row or line of a Cursor conversation."""

from collections.abc import Iterator

from msgspec.structs import replace

from custody.capture.agent_event import call_view, prompt_view, session_from_transcript_event, to_tool_use
from custody.capture.agents.cursor.tool_calls import (
    add_call_result,
    add_effects,
    list_call_sources,
    merge_call_input,
    parse_agent_model,
    read_shell_run,
)
from custody.capture.command_facts import find_written_files
from custody.capture.tool_use import ToolUse, views_from_tool_use
from custody.capture.typed_field import Fields, get_captured_text, get_fields, get_items, get_string
from custody.core.views import CallStatus, View
from custody.core.wire.event import CallReference, TranscriptEvent
from custody.core.wire.event_views import find_call_subject

LINE = "line-"
"""Prefix of ids of calls that only a transcript reports, by their position."""
DONE = frozenset(("completed", "success"))
ABANDONED = frozenset(("cancelled", "rejected", "aborted"))


def views_from_transcript_event(event: TranscriptEvent) -> tuple[View, ...]:
    """Return the views of one row or line."""
    fields = get_fields(event.payload)
    opening = (session_from_transcript_event(event, parse_agent_model(fields.get("model"))),) if event.opens else ()
    return (*opening, *_read_prompt_record(event, fields), *_read_call_records(event, fields))


def list_bubble_calls(payload: Fields) -> list[Fields]:
    """Return the calls of a row or a line, as stored."""
    call = get_fields(payload.get("toolFormerData"))
    return [call] if call else [get_fields(item) for item in get_items(payload.get("calls"))]


def add_bubble_call(use: ToolUse, payload: Fields, call: Fields) -> ToolUse:
    """Return the call with its input and its result, as a row or a line has them."""
    arguments = [call["input"]] if "input" in call else [call.get("rawArgs"), call.get("params")]
    use = add_call_result(use, get_string(call.get("name")) or "", merge_call_input(*arguments), call.get("result"))
    ended_well = _read_call_status(payload, call) in (CallStatus.OK, CallStatus.RUNNING)
    return replace(
        use,
        response={name: payload.get(name) for name in ("before", "after")},
        failed=not ended_well and use.output.code in (None, 0),
    )


def _read_prompt_record(event: TranscriptEvent, fields: Fields) -> Iterator[View]:
    prompt = get_captured_text(fields.get("text"))
    if event.subagent is not None or prompt is None:
        return
    # A hook names a prompt by its request.
    yield prompt_view(event, get_string(fields.get("requestId")) or event.id, prompt)


def _read_call_records(event: TranscriptEvent, fields: Fields) -> Iterator[View]:
    for call, reference in zip(list_bubble_calls(fields), event.calls, strict=False):
        yield from _read_call_record(event, fields, call, reference)


def _read_call_record(event: TranscriptEvent, fields: Fields, call: Fields, reference: CallReference) -> Iterator[View]:
    use, status = add_bubble_call(to_tool_use(event, reference), fields, call), _read_call_status(fields, call)
    if status is CallStatus.OK and use.output.failed:
        status = CallStatus.FAILED
    yield call_view(
        event, reference, status, model=parse_agent_model(fields.get("model")), about=find_call_subject(use.input)
    )
    use = add_effects(
        replace(use, opened=tuple(list_call_sources(use)), writes=find_written_files(read_shell_run(use)))
    )
    yield from views_from_tool_use(
        replace(use, changes=(), writes=()) if fields.get("bare") is True else use, event.commits
    )


def _read_call_status(payload: Fields, call: Fields) -> CallStatus:
    """Return a call's status; a transcript's line has none. For a refused call the database has two."""
    if "toolFormerData" not in payload:
        return CallStatus.RUNNING
    statuses = {get_string(call.get("status")), get_string(call.get("userDecision"))}
    statuses.add(get_string(get_fields(call.get("additionalData")).get("status")))
    refused = merge_call_input(call.get("result")).get("rejected") is True
    if refused or statuses & ABANDONED:
        return CallStatus.ABANDONED
    return CallStatus.OK if get_string(call.get("status")) in DONE else CallStatus.FAILED
