"""Strategies for git: realistic and hostile names and contents."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeVar

from hypothesis import strategies as st

from custody.core.paths import Hunk
from custody.git.chunk_reader import ChunkReader

T = TypeVar("T")

# Few distinct lines, so that versions share some of them and a diff has something to find.
_TEXTS = st.sampled_from(
    (b"", b"a", b"b", b"\tc  ", b"--- x", b"+++ y", b"@@ -1 +1 @@", b"\\ No", b"diff --git a/x b/x", b"\xff\xe9")
)
_ENDS = st.sampled_from((b"\n", b"\n", b"\n", b"\r\n", b"\r\r\n", b"\x0b\n", b"\x85\n"))
_LINES = st.lists(st.tuples(_TEXTS, _ENDS).map(b"".join), max_size=12)

texts = st.tuples(_LINES.map(b"".join), st.sampled_from((b"", b"", b"end", b"\r"))).map(b"".join)
binaries = st.tuples(texts, texts).map(b"\0".join)
contents = st.one_of(texts, texts, texts, binaries)

_NAME_BYTES = b'ab \n\t\r"\\-*?:()[]!#~^\x01\x7f\xff\xc3\xa4'
_parts = (
    st.lists(st.sampled_from(_NAME_BYTES), min_size=1, max_size=6)
    .map(bytes)
    .filter(lambda name: name not in (b".", b".."))
)
odd_names = st.one_of(
    st.sampled_from(
        (b"--output=x", b"-O", b":(top)a", b"*", b"a b", b' b"', b"\xff", b"x\ny", b"x\r", b"a -> b", b"deep/er/file")
    ),
    _parts,
    st.tuples(st.just(b"folder"), _parts).map(b"/".join),
)
plain_names = st.sampled_from((b"a.txt", b"b.txt", b"folder/c.txt", b"folder/d"))


def versions(
    names: st.SearchStrategy[bytes], values: st.SearchStrategy[bytes]
) -> st.SearchStrategy[list[dict[bytes, bytes]]]:
    """Return versions of a few files."""
    one = st.lists(names, min_size=1, max_size=3, unique=True).flatmap(
        lambda some: st.fixed_dictionaries(dict.fromkeys(some, values))
    )
    return st.lists(one, min_size=1, max_size=3)


def lines_of(content: bytes) -> list[bytes]:
    """Return the lines of a file as git counts them, with line feeds."""
    return re.findall(rb"[^\n]*\n|[^\n]+", content)


def applied(old: bytes, hunks: Sequence[Hunk[bytes]]) -> bytes:
    """Apply ``hunks`` to ``old``, and check that every removed line is at its position."""
    before, after, at = lines_of(old), list[bytes](), 0
    for hunk in hunks:
        start = hunk.old_index
        after += before[at:start]
        assert len(after) == hunk.new_index
        assert before[start : start + len(hunk.removed)] == list(hunk.removed)
        after += hunk.added
        at = start + len(hunk.removed)
    return b"".join(after + before[at:])


def every(read: Callable[[ChunkReader], T]) -> Callable[[Iterable[bytes]], Iterator[T]]:
    """Return a parser that reads one answer after the other."""

    def parse(chunks: Iterable[bytes]) -> Iterator[T]:
        reader = ChunkReader(chunks)
        while not reader.is_at_end():
            yield read(reader)

    return parse
