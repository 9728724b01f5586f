"""Convert an event's payload to views: one pure function per kind, and a table of kinds."""

from collections.abc import Callable, Sequence
from functools import cache
from types import MappingProxyType
from typing import Any, TypeVar

from custody.core.errors import InputError
from custody.core.ids import AgentName, CallId, ExecutionId, SessionId, SpanId, digest_from_bytes
from custody.core.paths import Lines, RepoPath
from custody.core.run_summary import parse_run_summaries
from custody.core.views import (
    AuthorClaim,
    CallStatus,
    Change,
    CommandExit,
    CommandRecord,
    CommitLink,
    Decision,
    DecisionKind,
    DuplicateAnswer,
    FileEdit,
    HunkRead,
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
    WitnessClaim,
)
from custody.core.wire.arrival import SPAN
from custody.core.wire.body import parse_digest
from custody.core.wire.canonical import Json, encode_json_text
from custody.core.wire.event import (
    AnyEvent,
    AuthorEvent,
    CallEvent,
    ChangeEvent,
    DecisionEvent,
    DecisionWitness,
    DecodedEvent,
    DuplicateAnswerEvent,
    EditEvent,
    ErasedText,
    Event,
    LinkEvent,
    PromptEvent,
    ReadEvent,
    SessionEvent,
    SourceEvent,
    SourceReadEvent,
    SpanBatchEvent,
    SpanEvent,
    TextField,
    event_from_json,
    list_edit_content_hashes,
)
from custody.core.wire.span_batch import iterate_batched_spans, span_batch_from_json
from custody.core.wire.time import parse_timestamp

V = TypeVar("V", bound=View)

ABOUT_CHARACTERS_MAX = 500
COMMAND_CHARACTERS_MAX = 4000
CODE_MAX = 2**31
_ABOUT = ("command", "file_path", "path", "notebook_path", "subagent_type", "agent_type")


def views_from_event_payload(payload: Json | DecodedEvent) -> tuple[View, ...]:
    """Return the views of a generic event's payload."""
    if isinstance(payload, SpanBatchEvent):
        raise InputError("a batch of spans is not a generic event")
    event = event_from_json(payload)
    if type(event) not in VIEWS:
        raise InputError(f"'{event.__struct_config__.tag}' is not a generic event")
    commands = _command_records_from_event(event) if isinstance(event, CallEvent) else ()
    observations = observation_from_event(event, str(event.__struct_config__.tag))
    return (VIEWS[type(event)](event), *commands, *observations)


def views_from_span_batch(payload: Json | DecodedEvent) -> tuple[View, ...]:
    """Return the views of the spans of a batch that were not erased: first all spans, then their observations."""
    spans = span_batch_from_json(payload).spans
    observations = (view for span in spans for view in observation_from_event(span, SPAN))
    return (*map(_span_view_from_event, spans), *observations)


def read_batched_views(data: bytes, numbers: Sequence[int]) -> list[tuple[int, View]]:
    """Return these views of a stored batch, each with its number; only their spans are decoded."""
    stored = list(iterate_batched_spans(data))
    if numbers[-1] < len(stored):
        return [(n, _span_view_from_event(stored[n].event)) for n in numbers]
    views = views_from_span_batch(SpanBatchEvent(tuple(span.event for span in stored)))
    return [(n, views[n]) for n in numbers if n < len(views)]


def observation_from_event(event: AnyEvent, what: str) -> tuple[Observation, ...]:
    """Return an observation if the event belongs to a session."""
    if event.agent is None or event.session is None:
        return ()
    return (Observation(AgentName(event.agent), SessionId(event.session), what, parse_timestamp(event.at)),)


def _copy_event_to_view(view: type[V], event: Event, **converted: object) -> V:
    """Return a view with the event's values of the same names, and ``converted`` for the others."""
    names = _shared_view_fields(view, type(event))  # type: ignore[arg-type]  # a struct's type does hash
    values: dict[str, Any] = {name: getattr(event, name) for name in names}
    return view(**(values | converted))


@cache
def _shared_view_fields(view: type[View], event: type[Event]) -> tuple[str, ...]:
    return tuple(name for name in view.__struct_fields__ if name in event.__struct_fields__)


