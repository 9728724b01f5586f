"""Conversion of a report's markers and source list into another form.

Only the bytes of markers and of the list change. A marker without a source stays, and its number is not reused. A link
that shows a number also stays, and its source keeps that number. A second conversion changes nothing.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import Enum
from itertools import count
from typing import NamedTuple

from msgspec import Struct

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
    to_footnote_label,
)
from custody.cite.entries import is_web_source_url
from custody.cite.footnotes import find_footnote_cycle
from custody.cite.list_entries import IN_CODE
from custody.cite.markdown import Layout, clean_citation_markup, parse_markdown_layout, render_source_link
from custody.cite.markers import Scan, scan_citation_markers
from custody.cite.source_list import find_source_listing
from custody.core.patterns import lazy_pattern

# Assign labels to sources; only this file does that.


class ConversionTarget(Enum):
    """The target form of a conversion."""

    FOOTNOTES = "footnotes"
    """``[^1]`` and ``## Footnotes``."""
    SOURCES = "sources"
    """``[1]`` and a numbered ``## Sources``."""
    MARKERS = "markers"
    """``[S1]`` and ``## Sources`` by id."""


_PREFIXES = {ConversionTarget.FOOTNOTES: "^", ConversionTarget.SOURCES: "", ConversionTarget.MARKERS: "S"}


class Plan:
    """New labels of all listed sources.

    Numbers follow the order of first use; uncited sources come after, in the order of the list. Ids stay, and a number
    becomes the id with that number. Numbers of markers without a source, and other bracketed numbers, are not used.
    """

    def __init__(self, listing: SourceListing, scan: Scan, to: ConversionTarget) -> None:
        self.to = to
        self._names = LabelIndex(listing.entries)
        # Among footnotes, a link that shows a number refers to nothing.
        markers = [
            marker
            for marker in scan.markers
            if to is not ConversionTarget.FOOTNOTES or marker.form is not MarkerForm.LINKED
        ]
        named = {
            label: self.entry(label) for label in dict.fromkeys(label for marker in markers for label in marker.labels)
        }
        """Return the sources that markers name, in the order of first use."""
        used = {id(entry): entry for entry in named.values() if entry is not None}
        self.cited = bool(used)
        """Return whether the text cites a listed source."""
        self.notes = to is ConversionTarget.FOOTNOTES and self.cited
        """Return whether the new list has footnotes."""
        unknown = {label for label, entry in named.items() if entry is None}
        order = list((used | {id(entry): entry for entry in listing.entries}).values())
        taken = set(self._taken(scan, unknown))
        if to is ConversionTarget.MARKERS:
            numbers = _assign_source_ids(order, taken)
        else:
            numbers = _assign_source_numbers(
                order, taken, self._pinned(markers) if to is ConversionTarget.SOURCES else {}
            )
        self._new: Mapping[int, int] = numbers
        self.listed = sorted(order, key=self.number)
        """Return the sources in the order of the new list."""

    def entry(self, label: Label) -> ListEntry | None:
        """Return the source of a label."""
        return self._names.find(label)

    def number(self, entry: ListEntry) -> int:
        """Return the new number of a source."""
        return self._new[id(entry)]

    def marker(self, label: Label) -> str:
        """Return the new marker for a label."""
        entry = self.entry(label)
        return f"[{label}]" if entry is None else f"[{_PREFIXES[self.to]}{self.number(entry)}]"

    def _taken(self, scan: Scan, unknown: Iterable[Label]) -> Iterator[int]:
        """Yield the numbers that no source may get."""
        for label in unknown:
            if label.number and (label.kind is LabelKind.NOTE) is self.notes:
                yield label.number
        if not self.notes:
            yield from scan.aside

    def _pinned(self, markers: Sequence[Marker]) -> dict[int, int]:
        """Return the numbers that links show, by source; the first link wins a conflict."""
        pinned: dict[int, int] = {}
        for marker in markers:
            if marker.form is not MarkerForm.LINKED:
                continue
            entry, number = self.entry(marker.labels[0]), marker.labels[0].number
            if entry is not None and number and number not in pinned.values():
                pinned.setdefault(id(entry), number)
        return pinned


