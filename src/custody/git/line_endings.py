"""Which line endings a file has once it is committed. Pure.

This is git's own rule (``convert.c``), so that a file which git calls unmodified is unmodified here:

* attributes say ``text`` (or only ``eol``): every CRLF becomes LF;
* attributes say ``text=auto``, or nothing while ``core.autocrlf`` is on: the same, unless the file looks binary or its
  version in the index has CRLF already;
* else nothing is changed.
"""

from collections.abc import Callable
from enum import Enum

from custody.git.attributes import Attributes

_BINARY_SHARE = 128
"""A file looks binary when it has more than one unprintable byte for so many printable ones."""
# git counts backspace, tab, escape and form feed as printable, and CR and LF as neither.
_UNPRINTABLE = bytes(byte for byte in (*range(32), 127) if byte not in b"\b\t\x1b\f\r\n")
_END_OF_FILE = b"\x1a"

_BY_WORD = {b"set": "text", b"unset": "kept", b"input": "text", b"auto": "guessed"}


class LineEndings(Enum):
    """What happens to a file's line endings."""

    KEPT = "kept"
    TEXT = "text"
    GUESSED = "guessed"


def endings(attributes: Attributes, *, guess: bool) -> LineEndings:
    """What the attributes say; ``guess`` is ``core.autocrlf``."""
    word = _BY_WORD.get(attributes.text) or _BY_WORD.get(attributes.crlf)
    if word is None and attributes.eol in (b"lf", b"crlf"):
        return LineEndings.TEXT
    return LineEndings(word or ("guessed" if guess else "kept"))


def as_committed(content: bytes, how: LineEndings, indexed: Callable[[], bytes]) -> bytes:
    """``content`` as git would commit it; ``indexed`` gives the version in the index, empty when there is none."""
    if how is LineEndings.KEPT or b"\r\n" not in content:
        return content
    if how is LineEndings.GUESSED and (looks_binary(content) or _has_crlf(indexed())):
        return content
    return content.replace(b"\r\n", b"\n")


def looks_binary(content: bytes) -> bool:
    r"""Whether git guesses that ``content`` is no text: a NUL, a lone CR, or too much that cannot be printed.

    >>> looks_binary(b"a\r\nb\n"), looks_binary(b"a\rb\n"), looks_binary(b"\x01a\n")
    (False, True, True)
    """
    pairs, returns, feeds = (content.count(sign) for sign in (b"\r\n", b"\r", b"\n"))
    if returns > pairs or b"\0" in content:
        return True
    unprintable = len(content) - len(content.translate(None, _UNPRINTABLE))
    printable = len(content) - unprintable - returns - feeds
    return printable // _BINARY_SHARE < unprintable - content.endswith(_END_OF_FILE)


def _has_crlf(content: bytes) -> bool:
    return b"\r\n" in content and not looks_binary(content)
