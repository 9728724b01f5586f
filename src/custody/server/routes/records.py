"""Records over HTTP: traces, links, spans, evidence, conversations, erasures, OpenTelemetry."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

from custody.core.wire.report import EraseReport
from custody.graph.otlp.protobuf import encode_otlp_field
from custody.ledger.records import erase_record_bodies
from custody.server.app import listing as pages
from custody.server.app.tenancy import TokenScope
from custody.server.endpoints import JSON, PROTOBUF, Endpoint, EndpointCall, HttpAnswer, Parameter
from custody.server.problems import HttpProblem
from custody.server.route_kinds import (
    CONVERSATIONS,
    EVENTS,
    SPANS,
    await_receipts,
    make_batch_schema,
    make_intake_endpoint,
    make_list_endpoint,
    read_actor,
    read_question_body,
    render_question_report,
)
from custody.server.wire.service import (
    ConversationsPage,
    ConversationText,
    ErasureBody,
    EvidencePage,
    EvidenceText,
    ItemReceipt,
    LinksPage,
    OtlpAnswer,
    PartialSuccess,
    Problem,
    SpansPage,
    TracesPage,
    encode_http_answer,
)
from custody.workspace.workspace import Workspace

_TIMESTAMP = {"type": "string", "description": "RFC 3339", "format": "date-time"}
TRACE: Mapping[str, Any] = {
    "type": "object",
    "description": "A trace in the shape of Agent Trace 0.1.0, or of document 000; other fields are stored as sent.",
    "required": ["id", "timestamp", "files"],
    "properties": {
        "version": {"type": ["string", "null"], "pattern": r"^[0-2](\.[0-9]{1,4}){0,3}$"},
        "id": {"type": "string", "minLength": 1, "maxLength": 1000, "pattern": "^[!-~]+$"},
        "timestamp": _TIMESTAMP,
        "files": {"type": "array", "items": {"type": "object"}},
    },
}
LINK: Mapping[str, Any] = {
    "type": "object",
    "description": "A commit and the traces that it was made from; other fields are stored as sent.",
    "required": ["commit_sha", "trace_ids"],
    "properties": {
        "commit_sha": {"type": "string", "pattern": "^([0-9a-f]{40}|[0-9a-f]{64})$"},
        "trace_ids": {
            "type": "array",
            "items": {"type": "string", "minLength": 1, "maxLength": 1000, "pattern": "^[!-~]+$"},
        },
        "committed_at": _TIMESTAMP,
    },
}

RECORD_ENDPOINTS: tuple[Endpoint, ...] = (
    make_intake_endpoint("traces", "Store a trace or a batch of traces.", make_batch_schema(TRACE)),
    make_list_endpoint("traces", "List traces.", pages.list_traces_page, TracesPage),
    make_intake_endpoint("commit-links", "Store the traces that a commit was made from.", make_batch_schema(LINK)),
    make_list_endpoint("commit-links", "List commit links.", pages.list_links_page, LinksPage),
    make_intake_endpoint("spans", "Store a span of a program or a batch of spans.", SPANS),
    make_list_endpoint("spans", "List spans.", pages.list_spans_page, SpansPage),
)


async def show_record(call: EndpointCall) -> HttpAnswer:
    """Return one record."""
    name = str(call.request.path_params["record"])
    with_text = call.may(TokenScope.TEXT)

    def ask(workspace: Workspace) -> EvidenceText | None:
        record = pages.answer_record_request(workspace, name, with_text=with_text)
        if record is not None and with_text and record.kind not in pages.TEXTLESS:
            call.note_read(f"record {record.record}")
        return record

    record = await call.ask(ask)
    if record is None:
        raise HttpProblem(404, "unknown record", remedy="/api/v1/evidence lists them")
    return HttpAnswer.of(record)


EVIDENCE_ENDPOINTS: tuple[Endpoint, ...] = (
    make_intake_endpoint("evidence", "Store a generic event or a batch of events.", EVENTS),
    make_list_endpoint("evidence", "List records.", pages.list_evidence_page, EvidencePage),
    Endpoint(
        method="GET",
        path="/api/v1/evidence/{record}",
        name="show-evidence",
        summary="Show a record; text of conversations only with the scope 'text', and every such read is logged.",
        scope=TokenScope.READ,
        handle=show_record,
        gives={200: EvidenceText, 404: Problem},
        places={"record": "The name of the record, from a receipt."},
    ),
)


async def show_conversation(call: EndpointCall) -> HttpAnswer:
    """Return one conversation."""
    agent, session = call.require_text("agent"), call.require_text("session")
    with_text = call.flag("text", default=True) and call.may(TokenScope.TEXT)

    def ask(workspace: Workspace) -> ConversationText | None:
        conversation = pages.answer_conversation_request(workspace, agent, session, with_text=with_text)
        if conversation is not None and with_text:
            call.note_read(f"conversation {agent} {session}")
        return conversation

    conversation = await call.ask(ask)
    if conversation is None:
        raise HttpProblem(404, "unknown conversation", remedy="/api/v1/conversations lists them")
    return HttpAnswer.of(conversation)


CONVERSATION_ENDPOINTS: tuple[Endpoint, ...] = (
    make_intake_endpoint("conversations", "Store a conversation, more of one, or a batch.", CONVERSATIONS),
    make_list_endpoint(
        "conversations",
        "List conversations, without their text.",
        pages.list_conversations_page,
        ConversationsPage,
    ),
    Endpoint(
        method="GET",
        path="/api/v1/conversation",
        name="show-conversation",
        summary="Show a conversation; its text only with the scope 'text', and every such read is logged.",
        scope=TokenScope.READ,
        handle=show_conversation,
        gives={200: ConversationText, 404: Problem},
        parameters=(
            Parameter("agent", "The agent of the session.", {"type": "string", "minLength": 1}, required=True),
            Parameter("session", "The session id.", {"type": "string", "minLength": 1}, required=True),
            Parameter("text", "Whether to include the text.", {"type": "boolean", "default": True}),
        ),
    ),
)


async def erase_record(call: EndpointCall) -> HttpAnswer:
    """Erase the content of a record."""
    request = await read_question_body(call, ErasureBody)
    who = request.who or read_actor(call)
    return await render_question_report(
        call, lambda workspace: erase_record_bodies(workspace, [request.record], who=who, why=request.why)
    )


ERASURE_ENDPOINTS: tuple[Endpoint, ...] = (
    Endpoint(
        method="POST",
        path="/api/v1/erasures",
        name="erase",
        summary="Erase the content of a record or a stored text; the proof that it existed stays. Cannot be undone.",
        scope=TokenScope.ADMIN,
        handle=erase_record,
        takes={JSON: ErasureBody},
        gives={200: EraseReport},
    ),
)


# OTLP over HTTP, JSON or protobuf. Rejected spans are counted in the partial success of the answer, as the protocol
# requires; errors of the whole request are problem documents.


PARTIAL, REJECTED, MESSAGE = 1, 1, 2
"""Fields of ExportTraceServiceResponse and of its partial success."""
REASONS_MAX = 5

REQUEST: dict[str, Any] = {
    "type": "object",
    "description": "ExportTraceServiceRequest in protobuf's JSON.",
    "required": ["resourceSpans"],
    "properties": {"resourceSpans": {"type": "array", "items": {"type": "object"}}},
}


async def receive_otlp_spans(call: EndpointCall) -> HttpAnswer:
    """Store spans."""
    binary = call.media == PROTOBUF
    data = await call.body()
    items = await call.read_in(data, lambda intake: tuple(intake.otlp(data, binary=binary)))
    rejected = [result for result in await await_receipts(call, items) if result.status not in (200, 201)]
    partial = (
        None
        if not rejected
        else PartialSuccess(rejected_spans=len(rejected), error_message=_describe_refusals(rejected))
    )
    if binary:
        return HttpAnswer(body=_encode_otlp_answer(partial), media=PROTOBUF)
    return HttpAnswer(body=encode_http_answer(OtlpAnswer(partial_success=partial)))


def _describe_refusals(rejected: list[ItemReceipt]) -> str:
    reasons = Counter(result.detail or "rejected" for result in rejected).most_common(REASONS_MAX)
    return "; ".join(f"{count} × {why}" for why, count in reasons)


def _encode_otlp_answer(partial: PartialSuccess | None) -> bytes:
    if partial is None:
        return b""
    message = partial.error_message.encode("utf-8", "replace")
    return encode_otlp_field(
        PARTIAL, encode_otlp_field(REJECTED, partial.rejected_spans) + encode_otlp_field(MESSAGE, message)
    )


OTLP_ENDPOINTS: tuple[Endpoint, ...] = (
    Endpoint(
        method="POST",
        path="/v1/traces",
        name="export-otlp",
        summary="Store spans of an OpenTelemetry exporter.",
        scope=TokenScope.WRITE,
        handle=receive_otlp_spans,
        takes={JSON: REQUEST, PROTOBUF: {"type": "string", "format": "binary"}},
        gives={200: OtlpAnswer},
    ),
)
