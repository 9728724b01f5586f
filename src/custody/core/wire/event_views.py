"""From an event's payload to the views that the product reads: one pure function per kind, one table of kinds."""

from collections.abc import Callable
from types import MappingProxyType
from typing import Any

from custody.core.digest import digest_of
from custody.core.errors import InputError
from custody.core.ids import (
    AgentName,
    CallId,
    CommitSha,
    ContentHash,
    ExecutionId,
    PromptId,
    SessionId,
    SpanId,
)
from custody.core.lines import Lines
from custody.core.paths import RepoPath
from custody.core.views import (
    CallStatus,
    Change,
    CommitLink,
    Decision,
    DecisionKind,
    DuplicateAnswer,
    FileEdit,
    LinkOrigin,
    Observation,
    ObservedSpan,
    Prompt,
    Reading,
    Session,
    Source,
    SourceAccess,
    SpanKind,
    SpanPhase,
    SpanRef,
    SpanStatus,
    Text,
    ToolCall,
    View,
)
from custody.core.wire.body import digest_from
from custody.core.wire.canonical import Json, text_bytes
from custody.core.wire.event import (
    AnyEvent,
    CallEvent,
    ChangeEvent,
    DecisionEvent,
    DuplicateAnswerEvent,
    EditEvent,
    ErasedText,
    Event,
    LinkEvent,
    PromptEvent,
    SessionEvent,
    SourceEvent,
    SourceReadEvent,
    SpanEvent,
    TextField,
    event_from,
    hashes_of,
)
from custody.core.wire.time import ns_from

ABOUT_SIGNS_MAX = 500
_ABOUT = ("command", "file_path", "path", "notebook_path", "subagent_type", "agent_type")


def views_of(payload: Json) -> tuple[View, ...]:
    """The views that one generic event's payload gives."""
    event = event_from(payload)
    if type(event) not in VIEWS:
        raise InputError(f"'{event.__struct_config__.tag}' is no generic event")
    return (VIEWS[type(event)](event), *observation_of(event, str(event.__struct_config__.tag)))


def observation_of(event: AnyEvent, what: str) -> tuple[Observation, ...]:
    """That something of a session was captured, where the event is of one."""
    if event.agent is None or event.session is None:
        return ()
    return (Observation(AgentName(event.agent), SessionId(event.session), what, ns_from(event.at)),)


def _session(event: SessionEvent) -> Session:
    return Session(
        agent=AgentName(event.agent),
        id=SessionId(event.session),
        started_ns=ns_from(event.at),
        ended_ns=_ns(event.ended_at),
        revision=_commit(event.head),
        worktree=event.worktree,
        model=event.model,
        operator=event.operator,
        parent=None if event.parent is None else SessionId(event.parent),
    )


def _prompt(event: PromptEvent) -> Prompt:
    return Prompt(
        agent=AgentName(event.agent),
        session=SessionId(event.session),
        id=PromptId(event.id),
        at_ns=ns_from(event.at),
        text=text_view(event.text),
    )


def _call(event: CallEvent) -> ToolCall:
    return ToolCall(
        agent=AgentName(event.agent),
        session=SessionId(event.session),
        id=CallId(event.id),
        name=event.name,
        started_ns=ns_from(event.at),
        ended_ns=_ns(event.ended_at),
        status=CallStatus(event.status),
        parent=None if event.parent is None else CallId(event.parent),
        prompt=None if event.prompt is None else PromptId(event.prompt),
        subagent=event.subagent,
        model=event.model,
        about=about_of(event.input),
    )


def about_of(given: object) -> str | None:
    """What a finer name of a call depends on, from what the call was given: a command, a path, a subagent's type.

    >>> about_of({"command": "git commit", "timeout": 5}), about_of({"file_path": "a.py"}), about_of("x")
    ('git commit', 'a.py', None)
    """
    if not isinstance(given, dict):
        return None
    found = next((given[key] for key in _ABOUT if isinstance(given.get(key), str)), None)
    return None if found is None else found[:ABOUT_SIGNS_MAX]


def _edit(event: EditEvent) -> FileEdit:
    return FileEdit(
        agent=AgentName(event.agent),
        session=SessionId(event.session),
        id=event.id,
        path=RepoPath.of(event.path),
        at_ns=ns_from(event.at),
        call=None if event.call is None else CallId(event.call),
        revision=_commit(event.head),
        before=None if event.before is None else text_view(event.before),
        after=None if event.after is None else text_view(event.after),
        lines=tuple(Lines(stretch.first, stretch.last) for stretch in event.lines),
        hashes=tuple(ContentHash(value) for value in hashes_of(event)),
        part=bool(event.lines),
        proposed=None if event.proposed is None else text_view(event.proposed),
    )


