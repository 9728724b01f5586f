"""Spans in OpenTelemetry's format: recorded spans, and captured sessions as spans.

One execution at a time is in memory. JSON is written as lines, each a ``TracesData`` object; protobuf as consecutive
messages, which are one message again.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import BinaryIO

from msgspec import Struct

from custody.core.errors import InputError
from custody.core.ids import ExecutionId, SessionId
from custody.core.view_merge import merge_span_views
from custody.core.views import ObservedSpan, SpanKind, SpanPhase, SpanStatus
from custody.graph import queries as span_views
from custody.graph.app.session_spans import load_session_spans
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
from custody.graph.otlp.json import dump_otlp_json
from custody.graph.otlp.protobuf import dump_otlp_protobuf
from custody.graph.queries import SpanTables
from custody.graph.wire.attribute_names import SESSIONS, SPAN_KIND
from custody.graph.wire.otlp_span import (
    COUNT_MAX,
    SPAN_BYTES,
    TRACE_BYTES,
    OtlpLink,
    OtlpSpan,
    OtlpValue,
    hash_to_otlp_id,
    is_otlp_id,
)
from custody.graph.wire.report import ExportOtlpReport
from custody.ledger.queries import count_recorded_sessions, list_session_rows
from custody.ledger.sessions import find_session_by_name
from custody.store import ObservedView, Store, split_row_batches
from custody.workspace.machine import open_atomic_file
from custody.workspace.workspace import Workspace

# From a stored span to an OpenTelemetry span; ``event`` restores the same event from it.


_OPENINFERENCE = MappingProxyType(
    {
        SpanKind.AGENT: "AGENT",
        SpanKind.TOOL: "TOOL",
        SpanKind.LLM: "LLM",
        SpanKind.RETRIEVAL: "RETRIEVER",
    }
)
"""OpenInference's names for our kinds; other kinds are chains."""


def otlp_from_span(span: ObservedSpan) -> OtlpSpan:
    """Return a stored span in OpenTelemetry's format; ``span_event_from_otlp`` restores it."""
    attributes: dict[str, OtlpValue] = {
        (ESCAPED + key if key.startswith(OURS) else key): value for key, value in span.attributes
    }
    added = {key: value for key, value in _iterate_convention_attributes(span) if key not in attributes}
    ours: dict[str, OtlpValue] = {
        KIND: span.kind.value,
        TRACE_ID: None if is_otlp_id(span.execution, TRACE_BYTES) else span.execution,
        SPAN_ID: None if is_otlp_id(span.id, SPAN_BYTES) else span.id,
        PARENT_ID: None if span.parent is None or is_otlp_id(span.parent, SPAN_BYTES) else span.parent,
        STATUS: span.status.value if span.status in (SpanStatus.ABANDONED, SpanStatus.KILLED) else None,
        SERVER: span.server,
        AGENT: span.agent,
        SESSION: span.session,
        START: span.started_ns if span.started_ns is not None and span.started_ns <= 0 else None,
        END: span.ended_ns if span.ended_ns is not None and span.ended_ns <= 0 else None,
        DROPPED: span.dropped if span.dropped > COUNT_MAX else None,
        ADDED: ",".join(sorted(added)) or None,
    }
    return OtlpSpan(
        trace=_make_otlp_id(span.execution, TRACE_BYTES),
        id=_make_otlp_id(span.id, SPAN_BYTES),
        name=span.name,
        parent=None if span.parent is None else _make_otlp_id(span.parent, SPAN_BYTES),
        start_ns=_otlp_time_or_none(span.started_ns),
        end_ns=_otlp_time_or_none(span.ended_ns),
        status=0 if span.status is None else 1 if span.status is SpanStatus.OK else 2,
        attributes={**attributes, **added, **{key: value for key, value in ours.items() if value is not None}},
        dropped=min(span.dropped, COUNT_MAX),
        links=tuple(_make_otlp_link(ref.execution, ref.span) for ref in span.links),
    )


def _iterate_convention_attributes(span: ObservedSpan) -> Iterator[tuple[str, str]]:
    """Yield the attributes that other tools look for."""
    yield SPAN_KIND, _OPENINFERENCE.get(span.kind, "CHAIN")
    if span.session is not None:
        yield SESSIONS[0], span.session
    if span.kind is SpanKind.TOOL:
        yield "tool.name", span.name


def _make_otlp_id(id: str, size: int) -> str:
    return id if is_otlp_id(id, size) else hash_to_otlp_id(id, size)


def _make_otlp_link(trace: str | None, span: str) -> OtlpLink:
    names: dict[str, OtlpValue] = {
        TRACE_ID: None if trace is None or is_otlp_id(trace, TRACE_BYTES) else trace,
        SPAN_ID: None if is_otlp_id(span, SPAN_BYTES) else span,
    }
    attributes = {key: value for key, value in names.items() if value is not None}
    return OtlpLink(
        None if trace is None else _make_otlp_id(trace, TRACE_BYTES), _make_otlp_id(span, SPAN_BYTES), attributes
    )


