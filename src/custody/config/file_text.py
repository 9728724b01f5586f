"""Bytes of a file as text, and the limits that hold for every file."""

import re
import tomllib
from typing import Any

from custody.config.rule import printable
from custody.core.errors import InputError

FILE_BYTES_MAX = 1 << 20
NESTING_MAX = 16
"""Far more than any rule needs, and far less than a parser can be hurt by."""


def text_of(name: str, data: bytes) -> str:
    """The file as text, or an ``InputError`` that says why it is none."""
    if len(data) > FILE_BYTES_MAX:
        raise InputError(
            f"'{printable(name)}' is larger than {FILE_BYTES_MAX:,} bytes", hint="a file of rules is small"
        )
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line, column = place_of(data[: error.start].decode("utf-8"), error.start)
        raise InputError(
            f"'{printable(name)}' is not UTF-8 at line {line}, column {column}", hint="save it as UTF-8"
        ) from error


def place_of(text: str, at: int) -> tuple[int, int]:
    r"""The line and the column, both from 1, of the character ``at``.

    >>> place_of("ab\ncd", 4), place_of("", 0)
    ((2, 2), (1, 1))
    """
    before = text[:at]
    return before.count("\n") + 1, len(before) - before.rfind("\n")


def unreadable(name: str, form: str, problem: str, place: tuple[int, int]) -> InputError:
    """The error for a file that is not ``form`` (TOML, YAML)."""
    return InputError(
        f"'{printable(name)}' is not {form}: {problem} at line {place[0]}, column {place[1]}",
        hint="nothing of a file is used unless all of it can be read",
    )


# TOML as plain values; what could keep the parser busy for ever is refused before it starts.


FORM = "TOML that custody reads"

# What is no key: comments and strings; one that is not closed reaches to its end, and the parser will say so.
_SKIPPED = re.compile(
    r"""\#[^\n]*
    | \"{3}(?:\\.|[^\\])*?(?:\"{3,5}|\Z)
    | '{3}.*?(?:'{3,5}|\Z)
    | "(?:\\.|[^"\\\n])*+"?
    | '[^'\n]*+'?""",
    re.DOTALL | re.VERBOSE,
)
_NOT_LINE_END = re.compile(r"[^\n]")
_LONG_KEY = re.compile(rf"(?<![\w-])(?:[\w-]++[ \t]*+\.[ \t]*+){{{NESTING_MAX}}}")
_LONG_NUMBER = re.compile(r"[0-9_]{400}")
_BRACKET = re.compile(r"[\[\]{}]")
_PLACE = re.compile(r" \((?:at line (\d+), column (\d+)|at end of document)\)$")


def parse_toml(name: str, data: bytes) -> dict[str, Any]:
    """The file's tables, or an ``InputError`` that names line and column."""
    text = text_of(name, data)
    _check(name, text)
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        said = str(error)
        place = _PLACE.search(said)
        at = (int(place[1]), int(place[2])) if place and place[1] else place_of(text, len(text))
        raise unreadable(name, "TOML", _PLACE.sub("", said), at) from error


def _check(name: str, text: str) -> None:
    """Refuse what makes tomllib slow or raises something else than its own error, wherever it stands."""
    # Every comment and string becomes as many characters that mean nothing, so that places stay what they are.
    bare = _SKIPPED.sub(lambda skipped: _NOT_LINE_END.sub("q", skipped[0]), text)
    # The time for a key grows with the square of its parts (tomllib of Python 3.11: seconds for 16,000).
    if found := _LONG_KEY.search(bare):
        raise unreadable(name, FORM, f"a key of more than {NESTING_MAX} parts", place_of(text, found.start()))
    if found := _LONG_NUMBER.search(bare):
        raise unreadable(name, FORM, "a number of more than 400 digits", place_of(text, found.start()))
    depth = 0
    for bracket in _BRACKET.finditer(bare):
        depth += 1 if bracket[0] in "[{" else -1
        if depth > NESTING_MAX:
            raise unreadable(name, FORM, f"more than {NESTING_MAX} levels", place_of(text, bracket.start()))
