"""Tables of named entries: filled once, then looked up by name."""

import difflib
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Protocol, TypeVar

from bench.bars import BenchError


class Named(Protocol):
    """An object with a name."""

    @property
    def name(self) -> str:
        """Return its name on the command line."""


class UnknownName(Exception):
    """The caller asked for a name that is not in the table; the message offers the nearest."""


Some = TypeVar("Some", bound=Named)


def by_name(*groups: Iterable[Some]) -> Mapping[str, Some]:
    """Return all of ``groups`` by name, in order; a duplicate name is an error."""
    table: dict[str, Some] = {}
    for entry in (entry for group in groups for entry in group):
        if entry.name in table:
            raise BenchError(f"'{entry.name}' is registered twice")
        table[entry.name] = entry
    return MappingProxyType(table)


def chosen(table: Mapping[str, Some], names: Sequence[str]) -> list[Some]:
    """Return the entries called ``names``, in that order; all of them when no name is given."""
    for name in names:
        if name not in table:
            near = difflib.get_close_matches(name, table, n=1)
            raise UnknownName(f"there is no '{name}'" + "".join(f"; did you mean '{other}'?" for other in near))
    return [table[name] for name in names or table]
