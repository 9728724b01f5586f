"""Records over HTTP: traces, links, spans, evidence, conversations, erasures, OpenTelemetry."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

from custody.core.wire.report import EraseReport
from custody.graph.otlp.protobuf import encode_field
from custody.ledger.records import erase
from custody.server.app import listing as pages
from custody.server.app.tenancy import TokenScope
from custody.server.endpoints import JSON, PROTOBUF, Endpoint, EndpointCall, HttpAnswer, Parameter
from custody.server.problems import HttpProblem
from custody.server.route_kinds import (
    CONVERSATIONS,
    EVENTS,
    SPANS,
    await_receipts,
    make_intake_endpoint,
    make_list_endpoint,
    one_or_many,
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
    encode_answer,
)
from custody.workspace.workspace import Workspace

_MOMENT = {"type": "string", "description": "RFC 3339", "format": "date-time"}
TRACE: Mapping[str, Any] = {
    "type": "object",
    "description": "A trace in the shape of Agent Trace 0.1.0, or of document 000; other fields are kept as sent.",
    "required": ["id", "timestamp", "files"],
    "properties": {
        "version": {"type": ["string", "null"], "pattern": r"^[0-2](\.[0-9]{1,4}){0,3}$"},
        "id": {"type": "string", "minLength": 1, "maxLength": 1000, "pattern": "^[!-~]+$"},
        "timestamp": _MOMENT,
        "files": {"type": "array", "items": {"type": "object"}},
    },
}
LINK: Mapping[str, Any] = {
    "type": "object",
    "description": "A commit and the traces that it was made from; other fields are kept as sent.",
    "required": ["commit_sha", "trace_ids"],
    "properties": {
        "commit_sha": {"type": "string", "pattern": "^([0-9a-f]{40}|[0-9a-f]{64})$"},
        "trace_ids": {
            "type": "array",
            "items": {"type": "string", "minLength": 1, "maxLength": 1000, "pattern": "^[!-~]+$"},
        },
        "committed_at": _MOMENT,
    },
}

RECORD_ENDPOINTS: tuple[Endpoint, ...] = (
    make_intake_endpoint("traces", "Keep a trace, or a batch of them.", one_or_many(TRACE)),
    make_list_endpoint("traces", "List traces.", pages.traces, TracesPage),
    make_intake_endpoint("commit-links", "Keep which traces a commit was made from.", one_or_many(LINK)),
    make_list_endpoint("commit-links", "List commit links.", pages.links, LinksPage),
    make_intake_endpoint("spans", "Keep a span of a running program, or a batch of them.", SPANS),
    make_list_endpoint("spans", "List spans.", pages.spans, SpansPage),
)


# Evidence: generic events in, records out.


async def show_record(call: EndpointCall) -> HttpAnswer:
    """One record."""
    name = str(call.request.path_params["record"])
    with_text = call.may(TokenScope.TEXT)

    def ask(workspace: Workspace) -> EvidenceText | None:
        found = pages.one_record(workspace, name, with_text=with_text)
        if found is not None and with_text and found.kind not in pages.TEXTLESS:
            call.note_read(f"record {found.record}")
        return found

    found = await call.ask(ask)
    if found is None:
        raise HttpProblem(404, "no such record is kept", remedy="/api/v1/evidence lists them")
    return HttpAnswer.of(found)


EVIDENCE_ENDPOINTS: tuple[Endpoint, ...] = (
    make_intake_endpoint("evidence", "Keep a generic event, or a batch of them.", EVENTS),
    make_list_endpoint("evidence", "List records by their names.", pages.evidence, EvidencePage),
    Endpoint(
        method="GET",
        path="/api/v1/evidence/{record}",
        name="show-evidence",
        words="Show a record; what may hold texts only with the scope 'text', and each such read is noted.",
        scope=TokenScope.READ,
        handle=show_record,
        gives={200: EvidenceText, 404: Problem},
        places={"record": "The record's name, as receipts have it."},
    ),
)


# Conversations: sessions of agents and what was asked in them. Every read of their words is noted first.


async def show_conversation(call: EndpointCall) -> HttpAnswer:
    """One conversation."""
    agent, session = call.needed("agent"), call.needed("session")
    with_text = call.flag("text", default=True) and call.may(TokenScope.TEXT)

    def ask(workspace: Workspace) -> ConversationText | None:
        found = pages.conversation(workspace, agent, session, with_text=with_text)
        if found is not None and with_text:
            call.note_read(f"conversation {agent} {session}")
        return found

    found = await call.ask(ask)
    if found is None:
        raise HttpProblem(404, "no such conversation is known", remedy="/api/v1/conversations lists them")
    return HttpAnswer.of(found)


CONVERSATION_ENDPOINTS: tuple[Endpoint, ...] = (
    make_intake_endpoint("conversations", "Keep a conversation, or more of one, or a batch of them.", CONVERSATIONS),
    make_list_endpoint(
        "conversations", "List conversations, without what was said in them.", pages.conversations, ConversationsPage
    ),
    Endpoint(
        method="GET",
        path="/api/v1/conversation",
        name="show-conversation",
        words="Show a conversation; its words only with the scope 'text', and each such read is noted.",
        scope=TokenScope.READ,
        handle=show_conversation,
        gives={200: ConversationText, 404: Problem},
        parameters=(
            Parameter("agent", "Whose session it is.", {"type": "string", "minLength": 1}, required=True),
            Parameter("session", "The session's id.", {"type": "string", "minLength": 1}, required=True),
            Parameter("text", "Whether to give the words too.", {"type": "boolean", "default": True}),
        ),
    ),
)


# What is forgotten for good.


async def forget(call: EndpointCall) -> HttpAnswer:
    """Erase what a record says."""
    wanted = await read_question_body(call, ErasureBody)
    who = wanted.who or read_actor(call)
    return await render_question_report(
        call, lambda workspace: erase(workspace, [wanted.record], who=who, why=wanted.why)
    )


ERASURE_ENDPOINTS: tuple[Endpoint, ...] = (
    Endpoint(
        method="POST",
        path="/api/v1/erasures",
        name="erase",
        words="Forget what a record says, or one stored text, and keep the proof that it was there; for good.",
        scope=TokenScope.ADMIN,
        handle=forget,
        takes={JSON: ErasureBody},
        gives={200: EraseReport},
    ),
)


# OpenTelemetry's spans, as its exporters send them: OTLP over HTTP, JSON or protobuf.
# What cannot be kept is counted in the answer's partial success, as the protocol wants it; refusals of the whole
# request are problems like everywhere else.


PARTIAL, REJECTED, MESSAGE = 1, 1, 2
"""Fields of ExportTraceServiceResponse and of its partial success."""
REASONS_MAX = 5

REQUEST: dict[str, Any] = {
    "type": "object",
    "description": "ExportTraceServiceRequest in protobuf's JSON.",
    "required": ["resourceSpans"],
    "properties": {"resourceSpans": {"type": "array", "items": {"type": "object"}}},
}


async def export(call: EndpointCall) -> HttpAnswer:
    """Keep spans."""
    binary = call.media == PROTOBUF
    data = await call.body()
    items = await call.read_in(data, lambda intake: tuple(intake.otlp(data, binary=binary)))
    refused = [result for result in await await_receipts(call, items) if result.status not in (200, 201)]
    partial = None if not refused else PartialSuccess(rejected_spans=len(refused), error_message=_why(refused))
    if binary:
        return HttpAnswer(body=_message(partial), media=PROTOBUF)
    return HttpAnswer(body=encode_answer(OtlpAnswer(partial_success=partial)))


def _why(refused: list[ItemReceipt]) -> str:
    reasons = Counter(result.detail or "refused" for result in refused).most_common(REASONS_MAX)
    return "; ".join(f"{count} × {why}" for why, count in reasons)


def _message(partial: PartialSuccess | None) -> bytes:
    if partial is None:
        return b""
    words = partial.error_message.encode("utf-8", "replace")
    return encode_field(PARTIAL, encode_field(REJECTED, partial.rejected_spans) + encode_field(MESSAGE, words))


OTLP_ENDPOINTS: tuple[Endpoint, ...] = (
    Endpoint(
        method="POST",
        path="/v1/traces",
        name="export-otlp",
        words="Keep spans that an OpenTelemetry exporter sends.",
        scope=TokenScope.WRITE,
        handle=export,
        takes={JSON: REQUEST, PROTOBUF: {"type": "string", "format": "binary"}},
        gives={200: OtlpAnswer},
    ),
)
