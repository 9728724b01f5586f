"""A report as the audit looks at it: parsed once, with its list, its markers and its links to other pages."""

from bisect import bisect_right
from dataclasses import dataclass
from functools import cached_property

from custody.cite.codes import CitationCode, Finding
from custody.cite.document import Label, LabelIndex, ListEntry, Marker, SourceListing
from custody.cite.entries import is_web
from custody.cite.markdown import Layout, lay_out, whole_characters
from custody.cite.markers import scan
from custody.cite.source_list import find_listing
from custody.cite.urls import UrlParts, parts_of

MESSAGE_CHARACTERS_MAX = 80


@dataclass(frozen=True, slots=True)
class CheckFinding:
    """What one check found: its code, the byte at which it stands, a sentence."""

    code: CitationCode
    at: int
    message: str


@dataclass(frozen=True, slots=True)
class Use:
    """One source named by one marker; ``entry`` is None where it is not listed."""

    marker: Marker
    label: Label
    entry: ListEntry | None


@dataclass(frozen=True)
class AuditSubject:
    """One report."""

    layout: Layout
    listing: SourceListing
    markers: tuple[Marker, ...]

    @classmethod
    def of(cls, data: bytes) -> "AuditSubject":
        """Read a report."""
        layout = lay_out(data)
        listing = find_listing(layout)
        return cls(layout, listing, scan(layout, listing).markers)

    def line(self, at: int) -> int:
        """The line of a byte."""
        return self.layout.place(at).line

    def placed(self, finding: CheckFinding) -> Finding:
        """What a check found, with its line and column."""
        line, column = self.layout.place(finding.at)
        return Finding(finding.code, line, column, finding.message)

    @cached_property
    def uses(self) -> tuple[Use, ...]:
        """Every source that a marker names, in the order of the text."""
        names = LabelIndex(self.listing.entries)
        return tuple(Use(marker, label, names.find(label)) for marker in self.markers for label in marker.labels)

    @cached_property
    def links(self) -> tuple[tuple[int, int, str], ...]:
        """What leads from the text, outside the list, to other pages: where it begins and ends, and its URL."""
        layout = self.layout
        links = [(link.start, link.end, link.url) for link in layout.links if not link.image and is_web(link.url)]
        links += [(start, end, layout.text(start, end)) for start, end in layout.addresses]
        return tuple(link for link in sorted(links) if not self.in_list(link[0]))

    @cached_property
    def parts(self) -> dict[int, UrlParts | None]:
        """The address of every entry, by the entry's ``id``, taken apart; None where it is no address."""
        return {id(entry): parts_of(entry.url) for entry in self.listing.entries if entry.url is not None}

    def in_list(self, offset: int) -> bool:
        """Whether a byte belongs to the list of sources."""
        at = bisect_right(self._list_ranges, (offset, len(self.layout.data) + 1)) - 1
        return at >= 0 and offset < self._list_ranges[at][1]

    @cached_property
    def _list_ranges(self) -> tuple[tuple[int, int], ...]:
        """Where the list stands, in ranges that do not overlap."""
        made: list[tuple[int, int]] = []
        sections = [(section.heading_start, section.end) for section in self.listing.sections]
        for start, end in sorted([*sections, *self.listing.cut]):
            if made and not self.layout.data[made[-1][1] : start].strip():
                made[-1] = (made[-1][0], max(end, made[-1][1]))
            else:
                made.append((start, end))
        return tuple(made)


def brief(text: str) -> str:
    """A text short enough for a message, with nothing in it that cannot be printed."""
    words = " ".join(whole_characters(text).split())
    return words if len(words) <= MESSAGE_CHARACTERS_MAX else f"{words[: MESSAGE_CHARACTERS_MAX - 1]}…"


def name_entry(entry: ListEntry) -> str:
    """An entry as a message names it: its label, else what it says."""
    return f"[{entry.label}]" if entry.label is not None else f"'{brief(entry.text)}'"
