"""Rewrite a report's markers and its list into another form.

The rewrite is a splice: bytes change where a marker stood and where the list stood, and nowhere else. A marker without
source stays as it is, and no source gets its number. A link that shows a number stays too, and its source keeps that
number where numbers are shown. Converting what was converted changes nothing.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from custody.cite.document import CiteError, Label, Marker, MarkerForm, SourceListing
from custody.cite.footnote_cycles import circle
from custody.cite.list_entries import IN_CODE
from custody.cite.list_rewrite import ByteChange, list_changes
from custody.cite.markdown_ranges import Layout, lay_out
from custody.cite.markers import scan
from custody.cite.plan import ConversionTarget, Plan
from custody.cite.source_list import find_listing

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
