"""What stands in a report: markers, listed sources, findings with their places.

Offsets are of bytes, because a rewrite must not move one; lines and columns count from 1, columns in characters.
"""

import re
from collections.abc import Iterable
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


# How a number, a group of numbers and a range are written; this file is the only one that says so.
# Patterns are of bytes, because markers are found and replaced in bytes.


RANGE_MAX = 200
"""A wider range is not taken for one: it says what something spans, not which sources."""
DIGITS_MAX = 9
"""A longer number names no source."""

_DIGIT = "(?:[0-9]|[０-９])"
_COMMAS = ",;，；、&和与"
_DASHES = "-‐‑‒–—−~～〜至"


def _one_of(signs: str) -> str:
    """An alternation instead of a class: a sign may have several bytes."""
    return "(?:" + "|".join(re.escape(sign) for sign in signs) + ")"


def compile_byte_pattern(pattern: str) -> re.Pattern[bytes]:
    """A pattern of bytes from one of characters; classes must hold ASCII only, except that of full-width digits."""
    return re.compile(pattern.replace("[０-９]", "\\xef\\xbc[\\x90-\\x99]").encode())


_SPACE = r"(?:[ \t]{0,3}(?:\r?\n[ \t>]{0,4})?)"
NUMBER = f"{_DIGIT}{{1,{DIGITS_MAX}}}"
ITEM = f"[Ss]?{NUMBER}(?:{_SPACE}{_one_of(_DASHES)}{_SPACE}[Ss]?{NUMBER})?"
GROUP = f"{_SPACE}{ITEM}(?:{_SPACE}(?:{_one_of(_COMMAS)}|and){_SPACE}{ITEM})*{_SPACE}"

_ITEMS = re.compile(rf"(S?)([0-9]+)(?:\s*[{re.escape(_DASHES)}]\s*(S?)([0-9]+))?", re.IGNORECASE)
_WIDE = str.maketrans("０１２３４５６７８９", "0123456789")


class LabelGroup(NamedTuple):
    """What a group of numbers names."""

    labels: tuple[Label, ...]
    backwards: bool
    several: bool


def number_text(raw: bytes) -> str:
    """A number in ASCII digits, without leading zeros.

    >>> number_text("０１２".encode())
    '12'
    """
    return str(int(raw.decode().translate(_WIDE)))


def note_label(name: str) -> Label:
    """A footnote's label; capitals make no difference."""
    return Label(LabelKind.NOTE, name.casefold())


def read_group(raw: bytes) -> LabelGroup | None:
    """The labels that a group names, each once; None if it holds a range too wide to be one.

    >>> [str(label) for label in read_group(b"S1-S3, 7").labels], read_group(b"3-1").backwards
    (['S1', 'S2', 'S3', 'S7'], True)
    """
    items = _ITEMS.findall(raw.decode("utf-8", "replace").translate(_WIDE))
    kind = LabelKind.ID if any(first or last for first, _, last, _ in items) else LabelKind.NUMBER
    labels: dict[Label, None] = {}
    backwards = False
    for _, first, _, last in items:
        low, high = int(first), int(last or first)
        backwards = backwards or high < low
        low, high = min(low, high), max(low, high)
        if high - low > RANGE_MAX:
            return None
        for number in range(low, high + 1):
            labels[Label(kind, str(number))] = None
    return LabelGroup(tuple(labels), backwards, len(items) > 1 or bool(items and items[0][3]))


# Which listed source a label means; this file is the only one that decides it.


_OTHER = {LabelKind.ID: LabelKind.NUMBER, LabelKind.NUMBER: LabelKind.ID}


class LabelIndex:
    """Listed sources by their labels.

    A label means the source that is listed under it. ``[S3]`` may also mean the source listed as 3, and ``[3]`` the
    one listed as S3, where the list has no other; a footnote is only ever meant by a footnote's reference. Of several
    sources under one label the first that has an address is meant.
    """

    def __init__(self, entries: Iterable[ListEntry]) -> None:
        self._by_label: dict[Label, ListEntry] = {}
        kinds = set()
        for entry in entries:
            if entry.label is not None:
                known = self._by_label.setdefault(entry.label, entry)
                if known.url is None and entry.url is not None:
                    self._by_label[entry.label] = entry
                kinds.add(entry.label.kind)
        self._found: dict[Label, ListEntry | None] = {}
        self.has_labels = bool(kinds)
        self.has_numbers = LabelKind.NUMBER in kinds or LabelKind.ID in kinds

    def find(self, label: Label) -> ListEntry | None:
        """The source that ``label`` means, if it is listed."""
        if label in self._found:
            return self._found[label]
        entry = self._by_label.get(label)
        if entry is None and (other := _OTHER.get(label.kind)) is not None:
            entry = self._by_label.get(Label(other, label.name))
        self._found[label] = entry
        return entry
