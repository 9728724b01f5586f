"""OpenTelemetry's JSON and the flat formats of exporters become spans, and spans become events."""

import json
from importlib import import_module
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from custody.core.wire.canonical import dump_canonical_json, parse_json_bytes
from custody.core.wire.event import SpanEvent, event_from_json
from custody.graph.otlp.event import SpanEventResult, span_event_from_otlp
from custody.graph.otlp.json import is_otlp_json, parse_otlp_spans
from custody.graph.wire.attribute_names import HINTS, MCP_METHODS, NAMES, OPERATION, OPERATIONS, TEXTS
from custody.graph.wire.otlp_span import OtlpLink, OtlpProblem, OtlpRepair, OtlpSpan
from tests.builders.otlp import START_NS, TRACE, a_request, an_otlp_span

SPAN = "0000000000000001"


def the_span(value: Any) -> OtlpSpan:
    (span,) = parse_otlp_spans(parse_json_bytes(json.dumps(value).encode()))
    assert isinstance(span, OtlpSpan), span
    return span


def made_of(**more: Any) -> SpanEventResult:
    return span_event_from_otlp(the_span(a_request(an_otlp_span(**more))), texts=more.pop("texts", False))


def the_event(result: SpanEventResult) -> SpanEvent:
    event = event_from_json(parse_json_bytes(dump_canonical_json(result.event)))
    assert isinstance(event, SpanEvent)
    return event


def codes(result: SpanEventResult) -> list[OtlpRepair]:
    return [code for code, _ in result.repairs]


def test_a_request_in_either_spelling() -> None:
    camel = a_request(an_otlp_span(1, parent=2, attributes={"n": 5, "yes": True, "real": 2.5, "l": ["a", 1]}))
    snake = json.loads(
        json.dumps(camel)
        .replace("resourceSpans", "resource_spans")
        .replace("scopeSpans", "scope_spans")
        .replace("traceId", "trace_id")
        .replace("spanId", "span_id")
        .replace("parentSpanId", "parent_span_id")
        .replace("startTimeUnixNano", "start_time_unix_nano")
        .replace("endTimeUnixNano", "end_time_unix_nano")
        .replace("stringValue", "string_value")
        .replace("intValue", "int_value")
    )
    span = the_span(camel)
    assert span == the_span(snake)
    assert (span.trace, span.id, span.parent, span.start_ns) == (TRACE, SPAN, "0000000000000002", START_NS + 10**9)
    assert span.attributes == {"n": 5, "yes": True, "real": 2.5, "l": ["a", 1]}
    assert span.resource == {"service.name": "robot"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (TRACE.upper(), TRACE),
        ("0x" + TRACE, TRACE),
        ("W47/95gDgQPSabYzgT/GDA==", TRACE),
        ("run 7", "run 7"),
    ],
)
def test_ids_may_be_hex_base64_or_other_text(text: str, expected: str) -> None:
    assert the_span(an_otlp_span(traceId=text)).trace == expected


@pytest.mark.parametrize("missing", ["", "0" * 16, "AAAAAAAAAAA="])
def test_a_span_without_an_id_is_a_problem_and_an_empty_parent_is_ignored(missing: str) -> None:
    (problem,) = parse_otlp_spans(an_otlp_span(spanId=missing))
    assert problem == OtlpProblem("a span has no span id")
    assert the_span(an_otlp_span(parentSpanId=missing)).parent is None


@pytest.mark.parametrize("time", [str(START_NS), START_NS, float(START_NS), "2023-11-14T22:13:20Z"])
def test_times_may_be_text_numbers_or_timestamps(time: object) -> None:
    assert the_span(an_otlp_span(startTimeUnixNano=time)).start_ns == START_NS


def test_invalid_times_are_reported_and_the_span_is_stored() -> None:
    assert codes(made_of(startTimeUnixNano="soon")) == [OtlpRepair.BAD_TIME, OtlpRepair.NO_START]
    assert codes(made_of(endTimeUnixNano=str(2**64 - 1))) == [OtlpRepair.BAD_TIME, OtlpRepair.NO_END]
    assert codes(made_of(startTimeUnixNano=-5, endTimeUnixNano=None)) == [OtlpRepair.BAD_TIME, OtlpRepair.NO_TIME]
    assert codes(made_of(endTimeUnixNano="5")) == [OtlpRepair.BACKWARDS]
    for result in (made_of(startTimeUnixNano=0), made_of(endTimeUnixNano=0), made_of(endTimeUnixNano="5")):
        assert the_event(result).name == "step 1"
    assert [the_event(made_of(**{name: "0"})).phase for name in ("startTimeUnixNano", "endTimeUnixNano")] == [
        "end",
        "start",
    ]


