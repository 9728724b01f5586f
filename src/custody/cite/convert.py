"""Rewrite a report's markers and its list into another form.

The rewrite is a splice: bytes change where a marker stood and where the list stood, and nowhere else. A marker without
source stays as it is, and no source gets its number. A link that shows a number stays too, and its source keeps that
number where numbers are shown. Converting what was converted changes nothing.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import count
from typing import NamedTuple

from custody.cite.document import (
    CiteError,
    Label,
    LabelIndex,
    LabelKind,
    ListEntry,
    Marker,
    MarkerForm,
    Section,
    SourceListing,
    note_label,
)
from custody.cite.entries import is_web
from custody.cite.footnotes import circle
from custody.cite.list_entries import IN_CODE
from custody.cite.markdown import Layout, address, keep_inline_markup, lay_out
from custody.cite.markers import Scan, scan
from custody.cite.source_list import find_listing

# Which source gets which label when a report is rewritten; this file is the only one that numbers.


class ConversionTarget(Enum):
    """What a report can be converted to."""

    FOOTNOTES = "footnotes"
    """``[^1]`` and ``## Footnotes``."""
    SOURCES = "sources"
    """``[1]`` and a numbered ``## Sources``."""
    MARKERS = "markers"
    """``[S1]`` and ``## Sources`` by id."""


_SIGNS = {ConversionTarget.FOOTNOTES: "^", ConversionTarget.SOURCES: "", ConversionTarget.MARKERS: "S"}


class Plan:
    """New labels for every listed source.

    Numbers follow the order of first use; sources that are never cited come after, in the order of the list, so that
    nothing is lost. Ids stay what they are; a number becomes the id of that number. What a reader would take for the
    number of a source (a marker without source, a number in brackets that is none) is given to no source.
    """

    def __init__(self, listing: SourceListing, found: Scan, to: ConversionTarget) -> None:
        self.to = to
        self._names = LabelIndex(listing.entries)
        # Beside footnotes a link that shows a number means nothing any more.
        markers = [
            marker
            for marker in found.markers
            if to is not ConversionTarget.FOOTNOTES or marker.form is not MarkerForm.LINKED
        ]
        named = {
            label: self.entry(label) for label in dict.fromkeys(label for marker in markers for label in marker.labels)
        }
        """What markers name, in the order of first use."""
        used = {id(entry): entry for entry in named.values() if entry is not None}
        self.cited = bool(used)
        """Whether the text cites anything that is listed."""
        self.notes = to is ConversionTarget.FOOTNOTES and self.cited
        """Whether the new list is one of footnotes."""
        unknown = {label for label, entry in named.items() if entry is None}
        order = list((used | {id(entry): entry for entry in listing.entries}).values())
        taken = set(self._taken(found, unknown))
        if to is ConversionTarget.MARKERS:
            given = _ids(order, taken)
        else:
            given = _numbers(order, taken, self._pinned(markers) if to is ConversionTarget.SOURCES else {})
        self._new: Mapping[int, int] = given
        self.listed = sorted(order, key=self.number)
        """The sources in the order of the new list."""

    def entry(self, label: Label) -> ListEntry | None:
        """The source that a label means."""
        return self._names.find(label)

    def number(self, entry: ListEntry) -> int:
        """The new number of a source."""
        return self._new[id(entry)]

    def marker(self, label: Label) -> str:
        """How one label of a marker is written anew."""
        entry = self.entry(label)
        return f"[{label}]" if entry is None else f"[{_SIGNS[self.to]}{self.number(entry)}]"

    def _taken(self, found: Scan, unknown: Iterable[Label]) -> Iterator[int]:
        """Numbers that no source may get."""
        for label in unknown:
            if label.number and (label.kind is LabelKind.NOTE) is self.notes:
                yield label.number
        if not self.notes:
            yield from found.aside

    def _pinned(self, markers: Sequence[Marker]) -> dict[int, int]:
        """Sources that a link calls by their number keep it; of two under one number, the first that is called."""
        pinned: dict[int, int] = {}
        for marker in markers:
            if marker.form is not MarkerForm.LINKED:
                continue
            entry, number = self.entry(marker.labels[0]), marker.labels[0].number
            if entry is not None and number and number not in pinned.values():
                pinned.setdefault(id(entry), number)
        return pinned


