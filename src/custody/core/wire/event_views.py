"""From an event's payload to the views that the product reads: one pure function per kind, one table of kinds."""

from collections.abc import Callable
from dataclasses import fields
from functools import cache
from types import MappingProxyType
from typing import Any, TypeVar

from custody.core.errors import InputError
from custody.core.ids import AgentName, ExecutionId, SessionId, SpanId, digest_of
from custody.core.paths import Lines, RepoPath
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

V = TypeVar("V", bound=View)

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


def _copy(view: type[V], event: Event, **converted: object) -> V:
    """A view with the values that the event has under the same names, and with ``converted`` for the others."""
    names = _shared_names(view, type(event))  # type: ignore[arg-type]  # a dataclass's type does hash
    values: dict[str, Any] = {name: getattr(event, name) for name in names}
    return view(**(values | converted))


@cache
def _shared_names(view: type[View], event: type[Event]) -> tuple[str, ...]:
    return tuple(field.name for field in fields(view) if field.name in event.__struct_fields__)


def _session(event: SessionEvent) -> Session:
    return _copy(
        Session,
        event,
        id=event.session,
        started_ns=ns_from(event.at),
        ended_ns=_ns(event.ended_at),
        revision=event.head,
    )


def _prompt(event: PromptEvent) -> Prompt:
    return _copy(Prompt, event, at_ns=ns_from(event.at), text=text_view(event.text))


def _call(event: CallEvent) -> ToolCall:
    return _copy(
        ToolCall,
        event,
        started_ns=ns_from(event.at),
        ended_ns=_ns(event.ended_at),
        status=CallStatus(event.status),
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
    return _copy(
        FileEdit,
        event,
        path=RepoPath.of(event.path),
        at_ns=ns_from(event.at),
        revision=event.head,
        before=_text(event.before),
        after=_text(event.after),
        lines=tuple(Lines(stretch.first, stretch.last) for stretch in event.lines),
        hashes=hashes_of(event),
        part=bool(event.lines),
        proposed=_text(event.proposed),
    )


def _source_read(event: SourceReadEvent) -> SourceAccess:
    return _copy(
        SourceAccess,
        event,
        reading=Reading(event.reading),
        at_ns=ns_from(event.at),
        text=_text(event.text),
        failed=event.reading == "attempted",
    )


def _link(event: LinkEvent) -> CommitLink:
    return _copy(CommitLink, event, origin=LinkOrigin(event.origin), at_ns=ns_from(event.at))


def _decision(event: DecisionEvent) -> Decision:
    return _copy(
        Decision,
        event,
        decision=DecisionKind(event.decision),
        at_ns=ns_from(event.at),
        areas=tuple(event.areas or ()),
        opened_ns=_ns(event.opened_at),
        sessions=tuple(event.sessions or ()),
    )


def _duplicate_answer(event: DuplicateAnswerEvent) -> DuplicateAnswer:
    return _copy(DuplicateAnswer, event, at_ns=ns_from(event.at))


def _source(event: SourceEvent) -> Source:
    return _copy(Source, event, at_ns=ns_from(event.at))


def _change(event: ChangeEvent) -> Change:
    return _copy(Change, event, at_ns=ns_from(event.at), head=event.head_commit)


def _span(event: SpanEvent) -> ObservedSpan:
    at_ns = ns_from(event.at)
    ended = event.phase == "end"
    return _copy(
        ObservedSpan,
        event,
        id=event.span,
        phase=SpanPhase(event.phase),
        kind=SpanKind(event.span_kind),
        started_ns=None if ended else at_ns,
        ended_ns=at_ns if ended else _ns(event.ended_at),
        links=tuple(
            SpanRef(None if link.execution is None else ExecutionId(link.execution), SpanId(link.span))
            for link in event.links
        ),
        status=None if event.status is None else SpanStatus(event.status),
        attributes=tuple(sorted(event.attributes.items())),
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


def _text(field: TextField | None) -> Text | None:
    return None if field is None else text_view(field)


# The versions of the readers that make views; another one makes stores make their views again.
# They stand apart from the readers, which most questions need not load.


READER_VERSION = 4
"""Of generic events."""
HOOK_VERSION = 5
"""Of hook events and snapshots."""
TRANSCRIPT_VERSION = 3
"""Of transcripts' lines."""
TRACES_VERSION = 2
"""Of other tools' traces."""
REGISTRY_VERSION = 2
"""Of events of the registry of sources."""
