"""Markers: whether there are any, whether each names a listed source, whether ranges run upwards."""

from collections.abc import Iterator

from custody.cite.codes import CitationCode
from custody.cite.rules import CiteRules
from custody.cite.subject import AuditSubject, CheckFinding, brief


def cites_nothing(subject: AuditSubject, _rules: CiteRules) -> Iterator[CheckFinding]:
    """No marker, and no link to another page."""
    if not subject.markers and not subject.links:
        yield CheckFinding(CitationCode.NONE, 0, "the report cites nothing")


def without_source(subject: AuditSubject, _rules: CiteRules) -> Iterator[CheckFinding]:
    """Markers that name something that is not listed."""
    for use in subject.uses:
        if use.entry is None:
            yield CheckFinding(
                CitationCode.UNKNOWN, use.marker.start, f"[{brief(str(use.label))}] is not listed among the sources"
            )


def backwards(subject: AuditSubject, _rules: CiteRules) -> Iterator[CheckFinding]:
    """Ranges that end before they begin."""
    for marker in subject.markers:
        if marker.backwards:
            written = subject.layout.text(marker.start, marker.end)
            yield CheckFinding(CitationCode.RANGE, marker.start, f"the range in {brief(written)} runs backwards")
