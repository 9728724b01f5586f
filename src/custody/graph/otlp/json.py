"""OTLP's JSON in and out, and the flat formats of other tools: one reader for all of them."""

import base64
import binascii
import math
import re
from collections.abc import Iterable, Iterator, Mapping

from custody.core.errors import InputError
from custody.core.patterns import lazy_pattern
from custody.core.wire.canonical import Json, dump_canonical_json
from custody.core.wire.time import parse_timestamp
from custody.graph.wire.attribute_names import OPENINFERENCE, SPAN_KIND
from custody.graph.wire.otlp_span import (
    COUNT_MAX,
    NS_MAX,
    SPAN_BYTES,
    TRACE_BYTES,
    OtlpLink,
    OtlpProblem,
    OtlpSpan,
    OtlpValue,
    check_otlp_time,
    normalize_otlp_id,
)

# Values of OTLP's JSON: attributes, numbers, ids, as protobuf's JSON and the common exporters write them.


OtlpFields = Mapping[str, Json]

VALUES_DEPTH_MAX = 32
_DIGITS_MAX = 40
_WHOLE = lazy_pattern(r"\s*[+-]?\d{1,40}\s*", re.ASCII)


def parse_otlp_attributes(value: Json) -> dict[str, OtlpValue]:
    """Parse attributes as OTLP lists them, or as a plain object."""
    if isinstance(value, dict):
        return {key: _plain_json_to_otlp(child) for key, child in value.items()}
    attributes: dict[str, OtlpValue] = {}
    for pair in otlp_list_or_empty(value):
        if isinstance(pair, dict) and isinstance(key := pair.get("key"), str):
            attributes[key] = _parse_otlp_any_value(pair.get("value"), 0)
    return attributes


def _plain_json_to_otlp(value: Json) -> OtlpValue:
    if isinstance(value, list):
        return [_plain_json_to_otlp(child) for child in value]
    return {key: _plain_json_to_otlp(child) for key, child in value.items()} if isinstance(value, dict) else value


def _parse_otlp_any_value(value: Json, depth: int) -> OtlpValue:
    fields = otlp_object_or_empty(value)
    if depth > VALUES_DEPTH_MAX or not fields:
        return None
    name, content = next(iter(fields.items()))
    if name == "stringValue":
        return content if isinstance(content, str) else None
    match name.replace("_", "").lower():
        case "stringvalue":
            return content if isinstance(content, str) else None
        case "boolvalue":
            return content if isinstance(content, bool) else None
        case "intvalue":
            return parse_otlp_int_or_none(content)
        case "doublevalue":
            return _parse_otlp_double(content)
        case "bytesvalue":
            return _parse_otlp_bytes(content)
        case "arrayvalue":
            return [
                _parse_otlp_any_value(json, depth + 1)
                for json in otlp_list_or_empty(otlp_object_or_empty(content).get("values"))
            ]
        case "kvlistvalue":
            pairs = map(otlp_object_or_empty, otlp_list_or_empty(otlp_object_or_empty(content).get("values")))
            return {str(pair.get("key")): _parse_otlp_any_value(pair.get("value"), depth + 1) for pair in pairs}
        case _:
            return None


def parse_otlp_int(value: Json) -> int:
    """Return a whole number from JSON or text; raise ``ValueError`` for anything else."""
    if isinstance(value, str) and len(value) <= _DIGITS_MAX and value.isascii() and value.isdigit():
        return int(value)
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise ValueError("not a number")
    if isinstance(value, str) and not _WHOLE.fullmatch(value):
        raise ValueError("not a number")
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError("not a number")
    return int(value)


def parse_otlp_int_or_none(value: Json) -> int | None:
    """Return a whole number, or None for anything else."""
    try:
        return parse_otlp_int(value)
    except ValueError:
        return None


def _parse_otlp_double(value: Json) -> OtlpValue:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else str(value)


