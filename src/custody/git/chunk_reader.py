"""Parsing of git's output in pieces of any size; raises ``GitError`` for unexpected output."""

import re
from collections.abc import Iterable

from custody.core.errors import GitError, InputError
from custody.core.ids import BlobSha, CommitSha
from custody.core.paths import RepoPath
from custody.core.patterns import lazy_pattern
from custody.git.failure import escape_git_output

_SHOWN_BYTES = 80
_DIGITS_MAX = 20
_ID_LENGTHS = (40, 64)
_HEX = frozenset(b"0123456789abcdef")


class ChunkReader:
    """Reads lines, fields and counted bytes from a stream of pieces."""

    def __init__(self, chunks: Iterable[bytes]) -> None:
        self._chunks = iter(chunks)
        self._buffer = b""
        self._at = 0

    def is_at_end(self) -> bool:
        """Return whether nothing is left."""
        return not self.peek(1)

    def peek(self, count: int) -> bytes:
        """Return the next ``count`` bytes without consuming them; fewer at the end."""
        while len(self._buffer) - self._at < count:
            chunk = self._next_chunk()
            if not chunk:
                break
            self._buffer = self._buffer[self._at :] + chunk
            self._at = 0
        return self._buffer[self._at : self._at + count]

    def read_until(self, mark: bytes) -> bytes:
        """Return everything before the next ``mark`` (a single byte), and consume the mark."""
        end = self._buffer.find(mark, self._at)
        if end >= 0:
            field = self._buffer[self._at : end]
            self._at = end + 1
            return field
        pieces = [self._buffer[self._at :]]
        while chunk := self._next_chunk():
            end = chunk.find(mark)
            if end >= 0:
                self._buffer, self._at = chunk, end + 1
                return b"".join((*pieces, chunk[:end]))
            pieces.append(chunk)
        raise make_git_output_error("unexpected end", pieces[0])

    def line(self) -> bytes:
        """Return the next line without its end."""
        return self.read_until(b"\n")

    def read_exactly(self, count: int) -> bytes:
        """Return the next ``count`` bytes."""
        return b"".join(self._take(count, keep=True))

    def skip(self, count: int) -> None:
        """Skip the next ``count`` bytes."""
        self._take(count, keep=False)

    def _take(self, count: int, *, keep: bool) -> list[bytes]:
        pieces = []
        while count:
            if self._at == len(self._buffer):
                self._buffer, self._at = self._next_chunk(), 0
                if not self._buffer:
                    raise make_git_output_error("unexpected end", b"")
            piece = self._buffer[self._at : self._at + count]
            self._at += len(piece)
            count -= len(piece)
            if keep:
                pieces.append(piece)
        return pieces

    def _next_chunk(self) -> bytes:
        # Empty pieces are skipped: only the end is empty here.
        return next(filter(None, self._chunks), b"")


def make_git_output_error(problem: str, output: bytes) -> GitError:
    """Return the error for output that git would not write."""
    shown = escape_git_output(output[:_SHOWN_BYTES])
    return GitError(f"unexpected output of git: {problem} at '{shown}'", hint="run 'git --version' and 'git fsck'")


def parse_git_number(raw: bytes) -> int:
    """Parse a non-negative integer of ASCII digits."""
    if not raw.isdigit() or len(raw) > _DIGITS_MAX:
        raise make_git_output_error("expected a number", raw)
    return int(raw)


def parse_object_id(raw: bytes) -> str:
    """Parse a full object id."""
    if len(raw) not in _ID_LENGTHS or not _HEX.issuperset(raw):
        raise make_git_output_error("expected an object id", raw)
    return raw.decode("ascii")


def parse_commit_sha(raw: bytes) -> CommitSha:
    """Parse a full commit id."""
    return CommitSha(parse_object_id(raw))


def parse_blob_sha(raw: bytes) -> BlobSha | None:
    """Parse a full blob id; None for zeros, which mean no blob."""
    return BlobSha(parse_object_id(raw)) if raw.strip(b"0") else None


def parse_repo_path(raw: bytes) -> RepoPath:
    """Parse a path; raises ``GitError`` for invalid paths, which a hand-made tree may contain."""
    try:
        return RepoPath(raw)
    except InputError as error:
        raise GitError(f"invalid path in the output of git: {error.message}") from error


# git's C-style quoting of names (``"a\"b\n\303\244"``), in formats without ``-z``.


_ESCAPE = lazy_pattern(rb'\\(?:([abtnvfr"\\])|([0-3][0-7]{2}))')
_QUOTED = lazy_pattern(rb'"(?:[^"\\]|\\[abtnvfr"\\]|\\[0-3][0-7]{2})*"')
_PLAIN = frozenset(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 +,-./=@_")
_LETTERS = dict(zip(b'abtnvfr"\\', b'\a\b\t\n\v\f\r"\\', strict=True))


def unquote_git_name(name: bytes) -> bytes:
    r"""Return the bytes of a name that git printed, with or without quotes.

    >>> unquote_git_name(b"plain name"), unquote_git_name(rb'"tab\there \303\244"')
    (b'plain name', b'tab\there \xc3\xa4')
    """
    if not name.startswith(b'"'):
        return name
    if not _QUOTED.fullmatch(name):
        raise make_git_output_error("expected a quoted name", name)
    return _ESCAPE.sub(_decode_git_escape, name[1:-1])


def quote_git_name(name: bytes) -> str:
    r"""Return ``name`` in quotes, with every special byte as three octal digits.

    >>> print(quote_git_name(b'/a b:c"'))
    "/a b\072c\042"
    """
    characters = (chr(byte) if byte in _PLAIN else f"\\{byte:03o}" for byte in name)
    return f'"{"".join(characters)}"'


def _decode_git_escape(escape: re.Match[bytes]) -> bytes:
    letter, octal = escape.groups()
    return bytes([_LETTERS[letter[0]] if letter else int(octal, 8)])