def _numbers(order: Sequence[ListEntry], taken: set[int], pinned: Mapping[int, int]) -> dict[int, int]:
    reserved = taken | set(pinned.values())
    free = (number for number in count(1) if number not in reserved)
    return {id(entry): pinned[id(entry)] if id(entry) in pinned else next(free) for entry in order}


def _ids(order: Sequence[ListEntry], taken: set[int]) -> dict[int, int]:
    given: dict[int, int] = {}
    used: set[int] = set()
    for kind in (LabelKind.ID, LabelKind.NUMBER, LabelKind.NOTE):
        for entry in order:
            number = entry.label.number if entry.label is not None and entry.label.kind is kind else None
            if number and number not in used and number not in taken:
                used.add(number)
                given[id(entry)] = number
    free = (number for number in count(max(used, default=0) + 1) if number not in taken)
    return {id(entry): given[id(entry)] if id(entry) in given else next(free) for entry in order}


# Write the list of a report anew, in its place.


INDENT = 4
"""What belongs to a footnote or an item stands at least this far in."""

_BLOCK = re.compile(r"(?:[-+*]|[0-9]{1,9}[.)])(?:\s|$)|#{1,6}(?:\s|$)|>|```|~~~|\||<|\[")
_BLANK_LINE = re.compile(rb"[ \t]*(?:\r\n|\n|\r(?!\n))[ \t]*(?:\r\n|\n|\r(?!\n))")
_BLANK_BEFORE = re.compile(rb"(?:\r\n|\n|\r(?!\n))[ \t]*(?:\r\n|\n|\r(?!\n))\Z")
BLANK_BYTES_MAX = 80
_HEADINGS = {
    ConversionTarget.FOOTNOTES: "Footnotes",
    ConversionTarget.SOURCES: "Sources",
    ConversionTarget.MARKERS: "Sources",
}
UNCITED_HEADING = "References"
LEVEL = 2
"""The level of the list's heading; one that stood deeper stays there, else it would take in what follows."""


class ByteChange(NamedTuple):
    """Bytes that are replaced, at their place in the old text."""

    start: int
    end: int
    new: bytes


def list_changes(layout: Layout, listing: SourceListing, plan: Plan) -> Iterator[ByteChange]:
    """One new list in the last section that lists sources, or at the end; the old entries taken out."""
    data = layout.data
    line_end = line_end_of(data)
    level = max(LEVEL, listing.sections[-1].level) if listing.sections else LEVEL
    heading = f"{'#' * level} {_HEADINGS[plan.to] if plan.cited else UNCITED_HEADING}"
    entries = _encoded("\n".join(_line(layout, plan, entry) for entry in plan.listed), line_end)
    cuts = _joined(layout, listing)
    if not listing.sections:
        yield from _taken_out(data, cuts)
        yield _appended(data, cuts, _encoded(f"{heading}\n\n", line_end) + entries, line_end)
        return
    home = listing.sections[-1]
    first = next((cut for cut in cuts if home.heading_start <= cut[0] < home.end), (home.heading_end, home.heading_end))
    entries += _space_after(data, first[1], line_end)
    if data[home.heading_end : first[0]].strip():
        stop = layout.trimmed(home.heading_start, home.heading_end)
        yield ByteChange(home.heading_start, stop, heading.encode())
        yield ByteChange(first[0], first[1], entries)
    else:
        yield ByteChange(home.heading_start, first[1], _encoded(f"{heading}\n\n", line_end) + entries)
    yield from _taken_out(data, [cut for cut in cuts if cut != first])
    for section in listing.sections[:-1]:
        if _is_emptied(data, section, cuts):
            yield ByteChange(section.heading_start, _past_line_ends(data, section.heading_end), b"")


def _encoded(text: str, line_end: bytes) -> bytes:
    return text.encode("utf-8", "surrogateescape").replace(b"\n", line_end)