def _parse_otlp_bytes(value: Json) -> bytes | None:
    try:
        return base64.b64decode(value, validate=True) if isinstance(value, str) else None
    except binascii.Error:
        return None


def parse_otlp_count(value: Json) -> int:
    """Return a count that protobuf can hold, else 0."""
    number = parse_otlp_int_or_none(value)
    return number if number is not None and 0 <= number <= COUNT_MAX else 0


def parse_otlp_id(value: Json, size: int) -> str | None:
    """Return an id, or None for anything else."""
    return normalize_otlp_id(value, size) if isinstance(value, str) else None


def otlp_text_or_none(value: Json) -> str | None:
    """Return a text, or None for anything else."""
    return value if isinstance(value, str) else None


def find_otlp_field(fields: OtlpFields, names: Iterable[str]) -> Json:
    """Return the first of these fields that has a value."""
    for name in names:
        if name in fields and (value := fields[name]) is not None:
            return value
    return None


def otlp_object_or_empty(value: Json) -> dict[str, Json]:
    """Return an object, or an empty one for anything else."""
    return value if isinstance(value, dict) else {}


def otlp_list_or_empty(value: Json) -> list[Json]:
    """Return a list, or an empty one for anything else."""
    return value if isinstance(value, list) else []


RESOURCES = ("resourceSpans", "resource_spans")
SCOPES = ("scopeSpans", "scope_spans", "instrumentationLibrarySpans", "instrumentation_library_spans")
TRACE = ("traceId", "trace_id", "traceID", "trace")
SPAN = ("spanId", "span_id", "spanID", "id")
PARENT = ("parentSpanId", "parent_span_id", "parent_id", "parent")
NAME = ("name", "span_name")
START = ("startTimeUnixNano", "start_time_unix_nano", "start_time", "start", "timestamp")
END = ("endTimeUnixNano", "end_time_unix_nano", "end_time", "end")
DURATION = ("duration", "dur")
STATUS = ("status", "status_code")
MESSAGE = ("message", "description", "status_message")
ATTRIBUTES = ("attributes", "span_attributes")
RESOURCE = ("resource", "resource_attributes")
DROPPED = ("droppedAttributesCount", "dropped_attributes_count")
CHILDREN = ("child_spans", "children")
FLAT = {"tool": "tool.name", "model": "llm.model_name", "service_name": "service.name"}
"""Fields of flat spans, and the attributes that they become."""
EXCEPTION = "exception.type"
STATUSES = {"UNSET": 0, "OK": 1, "ERROR": 2}
_NS = 1_000_000_000
_DAY_SECONDS = 86_400
_ISO = lazy_pattern(
    r"P(?:(\d{1,6})D)?(?:T(?:(\d{1,9})H)?(?:(\d{1,9})M)?(?:(\d{1,12})(?:[.,](\d{1,9})\d*)?S)?)?", re.ASCII
)


def is_otlp_json(value: Json) -> bool:
    """Return whether a JSON value looks like spans: OTLP's own object, a trace with its spans, or a span."""
    if not isinstance(value, dict):
        return False
    if isinstance(find_otlp_field(value, RESOURCES), list):
        return True
    if isinstance(value.get("spans"), list):
        return isinstance(find_otlp_field(value, TRACE), str)
    context = otlp_object_or_empty(value.get("context"))
    has_ids = all(isinstance(find_otlp_field(context or value, names), str) for names in (TRACE[:3], SPAN[:3]))
    return has_ids and isinstance(find_otlp_field(value, NAME), str)