def _session_view_from_event(event: SessionEvent) -> Session:
    return _copy_event_to_view(
        Session,
        event,
        id=event.session,
        started_ns=parse_timestamp(event.at),
        ended_ns=_parse_optional_timestamp(event.ended_at),
        revision=event.head,
    )


def _prompt_view_from_event(event: PromptEvent) -> Prompt:
    return _copy_event_to_view(Prompt, event, at_ns=parse_timestamp(event.at), text=text_view_from_field(event.text))


def _call_view_from_event(event: CallEvent) -> ToolCall:
    return _copy_event_to_view(
        ToolCall,
        event,
        started_ns=parse_timestamp(event.at),
        ended_ns=_parse_optional_timestamp(event.ended_at),
        status=CallStatus(event.status),
        about=find_call_subject(event.input),
    )


def _command_records_from_event(event: CallEvent) -> tuple[CommandRecord, ...]:
    """Return the shell command of a call that ended: its input is an object with a ``command``."""
    given = event.input if isinstance(event.input, dict) else {}
    command, folder = given.get("command"), given.get("cwd")
    if not isinstance(command, str) or event.status == "running":
        return ()
    fields = event.output if isinstance(event.output, dict) else {}
    texts = [event.output, *(fields.get(name) for name in ("output", "stdout", "stderr"))]
    code = fields.get("exit_code")
    known = isinstance(code, int) and not isinstance(code, bool) and abs(code) < CODE_MAX
    return (
        CommandRecord(
            AgentName(event.agent),
            SessionId(event.session),
            CallId(event.id),
            parse_timestamp(event.ended_at or event.at),
            command[:COMMAND_CHARACTERS_MAX].encode("utf-8", "replace").decode().replace("\0", ""),
            folder=folder if isinstance(folder, str) else None,
            root=event.worktree,
            code=code if known else {"ok": 0, "failed": 1}.get(event.status),
            end=CommandExit.REFUSED if event.status == "abandoned" else CommandExit.EXITED,
            summaries=parse_run_summaries("\n".join(text for text in texts if isinstance(text, str))),
        ),
    )


def find_call_subject(given: object) -> str | None:
    """Return the argument that a finer name of a call depends on: a command, a path, or a subagent's type.

    >>> [find_call_subject(given) for given in ({"command": "git commit"}, {"file_path": "a.py"}, "x")]
    ['git commit', 'a.py', None]
    """
    if not isinstance(given, dict):
        return None
    found = next((given[key] for key in _ABOUT if isinstance(given.get(key), str)), None)
    return None if found is None else found[:ABOUT_CHARACTERS_MAX]


def _edit_view_from_event(event: EditEvent) -> FileEdit:
    return _copy_event_to_view(
        FileEdit,
        event,
        path=RepoPath.of(event.path),
        at_ns=parse_timestamp(event.at),
        revision=event.head,
        before=_optional_text_view(event.before),
        after=_optional_text_view(event.after),
        lines=tuple(Lines(line_range.first, line_range.last) for line_range in event.lines),
        hashes=list_edit_content_hashes(event),
        part=bool(event.lines),
        proposed=_optional_text_view(event.proposed),
    )


def _access_view_from_event(event: SourceReadEvent) -> SourceAccess:
    return _copy_event_to_view(
        SourceAccess,
        event,
        reading=Reading(event.reading),
        at_ns=parse_timestamp(event.at),
        text=_optional_text_view(event.text),
        failed=event.reading == "attempted",
    )


def _link_view_from_event(event: LinkEvent) -> CommitLink:
    return _copy_event_to_view(CommitLink, event, origin=LinkOrigin(event.origin), at_ns=parse_timestamp(event.at))


def _decision_view_from_event(event: DecisionEvent) -> Decision:
    return _copy_event_to_view(
        Decision,
        event,
        decision=DecisionKind(event.decision),
        at_ns=parse_timestamp(event.at),
        areas=tuple(event.areas or ()),
        opened_ns=_parse_optional_timestamp(event.opened_at),
        sessions=tuple(event.sessions or ()),
        witness=_witness_claim_from_event(event.witness),
    )


