"""Traces of other tools, with defaults for everything that a test does not specify."""

import json
from pathlib import Path
from typing import Any

TRACE = "550e8400-e29b-41d4-a716-446655440000"
OTHER_TRACE = "550e8400-e29b-41d4-a716-446655440001"
HASH = "sha256:26c60a61d01db583"
AT = "2026-01-23T14:30:00Z"


def a_range(first: int = 1, last: int = 9, **fields: Any) -> dict[str, Any]:
    return {"start_line": first, "end_line": last, **fields}


def a_conversation(*ranges: dict[str, Any], who: str = "ai", **fields: Any) -> dict[str, Any]:
    """Return lines written by a model in a conversation."""
    return {"contributor": {"type": who, "model_id": "maker/model-1"}, "ranges": list(ranges), **fields}


def a_trace(path: str = "src/app.py", *conversations: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """Return an Agent Trace 0.1.0 record of one file."""
    return {
        "version": "0.1.0",
        "id": TRACE,
        "timestamp": AT,
        "vcs": {"type": "git", "revision": "a" * 40},
        "tool": {"name": "robot", "version": "1.2"},
        "files": [{"path": path, "conversations": list(conversations or [a_conversation(a_range())])}],
        **fields,
    }


def a_link(commit: str, *traces: str, **fields: Any) -> dict[str, Any]:
    """Return a line of commit-links.jsonl."""
    return {"commit_sha": commit, "parent_sha": None, "trace_ids": list(traces), "created_at": AT, **fields}


def written(path: Path, *lines: dict[str, Any] | str) -> Path:
    """Return a file of these lines."""
    path.parent.mkdir(parents=True, exist_ok=True)
    text = "".join((line if isinstance(line, str) else json.dumps(line)) + "\n" for line in lines)
    path.write_text(text, encoding="utf-8")
    return path
