"""What the service says over HTTP beside reports: receipts, pages, problems; and the bodies that it takes.

The shapes of events are those of ``core/wire/event``; a trace is in the shape of the tool that wrote it.
"""

from typing import Annotated, Any, Literal, TypeVar

import msgspec
from msgspec import Meta

from custody.cite.wire import CiteSource
from custody.core.errors import InputError
from custody.core.wire.canonical import Json, problem
from custody.core.wire.event import Count, HashText, LineNumber, Name, PathText, Sha, Short, Timestamp
from custody.dupes.wire import ChangeRefReport

PROMPTS_MAX = 1000
SEGMENTS_MAX = 10_000
SECONDS_MAX = 9_200_000_000
"""The moments around 1970 that a store can hold, in seconds."""
Seconds = (
    Annotated[int, Meta(ge=-SECONDS_MAX, le=SECONDS_MAX)] | Annotated[float, Meta(ge=-SECONDS_MAX, le=SECONDS_MAX)]
)


# --- in ---------------------------------------------------------------------------------------------------------------


class PromptBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a person asked."""

    id: Name
    at: Timestamp
    text: str


class ConversationBody(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A session of an agent with what was asked in it; more of it can be sent later under the same names."""

    agent: Name
    session: Name
    at: Timestamp
    ended_at: Timestamp | None = None
    model: Name | None = None
    operator: Name | None = None
    parent: Name | None = None
    prompts: Annotated[list[PromptBody], Meta(max_length=PROMPTS_MAX)] = []


class BlamedSegment(msgspec.Struct, frozen=True, kw_only=True):
    """Neighbouring lines of one commit, as document 000 sends them."""

    start_line: LineNumber
    end_line: LineNumber
    commit_sha: Sha | None = None
    parent_sha: Sha | None = None
    content_hash: HashText | None = None
    timestamp: str | Seconds | None = None


class BlameBody(msgspec.Struct, frozen=True, kw_only=True):
    """Document 000, section 11: what a client that ran git blame asks."""

    file_path: PathText
    blame_data: Annotated[list[BlamedSegment], Meta(max_length=SEGMENTS_MAX)]
    project_id: Name | None = None


# --- out --------------------------------------------------------------------------------------------------------------


class RecordReceipt(msgspec.Struct, frozen=True, kw_only=True):
    """Where a record is kept: said after COMMIT, and the same however often it is sent."""

    record: str
    store: str
    seq: int
    event: str
    key: str


class ItemReceipt(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What became of one thing that was sent: 201 new, 200 known already, 409 in conflict, 422 not usable.

    A thing that makes several records has a receipt for each; where one of them is in conflict, the others are kept.
    """

    status: Literal[200, 201, 409, 422]
    receipts: list[RecordReceipt] = []
    detail: str | None = None


class BatchReceipt(msgspec.Struct, frozen=True, kw_only=True):
    """What became of each thing of a batch, in its order."""

    created: int
    known: int
    refused: int
    results: list[ItemReceipt]


class Problem(msgspec.Struct, frozen=True, kw_only=True):
    """RFC 9457: what went wrong, and what to do about it."""

    type: str
    title: str
    status: int
    detail: str
    remedy: str | None
    instance: str


class TraceItem(msgspec.Struct, frozen=True, kw_only=True):
    """A trace as it was sent, without its secrets; ``trace`` is null once it was erased."""

    record: str
    at: str
    id: str
    trace: Any


class LinkItem(msgspec.Struct, frozen=True, kw_only=True):
    """A commit and the traces that it was made from; ``link`` as it was sent, null once it was erased."""

    record: str
    at: str
    link: Any


class SpanItem(msgspec.Struct, frozen=True, kw_only=True):
    """A span event; null once it was erased."""

    record: str
    at: str
    span: Any


class ConversationItem(msgspec.Struct, frozen=True, kw_only=True):
    """A session by what was captured of it."""

    agent: str
    session: str
    first_at: str
    last_at: str
    events: int


class PromptItem(msgspec.Struct, frozen=True, kw_only=True):
    """What a person asked; ``text`` is null without the scope for it, and once it was erased."""

    record: str
    id: str
    at: str
    text: str | None


class ConversationText(msgspec.Struct, frozen=True, kw_only=True):
    """A session with what was asked in it; the words only ``with_text``."""

    conversation: ConversationItem
    with_text: bool
    prompts: list[PromptItem]


class EvidenceItem(msgspec.Struct, frozen=True, kw_only=True):
    """A record by its name."""

    record: str
    at: str
    kind: str
    key: str
    event: str
    digest: str


class EvidenceText(EvidenceItem, frozen=True, kw_only=True):
    """A record with what it says: null when it was erased, or ``withheld`` since it holds texts of conversations."""

    withheld: bool
    payload: Any


class ListPage(msgspec.Struct, frozen=True, kw_only=True):
    """A stretch of a list; ``next`` stands for ``after`` of the question for what follows, null at the end."""

    next: str | None


class TracesPage(ListPage, frozen=True, kw_only=True):
    """Traces in the order of their records."""

    items: list[TraceItem]


class LinksPage(ListPage, frozen=True, kw_only=True):
    """Commit links in the order of their records."""

    items: list[LinkItem]


class SpansPage(ListPage, frozen=True, kw_only=True):
    """Span events in the order of their records."""

    items: list[SpanItem]


class ConversationsPage(ListPage, frozen=True, kw_only=True):
    """Conversations by session and agent."""

    items: list[ConversationItem]


class EvidencePage(ListPage, frozen=True, kw_only=True):
    """Records in their order, chain by chain."""

    items: list[EvidenceItem]


class Health(msgspec.Struct, frozen=True, kw_only=True):
    """That the process answers, and which version it is."""

    status: Literal["up"]
    version: str


class ReadyReport(msgspec.Struct, frozen=True, kw_only=True):
    """That the store answers."""

    status: Literal["ready"]


class ServiceInfo(msgspec.Struct, frozen=True, kw_only=True):
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


class SegmentAnswer(msgspec.Struct, frozen=True, kw_only=True):
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
    attributions: list[SegmentAnswer]


def encode_answer(value: msgspec.Struct) -> bytes:
    """An answer as JSON bytes."""
    return msgspec.json.encode(value)


def conversation_from(value: Json) -> ConversationBody:
    """The conversation that a parsed JSON value is."""
    try:
        return msgspec.convert(value, ConversationBody)
    except (msgspec.ValidationError, UnicodeEncodeError) as error:
        raise InputError(f"not a conversation: {problem(error)}", hint="/openapi.json has the shape") from error


def decode_blame_body(data: bytes) -> BlameBody:
    """What a client asks about a file's lines."""
    try:
        return msgspec.json.decode(data, type=BlameBody)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InputError(f"not a question about lines: {problem(error)}", hint="/openapi.json has the shape") from error


# What the service is asked in bodies, and the pages of lists that no verb prints: decisions, changes, sources.
# Every other answer to a question is the report that the verb gives with ``--json``.


DecisionWord = Literal["accepted", "modified", "rejected"]
ComplexityWord = Literal["trivial", "minor", "moderate", "major", "critical"]
Rev = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=1000,
        pattern=r"^[^\x00-\x20\x7f-\x9f\ud800-\udfff]+$(?!\n)",
        description="a commit, as git names it",
    ),
]
NonEmptyText = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=4000,
        pattern=r"^[^\x00\ud800-\udfff]*[^\x00\s\ud800-\udfff][^\x00\ud800-\udfff]*$",
        description="a short text that says something",
    ),
]
ItemLimit = Annotated[int, Meta(ge=1, le=1000)]

