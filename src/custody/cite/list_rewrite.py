"""Write the list of a report anew, in its place."""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from custody.cite.document import ListEntry, Section, SourceListing
from custody.cite.entries import is_web
from custody.cite.labels import note_label
from custody.cite.markdown_ranges import Layout
from custody.cite.markdown_text import address, keep_inline_markup
from custody.cite.plan import ConversionTarget, Plan

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
