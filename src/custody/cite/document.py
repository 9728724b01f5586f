"""The parts of a report: markers, listed sources, labels, positions.

Offsets are in bytes, because a conversion replaces bytes. Lines and columns count from 1, columns in characters.
"""

import re
from collections.abc import Iterable
from enum import Enum, IntEnum
from typing import NamedTuple

from msgspec import Struct

from custody.core.errors import InputError
from custody.core.patterns import lazy_pattern


class CiteError(InputError):
    """A report that cannot be converted; the message has the position."""


class LabelKind(IntEnum):
    """The kind of a label: an id (``S3``), a number (``3``), or a footnote (``^3``)."""

    ID = 1
    NUMBER = 2
    NOTE = 3


_PREFIXES = {LabelKind.ID: "S", LabelKind.NUMBER: "", LabelKind.NOTE: "^"}


class Label(NamedTuple):
    """The label of a source in a marker or a list; numbers without leading zeros.

    >>> str(Label(LabelKind.ID, "3")), str(Label(LabelKind.NOTE, "new"))
    ('S3', '^new')
    """

    kind: LabelKind
    name: str

    @property
    def number(self) -> int | None:
        """Return its number; None for a footnote named by a word."""
        return int(self.name) if self.name.isascii() and self.name.isdecimal() and len(self.name) <= 9 else None

    def __str__(self) -> str:
        return f"{_PREFIXES[self.kind]}{self.name}"


class MarkerForm(Enum):
    """The form of a marker."""

    BRACKET = "bracket"
    """``[S3]``, ``[3]``, ``[S1, S3]``, ``[S1-S3]``; also with full-width characters."""
    NOTE = "note"
    """``[^3]``"""
    LENTICULAR = "lenticular"
    """``【3】``, ``【3†L2】``"""
    WORD = "word"
    """``[cite: 3]``, ``[citation:3]``"""
    ESCAPED = "escaped"
    r"""``\[3\]``"""
    LINKED = "linked"
    """``[3](https://…)``: a link that shows a number; read as a marker, never converted."""


class Marker(NamedTuple):
    """A marker in the text: the labels of its sources, in order, and its position."""

    labels: tuple[Label, ...]
    form: MarkerForm
    start: int
    end: int
    backwards: bool = False
    """Whether it has a range that ends before it starts; the labels are sorted anyway."""
    several: bool = False
    """Whether it is a group or a range."""


class ListEntry(NamedTuple):
    """An entry of a report's list; ``start`` to ``end`` are its bytes, ``body`` is the offset after its label.

    ``title`` is its Markdown on one line, without the URL. ``plain`` means that it has only title and URL, without code
    blocks or tables.
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
        """Return title and URL for display."""
        return " ".join(part for part in (self.title, self.url) if part)


class ListTrouble(Struct, frozen=True):
    """Why a list does not render as a list, and where."""

    at: int
    why: str


class Section(Struct, frozen=True):
    """A section that lists sources: its heading, its end, and the level if it is a real heading."""

    heading_start: int
    heading_end: int
    end: int
    level: int = 2


class SourceListing(Struct, frozen=True):
    """All listed sources of a report, in order, and the problems with how the list renders.

    ``cut`` are the byte ranges that a new list replaces: entries, or a whole table.
    """

    entries: tuple[ListEntry, ...]
    sections: tuple[Section, ...]
    cut: tuple[tuple[int, int], ...]
    troubles: tuple[ListTrouble, ...]


class TextPlace(NamedTuple):
    """A line and a column, both from 1; the column counts characters."""

    line: int
    column: int


# The syntax of numbers, groups and ranges; only this file defines it. Patterns match bytes, because markers are
# replaced in bytes.


RANGE_MAX = 200
"""Maximum width of a range; a wider one does not name sources."""
DIGITS_MAX = 9
"""Maximum digits of a source number."""

_DIGIT = "(?:[0-9]|[０-９])"
_COMMAS = ",;，；、&和与"
_DASHES = "-‐‑‒–—−~～〜至"


def _build_marker_alternation(characters: str) -> str:
    """Return an alternation instead of a class, because a character may have several bytes."""
    return "(?:" + "|".join(map(re.escape, characters)) + ")"


def compile_citation_pattern(pattern: str) -> re.Pattern[bytes]:
    """Convert a pattern to bytes; classes must be ASCII only, except for full-width digits."""
    return re.compile(pattern.replace("[０-９]", "\\xef\\xbc[\\x90-\\x99]").encode())


_SPACE = r"(?:[ \t]{0,3}(?:\r?\n[ \t>]{0,4})?)"
NUMBER = f"{_DIGIT}{{1,{DIGITS_MAX}}}"
ITEM = f"[Ss]?{NUMBER}(?:{_SPACE}{_build_marker_alternation(_DASHES)}{_SPACE}[Ss]?{NUMBER})?"
GROUP = f"{_SPACE}{ITEM}(?:{_SPACE}(?:{_build_marker_alternation(_COMMAS)}|and){_SPACE}{ITEM})*{_SPACE}"

_ITEMS = lazy_pattern(rf"(S?)([0-9]+)(?:\s*[{re.escape(_DASHES)}]\s*(S?)([0-9]+))?", re.IGNORECASE)
_WIDE = str.maketrans("０１２３４５６７８９", "0123456789")


class LabelGroup(NamedTuple):
    """The labels of a group of numbers."""

    labels: tuple[Label, ...]
    backwards: bool
    several: bool


def normalize_marker_number(raw: bytes) -> str:
    """Return a number in ASCII digits, without leading zeros.

    >>> normalize_marker_number("０１２".encode())
    '12'
    """
    return str(int(raw.decode().translate(_WIDE)))


def to_footnote_label(name: str) -> Label:
    """Return the label of a footnote; case does not matter."""
    return Label(LabelKind.NOTE, name.casefold())


def parse_citation_labels(raw: bytes) -> LabelGroup | None:
    """Return the labels of a group, each once; None if a range is too wide.

    >>> [str(label) for label in parse_citation_labels(b"S1-S3, 7").labels], parse_citation_labels(b"3-1").backwards
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


# Resolve labels to listed sources; only this file does that.


_OTHER = {LabelKind.ID: LabelKind.NUMBER, LabelKind.NUMBER: LabelKind.ID}


class LabelIndex:
    """Listed sources by label.

    ``[S3]`` also resolves to the source listed as 3, and ``[3]`` to the source listed as S3, if the list has no exact
    match. Only a footnote reference resolves to a footnote. If several sources have one label, the first with a URL is
    used.
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
        """Return the source of a label, if it is listed."""
        if label in self._found:
            return self._found[label]
        entry = self._by_label.get(label)
        if entry is None and (other := _OTHER.get(label.kind)) is not None:
            entry = self._by_label.get(Label(other, label.name))
        self._found[label] = entry
        return entry
