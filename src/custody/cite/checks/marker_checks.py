"""Markers: whether there are any, whether each names a listed source, whether ranges run upwards."""

from collections.abc import Iterator

from custody.cite.codes import Code
from custody.cite.rules import CiteRules
from custody.cite.subject import Found, Subject, brief


def cites_nothing(subject: Subject, _rules: CiteRules) -> Iterator[Found]:
    """No marker, and no link to another page."""
    if not subject.markers and not subject.links:
        yield Found(Code.NONE, 0, "the report cites nothing")


def without_source(subject: Subject, _rules: CiteRules) -> Iterator[Found]:
    """Markers that name something that is not listed."""
    for use in subject.uses:
        if use.entry is None:
            yield Found(Code.UNKNOWN, use.marker.start, f"[{brief(str(use.label))}] is not listed among the sources")


def backwards(subject: Subject, _rules: CiteRules) -> Iterator[Found]:
    """Ranges that end before they begin."""
    for marker in subject.markers:
        if marker.backwards:
            written = subject.layout.text(marker.start, marker.end)
            yield Found(Code.RANGE, marker.start, f"the range in {brief(written)} runs backwards")
