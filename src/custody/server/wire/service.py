"""What the service says over HTTP beside reports: receipts, pages, problems; and the bodies that it takes.

The shapes of events are those of ``core/wire/event``; a trace is in the shape of the tool that wrote it.
"""

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from custody.core.errors import InputError
from custody.core.wire.canonical import Json, problem
from custody.core.wire.event import HashText, Line, Moment, Name, Path, Sha

PROMPTS_MAX = 1000
SEGMENTS_MAX = 10_000
SECONDS_MAX = 9_200_000_000
"""The moments around 1970 that a store can hold, in seconds."""
Seconds = (
    Annotated[int, Meta(ge=-SECONDS_MAX, le=SECONDS_MAX)] | Annotated[float, Meta(ge=-SECONDS_MAX, le=SECONDS_MAX)]
)


# --- in ---------------------------------------------------------------------------------------------------------------


class PromptSaid(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a person asked."""

    id: Name
    at: Moment
    text: str


class ConversationSaid(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A session of an agent with what was asked in it; more of it can be sent later under the same names."""

    agent: Name
    session: Name
    at: Moment
    ended_at: Moment | None = None
    model: Name | None = None
    operator: Name | None = None
    parent: Name | None = None
    prompts: Annotated[list[PromptSaid], Meta(max_length=PROMPTS_MAX)] = []


class BlamedSegment(msgspec.Struct, frozen=True, kw_only=True):
    """Neighbouring lines of one commit, as document 000 sends them."""

    start_line: Line
    end_line: Line
    commit_sha: Sha | None = None
    parent_sha: Sha | None = None
    content_hash: HashText | None = None
    timestamp: str | Seconds | None = None


class BlameAsked(msgspec.Struct, frozen=True, kw_only=True):
    """Document 000, section 11: what a client that ran git blame asks."""

    file_path: Path
    blame_data: Annotated[list[BlamedSegment], Meta(max_length=SEGMENTS_MAX)]
    project_id: Name | None = None


# --- out --------------------------------------------------------------------------------------------------------------


class Receipt(msgspec.Struct, frozen=True, kw_only=True):
    """Where a record is kept: said after COMMIT, and the same however often it is sent."""

    record: str
    store: str
    seq: int
    event: str
    key: str


class ItemKept(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What became of one thing that was sent: 201 new, 200 known already, 409 in conflict, 422 not usable.

    A thing that makes several records has a receipt for each; where one of them is in conflict, the others are kept.
    """

    status: Literal[200, 201, 409, 422]
    receipts: list[Receipt] = []
    detail: str | None = None


class BatchKept(msgspec.Struct, frozen=True, kw_only=True):
    """What became of each thing of a batch, in its order."""

    created: int
    known: int
    refused: int
    results: list[ItemKept]


class Problem(msgspec.Struct, frozen=True, kw_only=True):
    """RFC 9457: what went wrong, and what to do about it."""

    type: str
    title: str
    status: int
    detail: str
    remedy: str | None
    instance: str


class TraceKept(msgspec.Struct, frozen=True, kw_only=True):
    """A trace as it was sent, without its secrets; ``trace`` is null once it was erased."""

    record: str
    at: str
    id: str
    trace: Any


class LinkKept(msgspec.Struct, frozen=True, kw_only=True):
    """A commit and the traces that it was made from; ``link`` as it was sent, null once it was erased."""

    record: str
    at: str
    link: Any


class SpanKept(msgspec.Struct, frozen=True, kw_only=True):
    """A span event; null once it was erased."""

    record: str
    at: str
    span: Any


class ConversationKept(msgspec.Struct, frozen=True, kw_only=True):
    """A session by what was captured of it."""

    agent: str
    session: str
    first_at: str
    last_at: str
    events: int


class PromptKept(msgspec.Struct, frozen=True, kw_only=True):
    """What a person asked; ``text`` is null without the scope for it, and once it was erased."""

    record: str
    id: str
    at: str
    text: str | None


class ConversationRead(msgspec.Struct, frozen=True, kw_only=True):
    """A session with what was asked in it; the words only ``with_text``."""

    conversation: ConversationKept
    with_text: bool
    prompts: list[PromptKept]


class EvidenceKept(msgspec.Struct, frozen=True, kw_only=True):
    """A record by its name."""

    record: str
    at: str
    kind: str
    key: str
    event: str
    digest: str


class EvidenceRead(EvidenceKept, frozen=True, kw_only=True):
    """A record with what it says: null when it was erased, or ``withheld`` since it holds texts of conversations."""

    withheld: bool
    payload: Any


class Page(msgspec.Struct, frozen=True, kw_only=True):
    """A stretch of a list; ``next`` stands for ``after`` of the question for what follows, null at the end."""

    next: str | None


class TracesPage(Page, frozen=True, kw_only=True):
    """Traces in the order of their records."""

    items: list[TraceKept]


class LinksPage(Page, frozen=True, kw_only=True):
    """Commit links in the order of their records."""

    items: list[LinkKept]


class SpansPage(Page, frozen=True, kw_only=True):
    """Span events in the order of their records."""

    items: list[SpanKept]


class ConversationsPage(Page, frozen=True, kw_only=True):
    """Conversations by session and agent."""

    items: list[ConversationKept]


class EvidencePage(Page, frozen=True, kw_only=True):
    """Records in their order, chain by chain."""

    items: list[EvidenceKept]


class Health(msgspec.Struct, frozen=True, kw_only=True):
    """That the process answers, and which version it is."""

    status: Literal["up"]
    version: str


class Ready(msgspec.Struct, frozen=True, kw_only=True):
    """That the store answers."""

    status: Literal["ready"]


class Welcome(msgspec.Struct, frozen=True, kw_only=True):
    """What this service is, and where its questions are listed."""

    service: Literal["custody"]
    version: str
    project: str
    openapi: str


class PartialSuccess(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """How many spans were refused, and why."""

    rejected_spans: int = 0
    error_message: str = ""


class OtlpAnswer(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """OTLP's own answer; without a partial success everything was accepted."""

    partial_success: PartialSuccess | None = None


class SegmentBlamed(msgspec.Struct, frozen=True, kw_only=True):
    """Neighbouring lines with the same answer, in document 000's names."""

    start_line: int
    end_line: int
    tier: int | None
    confidence: float
    trace_id: str | None
    agent: str | None
    model_id: str | None
    conversation_url: str | None
    conversation_content: str | None
    grade: str | None
    signals: list[str]
    reason: str | None


class BlameAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """Every segment that was asked about, merged where neighbours have the same trace and tier."""

    file_path: str
    attributions: list[SegmentBlamed]


def encode_answer(value: msgspec.Struct) -> bytes:
    """An answer as JSON bytes."""
    return msgspec.json.encode(value)


def conversation_from(value: Json) -> ConversationSaid:
    """The conversation that a parsed JSON value is."""
    try:
        return msgspec.convert(value, ConversationSaid)
    except (msgspec.ValidationError, UnicodeEncodeError) as error:
        raise InputError(f"not a conversation: {problem(error)}", hint="/openapi.json has the shape") from error


def blame_asked(data: bytes) -> BlameAsked:
    """What a client asks about a file's lines."""
    try:
        return msgspec.json.decode(data, type=BlameAsked)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InputError(f"not a question about lines: {problem(error)}", hint="/openapi.json has the shape") from error