def _line(layout: Layout, plan: Plan, entry: ListEntry) -> str:
    """One entry of the new list; of one that is more than title and address, all that it says."""
    label = _label(plan, entry)
    if not entry.plain:
        return f"{label}{_further_in(layout.text(entry.body, entry.end))}".rstrip()

    def renamed(name: str) -> str | None:
        label = note_label(name)
        if plan.entry(label) is None:
            return None
        # Only among footnotes can one refer to another; elsewhere the number is text.
        return plan.marker(label) if plan.notes else f"\\{plan.marker(label)[:-1]}\\]"

    # What leads to no page of the web stands in the title already.
    url = address(entry.url) if entry.url and is_web(entry.url) else ""
    parts = (label, keep_inline_markup(entry.title, renamed), url)
    return " ".join(part for part in parts if part)


def _label(plan: Plan, entry: ListEntry) -> str:
    number = plan.number(entry)
    if plan.to is ConversionTarget.MARKERS:
        return f"- [S{number}]"
    if plan.notes:
        return f"[^{number}]:"
    # Markdown counts for itself: with a gap it would show other numbers than the text.
    counts = plan.number(plan.listed[-1]) == len(plan.listed)
    return f"{number}." if counts else f"- [{number}]"


def _further_in(body: str) -> str:
    """What stands after the label of an entry of several blocks, as far in as a footnote needs it.

    What begins a list, code or a heading does so on a line of its own: after the label it would be text.
    """
    first, *rest = body.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    least = min((len(line) - len(line.lstrip(" ")) for line in rest if line.strip()), default=0)
    rest = [" " * INDENT + line[least:] if line.strip() else "" for line in rest]
    if _BLOCK.match(first):
        return "\n".join(["", " " * INDENT + first, *rest])
    return "\n".join([f" {first}" if first.strip() else "", *rest])


def _joined(layout: Layout, listing: SourceListing) -> list[tuple[int, int]]:
    """The stretches that entries take up, as one where only white space is between them."""
    headings = {section.heading_start for section in listing.sections}
    made: list[tuple[int, int]] = []
    for start, end in listing.cut:
        apart = (
            not made or layout.data[made[-1][1] : start].strip() or any(made[-1][1] <= at < start for at in headings)
        )
        if apart:
            made.append((start, end))
        else:
            made[-1] = (made[-1][0], max(made[-1][1], end))
    return made


def _taken_out(data: bytes, cuts: Sequence[tuple[int, int]]) -> Iterator[ByteChange]:
    """Entries taken out; the line ends after them too, where a blank line before them keeps the rest apart."""
    for start, end in cuts:
        apart = start == 0 or _BLANK_BEFORE.search(data, max(0, start - BLANK_BYTES_MAX), start)
        yield ByteChange(start, _past_line_ends(data, end) if apart else end, b"")


def _past_line_ends(data: bytes, at: int) -> int:
    while at < len(data) and data[at : at + 1] in b"\r\n":
        at += 1
    return at


def _appended(data: bytes, cuts: Sequence[tuple[int, int]], block: bytes, line_end: bytes) -> ByteChange:
    """The list at the end of the text, after a blank line; the text ends with a line end if it did before."""
    before = data
    if cuts and _past_line_ends(data, cuts[-1][1]) == len(data):
        before = data[: cuts[-1][0]]
    last = line_end if data.endswith((b"\n", b"\r")) else b""
    return ByteChange(len(data), len(data), gap_after(before, line_end) + block + last)


def line_end_of(data: bytes) -> bytes:
    """How the lines of a text end: by CR and LF if all of them do."""
    return b"\r\n" if 0 < data.count(b"\r\n") == data.count(b"\n") else b"\n"


def gap_after(text: bytes, line_end: bytes) -> bytes:
    """What is missing to a blank line after a text; nothing if there is no text."""
    if not text.strip() or text.endswith(line_end * 2):
        return b""
    return line_end if text.endswith(line_end) else line_end * 2


def _space_after(data: bytes, at: int, line_end: bytes) -> bytes:
    """What is missing to a blank line before the text that follows the list."""
    if not data[at:].strip() or _BLANK_LINE.match(data, at):
        return b""
    return line_end if data[at : at + 1] in b"\r\n" else line_end * 2


