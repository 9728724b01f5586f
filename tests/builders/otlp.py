"""Spans in the formats of OpenTelemetry and its exporters, and random stored spans."""

from typing import Any

from hypothesis import strategies as st

from custody.core.ids import AgentName, ExecutionId, SessionId, SpanId
from custody.core.views import ObservedSpan, SpanKind, SpanPhase, SpanRef, SpanStatus

TRACE = "5b8efff798038103d269b633813fc60c"
START_NS = 1_700_000_000_000_000_000


def a_pair(key: str, value: object) -> dict[str, Any]:
    """Return an attribute as OTLP's JSON has it."""
    match value:
        case bool():
            said: dict[str, Any] = {"boolValue": value}
        case int():
            said = {"intValue": str(value)}
        case float():
            said = {"doubleValue": value}
        case list():
            said = {"arrayValue": {"values": [a_pair("", one)["value"] for one in value]}}
        case _:
            said = {"stringValue": str(value)}
    return {"key": key, "value": said}


def an_otlp_span(number: int = 1, parent: int | None = None, **more: Any) -> dict[str, Any]:
    """Return a span in OTLP JSON, ``number`` seconds after the first; ``attributes`` is a plain dict."""
    attributes = [a_pair(key, value) for key, value in more.pop("attributes", {}).items()]
    said: dict[str, Any] = {
        "traceId": TRACE,
        "spanId": f"{number:016x}",
        "name": f"step {number}",
        "kind": 1,
        "startTimeUnixNano": str(START_NS + number * 10**9),
        "endTimeUnixNano": str(START_NS + number * 10**9 + 500),
        "attributes": attributes,
        "status": {},
    }
    if parent is not None:
        said["parentSpanId"] = f"{parent:016x}"
    return {**said, **more}


def a_request(*spans: dict[str, Any], service: str = "robot") -> dict[str, Any]:
    """Return an ``ExportTraceServiceRequest`` of one resource."""
    resource = {"attributes": [a_pair("service.name", service)]}
    return {"resourceSpans": [{"resource": resource, "scopeSpans": [{"scope": {"name": "t"}, "spans": list(spans)}]}]}


_PRINTED = st.characters(exclude_categories=("Cc", "Cs"))
names = st.text(_PRINTED, min_size=1, max_size=12) | st.just("é" * 200)
keys = st.one_of(
    st.text(_PRINTED, min_size=1, max_size=12),
    st.just("k" * 100),
    st.sampled_from(["custody.span.kind", "custody.attribute.x", "tool.name", "input.value", "session.id", "a,b"]),
)
_KEPT = st.characters(codec="utf-8", exclude_characters="\0")
texts = st.text(_KEPT, max_size=20) | st.just("é" * 1000)
ids = st.one_of(
    names,
    st.from_regex(r"[0-9a-f]{16}", fullmatch=True),
    st.from_regex(r"[0-9a-f]{32}", fullmatch=True),
    st.sampled_from(["0" * 16, "0" * 32, "A" * 16, "AAAAAAAAAAE=", "0x00f067aa0ba902b7", "AAAAAAAAAAAAAAAAAAAAAQ=="]),
)
moments = st.one_of(st.integers(-(2**62), 2**63 - 1), st.sampled_from([0, 1, -1, START_NS]))
values = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**63), 2**63 - 1),
    st.floats(allow_nan=False, allow_infinity=False),
    texts,
)


@st.composite
def spans_seen(draw: st.DrawFn) -> ObservedSpan:
    """Return any span that the shape of span events allows."""
    own = SpanId(draw(ids))
    phase = draw(st.sampled_from(SpanPhase))
    kind = draw(st.sampled_from(SpanKind))
    parent = draw(st.none() | ids.filter(lambda one: one != own))
    return ObservedSpan(
        execution=ExecutionId(draw(ids)),
        id=own,
        phase=phase,
        name=draw(names),
        kind=kind,
        started_ns=None if phase is SpanPhase.END else draw(moments),
        ended_ns=None if phase is SpanPhase.START else draw(moments),
        parent=None if parent is None else SpanId(parent),
        links=tuple(draw(st.lists(st.builds(SpanRef, st.none() | ids, ids), max_size=4))),
        status=None if phase is SpanPhase.START else draw(st.sampled_from(SpanStatus)),
        server=draw(st.none() | names) if kind is SpanKind.TOOL else None,
        attributes=tuple(sorted(draw(st.dictionaries(keys, values, max_size=8)).items())),
        dropped=draw(st.sampled_from([0, 1, 2**32 - 1, 2**32, 2**53])),
        agent=draw(st.none() | names.map(AgentName)),
        session=draw(st.none() | st.sampled_from(["s", " ", "é" * 1000]).map(SessionId)),
    )
