"""What one kept prompt or call of opencode's sessions says: a pure function of it and of what was put beside it."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from types import MappingProxyType

from custody.capture.agents.opencode.hook_events import status_of
from custody.capture.agents.opencode.session_reader import done_of
from custody.capture.agents.opencode.sources import sources
from custody.capture.agents.opencode.tool_calls import SHELLS, about, answer_of, edits, facts, shell_edits
from custody.capture.typed_field import Fields, fields, model, string, text
from custody.core.ids import AgentName, CallId, PromptId, SessionId
from custody.core.paths import RepoPath
from custody.core.views import Prompt, Session, ToolCall, View
from custody.core.wire.event import TranscriptEvent
from custody.core.wire.time import ns_from

NS_PER_MS = 1_000_000


def views_of(event: TranscriptEvent) -> tuple[View, ...]:
    """The views that one kept prompt or call gives."""
    said = fields(event.payload)
    read = KINDS.get(string(said.get("type")) or "")
    opening = (_session(event, said),) if event.opens else ()
    return (*opening, *(read(event, said) if read else ()))


def _session(event: TranscriptEvent, said: Fields) -> Session:
    return Session(
        agent=AgentName(event.agent),
        id=SessionId(event.session),
        started_ns=ns_from(event.at),
        worktree=event.worktree,
        model=None if event.subagent is not None else _model(said),
    )


def _prompt(event: TranscriptEvent, said: Fields) -> Iterator[View]:
    asked = text(said.get("text"))
    if event.subagent is None and asked is not None:
        named = string(fields(said.get("message")).get("id")) or event.id
        yield Prompt(AgentName(event.agent), SessionId(event.session), PromptId(named), ns_from(event.at), asked)


def _call(event: TranscriptEvent, said: Fields) -> Iterator[View]:
    if not event.calls:
        return
    made, state = event.calls[0], fields(fields(said.get("part")).get("state"))
    done = replace(
        done_of(made.name, state),
        agent=AgentName(event.agent),
        session=SessionId(event.session),
        call=CallId(made.id),
        at_ns=ns_from(event.at),
        locate=lambda named: _located(event.paths, named),
    )
    yield ToolCall(
        agent=done.agent,
        session=done.session,
        id=done.call,
        name=made.name,
        started_ns=_started(state, done.at_ns),
        ended_ns=done.at_ns,
        status=status_of(done),
        parent=None if event.parent_call is None else CallId(event.parent_call),
        subagent=event.subagent,
        model=_model(said),
        about=about(state.get("input")),
    )
    yield from sources(done, made.cwd)
    yield from edits(done)
    yield from shell_edits(done)
    if made.name in SHELLS and not done.failed:
        yield from facts(done, answer_of(done), dict(event.commits))


def _started(state: Fields, ended_ns: int) -> int:
    start = fields(state.get("time")).get("start")
    if not isinstance(start, int) or isinstance(start, bool) or not 0 < start * NS_PER_MS <= ended_ns:
        return ended_ns
    return start * NS_PER_MS


def _model(said: Fields) -> str | None:
    return model(fields(said.get("message")).get("model"))


def _located(paths: Mapping[str, str | None], named: object) -> RepoPath | None:
    path = paths.get(named) if isinstance(named, str) else None
    return None if path is None else RepoPath.of(path)


KINDS: Mapping[str, Callable[[TranscriptEvent, Fields], Iterator[View]]] = MappingProxyType(
    {"prompt": _prompt, "call": _call}
)