def _assign_source_numbers(order: Sequence[ListEntry], taken: set[int], pinned: Mapping[int, int]) -> dict[int, int]:
    reserved = taken | set(pinned.values())
    free = (number for number in count(1) if number not in reserved)
    return {id(entry): pinned[id(entry)] if id(entry) in pinned else next(free) for entry in order}


def _assign_source_ids(order: Sequence[ListEntry], taken: set[int]) -> dict[int, int]:
    numbers: dict[int, int] = {}
    used: set[int] = set()
    for kind in (LabelKind.ID, LabelKind.NUMBER, LabelKind.NOTE):
        for entry in order:
            number = entry.label.number if entry.label is not None and entry.label.kind is kind else None
            if number and number not in used and number not in taken:
                used.add(number)
                numbers[id(entry)] = number
    free = (number for number in count(max(used, default=0) + 1) if number not in taken)
    return {id(entry): numbers[id(entry)] if id(entry) in numbers else next(free) for entry in order}


# Write the new list in place of the old one.


INDENT = 4
"""Minimum indentation of the content of a footnote or list item."""

_BLOCK = lazy_pattern(r"(?:[-+*]|[0-9]{1,9}[.)])(?:\s|$)|#{1,6}(?:\s|$)|>|```|~~~|\||<|\[")
_BLANK_LINE = lazy_pattern(rb"[ \t]*(?:\r\n|\n|\r(?!\n))[ \t]*(?:\r\n|\n|\r(?!\n))")
_BLANK_BEFORE = lazy_pattern(rb"(?:\r\n|\n|\r(?!\n))[ \t]*(?:\r\n|\n|\r(?!\n))\Z")
BLANK_BYTES_MAX = 80
_HEADINGS = {
    ConversionTarget.FOOTNOTES: "Footnotes",
    ConversionTarget.SOURCES: "Sources",
    ConversionTarget.MARKERS: "Sources",
}
UNCITED_HEADING = "References"
LEVEL = 2
"""The level of the list's heading; a deeper heading stays, so that it does not include what follows."""


class ByteChange(NamedTuple):
    """A replacement, with its position in the old text."""

    start: int
    end: int
    new: bytes


def plan_source_list_changes(layout: Layout, listing: SourceListing, plan: Plan) -> Iterator[ByteChange]:
    """Yield the changes for one new list, in the last section that lists sources or at the end."""
    data = layout.data
    line_end = detect_markdown_line_end(data)
    level = max(LEVEL, listing.sections[-1].level) if listing.sections else LEVEL
    heading = f"{'#' * level} {_HEADINGS[plan.to] if plan.cited else UNCITED_HEADING}"
    entries = _encode_source_list(
        "\n".join(_render_source_entry(layout, plan, entry) for entry in plan.listed), line_end
    )
    cuts = _merge_source_list_ranges(layout, listing)
    if not listing.sections:
        yield from _remove_source_entries(data, cuts)
        yield _append_source_list(data, cuts, _encode_source_list(f"{heading}\n\n", line_end) + entries, line_end)
        return
    home = listing.sections[-1]
    first = next((cut for cut in cuts if home.heading_start <= cut[0] < home.end), (home.heading_end, home.heading_end))
    entries += _pad_after_source_list(data, first[1], line_end)
    if data[home.heading_end : first[0]].strip():
        stop = layout.trim_range_end(home.heading_start, home.heading_end)
        yield ByteChange(home.heading_start, stop, heading.encode())
        yield ByteChange(first[0], first[1], entries)
    else:
        yield ByteChange(home.heading_start, first[1], _encode_source_list(f"{heading}\n\n", line_end) + entries)
    yield from _remove_source_entries(data, [cut for cut in cuts if cut != first])
    for section in listing.sections[:-1]:
        if _is_source_section_empty(data, section, cuts):
            yield ByteChange(section.heading_start, _skip_report_line_ends(data, section.heading_end), b"")


def _encode_source_list(text: str, line_end: bytes) -> bytes:
    return text.encode("utf-8", "surrogateescape").replace(b"\n", line_end)


