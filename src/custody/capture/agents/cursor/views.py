"""What a kept row or line of a conversation of Cursor's says."""

from collections.abc import Iterator

from msgspec.structs import replace

from custody.capture.agent_event import call_view, prompt_view, session_of, use_of
from custody.capture.agents.cursor.tool_calls import (
    CursorCall,
    add_effects,
    answer_of,
    given_of,
    model_of,
    opened,
    writes_of,
)
from custody.capture.tool_use import use_views
from custody.capture.typed_field import Fields, fields, get_string, items, text
from custody.core.views import CallStatus, View
from custody.core.wire.event import CallReference, TranscriptEvent
from custody.core.wire.event_views import about_of

LINE = "line-"
"""How calls are named that only a transcript tells of, by their place."""
DONE = frozenset(("completed", "success"))
GIVEN_UP = frozenset(("cancelled", "rejected", "aborted"))


def views_of(event: TranscriptEvent) -> tuple[View, ...]:
    """The views that one kept row or line gives."""
    said = fields(event.payload)
    opening = (session_of(event, model_of(said.get("model"))),) if event.opens else ()
    return (*opening, *_prompt(event, said), *_calls(event, said))


def calls_in(payload: Fields) -> list[Fields]:
    """The calls of a row or a line, as they were kept."""
    made = fields(payload.get("toolFormerData"))
    return [made] if made else [fields(item) for item in items(payload.get("calls"))]


def read_cursor_call(payload: Fields, call: Fields) -> CursorCall:
    """A call as its tools are read."""
    told = call.get("result")
    answer = answer_of(told)
    given, patch = given_of(call.get("input")) if "input" in call else given_of(call.get("rawArgs"), call.get("params"))
    return CursorCall(
        tool=get_string(call.get("name")) or "",
        given=given,
        patch=patch,
        answer=answer,
        told=told,
        failed=_status(payload, call) not in (CallStatus.OK, CallStatus.RUNNING) and answer.code in (None, 0),
        before=text(payload.get("before")),
        after=text(payload.get("after")),
    )


def _prompt(event: TranscriptEvent, said: Fields) -> Iterator[View]:
    asked = text(said.get("text"))
    if event.subagent is not None or asked is None:
        return
    # A hook names a prompt by the request that it began.
    yield prompt_view(event, get_string(said.get("requestId")) or event.id, asked)


def _calls(event: TranscriptEvent, said: Fields) -> Iterator[View]:
    for call, made in zip(calls_in(said), event.calls, strict=False):
        yield from _call(event, said, call, made)


def _call(event: TranscriptEvent, said: Fields, call: Fields, made: CallReference) -> Iterator[View]:
    called, status = read_cursor_call(said, call), _status(said, call)
    if status is CallStatus.OK and called.answer.failed:
        status = CallStatus.FAILED
    use = replace(use_of(event, made), opened=tuple(opened(called)), writes=writes_of(called))
    yield call_view(event, made, status, model=model_of(said.get("model")), about=about_of(called.given))
    use = add_effects(use, called)
    yield from use_views(replace(use, changes=(), writes=()) if said.get("bare") is True else use, event.commits)


def _status(payload: Fields, call: Fields) -> CallStatus:
    """How a call ended; a transcript's line does not say it. Of a refused one the database says both."""
    if "toolFormerData" not in payload:
        return CallStatus.RUNNING
    words = {get_string(call.get("status")), get_string(call.get("userDecision"))}
    words.add(get_string(fields(call.get("additionalData")).get("status")))
    told = call.get("result")
    refused = fields(given_of(told)[0]).get("rejected") is True
    if refused or words & GIVEN_UP:
        return CallStatus.ABANDONED
    return CallStatus.OK if get_string(call.get("status")) in DONE else CallStatus.FAILED
