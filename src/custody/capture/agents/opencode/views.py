"""Views of one stored prompt or call of opencode's sessions: a pure function of the record."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace as replace_fields
from types import MappingProxyType

from msgspec.structs import replace

from custody.capture.agent_event import call_view, dispatch_transcript_event, prompt_view, to_tool_use
from custody.capture.agents.opencode.session_reader import add_call_state
from custody.capture.agents.opencode.tool_calls import (
    add_effects,
    describe_tool_call,
    find_shell_writes,
    read_call_status,
)
from custody.capture.tool_use import views_from_tool_use
from custody.capture.typed_field import Fields, get_agent_model, get_captured_text, get_fields, get_int, get_string
from custody.core.views import View
from custody.core.wire.event import TranscriptEvent

NS_PER_MS = 1_000_000


def views_from_transcript_event(event: TranscriptEvent) -> tuple[View, ...]:
    """Return the views of one prompt or call."""
    return dispatch_transcript_event(event, KINDS, _read_message_model(get_fields(event.payload)))


def _read_prompt_record(event: TranscriptEvent, fields: Fields) -> Iterator[View]:
    prompt = get_captured_text(fields.get("text"))
    if event.subagent is None and prompt is not None:
        yield prompt_view(event, get_string(get_fields(fields.get("message")).get("id")) or event.id, prompt)


def _read_call_record(event: TranscriptEvent, fields: Fields) -> Iterator[View]:
    if not event.calls:
        return
    reference, state = event.calls[0], get_fields(get_fields(fields.get("part")).get("state"))
    use = replace(add_call_state(to_tool_use(event, reference), state), folder=reference.cwd)
    view = call_view(
        event,
        reference,
        read_call_status(use),
        model=_read_message_model(fields),
        about=describe_tool_call(state.get("input")),
    )
    yield replace_fields(view, started_ns=_read_call_start_ns(state, use.at_ns))
    yield from views_from_tool_use(replace(add_effects(use), writes=find_shell_writes(use)), event.commits)


def _read_call_start_ns(state: Fields, ended_ns: int) -> int:
    started_ns = (get_int(get_fields(state.get("time")).get("start")) or 0) * NS_PER_MS
    return started_ns if 0 < started_ns <= ended_ns else ended_ns


def _read_message_model(fields: Fields) -> str | None:
    return get_agent_model(get_fields(fields.get("message")).get("model"))


KINDS: Mapping[str, Callable[[TranscriptEvent, Fields], Iterator[View]]] = MappingProxyType(
    {"prompt": _read_prompt_record, "call": _read_call_record}
)
