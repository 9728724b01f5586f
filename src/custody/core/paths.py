"""Places in a repository: paths that hold any bytes, line ranges, hunks, and path patterns."""

from collections.abc import Callable, Iterable, Sequence
from typing import AnyStr, Generic, TypeVar

from msgspec import Struct

from custody.core.errors import InputError
from custody.core.plural import noun_for_count

PATH_BYTES_MAX = 4096


class RepoPath(Struct, frozen=True, order=True):
    """A file's path relative to the repository's root: bytes, ``/`` between parts, never leaving the root."""

    raw: bytes

    def __post_init__(self) -> None:
        if problem := _find_repo_path_problem(self.raw):
            raise InputError(
                f"'{self.display[:200]}' {problem}",
                hint="paths are relative to the repository root, with '/' between parts and no '..'",
            )

    @classmethod
    def of(cls, text: str) -> "RepoPath":
        """Read the wire form: bytes that are not UTF-8 are lone surrogates (PEP 383)."""
        try:
            return cls(text.encode("utf-8", "surrogateescape"))
        except UnicodeEncodeError as error:
            raise InputError(f"{ascii(text)[:200]} has a lone surrogate that does not encode a byte") from error

    def __str__(self) -> str:
        return self.raw.decode("utf-8", "surrogateescape")

    @property
    def display(self) -> str:
        """Return the path for people: printable on any terminal, whatever its bytes."""
        text = self.raw.decode("utf-8", "backslashreplace")
        return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)

    @property
    def name(self) -> bytes:
        """Return the last part."""
        return self.raw.rpartition(b"/")[2]


def _find_repo_path_problem(raw: bytes) -> str | None:
    if not raw:
        return "is empty"
    if len(raw) > PATH_BYTES_MAX:
        return f"is longer than {PATH_BYTES_MAX} bytes"
    if b"\0" in raw:
        return "has a NUL byte"
    if raw.startswith(b"/"):
        return "is absolute"
    parts = raw.split(b"/")
    if b".." in parts:
        return "leaves the repository"
    if b"" in parts or b"." in parts:
        return "is not in its shortest form"
    return None


class Lines(Struct, frozen=True, order=True):
    """A line range of one file, from ``first`` to ``last``: 1-based, both ends included."""

    first: int
    last: int

    def __post_init__(self) -> None:
        if not 1 <= self.first <= self.last:
            raise InputError(
                f"invalid line range {self.first},{self.last}",
                hint="lines count from 1, and the last line is not before the first",
            )

    def __len__(self) -> int:
        return self.last - self.first + 1

    def __contains__(self, line: int) -> bool:
        return self.first <= line <= self.last

    def __str__(self) -> str:
        return str(self.first) if self.first == self.last else f"{self.first}-{self.last}"

    @property
    def midpoint(self) -> int:
        """Return the line that represents the range (document 000, section 2).

        >>> Lines(10, 13).midpoint
        11
        """
        return (self.first + self.last) // 2

    def gap_to(self, other: "Lines") -> int:
        """Return how many lines one range must move to touch the other; 0 if they share a line.

        >>> Lines(1, 3).gap_to(Lines(5, 9)), Lines(1, 3).gap_to(Lines(3, 9))
        (2, 0)
        """
        return max(0, other.first - self.last, self.first - other.last)


def format_lines(line_ranges: Iterable[Lines]) -> str:
    """Return line ranges as people read them.

    >>> format_lines([Lines(5, 5)]), format_lines([Lines(1, 2), Lines(10, 12)])
    ('line 5', 'lines 1-2, 10-12')
    """
    ranges = list(line_ranges)
    noun = noun_for_count(sum(map(len, ranges)), "line")
    return f"{noun} {', '.join(map(str, ranges))}"


class Hunk(Struct, Generic[AnyStr], frozen=True):
    """Adjacent removed and added lines of one file, as bytes or as text.

    Lines count from 1. If nothing was removed (added), ``first`` is the line before, or 0 at the start, as in git.
    """

    old_first: int
    new_first: int
    removed: tuple[AnyStr, ...]
    added: tuple[AnyStr, ...]

    @classmethod
    def at_index(cls, old: int, new: int, removed: tuple[AnyStr, ...], added: tuple[AnyStr, ...]) -> "Hunk[AnyStr]":
        """Return the hunk whose lines start at these indexes from 0.

        >>> Hunk.at_index(3, 3, (), ("a",))
        Hunk(old_first=3, new_first=4, removed=(), added=('a',))
        """
        return cls(old + 1 if removed else old, new + 1 if added else new, removed, added)

    @property
    def old_index(self) -> int:
        """The index from 0 of the first removed line, or where one would be."""
        return self.old_first - 1 if self.removed else self.old_first

    @property
    def new_index(self) -> int:
        """The index from 0 of the first added line, or where one would be."""
        return self.new_first - 1 if self.added else self.new_first

    @property
    def old_lines(self) -> Lines | None:
        """The removed lines before the change; None without removed lines."""
        return Lines(self.old_first, self.old_first + len(self.removed) - 1) if self.removed else None

    @property
    def new_lines(self) -> Lines | None:
        """The added lines after the change; None without added lines."""
        return Lines(self.new_first, self.new_first + len(self.added) - 1) if self.added else None


# Patterns for paths, matched in linear time per name. ``?`` is one character of a name, ``*`` any characters of one
# name, ``**`` any number of folders. Character sets, braces and escapes are not supported.


T = TypeVar("T")

FOLDERS = "**"


def matches_path_pattern(pattern: str, path: str) -> bool:
    """Return whether the whole ``path`` matches ``pattern``, ignoring case.

    >>> [matches_path_pattern("src/**/test_*.py", path) for path in ("src/test_a.py", "src/a/b/test_c.py")]
    [True, True]
    >>> matches_path_pattern("*.py", "src/a.py"), matches_path_pattern(".github/**", ".GitHub/workflows/ci.yml")
    (False, True)
    """
    names, patterns = path.casefold().split("/"), pattern.casefold().split("/")
    return _matches_wildcard_sequence(
        names,
        patterns,
        FOLDERS,
        lambda name, name_pattern: _matches_wildcard_sequence(name, name_pattern, "*", _matches_pattern_character),
    )


def _matches_pattern_character(character: str, pattern: str) -> bool:
    return pattern in ("?", character)


def _matches_wildcard_sequence(items: Sequence[T], pattern: Sequence[T], any_: T, same: Callable[[T, T], bool]) -> bool:
    """Return whether ``items`` match ``pattern``, where ``any_`` matches any number of items.

    Only the last ``any_`` has to be tried again, since it can match whatever an earlier one could.
    """
    at = want = 0
    tried: tuple[int, int] | None = None
    while at < len(items):
        if want < len(pattern) and pattern[want] == any_:
            tried, want = (at, want), want + 1
        elif want < len(pattern) and same(items[at], pattern[want]):
            at, want = at + 1, want + 1
        elif tried is not None:
            tried = (tried[0] + 1, tried[1])
            at, want = tried[0], tried[1] + 1
        else:
            return False
    return all(item == any_ for item in pattern[want:])
