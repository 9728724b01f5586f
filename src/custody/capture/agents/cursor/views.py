"""What a kept row or line of a conversation of Cursor's says."""

from collections.abc import Callable, Iterator, Mapping

from custody.capture.agents.cursor.sources import sources
from custody.capture.agents.cursor.tool_calls import (
    Called,
    answer_of,
    edits,
    git_facts,
    given_of,
    model_of,
    written,
)
from custody.capture.typed_field import Fields, fields, items, string, text
from custody.core.ids import AgentName, CallId, PromptId, SessionId
from custody.core.paths import RepoPath
from custody.core.views import CallStatus, Prompt, Session, ToolCall, View
from custody.core.wire.event import CallMade, TranscriptEvent
from custody.core.wire.event_views import about_of
from custody.core.wire.time import ns_from

CURSOR = AgentName("cursor")
LINE = "line-"
"""How calls are named that only a transcript tells of, by their place."""
DONE = frozenset(("completed", "success"))
GIVEN_UP = frozenset(("cancelled", "rejected", "aborted"))


def views_of(event: TranscriptEvent) -> tuple[View, ...]:
    """The views that one kept row or line gives."""
    said = fields(event.payload)
    opening = (_session(event, said),) if event.opens else ()
    return (*opening, *_prompt(event, said), *_calls(event, said))


def calls_in(payload: Fields) -> list[Fields]:
    """The calls of a row or a line, as they were kept."""
    made = fields(payload.get("toolFormerData"))
    return [made] if made else [fields(one) for one in items(payload.get("calls"))]


def called_of(
    payload: Fields,
    n: int,
    call: Fields,
    locate: Callable[[object], RepoPath | None],
    event: TranscriptEvent | None = None,
) -> Called:
    """A call as its tools are read; without an event only for what it names."""
    told = call.get("result")
    answer = answer_of(told)
    given, patch = given_of(call.get("input")) if "input" in call else given_of(call.get("rawArgs"), call.get("params"))
    return Called(
        agent=CURSOR if event is None else AgentName(event.agent),
        session=SessionId("" if event is None else event.session),
        call=CallId(event.calls[n].id if event is not None and n < len(event.calls) else ""),
        at_ns=0 if event is None else ns_from(event.at),
        tool=string(call.get("name")) or "",
        given=given,
        patch=patch,
        answer=answer,
        told=told,
        failed=_status(payload, call) not in (CallStatus.OK, CallStatus.RUNNING) and answer.code in (None, 0),
        before=text(payload.get("before")),
        after=text(payload.get("after")),
        locate=locate,
    )


def _session(event: TranscriptEvent, said: Fields) -> Session:
    return Session(
        agent=AgentName(event.agent),
        id=SessionId(event.session),
        started_ns=ns_from(event.at),
        worktree=event.worktree,
        model=None if event.subagent is not None else model_of(said.get("model")),
    )


def _prompt(event: TranscriptEvent, said: Fields) -> Iterator[View]:
    asked = text(said.get("text"))
    if event.subagent is not None or asked is None:
        return
    # A hook names a prompt by the request that it began.
    named = PromptId(string(said.get("requestId")) or event.id)
    yield Prompt(AgentName(event.agent), SessionId(event.session), named, ns_from(event.at), asked)


def _calls(event: TranscriptEvent, said: Fields) -> Iterator[View]:
    for n, (call, made) in enumerate(zip(calls_in(said), event.calls, strict=False)):
        yield from _call(event, said, n, call, made)


def _call(event: TranscriptEvent, said: Fields, n: int, call: Fields, made: CallMade) -> Iterator[View]:
    called = called_of(said, n, call, lambda named: _located(event.paths, named), event)
    status = _status(said, call)
    if status is CallStatus.OK and called.answer.failed:
        status = CallStatus.FAILED
    yield ToolCall(
        agent=called.agent,
        session=called.session,
        id=CallId(made.id),
        name=made.name,
        started_ns=called.at_ns,
        ended_ns=None if status is CallStatus.RUNNING else called.at_ns,
        status=status,
        parent=None if event.parent_call is None else CallId(event.parent_call),
        subagent=event.subagent,
        model=model_of(said.get("model")),
        about=about_of(called.given),
    )
    yield from sources(called)
    if said.get("bare") is not True:
        yield from edits(called)
        yield from written(called)
    yield from git_facts(called, event.commits)


def _status(payload: Fields, call: Fields) -> CallStatus:
    """How a call ended; a transcript's line does not say it. Of a refused one the database says both."""
    if "toolFormerData" not in payload:
        return CallStatus.RUNNING
    words = {string(call.get("status")), string(call.get("userDecision"))}
    words.add(string(fields(call.get("additionalData")).get("status")))
    told = call.get("result")
    refused = fields(given_of(told)[0]).get("rejected") is True
    if refused or words & GIVEN_UP:
        return CallStatus.ABANDONED
    return CallStatus.OK if string(call.get("status")) in DONE else CallStatus.FAILED


def _located(paths: Mapping[str, str | None], named: object) -> RepoPath | None:
    path = paths.get(named) if isinstance(named, str) else None
    return None if path is None else RepoPath.of(path)
