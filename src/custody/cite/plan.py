"""Which source gets which label when a report is rewritten; this file is the only one that numbers."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import Enum
from itertools import count

from custody.cite.document import Label, LabelKind, ListEntry, Marker, MarkerForm, SourceListing
from custody.cite.markers import Scan
from custody.cite.names import LabelIndex


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
