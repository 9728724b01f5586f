"""OpenTelemetry's spans into a repository's spool: ``provider.add_span_processor(CustodySpanProcessor())``.

Behind the extra ``otel``: importing this without it raises ``MissingExtra``. May touch OpenTelemetry and one thread of
its own; asks ``graph.otlp``. Nothing here raises into the code that is traced, and ending a span never waits for a
disk.
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
"""Spans that may wait; while the disk refuses, those that come after are lost and counted."""
GATHER_SECONDS = 0.5
END_SECONDS_MAX = 10.0
EXCEPTION = "exception.type"

_log = logging.getLogger("custody.otel")


class CustodySpanProcessor(SpanProcessor):
    """Keeps every sampled span that ends, as ``custody import otlp`` would; prompts and answers only with ``texts``.

    ``folder`` is any inside the repository; without one around it the constructor raises.
    """

    def __init__(self, folder: str | os.PathLike[str] = ".", *, texts: bool = False) -> None:
        self._way = SpanSpool(Path(folder), texts=texts)
        self.lost = 0
        """How many spans could not be kept."""
        self._renew()
        again = weakref.WeakMethod(self._renew)
        os.register_at_fork(after_in_child=lambda: _call(again()))

    def _renew(self) -> None:
        """Begin anew in a process of its own: what waits is the other's to write."""
        self._waiting: deque[ReadableSpan] = deque()
        self._change = threading.Condition()
        self._writing = threading.Lock()
        self._thread: threading.Thread | None = None
        self._told = self.lost
        self._over = self._refused = False

    def on_end(self, span: ReadableSpan) -> None:
        """Take up a span that has ended."""
        context = span.get_span_context()
        if context is None or not context.trace_flags.sampled:
            return
        if self._over or len(self._waiting) >= QUEUE_SPANS:
            self.lost += 1
            return
        self._waiting.append(span)
        if self._thread is None:
            self._start()
        elif len(self._waiting) == BATCH_SPANS:
            with self._change:
                self._change.notify_all()

    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        """Make everything that has ended durable; False when the disk refuses or the time is over."""
        if not self._writing.acquire(timeout=max(0.0, timeout_millis / 1000)):
            return False
        try:
            return self._write()
        finally:
            self._writing.release()

    def shutdown(self) -> None:
        """Make everything durable and take no more; say what was lost."""
        self._over = True
        if not self.force_flush(int(END_SECONDS_MAX * 1000)):
            self.lost += len(self._waiting)
        with self._change:
            self._change.notify_all()
        self._tell(last=True)

    # --- the thread ---------------------------------------------------------------------------------------------------

    def _start(self) -> None:
        with self._change:
            if self._thread is not None:
                return
            self._thread = threading.Thread(target=_work, args=(weakref.ref(self),), name="custody-otel", daemon=True)
        try:
            self._thread.start()
        except RuntimeError:
            # At the end of the interpreter there are no new threads: what waits is written when it shuts down.
            _log.debug("no thread for spans")

    def _pause(self) -> bool:
        """Wait until there is enough to write, or for a moment; False when all is over."""
        with self._change:
            self._change.wait_for(lambda: self._over or len(self._waiting) >= BATCH_SPANS, GATHER_SECONDS)
        return not self._over

    def _write(self) -> bool:
        """Hand over what waits, oldest first; what the disk refuses stays."""
        while self._waiting:
            batch = [self._waiting[place] for place in range(min(BATCH_SPANS, len(self._waiting)))]
            try:
                self.lost += self._way.put([_convert_span(span) for span in batch])
            except (CustodyError, OSError) as error:
                if not self._refused:
                    _log.warning("spans cannot be kept: %s", error)
                self._refused = True
                return False
            except Exception:  # noqa: BLE001 - whatever is odd about a span, the program that made it goes on
                _log.exception("%d span(s) cannot be read", len(batch))
                self.lost += len(batch)
            for _ in batch:
                self._waiting.popleft()
            self._refused = False
        self._tell()
        return True

    def _tell(self, *, last: bool = False) -> None:
        """Count what was lost where the doctor looks; at the end also say it."""
        more = self.lost - self._told
        if more:
            self._told = self.lost
            try:
                self._way.gap(more)
            except OSError:
                _log.debug("the gap cannot be kept")
        if last and self.lost:
            _log.warning("%d span(s) could not be kept", self.lost)


def _work(processor: "weakref.ref[CustodySpanProcessor]") -> None:
    """Write what ends until all is over; a processor that nobody holds any more is let go."""
    while (owner := processor()) is not None and owner._pause():  # noqa: SLF001 - the other half of the same class
        owner.force_flush()
        del owner


def _call(again: Any) -> None:
    if again is not None:
        again()


def _convert_span(span: ReadableSpan) -> OtlpSpan:
    """A span as OTLP has it."""
    context, parent = span.get_span_context(), span.parent
    attributes = {key: _value(value) for key, value in (span.attributes or {}).items()}
    for event in span.events:
        if event.name == "exception" and EXCEPTION in (event.attributes or {}):
            attributes.setdefault(EXCEPTION, _value((event.attributes or {})[EXCEPTION]))
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
        resource={key: _value(value) for key, value in span.resource.attributes.items()},
    )


def _value(value: object) -> OtlpValue:
    if value is None or isinstance(value, bool | int | float | str | bytes):
        return value
    if isinstance(value, Mapping):
        return {str(key): _value(member) for key, member in value.items()}
    return [_value(member) for member in value] if isinstance(value, Sequence) else str(value)