def _otlp_time_or_none(ns: int | None) -> int | None:
    return ns if ns is not None and ns > 0 else None


CHUNK_SPANS = 2000
"""Spans in one line or message: far below the limits of readers."""


class SpanExportRequest(Struct, frozen=True):
    """Which spans to export (of one session, of one execution, or all), and the format."""

    session: str | None = None
    execution: str | None = None
    protobuf: bool = False


class _Group(Struct, frozen=True):
    """The spans of one execution; ``captured`` when they come from a session."""

    spans: Sequence[ObservedSpan]
    captured: bool


def export_otlp(workspace: Workspace, out: BinaryIO, path: str, request: SpanExportRequest) -> ExportOtlpReport:
    """Write the requested spans to ``out``; the report calls it ``path``."""
    write = dump_otlp_protobuf if request.protobuf else _encode_otlp_line
    spans = executions = sessions = without_end = size = 0
    with workspace.reading() as store, store.reading():
        workspace.progress.start("exporting spans", None)
        for group in _iterate_span_groups(store, request):
            executions, sessions = executions + 1, sessions + group.captured
            without_end += sum(span.phase is SpanPhase.START for span in group.spans)
            for data in _encode_span_batches(group.spans, write):
                out.write(data)
                size += len(data)
            spans += len(group.spans)
            workspace.progress.step(len(group.spans))
    out.flush()
    return ExportOtlpReport(
        path=path, spans=spans, executions=executions, sessions=sessions, without_end=without_end, bytes=size
    )


def export_otlp_to_file(workspace: Workspace, path: Path, request: SpanExportRequest) -> ExportOtlpReport:
    """Export to a file that appears whole or not at all."""
    with open_atomic_file(path) as out:
        return export_otlp(workspace, out, str(path), request)


def _encode_span_batches(
    spans: Sequence[ObservedSpan], write: Callable[[Iterable[OtlpSpan]], bytes]
) -> Iterator[bytes]:
    for batch in split_row_batches(spans, CHUNK_SPANS):
        yield write([otlp_from_span(span) for span in batch])


def _encode_otlp_line(spans: Iterable[OtlpSpan]) -> bytes:
    return dump_otlp_json(spans) + b"\n"


def _iterate_span_groups(store: Store, request: SpanExportRequest) -> Iterator[_Group]:
    if request.execution is not None:
        stored = _unwrap_observed_spans(span_views.query_execution_spans(store, ExecutionId(request.execution)))
        if not stored:
            raise InputError(f"unknown execution '{request.execution}'", hint="leave out --execution to export all")
        return iter([_Group(merge_span_views(stored), captured=False)])
    return (
        _iterate_all_span_groups(store)
        if request.session is None
        else _iterate_session_span_groups(store, request.session)
    )


def _iterate_session_span_groups(store: Store, name: str) -> Iterator[_Group]:
    stored = _unwrap_observed_spans(span_views.query_session_spans(store, SessionId(name)))
    if stored and not list_session_rows(store, limit=1, named=name):
        yield from _group_spans_by_execution(stored, [])  # its agent is unknown
        return
    row = find_session_by_name(store, name)
    stored = [
        span
        for span in _unwrap_observed_spans(span_views.query_session_spans(store, row.session))
        if span.agent in (None, row.agent)
    ]
    yield from _group_spans_by_execution(stored, load_session_spans(store, row.session, row.agent))


def _iterate_all_span_groups(store: Store) -> Iterator[_Group]:
    exported: set[ExecutionId] = set()
    for row in list_session_rows(store, limit=count_recorded_sessions(store)):
        captured = load_session_spans(store, row.session, row.agent)
        if captured:
            execution = captured[0].execution
            exported.add(execution)
            yield _Group(
                merge_span_views(
                    [*_unwrap_observed_spans(span_views.query_execution_spans(store, execution)), *captured]
                ),
                captured=True,
            )
    for execution in SpanTables(store).executions():
        if execution not in exported:
            yield _Group(
                merge_span_views(_unwrap_observed_spans(span_views.query_execution_spans(store, execution))),
                captured=False,
            )


def _group_spans_by_execution(stored: Sequence[ObservedSpan], captured: Sequence[ObservedSpan]) -> Iterator[_Group]:
    groups: dict[ExecutionId, list[ObservedSpan]] = {}
    for span in (*captured, *stored):
        groups.setdefault(span.execution, []).append(span)
    own = {observed_span.execution for observed_span in captured}
    for execution, spans in groups.items():
        yield _Group(merge_span_views(spans), captured=execution in own)


def _unwrap_observed_spans(views: Iterable[ObservedView[ObservedSpan]]) -> list[ObservedSpan]:
    return [view.view for view in views]
