"""Text of rule files, TOML, and the limits of every file."""

import re
from typing import Any

from custody.config.rule import escape_rule_text
from custody.core.errors import InputError
from custody.core.patterns import lazy_pattern

FILE_BYTES_MAX = 1 << 20
NESTING_MAX = 16
"""More than any rule needs, and less than what harms a parser."""


def decode_rule_file(name: str, data: bytes) -> str:
    """Return the file as text, or raise an ``InputError`` with the reason."""
    if len(data) > FILE_BYTES_MAX:
        raise InputError(
            f"'{escape_rule_text(name)}' is larger than {FILE_BYTES_MAX:,} bytes", hint="a file of rules is small"
        )
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line, column = find_rule_file_position(data[: error.start].decode("utf-8"), error.start)
        raise InputError(
            f"'{escape_rule_text(name)}' is not UTF-8 at line {line}, column {column}", hint="save it as UTF-8"
        ) from error


def find_rule_file_position(text: str, at: int) -> tuple[int, int]:
    r"""Return the line and the column, both from 1, of the character ``at``.

    >>> find_rule_file_position("ab\ncd", 4), find_rule_file_position("", 0)
    ((2, 2), (1, 1))
    """
    before = text[:at]
    return before.count("\n") + 1, len(before) - before.rfind("\n")


def make_rule_syntax_error(name: str, form: str, problem: str, place: tuple[int, int]) -> InputError:
    """Return the error for a file that is not ``form`` (TOML, YAML)."""
    return InputError(
        f"'{escape_rule_text(name)}' is not {form}: {problem} at line {place[0]}, column {place[1]}",
        hint="a file with an error is not used at all",
    )


FORM = "TOML that custody reads"

# Comments and strings, which have no keys; an unclosed one extends to the end, and the parser reports it.
_SKIPPED = lazy_pattern(
    r"""\#[^\n]*
    | \"{3}(?:\\.|[^\\])*?(?:\"{3,5}|\Z)
    | '{3}.*?(?:'{3,5}|\Z)
    | "(?:\\.|[^"\\\n])*+"?
    | '[^'\n]*+'?""",
    re.DOTALL | re.VERBOSE,
)
_NOT_LINE_END = lazy_pattern(r"[^\n]")
_LONG_KEY = lazy_pattern(rf"(?<![\w-])(?:[\w-]++[ \t]*+\.[ \t]*+){{{NESTING_MAX}}}")
_LONG_NUMBER = lazy_pattern(r"[0-9_]{400}")
_BRACKET = lazy_pattern(r"[\[\]{}]")
_PLACE = lazy_pattern(r" \((?:at line (\d+), column (\d+)|at end of document)\)$")


def parse_rule_toml(name: str, data: bytes) -> dict[str, Any]:
    """Return the file's tables, or raise an ``InputError`` with line and column."""
    import tomllib  # few repositories have a file of rules

    text = decode_rule_file(name, data)
    _check_rule_toml_limits(name, text)
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        message = str(error)
        place = _PLACE.search(message)
        at = (int(place[1]), int(place[2])) if place and place[1] else find_rule_file_position(text, len(text))
        raise make_rule_syntax_error(name, "TOML", _PLACE.sub("", message), at) from error


def _check_rule_toml_limits(name: str, text: str) -> None:
    """Raise an error for texts that make tomllib slow or raise other errors than its own."""
    # Every comment and string is replaced by as many neutral characters, so that positions stay the same.
    bare = _SKIPPED.sub(lambda skipped: _NOT_LINE_END.sub("q", skipped[0]), text)
    # The time for a key grows with the square of its parts (tomllib of Python 3.11: seconds for 16,000).
    if found := _LONG_KEY.search(bare):
        raise make_rule_syntax_error(
            name, FORM, f"a key of more than {NESTING_MAX} parts", find_rule_file_position(text, found.start())
        )
    if found := _LONG_NUMBER.search(bare):
        raise make_rule_syntax_error(
            name, FORM, "a number of more than 400 digits", find_rule_file_position(text, found.start())
        )
    depth = 0
    for bracket in _BRACKET.finditer(bare):
        depth += 1 if bracket[0] in "[{" else -1
        if depth > NESTING_MAX:
            raise make_rule_syntax_error(
                name, FORM, f"more than {NESTING_MAX} levels", find_rule_file_position(text, bracket.start())
            )
