"""Protobuf's wire format, as much of it as OTLP needs: fields in, fields out.

Nothing here knows a message; ``otlp_proto`` does. What is cut short or makes no sense is a ``ValueError``.
"""

import struct
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from custody.graph.otlp.json import EXCEPTION, SCOPE
from custody.graph.wire.otlp_span import (
    COUNT_MAX,
    OBJECT_BYTES_MAX,
    OtlpLink,
    OtlpProblem,
    OtlpSpan,
    OtlpValue,
    time_of,
)

VARINT, FIXED64, BYTES, GROUP, GROUP_END, FIXED32 = range(6)
VARINT_BYTES_MAX = 10
_WRAP = 2**64

Field = tuple[int, int, int | bytes]
"""Its number, its wire type, and a whole number (varint, fixed) or bytes."""


class TruncatedMessage(ValueError):
    """The bytes end before what they announce."""

    def __init__(self, number: int = 0, rest: bytes = b"") -> None:
        super().__init__("cut short")
        self.number = number
        """The field whose bytes are not all there; 0 where it is not even known which."""
        self.rest = rest


def fields_of(data: bytes) -> Iterator[Field]:
    """The fields of one message in the order in which they stand; groups, which nobody writes any more, are refused.

    >>> list(fields_of(bytes.fromhex("0801120161")))
    [(1, 0, 1), (2, 2, b'a')]
    """
    at, size = 0, len(data)
    while at < size:
        tag, at = varint(data, at)
        number, wire = tag >> 3, tag & 7
        if number == 0:
            raise ValueError("a field without a number")
        value: int | bytes
        if wire == VARINT:
            value, at = varint(data, at)
        elif wire == BYTES:
            length, at = varint(data, at)
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


def varint(data: bytes, at: int) -> tuple[int, int]:
    """A number that takes as many bytes as it needs, and where the next one stands."""
    value = 0
    for count in range(VARINT_BYTES_MAX):
        if at + count >= len(data):
            raise TruncatedMessage
        byte = data[at + count]
        value |= (byte & 0x7F) << (7 * count)
        if byte < 0x80:
            return value % _WRAP, at + count + 1
    raise ValueError("a number of more than 64 bits")


def decode_signed(value: int) -> int:
    """An ``int64`` from the bits that a varint holds."""
    return value - _WRAP if value >= _WRAP // 2 else value


def double(value: int) -> float:
    """A ``double`` from the bits that a fixed field holds."""
    (number,) = struct.unpack("<d", value.to_bytes(8, "little"))
    return float(number)


def put_varint(value: int) -> bytes:
    """A number as a varint; negative ones as their 64 bits.

    >>> put_varint(300).hex(), len(put_varint(-1))
    ('ac02', 10)
    """
    value %= _WRAP
    made = bytearray()
    while value >= 0x80:
        made.append(value & 0x7F | 0x80)
        value >>= 7
    made.append(value)
    return bytes(made)


def encode_field(number: int, value: int | bytes) -> bytes:
    """One field: bytes with their length, a whole number as a varint."""
    if isinstance(value, bytes):
        return put_varint(number << 3 | BYTES) + put_varint(len(value)) + value
    return put_varint(number << 3 | VARINT) + put_varint(value)


def put_fixed64(number: int, value: int | float) -> bytes:
    """One field of eight bytes: a whole number or a double."""
    return put_varint(number << 3 | FIXED64) + struct.pack("<d" if isinstance(value, float) else "<Q", value)


# OTLP's protobuf in and out: ``TracesData`` or ``ExportTraceServiceRequest``, which have the same fields.
# The numbers are those of opentelemetry-proto's ``trace.proto``, ``common.proto`` and ``resource.proto``, version 1.
# Unknown fields are passed over.


RESOURCE_SPANS = 1
RESOURCE_TAG = bytes([RESOURCE_SPANS << 3 | BYTES])
"""How every message begins."""
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


def looks_like_proto(head: bytes, size: int) -> bool:
    """Whether a file of ``size`` bytes that begins so may be OTLP's protobuf: its first field and what is inside fit.

    >>> looks_like_proto(bytes.fromhex("0a021200"), 4), looks_like_proto(b'{"resourceSpans":[]}', 20)
    (True, False)
    """
    try:
        tag, at = varint(head, 0)
        length, at = varint(head, at)
        if tag != RESOURCE_SPANS << 3 | BYTES or length > size - at:
            return False
        inner, at = varint(head, at) if length else (RESOURCE << 3 | BYTES, at)
        inside, at = varint(head, at) if length else (0, at)
    except ValueError:
        return False
    return inner in (RESOURCE << 3 | BYTES, SCOPE_SPANS << 3 | BYTES) and inside <= length


