"""Reading git's answers piece by piece: the same result wherever the pieces end, a ``GitError`` for rubbish."""

import re
from collections.abc import Iterable

from custody.core.errors import GitError, InputError
from custody.core.ids import BlobSha, CommitSha
from custody.core.paths import RepoPath
from custody.git.failure import printable

_SHOWN_BYTES = 80
_DIGITS_MAX = 20
_ID_LENGTHS = (40, 64)
_HEX = frozenset(b"0123456789abcdef")


class ChunkReader:
    """Takes lines, fields and counted bytes off a stream of pieces."""

    def __init__(self, chunks: Iterable[bytes]) -> None:
        self._chunks = iter(chunks)
        self._buffer = b""
        self._at = 0

    def ended(self) -> bool:
        """Whether nothing is left."""
        return not self.peek(1)

    def peek(self, count: int) -> bytes:
        """The next ``count`` bytes without taking them; fewer at the end."""
        while len(self._buffer) - self._at < count:
            chunk = self._next_chunk()
            if not chunk:
                break
            self._buffer = self._buffer[self._at :] + chunk
            self._at = 0
        return self._buffer[self._at : self._at + count]

    def until(self, mark: bytes) -> bytes:
        """Everything before the next ``mark`` (a single byte), which is taken as well."""
        end = self._buffer.find(mark, self._at)
        if end >= 0:
            found = self._buffer[self._at : end]
            self._at = end + 1
            return found
        pieces = [self._buffer[self._at :]]
        while chunk := self._next_chunk():
            end = chunk.find(mark)
            if end >= 0:
                self._buffer, self._at = chunk, end + 1
                return b"".join((*pieces, chunk[:end]))
            pieces.append(chunk)
        raise rubbish("it breaks off", pieces[0])

    def line(self) -> bytes:
        """The next line without its end."""
        return self.until(b"\n")

    def exactly(self, count: int) -> bytes:
        """The next ``count`` bytes."""
        return b"".join(self._take(count, keep=True))

    def skip(self, count: int) -> None:
        """Pass over the next ``count`` bytes without keeping them."""
        self._take(count, keep=False)

    def _take(self, count: int, *, keep: bool) -> list[bytes]:
        pieces = []
        while count:
            if self._at == len(self._buffer):
                self._buffer, self._at = self._next_chunk(), 0
                if not self._buffer:
                    raise rubbish("it breaks off", b"")
            piece = self._buffer[self._at : self._at + count]
            self._at += len(piece)
            count -= len(piece)
            if keep:
                pieces.append(piece)
        return pieces

    def _next_chunk(self) -> bytes:
        # Only the end is empty here: a piece without bytes says nothing.
        return next(filter(None, self._chunks), b"")


def rubbish(problem: str, got: bytes) -> GitError:
    """What every parser raises for bytes that git would not write."""
    shown = printable(got[:_SHOWN_BYTES])
    return GitError(
        f"git's answer makes no sense: {problem}, at '{shown}'", hint="check 'git --version' and 'git fsck'"
    )


def number(raw: bytes) -> int:
    """``raw`` as a whole number; nothing but ASCII digits."""
    if not raw.isdigit() or len(raw) > _DIGITS_MAX:
        raise rubbish("a number is expected", raw)
    return int(raw)


def object_id(raw: bytes) -> str:
    """``raw`` as a full object id."""
    if len(raw) not in _ID_LENGTHS or not _HEX.issuperset(raw):
        raise rubbish("an object id is expected", raw)
    return raw.decode("ascii")


def commit_sha(raw: bytes) -> CommitSha:
    """``raw`` as a full commit id."""
    return CommitSha(object_id(raw))


def blob_sha(raw: bytes) -> BlobSha | None:
    """``raw`` as a full blob id; None for the zeros that stand for no blob."""
    return BlobSha(object_id(raw)) if raw.strip(b"0") else None


def repo_path(raw: bytes) -> RepoPath:
    """``raw`` as a path; a tree made by hand may hold names that no repository may have."""
    try:
        return RepoPath(raw)
    except InputError as error:
        raise GitError(f"git names a path that no repository may hold: {error.message}") from error


# git's C-style quotes around names (``"a\"b\n\303\244"``), where a format has no ``-z``.


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
