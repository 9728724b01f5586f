"""A span: ids from its start, the running span in a context variable, a tuple in a queue at its end.

Only this file decides the parent of a span. It runs at every traced call, so it imports almost nothing and has no
helpers on that path.
"""

import os
from contextvars import ContextVar, Token
from itertools import count
from threading import get_ident
from time import time_ns
from types import TracebackType
from typing import Any

from custody.sdk.outbox import OUT, QUEUE, QUEUE_MAX
from custody.sdk.records import PLAIN, to_plain_attributes

SpanIds = tuple[int, int]
"""An execution and a span in it, both as numbers; they are written in hexadecimal when exported."""

LATE_MAX = 1024
"""Spans per thread that ended out of order and are remembered, so that nothing starts inside them."""
LATE_THREADS_MAX = 256

running: ContextVar[SpanIds | None] = ContextVar("custody_span", default=None)
"""The span inside which this code runs."""
foreign: ContextVar[tuple[str, ...]] = ContextVar("custody_foreign", default=())
"""Parents named by another program in another format: spans that start inside link to them."""

_late: dict[int, dict[SpanIds, SpanIds | None]] = {}
"""By thread, so that one thread cannot evict the entries of another."""


class _Process:
    """State that a fork renews: where ids are counted from, and which process this is."""

    __slots__ = ("epoch", "executions", "root", "spans")

    def __init__(self) -> None:
        self.epoch = 0
        self.root: SpanIds | None = None
        self.begin()

    def begin(self) -> None:
        """Count from a random position, far from those of other processes."""
        self.epoch += 1
        chance = os.urandom(24)
        self.spans = count(1 + (int.from_bytes(chance[:8], "big") >> 1))
        self.executions = count(1 + (int.from_bytes(chance[8:], "big") >> 1))


process = _Process()
_DETACHED: Token[SpanIds | None] = ContextVar[SpanIds | None]("custody_detached").set(None)
"""Replaces a span's token if the span was never the current one."""


class Span:
    """A unit of work, from ``with`` to its end. ``set`` adds attributes, ``fail`` marks it as failed.

    ``with span("plan", kind="llm", model="m-1"):`` - after the name, the kind and the server of a tool, every argument
    is an attribute.
    """

    __slots__ = ("_attributes", "_epoch", "_kind", "_links", "_name", "_outer", "_server", "_started", "_status",
                 "_token", "pair")  # fmt: skip

    pair: SpanIds
    """Its execution and its own id, from its start on."""

    def __init__(self, name: str, /, kind: str = "workflow", server: str | None = None, **attributes: Any) -> None:
        self._name = name
        self._kind = kind
        self._server = server
        self._attributes = attributes
        self._status = "ok"
        self._token: Token[SpanIds | None] | None = None

    def __enter__(self) -> "Span":
        outer = running.get()
        if outer is None:
            outer = process.root
        elif _late:
            outer = find_open_span(outer)
        if outer is None:
            self._links = foreign.get()
            self.pair = pair = (next(process.executions), next(process.spans))
        else:
            self._links = ()
            self.pair = pair = (outer[0], next(process.spans))
        self._outer = outer
        self._epoch = process.epoch
        self._started = time_ns()
        self._token = running.set(pair)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None = None,
        error: BaseException | None = None,
        trace: TracebackType | None = None,
        arm: bool = True,
    ) -> None:
        token = self._token
        if token is None:
            return  # never started, or already ended
        self._token = None
        pair, outer = self.pair, self._outer
        if token is not _DETACHED:
            if running.get() is pair:
                try:
                    running.reset(token)
                except (ValueError, RuntimeError):
                    running.set(outer)  # it started in another context, and continues in this one
                if _late:
                    running.set(_find_enclosing_span(outer))
            else:
                _record_late_span_end(self)
        if self._epoch != process.epoch or not OUT.on or (len(QUEUE) >= QUEUE_MAX and not OUT.wait_for_room()):
            return  # started before a fork, so the parent process ends it; or it cannot be stored
        attributes = self._attributes
        if attributes and not PLAIN.issuperset(map(type, attributes.values())):
            attributes = to_plain_attributes(attributes)
        status = self._status
        if kind is not None:
            status = "error" if issubclass(kind, Exception) else "abandoned"
            attributes = {**attributes, "error.type": kind.__name__}
        QUEUE.append(
            (pair[0], pair[1], None if outer is None else outer[1], "whole", self._name, self._kind, self._server,
             self._started, time_ns(), status, attributes, self._links)
        )  # fmt: skip
        if arm and not OUT.armed:
            OUT.arm()

    def begin(self) -> "Span":
        """Start without becoming the running span; ``end`` ends it."""
        self.__enter__()
        if self._token is not None:
            running.reset(self._token)
        self._token = _DETACHED
        return self

    def end(self, kind: type[BaseException] | None = None) -> None:
        """Record its end, with the exception that ended it; a second call does nothing."""
        self.__exit__(kind)

    def abandon(self) -> None:
        """End it because its owner will not. This may run in the middle of any code: it only appends."""
        if len(QUEUE) < QUEUE_MAX:
            self.__exit__(GeneratorExit, None, None, False)

    def __del__(self) -> None:
        if self._token is not None:
            self.abandon()

    def set(self, **attributes: Any) -> None:
        """Add attributes."""
        self._attributes = {**self._attributes, **attributes}

    def fail(self, why: str | None = None) -> None:
        """Mark it as failed, where no exception does."""
        self._status = "error"
        if why is not None:
            self.set(error=why)


span = Span
"""The same class, named for ``with`` statements."""


def list_open_spans() -> list[Span]:
    """Return the spans that have started and not ended; searched for, since this runs once per process."""
    import gc

    return [live for live in gc.get_objects() if type(live) is Span and live._token is not None]  # noqa: SLF001 - ours


def abandon_open_spans() -> None:
    """End every open span as abandoned."""
    for open_span in list_open_spans():
        open_span.abandon()


def find_open_span(outer: SpanIds | None) -> SpanIds | None:
    """Return the nearest enclosing span that is open; by default the span that this program was started in."""
    outer = _find_enclosing_span(outer)
    return process.root if outer is None else outer


def _find_enclosing_span(outer: SpanIds | None) -> SpanIds | None:
    while outer is not None:
        around = _resolve_late_span(outer)
        if around is outer:
            break
        outer = around
    return outer


def _resolve_late_span(pair: SpanIds) -> SpanIds | None:
    """Return the span around one that ended out of order; any other span itself."""
    for late in tuple(_late.values()):
        around = late.get(pair, pair)  # read once: its thread may remove it meanwhile
        if around is not pair:
            return around
    return pair


def _record_late_span_end(ended_span: Span) -> None:
    """Remember a span that ended while another was running: later spans do not start inside it."""
    if ended_span._epoch == process.epoch:  # noqa: SLF001 - ours
        late = _late.setdefault(get_ident(), {})
        while len(late) >= LATE_MAX:
            del late[next(iter(late))]
        late[ended_span.pair] = ended_span._outer  # noqa: SLF001 - ours
        for oldest in tuple(_late)[:-LATE_THREADS_MAX]:
            _late.pop(oldest, None)


def _reset_spans_after_fork() -> None:
    process.begin()
    _late.clear()


if hasattr(os, "register_at_fork"):  # Windows has no fork
    os.register_at_fork(after_in_child=_reset_spans_after_fork)
OUT.end_open = abandon_open_spans
