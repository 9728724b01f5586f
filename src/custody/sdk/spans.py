"""A span: ids made once when it begins, the running one in a context variable, a tuple in a queue when it ends.

This file is the only one that decides which span is whose parent. It is read at every traced call, so it imports next
to nothing and its steps stand in one place.
"""

import os
from contextvars import ContextVar, Token
from itertools import count
from threading import get_ident
from time import time_ns
from types import TracebackType
from typing import Any

from custody.sdk.outbox import OUT, QUEUE, QUEUE_MAX
from custody.sdk.records import PLAIN, plain

SpanIds = tuple[int, int]
"""An execution and a span in it, both as numbers; they are written in hexadecimal when they leave."""

LATE_MAX = 1024
"""Spans of one thread that were left out of turn and are remembered, so that nothing runs inside them any more."""
LATE_THREADS_MAX = 256

running: ContextVar[SpanIds | None] = ContextVar("custody_span", default=None)
"""The span inside which this code runs."""
foreign: ContextVar[tuple[str, ...]] = ContextVar("custody_foreign", default=())
"""Parents that another program named in a way that we cannot follow: what begins inside links to them."""

_late: dict[int, dict[SpanIds, SpanIds | None]] = {}
"""By thread, so that no thread forgets what another still stands in."""


class _Process:
    """What a fork makes anew: where ids are counted from, and which process this is."""

    __slots__ = ("epoch", "executions", "root", "spans")

    def __init__(self) -> None:
        self.epoch = 0
        self.root: SpanIds | None = None
        self.begin()

    def begin(self) -> None:
        """Count from another place, far from where any other process does."""
        self.epoch += 1
        chance = os.urandom(24)
        self.spans = count(1 + (int.from_bytes(chance[:8], "big") >> 1))
        self.executions = count(1 + (int.from_bytes(chance[8:], "big") >> 1))


process = _Process()
_DETACHED: Token[SpanIds | None] = ContextVar[SpanIds | None]("custody_detached").set(None)
"""Stands where a span's own token would, if the span never was the running one."""


class Span:
    """A stretch of work: from ``with`` to its end. ``set`` adds what is known of it, ``fail`` says that it failed.

    ``with span("plan", kind="llm", model="m-1"):`` - after the name, the kind and for a tool the server, everything
    is an attribute.
    """

    __slots__ = ("_attributes", "_epoch", "_kind", "_links", "_name", "_outer", "_server", "_started", "_status",
                 "_token", "pair")  # fmt: skip

    pair: SpanIds
    """Its execution and its own id, from its beginning on."""

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
            return  # never begun, or ended already
        self._token = None
        pair, outer = self.pair, self._outer
        if token is not _DETACHED:
            if running.get() is pair:
                try:
                    running.reset(token)
                except (ValueError, RuntimeError):
                    running.set(outer)  # it began in another context, and goes on in this one
                if _late:
                    running.set(_open(outer))
            else:
                _leave_late(self)
        if self._epoch != process.epoch or not OUT.on or (len(QUEUE) >= QUEUE_MAX and not OUT.room()):
            return  # begun before a fork: it is the other process's to end; or there is nowhere to put it
        attributes = self._attributes
        if attributes and not PLAIN.issuperset(map(type, attributes.values())):
            attributes = plain(attributes)
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
        """Begin without being the running span; ``end`` ends it."""
        self.__enter__()
        if self._token is not None:
            running.reset(self._token)
        self._token = _DETACHED
        return self

    def end(self, kind: type[BaseException] | None = None) -> None:
        """Write down that it ended, with the exception that ended it; the second time it does nothing."""
        self.__exit__(kind)

    def abandon(self) -> None:
        """End it because nobody else will. This may run in the middle of anything: it only appends."""
        if len(QUEUE) < QUEUE_MAX:
            self.__exit__(GeneratorExit, None, None, False)

    def __del__(self) -> None:
        if self._token is not None:
            self.abandon()

    def set(self, **attributes: Any) -> None:
        """Add what is known of it by now."""
        self._attributes = {**self._attributes, **attributes}

    def fail(self, why: str | None = None) -> None:
        """Say that it failed, where no exception does."""
        self._status = "error"
        if why is not None:
            self.set(error=why)


span = Span
"""The same, as it reads in a ``with`` statement."""


def open_spans() -> list[Span]:
    """The spans that have begun and not ended: looked for, not kept in a list, since this is asked once in a run."""
    import gc

    return [live for live in gc.get_objects() if type(live) is Span and live._token is not None]  # noqa: SLF001 - ours


def end_open() -> None:
    """End every open span as abandoned."""
    for open_span in open_spans():
        open_span.abandon()


def find_open_span(outer: SpanIds | None) -> SpanIds | None:
    """The nearest span around that is still open; for none here, the one that this program was started in."""
    outer = _open(outer)
    return process.root if outer is None else outer


def _open(outer: SpanIds | None) -> SpanIds | None:
    while outer is not None:
        around = _around(outer)
        if around is outer:
            break
        outer = around
    return outer


def _around(pair: SpanIds) -> SpanIds | None:
    """What is around a span that was left out of turn; any other span itself."""
    for late in tuple(_late.values()):
        around = late.get(pair, pair)  # asked once: its thread may forget it meanwhile
        if around is not pair:
            return around
    return pair


def _leave_late(ended_span: Span) -> None:
    """One ends while another runs: later ones are not inside it, wherever its name still stands."""
    if ended_span._epoch == process.epoch:  # noqa: SLF001 - ours
        late = _late.setdefault(get_ident(), {})
        while len(late) >= LATE_MAX:
            del late[next(iter(late))]
        late[ended_span.pair] = ended_span._outer  # noqa: SLF001 - ours
        for oldest in tuple(_late)[:-LATE_THREADS_MAX]:
            _late.pop(oldest, None)


def _after_fork() -> None:
    process.begin()
    _late.clear()


os.register_at_fork(after_in_child=_after_fork)
OUT.end_open = end_open
