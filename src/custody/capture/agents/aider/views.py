"""Views of one stored prompt or answer of Aider's chat history: a pure function of the record."""

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
from custody.capture.agents.aider.tool_calls import list_file_effects
from custody.capture.tool_use import views_from_tool_use
from custody.capture.typed_field import Fields, get_agent_model, get_captured_text, get_fields, get_items, get_string
from custody.core.views import CallStatus, View
from custody.core.wire.event import TranscriptEvent

PROMPT, EDIT = "prompt", "edit"


def views_from_transcript_event(event: TranscriptEvent) -> tuple[View, ...]:
    """Return the views of one record."""
    return dispatch_transcript_event(event, KINDS, get_agent_model(get_fields(event.payload).get("model")))


def _read_prompt(event: TranscriptEvent, fields: Fields) -> Iterator[View]:
    prompt = get_captured_text(fields.get("text"))
    if prompt is not None:
        name = prompt_id_from_text(prompt.content if prompt.content is not None else event.id)
        yield prompt_view(event, name, prompt)


def _read_edits(event: TranscriptEvent, fields: Fields) -> Iterator[View]:
    for reference in event.calls[:1]:
        first = next(map(get_fields, get_items(fields.get("edits"))), {})
        model, about = get_agent_model(fields.get("model")), get_string(first.get("path"))
        yield call_view(event, reference, CallStatus.OK, model=model, about=about)
        changes, commits = tuple(list_file_effects(fields.get("edits"))), tuple(event.commits)
        use = replace(to_tool_use(event, reference), changes=changes, commits=commits, from_text=False)
        yield from views_from_tool_use(use, event.commits)


KINDS: Mapping[str, Callable[[TranscriptEvent, Fields], Iterator[View]]] = MappingProxyType(
    {PROMPT: _read_prompt, EDIT: _read_edits}
)
