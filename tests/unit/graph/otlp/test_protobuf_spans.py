"""OTLP's protobuf, compared with the real protobuf library and with bytes written by hand."""

from importlib import import_module
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from custody.graph.otlp.protobuf import (
    dump_otlp_protobuf,
    encode_otlp_field,
    encode_otlp_fixed64,
    is_otlp_protobuf,
    iterate_otlp_fields,
    parse_otlp_protobuf,
)
from custody.graph.wire.otlp_span import OtlpLink, OtlpProblem, OtlpSpan, OtlpValue
from tests.builders.otlp import START_NS, TRACE
from tests.house.not_run import not_run

BY_HAND = bytes.fromhex(
    "0a 5f"  # resource_spans
    "  0a 12 0a 10 0a 0c 736572766963652e6e616d65 12 00"  # resource: service.name without a value
    "  12 49"  # scope_spans
    "    12 47"  # spans
    "      0a 10 5b8efff798038103d269b633813fc60c"  # trace_id
    "      12 08 0000000000000001"  # span_id
    "      22 08 0000000000000002"  # parent_span_id
    "      2a 04 63686174"  # name: chat
    "      39 0000000000000100"  # start_time_unix_nano: 2**48
    "      41 0100000000000100"  # end_time_unix_nano: 2**48 + 1
    "      7a 02 18 02"  # status: error
    "      9a06 02 6869"  # field 99: unknown
)


def test_bytes_by_hand() -> None:
    (span,) = parse_otlp_protobuf(BY_HAND)
    assert span == OtlpSpan(
        trace=TRACE,
        id="0000000000000001",
        parent="0000000000000002",
        name="chat",
        start_ns=2**48,
        end_ns=2**48 + 1,
        status=2,
        resource={"service.name": None},
    )


def test_truncated_bytes_give_the_spans_before_the_cut() -> None:
    whole = dump_otlp_protobuf([a_span("0000000000000001")]) + dump_otlp_protobuf([a_span("0000000000000002")])
    first, second = parse_otlp_protobuf(whole[:-3])
    assert isinstance(first, OtlpSpan) and first.id == "0000000000000001"
    assert isinstance(second, OtlpProblem) and "truncated" in second.what


def test_spans_of_one_message_are_kept_up_to_the_cut() -> None:
    whole = dump_otlp_protobuf([a_span(f"{n:016x}") for n in range(1, 5)])
    for size in range(len(whole)):
        items = list(parse_otlp_protobuf(whole[:size]))
        spans = [item.id for item in items if isinstance(item, OtlpSpan)]
        assert spans == [f"{n:016x}" for n in range(1, len(spans) + 1)]
        assert len(items) - len(spans) == (size > 0)
    assert len(list(parse_otlp_protobuf(whole[:-1]))) == 4


def test_an_invalid_span_loses_only_itself() -> None:
    spans = (
        encode_otlp_field(2, encode_otlp_field(1, b"\x01" * 16)),
        encode_otlp_field(2, b"\x0a\xff"),
        encode_otlp_field(2, encode_otlp_field(1, b"\x01" * 16) + encode_otlp_field(2, b"\x02" * 8)),
    )
    items = list(parse_otlp_protobuf(encode_otlp_field(1, encode_otlp_field(2, b"".join(spans)))))
    assert [type(item) for item in items] == [OtlpProblem, OtlpProblem, OtlpSpan]


def test_values_that_are_nested_too_deep_are_refused() -> None:
    value = encode_otlp_field(1, b"x")
    for _ in range(40):
        value = encode_otlp_field(5, encode_otlp_field(1, value))
    pair = encode_otlp_field(1, b"deep") + encode_otlp_field(2, value)
    span = encode_otlp_field(1, b"\x01" * 16) + encode_otlp_field(2, b"\x02" * 8) + encode_otlp_field(9, pair)
    (problem,) = parse_otlp_protobuf(encode_otlp_field(1, encode_otlp_field(2, encode_otlp_field(2, span))))
    assert isinstance(problem, OtlpProblem) and "nested" in problem.what


def test_a_time_that_no_store_can_hold_counts_as_missing() -> None:
    span = (
        encode_otlp_field(1, b"\x01" * 16)
        + encode_otlp_field(2, b"\x02" * 8)
        + encode_otlp_fixed64(7, 2**64 - 1)
        + encode_otlp_fixed64(8, 5)
    )
    (item,) = parse_otlp_protobuf(encode_otlp_field(1, encode_otlp_field(2, encode_otlp_field(2, span))))
    assert isinstance(item, OtlpSpan) and (item.start_ns, item.end_ns, item.bad_times) == (None, 5, 1)


