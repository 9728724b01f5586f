"""JSON shapes of the API besides reports: request bodies, receipts, pages, problems.

Events have the shapes of ``core/wire/event``; a trace has the shape of the tool that wrote it.
"""

from typing import Annotated, Any, Literal, TypeVar

import msgspec
from msgspec import Meta

from custody.cite.wire import CiteSource
from custody.core.errors import InputError
from custody.core.wire.canonical import Json, describe_conversion_error
from custody.core.wire.event import Count, HashText, LineNumber, Name, PathText, Sha, Short, Timestamp
from custody.dupes.wire import ChangeRefReport

PROMPTS_MAX = 1000
SEGMENTS_MAX = 10_000
SECONDS_MAX = 9_200_000_000
"""The range of timestamps that a store can hold, in seconds around 1970."""
Seconds = (
    Annotated[int, Meta(ge=-SECONDS_MAX, le=SECONDS_MAX)] | Annotated[float, Meta(ge=-SECONDS_MAX, le=SECONDS_MAX)]
)


# --- in ---------------------------------------------------------------------------------------------------------------


class PromptBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A prompt."""

    id: Name
    at: Timestamp
    text: str


class ConversationBody(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A session of an agent with its prompts; more of it can be sent later under the same names."""

    agent: Name
    session: Name
    at: Timestamp
    ended_at: Timestamp | None = None
    model: Name | None = None
    operator: Name | None = None
    parent: Name | None = None
    prompts: Annotated[list[PromptBody], Meta(max_length=PROMPTS_MAX)] = []


class BlamedSegment(msgspec.Struct, frozen=True, kw_only=True):
    """Adjacent lines of one commit, as in document 000."""

    start_line: LineNumber
    end_line: LineNumber
    commit_sha: Sha | None = None
    parent_sha: Sha | None = None
    content_hash: HashText | None = None
    timestamp: str | Seconds | None = None


class BlameBody(msgspec.Struct, frozen=True, kw_only=True):
    """The request of a client that ran git blame: document 000, section 11."""

    file_path: PathText
    blame_data: Annotated[list[BlamedSegment], Meta(max_length=SEGMENTS_MAX)]
    project_id: Name | None = None


# --- out --------------------------------------------------------------------------------------------------------------


class RecordReceipt(msgspec.Struct, frozen=True, kw_only=True):
    """Where a record is stored: returned after COMMIT, and the same for every repeat."""

    record: str
    store: str
    seq: int
    event: str
    key: str


