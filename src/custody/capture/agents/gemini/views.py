"""What one kept message or call of Gemini CLI's chats says: a pure function of it and of what was put beside it."""

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType

from custody.capture.agents.gemini.hook_events import prompt_id
from custody.capture.agents.gemini.sources import sources
from custody.capture.agents.gemini.tool_calls import (
    Called,
    commit_links,
    edited_path,
    edits,
    model_named,
    shell_edits,
    written_by,
)
from custody.capture.hook.call_name import words_of
from custody.capture.typed_field import Fields, fields, items, string
from custody.core.ids import AgentName, CallId, SessionId
from custody.core.paths import RepoPath
from custody.core.views import CallStatus, Prompt, Session, ToolCall, View
from custody.core.wire.event import CallMade, TranscriptEvent
from custody.core.wire.event_views import about_of, text_view
from custody.core.wire.time import ns_from

OK = "success"
STATUSES: Mapping[str, CallStatus] = MappingProxyType({OK: CallStatus.OK, "error": CallStatus.FAILED})
"""How a call ended, by the chat's word for it; any other end, such as ``cancelled``, left it undone."""
NOT_TYPED = (
    "<session_context>",
    "<hook_context>",
    "<state_snapshot>",
    "<system-reminder",
    "This is the Gemini CLI. We are setting up the context",
    "System: Please continue.",
)
"""How texts begin that stand where a person's do, and were put there by the program."""


def views_of(event: TranscriptEvent) -> tuple[View, ...]:
    """The views that one kept message or call gives."""
    line = fields(event.payload)
    read = MESSAGES.get(string(line.get("type")) or "")
    opening = (_session(event, line),) if event.opens else ()
    return (*opening, *(read(event, line) if read else ()))


def called_of(
    call: Fields, locate: Callable[[object], RepoPath | None], event: TranscriptEvent | None = None
) -> Called:
    """A call of a chat as its tools are read; without an event only for what it names."""
    return Called(
        agent=AgentName("gemini" if event is None else event.agent),
        session=SessionId("" if event is None else event.session),
        call=CallId(event.calls[0].id if event is not None and event.calls else ""),
        at_ns=0 if event is None else ns_from(event.at),
        tool=string(call.get("name")) or "",
        given=fields(call.get("args")),
        display=call.get("resultDisplay"),
        shown=words_of(call.get("result")),
        failed=call.get("status") != OK,
        locate=locate,
    )


def calls_in(chat: Fields) -> Iterator[Fields]:
    """The calls of a chat that is there as a whole."""
    for message in map(fields, items(chat.get("messages"))):
        yield from map(fields, items(message.get("toolCalls")))


def names_in(call: Fields) -> list[str]:
    """What may be a path of the project: the files that a call changed, and what it was given."""
    return [*names_changed(call), *map(str, fields(call.get("args")).values())]


def names_changed(call: Fields) -> Iterator[str]:
    """The files that a call changed, as they were written."""
    called = called_of(call, nowhere)
    named = edited_path(called.tool, called.given, called.display)
    if named is not None and call.get("status") == OK:
        yield named
    yield from (name for name, _, _ in written_by(called))


def nowhere(_named: object) -> None:
    """Locate nothing: for what a call only names."""


def _session(event: TranscriptEvent, line: Fields) -> Session:
    return Session(
        agent=AgentName(event.agent),
        id=SessionId(event.session),
        started_ns=ns_from(event.at),
        worktree=event.worktree,
        model=None if event.subagent is not None else model_named(line.get("model")),
    )


def _prompt(event: TranscriptEvent, line: Fields) -> Iterator[View]:
    said = words_of(line.get("content"))
    if event.subagent is not None or not said.strip() or said.lstrip().startswith(NOT_TYPED):
        return
    # What a person typed, where files that it names were put into what the model got.
    typed = words_of(line.get("displayContent")) or said
    named = prompt_id(_joined(line.get("content")))
    yield Prompt(AgentName(event.agent), SessionId(event.session), named, ns_from(event.at), text_view(typed))


def _joined(content: object) -> str:
    """A prompt as hooks tell it: its parts without anything between them."""
    return "".join(map(words_of, items(content))) or words_of(content)


def _calls(event: TranscriptEvent, line: Fields) -> Iterator[View]:
    for call, made in zip(map(fields, items(line.get("toolCalls"))), event.calls, strict=False):
        yield from _call(event, line, call, made)


def _call(event: TranscriptEvent, line: Fields, call: Fields, made: CallMade) -> Iterator[View]:
    at_ns = ns_from(event.at)
    yield ToolCall(
        agent=AgentName(event.agent),
        session=SessionId(event.session),
        id=CallId(made.id),
        name=made.name,
        started_ns=at_ns,
        ended_ns=at_ns,
        status=STATUSES.get(string(call.get("status")) or "", CallStatus.ABANDONED),
        parent=None if event.parent_call is None else CallId(event.parent_call),
        subagent=event.subagent,
        model=model_named(line.get("model")),
        about=about_of(call.get("args")),
    )
    called = called_of(call, lambda named: _located(event.paths, named), event)
    yield from sources(called)
    yield from edits(called)
    yield from shell_edits(called)
    yield from commit_links(called, event.commits)


def _located(paths: Mapping[str, str | None], named: object) -> RepoPath | None:
    path = paths.get(named) if isinstance(named, str) else None
    return None if path is None else RepoPath.of(path)


MESSAGES: Mapping[str, Callable[[TranscriptEvent, Fields], Iterator[View]]] = MappingProxyType(
    {"user": _prompt, "gemini": _calls}
)
