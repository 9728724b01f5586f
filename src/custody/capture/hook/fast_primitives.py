"""JSON, SHA-256, the time and a patient ear, by the standard library's inner parts: public modules double a start.

Every one of them has the public module as its fall-back, for interpreters that are built otherwise.
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

TYPE_CHECKING = False  # the module for it takes longer to import than all of these
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any, NoReturn

__all__ = ["encode_json", "format_now", "parse", "quoted", "read_stdin", "sha256"]

NESTING_MAX = 100
"""Below what the chain takes, so that there is room for the envelope."""
DIGITS_MAX = 300
SILENCE_SECONDS_MAX = 5.0
"""An agent writes its event at once: one that says nothing for so long has forgotten to close our input."""
CHUNK_BYTES = 1 << 20

_BLANK = " \t\n\r"
_WORDS = {None: "null", True: "true", False: "false"}


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"'{name}' is not JSON")


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        raise ValueError("a key stands twice")
    return made


def _finite(text: str) -> float:
    value = float(text)
    if value - value != 0:
        raise ValueError("beyond a double")
    return value


def _short(text: str) -> int:
    if len(text) > DIGITS_MAX:
        raise ValueError("beyond a double")
    return int(text)


class _Settings:
    """What the scanner wants to know: everything as JSON says."""

    strict = True
    object_hook = None
    object_pairs_hook = staticmethod(_once)
    parse_float = staticmethod(_finite)
    parse_int = staticmethod(_short)
    parse_constant = staticmethod(_no_constant)
    memo: dict[str, str] = {}  # noqa: RUF012 - what the scanner asks for


def parse(text: str) -> Any:
    """Read one JSON value as strictly as the chain will; ``ValueError`` or ``RecursionError`` when it is none."""
    start = len(text) - len(text.lstrip(_BLANK))
    try:
        scan = make_scanner(_Settings())  # type: ignore[arg-type]  # any object with these attributes will do
        value, end = scan(text, start)
    except (StopIteration, SystemError) as error:
        # The scanner names its complaints by a class of the module 'json'; without that, CPython 3.11 loses them.
        raise ValueError("no JSON value") from error
    if text[end:].strip(_BLANK):
        raise ValueError("more than one JSON value")
    if text.count("[") + text.count("{") > NESTING_MAX:
        _check_depth(value)
    return value


def _check_depth(value: Any) -> None:
    level = [value]
    for _ in range(NESTING_MAX):
        level = [child for item in level for child in _children(item)]
        if not level:
            return
    raise ValueError("nested too deep")


def _children(item: Any) -> list[Any]:
    if isinstance(item, dict):
        return list(item.values())
    return item if isinstance(item, list) else []


def read_stdin(source: int, seconds: float = SILENCE_SECONDS_MAX) -> Iterator[bytes]:
    """What comes from the descriptor ``source``, piece by piece; ``TimeoutError`` after a silence of that length."""
    os.set_blocking(source, True)  # whoever started us may have left it otherwise, and we would hear nothing at all
    before = signal.signal(signal.SIGALRM, _too_long)
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


def _too_long(_number: int, _frame: Any) -> NoReturn:
    raise TimeoutError("nothing more was said")


def format_now() -> str:
    """This moment as RFC 3339 text."""
    seconds, rest = divmod(time.time_ns(), 1_000_000_000)
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds)) + f".{rest:09d}Z"


def encode_json(value: Any) -> bytes:
    """``value`` as JSON; the halves of characters that stand for odd bytes as escapes."""
    return _text(value).encode("utf-8", "backslashreplace")


def _text(value: Any) -> str:
    if isinstance(value, str):
        return quoted(value)
    if isinstance(value, dict):
        return "{" + ",".join(f"{quoted(key)}:{_text(item)}" for key, item in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ",".join(map(_text, value)) + "]"
    if value is None or isinstance(value, bool):
        return _WORDS[value]
    return repr(value)