def _source_read(event: SourceReadEvent) -> SourceAccess:
    return SourceAccess(
        agent=AgentName(event.agent),
        session=SessionId(event.session),
        id=event.id,
        locator=event.locator,
        reading=Reading(event.reading),
        at_ns=ns_from(event.at),
        call=None if event.call is None else CallId(event.call),
        title=event.title,
        text=None if event.text is None else text_view(event.text),
        code=event.code,
        failed=event.reading == "attempted",
    )


def _link(event: LinkEvent) -> CommitLink:
    return CommitLink(
        agent=AgentName(event.agent),
        session=SessionId(event.session),
        commit=CommitSha(event.commit),
        origin=LinkOrigin(event.origin),
        at_ns=ns_from(event.at),
    )


def _decision(event: DecisionEvent) -> Decision:
    return Decision(
        agent=AgentName(event.agent),
        id=event.id,
        decision=DecisionKind(event.decision),
        at_ns=ns_from(event.at),
        session=None if event.session is None else SessionId(event.session),
        actor=event.actor,
        reason=event.reason,
        commit=_commit(event.commit),
        complexity=event.complexity,
        changed_lines=event.changed_lines,
        review_ms=event.review_ms,
        commit_name=event.commit_name,
        reverts=event.reverts,
        overrides=event.overrides,
        boost=event.boost,
        model=event.model,
        operator=event.operator,
        areas=tuple(event.areas or ()),
        opened_ns=None if event.opened_at is None else ns_from(event.opened_at),
        unreviewed=event.unreviewed,
        head=_commit(event.head),
        rules_digest=event.rules_digest,
        chain_head=event.chain_head,
        outcome=event.outcome,
        sessions=tuple(map(SessionId, event.sessions or ())),
    )


def _duplicate_answer(event: DuplicateAnswerEvent) -> DuplicateAnswer:
    return DuplicateAnswer(
        id=event.id,
        at_ns=ns_from(event.at),
        head=CommitSha(event.head),
        base=event.base,
        other_head=CommitSha(event.other_head),
        other_base=event.other_base,
        answer=event.answer,
        actor=event.actor,
        reason=event.reason,
    )


def _source(event: SourceEvent) -> Source:
    return Source(
        id=event.id,
        at_ns=ns_from(event.at),
        url=event.url,
        title=event.title,
        snippet=event.snippet,
        publisher=event.publisher,
        author=event.author,
        year=event.year,
    )


def _change(event: ChangeEvent) -> Change:
    return Change(
        id=event.id,
        at_ns=ns_from(event.at),
        base=CommitSha(event.base),
        head=CommitSha(event.head_commit),
        title=event.title,
        url=event.url,
        number=event.number,
    )


def _span(event: SpanEvent) -> ObservedSpan:
    at_ns = ns_from(event.at)
    ended = event.phase == "end"
    return ObservedSpan(
        execution=ExecutionId(event.execution),
        id=SpanId(event.span),
        phase=SpanPhase(event.phase),
        name=event.name,
        kind=SpanKind(event.span_kind),
        started_ns=None if ended else at_ns,
        ended_ns=at_ns if ended else _ns(event.ended_at),
        parent=None if event.parent is None else SpanId(event.parent),
        links=tuple(
            SpanRef(None if link.execution is None else ExecutionId(link.execution), SpanId(link.span))
            for link in event.links
        ),
        status=None if event.status is None else SpanStatus(event.status),
        server=event.server,
        attributes=tuple(sorted(event.attributes.items())),
        dropped=event.dropped,
        agent=None if event.agent is None else AgentName(event.agent),
        session=None if event.session is None else SessionId(event.session),
    )


VIEWS: MappingProxyType[type[Event], Callable[[Any], View]] = MappingProxyType(
    {
        SessionEvent: _session,
        PromptEvent: _prompt,
        CallEvent: _call,
        EditEvent: _edit,
        SourceReadEvent: _source_read,
        LinkEvent: _link,
        DecisionEvent: _decision,
        DuplicateAnswerEvent: _duplicate_answer,
        SourceEvent: _source,
        ChangeEvent: _change,
        SpanEvent: _span,
    }
)


def text_view(field: TextField) -> Text:
    """A captured text, or the place where one was before it was erased."""
    if isinstance(field, ErasedText):
        return Text(digest_from(field.digest), None)
    return Text(digest_of(text_bytes(field)), field)


def _ns(moment: str | None) -> int | None:
    return None if moment is None else ns_from(moment)


def _commit(sha: str | None) -> CommitSha | None:
    return None if sha is None else CommitSha(sha)