def test_its_first_bytes_distinguish_it_from_text() -> None:
    data = dump_otlp_protobuf([a_span("0000000000000001")])
    assert is_otlp_protobuf(data[:64], len(data))
    assert not any(is_otlp_protobuf(text, 1000) for text in (b"\n\n\n", b"\nsome text", b'{"a":1}', b"", b"\x0a"))


@given(st.binary(max_size=200))
def test_any_bytes_give_spans_or_problems(data: bytes) -> None:
    assert all(isinstance(item, OtlpSpan | OtlpProblem) for item in parse_otlp_protobuf(data))


@given(st.data())
def test_a_damaged_message_gives_spans_or_problems(data: st.DataObject) -> None:
    whole = bytearray(dump_otlp_protobuf([a_span("0000000000000001")]))
    whole[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))
    assert all(isinstance(item, OtlpSpan | OtlpProblem) for item in parse_otlp_protobuf(bytes(whole)))


def a_span(own: str, **more: Any) -> OtlpSpan:
    attributes: dict[str, OtlpValue] = {
        "text": "é",
        "yes": True,
        "whole": -5,
        "real": 2.5,
        "list": ["a", 1],
        "pairs": {"k": b"\x00\xff"},
        "none": None,
    }
    base: dict[str, Any] = {
        "trace": TRACE,
        "id": own,
        "name": "step",
        "parent": "00000000000000ff",
        "start_ns": START_NS,
        "end_ns": START_NS + 7,
        "status": 1,
        "attributes": attributes,
        "dropped": 3,
        "links": (OtlpLink(TRACE, "00000000000000aa", {"why": "retry"}),),
    }
    return OtlpSpan(**{**base, **more})


# --- the real library -------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def real() -> Any:
    """The messages of opentelemetry-proto, described field by field to the real protobuf library."""
    try:
        names = ("descriptor_pb2", "descriptor_pool", "message_factory")
        descriptor_pb2, descriptor_pool, message_factory = (import_module(f"google.protobuf.{name}") for name in names)
    except ImportError as why:
        not_run("the protobuf library", why)
    file = descriptor_pb2.FileDescriptorProto(name="custody_test_trace.proto", package="t", syntax="proto3")
    kind = descriptor_pb2.FieldDescriptorProto
    plain = {
        "string": kind.TYPE_STRING,
        "bytes": kind.TYPE_BYTES,
        "bool": kind.TYPE_BOOL,
        "int64": kind.TYPE_INT64,
        "double": kind.TYPE_DOUBLE,
        "fixed64": kind.TYPE_FIXED64,
        "fixed32": kind.TYPE_FIXED32,
        "uint32": kind.TYPE_UINT32,
        "int32": kind.TYPE_INT32,
    }
    for name, fields in MESSAGES.items():
        message = file.message_type.add(name=name)
        for described in fields.split("; "):
            *words, number = described.split()
            repeated = words[0] == "repeated"
            typed, called = words[-2:]
            field = message.field.add(name=called, number=int(number))
            field.label = kind.LABEL_REPEATED if repeated else kind.LABEL_OPTIONAL
            if typed in plain:
                field.type = plain[typed]
            else:
                field.type, field.type_name = kind.TYPE_MESSAGE, f".t.{typed}"
            if name == "AnyValue":
                field.oneof_index = 0
        if name == "AnyValue":
            message.oneof_decl.add(name="value")
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("t.TracesData"))


