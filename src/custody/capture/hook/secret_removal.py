"""No secret is written: what may hold one is redacted first, and dropped with its digest and size when that fails."""

from __future__ import annotations

import os
import sys

from .event_home import add_gap, key_of
from .fast_primitives import encode_json, sha256
from .secret_scan import trips

TYPE_CHECKING = False  # the module for it takes longer to import than all of these
if TYPE_CHECKING:
    from typing import Any

    EventFields = dict[str, Any]

REDACTION_FAILURES = (ArithmeticError, AttributeError, LookupError, MemoryError, RuntimeError, TypeError, ValueError)
"""Whatever a rule may raise: the text must then not be written at all."""


def redact_event(event: EventFields, home: str) -> bytes:
    """The event without its secrets, with marks that only this machine can match; dropped if that cannot be done."""
    data = encode_json(event)
    if not trips(data):
        return data
    try:
        from .redact import redact_value  # slow to import, seldom needed

        clean, marks = redact_value(event, key_of(home))
        return encode_json({**clean, "redacted": marks} if marks else clean)
    except REDACTION_FAILURES as error:
        return drop_event(event, data, home, f"could not be redacted ({type(error).__name__})")


def drop_event(event: EventFields, data: bytes, home: str, why: str) -> bytes:
    """What is left of an event that cannot be kept: whose it was, its digest and its size; and the gap is counted."""
    complain(home, f"an event of {len(data)} bytes was kept as digest and size only: {why}")
    lost = {"digest": "sha256:" + sha256(data).hexdigest(), "bytes": len(data), "why": why}
    kept = {name: event[name] for name in ("custody", "agent", "id", "at", "session", "call", "head") if name in event}
    return encode_json({**kept, "kind": "hook", "event": str(event.get("event", event.get("kind"))), "dropped": lost})


def complain(home: str, words: str) -> None:
    """Count what could not be kept, and say one line."""
    add_gap(home, words, dict(os.environ))
    sys.stderr.write(f"custody: {words}\n")
