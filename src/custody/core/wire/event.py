"""The generic event for any recorder: one JSON object per event, version 1.

This file defines the format. Agents' own formats are read elsewhere and become the same views.
"""

from collections.abc import Iterator
from functools import cache
from typing import Annotated, Any, Literal, cast

import msgspec
from msgspec import Meta

from custody.core.errors import InputError
from custody.core.ids import content_hash_from_text
from custody.core.paths import Lines, RepoPath
from custody.core.wire.canonical import Json, describe_conversion_error, encode_json_text
from custody.core.wire.time import parse_timestamp

# The parts of a ``registry`` event: the description of a source, and its keys.


Line4k = Annotated[str, Meta(max_length=4096, pattern=r"^[^\x00\ud800-\udfff]*$")]
Score = Annotated[float, Meta(ge=0, le=1)]


class SourceDescription(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """The description of a source in one registration; ``date`` is in ISO 8601."""

    title: Line4k = ""
    url: Line4k | None = None
    author: Line4k | None = None
    publisher: Line4k | None = None
    date: Annotated[str, Meta(max_length=64)] | None = None
    source_type: Line4k | None = None
    credibility_score: Score = 0.5
    relevance_score: Score = 0.5
    metadata: dict[str, Any] = {}


class WorkIdentifier(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The identifier of a work, and the kind of the identifier."""

    kind: str
    id: str


class PassageSpan(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The start and end of a passage in its source."""

    first: Annotated[int, Meta(ge=0, le=2**53)]
    last: Annotated[int, Meta(ge=0, le=2**53)]


class RegistrationKeys(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """The keys of a registration: its own, that of its page, and that of its work."""

    canonical: str
    url: str | None = None
    work: WorkIdentifier | None = None


EVENT_VERSION = 1
SHORT_BYTES_MAX = 4096
"""Maximum bytes of a field that is not a text, so that it stays in its record."""

Name = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=1000,
        pattern=r"^[^\x00-\x1f\x7f-\x9f\ud800-\udfff]+$(?!\n)",
        description="a name: no control characters, at most 1,000",
    ),
]
Short = Annotated[str, Meta(max_length=4000, pattern=r"^[^\x00\ud800-\udfff]*$", description="a short text")]
Timestamp = Annotated[str, Meta(max_length=64, description="RFC 3339 with a zone, to the nanosecond")]
Sha = Annotated[
    str,
    Meta(pattern=r"^([0-9a-f]{40}|[0-9a-f]{64})$(?!\n)", description="a full git object id in lower case"),
]
ShaOrNone = Annotated[
    str,
    Meta(pattern=r"^([0-9a-f]{40}|[0-9a-f]{64})?$(?!\n)", description="a full git object id, or nothing"),
]
HashText = Annotated[str, Meta(pattern=r"^(sha256:)?[0-9a-fA-F]{8,64}$(?!\n)", description="a content hash")]
PathText = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=4096,
        description="relative to the repository's root; bytes that are not UTF-8 as \\udc80 to \\udcff",
    ),
]
Count = Annotated[int, Meta(ge=0, le=2**53)]
SPAN_LINKS_MAX = 128
SPAN_ATTRIBUTES_MAX = 64
SpanName = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=200,
        pattern=r"^[^\x00-\x1f\x7f-\x9f\ud800-\udfff]+$(?!\n)",
        description="the name of a span, an execution or a server: no control characters, at most 200",
    ),
]
SpanKey = Annotated[str, Meta(min_length=1, max_length=100, pattern=r"^[^\x00-\x1f\x7f-\x9f\ud800-\udfff]+$(?!\n)")]
SpanText = Annotated[
    str, Meta(max_length=1000, pattern=r"^[^\x00\ud800-\udfff]*$", description="short enough to stay in its record")
]
SpanValue = bool | Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)] | float | SpanText | None
LineNumber = Annotated[int, Meta(ge=1, le=2**31 - 1)]


class ErasedText(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename={"digest": "$erased"}):
    """The placeholder of an erased text."""

    digest: Annotated[str, Meta(pattern=r"^sha256:[0-9a-f]{64}$(?!\n)", description="the digest of the erased text")]


TextField = str | ErasedText


PatchText = Annotated[str, Meta(pattern=r"^[0-9a-f]{64}$(?!\n)", description="the patch identity of a change")]
HunkText = Annotated[
    str, Meta(pattern=r"^[0-9a-f]{64}(-[1-9][0-9]{0,8})?$(?!\n)", description="the patch identity of a hunk")
]
DigestText = Annotated[str, Meta(pattern=r"^sha256:[0-9a-f]{64}$(?!\n)")]


class BinaryFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A binary file."""

    digest: DigestText
    bytes: Count


class LineRange(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Lines of a file, from 1, both ends included."""

    first: LineNumber
    last: LineNumber


class Mark(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A line from which a secret was removed: its field, the rule, and a MAC that only its machine can match."""

    at: Short
    line: LineNumber
    mac: Annotated[str, Meta(pattern=r"^[0-9a-f]{0,64}$(?!\n)")]
    rule: Name


class Event(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="kind"):
    """The fields of every event: version, id, time (as claimed and as seen by the hook) and place."""

    custody: Literal[1]
    id: Name
    at: Timestamp
    seen_at: Timestamp | None = None
    head: Sha | None = None
    worktree: Short | None = None
    redacted: list[Mark] = []


class AgentSessionEvent(Event, frozen=True, kw_only=True):
    """An event of one agent's session."""

    agent: Name
    session: Name


class SessionEvent(AgentSessionEvent, frozen=True, kw_only=True, tag="session"):
    """A session started, or has new details."""

    ended_at: Timestamp | None = None
    model: Name | None = None
    operator: Name | None = None
    parent: Name | None = None


class PromptEvent(AgentSessionEvent, frozen=True, kw_only=True, tag="prompt"):
    """A person sent a prompt."""

    text: TextField


class CallEvent(AgentSessionEvent, frozen=True, kw_only=True, tag="call"):
    """A tool was called; ``input`` and ``output`` are in the tool's own format."""

    name: Name
    ended_at: Timestamp | None = None
    status: Literal["running", "ok", "failed", "abandoned"] = "running"
    parent: Name | None = None
    prompt: Name | None = None
    subagent: Name | None = None
    model: Name | None = None
    input: Any = None
    output: Any = None


class EditEvent(AgentSessionEvent, frozen=True, kw_only=True, tag="edit"):
    """A file was changed; the texts are the whole file, or the range in ``lines``.

    ``proposed`` is the agent's text, if a person changed it before it was applied.
    """

    path: PathText
    call: Name | None = None
    before: TextField | None = None
    after: TextField | None = None
    lines: list[LineRange] = []
    content_hashes: list[HashText] = []
    proposed: TextField | None = None


class SourceReadEvent(AgentSessionEvent, frozen=True, kw_only=True, tag="source_read"):
    """A source was opened; ``locator`` is its URL or path as written, ``code`` the server's status.

    An ``attempted`` reading failed.
    """

    locator: Short
    reading: Literal["verbatim", "excerpt", "summarised", "listed", "attempted", "never"]
    call: Name | None = None
    title: Short | None = None
    text: TextField | None = None
    code: Annotated[int, Meta(ge=100, le=599)] | None = None


class LinkEvent(AgentSessionEvent, frozen=True, kw_only=True, tag="link"):
    """A session made a commit."""

    commit: Sha
    origin: Literal["hook", "git_operation", "pull_request", "imported", "content"]


class DecisionWitness(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The second party that vouches for a decision.

    ``host``: the code host reported the review of account ``by``. Only a witness's own store can hold such a decision.
    ``signature``: the reviewer ``by`` signed the decision's other fields.
    """

    kind: Literal["host", "signature"]
    by: Name
    signature: Short | None = None


class DecisionEvent(Event, frozen=True, kw_only=True, tag="decision"):
    """An agent's change was accepted, modified or rejected, or its score was raised (recovered, by ``boost``).

    ``reverts`` and ``overrides`` name an earlier decision by its id: its change was reverted, or the decision was
    wrong. ``commit_name`` is the commit as the caller named it, if not by its full id. ``operator`` runs the agent,
    ``areas`` are the parts of the repository that the change touches, ``opened_at`` is when it was proposed. A change
    that was merged without review is ``unreviewed``; such an approval is valid only for ``head``, under the rules with
    ``rules_digest``, for the records up to ``chain_head``. ``outcome`` is the fate of the change, if reported;
    ``sessions`` wrote its lines. ``patch`` is the change's patch identity, which a new message or base leaves the same;
    ``agent_lines`` counts the added lines that the agent wrote. A ``witness`` vouches for the decision.
    """

    agent: Name
    decision: Literal["accepted", "modified", "rejected", "recovered"]
    session: Name | None = None
    actor: Name | None = None
    reason: Short | None = None
    commit: Sha | None = None
    complexity: Name | None = None
    changed_lines: Count | None = None
    review_ms: Count | None = None
    commit_name: Name | None = None
    reverts: Name | None = None
    overrides: Name | None = None
    boost: Annotated[float, Meta(gt=0, le=1)] | None = None
    model: Name | None = None
    operator: Name | None = None
    areas: Annotated[list[Name], Meta(max_length=1000)] | None = None
    opened_at: Timestamp | None = None
    unreviewed: bool = False
    head: Sha | None = None
    rules_digest: DigestText | None = None
    chain_head: Name | None = None
    outcome: Literal["merged", "changed", "closed", "reverted"] | None = None
    sessions: Annotated[list[Name], Meta(max_length=1000)] | None = None
    patch: PatchText | None = None
    agent_lines: Count | None = None
    witness: DecisionWitness | None = None


class DuplicateAnswerEvent(Event, frozen=True, kw_only=True, tag="duplicate_answer"):
    """A person answered how two changes are related: whether both should be merged, and if not, why."""

    head: Sha
    base: ShaOrNone
    other_head: Sha
    other_base: ShaOrNone
    answer: Literal["duplicate", "same-feature", "competing", "related", "different"]
    agent: Name | None = None
    session: Name | None = None
    actor: Name | None = None
    reason: Short | None = None


class ReadEvent(Event, frozen=True, kw_only=True, tag="read"):
    """A person read a hunk of a change; ``hunk`` is its patch identity, so a changed hunk is unread again.

    ``path`` is the file of the hunk and ``head_commit`` the head of the change at that time, compared with ``base``.
    ``via`` says how it is known: the page, the command, or an approval on the code host. A ``witness`` vouches for it.
    """

    person: Name
    hunk: HunkText
    path: PathText
    head_commit: Sha
    base: Sha | None = None
    via: Literal["page", "command", "approval"] = "command"
    witness: DecisionWitness | None = None
    agent: Name | None = None
    session: Name | None = None


class AuthorEvent(Event, frozen=True, kw_only=True, tag="author"):
    """A person says that they wrote lines of a file by hand; ``text`` are these lines, by which they are found again.

    ``lines`` are their numbers at that time, in ``head`` or on disk.
    """

    person: Name
    path: PathText
    text: TextField
    lines: Annotated[list[LineRange], Meta(max_length=1000)] = []
    message: Short | None = None
    agent: Name | None = None
    session: Name | None = None


class SourceEvent(Event, frozen=True, kw_only=True, tag="source"):
    """A source was registered."""

    agent: Name | None = None
    session: Name | None = None
    url: Short | None = None
    title: Short | None = None
    snippet: Short | None = None
    publisher: Short | None = None
    author: Short | None = None
    year: Annotated[int, Meta(ge=0, le=9999)] | None = None


class ChangeEvent(Event, frozen=True, kw_only=True, tag="change"):
    """A change was announced: a pull request, or any base and head."""

    agent: Name | None = None
    session: Name | None = None
    base: Sha
    head_commit: Sha
    title: Short | None = None
    url: Short | None = None
    number: Count | None = None


class DroppedContent(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Content that could not be stored: its digest, its size, and the reason."""

    digest: DigestText
    bytes: Count
    why: Short


class HookEvent(Event, frozen=True, kw_only=True, tag="hook"):
    """An agent's own event from its hook: ``payload`` in the agent's format, ``unparsed`` if it was not JSON."""

    agent: Name
    event: Name
    folder: Short | None = None
    session: Name | None = None
    call: Name | None = None
    payload: Any = None
    unparsed: TextField | None = None
    dropped: DroppedContent | None = None


class SnapshotFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A file of a snapshot: its text, or that it is binary or deleted."""

    path: PathText
    text: TextField | None = None
    binary: BinaryFile | None = None
    gone: bool = False


class SnapshotEvent(Event, frozen=True, kw_only=True, tag="snapshot"):
    """The files that changed on disk since the last snapshot, before or after a call of an agent."""

    agent: Name
    phase: Literal["before", "after"]
    files: list[SnapshotFile]
    session: Name | None = None
    call: Name | None = None
    missed: Count = 0


class CallReference(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A call from an earlier line of a transcript, for a line with its result: its tool, input and folder."""

    id: Name
    name: Name
    input: Any = None
    cwd: Short | None = None


class TranscriptEvent(AgentSessionEvent, frozen=True, kw_only=True, tag="transcript"):
    """A line of an agent's transcript: ``payload`` in the agent's format, and context from the whole file.

    ``paths`` and ``commits`` map names in the line to this repository, or to null if it does not have them. ``opens``
    marks the first line of its session, or the first line with another model.
    """

    payload: Any = None
    calls: list[CallReference] = []
    paths: dict[str, PathText | None] = {}
    commits: dict[str, Sha | None] = {}
    subagent: Name | None = None
    parent_call: Name | None = None
    opens: Literal["session", "model"] | None = None
    dropped: DroppedContent | None = None


class ForeignTraceEvent(AgentSessionEvent, frozen=True, kw_only=True, tag="trace"):
    """A trace of another tool: ``payload`` in its own format; ``session`` is the trace's id."""

    payload: Any


class TraceLinkEvent(Event, frozen=True, kw_only=True, tag="trace_link"):
    """Another tool's link from a commit to its traces; ``payload`` in its own format."""

    commit: Sha
    traces: list[Name]
    payload: Any
    agent: Name | None = None
    session: Name | None = None


class RegistryEvent(Event, frozen=True, kw_only=True, tag="registry"):
    """A change in the registry of sources: a source was registered, merged, read, used or checked.

    ``number`` is the number of the source (``S3`` is 3), assigned at that time. ``other`` is the number that a merge
    absorbed, that an unmerge restored, or that a URL was removed from.
    """

    op: Literal["register", "merge", "unmerge", "part", "excerpt", "read", "use", "check"]
    number: LineNumber
    agent: Name | None = None
    session: Name | None = None
    who: Name | None = None
    how: Literal["new", "url", "text", "work", "person"] | None = None
    source: SourceDescription | None = None
    keys: RegistrationKeys | None = None
    other: LineNumber | None = None
    reason: Short | None = None
    by_keys: list[str] = []
    spelling: Annotated[str, Meta(max_length=4096)] | None = None
    text: TextField | None = None
    span: PassageSpan | None = None
    content: Annotated[str, Meta(pattern=r"^[0-9a-f]{64}$(?!\n)")] | None = None
    reading: Literal["verbatim", "excerpt", "summarised", "listed", "attempted", "never"] | None = None
    call: Name | None = None
    artifact_type: Literal["finding", "cluster", "contradiction", "report_section"] | None = None
    artifact: Name | None = None
    answer: Literal["here", "moved", "absent", "refused", "silent"] | None = None
    status: Annotated[int, Meta(ge=100, le=999)] | None = None
    location: Annotated[str, Meta(max_length=4096)] | None = None
    retry_seconds: Count | None = None


class SpanLink(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A link to another span that is not its parent; ``execution`` is null if unknown."""

    span: SpanName
    execution: SpanName | None = None


class SpanEvent(Event, frozen=True, kw_only=True, tag="span"):
    """A span of a running program: its start, its end, or both in one (``whole``).

    ``at`` is the start, or for phase ``end`` the end. ``parent`` is the enclosing span in the same execution.
    ``server`` is the server of the called tool.
    """

    execution: SpanName
    span: SpanName
    phase: Literal["start", "end", "whole"]
    name: SpanName
    span_kind: Literal["session", "turn", "agent", "workflow", "capability", "tool", "llm", "retrieval"]
    parent: SpanName | None = None
    links: Annotated[list[SpanLink], Meta(max_length=SPAN_LINKS_MAX)] = []
    ended_at: Timestamp | None = None
    status: Literal["ok", "error", "abandoned", "killed"] | None = None
    server: SpanName | None = None
    attributes: Annotated[dict[SpanKey, SpanValue], Meta(max_length=SPAN_ATTRIBUTES_MAX)] = {}
    dropped: Count = 0
    agent: Name | None = None
    session: Name | None = None


GenericEvent = (
    SessionEvent
    | PromptEvent
    | CallEvent
    | EditEvent
    | SourceReadEvent
    | LinkEvent
    | DecisionEvent
    | DuplicateAnswerEvent
    | ReadEvent
    | AuthorEvent
    | SourceEvent
    | ChangeEvent
    | SpanEvent
)
AnyEvent = (
    GenericEvent | HookEvent | SnapshotEvent | TranscriptEvent | ForeignTraceEvent | TraceLinkEvent | RegistryEvent
)


class SpanBatchEvent(msgspec.Struct, frozen=True):
    """The spans that one record holds; a store makes such records of neighboring spans."""

    spans: tuple[SpanEvent, ...]


DecodedEvent = AnyEvent | SpanBatchEvent
"""The content of a record."""
GENERIC: tuple[type[Event], ...] = GenericEvent.__args__
"""The events for any recorder; custody's own hook and ``custody import`` make the others."""
EVENTS: tuple[type[Event], ...] = AnyEvent.__args__


def event_from_json(value: Json | Event) -> AnyEvent:
    """Return the event in a parsed JSON value, or raise an ``InputError`` that names the field.

    An event that was decoded before is returned as it is.
    """
    if isinstance(value, Event):
        return cast(AnyEvent, value)
    if not isinstance(value, dict):
        raise InputError("an event is a JSON object")
    _check_event_version(value)
    try:
        event = _convert_event(value)
    except (msgspec.ValidationError, UnicodeEncodeError) as error:
        raise InputError(
            f"not a valid event: {describe_conversion_error(error)}",
            hint="docs/reference/schemas/event.json has the format",
        ) from error
    _check_event_fields(event)
    return event


def span_event_from_canonical_json(data: bytes) -> SpanEvent:
    """Return the span in its canonical bytes, which are few; raise an ``InputError`` for anything else."""
    try:
        event = _span_decoder().decode(data)
    except (msgspec.DecodeError, UnicodeEncodeError) as error:
        raise InputError(f"not a valid event: {describe_conversion_error(error)}") from error
    for timestamp in (event.at, event.ended_at, event.seen_at):
        if timestamp is not None:
            parse_timestamp(timestamp)
    if len(data) > SHORT_BYTES_MAX:
        _check_short_fields(event)
    _check_span_event(event)
    return event


@cache
def _span_decoder() -> msgspec.json.Decoder[SpanEvent]:
    return msgspec.json.Decoder(SpanEvent)


def _convert_event(value: dict[str, Json]) -> AnyEvent:
    kind = value.get("kind")
    kinds = _event_types()
    if isinstance(kind, str) and kind in kinds:
        try:
            # msgspec prepares a union again for each value, which takes longer than the rest.
            return cast(AnyEvent, msgspec.convert(value, kinds[kind]))
        except msgspec.ValidationError:
            pass  # the union names the problem
    event: AnyEvent = msgspec.convert(value, AnyEvent)
    return event


@cache
def _event_types() -> dict[str, type[Event]]:
    return {str(event.__struct_config__.tag): event for event in EVENTS}


def list_edit_content_hashes(event: EditEvent) -> tuple[str, ...]:
    """Return the content hashes of an edit, including the hash of its after-text."""
    if isinstance(event.after, str):
        return tuple(dict.fromkeys((*event.content_hashes, content_hash_from_text(encode_json_text(event.after)))))
    return tuple(event.content_hashes)


def _check_event_version(value: dict[str, Json]) -> None:
    version = value.get("custody")
    if isinstance(version, int) and not isinstance(version, bool) and version > EVENT_VERSION:
        raise InputError(
            f"event version {str(version)[:20]} is newer than this custody knows ({EVENT_VERSION})",
            hint="upgrade custody",
        )


def _check_event_fields(event: AnyEvent) -> None:
    for timestamp in (event.at, event.seen_at, getattr(event, "ended_at", None), getattr(event, "opened_at", None)):
        if timestamp is not None:
            parse_timestamp(timestamp)
    for value in msgspec.structs.astuple(event):
        if isinstance(value, str) and len(value) * 4 > SHORT_BYTES_MAX:
            _check_short_fields(event)
            break
    for path in _list_event_paths(event):
        RepoPath.of(path)
    if isinstance(event, EditEvent | AuthorEvent):
        for line_range in event.lines:
            Lines(line_range.first, line_range.last)
    if isinstance(event, SpanEvent):
        _check_span_event(event)


def _check_short_fields(event: AnyEvent) -> None:
    for name, value in msgspec.structs.asdict(event).items():
        if name not in _TEXTS and isinstance(value, str) and len(encode_json_text(value)) > SHORT_BYTES_MAX:
            raise InputError(f"the field '{name}' is longer than {SHORT_BYTES_MAX:,} bytes")


def _check_span_event(event: SpanEvent) -> None:
    if event.parent == event.span:
        raise InputError(f"the span '{event.span[:80]}' cannot be its own parent")
    if (event.phase == "start") != (event.status is None):
        raise InputError("a span has a status if and only if it has ended")
    if event.phase == "whole" and event.ended_at is None:
        raise InputError("a whole span needs 'ended_at'")
    if event.server is not None and event.span_kind != "tool":
        raise InputError("only a tool has a server")


def _list_event_paths(event: AnyEvent) -> Iterator[str]:
    if isinstance(event, EditEvent | ReadEvent | AuthorEvent):
        yield event.path
    if isinstance(event, SnapshotEvent):
        yield from (file.path for file in event.files)
    if isinstance(event, TranscriptEvent):
        yield from (path for path in event.paths.values() if path is not None)


_TEXTS = frozenset(("text", "before", "after", "proposed", "input", "output", "payload", "unparsed"))
