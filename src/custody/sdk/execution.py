"""One execution of code: its open calls, its events, and the spans that are recorded.

Only this file decides the parent of a worker's call. A parent that this execution does not know becomes a link, so that
no call is lost and no call can claim a place in another tree.
"""

from time import time_ns
from typing import Literal

from msgspec import Struct

from custody.sdk.outbox import record_foreign_span
from custody.sdk.propagation import parse_traceparent
from custody.sdk.spans import SpanIds, find_open_span, process, running

EVENTS_MAX = 200_000
"""An execution with more events than this is ended."""

CallKind = Literal["capability", "tool"]


class TooManyCalls(Exception):
    """The code makes too many calls."""


class CallTraceEvent(Struct, frozen=True):
    """The start or the end of a call: ``capability_start``, ``capability_end``, ``tool_start``, ``tool_end``.

    ``trace_id`` is the call's own id, ``parent_trace_id`` that of the capability that made it, None at the top.
    ``name`` is a capability's name, or a tool's as ``SERVER:TOOL``. ``success`` is None while it runs.
    """

    type: str
    trace_id: str
    parent_trace_id: str | None
    name: str
    at_ns: int
    execution: str
    success: bool | None = None
    error: str | None = None


class OpenCall(Struct, frozen=True):
    """A call that has started."""

    pair: SpanIds
    kind: str
    name: str
    server: str | None
    parent: int | None
    reported_parent: str | None
    links: tuple[str, ...]
    started_ns: int

    @property
    def id(self) -> str:
        """Return its id as text."""
        return f"{self.pair[1]:016x}"


class Calls:
    """The calls of one execution, from its root on."""

    def __init__(self, name: str) -> None:
        outer = find_open_span(running.get())
        pair = (next(process.executions) if outer is None else outer[0], next(process.spans))
        self.root = OpenCall(pair, "workflow", name, None, outer and outer[1], None, (), time_ns())
        self.events: list[CallTraceEvent] = []
        self._open: dict[int, OpenCall] = {pair[1]: self.root}
        self._known: set[int] = set()
        _record_open_call(self.root, "start")

    @property
    def execution(self) -> str:
        """Return its id as text."""
        return f"{self.root.pair[0]:032x}"

    def begin(
        self, kind: CallKind, name: str, server: str | None, reported_parent: str | None, span: int | None = None
    ) -> OpenCall:
        """Start a call inside the one that ``reported_parent`` names."""
        if len(self.events) >= EVENTS_MAX:
            raise TooManyCalls
        span = next(process.spans) if span is None else span
        if span in self._known or span == self.root.pair[1]:
            raise ValueError("a call started twice")
        parent = self._parent(reported_parent)
        links = (reported_parent,) if reported_parent is not None and parent is None else ()
        parent = self.root.pair[1] if parent is None else parent
        call = OpenCall((self.root.pair[0], span), kind, name, server, parent, reported_parent, links, time_ns())
        self._known.add(span)
        self._open[span] = call
        self._add_trace_event(call, "start", call.started_ns)
        _record_open_call(call, "start")
        return call

    def end(self, call: OpenCall, status: str = "ok", error: str | None = None) -> None:
        """End a call; ending it again does nothing."""
        if self._open.pop(call.pair[1], None) is None:
            return
        ended = max(time_ns(), call.started_ns)
        if call is not self.root:
            self._add_trace_event(call, "end", ended, success=status == "ok", error=error)
        _record_open_call(call, "end", ended, status, error)

    def open_call(self, span: int) -> OpenCall | None:
        """Return a call that has not ended."""
        return self._open.get(span)

    def end_all(self, status: str, error: str | None) -> None:
        """End every open call with this status, innermost first, the root last."""
        for call in list(reversed(self._open.values())):
            self.end(call, status if call is self.root or status != "ok" else "abandoned", error)

    def _parent(self, reported: str | None) -> int | None:
        if reported is None:
            return None
        pair = parse_traceparent(reported) or (self.root.pair[0], _parse_hex_span_id(reported))
        return pair[1] if pair[0] == self.root.pair[0] and pair[1] in self._known else None

    def _add_trace_event(
        self, call: OpenCall, phase: str, at_ns: int, *, success: bool | None = None, error: str | None = None
    ) -> None:
        name = call.name if call.server is None else f"{call.server}:{call.name}"
        self.events.append(
            CallTraceEvent(
                f"{call.kind}_{phase}", call.id, call.reported_parent, name, at_ns, self.execution, success, error
            )
        )


def _parse_hex_span_id(text: str) -> int:
    try:
        return int(text, 16) if len(text) == 16 else 0
    except ValueError:
        return 0


def _record_open_call(
    call: OpenCall, phase: str, ended: int | None = None, status: str | None = None, error: str | None = None
) -> None:
    attributes = {} if error is None else {"error": error}
    record_foreign_span(
        (*call.pair, call.parent, phase, call.name, call.kind, call.server, call.started_ns, ended, status,
         attributes, call.links)
    )  # fmt: skip