def _witness_claim_from_event(witness: DecisionWitness | None) -> WitnessClaim | None:
    return None if witness is None else WitnessClaim(witness.kind, witness.by, witness.signature)


def _answer_view_from_event(event: DuplicateAnswerEvent) -> DuplicateAnswer:
    return _copy_event_to_view(DuplicateAnswer, event, at_ns=parse_timestamp(event.at))


def _read_view_from_event(event: ReadEvent) -> HunkRead:
    return _copy_event_to_view(
        HunkRead,
        event,
        path=RepoPath.of(event.path),
        at_ns=parse_timestamp(event.at),
        head=event.head_commit,
        witness=_witness_claim_from_event(event.witness),
    )


def _author_view_from_event(event: AuthorEvent) -> AuthorClaim:
    return _copy_event_to_view(
        AuthorClaim,
        event,
        path=RepoPath.of(event.path),
        at_ns=parse_timestamp(event.at),
        text=text_view_from_field(event.text),
        lines=tuple(Lines(line_range.first, line_range.last) for line_range in event.lines),
        revision=event.head,
    )


def _source_view_from_event(event: SourceEvent) -> Source:
    return _copy_event_to_view(Source, event, at_ns=parse_timestamp(event.at))


def _change_view_from_event(event: ChangeEvent) -> Change:
    return _copy_event_to_view(Change, event, at_ns=parse_timestamp(event.at), head=event.head_commit)


def _span_view_from_event(event: SpanEvent) -> ObservedSpan:
    at_ns = parse_timestamp(event.at)
    ended = event.phase == "end"
    return ObservedSpan(
        execution=ExecutionId(event.execution),
        name=event.name,
        parent=None if event.parent is None else SpanId(event.parent),
        server=event.server,
        dropped=event.dropped,
        agent=None if event.agent is None else AgentName(event.agent),
        session=None if event.session is None else SessionId(event.session),
        id=SpanId(event.span),
        phase=SpanPhase(event.phase),
        kind=SpanKind(event.span_kind),
        started_ns=None if ended else at_ns,
        ended_ns=at_ns if ended else _parse_optional_timestamp(event.ended_at),
        links=tuple(
            SpanRef(None if link.execution is None else ExecutionId(link.execution), SpanId(link.span))
            for link in event.links
        ),
        status=None if event.status is None else SpanStatus(event.status),
        attributes=tuple(sorted(event.attributes.items())),
    )


VIEWS: MappingProxyType[type[Event], Callable[[Any], View]] = MappingProxyType(
    {
        SessionEvent: _session_view_from_event,
        PromptEvent: _prompt_view_from_event,
        CallEvent: _call_view_from_event,
        EditEvent: _edit_view_from_event,
        SourceReadEvent: _access_view_from_event,
        LinkEvent: _link_view_from_event,
        DecisionEvent: _decision_view_from_event,
        DuplicateAnswerEvent: _answer_view_from_event,
        ReadEvent: _read_view_from_event,
        AuthorEvent: _author_view_from_event,
        SourceEvent: _source_view_from_event,
        ChangeEvent: _change_view_from_event,
        SpanEvent: _span_view_from_event,
    }
)


def text_view_from_field(field: TextField) -> Text:
    """Return a captured text; an erased text has no content."""
    if isinstance(field, ErasedText):
        return Text(parse_digest(field.digest), None)
    return Text(digest_from_bytes(encode_json_text(field)), field)


def _parse_optional_timestamp(text: str | None) -> int | None:
    return None if text is None else parse_timestamp(text)


def _optional_text_view(field: TextField | None) -> Text | None:
    return None if field is None else text_view_from_field(field)


# The versions of the readers; if one changes, stores rebuild their views.
# They are separate from the readers, since most commands do not load these.


READER_VERSION = 8
"""Version of the reader of generic events."""
HOOK_VERSION = 6
"""Version of the reader of hook events and snapshots."""
TRANSCRIPT_VERSION = 4
"""Version of the readers of transcripts."""
TRACES_VERSION = 2
"""Version of the reader of other tools' traces."""
REGISTRY_VERSION = 2
"""Version of the reader of registry events."""
