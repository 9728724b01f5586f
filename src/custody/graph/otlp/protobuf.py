"""OTLP's protobuf in and out, and as much of the wire format as it needs.

The wire format raises ``ValueError`` for truncated or invalid bytes; the messages turn that into problems.
"""

import struct
from collections.abc import Iterable, Iterator, Mapping

from msgspec import Struct

from custody.graph.otlp.json import EXCEPTION, SCOPE
from custody.graph.wire.otlp_span import (
    COUNT_MAX,
    OBJECT_BYTES_MAX,
    OtlpLink,
    OtlpProblem,
    OtlpSpan,
    OtlpValue,
    check_otlp_time,
)

VARINT, FIXED64, BYTES, GROUP, GROUP_END, FIXED32 = range(6)
VARINT_BYTES_MAX = 10
_WRAP = 2**64

Field = tuple[int, int, int | bytes]
"""Its number, its wire type, and a whole number (varint, fixed) or bytes."""


class TruncatedMessage(ValueError):
    """The bytes end before the announced length."""

    def __init__(self, number: int = 0, rest: bytes = b"") -> None:
        super().__init__("truncated")
        self.number = number
        """The truncated field; 0 if its number is unknown."""
        self.rest = rest


def iterate_otlp_fields(data: bytes) -> Iterator[Field]:
    """Yield the fields of one message in order; the obsolete groups are refused.

    >>> list(iterate_otlp_fields(bytes.fromhex("0801120161")))
    [(1, 0, 1), (2, 2, b'a')]
    """
    at, size = 0, len(data)
    while at < size:
        tag, at = decode_otlp_varint(data, at)
        number, wire = tag >> 3, tag & 7
        if number == 0:
            raise ValueError("a field has no number")
        value: int | bytes
        if wire == VARINT:
            value, at = decode_otlp_varint(data, at)
        elif wire == BYTES:
            length, at = decode_otlp_varint(data, at)
            if length > size - at:
                raise TruncatedMessage(number, data[at:])
            value, at = data[at : at + length], at + length
        elif wire in (FIXED64, FIXED32):
            end = at + (8 if wire == FIXED64 else 4)
            if end > size:
                raise TruncatedMessage
            value, at = int.from_bytes(data[at:end], "little"), end
        else:
            raise ValueError(f"a field of wire type {wire}")
        yield number, wire, value


def decode_otlp_varint(data: bytes, at: int) -> tuple[int, int]:
    """Return a varint, and the position after it."""
    value = 0
    for count in range(VARINT_BYTES_MAX):
        if at + count >= len(data):
            raise TruncatedMessage
        byte = data[at + count]
        value |= (byte & 0x7F) << (7 * count)
        if byte < 0x80:
            return value % _WRAP, at + count + 1
    raise ValueError("a number has more than 64 bits")


def decode_otlp_int64(value: int) -> int:
    """Return an ``int64`` from the bits of a varint."""
    return value - _WRAP if value >= _WRAP // 2 else value


def decode_otlp_double(value: int) -> float:
    """Return a ``double`` from the bits of a fixed field."""
    (number,) = struct.unpack("<d", value.to_bytes(8, "little"))
    return float(number)


def encode_otlp_varint(value: int) -> bytes:
    """Return a number as a varint; negative ones as their 64 bits.

    >>> encode_otlp_varint(300).hex(), len(encode_otlp_varint(-1))
    ('ac02', 10)
    """
    value %= _WRAP
    encoded = bytearray()
    while value >= 0x80:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)


def encode_otlp_field(number: int, value: int | bytes) -> bytes:
    """Return one field: bytes with their length, or a whole number as a varint."""
    if isinstance(value, bytes):
        return encode_otlp_varint(number << 3 | BYTES) + encode_otlp_varint(len(value)) + value
    return encode_otlp_varint(number << 3 | VARINT) + encode_otlp_varint(value)


def encode_otlp_fixed64(number: int, value: int | float) -> bytes:
    """Return one field of eight bytes: a whole number or a double."""
    return encode_otlp_varint(number << 3 | FIXED64) + struct.pack("<d" if isinstance(value, float) else "<Q", value)


# OTLP's protobuf in and out: ``TracesData`` or ``ExportTraceServiceRequest``, which have the same fields.
# The numbers are those of opentelemetry-proto's ``trace.proto``, ``common.proto`` and ``resource.proto``, version 1.
# Unknown fields are skipped.


