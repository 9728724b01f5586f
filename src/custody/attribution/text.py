"""Text as lineage reads it: lines, their keys without white space, their words, whether they are informative.

Only this module decides which lines are the same line, and which file a trace's path names.
"""

from collections.abc import Collection, Iterable, Iterator
from hashlib import blake2b
from itertools import groupby

from custody.core.ids import ContentHash, content_hash_from_lines
from custody.core.paths import Lines, RepoPath
from custody.core.patterns import lazy_pattern

INFORMATIVE_CHARACTERS_MIN = 6
"""Minimum letters and digits of an informative line; a bracket, ``end`` or ``else:`` has fewer."""

_WORD = lazy_pattern(r"\w+")
_OPERATOR = lazy_pattern(r"([!<>=&|~^%+*-])\1*")
_COMMON = frozenset(
    "return none true false null else try pass break continue finally end begin fi done do then default super self"
    " this init import os sys re json void const let var func fn def class public private static nil undefined ok err"
    " error if not is in and or esac except raise throw catch new async await yield next main div span html head body"
    " use strict endif endfor".split()
)
"""Words that occur in any file: a line of these alone is not informative."""


def split_lineage_lines(text: str) -> list[str]:
    r"""Return the lines of a text without their line ends; a final line end does not begin another line.

    >>> split_lineage_lines("a\r\nb\n")
    ['a', 'b']
    """
    if not text:
        return []
    lines = text.split("\n")
    if not lines[-1]:
        lines.pop()
    return [line.removesuffix("\r") for line in lines] if "\r" in text else lines


def decode_lineage_text(data: bytes) -> str:
    """Return a file's bytes as text; invalid UTF-8 becomes lone surrogates, so that nothing is lost."""
    return data.decode("utf-8", "surrogateescape")


def strip_lineage_whitespace(line: str) -> str:
    """Return the line without any white space."""
    return "".join(line.split())


def line_ranges_from_numbers(numbers: Iterable[int]) -> Iterator[Lines]:
    """Yield rising line numbers as ranges of adjacent lines.

    >>> [str(lines) for lines in line_ranges_from_numbers([1, 2, 5])]
    ['1-2', '5']
    """
    for _, run in groupby(enumerate(numbers), key=lambda pair: pair[1] - pair[0]):
        adjacent = [number for _, number in run]
        yield Lines(adjacent[0], adjacent[-1])


def hash_segment_lines(lines: Iterable[str]) -> ContentHash:
    """Return the content hash of lines from ``decode_lineage_text`` and ``split_lineage_lines``."""
    return content_hash_from_lines(line.encode("utf-8", "surrogateescape") for line in lines)


def make_lineage_key(line: str) -> int:
    """Return a 64-bit hash of the line without white space, as a signed number."""
    digest = blake2b(strip_lineage_whitespace(line).encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "big", signed=True)


def make_lineage_keys(lines: Iterable[str]) -> list[int]:
    """Return the key of every line."""
    return [make_lineage_key(line) for line in lines]


def split_lineage_words(line: str) -> tuple[str, ...]:
    """Return the words of a line, without punctuation and quotes, since formatters change those.

    >>> split_lineage_words("total = price * 3  # net")
    ('total', 'price', '3', 'net')
    """
    return tuple(_WORD.findall(line))


def split_lineage_operators(line: str) -> tuple[str, ...]:
    """Return the operators of a line without the mark of a list, which formatters change.

    >>> split_lineage_operators("if !ok && count >= 3 {"), split_lineage_operators("- item")
    (('!', '&&', '>', '='), ())
    """
    start = _WORD.search(line)
    if start is None:
        return ()
    bullet = line[: start.start()].strip() in ("-", "*", "+")
    return tuple(match[0] for match in _OPERATOR.finditer(line, start.start() if bullet else 0))


def is_informative_lineage_line(line: str) -> bool:
    """Return whether a line is specific enough to be matched by itself; others follow their neighbors.

    >>> [is_informative_lineage_line(line) for line in ("    return total_price", "}", "    return None")]
    [True, False, False]
    """
    words = split_lineage_words(line)
    characters = sum(map(len, words))
    return characters >= INFORMATIVE_CHARACTERS_MIN and not _COMMON.issuperset(word.lower() for word in words)


_IMPORT = lazy_pattern(
    r"\s*(?:import\b|from\s\S+\simport\b|#\s*include\b|use\s|using\s|package\b|require\b|export\s.*\sfrom\s"
    r"|(?:const|let|var)\s.*=\s*require\(|(?:[\w.]+\s+)?[\"'][\w.@/-]+[\"'][,;]?\s*$)"
)


def is_import_line(line: str) -> bool:
    """Return whether a line imports something, as many files do.

    >>> [is_import_line(line) for line in ("from os import path", '  "example.org/a/session"', "import_all(names)")]
    [True, True, False]
    """
    return _IMPORT.match(line) is not None


# The file of a repository that a trace's path names (document 000, section 4).


def resolve_traced_path(traced: RepoPath, files: Collection[RepoPath]) -> RepoPath | None:
    """Return the file that ``traced`` names: itself, else the only file that shares its end.

    Only whole path components count: ``log.js`` is not ``blog.js``.
    """
    if traced in files:
        return traced
    matches = [file for file in files if can_traced_path_match(traced, file)]
    return matches[0] if len(matches) == 1 else None


def can_traced_path_match(traced: RepoPath, path: RepoPath) -> bool:
    """Return whether one of the paths ends with the other, in whole components."""
    return traced == path or _is_traced_path_suffix(traced, path) or _is_traced_path_suffix(path, traced)


def list_traced_path_suffixes(path: RepoPath) -> Iterator[RepoPath]:
    """Yield ``path`` and its shorter ends, the longest first.

    >>> [str(end) for end in list_traced_path_suffixes(RepoPath(b"a/b/c.py"))]
    ['a/b/c.py', 'b/c.py', 'c.py']
    """
    parts = path.raw.split(b"/")
    for at in range(len(parts)):
        yield RepoPath(b"/".join(parts[at:]))


def _is_traced_path_suffix(end: RepoPath, path: RepoPath) -> bool:
    return path.raw.endswith(b"/" + end.raw)