def parse_otlp_spans(value: Json) -> Iterator[OtlpSpan | OtlpProblem]:
    """Yield the spans of one JSON value, and a problem for each part that is not a span."""
    if isinstance(value, list):
        for entry in value:
            yield from (
                parse_otlp_spans(entry) if isinstance(entry, dict) else (OtlpProblem("an entry is not an object"),)
            )
    elif not isinstance(value, dict):
        yield OtlpProblem("neither spans nor a span: not a JSON object")
    elif (resources := find_otlp_field(value, RESOURCES)) is not None:
        yield from _parse_resource_spans(resources)
    elif isinstance(spans := value.get("spans"), list):
        resource = parse_otlp_attributes(find_otlp_field(otlp_object_or_empty(value.get("resource")), ATTRIBUTES))
        yield from _parse_nested_spans(spans, otlp_text_or_none(find_otlp_field(value, TRACE)), resource)
    else:
        yield from _parse_nested_spans([value], None, {})


def _parse_resource_spans(resources: Json) -> Iterator[OtlpSpan | OtlpProblem]:
    for json in otlp_list_or_empty(resources):
        fields = otlp_object_or_empty(json)
        resource = parse_otlp_attributes(find_otlp_field(otlp_object_or_empty(fields.get("resource")), ATTRIBUTES))
        for scope in otlp_list_or_empty(find_otlp_field(fields, SCOPES)):
            yield from _parse_nested_spans(otlp_list_or_empty(otlp_object_or_empty(scope).get("spans")), None, resource)


def _parse_nested_spans(
    spans: list[Json], trace: str | None, resource: Mapping[str, OtlpValue]
) -> Iterator[OtlpSpan | OtlpProblem]:
    """Yield spans and the spans nested inside them, which name neither trace nor parent."""
    waiting: list[tuple[Json, str | None, str | None]] = [(span, trace, None) for span in reversed(spans)]
    while waiting:
        span, outer_trace, outer_span = waiting.pop()
        if not isinstance(span, dict):
            yield OtlpProblem("a span is not an object")
            continue
        parsed = _parse_otlp_span(span, outer_trace, outer_span, resource)
        yield parsed
        above = (parsed.trace, parsed.id) if isinstance(parsed, OtlpSpan) else (outer_trace, outer_span)
        waiting += [(child, *above) for child in reversed(otlp_list_or_empty(find_otlp_field(span, CHILDREN)))]


_PLAIN_FIELDS = frozenset(
    "traceId spanId parentSpanId flags name kind startTimeUnixNano endTimeUnixNano attributes status traceState"
    " droppedEventsCount droppedLinksCount".split()
)
"""The fields of most spans, in OpenTelemetry's own names; a span with any other field is read step by step."""


def _parse_plain_otlp_span(fields: OtlpFields, resource: Mapping[str, OtlpValue]) -> OtlpSpan | None:
    """Return a span that has these fields only, as ``_parse_otlp_span`` does; None if it needs more than that."""
    trace = parse_otlp_id(fields.get("traceId"), TRACE_BYTES)
    own = parse_otlp_id(fields.get("spanId"), SPAN_BYTES)
    name, kind, status = fields.get("name"), fields.get("kind"), fields.get("status")
    start, end = _read_plain_time(fields.get("startTimeUnixNano")), _read_plain_time(fields.get("endTimeUnixNano"))
    if trace is None or own is None or isinstance(kind, str) or start < 0 or end < 0:
        return None
    code, message = (0, "") if status is None else _parse_span_status(fields)
    return OtlpSpan(
        trace=trace,
        id=own,
        name=name if isinstance(name, str) else "",
        parent=parse_otlp_id(fields.get("parentSpanId"), SPAN_BYTES),
        start_ns=start or None,
        end_ns=end or None,
        status=code,
        message=message,
        attributes=parse_otlp_attributes(fields.get("attributes")),
        resource=resource,
    )


def _read_plain_time(value: Json) -> int:
    """Return a time in digits; -1 for anything else, and for a time that no store can hold."""
    if isinstance(value, str) and len(value) <= _DIGITS_MAX and value.isascii() and value.isdigit():
        time_ns = int(value)
        return time_ns if time_ns <= NS_MAX else -1
    return -1


