"""What one kept record of a session of Copilot says: a pure function of it and of what was put beside it."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace as replace_fields
from types import MappingProxyType

from msgspec.structs import replace

from custody.capture.agent_event import call_view, prompt_id, prompt_view, record_views, use_of
from custody.capture.agents.copilot.kept_record import CALL, FAILED, OK, PROMPT, RUNNING
from custody.capture.agents.copilot.tool_calls import about, add_effects, parse_call_input, went_wrong
from custody.capture.tool_use import FileEffect, use_views
from custody.capture.typed_field import Fields, fields, full_sha, get_string, items, model, text
from custody.core.views import CallStatus, View
from custody.core.wire.event import CallReference, TranscriptEvent
from custody.core.wire.event_views import text_view
from custody.core.wire.time import ns_from

STATES: Mapping[str, CallStatus] = MappingProxyType(
    {OK: CallStatus.OK, FAILED: CallStatus.FAILED, RUNNING: CallStatus.RUNNING}
)


def views_of(event: TranscriptEvent) -> tuple[View, ...]:
    """The views that one kept record gives."""
    said = fields(event.payload)
    return record_views(event, KINDS, model(said.get("model")), full_sha(said.get("revision")))


def _prompt(event: TranscriptEvent, said: Fields) -> Iterator[View]:
    asked = text(said.get("text"))
    if asked is not None:
        yield prompt_view(event, prompt_id(asked.content if asked.content is not None else event.id), asked)


def _calls(event: TranscriptEvent, said: Fields) -> Iterator[View]:
    for made in event.calls[:1]:
        yield from _call(event, said, made)


def _call(event: TranscriptEvent, said: Fields, made: CallReference) -> Iterator[View]:
    tool, given, state = made.name, parse_call_input(said.get("given")), get_string(said.get("state"))
    status = STATES.get(state or "", CallStatus.ABANDONED)
    if status is CallStatus.OK and went_wrong(tool, get_string(said.get("words")) or "", given):
        status = CallStatus.FAILED
    ended, began = ns_from(event.at), get_string(said.get("started"))
    started_ns = ended if began is None else min(ended, ns_from(began))
    spoken = model(said.get("model"))
    yield replace_fields(call_view(event, made, status, model=spoken, about=about(tool, given)), started_ns=started_ns)
    if status not in (CallStatus.OK, CallStatus.FAILED):
        return
    use = replace(
        use_of(event, made),
        input=given,
        answer=said.get("words"),
        words=get_string(said.get("words")) or "",
        failed=state == FAILED,
    )
    groups = [(get_string(path), get_string(new)) for path, new in items(said.get("groups"))]
    if groups:
        added = (_added(path, new) for path, new in groups if path is not None and new is not None)
        yield from use_views(replace(use, changes=tuple(added)))
    else:
        yield from use_views(add_effects(use, made.cwd, with_writes=True), event.commits)


def _added(path: str, new: str) -> FileEffect:
    return FileEffect(path, text_view(""), text_view(new), part=True)


KINDS: Mapping[str, Callable[[TranscriptEvent, Fields], Iterator[View]]] = MappingProxyType(
    {CALL: _calls, PROMPT: _prompt}
)