RESOURCE_SPANS = 1
RESOURCE_TAG = bytes([RESOURCE_SPANS << 3 | BYTES])
"""The first byte of every message."""
RESOURCE, SCOPE_SPANS, OLD_SCOPE_SPANS = 1, 2, 1000
SCOPE_OF, SPANS = 1, 2
TRACE_ID, SPAN_ID, PARENT_ID, NAME, KIND, START, END = 1, 2, 4, 5, 6, 7, 8
ATTRIBUTES, DROPPED, EVENTS, LINKS, STATUS = 9, 10, 11, 13, 15
LINK_TRACE, LINK_SPAN, LINK_ATTRIBUTES = 1, 2, 4
EVENT_NAME, EVENT_ATTRIBUTES = 2, 3
STATUS_MESSAGE, STATUS_CODE = 2, 3
KEY, VALUE = 1, 2
TEXT, BOOL, INT, DOUBLE, ARRAY, PAIRS, RAW = range(1, 8)
INTERNAL = 1
VALUES_DEPTH_MAX = 32


def is_otlp_protobuf(head: bytes, size: int) -> bool:
    """Return whether a file of ``size`` bytes that starts with ``head`` may be OTLP's protobuf: its first fields fit.

    >>> is_otlp_protobuf(bytes.fromhex("0a021200"), 4), is_otlp_protobuf(b'{"resourceSpans":[]}', 20)
    (True, False)
    """
    try:
        tag, at = decode_otlp_varint(head, 0)
        length, at = decode_otlp_varint(head, at)
        if tag != RESOURCE_SPANS << 3 | BYTES or length > size - at:
            return False
        inner, at = decode_otlp_varint(head, at) if length else (RESOURCE << 3 | BYTES, at)
        inside, at = decode_otlp_varint(head, at) if length else (0, at)
    except ValueError:
        return False
    return inner in (RESOURCE << 3 | BYTES, SCOPE_SPANS << 3 | BYTES) and inside <= length


def parse_otlp_protobuf(data: bytes) -> Iterator[OtlpSpan | OtlpProblem]:
    """Yield the spans of one message, and a problem for each truncated or invalid part."""
    if len(data) > OBJECT_BYTES_MAX:
        yield OtlpProblem(f"a message of {len(data):,} bytes is over the limit of {OBJECT_BYTES_MAX:,}")
        return
    for resource in _iterate_otlp_messages(_Part(data), RESOURCE_SPANS):
        yield from (resource,) if isinstance(resource, OtlpProblem) else _parse_resource_spans(resource)


class _Part(Struct, frozen=True):
    """The bytes of a message; ``cut`` if truncated, which is reported already."""

    data: bytes
    cut: bool = False


def _parse_resource_spans(part: _Part) -> Iterator[OtlpSpan | OtlpProblem]:
    try:
        described = b"".join(
            message.data for message in _iterate_otlp_messages(part, RESOURCE) if isinstance(message, _Part)
        )
        resource = _parse_otlp_attributes(
            _read_otlp_bytes(field) for field in iterate_otlp_fields(described) if field[0] == 1
        )
    except ValueError:
        resource = {}  # the spans matter more than their resource
    for scope in _iterate_otlp_messages(part, SCOPE_SPANS, OLD_SCOPE_SPANS):
        for span in (scope,) if isinstance(scope, OtlpProblem) else _iterate_otlp_messages(scope, SPANS):
            if isinstance(span, OtlpProblem):
                yield span
            elif not span.cut:
                yield _parse_otlp_span(span.data, resource)


def _iterate_otlp_messages(part: _Part, *numbers: int) -> Iterator[_Part | OtlpProblem]:
    """Yield the messages in a message; the last may be truncated."""
    try:
        for field in iterate_otlp_fields(part.data):
            if field[0] in numbers:
                yield _Part(_read_otlp_bytes(field))
    except TruncatedMessage as cut:
        if not part.cut:
            yield OtlpProblem(f"invalid OTLP protobuf: {cut}")
        if cut.number in numbers:
            yield _Part(cut.rest, cut=True)
    except ValueError as error:
        yield OtlpProblem(f"invalid OTLP protobuf: {error}")


def _parse_otlp_span(data: bytes, resource: Mapping[str, OtlpValue]) -> OtlpSpan | OtlpProblem:
    try:
        return _span_from_otlp_fields(list(iterate_otlp_fields(data)), resource)
    except ValueError as error:
        return OtlpProblem(f"invalid OTLP protobuf in a span: {error}")