def proto_spans(data: bytes) -> Iterator[OtlpSpan | OtlpProblem]:
    """The spans of one message; where it is cut short or makes no sense, that is said, and the rest is used."""
    if len(data) > OBJECT_BYTES_MAX:
        yield OtlpProblem(f"a message of {len(data):,} bytes is over the limit of {OBJECT_BYTES_MAX:,}")
        return
    for resource in _messages(_Part(data), RESOURCE_SPANS):
        yield from (resource,) if isinstance(resource, OtlpProblem) else _of_resource(resource)


@dataclass(frozen=True, slots=True)
class _Part:
    """The bytes of a message; ``cut`` when they are not all there, which was said then."""

    data: bytes
    cut: bool = False


def _of_resource(part: _Part) -> Iterator[OtlpSpan | OtlpProblem]:
    try:
        described = b"".join(message.data for message in _messages(part, RESOURCE) if isinstance(message, _Part))
        resource = _attributes(_bytes(field) for field in fields_of(described) if field[0] == 1)
    except ValueError:
        resource = {}  # its spans say more than what it is called
    for scope in _messages(part, SCOPE_SPANS, OLD_SCOPE_SPANS):
        for span in (scope,) if isinstance(scope, OtlpProblem) else _messages(scope, SPANS):
            if isinstance(span, OtlpProblem):
                yield span
            elif not span.cut:
                yield _read(span.data, resource)


def _messages(part: _Part, *numbers: int) -> Iterator[_Part | OtlpProblem]:
    """The messages in a message, the last perhaps as far as it goes."""
    try:
        for field in fields_of(part.data):
            if field[0] in numbers:
                yield _Part(_bytes(field))
    except TruncatedMessage as cut:
        if not part.cut:
            yield OtlpProblem(f"not OTLP's protobuf: {cut}")
        if cut.number in numbers:
            yield _Part(cut.rest, cut=True)
    except ValueError as error:
        yield OtlpProblem(f"not OTLP's protobuf: {error}")


def _read(data: bytes, resource: Mapping[str, OtlpValue]) -> OtlpSpan | OtlpProblem:
    try:
        return _span(list(fields_of(data)), resource)
    except ValueError as error:
        return OtlpProblem(f"a span that is not OTLP's protobuf: {error}")


def _span(fields: list[Field], resource: Mapping[str, OtlpValue]) -> OtlpSpan | OtlpProblem:
    last = {number: (number, wire, value) for number, wire, value in fields}
    trace, span = _id(last.get(TRACE_ID)), _id(last.get(SPAN_ID))
    if trace is None or span is None:
        return OtlpProblem(f"a span without an id of its {'trace' if trace is None else 'own'}")
    (start, bad_start), (end, bad_end) = _time(last.get(START)), _time(last.get(END))
    status = list(fields_of(_bytes(last[STATUS]))) if STATUS in last else []
    said = {number: (number, wire, value) for number, wire, value in status}
    attributes = _attributes(_bytes(field) for field in fields if field[0] == ATTRIBUTES)
    if EVENTS in last and EXCEPTION not in attributes:
        attributes.update(_exception(_bytes(field) for field in fields if field[0] == EVENTS))
    code = _number(said.get(STATUS_CODE))
    return OtlpSpan(
        trace=trace,
        id=span,
        name=_text(last.get(NAME)),
        parent=_id(last.get(PARENT_ID)),
        start_ns=start,
        end_ns=end,
        status=code if code in (1, 2) else 0,
        message=_text(said.get(STATUS_MESSAGE)),
        attributes=attributes,
        dropped=min(_number(last.get(DROPPED)), COUNT_MAX),
        links=tuple(_links(_bytes(field) for field in fields if field[0] == LINKS)),
        resource=resource,
        bad_times=bad_start + bad_end,
    )


def _exception(events: Iterable[bytes]) -> Iterator[tuple[str, OtlpValue]]:
    for event in events:
        fields = list(fields_of(event))
        if any(field[0] == EVENT_NAME and field[2] == b"exception" for field in fields):
            given = _attributes(_bytes(field) for field in fields if field[0] == EVENT_ATTRIBUTES)
            yield from ((key, value) for key, value in given.items() if key == EXCEPTION)


def _links(links: Iterable[bytes]) -> Iterator[OtlpLink]:
    for link in links:
        fields = list(fields_of(link))
        last = {number: (number, wire, value) for number, wire, value in fields}
        span = _id(last.get(LINK_SPAN))
        if span is not None:
            given = _attributes(_bytes(field) for field in fields if field[0] == LINK_ATTRIBUTES)
            yield OtlpLink(_id(last.get(LINK_TRACE)), span, given)


