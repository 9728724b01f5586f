"""Spans as OpenTelemetry sends them: those that were recorded, and captured sessions told as spans.

An execution at a time is in memory. JSON comes as lines that are a ``TracesData`` object each, protobuf as messages one
after another, which are one message again.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from custody.core.errors import InputError
from custody.core.ids import ExecutionId, SessionId
from custody.core.span_merge import merged_spans
from custody.core.views import ObservedSpan, SpanPhase
from custody.graph.app.session_spans import spans_of_session
from custody.graph.otlp.json_writer import dump_json
from custody.graph.otlp.protobuf_spans import dump_proto
from custody.graph.otlp.report import ExportOtlpReport
from custody.graph.otlp.span_export import otlp_of
from custody.graph.queries import span_views
from custody.graph.queries.spans import SpanTables
from custody.graph.wire.otlp_span import OtlpSpan
from custody.ledger.queries.sessions import session_count, session_rows
from custody.ledger.sessions import session_named
from custody.store import ObservedView, Store, split_batches
from custody.workspace.atomic_file import open_atomic
from custody.workspace.workspace import Workspace

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
