"""Names and texts made to fit a span event: whatever a program calls its spans, they can be kept.

This file is the only one that says what becomes of a name that does not fit.
"""

import hashlib
import re

from custody.core.wire.canonical import text_bytes

NAME_SIGNS_MAX = 200
KEY_SIGNS_MAX = 100
TEXT_SIGNS_MAX = 1000
NAMELESS = "unnamed"
_KEPT_SIGNS = 180
_DIGITS = 16

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
_UNSTORABLE = re.compile(r"[\x00\ud800-\udfff]")


def fit_name(text: str, signs_max: int = NAME_SIGNS_MAX) -> str:
    """``text`` as a name that a span can have: one of its own where it is too long, so that two stay two.

    >>> fit_name("read_file"), fit_name(" two\\nlines "), fit_name(""), len(fit_name("x" * 300))
    ('read_file', 'two lines', 'unnamed', 197)
    """
    if 0 < len(text) <= signs_max and not _CONTROL.search(text):
        return text
    plain = _CONTROL.sub(" ", text).strip()
    if not plain:
        return NAMELESS
    if len(plain) <= signs_max:
        return plain
    return f"{plain[:_KEPT_SIGNS]}…{hashlib.sha256(text_bytes(text)).hexdigest()[:_DIGITS]}"


def fit_key(key: str) -> str | None:
    """The name of an attribute, or None when it is none that can be kept."""
    return key if 0 < len(key) <= KEY_SIGNS_MAX and not _CONTROL.search(key) else None


def fit_text(text: str) -> str:
    """A text without what no store can hold."""
    return _UNSTORABLE.sub("\ufffd", text)


def truncate_span_text(text: str) -> str:
    """As much of a text as stays in a span.

    >>> truncate_span_text("short"), len(truncate_span_text("x" * 5000))
    ('short', 1000)
    """
    return text if len(text) <= TEXT_SIGNS_MAX else f"{text[: TEXT_SIGNS_MAX - 1]}…"
