r"""The markers of a report.

A footnote reference (``[^3]``), an id (``[S3]``), ``【3】`` and ``[cite: 3]`` are always markers. For a plain number in
brackets, the report's own list decides:

- a listed number is a marker;
- an unlisted number is a marker without a source if the report lists numbered sources, or if its list has no labels
  (or it has no list) and it uses ``[1]``; but never 0, a number of more than four digits, or a year (1000 to 2199);
- a group or range, or a number in escaped brackets (``\[3\]``), is a marker if one of its numbers is listed, unless
  it starts with an unlisted 0;
- a link that shows a number is a marker if that number is listed.

Code, links, HTML, math, front matter and the list itself contain no markers.
"""

import re
from collections.abc import Callable, Iterator
from functools import partial
from operator import attrgetter
from typing import NamedTuple

from custody.cite.document import (
    GROUP,
    NUMBER,
    Label,
    LabelIndex,
    LabelKind,
    Marker,
    MarkerForm,
    SourceListing,
    compile_citation_pattern,
    parse_citation_labels,
    to_footnote_label,
)
from custody.cite.entries import YEARS, parse_linked_citation_label
from custody.cite.markdown import Layout

UNLISTED_MAX = 9_999

# Each pattern starts with a literal of its own, which makes the search fast.
_IN_BRACKETS = compile_citation_pattern(
    r"\[(?:\^(?P<note>[^\]\[\s^]{1,200})"
    rf"|(?P<bracket>{GROUP})(?P<escaped>\\)?"
    r"|(?:[Cc]ite|[Cc]itation|[Rr]ef|[Ss]ource|[Ss]ources|来源|引用|参考)[ \t]*(?::|：)?[ \t]*"
    rf"(?P<word>{GROUP}))\]"
)
_WIDE = compile_citation_pattern(rf"［(?P<group>{GROUP})］")
_LENTICULAR = compile_citation_pattern(rf"【(?P<group>{GROUP})(?:(?::|：){NUMBER})?(?:†(?:(?!】)[^\n]){{0,200}})?】")
_OTHERS = (("［".encode(), _WIDE, MarkerForm.BRACKET), ("【".encode(), _LENTICULAR, MarkerForm.LENTICULAR))
_BACKSLASH = 0x5C


class Scan(NamedTuple):
    """The markers of a report, and the bracketed numbers that are not markers."""

    markers: tuple[Marker, ...]
    aside: frozenset[int]


def scan_citation_markers(layout: Layout, listing: SourceListing) -> Scan:
    """Return all markers outside the list, and other bracketed numbers."""
    names = LabelIndex(listing.entries)
    outside = _OutsideRanges(listing)
    candidates = [marker for marker in _find_marker_candidates(layout) if outside.holds(marker.start)]
    counts = _has_numbered_sources(candidates, names)
    markers: list[Marker] = []
    aside: set[int] = set()
    for marker in candidates:
        if _is_citation_marker(marker, names, counts=counts):
            markers.append(marker)
        else:
            aside.update(int(label.name) for label in marker.labels if names.find(label) is None)
    outside = _OutsideRanges(listing)
    for linked in _find_linked_markers(layout):
        if outside.holds(linked.start):
            if names.find(linked.labels[0]) is not None:
                markers.append(linked)
            else:
                aside.add(int(linked.labels[0].name))
    markers.sort(key=attrgetter("start"))
    return Scan(tuple(markers), frozenset(aside))


def _find_marker_candidates(layout: Layout) -> list[Marker]:
    """Return everything in the form of a marker outside guarded bytes, in the order of the text."""
    data = layout.data
    markers = list(_find_unguarded_markers(layout, _IN_BRACKETS, _parse_bracket_citation))
    for literal, pattern, form in _OTHERS:
        if literal in data:
            markers += _find_unguarded_markers(layout, pattern, partial(_parse_enclosed_citation, form))
            markers.sort(key=attrgetter("start"))
    return markers


