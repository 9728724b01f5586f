"""Views of one stored prompt or call of a task of Cline or Roo Code: a pure function of the record."""

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType

from msgspec.structs import replace

from custody.capture.agent_event import (
    call_view,
    dispatch_transcript_event,
    prompt_id_from_text,
    prompt_view,
    to_tool_use,
)
from custody.capture.agents.cline.tool_calls import add_effects, has_call_failed, is_call_denied
from custody.capture.tool_use import ToolUse, views_from_tool_use
from custody.capture.typed_field import Fields, get_agent_model, get_captured_text, get_fields, get_string
from custody.core.views import CallStatus, View
from custody.core.wire.event import CallReference, TranscriptEvent
from custody.core.wire.event_views import find_call_subject
from custody.core.wire.time import parse_timestamp

PROMPT, CALL = "prompt", "call"


def views_from_transcript_event(event: TranscriptEvent) -> tuple[View, ...]:
    """Return the views of one record."""
    return dispatch_transcript_event(event, KINDS, get_agent_model(get_fields(event.payload).get("model")))


def add_task_call(use: ToolUse, fields: Fields) -> ToolUse:
    """Return the call with its fields in a record, and its effects."""
    result = get_string(fields.get("result")) or ""
    return add_effects(
        replace(
            use,
            tool=get_string(fields.get("name")) or "",
            input=get_fields(fields.get("input")),
            response=fields,
            result=result,
            failed=has_call_failed(result),
        )
    )


def _read_prompt(event: TranscriptEvent, fields: Fields) -> Iterator[View]:
    prompt = get_captured_text(fields.get("text"))
    if prompt is not None:
        yield prompt_view(
            event, prompt_id_from_text(prompt.content if prompt.content is not None else event.id), prompt
        )


def _read_calls(event: TranscriptEvent, fields: Fields) -> Iterator[View]:
    for reference in event.calls[:1]:
        yield from _read_call(event, fields, reference)


def _read_call(event: TranscriptEvent, fields: Fields, reference: CallReference) -> Iterator[View]:
    use = add_task_call(to_tool_use(event, reference), fields)
    status, model = _choose_call_status(use, fields), get_agent_model(fields.get("model"))
    call = call_view(event, reference, status, model=model, about=find_call_subject(use.input))
    began = get_string(fields.get("started"))
    yield call if began is None else replace(call, started_ns=min(call.started_ns, parse_timestamp(began)))
    yield from views_from_tool_use(use, event.commits)


def _choose_call_status(use: ToolUse, fields: Fields) -> CallStatus:
    if fields.get("result") is None or is_call_denied(use.result):
        return CallStatus.ABANDONED
    return CallStatus.FAILED if use.failed or use.output.failed else CallStatus.OK


KINDS: Mapping[str, Callable[[TranscriptEvent, Fields], Iterator[View]]] = MappingProxyType(
    {PROMPT: _read_prompt, CALL: _read_calls}
)
