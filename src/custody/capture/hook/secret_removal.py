"""Redaction before writing: an event with possible secrets is redacted, or reduced to digest and size on failure."""

from __future__ import annotations

import os

from .event_home import load_redaction_key, print_last_words, record_capture_gap
from .fast_primitives import encode_hook_json, sha256
from .secret_scan import has_possible_secret

TYPE_CHECKING = False  # importing typing takes longer than these modules
if TYPE_CHECKING:
    from typing import Any

    EventFields = dict[str, Any]

REDACTION_FAILURES = (ArithmeticError, AttributeError, LookupError, MemoryError, RuntimeError, TypeError, ValueError)
"""Errors that a rule may raise: the text must then not be written at all."""


def redact_event(event: EventFields, home: str) -> bytes:
    """Return the event redacted, with marks that only this machine can match; reduced to its digest on failure."""
    data = encode_hook_json(event)
    if not has_possible_secret(data):
        return data
    try:
        from .redact import redact_value  # slow to import, seldom needed

        clean, marks = redact_value(event, load_redaction_key(home))
        return encode_hook_json({**clean, "redacted": marks} if marks else clean)
    except REDACTION_FAILURES as error:
        return drop_event(event, data, home, f"could not be redacted ({type(error).__name__})")


def drop_event(event: EventFields, data: bytes, home: str, why: str) -> bytes:
    """Return an event without its content (agent, digest and size), and count a gap."""
    report_capture_gap(home, f"an event of {len(data)} bytes was reduced to digest and size: {why}")
    lost = {"digest": "sha256:" + sha256(data).hexdigest(), "bytes": len(data), "why": why}
    envelope = {
        name: event[name] for name in ("custody", "agent", "id", "at", "session", "call", "head") if name in event
    }
    return encode_hook_json(
        {**envelope, "kind": "hook", "event": str(event.get("event", event.get("kind"))), "dropped": lost}
    )


def report_capture_gap(home: str, text: str) -> None:
    """Print one line, which needs no disk, and count a gap."""
    print_last_words(text)
    record_capture_gap(home, text, dict(os.environ))
