"""Cursors: where a page of a list ends, as a word that a caller hands back."""

import base64
import binascii

from custody.core.errors import InputError
from custody.core.wire.canonical import Json, dump, parse

NUMBER_MAX = 2**63 - 1


def cursor(*parts: Json) -> str:
    """Two parts as one word."""
    return base64.urlsafe_b64encode(dump(list(parts))).decode().rstrip("=")


def parts_of(word: str) -> tuple[Json, Json]:
    """The two parts of a cursor, or an ``InputError``."""
    try:
        padded = word + "=" * (-len(word) % 4)
        value = parse(base64.b64decode(padded.encode("ascii"), altchars=b"-_", validate=True))
    except (ValueError, binascii.Error, InputError) as error:
        raise make_cursor_error() from error
    if isinstance(value, list) and len(value) == 2:
        return value[0], value[1]
    raise make_cursor_error()


def number_behind(word: str | None, what: str) -> int:
    """The number behind which the next page of ``what`` begins; 0 for the first page."""
    if word is None:
        return 0
    kind, number = parts_of(word)
    if kind != what:
        raise make_cursor_error()
    return number_in(number)


def number_in(part: Json) -> int:
    """A part of a cursor that is a number from 1 on, or an ``InputError``."""
    if not isinstance(part, int) or isinstance(part, bool) or not 0 < part <= NUMBER_MAX:
        raise make_cursor_error()
    return part


def is_storable_name(text: str) -> bool:
    """Whether a database can hold this name: no zero character, no half of a surrogate pair."""
    return not any(sign == "\0" or "\ud800" <= sign <= "\udfff" for sign in text)


def make_cursor_error() -> InputError:
    """The error for what is no cursor."""
    return InputError("'after' is no cursor of ours", hint="take it from 'next' of the page before")
