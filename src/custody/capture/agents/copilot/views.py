"""What one kept record of a session of Copilot says: a pure function of it and of what was put beside it."""

import re
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType

from custody.capture.agents.claude.tool_calls import Done
from custody.capture.agents.codex.patch import Change, Kind, Piece
from custody.capture.agents.codex.tool_calls import edits
from custody.capture.agents.copilot.kept_record import CALL, FAILED, OK, PROMPT, RUNNING
from custody.capture.agents.copilot.tool_calls import about, done_views, given_to, went_wrong
from custody.capture.agents.gemini.hook_events import prompt_id
from custody.capture.typed_field import Fields, fields, items, model, string, text
from custody.core.ids import AgentName, CallId, CommitSha, SessionId
from custody.core.paths import RepoPath
from custody.core.views import CallStatus, Prompt, Session, ToolCall, View
from custody.core.wire.event import CallMade, TranscriptEvent
from custody.core.wire.time import ns_from

STATES: Mapping[str, CallStatus] = MappingProxyType(
    {OK: CallStatus.OK, FAILED: CallStatus.FAILED, RUNNING: CallStatus.RUNNING}
)
_FULL = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")


def views_of(event: TranscriptEvent) -> tuple[View, ...]:
    """The views that one kept record gives."""
    said = fields(event.payload)
    read = KINDS.get(string(said.get("type")) or "")
    opening = (_session(event, said),) if event.opens else ()
    return (*opening, *(read(event, said) if read else ()))


def _session(event: TranscriptEvent, said: Fields) -> Session:
    revision = string(said.get("revision"))
    return Session(
        agent=AgentName(event.agent),
        id=SessionId(event.session),
        started_ns=ns_from(event.at),
        revision=CommitSha(revision) if revision is not None and _FULL.fullmatch(revision) else None,
        worktree=event.worktree,
        model=None if event.subagent is not None else model(said.get("model")),
    )


def _prompt(event: TranscriptEvent, said: Fields) -> Iterator[View]:
    asked = text(said.get("text"))
    if asked is None:
        return
    named = prompt_id(asked.content if asked.content is not None else event.id)
    yield Prompt(AgentName(event.agent), SessionId(event.session), named, ns_from(event.at), asked)


def _calls(event: TranscriptEvent, said: Fields) -> Iterator[View]:
    for made in event.calls[:1]:
        yield from _call(event, said, made)


def _call(event: TranscriptEvent, said: Fields, made: CallMade) -> Iterator[View]:
    tool, given, state = made.name, given_to(said.get("given")), string(said.get("state"))
    status = STATES.get(state or "", CallStatus.ABANDONED)
    if status is CallStatus.OK and went_wrong(tool, string(said.get("words")) or "", given):
        status = CallStatus.FAILED
    ended, began = ns_from(event.at), string(said.get("started"))
    yield ToolCall(
        agent=AgentName(event.agent),
        session=SessionId(event.session),
        id=CallId(made.id),
        name=tool,
        started_ns=ended if began is None else min(ended, ns_from(began)),
        ended_ns=None if status is CallStatus.RUNNING else ended,
        status=status,
        parent=None if event.parent_call is None else CallId(event.parent_call),
        subagent=event.subagent,
        model=model(said.get("model")),
        about=about(tool, given),
    )
    if status not in (CallStatus.OK, CallStatus.FAILED):
        return
    done = Done(
        agent=AgentName(event.agent),
        session=SessionId(event.session),
        call=CallId(made.id),
        at_ns=ended,
        tool=tool,
        input=given,
        response={},
        answer=said.get("words"),
        words=string(said.get("words")) or "",
        failed=state == FAILED,
        locate=lambda named: _located(event.paths, named),
    )
    groups = [(string(path), string(new)) for path, new in items(said.get("groups"))]
    if groups:
        yield from edits(done, [_new_lines(path, new) for path, new in groups if path is not None and new is not None])
    else:
        yield from done_views(done, made.cwd, event.commits, told=True)


def _new_lines(path: str, new: str) -> Change:
    return Change(path=path, kind=Kind.UPDATE, pieces=(Piece("", new),))


def _located(paths: Mapping[str, str | None], named: object) -> RepoPath | None:
    path = paths.get(named) if isinstance(named, str) else None
    return None if path is None else RepoPath.of(path)


KINDS: Mapping[str, Callable[[TranscriptEvent, Fields], Iterator[View]]] = MappingProxyType(
    {CALL: _calls, PROMPT: _prompt}
)