def _is_emptied(data: bytes, section: Section, cuts: Sequence[tuple[int, int]]) -> bool:
    """Whether nothing is left under a heading once the entries are taken out."""
    at = section.heading_end
    for start, end in cuts:
        if section.heading_start <= start < section.end:
            if data[at:start].strip():
                return False
            at = max(at, end)
    return not data[at : section.end].strip()


_LINE_START = b" \t>*+-.)0123456789"
_BEFORE_TEXT = re.compile(rb"(?:[ \t>*+-]|[0-9]{1,9}[.)](?=[ \t]))*")
"""What can stand in a line before its text: quotes, bullets, the numbers of items."""
_APART = re.compile(r"(?<=[0-9])\]\[(?!\^)")
"""Between a footnote and what is none."""


@dataclass(frozen=True, slots=True)
class Conversion:
    """The new text, and what was replaced to get it."""

    text: bytes
    changes: tuple[ByteChange, ...]


def convert(data: bytes, to: ConversionTarget) -> Conversion:
    """``data`` with its citations in another form; ``CiteError`` if a footnote leads to itself or the list is code."""
    layout = lay_out(data)
    listing = find_listing(layout)
    _refuse(layout, listing)
    found = scan(layout, listing)
    if not listing.entries:
        return Conversion(data, ())
    plan = Plan(listing, found, to)
    changes = [*_marker_changes(layout, found.markers, plan), *list_changes(layout, listing, plan)]
    changes = sorted(change for change in changes if data[change.start : change.end] != change.new)
    return Conversion(_spliced(data, changes), tuple(changes))


def _refuse(layout: Layout, listing: SourceListing) -> None:
    if (found := circle(layout, listing)) is not None:
        line, column = layout.place(found.at)
        raise CiteError(
            f"the footnote at line {line}, column {column} leads back to itself: {found.route}",
            hint="a footnote may not refer to itself, directly or through others",
        )
    for trouble in listing.troubles:
        if trouble.why == IN_CODE:
            line, column = layout.place(trouble.at)
            raise CiteError(
                f"the list of sources at line {line}, column {column} stands in code",
                hint="end the code before the list begins",
            )


def _marker_changes(layout: Layout, markers: Sequence[Marker], plan: Plan) -> Iterator[ByteChange]:
    """Every marker anew; what follows it must not become a part of it, nor it the beginning of a definition."""
    data = layout.data
    written = {labels: _written(labels, plan) for labels in {marker.labels for marker in markers}}
    anew = [marker for marker in markers if marker.form is not MarkerForm.LINKED and written[marker.labels] is not None]
    starts = {marker.start for marker in anew}
    addresses = {end for _, end in layout.addresses}
    for marker in anew:
        new = written[marker.labels] or b""
        after = data[marker.end : marker.end + 1]
        if after == b":" and _begins_line(data, marker.start):
            new += b"\\"
        elif (
            after == b"[" and plan.notes and marker.end not in starts and data[marker.end + 1 : marker.end + 2] != b"^"
        ):
            # ``[^1][words]`` is no footnote and words, but neither.
            new += b" "
        elif after == b"(" and data[marker.start : marker.start + 1] != b"[":
            # ``【1】(words)`` is a marker and words, ``[1](words)`` would be a link.
            new += b" "
        # Behind an address it would be a part of the address.
        new = b" " + new if marker.start in addresses else new
        yield ByteChange(marker.start, marker.end, new)


def _written(labels: Sequence[Label], plan: Plan) -> bytes | None:
    """A marker anew; None if nothing that it names is listed."""
    if all(plan.entry(label) is None for label in labels):
        return None
    made = "".join(dict.fromkeys(plan.marker(label) for label in labels))
    return _APART.sub("] [", made).encode() if plan.notes else made.encode()


def _begins_line(data: bytes, at: int) -> bool:
    start = at
    while start > 0 and data[start - 1 : start] in _LINE_START:
        start -= 1
    at_line = start == 0 or data[start - 1 : start] in b"\r\n"
    return at_line and _BEFORE_TEXT.fullmatch(data, start, at) is not None


def _spliced(data: bytes, changes: Sequence[ByteChange]) -> bytes:
    made: list[bytes] = []
    at = 0
    for change in changes:
        made += (data[at : change.start], change.new)
        at = change.end
    made.append(data[at:])
    return b"".join(made)
