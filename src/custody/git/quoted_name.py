r"""git's C-style quotes around names (``"a\"b\n\303\244"``), where a format has no ``-z``."""

import re

from custody.git.chunk_reader import rubbish

_ESCAPE = re.compile(rb'\\(?:([abtnvfr"\\])|([0-3][0-7]{2}))')
_QUOTED = re.compile(rb'"(?:[^"\\]|\\[abtnvfr"\\]|\\[0-3][0-7]{2})*"')
_PLAIN = frozenset(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 +,-./=@_")
_LETTERS = dict(zip(b'abtnvfr"\\', b'\a\b\t\n\v\f\r"\\', strict=True))


def unquoted(name: bytes) -> bytes:
    r"""The bytes of a name as git printed it: a name without need for quotes stands as it is.

    >>> unquoted(b"plain name"), unquoted(rb'"tab\there \303\244"')
    (b'plain name', b'tab\there \xc3\xa4')
    """
    if not name.startswith(b'"'):
        return name
    if not _QUOTED.fullmatch(name):
        raise rubbish("a quoted name is expected", name)
    return _ESCAPE.sub(_decode_escape, name[1:-1])


def quote_name(name: bytes) -> str:
    r"""``name`` in quotes, every byte that could mean something as three octal digits.

    >>> print(quote_name(b'/a b:c"'))
    "/a b\072c\042"
    """
    signs = (chr(byte) if byte in _PLAIN else f"\\{byte:03o}" for byte in name)
    return f'"{"".join(signs)}"'


def _decode_escape(escape: re.Match[bytes]) -> bytes:
    letter, octal = escape.groups()
    return bytes([_LETTERS[letter[0]] if letter else int(octal, 8)])
