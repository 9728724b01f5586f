"""Numbers: whether they run from 1 without gaps, and follow the order of first use. Ids never have to."""

from collections.abc import Iterator
from itertools import pairwise

from custody.cite.codes import CitationCode
from custody.cite.document import LabelKind, ListEntry, Marker
from custody.cite.rules import CiteRules
from custody.cite.subject import AuditSubject, CheckFinding

_COUNTED = (LabelKind.NUMBER, LabelKind.NOTE)


def gaps(subject: AuditSubject, _rules: CiteRules) -> Iterator[CheckFinding]:
    """Numbers that the list leaves out."""
    for kind in _COUNTED:
        numbered = _numbered(subject, kind)
        before = 0
        for number in sorted(numbered):
            if number > before + 1:
                found = numbered[number]
                yield CheckFinding(
                    CitationCode.GAP,
                    found.start,
                    f"the list goes from {before} to {number}" if before else _begins(number),
                )
            before = number


def _begins(number: int) -> str:
    return f"the list begins with {number}, not with 1"


def _numbered(subject: AuditSubject, kind: LabelKind) -> dict[int, ListEntry]:
    """Entries by number; of footnotes only where all are numbers, because words are no numbers to count."""
    entries = [entry for entry in subject.listing.entries if entry.label is not None and entry.label.kind is kind]
    found: dict[int, ListEntry] = {}
    for entry in entries:
        number = entry.label.number if entry.label is not None else None
        if number is None:
            return {}
        found.setdefault(number, entry)
    return found


def out_of_order(subject: AuditSubject, _rules: CiteRules) -> Iterator[CheckFinding]:
    """The first source of each kind that is first used after one with a higher number."""
    for kind in _COUNTED:
        for before, after in pairwise(_first_uses(subject, kind)):
            if after[0] < before[0]:
                message = f"[{after[0]}] is first used after [{before[0]}]"
                yield CheckFinding(CitationCode.ORDER, after[1].start, message)
                break


def _first_uses(subject: AuditSubject, kind: LabelKind) -> list[tuple[int, Marker]]:
    """Numbers of listed sources in the order of first use; those of one marker are used together."""
    first: dict[int, Marker] = {}
    together: list[int] = []
    last: Marker | None = None
    for use in subject.uses:
        label = use.entry.label if use.entry is not None else None
        if use.marker is not last:
            first.update({number: last for number in sorted(together) if last is not None and number not in first})
            together, last = [], use.marker
        if label is not None and label.kind is kind and label.number is not None:
            together.append(label.number)
    first.update({number: last for number in sorted(together) if last is not None and number not in first})
    return list(first.items())
