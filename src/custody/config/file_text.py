"""Bytes of a file as text, and the limits that hold for every file."""

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