MESSAGES = {
    "AnyValue": "string string_value 1; bool bool_value 2; int64 int_value 3; double double_value 4;"
    " ArrayValue array_value 5; KeyValueList kvlist_value 6; bytes bytes_value 7",
    "ArrayValue": "repeated AnyValue values 1",
    "KeyValueList": "repeated KeyValue values 1",
    "KeyValue": "string key 1; AnyValue value 2",
    "Resource": "repeated KeyValue attributes 1; uint32 dropped_attributes_count 2",
    "Scope": "string name 1; string version 2",
    "Event": "fixed64 time_unix_nano 1; string name 2; repeated KeyValue attributes 3",
    "Link": "bytes trace_id 1; bytes span_id 2; string trace_state 3; repeated KeyValue attributes 4; fixed32 flags 6",
    "Status": "string message 2; int32 code 3",
    "Span": "bytes trace_id 1; bytes span_id 2; string trace_state 3; bytes parent_span_id 4; string name 5;"
    " int32 kind 6; fixed64 start_time_unix_nano 7; fixed64 end_time_unix_nano 8; repeated KeyValue attributes 9;"
    " uint32 dropped_attributes_count 10; repeated Event events 11; repeated Link links 13; Status status 15;"
    " fixed32 flags 16",
    "ScopeSpans": "Scope scope 1; repeated Span spans 2; string schema_url 3",
    "ResourceSpans": "Resource resource 1; repeated ScopeSpans scope_spans 2; string schema_url 3",
    "TracesData": "repeated ResourceSpans resource_spans 1",
}


def test_the_real_library_reads_what_we_write(real: Any) -> None:
    message = real.FromString(dump_otlp_protobuf([a_span("0000000000000001")]))
    (span,) = message.resource_spans[0].scope_spans[0].spans
    assert (span.trace_id.hex(), span.span_id.hex(), span.parent_span_id.hex()) == (
        TRACE,
        "0000000000000001",
        "00000000000000ff",
    )
    assert (span.name, span.kind, span.status.code, span.dropped_attributes_count) == ("step", 1, 1, 3)
    assert (span.start_time_unix_nano, span.end_time_unix_nano) == (START_NS, START_NS + 7)
    attributes = {pair.key: pair.value for pair in span.attributes}
    assert (attributes["text"].string_value, attributes["yes"].bool_value, attributes["whole"].int_value) == (
        "é",
        True,
        -5,
    )
    assert attributes["real"].double_value == 2.5 and attributes["none"].WhichOneof("value") is None
    assert [value.WhichOneof("value") for value in attributes["list"].array_value.values] == [
        "string_value",
        "int_value",
    ]
    assert attributes["pairs"].kvlist_value.values[0].value.bytes_value == b"\x00\xff"
    assert span.links[0].span_id.hex() == "00000000000000aa"
    assert message.resource_spans[0].resource.attributes[0].value.string_value == "custody"


def test_we_read_what_the_real_library_writes(real: Any) -> None:
    message = real()
    resource = message.resource_spans.add(schema_url="https://example.org/schema")
    resource.resource.attributes.add(key="service.name").value.string_value = "robot"
    scope = resource.scope_spans.add()
    scope.scope.name = "lib"
    span = scope.spans.add(
        trace_id=bytes.fromhex(TRACE), span_id=b"\x00" * 7 + b"\x01", name="chat", kind=3, trace_state="a=b", flags=257
    )
    span.start_time_unix_nano, span.end_time_unix_nano = START_NS, START_NS + 1
    span.attributes.add(key="n").value.int_value = -(2**63)
    span.attributes.add(key="l").value.array_value.values.add().double_value = 0.1
    span.status.code, span.status.message = 2, "no"
    event = span.events.add(name="exception", time_unix_nano=START_NS)
    event.attributes.add(key="exception.type").value.string_value = "OSError"
    link = span.links.add(trace_id=bytes.fromhex(TRACE), span_id=b"\x00" * 7 + b"\x02")
    assert link.flags == 0
    assert list(parse_otlp_protobuf(message.SerializeToString())) == [
        OtlpSpan(
            trace=TRACE,
            id="0000000000000001",
            name="chat",
            start_ns=START_NS,
            end_ns=START_NS + 1,
            status=2,
            message="no",
            attributes={"n": -(2**63), "l": [0.1], "exception.type": "OSError"},
            links=(OtlpLink(TRACE, "0000000000000002"),),
            resource={"service.name": "robot"},
        )
    ]


_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False) | st.text() | st.binary(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)


@given(st.dictionaries(st.text(), _values, max_size=4))
def test_the_real_library_rewrites_our_bytes_unchanged(real: Any, attributes: dict[str, OtlpValue]) -> None:
    ours = dump_otlp_protobuf([a_span("0000000000000001", attributes=attributes)])
    again = real.FromString(ours).SerializeToString(deterministic=True)
    assert list(parse_otlp_protobuf(again)) == list(parse_otlp_protobuf(ours))
    assert not any(number > 16 for number, _, _ in iterate_otlp_fields(again))
