"""A report for an audit: parsed once, with its list, its markers and its links to other pages."""

from bisect import bisect_right
from functools import cached_property

from msgspec import Struct

from custody.cite.codes import CitationCode, Finding
from custody.cite.document import Label, LabelIndex, ListEntry, Marker, SourceListing
from custody.cite.entries import is_web_source_url
from custody.cite.markdown import Layout, parse_markdown_layout, replace_citation_surrogates
from custody.cite.markers import scan_citation_markers
from custody.cite.source_list import find_source_listing
from custody.cite.urls import UrlParts, parse_source_url

MESSAGE_CHARACTERS_MAX = 80


class CheckFinding(Struct, frozen=True):
    """A finding of a check: its code, its byte offset, and a message."""

    code: CitationCode
    at: int
    message: str


class Use(Struct, frozen=True):
    """A source named by a marker; ``entry`` is None if it is not listed."""

    marker: Marker
    label: Label
    entry: ListEntry | None


class AuditSubject(Struct, frozen=True, dict=True):
    """A parsed report."""

    layout: Layout
    listing: SourceListing
    markers: tuple[Marker, ...]

    @classmethod
    def of(cls, data: bytes) -> "AuditSubject":
        """Parse a report."""
        layout = parse_markdown_layout(data)
        listing = find_source_listing(layout)
        return cls(layout, listing, scan_citation_markers(layout, listing).markers)

    def line(self, at: int) -> int:
        """Return the line of a byte."""
        return self.layout.place(at).line

    def locate_finding(self, finding: CheckFinding) -> Finding:
        """Return a finding with its line and column."""
        line, column = self.layout.place(finding.at)
        return Finding(finding.code, line, column, finding.message)

    @cached_property
    def uses(self) -> tuple[Use, ...]:
        """Return the sources that markers name, in the order of the text."""
        names = LabelIndex(self.listing.entries)
        return tuple(Use(marker, label, names.find(label)) for marker in self.markers for label in marker.labels)

    @cached_property
    def links(self) -> tuple[tuple[int, int, str], ...]:
        """Return the links to other pages outside the list: start, end and URL."""
        layout = self.layout
        links = [
            (link.start, link.end, link.url) for link in layout.links if not link.image and is_web_source_url(link.url)
        ]
        links += [(start, end, layout.text(start, end)) for start, end in layout.addresses]
        return tuple(link for link in sorted(links) if not self.is_in_list(link[0]))

    @cached_property
    def parts(self) -> dict[int, UrlParts | None]:
        """Return the parsed URL of every entry, by the entry's ``id``; None if it is not a URL."""
        return {id(entry): parse_source_url(entry.url) for entry in self.listing.entries if entry.url is not None}

    def is_in_list(self, offset: int) -> bool:
        """Return whether a byte belongs to the source list."""
        at = bisect_right(self._list_ranges, (offset, len(self.layout.data) + 1)) - 1
        return at >= 0 and offset < self._list_ranges[at][1]

    @cached_property
    def _list_ranges(self) -> tuple[tuple[int, int], ...]:
        """Return the byte ranges of the list, without overlap."""
        ranges: list[tuple[int, int]] = []
        sections = [(section.heading_start, section.end) for section in self.listing.sections]
        for start, end in sorted([*sections, *self.listing.cut]):
            if ranges and not self.layout.data[ranges[-1][1] : start].strip():
                ranges[-1] = (ranges[-1][0], max(end, ranges[-1][1]))
            else:
                ranges.append((start, end))
        return tuple(ranges)


def shorten_citation_text(text: str) -> str:
    """Return a text short enough for a message, with printable characters only."""
    line = " ".join(replace_citation_surrogates(text).split())
    return line if len(line) <= MESSAGE_CHARACTERS_MAX else f"{line[: MESSAGE_CHARACTERS_MAX - 1]}…"


def name_source_entry(entry: ListEntry) -> str:
    """Return how a message names an entry: by its label, else by its text."""
    return f"[{entry.label}]" if entry.label is not None else f"'{shorten_citation_text(entry.text)}'"
