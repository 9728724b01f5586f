"""OpenTelemetry's spans, as its exporters send them: OTLP over HTTP, JSON or protobuf.

What cannot be kept is counted in the answer's partial success, as the protocol wants it; refusals of the whole request
are problems like everywhere else.
"""

from collections import Counter
from typing import Any

from custody.graph.otlp.protobuf import encode_field
from custody.server.app.tenancy_model import TokenScope
from custody.server.endpoints import JSON, PROTOBUF, Endpoint, EndpointCall, HttpAnswer
from custody.server.intake_routes import await_receipts
from custody.server.wire.service import ItemReceipt, OtlpAnswer, PartialSuccess, encode_answer

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


ENDPOINTS: tuple[Endpoint, ...] = (
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
