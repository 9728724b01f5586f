"""The generic event: what any recorder may say, one JSON object per event, version 1.

This file owns the shape. Agents' own shapes are read elsewhere and become the same views.
"""

from collections.abc import Iterator
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from custody.core.errors import InputError
from custody.core.ids import whole_hash
from custody.core.paths import Lines, RepoPath
from custody.core.wire.canonical import Json, problem, text_bytes
from custody.core.wire.time import ns_from

# The parts of a ``registry`` event: what was said of a source, and by which keys it is known.


Line4k = Annotated[str, Meta(max_length=4096, pattern=r"^[^\x00\ud800-\udfff]*$")]
Score = Annotated[float, Meta(ge=0, le=1)]


class SourceDescription(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """What one registration said of a source; ``date`` as ISO 8601 writes it."""

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
    """A work by the kind of its identifier and the identifier."""

    kind: str
    id: str


class PassageSpan(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Where a passage begins and ends in its source."""

    first: Annotated[int, Meta(ge=0, le=2**53)]
    last: Annotated[int, Meta(ge=0, le=2**53)]


class RegistrationKeys(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """The keys that a registration went by: its own, that of its page, that of its work."""

    canonical: str
    url: str | None = None
    work: WorkIdentifier | None = None


EVENT_VERSION = 1
SHORT_BYTES_MAX = 4096
"""A field that names something is never a text of its own, so it stays inside its record."""

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
        description="what names a span, its execution, what it runs: no control characters, at most 200",
    ),
]
SpanKey = Annotated[str, Meta(min_length=1, max_length=100, pattern=r"^[^\x00-\x1f\x7f-\x9f\ud800-\udfff]+$(?!\n)")]
SpanText = Annotated[
    str, Meta(max_length=1000, pattern=r"^[^\x00\ud800-\udfff]*$", description="short enough to stay in its record")
]
SpanValue = bool | Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)] | float | SpanText | None
LineNumber = Annotated[int, Meta(ge=1, le=2**31 - 1)]


class ErasedText(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename={"digest": "$erased"}):
    """Stands where a text was, once it has been erased."""

    digest: Annotated[str, Meta(pattern=r"^sha256:[0-9a-f]{64}$(?!\n)", description="of the text that was there")]


TextField = str | ErasedText


DigestText = Annotated[str, Meta(pattern=r"^sha256:[0-9a-f]{64}$(?!\n)")]


class BinaryFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A file that is no text."""

    digest: DigestText
    bytes: Count


class LineRange(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Lines of a file, from 1, both ends included."""

    first: LineNumber
    last: LineNumber


class Mark(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A line from which a secret was taken: where it stands, by which rule, and what only its machine can match."""

    at: Short
    line: LineNumber
    mac: Annotated[str, Meta(pattern=r"^[0-9a-f]{0,64}$(?!\n)")]
    rule: Name


class Event(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="kind"):
    """What every event says: which version, which one, when (as claimed and as seen by the hook) and where."""

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
    """A session began, or more became known of it."""

    ended_at: Timestamp | None = None
    model: Name | None = None
    operator: Name | None = None
    parent: Name | None = None


class PromptEvent(AgentSessionEvent, frozen=True, kw_only=True, tag="prompt"):
    """A person asked something."""

    text: TextField


class CallEvent(AgentSessionEvent, frozen=True, kw_only=True, tag="call"):
    """A tool was called; ``input`` and ``output`` are whatever the tool takes and gives."""

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
    """A file was changed; texts are those of the whole file unless ``lines`` says where they stand.

    ``proposed`` is what the agent had written, where a person changed it before it was applied.
    """

    path: PathText
    call: Name | None = None
    before: TextField | None = None
    after: TextField | None = None
    lines: list[LineRange] = []
    content_hashes: list[HashText] = []
    proposed: TextField | None = None


class SourceReadEvent(AgentSessionEvent, frozen=True, kw_only=True, tag="source_read"):
    """A source was opened; ``locator`` is its URL or path as written, ``code`` what a server answered with.

    An ``attempted`` reading is one that failed.
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


class DecisionEvent(Event, frozen=True, kw_only=True, tag="decision"):
    """A change of the agent's was accepted, modified or rejected; or its score was lifted (recovered, by ``boost``).

    ``reverts`` and ``overrides`` name an earlier decision by its id: one whose change was taken back, one that was
    wrong. ``commit_name`` is the commit as the caller named it, where that is no full id. ``operator`` runs the agent,
    ``areas`` are the parts of the repository that the change touches, ``opened_at`` is when it was proposed. A change
    that landed without review is ``unreviewed``; such an approval holds for ``head`` alone, under the rules with
    ``rules_digest``, on what was recorded until ``chain_head``. Where it was told what became of the change, that is
    its ``outcome``; ``sessions`` are those that wrote its lines.
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


class DuplicateAnswerEvent(Event, frozen=True, kw_only=True, tag="duplicate_answer"):
    """A person said what two changes are to each other: whether both should land, and if not, why not."""

    head: Sha
    base: ShaOrNone
    other_head: Sha
    other_base: ShaOrNone
    answer: Literal["duplicate", "same-feature", "competing", "related", "different"]
    agent: Name | None = None
    session: Name | None = None
    actor: Name | None = None
    reason: Short | None = None


class SourceEvent(Event, frozen=True, kw_only=True, tag="source"):
    """Something that statements can rest on was registered."""

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
    """What is left of content that could not be kept: its digest, its size, and why."""

    digest: DigestText
    bytes: Count
    why: Short


class HookEvent(Event, frozen=True, kw_only=True, tag="hook"):
    """An agent's own event as its hook gave it: ``payload`` in the agent's shape, ``unparsed`` when it was no JSON."""

    agent: Name
    event: Name
    folder: Short | None = None
    session: Name | None = None
    call: Name | None = None
    payload: Any = None
    unparsed: TextField | None = None
    dropped: DroppedContent | None = None


class SnapshotFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A file of a snapshot: its text, or that it is binary, or that it is gone."""

    path: PathText
    text: TextField | None = None
    binary: BinaryFile | None = None
    gone: bool = False


class SnapshotEvent(Event, frozen=True, kw_only=True, tag="snapshot"):
    """The files that changed on disk since the last look, before or after something that an agent ran."""

    agent: Name
    phase: Literal["before", "after"]
    files: list[SnapshotFile]
    session: Name | None = None
    call: Name | None = None
    missed: Count = 0


class CallReference(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A call that a line of a transcript gives the result of, as an earlier line has it: its tool, input and folder."""

    id: Name
    name: Name
    input: Any = None
    cwd: Short | None = None


class TranscriptEvent(AgentSessionEvent, frozen=True, kw_only=True, tag="transcript"):
    """A line of an agent's transcript: ``payload`` in the agent's shape, and what only the whole file could tell.

    ``paths`` and ``commits`` say what the names in the line are in this repository, null where they are nothing in it;
    ``opens`` that the line is the first of its session, or the first under another model.
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
    """What another tool's trace says: ``payload`` in its own shape; ``session`` is the trace's id."""

    payload: Any


class TraceLinkEvent(Event, frozen=True, kw_only=True, tag="trace_link"):
    """What another tool says of a commit: which traces it was made from; ``payload`` in its own shape."""

    commit: Sha
    traces: list[Name]
    payload: Any
    agent: Name | None = None
    session: Name | None = None


class RegistryEvent(Event, frozen=True, kw_only=True, tag="registry"):
    """Something happened to the registry of sources: one was registered, merged, read, used, looked for.

    ``number`` is the number of the source (``S3`` is 3), given when it happened. ``other`` is the number that a merge
    absorbed, that an unmerge set free, or that an address was parted from.
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
    """Another span that one points at without being inside it; ``execution`` is null where nobody said of which."""

    span: SpanName
    execution: SpanName | None = None


class SpanEvent(Event, frozen=True, kw_only=True, tag="span"):
    """A stretch of work of a running program: that it began, that it ended, or both in one (``whole``).

    ``at`` is when it began; of phase ``end`` it is when it ended. ``parent`` is the span inside which it ran, in the
    same execution. ``server`` is whose tool was called.
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
    | SourceEvent
    | ChangeEvent
    | SpanEvent
)
AnyEvent = (
    GenericEvent | HookEvent | SnapshotEvent | TranscriptEvent | ForeignTraceEvent | TraceLinkEvent | RegistryEvent
)
GENERIC: tuple[type[Event], ...] = GenericEvent.__args__
"""What any recorder may say; the others are made by our own hook and by ``custody import``."""
EVENTS: tuple[type[Event], ...] = AnyEvent.__args__


def event_from(value: Json) -> AnyEvent:
    """Read the event that a parsed JSON value is, or raise an ``InputError`` that names the field."""
    if not isinstance(value, dict):
        raise InputError("an event is a JSON object")
    _check_version(value)
    try:
        event: AnyEvent = msgspec.convert(value, AnyEvent)
    except (msgspec.ValidationError, UnicodeEncodeError) as error:
        raise InputError(
            f"not a valid event: {problem(error)}", hint="docs/reference/schemas/event.json has the shape"
        ) from error
    _check(event)
    return event


def hashes_of(event: EditEvent) -> tuple[str, ...]:
    """The content hashes an edit carries, with that of its own after-text."""
    if isinstance(event.after, str):
        return tuple(dict.fromkeys((*event.content_hashes, whole_hash(text_bytes(event.after)))))
    return tuple(event.content_hashes)


def _check_version(value: dict[str, Json]) -> None:
    version = value.get("custody")
    if isinstance(version, int) and not isinstance(version, bool) and version > EVENT_VERSION:
        raise InputError(
            f"event version {str(version)[:20]} is newer than this custody knows ({EVENT_VERSION})",
            hint="upgrade custody",
        )


def _check(event: AnyEvent) -> None:
    for moment in (event.at, event.seen_at, getattr(event, "ended_at", None), getattr(event, "opened_at", None)):
        if moment is not None:
            ns_from(moment)
    for name, value in msgspec.structs.asdict(event).items():
        if name not in _TEXTS and isinstance(value, str) and len(text_bytes(value)) > SHORT_BYTES_MAX:
            raise InputError(f"the field '{name}' is longer than {SHORT_BYTES_MAX:,} bytes")
    for path in _paths_in(event):
        RepoPath.of(path)
    if isinstance(event, EditEvent):
        for stretch in event.lines:
            Lines(stretch.first, stretch.last)
    if isinstance(event, SpanEvent):
        _check_span(event)


def _check_span(event: SpanEvent) -> None:
    if event.parent == event.span:
        raise InputError(f"the span '{event.span[:80]}' is not its own parent")
    if (event.phase == "start") != (event.status is None):
        raise InputError("a span has a status when it has ended, and only then")
    if event.phase == "whole" and event.ended_at is None:
        raise InputError("a whole span says when it ended")
    if event.server is not None and event.span_kind != "tool":
        raise InputError("only a tool has a server")


def _paths_in(event: AnyEvent) -> Iterator[str]:
    if isinstance(event, EditEvent):
        yield event.path
    if isinstance(event, SnapshotEvent):
        yield from (file.path for file in event.files)
    if isinstance(event, TranscriptEvent):
        yield from (path for path in event.paths.values() if path is not None)


_TEXTS = frozenset(("text", "before", "after", "proposed", "input", "output", "payload", "unparsed"))
