"""From what we keep of a span to one of OpenTelemetry's: ``otlp_events`` makes the same event of it again."""

from collections.abc import Iterator
from types import MappingProxyType

from custody.core.views import ObservedSpan, SpanKind, SpanStatus
from custody.graph.otlp.event import (
    ADDED,
    AGENT,
    DROPPED,
    END,
    ESCAPED,
    KIND,
    OURS,
    PARENT_ID,
    SERVER,
    SESSION,
    SPAN_ID,
    START,
    STATUS,
    TRACE_ID,
)
from custody.graph.wire.attribute_names import SESSIONS, SPAN_KIND
from custody.graph.wire.otlp_span import (
    COUNT_MAX,
    SPAN_BYTES,
    TRACE_BYTES,
    OtlpLink,
    OtlpSpan,
    OtlpValue,
    is_own,
    stand_in,
)

_OPENINFERENCE = MappingProxyType(
    {
        SpanKind.AGENT: "AGENT",
        SpanKind.TOOL: "TOOL",
        SpanKind.LLM: "LLM",
        SpanKind.RETRIEVAL: "RETRIEVER",
    }
)
"""How other tools know our kinds; the rest are chains to them."""


def otlp_of(seen: ObservedSpan) -> OtlpSpan:
    """What is kept of a span as OpenTelemetry says it; ``event_of`` makes the same of it again."""
    given: dict[str, OtlpValue] = {
        (ESCAPED + key if key.startswith(OURS) else key): value for key, value in seen.attributes
    }
    added = {key: value for key, value in _for_others(seen) if key not in given}
    ours: dict[str, OtlpValue] = {
        KIND: seen.kind.value,
        TRACE_ID: None if is_own(seen.execution, TRACE_BYTES) else seen.execution,
        SPAN_ID: None if is_own(seen.id, SPAN_BYTES) else seen.id,
        PARENT_ID: None if seen.parent is None or is_own(seen.parent, SPAN_BYTES) else seen.parent,
        STATUS: seen.status.value if seen.status in (SpanStatus.ABANDONED, SpanStatus.KILLED) else None,
        SERVER: seen.server,
        AGENT: seen.agent,
        SESSION: seen.session,
        START: seen.started_ns if seen.started_ns is not None and seen.started_ns <= 0 else None,
        END: seen.ended_ns if seen.ended_ns is not None and seen.ended_ns <= 0 else None,
        DROPPED: seen.dropped if seen.dropped > COUNT_MAX else None,
        ADDED: ",".join(sorted(added)) or None,
    }
    return OtlpSpan(
        trace=_sent(seen.execution, TRACE_BYTES),
        id=_sent(seen.id, SPAN_BYTES),
        name=seen.name,
        parent=None if seen.parent is None else _sent(seen.parent, SPAN_BYTES),
        start_ns=_positive(seen.started_ns),
        end_ns=_positive(seen.ended_ns),
        status=0 if seen.status is None else 1 if seen.status is SpanStatus.OK else 2,
        attributes={**given, **added, **{key: value for key, value in ours.items() if value is not None}},
        dropped=min(seen.dropped, COUNT_MAX),
        links=tuple(_sent_link(ref.execution, ref.span) for ref in seen.links),
    )


def _for_others(seen: ObservedSpan) -> Iterator[tuple[str, str]]:
    """What tools that know nothing of custody look for."""
    yield SPAN_KIND, _OPENINFERENCE.get(seen.kind, "CHAIN")
    if seen.session is not None:
        yield SESSIONS[0], seen.session
    if seen.kind is SpanKind.TOOL:
        yield "tool.name", seen.name


def _sent(id: str, size: int) -> str:
    return id if is_own(id, size) else stand_in(id, size)


def _sent_link(trace: str | None, span: str) -> OtlpLink:
    names: dict[str, OtlpValue] = {
        TRACE_ID: None if trace is None or is_own(trace, TRACE_BYTES) else trace,
        SPAN_ID: None if is_own(span, SPAN_BYTES) else span,
    }
    given = {key: value for key, value in names.items() if value is not None}
    return OtlpLink(None if trace is None else _sent(trace, TRACE_BYTES), _sent(span, SPAN_BYTES), given)


def _positive(ns: int | None) -> int | None:
    return ns if ns is not None and ns > 0 else None
