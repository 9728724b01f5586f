"""Patterns for paths, matched in time that grows with path and pattern and never explodes.

``?`` is one sign of a name, ``*`` any signs of one name, ``**`` any number of folders. There is nothing else: no sets
of signs, no braces, no escapes.
"""

from collections.abc import Callable, Sequence
from typing import TypeVar

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