def _span_from_otlp_fields(fields: list[Field], resource: Mapping[str, OtlpValue]) -> OtlpSpan | OtlpProblem:
    last = {number: (number, wire, value) for number, wire, value in fields}
    trace, span = _read_otlp_id(last.get(TRACE_ID)), _read_otlp_id(last.get(SPAN_ID))
    if trace is None or span is None:
        return OtlpProblem(f"a span has no {'trace' if trace is None else 'span'} id")
    (start, bad_start), (end, bad_end) = _read_otlp_time(last.get(START)), _read_otlp_time(last.get(END))
    status_fields = list(iterate_otlp_fields(_read_otlp_bytes(last[STATUS]))) if STATUS in last else []
    status = {number: (number, wire, value) for number, wire, value in status_fields}
    attributes = _parse_otlp_attributes(_read_otlp_bytes(field) for field in fields if field[0] == ATTRIBUTES)
    if EVENTS in last and EXCEPTION not in attributes:
        attributes.update(_read_span_exception(_read_otlp_bytes(field) for field in fields if field[0] == EVENTS))
    code = _read_otlp_number(status.get(STATUS_CODE))
    return OtlpSpan(
        trace=trace,
        id=span,
        name=_read_otlp_text(last.get(NAME)),
        parent=_read_otlp_id(last.get(PARENT_ID)),
        start_ns=start,
        end_ns=end,
        status=code if code in (1, 2) else 0,
        message=_read_otlp_text(status.get(STATUS_MESSAGE)),
        attributes=attributes,
        dropped=min(_read_otlp_number(last.get(DROPPED)), COUNT_MAX),
        links=tuple(_parse_span_links(_read_otlp_bytes(field) for field in fields if field[0] == LINKS)),
        resource=resource,
        bad_times=bad_start + bad_end,
    )


def _read_span_exception(events: Iterable[bytes]) -> Iterator[tuple[str, OtlpValue]]:
    for event in events:
        fields = list(iterate_otlp_fields(event))
        if any(field[0] == EVENT_NAME and field[2] == b"exception" for field in fields):
            attributes = _parse_otlp_attributes(
                _read_otlp_bytes(field) for field in fields if field[0] == EVENT_ATTRIBUTES
            )
            yield from ((key, value) for key, value in attributes.items() if key == EXCEPTION)


def _parse_span_links(links: Iterable[bytes]) -> Iterator[OtlpLink]:
    for link in links:
        fields = list(iterate_otlp_fields(link))
        last = {number: (number, wire, value) for number, wire, value in fields}
        span = _read_otlp_id(last.get(LINK_SPAN))
        if span is not None:
            attributes = _parse_otlp_attributes(
                _read_otlp_bytes(field) for field in fields if field[0] == LINK_ATTRIBUTES
            )
            yield OtlpLink(_read_otlp_id(last.get(LINK_TRACE)), span, attributes)


def _parse_otlp_attributes(pairs: Iterable[bytes], depth: int = 0) -> dict[str, OtlpValue]:
    attributes: dict[str, OtlpValue] = {}
    for pair in pairs:
        last = {number: (number, wire, value) for number, wire, value in iterate_otlp_fields(pair)}
        attributes[_read_otlp_text(last.get(KEY))] = (
            _parse_otlp_value(_read_otlp_bytes(last[VALUE]), depth) if VALUE in last else None
        )
    return attributes


def _parse_otlp_value(data: bytes, depth: int) -> OtlpValue:
    if depth > VALUES_DEPTH_MAX:
        raise ValueError(f"values nested deeper than {VALUES_DEPTH_MAX} levels")
    value: OtlpValue = None
    for field in iterate_otlp_fields(data):
        match field[0]:
            case 1:
                value = _read_otlp_text(field)
            case 2:
                value = bool(_read_otlp_number(field))
            case 3:
                value = decode_otlp_int64(_read_otlp_number(field))
            case 4:
                value = decode_otlp_double(_read_otlp_number(field))
            case 5:
                value = [
                    _parse_otlp_value(_read_otlp_bytes(subfield), depth + 1)
                    for subfield in iterate_otlp_fields(_read_otlp_bytes(field))
                    if subfield[0] == 1
                ]
            case 6:
                value = {
                    **_parse_otlp_attributes(
                        (
                            _read_otlp_bytes(subfield)
                            for subfield in iterate_otlp_fields(_read_otlp_bytes(field))
                            if subfield[0] == 1
                        ),
                        depth + 1,
                    )
                }
            case 7:
                value = _read_otlp_bytes(field)
            case _:
                pass  # a newer kind of value
    return value


