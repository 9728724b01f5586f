"""JSON, SHA-256, time and bounded input from the standard library's C modules: public modules double the start time.

Each falls back to the public module, for other interpreters.
"""

from __future__ import annotations

import os
import time

try:
    from _sha256 import sha256  # type: ignore[import-not-found, unused-ignore]  # CPython up to 3.11
except ImportError:
    try:
        from _sha2 import sha256  # type: ignore[import-not-found, no-redef, unused-ignore]  # CPython from 3.12
    except ImportError:
        from hashlib import sha256  # type: ignore[assignment, unused-ignore]

try:
    from _json import encode_basestring as quoted
    from _json import make_scanner  # type: ignore[attr-defined, unused-ignore]
except ImportError:
    from json.encoder import encode_basestring as quoted  # type: ignore[no-redef, unused-ignore]
    from json.scanner import make_scanner  # type: ignore[no-redef, attr-defined, unused-ignore]

try:
    import _signal as signal  # type: ignore[import-not-found, unused-ignore]  # loaded by every start already
except ImportError:
    import signal  # type: ignore[no-redef, unused-ignore]

TYPE_CHECKING = False  # importing typing takes longer than these modules
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any, NoReturn

__all__ = ["encode_hook_json", "format_hook_time", "parse_hook_json", "quoted", "read_hook_stdin", "sha256"]

NESTING_MAX = 100
"""Below the store's limit, to leave room for the envelope."""
DIGITS_MAX = 300
SILENCE_SECONDS_MAX = 5.0
"""An agent writes its event at once: after this silence it has forgotten to close the input."""
CHUNK_BYTES = 1 << 20

_BLANK = " \t\n\r"
_LITERALS = {None: "null", True: "true", False: "false"}


def _reject_json_constant(name: str) -> NoReturn:
    raise ValueError(f"'{name}' is not JSON")


def _reject_duplicate_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise ValueError("a duplicate key")
    return members


def _parse_finite_float(text: str) -> float:
    value = float(text)
    if value - value != 0:
        raise ValueError("beyond a double")
    return value


def _parse_bounded_int(text: str) -> int:
    if len(text) > DIGITS_MAX:
        raise ValueError("beyond a double")
    return int(text)


class _Settings:
    """Strict settings for the JSON scanner."""

    strict = True
    object_hook = None
    object_pairs_hook = staticmethod(_reject_duplicate_keys)
    parse_float = staticmethod(_parse_finite_float)
    parse_int = staticmethod(_parse_bounded_int)
    parse_constant = staticmethod(_reject_json_constant)
    memo: dict[str, str] = {}  # noqa: RUF012 - what the scanner asks for


def parse_hook_json(text: str) -> Any:
    """Parse one JSON value as strictly as the store; raise ``ValueError`` or ``RecursionError`` for anything else."""
    start = len(text) - len(text.lstrip(_BLANK))
    try:
        scan = make_scanner(_Settings())  # type: ignore[arg-type]  # any object with these attributes will do
        value, end = scan(text, start)
    except (StopIteration, SystemError) as error:
        # The scanner raises an error class of the module 'json'; without that module, CPython 3.11 loses it.
        raise ValueError("no JSON value") from error
    if text[end:].strip(_BLANK):
        raise ValueError("more than one JSON value")
    if text.count("[") + text.count("{") > NESTING_MAX:
        _check_hook_json_depth(value)
    return value


def _check_hook_json_depth(value: Any) -> None:
    level = [value]
    for _ in range(NESTING_MAX):
        level = [child for item in level for child in _list_json_children(item)]
        if not level:
            return
    raise ValueError("nested too deep")


def _list_json_children(item: Any) -> list[Any]:
    if isinstance(item, dict):
        return list(item.values())
    return item if isinstance(item, list) else []


def read_hook_stdin(source: int, seconds: float = SILENCE_SECONDS_MAX) -> Iterator[bytes]:
    """Yield data from the descriptor ``source``; raise ``TimeoutError`` after this silence."""
    os.set_blocking(source, True)  # the caller may have left it non-blocking
    before = signal.signal(signal.SIGALRM, _raise_stdin_timeout)
    try:
        while True:
            signal.setitimer(signal.ITIMER_REAL, seconds)
            piece = os.read(source, CHUNK_BYTES)
            signal.setitimer(signal.ITIMER_REAL, 0)
            if not piece:
                return
            yield piece
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _raise_stdin_timeout(_number: int, _frame: Any) -> NoReturn:
    raise TimeoutError("the input was not closed in time")


def format_hook_time() -> str:
    """Return the current time as RFC 3339 text."""
    seconds, rest = divmod(time.time_ns(), 1_000_000_000)
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds)) + f".{rest:09d}Z"


def encode_hook_json(value: Any) -> bytes:
    """Return ``value`` as JSON; surrogates that stand for invalid bytes become escapes."""
    return _encode_hook_value(value).encode("utf-8", "backslashreplace")


def _encode_hook_value(value: Any) -> str:
    if isinstance(value, str):
        return quoted(value)
    if isinstance(value, dict):
        return "{" + ",".join(f"{quoted(key)}:{_encode_hook_value(item)}" for key, item in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ",".join(map(_encode_hook_value, value)) + "]"
    if value is None or isinstance(value, bool):
        return _LITERALS[value]
    return repr(value)