def _attributes(pairs: Iterable[bytes], depth: int = 0) -> dict[str, OtlpValue]:
    found: dict[str, OtlpValue] = {}
    for pair in pairs:
        last = {number: (number, wire, value) for number, wire, value in fields_of(pair)}
        found[_text(last.get(KEY))] = _value(_bytes(last[VALUE]), depth) if VALUE in last else None
    return found


def _value(data: bytes, depth: int) -> OtlpValue:
    if depth > VALUES_DEPTH_MAX:
        raise ValueError(f"values nested deeper than {VALUES_DEPTH_MAX} levels")
    value: OtlpValue = None
    for field in fields_of(data):
        match field[0]:
            case 1:
                value = _text(field)
            case 2:
                value = bool(_number(field))
            case 3:
                value = decode_signed(_number(field))
            case 4:
                value = double(_number(field))
            case 5:
                value = [
                    _value(_bytes(subfield), depth + 1) for subfield in fields_of(_bytes(field)) if subfield[0] == 1
                ]
            case 6:
                value = {
                    **_attributes(
                        (_bytes(subfield) for subfield in fields_of(_bytes(field)) if subfield[0] == 1), depth + 1
                    )
                }
            case 7:
                value = _bytes(field)
            case _:
                pass  # a kind of value that came after this was written
    return value


def _id(field: Field | None) -> str | None:
    raw = b"" if field is None else _bytes(field)
    return raw.hex() if any(raw) else None


def _time(field: Field | None) -> tuple[int | None, int]:
    try:
        return time_of(_number(field)), 0
    except ValueError:
        return None, 1


def _text(field: Field | None) -> str:
    return "" if field is None else _bytes(field).decode("utf-8", "replace")


def _number(field: Field | None) -> int:
    if field is None:
        return 0
    if isinstance(field[2], bytes):
        raise ValueError(f"field {field[0]} holds no number")
    return field[2]


def _bytes(field: Field) -> bytes:
    if not isinstance(field[2], bytes):
        raise ValueError(f"field {field[0]} holds a number")
    return field[2]


# --- out --------------------------------------------------------------------------------------------------------------


def dump_proto(spans: Iterable[OtlpSpan]) -> bytes:
    """All ``spans`` as one message, under one resource; several messages one after another are one again."""
    made = b"".join(encode_field(SPANS, _put_span(span)) for span in spans)
    resource = encode_field(1, _put_pair("service.name", SCOPE))
    scope = encode_field(SCOPE_OF, encode_field(1, SCOPE.encode())) + made
    return encode_field(RESOURCE_SPANS, encode_field(RESOURCE, resource) + encode_field(SCOPE_SPANS, scope))


def _put_span(span: OtlpSpan) -> bytes:
    parts = [
        encode_field(TRACE_ID, bytes.fromhex(span.trace)),
        encode_field(SPAN_ID, bytes.fromhex(span.id)),
        encode_field(PARENT_ID, bytes.fromhex(span.parent)) if span.parent is not None else b"",
        encode_field(NAME, span.name.encode("utf-8", "replace")),
        encode_field(KIND, INTERNAL),
        put_fixed64(START, span.start_ns or 0),
        put_fixed64(END, span.end_ns or 0),
        *(encode_field(ATTRIBUTES, _put_pair(key, span.attributes[key])) for key in sorted(span.attributes)),
        encode_field(DROPPED, span.dropped) if span.dropped else b"",
        *(encode_field(LINKS, _put_link(link)) for link in span.links),
        encode_field(STATUS, encode_field(STATUS_CODE, span.status) if span.status else b""),
    ]
    return b"".join(parts)


def _put_link(link: OtlpLink) -> bytes:
    trace = b"" if link.trace is None else encode_field(LINK_TRACE, bytes.fromhex(link.trace))
    given = (encode_field(LINK_ATTRIBUTES, _put_pair(key, link.attributes[key])) for key in sorted(link.attributes))
    return trace + encode_field(LINK_SPAN, bytes.fromhex(link.span)) + b"".join(given)


def _put_pair(key: str, value: OtlpValue) -> bytes:
    return encode_field(KEY, key.encode("utf-8", "replace")) + encode_field(VALUE, _put_value(value))


def _put_value(value: OtlpValue) -> bytes:
    match value:
        case None:
            return b""
        case bool():
            return encode_field(BOOL, int(value))
        case int():
            return encode_field(INT, value)
        case float():
            return put_fixed64(DOUBLE, value)
        case str():
            return encode_field(TEXT, value.encode("utf-8", "replace"))
        case bytes():
            return encode_field(RAW, value)
        case list():
            return encode_field(ARRAY, b"".join(encode_field(1, _put_value(child)) for child in value))
        case dict():
            return encode_field(
                PAIRS, b"".join(encode_field(1, _put_pair(key, child)) for key, child in sorted(value.items()))
            )