def test_a_span_as_the_sdk_prints_it() -> None:
    span = the_span(
        {
            "name": "chat",
            "context": {"trace_id": "0x" + TRACE, "span_id": "0x" + SPAN, "trace_state": "[]"},
            "kind": "SpanKind.CLIENT",
            "parent_id": "0x00000000000000ff",
            "start_time": "2023-11-14T22:13:20.000000Z",
            "end_time": "2023-11-14T22:13:21.000000Z",
            "status": {"status_code": "ERROR", "description": "no"},
            "attributes": {"gen_ai.operation.name": "chat"},
            "events": [{"name": "exception", "attributes": {"exception.type": "OSError", "exception.message": "x"}}],
            "links": [{"context": {"trace_id": "0x" + TRACE, "span_id": "0x00000000000000aa"}}],
            "resource": {"attributes": {"service.name": "robot"}, "schema_url": ""},
        }
    )
    assert (span.parent, span.status, span.message) == ("00000000000000ff", 2, "no")
    assert span.attributes == {"gen_ai.operation.name": "chat", "exception.type": "OSError"}
    assert span.links == (OtlpLink(TRACE, "00000000000000aa"),)
    assert span.resource["service.name"] == "robot"


def test_a_trace_with_flat_spans_and_durations() -> None:
    line: Any = {
        "trace": TRACE,
        "set": "x",
        "spans": [
            {
                "id": SPAN,
                "parent": None,
                "kind": "TOOL",
                "name": "FinalAnswerTool",
                "start": "2023-11-14T22:13:20Z",
                "dur": "P1DT1H1M1.5S",
                "status": "Ok",
                "tool": "final_answer",
                "model": None,
            }
        ],
    }
    assert is_otlp_json(line)
    span = the_span(line)
    assert (span.end_ns or 0) - START_NS == (86_400 + 3_600 + 60 + 1) * 10**9 + 500_000_000
    event = the_event(span_event_from_otlp(span))
    assert (event.execution, event.span_kind, event.name, event.status) == (TRACE, "tool", "final_answer", "ok")
    assert event.attributes["otel.name"] == "FinalAnswerTool"


def test_spans_inside_spans_have_them_as_parents() -> None:
    inner = {"span_id": "b" * 16, "span_name": "inner", "child_spans": [{"span_id": "c" * 16}, 5]}
    outer = {"trace_id": TRACE, "spans": [{"span_id": "a" * 16, "span_name": "outer", "child_spans": [inner]}]}
    items = list(parse_otlp_spans(parse_json_bytes(json.dumps(outer).encode())))
    assert [(item.id[0], item.parent and item.parent[0]) for item in items if isinstance(item, OtlpSpan)] == [
        ("a", None),
        ("b", "a"),
        ("c", "b"),
    ]
    assert isinstance(items[-1], OtlpProblem)


@pytest.mark.parametrize("value", [5, "x", [1], {}, {"resourceSpans": 5}, {"files": []}])
def test_a_value_without_spans_gives_none(value: Any) -> None:
    assert not is_otlp_json(value) or value == {"resourceSpans": 5}
    assert not any(isinstance(item, OtlpSpan) for item in parse_otlp_spans(value))