class ItemReceipt(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The result of one sent item: 201 new, 200 known, 409 conflict, 422 invalid.

    An item with several records has a receipt for each; if one is in conflict, the others are stored.
    """

    status: Literal[200, 201, 409, 422]
    receipts: list[RecordReceipt] = []
    detail: str | None = None


class BatchReceipt(msgspec.Struct, frozen=True, kw_only=True):
    """The result of each item of a batch, in its order."""

    created: int
    known: int
    refused: int
    results: list[ItemReceipt]


class Problem(msgspec.Struct, frozen=True, kw_only=True):
    """An RFC 9457 problem: what failed, and what to do."""

    type: str
    title: str
    status: int
    detail: str
    remedy: str | None
    instance: str


class TraceItem(msgspec.Struct, frozen=True, kw_only=True):
    """A trace as it was sent, redacted; ``trace`` is null if it was erased."""

    record: str
    at: str
    id: str
    trace: Any


class LinkItem(msgspec.Struct, frozen=True, kw_only=True):
    """A commit and its traces; ``link`` as it was sent, null if it was erased."""

    record: str
    at: str
    link: Any


class SpanItem(msgspec.Struct, frozen=True, kw_only=True):
    """A span event; null if it was erased."""

    record: str
    at: str
    span: Any


class ConversationItem(msgspec.Struct, frozen=True, kw_only=True):
    """A recorded session."""

    agent: str
    session: str
    first_at: str
    last_at: str
    events: int


class PromptItem(msgspec.Struct, frozen=True, kw_only=True):
    """A prompt; ``text`` is null without the scope ``text``, or if it was erased."""

    record: str
    id: str
    at: str
    text: str | None


class ConversationText(msgspec.Struct, frozen=True, kw_only=True):
    """A session with its prompts; their text only ``with_text``."""

    conversation: ConversationItem
    with_text: bool
    prompts: list[PromptItem]


class EvidenceItem(msgspec.Struct, frozen=True, kw_only=True):
    """A record without its content."""

    record: str
    at: str
    kind: str
    key: str
    event: str
    digest: str


class EvidenceText(EvidenceItem, frozen=True, kw_only=True):
    """A record; its content is null if it was erased, or ``withheld`` since it contains conversations."""

    withheld: bool
    payload: Any


class ListPage(msgspec.Struct, frozen=True, kw_only=True):
    """A page of a list; ``next`` is the ``after`` of the next page, null at the end."""

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
    """The process answers; with its version."""

    status: Literal["up"]
    version: str


class ReadyReport(msgspec.Struct, frozen=True, kw_only=True):
    """The store answers."""

    status: Literal["ready"]


class ServiceInfo(msgspec.Struct, frozen=True, kw_only=True):
    """The service, its version, and the path of its description."""

    service: Literal["custody"]
    version: str
    project: str
    openapi: str


class PartialSuccess(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """The number of rejected spans, and why."""

    rejected_spans: int = 0
    error_message: str = ""


class OtlpAnswer(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """The answer of OTLP; without a partial success everything was accepted."""

    partial_success: PartialSuccess | None = None


class SegmentAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """Adjacent lines with the same answer, in the field names of document 000."""

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
    """Every requested segment; adjacent ones with the same trace and tier are merged."""

    file_path: str
    attributions: list[SegmentAnswer]


def encode_http_answer(value: msgspec.Struct) -> bytes:
    """Encode an answer as JSON."""
    return msgspec.json.encode(value)


def parse_conversation_body(value: Json) -> ConversationBody:
    """Parse a conversation."""
    try:
        return msgspec.convert(value, ConversationBody)
    except (msgspec.ValidationError, UnicodeEncodeError) as error:
        raise InputError(
            f"invalid conversation: {describe_conversion_error(error)}", hint="see /openapi.json"
        ) from error


def decode_blame_body(data: bytes) -> BlameBody:
    """Decode a blame request."""
    try:
        return msgspec.json.decode(data, type=BlameBody)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InputError(
            f"invalid blame request: {describe_conversion_error(error)}", hint="see /openapi.json"
        ) from error


# Other answers are the reports of the commands with ``--json``.


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
        description="a short text that is not blank",
    ),
]
ItemLimit = Annotated[int, Meta(ge=1, le=1000)]

T = TypeVar("T", bound=msgspec.Struct)


# --- in ---------------------------------------------------------------------------------------------------------------


class DecisionBody(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A decision about an agent's change, with exactly one of ``commit``, ``id``, ``overrides`` and ``reverts``.

    ``commit`` or ``id`` names a change that is decided once. ``overrides`` corrects an earlier decision, ``reverts``
    records that its change was reverted; both need an actor and a reason.
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
    """The change to check: ``BASE..HEAD``, or a commit, which is compared with its parent."""

    change: Rev
    limit: ItemLimit = 5


class SourceBody(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A source to add; it needs a title or a URL."""

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
    """A report to audit; with ``session``, also against what that session read."""

    markdown: str
    coverage_min: Annotated[float, Meta(ge=0, le=1)] | None = None
    session: Name | None = None


class GateBody(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The change to check: from the merge base of ``base`` and ``head`` to ``head``, and its description."""

    base: Rev
    head: Rev
    description: str | None = None


class ErasureBody(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What to erase, why, and for whom; ``who`` defaults to the token."""

    record: Name
    why: NonEmptyText
    who: Name | None = None


def decode_question_body(data: bytes, kind: type[T]) -> T:
    """Decode a body; an ``InputError`` says what is invalid."""
    try:
        return msgspec.json.decode(data, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError, UnicodeEncodeError, RecursionError) as error:
        raise InputError(f"invalid request: {describe_conversion_error(error)}", hint="see /openapi.json") from error


# --- out --------------------------------------------------------------------------------------------------------------


class DecisionItem(msgspec.Struct, frozen=True, kw_only=True):
    """A stored decision; null if it was erased."""

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
    """Sources by number."""

    items: list[CiteSource]
