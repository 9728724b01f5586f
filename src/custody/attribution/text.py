"""A file's text as lineage reads it: lines, what a line is apart from white space, its words, whether it says much.

This file is the only one that says which lines are the same line.
"""

import re
from collections.abc import Collection, Iterable, Iterator
from functools import lru_cache
from hashlib import blake2b
from itertools import groupby

from custody.core.ids import ContentHash, content_hash
from custody.core.paths import Lines, RepoPath

INFORMATIVE_SIGNS_MIN = 6
"""Letters and digits below which a line says little: a bracket, ``end``, ``else:``."""

_WORD = re.compile(r"\w+")
_COMMON = frozenset(
    "return none true false null else try pass break continue finally end begin fi done do then default super self"
    " this init import os sys re json void const let var func fn def class public private static nil undefined ok err"
    " error if not is in and or esac except raise throw catch new async await yield next main div span html head body"
    " use strict endif endfor".split()
)
"""Words that any file may have: a line made of these alone says little, whoever wrote it."""


def lines_of(text: str) -> list[str]:
    r"""The lines of a text without their line ends; a last line end does not begin one more line.

    >>> lines_of("a\r\nb\n")
    ['a', 'b']
    """
    if not text:
        return []
    found = text.split("\n")
    if not found[-1]:
        found.pop()
    return [line.removesuffix("\r") for line in found] if "\r" in text else found


def text_of(data: bytes) -> str:
    """A file's bytes as text; what is no UTF-8 stands as lone surrogates, so that nothing is lost."""
    return data.decode("utf-8", "surrogateescape")


def bare(line: str) -> str:
    """The line without any white space."""
    return "".join(line.split())


def forget_lines() -> None:
    """Drop the lines that this process remembers: they belong to the repository that was asked about."""
    for remembered in (key_of, split_line_words, is_informative):
        remembered.cache_clear()


def line_runs(numbers: Iterable[int]) -> Iterator[Lines]:
    """Rising line numbers as ranges, neighbors together.

    >>> [str(lines) for lines in line_runs([1, 2, 5])]
    ['1-2', '5']
    """
    for _, run in groupby(enumerate(numbers), key=lambda pair: pair[1] - pair[0]):
        places = [number for _, number in run]
        yield Lines(places[0], places[-1])


def hash_of(lines: Iterable[str]) -> ContentHash:
    """The content hash of lines that ``text_of`` and ``lines_of`` gave."""
    return content_hash(line.encode("utf-8", "surrogateescape") for line in lines)


@lru_cache(maxsize=1 << 16)
def key_of(line: str) -> int:
    """Sixty-four bits that stand for the line without white space, as a signed number."""
    digest = blake2b(bare(line).encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "big", signed=True)


def keys_of(lines: Iterable[str]) -> list[int]:
    """The key of every line."""
    return [key_of(line) for line in lines]


@lru_cache(maxsize=1 << 16)
def split_line_words(line: str) -> tuple[str, ...]:
    """The words of a line; marks and quotes do not count, since formatters change them.

    >>> split_line_words("total = price * 3  # net")
    ('total', 'price', '3', 'net')
    """
    return tuple(_WORD.findall(line))


@lru_cache(maxsize=1 << 16)
def is_informative(line: str) -> bool:
    """Whether a line says enough to lead: one that says little follows its neighbours.

    >>> is_informative("    return total_price"), is_informative("}"), is_informative("    return None")
    (True, False, False)
    """
    words = split_line_words(line)
    signs = sum(map(len, words))
    return signs >= INFORMATIVE_SIGNS_MIN and not _COMMON.issuperset(word.lower() for word in words)


# Which file of a repository a trace's path names (document 000, section 4).
# This file is the only one that decides it.


def file_named(traced: RepoPath, files: Collection[RepoPath]) -> RepoPath | None:
    """The file that ``traced`` names: itself, else the only one whose path ends with it or that it ends with.

    Whole names only, and never where the exact path exists: ``log.js`` is not ``blog.js``.
    """
    if traced in files:
        return traced
    fitting = [file for file in files if could_name(traced, file)]
    return fitting[0] if len(fitting) == 1 else None


def could_name(traced: RepoPath, path: RepoPath) -> bool:
    """Whether ``traced`` may name ``path``, as far as the two alone tell."""
    return traced == path or _is_end(traced, path) or _is_end(path, traced)


def endings(path: RepoPath) -> Iterator[RepoPath]:
    """``path`` and its shorter ends, the longest first.

    >>> [str(end) for end in endings(RepoPath(b"a/b/c.py"))]
    ['a/b/c.py', 'b/c.py', 'c.py']
    """
    parts = path.raw.split(b"/")
    for at in range(len(parts)):
        yield RepoPath(b"/".join(parts[at:]))


def _is_end(end: RepoPath, path: RepoPath) -> bool:
    return path.raw.endswith(b"/" + end.raw)