def _parse_otlp_span(
    fields: OtlpFields, outer_trace: str | None, outer_span: str | None, resource: Mapping[str, OtlpValue]
) -> OtlpSpan | OtlpProblem:
    if outer_trace is None and outer_span is None and fields.keys() <= _PLAIN_FIELDS:
        plain = _parse_plain_otlp_span(fields, resource)
        if plain is not None:
            return plain
    context = otlp_object_or_empty(fields.get("context"))
    trace = parse_otlp_id(find_otlp_field(context or fields, TRACE), TRACE_BYTES)
    trace = trace or (None if outer_trace is None else normalize_otlp_id(outer_trace, TRACE_BYTES))
    own = parse_otlp_id(find_otlp_field(context or fields, SPAN), SPAN_BYTES)
    if trace is None or own is None:
        return OtlpProblem(f"a span has no {'trace' if trace is None else 'span'} id")
    start, end, bad = _parse_span_times(fields)
    status, message = _parse_span_status(fields)
    return OtlpSpan(
        trace=trace,
        id=own,
        name=otlp_text_or_none(find_otlp_field(fields, NAME)) or "",
        parent=parse_otlp_id(find_otlp_field(fields, PARENT), SPAN_BYTES) or outer_span,
        start_ns=start,
        end_ns=end,
        status=status,
        message=message,
        attributes=_collect_span_attributes(fields),
        dropped=parse_otlp_count(find_otlp_field(fields, DROPPED)),
        links=tuple(_parse_otlp_links(fields.get("links"))),
        resource={**resource, **parse_otlp_attributes(_find_resource_attributes(fields))},
        bad_times=bad,
    )


def _collect_span_attributes(fields: OtlpFields) -> dict[str, OtlpValue]:
    """Return the attributes of a span, with the values that flat formats have outside them."""
    attributes = parse_otlp_attributes(find_otlp_field(fields, ATTRIBUTES))
    for name, attribute in FLAT.items():
        if isinstance(text := fields.get(name), str) and attribute not in attributes:
            attributes[attribute] = text
    kind = fields.get("kind")
    # OpenTelemetry's own kinds (a number, SPAN_KIND_CLIENT, SpanKind.CLIENT) describe transport, not what was called.
    if isinstance(kind, str) and kind.upper() in OPENINFERENCE:
        attributes.setdefault(SPAN_KIND, kind)
    for event in map(otlp_object_or_empty, otlp_list_or_empty(fields.get("events"))):
        if event.get("name") == "exception" and EXCEPTION not in attributes:
            attributes.update(
                {k: v for k, v in parse_otlp_attributes(find_otlp_field(event, ATTRIBUTES)).items() if k == EXCEPTION}
            )
    return attributes


def _find_resource_attributes(fields: OtlpFields) -> Json:
    resource = find_otlp_field(fields, RESOURCE)
    inner = find_otlp_field(otlp_object_or_empty(resource), ATTRIBUTES)
    return resource if inner is None else inner


# --- parts of a span --------------------------------------------------------------------------------------------------


def _parse_span_times(fields: OtlpFields) -> tuple[int | None, int | None, int]:
    """Return start, end, and how many of them are invalid."""
    bad = 0
    times: list[int | None] = []
    for names in (START, END):
        try:
            times.append(_parse_otlp_timestamp(find_otlp_field(fields, names)))
        except ValueError:
            bad += 1
            times.append(None)
    start, end = times
    try:
        duration = _parse_otlp_duration(find_otlp_field(fields, DURATION))
        if end is None and start is not None and duration is not None:
            end = check_otlp_time(start + duration)
    except ValueError:
        bad += 1
    return start, end, bad


def _parse_otlp_timestamp(value: Json) -> int | None:
    if value is None or value == "":
        return None
    if isinstance(value, str) and not value.strip().isdecimal():
        try:
            return check_otlp_time(parse_timestamp(value.strip()))
        except InputError as error:
            raise ValueError(error.message) from error
    return check_otlp_time(parse_otlp_int(value))


