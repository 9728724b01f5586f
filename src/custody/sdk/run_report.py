"""What ``custody graph run`` answers."""

from typing import Any

import msgspec

from custody.core.wire.report import Report


class GraphCall(msgspec.Struct, frozen=True):
    """One call of a run: what was called, inside what, when, and how it came out."""

    trace_id: str
    parent_trace_id: str | None
    node: str
    started_ns: int
    ended_ns: int
    success: bool
    error: str | None = None


class GraphRunReport(Report, frozen=True, kw_only=True, tag="graph-run"):
    """How a script came out, and its calls in the order in which they began; ``found`` when it failed."""

    execution: str
    success: bool
    result: Any
    error: str | None
    trace: str | None
    stdout: str
    stderr: str
    dropped_bytes: int
    calls: list[GraphCall]
