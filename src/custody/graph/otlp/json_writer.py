"""Spans as OTLP's JSON: one ``TracesData`` object, ids in hex, times and whole numbers as texts."""

import base64
from collections.abc import Iterable, Mapping

from custody.core.wire.canonical import Json, dump
from custody.graph.wire.otlp_span import OtlpLink, OtlpSpan, OtlpValue

SCOPE = "custody"


def dump_json(spans: Iterable[OtlpSpan]) -> bytes:
    """All ``spans`` as one object on one line, under one resource."""
    resource: Json = {"attributes": _attributes({"service.name": SCOPE})}
    scope: Json = {"scope": {"name": SCOPE}, "spans": [_span(span) for span in spans]}
    return dump({"resourceSpans": [{"resource": resource, "scopeSpans": [scope]}]})


def _span(span: OtlpSpan) -> Json:
    said: dict[str, Json] = {
        "traceId": span.trace,
        "spanId": span.id,
        "name": span.name,
        "kind": 1,
        "startTimeUnixNano": str(span.start_ns or 0),
        "endTimeUnixNano": str(span.end_ns or 0),
        "attributes": _attributes(span.attributes),
        "status": {"code": span.status} if span.status else {},
    }
    if span.parent is not None:
        said["parentSpanId"] = span.parent
    if span.dropped:
        said["droppedAttributesCount"] = span.dropped
    if span.links:
        said["links"] = [_link(link) for link in span.links]
    return said


def _link(link: OtlpLink) -> Json:
    said: dict[str, Json] = {"spanId": link.span}
    if link.trace is not None:
        said["traceId"] = link.trace
    if link.attributes:
        said["attributes"] = _attributes(link.attributes)
    return said


def _attributes(given: Mapping[str, OtlpValue]) -> Json:
    return [{"key": key, "value": _value(given[key])} for key in sorted(given)]


def _value(value: OtlpValue) -> Json:
    match value:
        case None:
            return {}
        case bool():
            return {"boolValue": value}
        case int():
            return {"intValue": str(value)}
        case float():
            return {"doubleValue": value}
        case str():
            return {"stringValue": value}
        case bytes():
            return {"bytesValue": base64.b64encode(value).decode()}
        case list():
            return {"arrayValue": {"values": [_value(child) for child in value]}}
        case dict():
            return {"kvlistValue": {"values": [{"key": k, "value": _value(v)} for k, v in sorted(value.items())]}}
