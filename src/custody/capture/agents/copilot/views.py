"""Views of one stored record of a Copilot session: a pure function of the record."""

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType

from msgspec.structs import replace
from msgspec.structs import replace as replace_fields

from custody.capture.agent_event import (
    call_view,
    dispatch_transcript_event,
    prompt_id_from_text,
    prompt_view,
    to_tool_use,
)
from custody.capture.agents.copilot.session_record import CALL, FAILED, OK, PROMPT, RUNNING
from custody.capture.agents.copilot.tool_calls import (
    add_effects,
    describe_tool_call,
    has_command_failed,
    parse_call_input,
)
from custody.capture.tool_use import FileEffect, views_from_tool_use
from custody.capture.typed_field import (
    Fields,
    get_agent_model,
    get_captured_text,
    get_fields,
    get_full_sha,
    get_items,
    get_string,
)
from custody.core.views import CallStatus, View
from custody.core.wire.event import CallReference, TranscriptEvent
from custody.core.wire.event_views import text_view_from_field
from custody.core.wire.time import parse_timestamp

STATES: Mapping[str, CallStatus] = MappingProxyType(
    {OK: CallStatus.OK, FAILED: CallStatus.FAILED, RUNNING: CallStatus.RUNNING}
)


def views_from_transcript_event(event: TranscriptEvent) -> tuple[View, ...]:
    """Return the views of one record."""
    fields = get_fields(event.payload)
    return dispatch_transcript_event(
        event, KINDS, get_agent_model(fields.get("model")), get_full_sha(fields.get("revision"))
    )


def _read_prompt_record(event: TranscriptEvent, fields: Fields) -> Iterator[View]:
    prompt = get_captured_text(fields.get("text"))
    if prompt is not None:
        yield prompt_view(
            event, prompt_id_from_text(prompt.content if prompt.content is not None else event.id), prompt
        )


def _read_call_records(event: TranscriptEvent, fields: Fields) -> Iterator[View]:
    for reference in event.calls[:1]:
        yield from _read_call_record(event, fields, reference)


def _read_call_record(event: TranscriptEvent, fields: Fields, reference: CallReference) -> Iterator[View]:
    tool, arguments, state = reference.name, parse_call_input(fields.get("given")), get_string(fields.get("state"))
    status = STATES.get(state or "", CallStatus.ABANDONED)
    if status is CallStatus.OK and has_command_failed(tool, get_string(fields.get("words")) or "", arguments):
        status = CallStatus.FAILED
    ended, began = parse_timestamp(event.at), get_string(fields.get("started"))
    started_ns = ended if began is None else min(ended, parse_timestamp(began))
    spoken = get_agent_model(fields.get("model"))
    yield replace_fields(
        call_view(event, reference, status, model=spoken, about=describe_tool_call(tool, arguments)),
        started_ns=started_ns,
    )
    if status not in (CallStatus.OK, CallStatus.FAILED):
        return
    use = replace(
        to_tool_use(event, reference),
        input=arguments,
        answer=fields.get("words"),
        result=get_string(fields.get("words")) or "",
        failed=state == FAILED,
        folder=reference.cwd,
    )
    groups = [(get_string(path), get_string(new)) for path, new in get_items(fields.get("groups"))]
    if groups:
        added = (_make_insertion_effect(path, new) for path, new in groups if path is not None and new is not None)
        yield from views_from_tool_use(replace(use, changes=tuple(added)))
    else:
        yield from views_from_tool_use(add_effects(use, with_writes=True), event.commits)


def _make_insertion_effect(path: str, new: str) -> FileEffect:
    return FileEffect(path, text_view_from_field(""), text_view_from_field(new), part=True)


KINDS: Mapping[str, Callable[[TranscriptEvent, Fields], Iterator[View]]] = MappingProxyType(
    {CALL: _read_call_records, PROMPT: _read_prompt_record}
)
