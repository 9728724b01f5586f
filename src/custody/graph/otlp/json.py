"""OTLP's JSON in and out, and the flat shapes in which tools write spans: one reader for all of them."""

import base64
import binascii
import math
import re
from collections.abc import Iterable, Iterator, Mapping

from custody.core.errors import InputError
from custody.core.wire.canonical import Json, dump
from custody.core.wire.time import ns_from
from custody.graph.wire.attribute_names import OPENINFERENCE, SPAN_KIND
from custody.graph.wire.otlp_span import (
    COUNT_MAX,
    SPAN_BYTES,
    TRACE_BYTES,
    OtlpLink,
    OtlpProblem,
    OtlpSpan,
    OtlpValue,
    id_of,
    time_of,
)

# Values of OTLP's JSON: attributes, numbers, ids, as protobuf's JSON and the common exporters write them.


OtlpFields = Mapping[str, Json]

VALUES_DEPTH_MAX = 32
_WHOLE = re.compile(r"\s*[+-]?\d{1,40}\s*", re.ASCII)


def attributes_of(value: Json) -> dict[str, OtlpValue]:
    """Attributes as OTLP lists them, or as a plain object."""
    if isinstance(value, dict):
        return {key: _plain(said) for key, said in value.items()}
    attributes: dict[str, OtlpValue] = {}
    for pair in map(object_of, list_of(value)):
        if isinstance(key := pair.get("key"), str):
            attributes[key] = _any_value(pair.get("value"), 0)
    return attributes


def _plain(value: Json) -> OtlpValue:
    if isinstance(value, list):
        return [_plain(child) for child in value]
    return {key: _plain(child) for key, child in value.items()} if isinstance(value, dict) else value


def _any_value(value: Json, depth: int) -> OtlpValue:
    fields = object_of(value)
    if depth > VALUES_DEPTH_MAX or not fields:
        return None
    name, said = next(iter(fields.items()))
    match name.replace("_", "").lower():
        case "stringvalue":
            return said if isinstance(said, str) else None
        case "boolvalue":
            return said if isinstance(said, bool) else None
        case "intvalue":
            return whole_or_none(said)
        case "doublevalue":
            return _double(said)
        case "bytesvalue":
            return _bytes(said)
        case "arrayvalue":
            return [_any_value(json, depth + 1) for json in list_of(object_of(said).get("values"))]
        case "kvlistvalue":
            pairs = map(object_of, list_of(object_of(said).get("values")))
            return {str(pair.get("key")): _any_value(pair.get("value"), depth + 1) for pair in pairs}
        case _:
            return None


def whole(value: Json) -> int:
    """A whole number as JSON or a text has it; a ``ValueError`` for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise ValueError("no number")
    if isinstance(value, str) and not _WHOLE.fullmatch(value):
        raise ValueError("no number")
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError("no number")
    return int(value)


def whole_or_none(value: Json) -> int | None:
    """A whole number, or None for what is none."""
    try:
        return whole(value)
    except ValueError:
        return None


def _double(value: Json) -> OtlpValue:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else str(value)


def _bytes(value: Json) -> bytes | None:
    try:
        return base64.b64decode(value, validate=True) if isinstance(value, str) else None
    except binascii.Error:
        return None


def count_of(value: Json) -> int:
    """A count that protobuf could hold, else none."""
    number = whole_or_none(value)
    return number if number is not None and 0 <= number <= COUNT_MAX else 0


def json_id(value: Json, size: int) -> str | None:
    """An id, or None for what is none."""
    return id_of(value, size) if isinstance(value, str) else None


def text_of(value: Json) -> str | None:
    """A text, or None for what is none."""
    return value if isinstance(value, str) else None


def first_of(fields: OtlpFields, names: Iterable[str]) -> Json:
    """The first of these fields that says something."""
    return next((fields[name] for name in names if fields.get(name) is not None), None)


def object_of(value: Json) -> dict[str, Json]:
    """An object, or an empty one for what is none."""
    return value if isinstance(value, dict) else {}


def list_of(value: Json) -> list[Json]:
    """A list, or an empty one for what is none."""
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
"""Fields of flat spans, and the attributes that they stand for."""
EXCEPTION = "exception.type"
STATUSES = {"UNSET": 0, "OK": 1, "ERROR": 2}
_NS = 1_000_000_000
_DAY_SECONDS = 86_400
_ISO = re.compile(
    r"P(?:(\d{1,6})D)?(?:T(?:(\d{1,9})H)?(?:(\d{1,9})M)?(?:(\d{1,12})(?:[.,](\d{1,9})\d*)?S)?)?", re.ASCII
)


def is_otlp(value: Json) -> bool:
    """Whether a JSON value looks like spans: OTLP's own object, a trace with its spans, or a span."""
    if not isinstance(value, dict):
        return False
    if isinstance(first_of(value, RESOURCES), list):
        return True
    if isinstance(value.get("spans"), list):
        return isinstance(first_of(value, TRACE), str)
    context = object_of(value.get("context"))
    has_ids = all(isinstance(first_of(context or value, names), str) for names in (TRACE[:3], SPAN[:3]))
    return has_ids and isinstance(first_of(value, NAME), str)


