"""OpenTelemetry spans into a repository's spool: ``provider.add_span_processor(CustodySpanProcessor())``.

Needs the extra ``otel``: importing this without it raises ``MissingExtra``. May touch OpenTelemetry and one thread of
its own; uses ``graph.otlp``. Nothing here raises into the traced code, and ending a span never waits for a disk.
"""

import logging
import os
import threading
import weakref
from collections import deque
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from custody.core.errors import CustodyError, MissingExtra
from custody.core.plural import count_noun
from custody.graph.otlp.import_ import SpanSpool
from custody.graph.wire.otlp_span import OtlpLink, OtlpSpan, OtlpValue

try:
    from opentelemetry.sdk.trace import ReadableSpan, SpanProcessor
    from opentelemetry.trace import format_span_id, format_trace_id
except ImportError as error:
    raise MissingExtra("opentelemetry-sdk", "otel") from error

__all__ = ["CustodySpanProcessor"]

BATCH_SPANS = 512
"""Spans in one file of the spool."""
QUEUE_SPANS = 16_384
"""Spans that may wait; while the disk fails, later spans are lost and counted."""
GATHER_SECONDS = 0.5
END_SECONDS_MAX = 10.0
EXCEPTION = "exception.type"

_log = logging.getLogger("custody.otel")


class CustodySpanProcessor(SpanProcessor):
    """Stores every sampled span that ends, as ``custody import otlp`` would; prompts and answers only with ``texts``.

    ``folder`` is any folder inside the repository; the constructor raises if it is not in one.
    """

    def __init__(self, folder: str | os.PathLike[str] = ".", *, texts: bool = False) -> None:
        self._spool = SpanSpool(Path(folder), texts=texts)
        self.lost = 0
        """How many spans could not be stored."""
        self._renew()
        renew = weakref.WeakMethod(self._renew)
        os.register_at_fork(after_in_child=lambda: _renew_processor_after_fork(renew()))

    def _renew(self) -> None:
        """Start again in a forked process: the parent process writes the waiting spans."""
        self._waiting: deque[ReadableSpan] = deque()
        self._change = threading.Condition()
        self._writing = threading.Lock()
        self._thread: threading.Thread | None = None
        self._reported_lost = self.lost
        self._is_shut_down = self._has_failed = False

    def on_end(self, span: ReadableSpan) -> None:
        """Queue a span that has ended."""
        context = span.get_span_context()
        if context is None or not context.trace_flags.sampled:
            return
        if self._is_shut_down or len(self._waiting) >= QUEUE_SPANS:
            self.lost += 1
            return
        self._waiting.append(span)
        if self._thread is None:
            self._start()
        elif len(self._waiting) == BATCH_SPANS:
            with self._change:
                self._change.notify_all()

    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        """Store everything that has ended; return False when the disk fails or the time is over."""
        if not self._writing.acquire(timeout=max(0.0, timeout_millis / 1000)):
            return False
        try:
            return self._write()
        finally:
            self._writing.release()

    def shutdown(self) -> None:
        """Store everything and accept no more spans; report what was lost."""
        self._is_shut_down = True
        if not self.force_flush(int(END_SECONDS_MAX * 1000)):
            self.lost += len(self._waiting)
        with self._change:
            self._change.notify_all()
        self._report_lost_spans(last=True)

    # --- the thread ---------------------------------------------------------------------------------------------------

    def _start(self) -> None:
        with self._change:
            if self._thread is not None:
                return
            self._thread = threading.Thread(
                target=_write_ended_spans, args=(weakref.ref(self),), name="custody-otel", daemon=True
            )
        try:
            self._thread.start()
        except RuntimeError:
            # At interpreter exit no thread can start: waiting spans are written at shutdown.
            _log.debug("cannot start the thread for spans")

    def _pause(self) -> bool:
        """Wait until there is enough to write, or for a short time; return False after shutdown."""
        with self._change:
            self._change.wait_for(lambda: self._is_shut_down or len(self._waiting) >= BATCH_SPANS, GATHER_SECONDS)
        return not self._is_shut_down

    def _write(self) -> bool:
        """Write the waiting spans, oldest first; those that the disk refuses stay."""
        while self._waiting:
            batch = [self._waiting[place] for place in range(min(BATCH_SPANS, len(self._waiting)))]
            try:
                self.lost += self._spool.put([_otlp_from_readable_span(span) for span in batch])
            except (CustodyError, OSError) as error:
                if not self._has_failed:
                    _log.warning("cannot store spans: %s", error)
                self._has_failed = True
                return False
            except Exception:  # noqa: BLE001 - an unusual span must not stop the program that made it
                _log.exception("cannot read %s", count_noun(len(batch), "span"))
                self.lost += len(batch)
            for _ in batch:
                self._waiting.popleft()
            self._has_failed = False
        self._report_lost_spans()
        return True

    def _report_lost_spans(self, *, last: bool = False) -> None:
        """Record how many spans were lost, for ``custody doctor``; at the end also log it."""
        more = self.lost - self._reported_lost
        if more:
            self._reported_lost = self.lost
            try:
                self._spool.gap(more)
            except OSError:
                _log.debug("cannot record the gap")
        if last and self.lost:
            _log.warning("%s could not be stored", count_noun(self.lost, "span"))


def _write_ended_spans(processor: "weakref.ref[CustodySpanProcessor]") -> None:
    """Write ended spans until shutdown; an unreferenced processor is released."""
    while (owner := processor()) is not None and owner._pause():  # noqa: SLF001 - the other half of the same class
        owner.force_flush()
        del owner


def _renew_processor_after_fork(renew: Any) -> None:
    if renew is not None:
        renew()


def _otlp_from_readable_span(span: ReadableSpan) -> OtlpSpan:
    """Return a span in OTLP's form."""
    context, parent = span.get_span_context(), span.parent
    attributes = {key: _to_otlp_value(value) for key, value in (span.attributes or {}).items()}
    for event in span.events:
        if event.name == "exception" and EXCEPTION in (event.attributes or {}):
            attributes.setdefault(EXCEPTION, _to_otlp_value((event.attributes or {})[EXCEPTION]))
    return OtlpSpan(
        trace=format_trace_id(context.trace_id if context is not None else 0),
        id=format_span_id(context.span_id if context is not None else 0),
        name=span.name,
        parent=None if parent is None else format_span_id(parent.span_id),
        start_ns=span.start_time,
        end_ns=span.end_time,
        status=span.status.status_code.value,
        message=span.status.description or "",
        attributes=attributes,
        dropped=span.dropped_attributes,
        links=tuple(
            OtlpLink(format_trace_id(link.context.trace_id), format_span_id(link.context.span_id))
            for link in span.links
        ),
        resource={key: _to_otlp_value(value) for key, value in span.resource.attributes.items()},
    )


def _to_otlp_value(value: object) -> OtlpValue:
    if value is None or isinstance(value, bool | int | float | str | bytes):
        return value
    if isinstance(value, Mapping):
        return {str(key): _to_otlp_value(member) for key, member in value.items()}
    return [_to_otlp_value(member) for member in value] if isinstance(value, Sequence) else str(value)