T = TypeVar("T", bound=msgspec.Struct)


# --- in ---------------------------------------------------------------------------------------------------------------


class DecisionBody(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What was decided about an agent's change: exactly one of ``commit``, ``id``, ``overrides`` and ``reverts``.

    ``commit`` or ``id`` names a change that is decided once. ``overrides`` says that an earlier decision was wrong,
    ``reverts`` that its change was taken back; both need an actor and a reason.
    """

    agent: Name
    decision: DecisionWord
    commit: Rev | None = None
    id: Name | None = None
    overrides: Name | None = None
    reverts: Name | None = None
    complexity: ComplexityWord | None = None
    lines: Count | None = None
    review_ms: Count | None = None
    opened: Timestamp | None = None
    actor: Name | None = None
    reason: Short | None = None


class DuplicatesBody(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A change to look for: ``BASE..HEAD``, or a commit, which is compared with its parent."""

    change: Rev
    limit: ItemLimit = 5


class SourceBody(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A source to register; it has a title or a URL."""

    url: Short | None = None
    title: Short | None = None
    author: Short | None = None
    publisher: Short | None = None
    date: Short | None = None
    source_type: Short | None = None
    year: Annotated[int, Meta(ge=0, le=9999)] | None = None
    snippet: Short | None = None
    doi: Short | None = None
    isbn: Short | None = None


class AuditBody(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A report whose citations are to be looked at; with ``session``, by what that session read too."""

    markdown: str
    coverage_min: Annotated[float, Meta(ge=0, le=1)] | None = None
    session: Name | None = None


class GateBody(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A change to judge: what ``head`` has over the point where it left ``base``, and what its author says of it."""

    base: Rev
    head: Rev
    description: str | None = None


class ErasureBody(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is to be forgotten for good, why, and for whom; without ``who`` it is the token that asks."""

    record: Name
    why: NonEmptyText
    who: Name | None = None


def asked_in(data: bytes, kind: type[T]) -> T:
    """The question that a body is; an ``InputError`` says what is wrong with it."""
    try:
        return msgspec.json.decode(data, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError, UnicodeEncodeError, RecursionError) as error:
        raise InputError(f"not what is asked here: {problem(error)}", hint="/openapi.json has the shape") from error


# --- out --------------------------------------------------------------------------------------------------------------


class DecisionItem(msgspec.Struct, frozen=True, kw_only=True):
    """A decision as it is kept; null once it was erased."""

    record: str
    at: str
    key: str
    decision: Any


class DecisionsPage(ListPage, frozen=True, kw_only=True):
    """Decisions in the order of their records."""

    items: list[DecisionItem]


class ChangesPage(ListPage, frozen=True, kw_only=True):
    """Indexed changes in the order of indexing."""

    items: list[ChangeRefReport]


class SourcesPage(ListPage, frozen=True, kw_only=True):
    """Registered sources by their numbers."""

    items: list[CiteSource]
