"""What stands in a report: markers, listed sources, findings with their places.

Offsets are of bytes, because a rewrite must not move one; lines and columns count from 1, columns in characters.
"""

from dataclasses import dataclass
from enum import Enum, IntEnum
from typing import NamedTuple

from custody.core.errors import InputError


class CiteError(InputError):
    """A report cannot be rewritten as it stands; the message names the place."""


class LabelKind(IntEnum):
    """How a source is named: by its id (``S3``), by a number (``3``), or by a footnote's label (``^3``)."""

    ID = 1
    NUMBER = 2
    NOTE = 3


_SIGNS = {LabelKind.ID: "S", LabelKind.NUMBER: "", LabelKind.NOTE: "^"}


class Label(NamedTuple):
    """The name of one source in a marker or in a list; numbers without leading zeros.

    >>> str(Label(LabelKind.ID, "3")), str(Label(LabelKind.NOTE, "new"))
    ('S3', '^new')
    """

    kind: LabelKind
    name: str

    @property
    def number(self) -> int | None:
        """The number in it; None of a footnote that is named by a word."""
        return int(self.name) if self.name.isascii() and self.name.isdecimal() and len(self.name) <= 9 else None

    def __str__(self) -> str:
        return f"{_SIGNS[self.kind]}{self.name}"


class MarkerForm(Enum):
    """How a marker is written."""

    BRACKET = "bracket"
    """``[S3]``, ``[3]``, ``[S1, S3]``, ``[S1-S3]``; also with full-width signs."""
    NOTE = "note"
    """``[^3]``"""
    LENTICULAR = "lenticular"
    """``【3】``, ``【3†L2】``"""
    WORD = "word"
    """``[cite: 3]``, ``[citation:3]``"""
    ESCAPED = "escaped"
    r"""``\[3\]``"""
    LINKED = "linked"
    """``[3](https://…)``: a link that shows a number. It is read as a marker and never rewritten."""


class Marker(NamedTuple):
    """What points from a statement to sources: their names, in order, and where it stands."""

    labels: tuple[Label, ...]
    form: MarkerForm
    start: int
    end: int
    backwards: bool = False
    """It holds a range whose end is before its beginning; the labels are in order all the same."""
    several: bool = False
    """It is a group or a range."""


class ListEntry(NamedTuple):
    """One source of a report's own list; ``start`` to ``end`` are the bytes that it takes up there.

    ``title`` is Markdown as it stands, on one line, without the address. ``plain`` says that title and address are all
    of it: no blocks of code, no table. ``body`` is where it begins after its label.
    """

    label: Label | None
    title: str
    url: str | None
    start: int
    end: int
    body: int
    plain: bool = True

    @property
    def text(self) -> str:
        """Title and address, as one would show them."""
        return " ".join(part for part in (self.title, self.url) if part)


@dataclass(frozen=True, slots=True)
class ListTrouble:
    """Why a list does not show as a list, and where."""

    at: int
    why: str


@dataclass(frozen=True, slots=True)
class Section:
    """A part of a report that lists sources: its heading, how far it goes, the heading's level if it is a real one."""

    heading_start: int
    heading_end: int
    end: int
    level: int = 2


@dataclass(frozen=True, slots=True)
class SourceListing:
    """Every source that a report lists, in its order, with what is wrong with how the list shows.

    ``cut`` are the bytes to take out when the list is written anew: entries, or a whole table of them.
    """

    entries: tuple[ListEntry, ...]
    sections: tuple[Section, ...]
    cut: tuple[tuple[int, int], ...]
    troubles: tuple[ListTrouble, ...]


class TextPlace(NamedTuple):
    """A line and a column, both from 1; the column counts characters."""

    line: int
    column: int