def _read_otlp_id(field: Field | None) -> str | None:
    raw = b"" if field is None else _read_otlp_bytes(field)
    return raw.hex() if any(raw) else None


def _read_otlp_time(field: Field | None) -> tuple[int | None, int]:
    try:
        return check_otlp_time(_read_otlp_number(field)), 0
    except ValueError:
        return None, 1


def _read_otlp_text(field: Field | None) -> str:
    return "" if field is None else _read_otlp_bytes(field).decode("utf-8", "replace")


def _read_otlp_number(field: Field | None) -> int:
    if field is None:
        return 0
    if isinstance(field[2], bytes):
        raise ValueError(f"field {field[0]} is not a number")
    return field[2]


def _read_otlp_bytes(field: Field) -> bytes:
    if not isinstance(field[2], bytes):
        raise ValueError(f"field {field[0]} is a number")
    return field[2]


# --- out --------------------------------------------------------------------------------------------------------------


def dump_otlp_protobuf(spans: Iterable[OtlpSpan]) -> bytes:
    """Return all ``spans`` as one message, under one resource; consecutive messages are one message."""
    encoded = b"".join(encode_otlp_field(SPANS, _encode_otlp_span(span)) for span in spans)
    resource = encode_otlp_field(1, _encode_otlp_attribute("service.name", SCOPE))
    scope = encode_otlp_field(SCOPE_OF, encode_otlp_field(1, SCOPE.encode())) + encoded
    return encode_otlp_field(
        RESOURCE_SPANS, encode_otlp_field(RESOURCE, resource) + encode_otlp_field(SCOPE_SPANS, scope)
    )


def _encode_otlp_span(span: OtlpSpan) -> bytes:
    parts = [
        encode_otlp_field(TRACE_ID, bytes.fromhex(span.trace)),
        encode_otlp_field(SPAN_ID, bytes.fromhex(span.id)),
        encode_otlp_field(PARENT_ID, bytes.fromhex(span.parent)) if span.parent is not None else b"",
        encode_otlp_field(NAME, span.name.encode("utf-8", "replace")),
        encode_otlp_field(KIND, INTERNAL),
        encode_otlp_fixed64(START, span.start_ns or 0),
        encode_otlp_fixed64(END, span.end_ns or 0),
        *(
            encode_otlp_field(ATTRIBUTES, _encode_otlp_attribute(key, span.attributes[key]))
            for key in sorted(span.attributes)
        ),
        encode_otlp_field(DROPPED, span.dropped) if span.dropped else b"",
        *(encode_otlp_field(LINKS, _encode_otlp_link(link)) for link in span.links),
        encode_otlp_field(STATUS, encode_otlp_field(STATUS_CODE, span.status) if span.status else b""),
    ]
    return b"".join(parts)


def _encode_otlp_link(link: OtlpLink) -> bytes:
    trace = b"" if link.trace is None else encode_otlp_field(LINK_TRACE, bytes.fromhex(link.trace))
    attributes = (
        encode_otlp_field(LINK_ATTRIBUTES, _encode_otlp_attribute(key, link.attributes[key]))
        for key in sorted(link.attributes)
    )
    return trace + encode_otlp_field(LINK_SPAN, bytes.fromhex(link.span)) + b"".join(attributes)


def _encode_otlp_attribute(key: str, value: OtlpValue) -> bytes:
    return encode_otlp_field(KEY, key.encode("utf-8", "replace")) + encode_otlp_field(VALUE, _encode_otlp_value(value))


def _encode_otlp_value(value: OtlpValue) -> bytes:
    match value:
        case None:
            return b""
        case bool():
            return encode_otlp_field(BOOL, int(value))
        case int():
            return encode_otlp_field(INT, value)
        case float():
            return encode_otlp_fixed64(DOUBLE, value)
        case str():
            return encode_otlp_field(TEXT, value.encode("utf-8", "replace"))
        case bytes():
            return encode_otlp_field(RAW, value)
        case list():
            return encode_otlp_field(
                ARRAY, b"".join(encode_otlp_field(1, _encode_otlp_value(child)) for child in value)
            )
        case dict():
            return encode_otlp_field(
                PAIRS,
                b"".join(
                    encode_otlp_field(1, _encode_otlp_attribute(key, child)) for key, child in sorted(value.items())
                ),
            )
