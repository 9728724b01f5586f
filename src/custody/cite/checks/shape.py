"""How a report shows: the list, footnotes in circles, bytes that are no text."""

from collections.abc import Iterator

from custody.cite.codes import Code
from custody.cite.footnote_cycles import circles
from custody.cite.rules import CiteRules
from custody.cite.subject import Found, Subject


def list_does_not_show(subject: Subject, _rules: CiteRules) -> Iterator[Found]:
    """What is wrong with how the list renders."""
    for trouble in subject.listing.troubles:
        yield Found(Code.LIST, trouble.at, trouble.why)


def in_a_circle(subject: Subject, _rules: CiteRules) -> Iterator[Found]:
    """Footnotes that lead back to themselves."""
    for circle in circles(subject.layout, subject.listing):
        yield Found(Code.CIRCLE, circle.at, f"the footnote leads back to itself: {circle.words}")


def no_text(subject: Subject, _rules: CiteRules) -> Iterator[Found]:
    """The first byte that is no UTF-8, and the first NUL."""
    if subject.layout.broken is not None:
        yield Found(Code.TEXT, subject.layout.broken, "this byte is no UTF-8")
    nul = subject.layout.data.find(0)
    if nul >= 0:
        yield Found(Code.TEXT, nul, "this character is a NUL")