def _render_source_entry(layout: Layout, plan: Plan, entry: ListEntry) -> str:
    """Return an entry of the new list; an entry with more than title and URL keeps all its content."""
    label = _render_source_label(plan, entry)
    if not entry.plain:
        return f"{label}{_indent_footnote_body(layout.text(entry.body, entry.end))}".rstrip()

    def renamed(name: str) -> str | None:
        label = to_footnote_label(name)
        if plan.entry(label) is None:
            return None
        # Only a footnote can refer to another; elsewhere the number is text.
        return plan.marker(label) if plan.notes else f"\\{plan.marker(label)[:-1]}\\]"

    # A URL that is not a web page is already in the title.
    url = render_source_link(entry.url) if entry.url and is_web_source_url(entry.url) else ""
    parts = (label, clean_citation_markup(entry.title, renamed), url)
    return " ".join(part for part in parts if part)


def _render_source_label(plan: Plan, entry: ListEntry) -> str:
    number = plan.number(entry)
    if plan.to is ConversionTarget.MARKERS:
        return f"- [S{number}]"
    if plan.notes:
        return f"[^{number}]:"
    # Markdown renumbers lists, so after a gap it would show other numbers than the text.
    counts = plan.number(plan.listed[-1]) == len(plan.listed)
    return f"{number}." if counts else f"- [{number}]"


def _indent_footnote_body(body: str) -> str:
    """Return the content of an entry with several blocks, indented for a footnote.

    A list, code or a heading starts on a line of its own, because after the label it would be text.
    """
    first, *rest = body.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    least = min((len(line) - len(line.lstrip(" ")) for line in rest if line.strip()), default=0)
    rest = [" " * INDENT + line[least:] if line.strip() else "" for line in rest]
    if _BLOCK.match(first):
        return "\n".join(["", " " * INDENT + first, *rest])
    return "\n".join([f" {first}" if first.strip() else "", *rest])


def _merge_source_list_ranges(layout: Layout, listing: SourceListing) -> list[tuple[int, int]]:
    """Return the byte ranges of entries, joined if only white space is between them."""
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


def _remove_source_entries(data: bytes, cuts: Sequence[tuple[int, int]]) -> Iterator[ByteChange]:
    """Yield the removal of entries, with the line ends after them if a blank line before them stays."""
    for start, end in cuts:
        apart = start == 0 or _BLANK_BEFORE.search(data, max(0, start - BLANK_BYTES_MAX), start)
        yield ByteChange(start, _skip_report_line_ends(data, end) if apart else end, b"")


def _skip_report_line_ends(data: bytes, at: int) -> int:
    while at < len(data) and data[at : at + 1] in b"\r\n":
        at += 1
    return at


def _append_source_list(data: bytes, cuts: Sequence[tuple[int, int]], block: bytes, line_end: bytes) -> ByteChange:
    """Return the list as an addition to the end of the text, after a blank line; a final line end stays."""
    before = data
    if cuts and _skip_report_line_ends(data, cuts[-1][1]) == len(data):
        before = data[: cuts[-1][0]]
    last = line_end if data.endswith((b"\n", b"\r")) else b""
    return ByteChange(len(data), len(data), pad_before_source_list(before, line_end) + block + last)


def detect_markdown_line_end(data: bytes) -> bytes:
    """Return the line end of a text: CR LF if all lines have it."""
    return b"\r\n" if 0 < data.count(b"\r\n") == data.count(b"\n") else b"\n"


def pad_before_source_list(text: bytes, line_end: bytes) -> bytes:
    """Return the line ends that a blank line after the text needs; none for an empty text."""
    if not text.strip() or text.endswith(line_end * 2):
        return b""
    return line_end if text.endswith(line_end) else line_end * 2


def _pad_after_source_list(data: bytes, at: int, line_end: bytes) -> bytes:
    """Return the line ends that a blank line before the following text needs."""
    if not data[at:].strip() or _BLANK_LINE.match(data, at):
        return b""
    return line_end if data[at : at + 1] in b"\r\n" else line_end * 2


def _is_source_section_empty(data: bytes, section: Section, cuts: Sequence[tuple[int, int]]) -> bool:
    """Return whether a section is empty without its entries."""
    at = section.heading_end
    for start, end in cuts:
        if section.heading_start <= start < section.end:
            if data[at:start].strip():
                return False
            at = max(at, end)
    return not data[at : section.end].strip()


