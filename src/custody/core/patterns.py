"""Regular expressions that are compiled when they are first used."""

import re
from typing import AnyStr, Generic, cast


class _LazyPattern(Generic[AnyStr]):
    """A pattern in place of the compiled one; its first use compiles it.

    Every name is looked up once, and stays as an attribute. Threads that are first at the same time find equal ones.
    """

    def __init__(self, pattern: AnyStr, flags: int) -> None:
        self._source: tuple[AnyStr, int] = (pattern, flags)

    def __getattr__(self, name: str) -> object:
        if name.startswith("__"):  # copy and pickle ask for them
            raise AttributeError(name)
        value: object = getattr(re.compile(*self._source), name)
        self.__dict__[name] = value
        return value


def lazy_pattern(pattern: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """Return a pattern for a module to hold: importing it compiles nothing.

    It has the methods of ``re.Pattern``; pass it to no function of ``re``.

    >>> lazy_pattern("[a-c]+").findall("abcd cab")
    ['abc', 'cab']
    """
    return cast("re.Pattern[AnyStr]", _LazyPattern(pattern, flags))