def _find_unguarded_markers(
    layout: Layout, pattern: re.Pattern[bytes], read: Callable[[re.Match[bytes], bool], Marker | None]
) -> Iterator[Marker]:
    """Yield the matches outside guarded bytes; equal bytes are parsed once."""
    data, guarded = layout.data, layout.guarded
    known: dict[tuple[bytes, bool], Marker | None] = {}
    at, count = 0, len(guarded)
    for match in pattern.finditer(data):
        start, end = match.span()
        while at < count and guarded[at][1] <= start:
            at += 1
        if at < count and start >= guarded[at][0]:
            continue
        key = (match[0], start > 0 and data[start - 1] == _BACKSLASH)
        if key not in known:
            known[key] = read(match, key[1])
        marker = known[key]
        if marker is not None:
            yield marker._replace(start=start - (marker.form is MarkerForm.ESCAPED), end=end)


def _parse_bracket_citation(match: re.Match[bytes], escaped: bool) -> Marker | None:
    which = match.lastgroup
    if which == "bracket":
        return None if escaped else _citation_marker_from_match(match, "bracket", MarkerForm.BRACKET)
    if which == "escaped":
        return _citation_marker_from_match(match, "bracket", MarkerForm.ESCAPED) if escaped else None
    if escaped:
        return None
    if which == "note":
        return Marker((to_footnote_label(match["note"].decode("utf-8", "replace")),), MarkerForm.NOTE, *match.span())
    return _citation_marker_from_match(match, "word", MarkerForm.WORD)


def _parse_enclosed_citation(form: MarkerForm, match: re.Match[bytes], escaped: bool) -> Marker | None:
    return None if escaped else _citation_marker_from_match(match, "group", form)


def _citation_marker_from_match(match: re.Match[bytes], name: str, form: MarkerForm) -> Marker | None:
    group = parse_citation_labels(match[name])
    return None if group is None else Marker(group.labels, form, *match.span(), group.backwards, group.several)


def _has_numbered_sources(candidates: list[Marker], names: LabelIndex) -> bool:
    """Return whether this report numbers its sources, so that an unlisted number is a marker without a source."""
    if names.has_labels:
        return names.has_numbers
    label = Label(LabelKind.NUMBER, "1")
    return any(marker.form is MarkerForm.BRACKET and label in marker.labels for marker in candidates)


def _is_citation_marker(marker: Marker, names: LabelIndex, *, counts: bool) -> bool:
    form, first = marker.form, marker.labels[0]
    if form is MarkerForm.NOTE or form is MarkerForm.WORD or first.kind is LabelKind.ID:
        return True
    if any(names.find(label) is not None for label in marker.labels):
        # ``[0, 1]`` is an interval.
        return first.name != "0" or names.find(first) is not None
    if form is MarkerForm.ESCAPED or marker.several:
        return False
    number = int(first.name)
    plausible = 0 < number <= UNLISTED_MAX and number not in YEARS
    return plausible and (counts or form is MarkerForm.LENTICULAR)


def _find_linked_markers(layout: Layout) -> Iterator[Marker]:
    for link in layout.links:
        label = parse_linked_citation_label(layout, link)
        if label is not None:
            yield Marker((label,), MarkerForm.LINKED, link.start, link.end)


class _OutsideRanges:
    """A test, for ascending offsets, of whether they are outside the list."""

    def __init__(self, listing: SourceListing) -> None:
        spans = [*listing.cut, *((section.heading_start, section.end) for section in listing.sections)]
        self._spans = sorted(spans)
        self._at = 0
        self._reach = -1

    def holds(self, offset: int) -> bool:
        """Return whether ``offset`` is outside."""
        while self._at < len(self._spans) and self._spans[self._at][0] <= offset:
            self._reach = max(self._reach, self._spans[self._at][1])
            self._at += 1
        return offset >= self._reach
