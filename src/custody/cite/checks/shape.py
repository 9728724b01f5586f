"""How a report shows: the list, footnotes in circles, bytes that are no text."""

from collections.abc import Iterator

from custody.cite.codes import CitationCode
from custody.cite.footnote_cycles import circles
from custody.cite.rules import CiteRules
from custody.cite.subject import AuditSubject, CheckFinding


def list_does_not_show(subject: AuditSubject, _rules: CiteRules) -> Iterator[CheckFinding]:
    """What is wrong with how the list renders."""
    for trouble in subject.listing.troubles:
        yield CheckFinding(CitationCode.LIST, trouble.at, trouble.why)


def in_a_circle(subject: AuditSubject, _rules: CiteRules) -> Iterator[CheckFinding]:
    """Footnotes that lead back to themselves."""
    for circle in circles(subject.layout, subject.listing):
        yield CheckFinding(CitationCode.CIRCLE, circle.at, f"the footnote leads back to itself: {circle.route}")


def no_text(subject: AuditSubject, _rules: CiteRules) -> Iterator[CheckFinding]:
    """The first byte that is no UTF-8, and the first NUL."""
    if subject.layout.broken is not None:
        yield CheckFinding(CitationCode.TEXT, subject.layout.broken, "this byte is no UTF-8")
    nul = subject.layout.data.find(0)
    if nul >= 0:
        yield CheckFinding(CitationCode.TEXT, nul, "this character is a NUL")
