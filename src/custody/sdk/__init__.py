"""Trace a running program: ``@capability``, ``@tool``, ``with span(...)``.

May touch the clock, randomness for ids, the environment (``TRACEPARENT``) and one thread of its own. Spans reach the
spool through ``intake``, which that thread imports, not the traced program. Nothing here raises into the traced code or
changes what it returns.
"""

from typing import TYPE_CHECKING, Any

from custody.sdk.decorators import bind, capability, tool
from custody.sdk.outbox import configure, flush, lost, shutdown
from custody.sdk.propagation import (
    continued,
    current_traceparent,
    to_environment,
    to_headers,
    to_meta,
    to_rpc,
)
from custody.sdk.records import SpanRecord
from custody.sdk.spans import Span, span

if TYPE_CHECKING:
    from custody.sdk.decorators import ContextExecutor

__all__ = [
    "ContextExecutor",
    "Span",
    "SpanRecord",
    "bind",
    "capability",
    "configure",
    "continued",
    "current_traceparent",
    "flush",
    "lost",
    "shutdown",
    "span",
    "to_environment",
    "to_headers",
    "to_meta",
    "to_rpc",
    "tool",
]


def __getattr__(name: str) -> Any:
    """Return ``ContextExecutor``, whose base class not every program has loaded."""
    if name == "ContextExecutor":
        from custody.sdk.decorators import ContextExecutor

        return ContextExecutor
    raise AttributeError(name)
