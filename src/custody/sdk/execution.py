"""One execution of code: the calls that are open, the events that are told, the spans that are recorded.

This file is the only one that decides whose child a call from a worker is. A parent that this execution does not know
becomes a link, so that nobody's call is lost and nobody can claim a place in another's tree.
"""

from dataclasses import asdict, dataclass
from time import time_ns
from typing import Any, Literal

from custody.sdk.outbox import record_foreign_span
from custody.sdk.propagation import pair_of
from custody.sdk.spans import SpanIds, find_open_span, process, running

EVENTS_MAX = 200_000
"""An execution that tells of more calls than this is ended."""

CallKind = Literal["capability", "tool"]


class TooManyCalls(Exception):
    """The code makes calls without end."""


@dataclass(frozen=True, slots=True)
class CallTraceEvent:
    """The start or the end of a call: ``capability_start``, ``capability_end``, ``tool_start``, ``tool_end``.

    ``trace_id`` is the call's own id, ``parent_trace_id`` that of the capability inside which it was made, None at the
    top. ``name`` is a capability's name, or a tool's as ``SERVER:TOOL``. ``success`` is None as long as it runs.
    """

    type: str
    trace_id: str
    parent_trace_id: str | None
    name: str
    at_ns: int
    execution: str
    success: bool | None = None
    error: str | None = None

    def as_dict(self) -> dict[str, Any]:
        """The same for JSON."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class OpenCall:
    """A call that has begun."""

    pair: SpanIds
    kind: str
    name: str
    server: str | None
    parent: int | None
    said: str | None
    links: tuple[str, ...]
    started_ns: int

    @property
    def id(self) -> str:
        """Its id as it is written."""
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
        _record(self.root, "start")

    @property
    def execution(self) -> str:
        """Its id as it is written."""
        return f"{self.root.pair[0]:032x}"

    def begin(
        self, kind: CallKind, name: str, server: str | None, said: str | None, span: int | None = None
    ) -> OpenCall:
        """A call begins inside the one that ``said`` names."""
        if len(self.events) >= EVENTS_MAX:
            raise TooManyCalls
        span = next(process.spans) if span is None else span
        if span in self._known or span == self.root.pair[1]:
            raise ValueError("a call began twice")
        parent = self._parent(said)
        links = (said,) if said is not None and parent is None else ()
        parent = self.root.pair[1] if parent is None else parent
        call = OpenCall((self.root.pair[0], span), kind, name, server, parent, said, links, time_ns())
        self._known.add(span)
        self._open[span] = call
        self._tell(call, "start", call.started_ns)
        _record(call, "start")
        return call

    def end(self, call: OpenCall, status: str = "ok", error: str | None = None) -> None:
        """It ended; the second time it does nothing."""
        if self._open.pop(call.pair[1], None) is None:
            return
        ended = max(time_ns(), call.started_ns)
        if call is not self.root:
            self._tell(call, "end", ended, success=status == "ok", error=error)
        _record(call, "end", ended, status, error)

    def open_call(self, span: int) -> OpenCall | None:
        """A call that has not ended."""
        return self._open.get(span)

    def end_all(self, status: str, error: str | None) -> None:
        """Whatever is open ends so, the innermost first; the root last."""
        for call in list(reversed(self._open.values())):
            self.end(call, status if call is self.root or status != "ok" else "abandoned", error)

    def _parent(self, said: str | None) -> int | None:
        if said is None:
            return None
        pair = pair_of(said) or (self.root.pair[0], _number(said))
        return pair[1] if pair[0] == self.root.pair[0] and pair[1] in self._known else None

    def _tell(
        self, call: OpenCall, phase: str, at_ns: int, *, success: bool | None = None, error: str | None = None
    ) -> None:
        name = call.name if call.server is None else f"{call.server}:{call.name}"
        self.events.append(
            CallTraceEvent(f"{call.kind}_{phase}", call.id, call.said, name, at_ns, self.execution, success, error)
        )


def _number(said: str) -> int:
    try:
        return int(said, 16) if len(said) == 16 else 0
    except ValueError:
        return 0


def _record(
    call: OpenCall, phase: str, ended: int | None = None, status: str | None = None, error: str | None = None
) -> None:
    attributes = {} if error is None else {"error": error}
    record_foreign_span(
        (*call.pair, call.parent, phase, call.name, call.kind, call.server, call.started_ns, ended, status,
         attributes, call.links)
    )  # fmt: skip
