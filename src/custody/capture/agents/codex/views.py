"""What one kept line of Codex CLI's rollouts says: a pure function of the line and of what was put beside it."""

import re
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType

from custody.capture.agents.claude.tool_calls import Done
from custody.capture.agents.codex import line_shapes as shapes
from custody.capture.agents.codex.patch import changes_told
from custody.capture.agents.codex.sources import searched, sources
from custody.capture.agents.codex.tool_calls import (
    APPLY_PATCH,
    Answer,
    changes_by,
    edits,
    facts,
    given_to,
    written,
    written_by,
)
from custody.capture.agents.codex.tool_output import outcome
from custody.capture.typed_field import Fields, fields, model, string, text
from custody.core.ids import AgentName, CallId, CommitSha, PromptId, SessionId
from custody.core.paths import RepoPath
from custody.core.views import CallStatus, Prompt, Session, ToolCall, View
from custody.core.wire.event import CallMade, TranscriptEvent
from custody.core.wire.event_views import about_of
from custody.core.wire.time import ns_from

_FULL = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")


def views_of(event: TranscriptEvent) -> tuple[View, ...]:
    """The views that one line gives."""
    line = fields(event.payload)
    seen = _Seen(event, fields(line.get("payload")), fields(line.get("beside")))
    read = LINES.get(string(line.get("type")) or "")
    opening = (_session(seen),) if event.opens else ()
    return (*opening, *(read(seen) if read else ()))


class _Seen:
    """A kept line with what every reader asks of it."""

    def __init__(self, event: TranscriptEvent, inner: Fields, beside: Fields) -> None:
        self.event = event
        self.inner = inner
        self.beside = beside
        self.agent = AgentName(event.agent)
        self.session = SessionId(event.session)
        self.at_ns = ns_from(event.at)
        self.model = model(beside.get("model"))
        turn = string(beside.get("turn"))
        self.prompt = PromptId(turn) if turn else None

    def path(self, named: object) -> RepoPath | None:
        """The file of this repository that a name in the line stands for."""
        path = self.event.paths.get(named) if isinstance(named, str) else None
        return None if path is None else RepoPath.of(path)

    def made(self, call: str) -> CallMade:
        """The call as an earlier line has it."""
        return next((made for made in self.event.calls if made.id == call), CallMade(call, "?"))


def _session(seen: _Seen) -> Session:
    told = string(fields(seen.inner.get("git")).get("commit_hash"))
    return Session(
        agent=seen.agent,
        id=seen.session,
        started_ns=seen.at_ns,
        revision=CommitSha(told) if told is not None and _FULL.fullmatch(told) else None,
        worktree=seen.event.worktree,
        model=None if seen.event.subagent is not None else seen.model,
    )


def _response(seen: _Seen) -> Iterator[View]:
    kind, call = string(seen.inner.get("type")), shapes.call_id(seen.inner)
    if kind in shapes.CALLS and call:
        tool, given = shapes.called(seen.inner)
        about = None if tool == APPLY_PATCH else about_of(given.kept())
        yield _call(seen, call, tool, CallStatus.RUNNING, about)
    elif kind in shapes.OUTPUTS and call:
        made = seen.made(call)
        yield from _output(seen, made, outcome(made.name, seen.inner.get("output")))
    elif kind == "web_search_call":
        yield from _searched(seen)
    elif kind == "message":
        yield from _typed(seen)


def _event(seen: _Seen) -> Iterator[View]:
    if (patch := shapes.patched(seen.inner)) is not None:
        yield from _patched(seen, patch)
    elif (end := shapes.ended(seen.inner)) is not None:
        yield from _output(seen, seen.made(end.call), end.answer)
    elif shapes.searched(seen.inner) is not None:
        yield from _searched(seen)
    else:
        yield from _typed(seen)


def _output(seen: _Seen, made: CallMade, answer: Answer) -> Iterator[View]:
    status = CallStatus.FAILED if answer.failed else CallStatus.RUNNING if answer.running else CallStatus.OK
    yield _call(seen, made.id, "" if made.name == "?" else made.name, status)
    if made.input is None:
        return  # another line tells what it did
    given = given_to(made.name, made.input)
    done = _done(seen, made, fields(made.input), answer)
    if made.name != APPLY_PATCH:
        yield from sources(done, answer, made.cwd)
    if not answer.failed:
        yield from edits(done, changes_by(made.name, given))
    yield from written(done, written_by(given, answer))
    yield from facts(done, answer, seen.event.commits)


def _patched(seen: _Seen, patch: shapes.Patched) -> Iterator[View]:
    made = seen.made(patch.call)
    yield _call(seen, patch.call, made.name.strip("?"), CallStatus.OK if patch.applied else CallStatus.FAILED)
    if patch.applied:
        changes = changes_told(patch.changes or seen.beside.get("changes"))
        yield from edits(_done(seen, made, {}, Answer()), changes)


def _searched(seen: _Seen) -> Iterator[View]:
    said = shapes.searched(seen.inner)
    if said is None:
        return
    call = said.call or f"web:{seen.event.id}"
    about = string(said.action.get("query")) or string(said.action.get("url"))
    yield _call(seen, call, shapes.WEB_SEARCH, CallStatus.OK, about_of({"path": about}))
    yield from searched(_done(seen, CallMade(call, shapes.WEB_SEARCH), {}, Answer()), said.action, said.results)


def _typed(seen: _Seen) -> Iterator[View]:
    said = shapes.typed(seen.inner)
    asked = text(said)
    if asked is None or seen.event.subagent is not None or not shapes.is_typed(said):
        return
    named = string(seen.beside.get("prompt")) or seen.event.id
    yield Prompt(seen.agent, seen.session, PromptId(named), seen.at_ns, asked)


def _call(seen: _Seen, call: str, tool: str, status: CallStatus, about: str | None = None) -> ToolCall:
    return ToolCall(
        agent=seen.agent,
        session=seen.session,
        id=CallId(call),
        name=tool,
        started_ns=seen.at_ns,
        ended_ns=None if status is CallStatus.RUNNING else seen.at_ns,
        status=status,
        parent=None if seen.event.parent_call is None else CallId(seen.event.parent_call),
        prompt=seen.prompt,
        subagent=seen.event.subagent,
        model=seen.model,
        about=about,
    )


def _done(seen: _Seen, made: CallMade, given: Fields, answer: Answer) -> Done:
    return Done(
        agent=seen.agent,
        session=seen.session,
        call=CallId(made.id),
        at_ns=seen.at_ns,
        tool=made.name,
        input=given,
        response={},
        answer=seen.inner.get("output"),
        words=answer.words,
        failed=answer.failed,
        locate=seen.path,
    )


LINES: Mapping[str, Callable[[_Seen], Iterator[View]]] = MappingProxyType(
    {"response_item": _response, "event_msg": _event}
)
