"""Asking ``git check-attr``: what attributes say about a file's conversion. git converts nothing here."""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass

from custody.core.paths import RepoPath
from custody.git.answer_stream import AnswerStream
from custody.git.chunk_reader import ChunkReader, rubbish
from custody.git.command import Git

_ASKED = (b"text", b"crlf", b"eol", b"filter", b"ident", b"working-tree-encoding")
_NO_VALUE = (b"unspecified", b"unset", b"set")
_AS_IT_IS = (b"UTF-8", b"UTF8")


@dataclass(frozen=True, slots=True)
class Attributes:
    """The values of the attributes that convert a file, in git's words: ``set``, ``unset``, ``unspecified`` or text."""

    text: bytes = b"unspecified"
    crlf: bytes = b"unspecified"
    eol: bytes = b"unspecified"
    filter: bytes = b"unspecified"
    ident: bytes = b"unspecified"
    encoding: bytes = b"unspecified"


def attributes(git: Git, paths: Iterable[RepoPath]) -> AnswerStream[Attributes]:
    """The attributes of each of ``paths``, in their order, by one process."""
    feed = (path.raw + b"\0" for path in paths)
    return AnswerStream(
        git.start("check-attr", "--stdin", "-z", *map(bytes.decode, _ASKED), feed=feed), parse_attributes
    )


def parse_attributes(chunks: Iterable[bytes]) -> Iterator[Attributes]:
    """The answers of ``git check-attr -z``, one for each path asked."""
    reader = ChunkReader(chunks)
    while not reader.ended():
        yield Attributes(*(_value(reader, name) for name in _ASKED))


def other_conversion(found: Attributes, filters: Collection[bytes]) -> str | None:
    """Why the file's contents on disk are not those that git would commit, line endings apart; None when they are."""
    if found.filter not in _NO_VALUE and found.filter in filters:
        return f"goes through the filter '{found.filter.decode('utf-8', 'backslashreplace')}', which custody never runs"
    if found.ident == b"set":
        return "has the attribute ident, which custody does not apply"
    if found.encoding not in _NO_VALUE and found.encoding.upper() not in _AS_IT_IS:
        return "is kept in another encoding than it is committed in"
    return None


def _value(reader: ChunkReader, name: bytes) -> bytes:
    _, named, value = (reader.until(b"\0") for _ in range(3))
    if named != name:
        raise rubbish(f"the attribute '{name.decode('ascii')}' is expected", named)
    return value
