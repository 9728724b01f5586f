"""Generic events, with defaults for everything that a test does not specify."""

import json
from typing import Any

from custody.core.ids import EventId
from custody.core.wire.arrival import Arrival, arrival_from_bytes

SHA = "a" * 40
OTHER_SHA = "b" * 40

_SPECIFIC: dict[str, dict[str, Any]] = {
    "session": {"agent": "robot", "session": "s1", "model": "m-1", "head": SHA},
    "prompt": {"agent": "robot", "session": "s1", "text": "please write it"},
    "call": {"agent": "robot", "session": "s1", "name": "Edit", "status": "ok"},
    "edit": {"agent": "robot", "session": "s1", "path": "src/app.py", "after": "print(1)\n", "head": SHA},
    "source_read": {"agent": "robot", "session": "s1", "locator": "https://example.org/a", "reading": "verbatim"},
    "link": {"agent": "robot", "session": "s1", "commit": OTHER_SHA, "origin": "hook"},
    "decision": {"agent": "robot", "decision": "accepted", "actor": "ana"},
    "duplicate_answer": {
        "head": SHA,
        "base": OTHER_SHA,
        "other_head": OTHER_SHA,
        "other_base": "",
        "answer": "duplicate",
    },
    "read": {"person": "ana", "hunk": "c" * 64, "path": "src/app.py", "head_commit": SHA},
    "author": {"person": "ana", "path": "src/app.py", "text": "mine = 1\n"},
    "source": {"url": "https://example.org/a", "title": "A"},
    "change": {"base": SHA, "head_commit": OTHER_SHA, "title": "a change"},
    "span": {
        "execution": "e1",
        "span": "b2",
        "phase": "start",
        "name": "read_file",
        "span_kind": "tool",
        "server": "filesystem",
        "parent": "a1",
        "session": "s1",
        "attributes": {"path": "a.py", "bytes": 3},
    },
}
KINDS = tuple(_SPECIFIC)


def an_event(kind: str = "edit", **fields: Any) -> bytes:
    """Return one valid event's bytes."""
    event = {"custody": 1, "kind": kind, "id": "1", "at": "2026-01-31T12:00:00Z", **_SPECIFIC[kind], **fields}
    return json.dumps(event).encode()


def an_arrival(kind: str = "edit", *, event: str | None = None, **fields: Any) -> Arrival:
    """Return one valid event on its way into a chain."""
    name = event or f"{fields.get('id', '1')}-{kind}"
    return arrival_from_bytes(EventId(name), an_event(kind, **fields))