def _parse_otlp_duration(value: Json) -> int | None:
    if value is None or value == "":
        return None
    if not isinstance(value, str):
        return check_otlp_time(parse_otlp_int(value)) or 0
    shape = _ISO.fullmatch(value.strip())
    if shape is None or not any(shape.groups()):
        raise ValueError("not a duration")
    days, hours, minutes, seconds, fraction = (part or "0" for part in shape.groups())
    total_seconds = int(days) * _DAY_SECONDS + int(hours) * 3600 + int(minutes) * 60 + int(seconds)
    return total_seconds * _NS + int(fraction.ljust(9, "0"))


def _parse_span_status(fields: OtlpFields) -> tuple[int, str]:
    status = find_otlp_field(fields, STATUS)
    inner = otlp_object_or_empty(status)
    code = find_otlp_field(inner, ("code", "status_code")) if isinstance(status, dict) else status
    message = otlp_text_or_none(find_otlp_field(inner or fields, MESSAGE)) or ""
    if isinstance(code, str):
        return STATUSES.get(code.upper().rpartition("_")[2].rpartition(".")[2], 0), message
    return (code if code in (1, 2) and isinstance(code, int) and not isinstance(code, bool) else 0), message


def _parse_otlp_links(value: Json) -> Iterator[OtlpLink]:
    for link in map(otlp_object_or_empty, otlp_list_or_empty(value)):
        ids = otlp_object_or_empty(link.get("context")) or link
        trace, span = (
            parse_otlp_id(find_otlp_field(ids, TRACE), TRACE_BYTES),
            parse_otlp_id(find_otlp_field(ids, SPAN), SPAN_BYTES),
        )
        if span is not None:
            yield OtlpLink(trace, span, parse_otlp_attributes(link.get("attributes")))


# Spans as OTLP's JSON: one ``TracesData`` object, ids in hex, times and whole numbers as text.


SCOPE = "custody"


def dump_otlp_json(spans: Iterable[OtlpSpan]) -> bytes:
    """Return all ``spans`` as one object on one line, under one resource."""
    resource: Json = {"attributes": _otlp_attributes_to_json({"service.name": SCOPE})}
    scope: Json = {"scope": {"name": SCOPE}, "spans": [_otlp_span_to_json(span) for span in spans]}
    return dump_canonical_json({"resourceSpans": [{"resource": resource, "scopeSpans": [scope]}]})


def _otlp_span_to_json(span: OtlpSpan) -> Json:
    fields: dict[str, Json] = {
        "traceId": span.trace,
        "spanId": span.id,
        "name": span.name,
        "kind": 1,
        "startTimeUnixNano": str(span.start_ns or 0),
        "endTimeUnixNano": str(span.end_ns or 0),
        "attributes": _otlp_attributes_to_json(span.attributes),
        "status": {"code": span.status} if span.status else {},
    }
    if span.parent is not None:
        fields["parentSpanId"] = span.parent
    if span.dropped:
        fields["droppedAttributesCount"] = span.dropped
    if span.links:
        fields["links"] = [_otlp_link_to_json(link) for link in span.links]
    return fields


def _otlp_link_to_json(link: OtlpLink) -> Json:
    fields: dict[str, Json] = {"spanId": link.span}
    if link.trace is not None:
        fields["traceId"] = link.trace
    if link.attributes:
        fields["attributes"] = _otlp_attributes_to_json(link.attributes)
    return fields


def _otlp_attributes_to_json(attributes: Mapping[str, OtlpValue]) -> Json:
    return [{"key": key, "value": _otlp_value_to_json(attributes[key])} for key in sorted(attributes)]


def _otlp_value_to_json(value: OtlpValue) -> Json:
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
            return {"arrayValue": {"values": [_otlp_value_to_json(child) for child in value]}}
        case dict():
            return {
                "kvlistValue": {
                    "values": [{"key": k, "value": _otlp_value_to_json(v)} for k, v in sorted(value.items())]
                }
            }