def spans_in(value: Json) -> Iterator[OtlpSpan | OtlpProblem]:
    """The spans that one JSON value holds; what gives none is said in its place."""
    if isinstance(value, list):
        for entry in value:
            yield from spans_in(entry) if isinstance(entry, dict) else (OtlpProblem("an entry that is no object"),)
    elif not isinstance(value, dict):
        yield OtlpProblem("neither spans nor a span: no JSON object")
    elif (resources := first_of(value, RESOURCES)) is not None:
        yield from _of_resources(resources)
    elif isinstance(spans := value.get("spans"), list):
        resource = attributes_of(first_of(object_of(value.get("resource")), ATTRIBUTES))
        yield from _all(spans, text_of(first_of(value, TRACE)), resource)
    else:
        yield from _all([value], None, {})


def _of_resources(resources: Json) -> Iterator[OtlpSpan | OtlpProblem]:
    for json in list_of(resources):
        fields = object_of(json)
        resource = attributes_of(first_of(object_of(fields.get("resource")), ATTRIBUTES))
        for scope in list_of(first_of(fields, SCOPES)):
            yield from _all(list_of(object_of(scope).get("spans")), None, resource)


def _all(spans: list[Json], trace: str | None, resource: Mapping[str, OtlpValue]) -> Iterator[OtlpSpan | OtlpProblem]:
    """Spans, and those that stand inside them, which name neither trace nor parent themselves."""
    waiting: list[tuple[Json, str | None, str | None]] = [(span, trace, None) for span in reversed(spans)]
    while waiting:
        span, of, inside = waiting.pop()
        if not isinstance(span, dict):
            yield OtlpProblem("a span that is no object")
            continue
        made = _span(span, of, inside, resource)
        yield made
        above = (made.trace, made.id) if isinstance(made, OtlpSpan) else (of, inside)
        waiting += [(child, *above) for child in reversed(list_of(first_of(span, CHILDREN)))]


def _span(
    fields: OtlpFields, trace: str | None, inside: str | None, resource: Mapping[str, OtlpValue]
) -> OtlpSpan | OtlpProblem:
    context = object_of(fields.get("context"))
    of = json_id(first_of(context or fields, TRACE), TRACE_BYTES)
    of = of or (None if trace is None else id_of(trace, TRACE_BYTES))
    own = json_id(first_of(context or fields, SPAN), SPAN_BYTES)
    if of is None or own is None:
        return OtlpProblem(f"a span without an id of its {'trace' if of is None else 'own'}")
    start, end, bad = _times(fields)
    status, message = _status(fields)
    return OtlpSpan(
        trace=of,
        id=own,
        name=text_of(first_of(fields, NAME)) or "",
        parent=json_id(first_of(fields, PARENT), SPAN_BYTES) or inside,
        start_ns=start,
        end_ns=end,
        status=status,
        message=message,
        attributes=_of_span(fields),
        dropped=count_of(first_of(fields, DROPPED)),
        links=tuple(_links(fields.get("links"))),
        resource={**resource, **attributes_of(_resource(fields))},
        bad_times=bad,
    )


