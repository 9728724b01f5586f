"""Placeholder while the real rules are being written."""

from __future__ import annotations

from typing import Any


def redact_value(value: Any, key: bytes) -> tuple[Any, list[dict[str, Any]]]:
    """``value`` without its secrets, and marks of the lines touched."""
    return value, []