@pytest.mark.parametrize(
    ("attributes", "name", "kind", "called", "server"),
    [
        ({"openinference.span.kind": "AGENT"}, "CodeAgent.run", "agent", "CodeAgent.run", None),
        ({"openinference.span.kind": "CHAIN"}, "Step 1", "workflow", "Step 1", None),
        ({"openinference.span.kind": "LLM", "llm.model_name": "o3-mini"}, "call", "llm", "o3-mini", None),
        ({"openinference.span.kind": "RETRIEVER"}, "search", "retrieval", "search", None),
        ({"openinference.span.kind": "TOOL", "tool.name": "grep"}, "GrepTool", "tool", "grep", None),
        ({"gen_ai.operation.name": "chat", "gen_ai.request.model": "m"}, "chat m", "llm", "m", None),
        ({"gen_ai.operation.name": "execute_tool"}, "execute_tool grep", "tool", "grep", None),
        ({"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "Ada"}, "invoke_agent", "agent", "Ada", None),
        ({"gen_ai.operation.name": "invoke_workflow"}, "invoke_workflow w", "workflow", "w", None),
        ({"gen_ai.operation.name": "retrieval", "gen_ai.data_source.id": "d"}, "retrieval d", "retrieval", "d", None),
        (
            {"mcp.method.name": "tools/call", "gen_ai.tool.name": "read", "mcp.server.name": "files"},
            "tools/call read",
            "tool",
            "read",
            "files",
        ),
        ({"mcp.method.name": "tools/call", "server.address": "h"}, "tools/call read", "tool", "read", "h"),
        ({"mcp.method.name": "resources/read", "mcp.resource.uri": "file:///a"}, "r", "retrieval", "file:///a", None),
        ({"mcp.method.name": "tools/list"}, "tools/list", "capability", "tools/list", None),
        ({"traceloop.span.kind": "workflow", "traceloop.entity.name": "w"}, "w.workflow", "workflow", "w", None),
        ({"tool.name": "mcp__github__get_issue"}, "x", "tool", "get_issue", "github"),
        ({"server.address": "db"}, "GET /", "capability", "GET /", None),
        ({"openinference.span.kind": ["LLM"]}, "odd", "capability", "odd", None),
    ],
)
def test_names_of_conventions_become_our_kinds(
    attributes: dict[str, object], name: str, kind: str, called: str, server: str | None
) -> None:
    event = the_event(made_of(name=name, attributes=attributes))
    assert (event.span_kind, event.name, event.server) == (kind, called, server)


def test_session_and_agent_come_from_their_attributes() -> None:
    event = the_event(made_of(attributes={"session.id": "s1"}))
    assert (event.agent, event.session) == ("robot", "s1")
    unnamed = the_event(span_event_from_otlp(the_span(a_request(an_otlp_span(), service="unknown_service:python"))))
    assert (unnamed.agent, unnamed.session) == (None, None)
    assert the_event(made_of(attributes={"gen_ai.conversation.id": "c"})).session == "c"


def test_prompts_and_answers_are_left_out_unless_requested() -> None:
    attributes = {"input.value": "a secret plan " * 200, "llm.input_messages.0.message.content": "hi", "n": 1}
    span = the_span(a_request(an_otlp_span(attributes=attributes)))
    without, with_texts = span_event_from_otlp(span), span_event_from_otlp(span, texts=True)
    assert the_event(without).attributes == {"n": 1} and without.left_out == the_event(without).dropped == 2
    stored = the_event(with_texts).attributes
    assert set(stored) == set(attributes) and len(str(stored["input.value"])) == 1000
    assert with_texts.left_out == 0


def test_attributes_are_limited_and_those_of_conventions_stay() -> None:
    many: dict[str, object] = {f"a{n:03}": n for n in range(100)}
    result = made_of(attributes={**many, "x" * 101: 1, "long": "y" * 1001, "gen_ai.usage.input_tokens": 7})
    event = the_event(result)
    assert len(event.attributes) == 64 and event.attributes["gen_ai.usage.input_tokens"] == 7
    assert event.dropped == result.left_out == 103 - 64


def test_an_invalid_name_is_adjusted() -> None:
    assert [the_event(made_of(name=name)).name for name in ("", "a\nb")] == ["unnamed", "a b"]
    assert codes(made_of(name="x" * 201)) == [OtlpRepair.BAD_NAME]
    assert the_event(made_of(name="x" * 201)).name != the_event(made_of(name="x" * 202)).name


def test_a_span_inside_itself_and_one_with_too_many_links() -> None:
    result = made_of(number=1, parent=1)
    assert codes(result) == [OtlpRepair.OWN_PARENT] and the_event(result).parent is None
    links = [{"traceId": TRACE, "spanId": f"{n:016x}"} for n in range(1, 200)]
    linked = made_of(links=links)
    assert codes(linked) == [OtlpRepair.LINKS] and len(the_event(linked).links) == 128


def test_custody_attributes_count_only_on_custody_spans() -> None:
    forged = the_event(made_of(attributes={"custody.status": "killed", "custody.session": "s", "custody.span.kind": 5}))
    assert (forged.status, forged.session, forged.span_kind) == ("ok", None, "capability")


_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
_FIELDS = "traceId spanId parentSpanId name kind startTimeUnixNano endTimeUnixNano dur status attributes links events"


@given(st.dictionaries(st.sampled_from([*_FIELDS.split(), "context", "resource", "child_spans", "x"]), _json))
def test_any_content_of_a_span_gives_a_valid_event_or_a_reason(fields: dict[str, Any]) -> None:
    for item in parse_otlp_spans({"trace_id": TRACE, "spans": [{"spanId": SPAN, **fields}, fields]}):
        if isinstance(item, OtlpSpan):
            the_event(span_event_from_otlp(item, texts=True))
        else:
            assert item.what


def test_the_names_are_those_of_the_conventions() -> None:
    gen_ai = import_module("opentelemetry.semconv._incubating.attributes.gen_ai_attributes")
    mcp = import_module("opentelemetry.semconv._incubating.attributes.mcp_attributes")
    assert {value.value for value in gen_ai.GenAiOperationNameValues} <= OPERATIONS.keys()
    assert MCP_METHODS.keys() <= {value.value for value in mcp.McpMethodNameValues}
    names = {value for name, value in vars(gen_ai).items() if name.startswith("GEN_AI_") and isinstance(value, str)}
    used = {*(name for names in NAMES.values() for name in names), *TEXTS, *HINTS, OPERATION}
    assert {name for name in used if name.startswith("gen_ai.")} <= names
