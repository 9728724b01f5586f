"""Spans as OpenTelemetry sends them: those that were recorded, and captured sessions told as spans.

An execution at a time is in memory. JSON comes as lines that are a ``TracesData`` object each, protobuf as messages one
after another, which are one message again.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import BinaryIO

from custody.core.errors import InputError
from custody.core.ids import ExecutionId, SessionId
from custody.core.view_merge import merged_spans
from custody.core.views import ObservedSpan, SpanKind, SpanPhase, SpanStatus
from custody.graph import queries as span_views
from custody.graph.app.session_spans import spans_of_session
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
from custody.graph.otlp.json import dump_json
from custody.graph.otlp.protobuf import dump_proto
from custody.graph.queries import SpanTables
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
from custody.graph.wire.report import ExportOtlpReport
from custody.ledger.queries import session_count, session_rows
from custody.ledger.sessions import session_named
from custody.store import ObservedView, Store, split_batches
from custody.workspace.machine import open_atomic
from custody.workspace.workspace import Workspace

# From what we keep of a span to one of OpenTelemetry's: ``otlp_events`` makes the same event of it again.


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


CHUNK_SPANS = 2000
"""Spans in one line or message: well below what readers take at once."""


@dataclass(frozen=True, slots=True)
class SpanExportRequest:
    """Which spans: those of one session, of one execution, or of all; and in which form."""

    session: str | None = None
    execution: str | None = None
    protobuf: bool = False


@dataclass(frozen=True, slots=True)
class _Group:
    """The spans of one execution; ``captured`` when a session was told as spans."""

    spans: Sequence[ObservedSpan]
    captured: bool


def export_otlp(workspace: Workspace, out: BinaryIO, path: str, wanted: SpanExportRequest) -> ExportOtlpReport:
    """Write the spans that are wanted to ``out``; ``path`` is what the report calls it."""
    write = dump_proto if wanted.protobuf else _line
    spans = executions = sessions = without_end = size = 0
    with workspace.reading() as store, store.reading():
        workspace.progress.start("exporting spans", None)
        for group in _groups(store, wanted):
            executions, sessions = executions + 1, sessions + group.captured
            without_end += sum(span.phase is SpanPhase.START for span in group.spans)
            for data in _written(group.spans, write):
                out.write(data)
                size += len(data)
            spans += len(group.spans)
            workspace.progress.step(len(group.spans))
    out.flush()
    return ExportOtlpReport(
        path=path, spans=spans, executions=executions, sessions=sessions, without_end=without_end, bytes=size
    )


def export_otlp_to(workspace: Workspace, path: Path, wanted: SpanExportRequest) -> ExportOtlpReport:
    """Export into a file that appears whole or not at all."""
    with open_atomic(path) as out:
        return export_otlp(workspace, out, str(path), wanted)


def _written(spans: Sequence[ObservedSpan], write: Callable[[Iterable[OtlpSpan]], bytes]) -> Iterator[bytes]:
    for batch in split_batches(spans, CHUNK_SPANS):
        yield write([otlp_of(span) for span in batch])


def _line(spans: Iterable[OtlpSpan]) -> bytes:
    return dump_json(spans) + b"\n"


def _groups(store: Store, wanted: SpanExportRequest) -> Iterator[_Group]:
    if wanted.execution is not None:
        stored = _spans(span_views.spans_of_execution(store, ExecutionId(wanted.execution)))
        if not stored:
            raise InputError(f"no execution is named '{wanted.execution}'", hint="without --execution all are written")
        return iter([_Group(merged_spans(stored), captured=False)])
    return _all(store) if wanted.session is None else _of_session(store, wanted.session)


def _of_session(store: Store, named: str) -> Iterator[_Group]:
    stored = _spans(span_views.spans_of_session(store, SessionId(named)))
    if stored and not session_rows(store, limit=1, named=named):
        yield from _by_execution(stored, [])  # of no agent that anybody named
        return
    row = session_named(store, named)
    stored = [
        span for span in _spans(span_views.spans_of_session(store, row.session)) if span.agent in (None, row.agent)
    ]
    yield from _by_execution(stored, spans_of_session(store, row.session, row.agent))


def _all(store: Store) -> Iterator[_Group]:
    told: set[ExecutionId] = set()
    for row in session_rows(store, limit=session_count(store)):
        captured = spans_of_session(store, row.session, row.agent)
        if captured:
            execution = captured[0].execution
            told.add(execution)
            yield _Group(
                merged_spans([*_spans(span_views.spans_of_execution(store, execution)), *captured]), captured=True
            )
    for execution in SpanTables(store).executions():
        if execution not in told:
            yield _Group(merged_spans(_spans(span_views.spans_of_execution(store, execution))), captured=False)


def _by_execution(stored: Sequence[ObservedSpan], captured: Sequence[ObservedSpan]) -> Iterator[_Group]:
    groups: dict[ExecutionId, list[ObservedSpan]] = {}
    for span in (*captured, *stored):
        groups.setdefault(span.execution, []).append(span)
    own = {observed_span.execution for observed_span in captured}
    for execution, spans in groups.items():
        yield _Group(merged_spans(spans), captured=execution in own)


def _spans(seen: Iterable[ObservedView[ObservedSpan]]) -> list[ObservedSpan]:
    return [view.view for view in seen]