_LINE_START = b" \t>*+-.)0123456789"
_BEFORE_TEXT = lazy_pattern(rb"(?:[ \t>*+-]|[0-9]{1,9}[.)](?=[ \t]))*")
"""What a line can have before its text: quotes, bullets, item numbers."""
_APART = lazy_pattern(r"(?<=[0-9])\]\[(?!\^)")
"""Between a footnote and other text."""


class Conversion(Struct, frozen=True):
    """The new text, and its changes."""

    text: bytes
    changes: tuple[ByteChange, ...]


def convert_citations(data: bytes, to: ConversionTarget) -> Conversion:
    """Convert citations; raise ``CiteError`` if a footnote refers to itself or the list is inside code."""
    layout = parse_markdown_layout(data)
    listing = find_source_listing(layout)
    _check_citations_convertible(layout, listing)
    scan = scan_citation_markers(layout, listing)
    if not listing.entries:
        return Conversion(data, ())
    plan = Plan(listing, scan, to)
    changes = [
        *_rewrite_citation_markers(layout, scan.markers, plan),
        *plan_source_list_changes(layout, listing, plan),
    ]
    changes = sorted(change for change in changes if data[change.start : change.end] != change.new)
    return Conversion(_apply_citation_changes(data, changes), tuple(changes))


def _check_citations_convertible(layout: Layout, listing: SourceListing) -> None:
    if (cycle := find_footnote_cycle(layout, listing)) is not None:
        line, column = layout.place(cycle.at)
        raise CiteError(
            f"the footnote at line {line}, column {column} refers to itself: {cycle.route}",
            hint="a footnote may not refer to itself, directly or through others",
        )
    for trouble in listing.troubles:
        if trouble.why == IN_CODE:
            line, column = layout.place(trouble.at)
            raise CiteError(
                f"the source list at line {line}, column {column} is inside code",
                hint="close the code block before the list",
            )


def _rewrite_citation_markers(layout: Layout, markers: Sequence[Marker], plan: Plan) -> Iterator[ByteChange]:
    """Yield the new markers, separated from what follows, so that they become no link, URL or definition."""
    data = layout.data
    written = {labels: _encode_citation_marker(labels, plan) for labels in {marker.labels for marker in markers}}
    renumbered = [
        marker for marker in markers if marker.form is not MarkerForm.LINKED and written[marker.labels] is not None
    ]
    starts = {marker.start for marker in renumbered}
    addresses = {end for _, end in layout.addresses}
    for marker in renumbered:
        new = written[marker.labels] or b""
        after = data[marker.end : marker.end + 1]
        if after == b":" and _is_marker_at_line_start(data, marker.start):
            new += b"\\"
        elif (
            after == b"[" and plan.notes and marker.end not in starts and data[marker.end + 1 : marker.end + 2] != b"^"
        ):
            # ``[^1][words]`` is not a footnote followed by words.
            new += b" "
        elif after == b"(" and data[marker.start : marker.start + 1] != b"[":
            # ``【1】(words)`` is a marker and words, ``[1](words)`` would be a link.
            new += b" "
        # After a URL, a marker would become part of the URL.
        new = b" " + new if marker.start in addresses else new
        yield ByteChange(marker.start, marker.end, new)


def _encode_citation_marker(labels: Sequence[Label], plan: Plan) -> bytes | None:
    """Return the new marker; None if none of its sources is listed."""
    if all(plan.entry(label) is None for label in labels):
        return None
    markers = "".join(dict.fromkeys(plan.marker(label) for label in labels))
    return _APART.sub("] [", markers).encode() if plan.notes else markers.encode()


def _is_marker_at_line_start(data: bytes, at: int) -> bool:
    start = at
    while start > 0 and data[start - 1 : start] in _LINE_START:
        start -= 1
    at_line = start == 0 or data[start - 1 : start] in b"\r\n"
    return at_line and _BEFORE_TEXT.fullmatch(data, start, at) is not None


def _apply_citation_changes(data: bytes, changes: Sequence[ByteChange]) -> bytes:
    parts: list[bytes] = []
    at = 0
    for change in changes:
        parts += (data[at : change.start], change.new)
        at = change.end
    parts.append(data[at:])
    return b"".join(parts)
