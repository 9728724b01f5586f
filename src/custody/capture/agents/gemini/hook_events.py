"""Gemini CLI's hook events, as ``packages/core/src/hooks`` has them: 0.13 of November 2025 to 5411f113 of August 2026.

Formats move: unknown fields and events are passed over, a field of another type than expected counts as absent. A hook
does not say which call it speaks of: a call is named by its content (``hook/call_name.py``), from its end on. Models
are told only by the events around model calls, which ``custody init`` does not ask for, and by chats.
"""

import hashlib
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType

from custody.capture.agents.gemini.sources import SERVERS, sources
from custody.capture.agents.gemini.tool_calls import Called, edits, model_named
from custody.capture.hook.call_name import call_of, words_of
from custody.capture.hook_path import located
from custody.capture.typed_field import Fields, fields, string, text
from custody.core.ids import AgentName, CallId, CommitSha, PromptId, SessionId
from custody.core.views import CallStatus, Prompt, Session, ToolCall, View
from custody.core.wire.event import HookEvent
from custody.core.wire.event_views import about_of
from custody.core.wire.time import ns_from


def views_of(event: HookEvent) -> tuple[View, ...]:
    """The views that one hook event gives; none without a session or for an event that says nothing of its own."""
    read = EVENTS.get(event.event)
    if read is None or event.session is None or not isinstance(event.payload, dict):
        return ()
    return tuple(read(event, SessionId(event.session), event.payload))


def prompt_id(asked: str) -> PromptId:
    """The name of a prompt, which hooks do not give: the same words in one session are the same prompt."""
    return PromptId("content-" + hashlib.sha256(asked.strip().encode("utf-8", "surrogatepass")).hexdigest()[:32])


def _session(event: HookEvent, session: SessionId, _said: Fields) -> Iterator[View]:
    yield Session(
        agent=AgentName(event.agent),
        id=session,
        started_ns=ns_from(event.at),
        revision=_head(event),
        worktree=event.worktree,
    )


def _session_end(event: HookEvent, session: SessionId, _said: Fields) -> Iterator[View]:
    at_ns = ns_from(event.at)
    yield Session(agent=AgentName(event.agent), id=session, started_ns=at_ns, ended_ns=at_ns)


def _model(event: HookEvent, session: SessionId, said: Fields) -> Iterator[View]:
    named = model_named(fields(said.get("llm_request")).get("model"))
    if named is not None:
        yield Session(agent=AgentName(event.agent), id=session, started_ns=ns_from(event.at), model=named)


def _prompt(event: HookEvent, session: SessionId, said: Fields) -> Iterator[View]:
    asked = text(said.get("prompt"))
    if asked is None or (asked.content is not None and not asked.content.strip()):
        return
    named = PromptId(event.id) if asked.content is None else prompt_id(asked.content)
    yield Prompt(AgentName(event.agent), session, named, ns_from(event.at), asked)


def _call(event: HookEvent, session: SessionId, said: Fields) -> Iterator[View]:
    tool, given, answer = string(said.get("tool_name")), said.get("tool_input"), fields(said.get("tool_response"))
    if not tool:
        return
    at_ns = ns_from(event.at)
    failed = bool(answer.get("error"))
    # A hook of before calls were named by their content has none.
    call = CallId(event.call or call_of(tool, given, answer.get("llmContent")))
    yield ToolCall(
        agent=AgentName(event.agent),
        session=session,
        id=call,
        name=tool,
        started_ns=at_ns,
        ended_ns=at_ns,
        status=CallStatus.FAILED if failed else CallStatus.OK,
        about=about_of(given),
    )
    served = isinstance(said.get("mcp_context"), dict) and not tool.startswith(SERVERS)
    called = Called(
        agent=AgentName(event.agent),
        session=session,
        call=call,
        at_ns=at_ns,
        tool=f"{SERVERS}{tool}" if served else tool,
        given=fields(given),
        display=answer.get("returnDisplay"),
        shown=words_of(answer.get("llmContent")) or words_of(answer.get("error")),
        failed=failed,
        revision=_head(event),
        locate=lambda named: located(event, named),
    )
    yield from sources(called)
    # What a command wrote is seen on disk around it; an abbreviated commit says nothing here.
    yield from edits(called)


def _head(event: HookEvent) -> CommitSha | None:
    return None if event.head is None else CommitSha(event.head)


EVENTS: Mapping[str, Callable[[HookEvent, SessionId, Fields], Iterator[View]]] = MappingProxyType(
    {
        "SessionStart": _session,
        "SessionEnd": _session_end,
        "BeforeModel": _model,
        "AfterModel": _model,
        "BeforeToolSelection": _model,
        "BeforeAgent": _prompt,
        "AfterTool": _call,
    }
)