def _of_span(fields: OtlpFields) -> dict[str, OtlpValue]:
    """The attributes of a span, with what flat shapes say beside them."""
    found = attributes_of(first_of(fields, ATTRIBUTES))
    for name, attribute in FLAT.items():
        if isinstance(said := fields.get(name), str) and attribute not in found:
            found[attribute] = said
    kind = fields.get("kind")
    # OpenTelemetry's own kinds (a number, SPAN_KIND_CLIENT, SpanKind.CLIENT) say how a call travels, not what it is.
    if isinstance(kind, str) and kind.upper() in OPENINFERENCE:
        found.setdefault(SPAN_KIND, kind)
    for event in map(object_of, list_of(fields.get("events"))):
        if event.get("name") == "exception" and EXCEPTION not in found:
            found.update({k: v for k, v in attributes_of(first_of(event, ATTRIBUTES)).items() if k == EXCEPTION})
    return found


def _resource(fields: OtlpFields) -> Json:
    resource = first_of(fields, RESOURCE)
    inner = first_of(object_of(resource), ATTRIBUTES)
    return resource if inner is None else inner


# --- parts of a span --------------------------------------------------------------------------------------------------


def _times(fields: OtlpFields) -> tuple[int | None, int | None, int]:
    """Start, end, and how many of both were no times."""
    bad = 0
    found: list[int | None] = []
    for names in (START, END):
        try:
            found.append(_moment(first_of(fields, names)))
        except ValueError:
            bad += 1
            found.append(None)
    start, end = found
    try:
        lasted = _duration(first_of(fields, DURATION))
        if end is None and start is not None and lasted is not None:
            end = time_of(start + lasted)
    except ValueError:
        bad += 1
    return start, end, bad


def _moment(value: Json) -> int | None:
    if value is None or value == "":
        return None
    if isinstance(value, str) and not value.strip().isdecimal():
        try:
            return time_of(ns_from(value.strip()))
        except InputError as error:
            raise ValueError(error.message) from error
    return time_of(whole(value))


def _duration(value: Json) -> int | None:
    if value is None or value == "":
        return None
    if not isinstance(value, str):
        return time_of(whole(value)) or 0
    shape = _ISO.fullmatch(value.strip())
    if shape is None or not any(shape.groups()):
        raise ValueError("no duration")
    days, hours, minutes, seconds, fraction = (part or "0" for part in shape.groups())
    seconds_in_all = int(days) * _DAY_SECONDS + int(hours) * 3600 + int(minutes) * 60 + int(seconds)
    return seconds_in_all * _NS + int(fraction.ljust(9, "0"))


def _status(fields: OtlpFields) -> tuple[int, str]:
    said = first_of(fields, STATUS)
    inner = object_of(said)
    code = first_of(inner, ("code", "status_code")) if isinstance(said, dict) else said
    message = text_of(first_of(inner or fields, MESSAGE)) or ""
    if isinstance(code, str):
        return STATUSES.get(code.upper().rpartition("_")[2].rpartition(".")[2], 0), message
    return (code if code in (1, 2) and isinstance(code, int) and not isinstance(code, bool) else 0), message


def _links(value: Json) -> Iterator[OtlpLink]:
    for link in map(object_of, list_of(value)):
        ids = object_of(link.get("context")) or link
        trace, span = json_id(first_of(ids, TRACE), TRACE_BYTES), json_id(first_of(ids, SPAN), SPAN_BYTES)
        if span is not None:
            yield OtlpLink(trace, span, attributes_of(link.get("attributes")))


# Spans as OTLP's JSON: one ``TracesData`` object, ids in hex, times and whole numbers as texts.


SCOPE = "custody"


def dump_json(spans: Iterable[OtlpSpan]) -> bytes:
    """All ``spans`` as one object on one line, under one resource."""
    resource: Json = {"attributes": _attributes({"service.name": SCOPE})}
    scope: Json = {"scope": {"name": SCOPE}, "spans": [_span_json(span) for span in spans]}
    return dump({"resourceSpans": [{"resource": resource, "scopeSpans": [scope]}]})


def _span_json(span: OtlpSpan) -> Json:
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
