"""Places in a repository: paths that hold any bytes, line ranges, and path patterns."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from custody.core.errors import InputError

PATH_BYTES_MAX = 4096


@dataclass(frozen=True, slots=True, order=True)
class RepoPath:
    """A file's path relative to the repository's root: bytes, ``/`` between parts, never leaving the root."""

    raw: bytes

    def __post_init__(self) -> None:
        if problem := _problem(self.raw):
            raise InputError(
                f"'{self.display[:200]}' {problem}",
                hint="paths are relative to the repository root, with '/' between parts and no '..'",
            )

    @classmethod
    def of(cls, text: str) -> "RepoPath":
        """Read the wire form: bytes that are not UTF-8 stand as lone surrogates (PEP 383)."""
        try:
            return cls(text.encode("utf-8", "surrogateescape"))
        except UnicodeEncodeError as error:
            raise InputError(f"{ascii(text)[:200]} has a lone surrogate that stands for no byte") from error

    def __str__(self) -> str:
        return self.raw.decode("utf-8", "surrogateescape")

    @property
    def display(self) -> str:
        """For people: printable on any terminal, whatever bytes the name holds."""
        text = self.raw.decode("utf-8", "backslashreplace")
        return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)

    @property
    def name(self) -> bytes:
        """The last part."""
        return self.raw.rpartition(b"/")[2]


def _problem(raw: bytes) -> str | None:
    if not raw:
        return "is empty"
    if len(raw) > PATH_BYTES_MAX:
        return f"is longer than {PATH_BYTES_MAX} bytes"
    if b"\0" in raw:
        return "holds a NUL byte"
    if raw.startswith(b"/"):
        return "is absolute"
    parts = raw.split(b"/")
    if b".." in parts:
        return "leaves the repository"
    if b"" in parts or b"." in parts:
        return "is not in its shortest form"
    return None


# A stretch of one file.


@dataclass(frozen=True, slots=True, order=True)
class Lines:
    """From line ``first`` to line ``last`` of one file: 1-based, both ends included."""

    first: int
    last: int

    def __post_init__(self) -> None:
        if not 1 <= self.first <= self.last:
            raise InputError(
                f"'{self.first}-{self.last}' is not a stretch of lines",
                hint="lines count from 1 and the last is not before the first",
            )

    def __len__(self) -> int:
        return self.last - self.first + 1

    def __contains__(self, line: int) -> bool:
        return self.first <= line <= self.last

    def __str__(self) -> str:
        return str(self.first) if self.first == self.last else f"{self.first}-{self.last}"

    @property
    def midpoint(self) -> int:
        """The line that stands for the stretch (document 000, section 2).

        >>> Lines(10, 13).midpoint
        11
        """
        return (self.first + self.last) // 2

    def gap_to(self, other: "Lines") -> int:
        """How many lines one must move to touch the other; 0 when they share one.

        >>> Lines(1, 3).gap_to(Lines(5, 9)), Lines(1, 3).gap_to(Lines(3, 9))
        (2, 0)
        """
        return max(0, other.first - self.last, self.first - other.last)


# Patterns for paths, matched in time that grows with path and pattern and never explodes.
# ``?`` is one sign of a name, ``*`` any signs of one name, ``**`` any number of folders. There is nothing else: no
# sets of signs, no braces, no escapes.


T = TypeVar("T")

FOLDERS = "**"


def matches(pattern: str, path: str) -> bool:
    """Whether the whole ``path`` is as ``pattern`` says; capitals and small letters are alike.

    >>> matches("src/**/test_*.py", "src/test_a.py"), matches("src/**/test_*.py", "src/a/b/test_c.py")
    (True, True)
    >>> matches("*.py", "src/a.py"), matches(".github/**", ".GitHub/workflows/ci.yml")
    (False, True)
    """
    names, patterns = path.casefold().split("/"), pattern.casefold().split("/")
    return _fits(names, patterns, FOLDERS, lambda name, name_pattern: _fits(name, name_pattern, "*", _same))


def _same(sign: str, wanted: str) -> bool:
    return wanted in ("?", sign)


def _fits(items: Sequence[T], wanted: Sequence[T], any_: T, same: Callable[[T, T], bool]) -> bool:
    """Whether ``items`` are as ``wanted``, in which ``any_`` stands for any number of them.

    What a later ``any_`` can take, an earlier one need not give back, so only the last one is tried again.
    """
    at = want = 0
    tried: tuple[int, int] | None = None
    while at < len(items):
        if want < len(wanted) and wanted[want] == any_:
            tried, want = (at, want), want + 1
        elif want < len(wanted) and same(items[at], wanted[want]):
            at, want = at + 1, want + 1
        elif tried is not None:
            tried = (tried[0] + 1, tried[1])
            at, want = tried[0], tried[1] + 1
        else:
            return False
    return all(item == any_ for item in wanted[want:])
