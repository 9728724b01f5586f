"""What is looked at in a report: a function for each kind of finding, which yields what it found.

Like all of ``cite``, they may touch nothing outside.
"""

import re
from collections.abc import Iterator
from itertools import pairwise

from custody.cite.codes import CitationCode
from custody.cite.document import Label, LabelKind, ListEntry, Marker
from custody.cite.entries import NO_PAGE
from custody.cite.footnotes import circles
from custody.cite.rules import CiteRules
from custody.cite.subject import AuditSubject, CheckFinding, brief, name_entry
from custody.cite.urls import key_of, url_key

# Listed sources: whether each is cited, is listed once, and is a page that can be looked at.


_ONLY_DOMAIN = re.compile(r"(?:[a-z0-9-]{1,63}\.){1,8}[a-z]{2,24}/?", re.IGNORECASE)
_ENDS_IN_DOMAIN = re.compile(
    r"(?:.*[-–—:：,，|(（<]\s*|.*\.\s)(?:[a-z0-9-]{1,63}\.){1,8}"
    r"(?:com|org|net|edu|gov|mil|int|info|cn|uk|de|fr|jp|eu|ca|au)/?[)）>.]*",
    re.IGNORECASE,
)
"""A title and then the name of a site, behind a sign that keeps the two apart; with endings that are no file's."""
_END_CHARS_MAX = 300
_AROUND = " *_`<>()（）."
_WORDS = re.compile(r"\w+")


def never_cited(subject: AuditSubject, _rules: CiteRules) -> Iterator[CheckFinding]:
    """Listed sources that no marker names.

    For an entry without a label, a link to the same page counts as well; and so it does for every entry of a list with
    several labels in a report without any marker, which cites by links alone.
    """
    by_links = not subject.markers and sum(entry.label is not None for entry in subject.listing.entries) > 1
    cited = {id(use.entry) for use in subject.uses}
    linked: set[str | None] | None = None
    for entry in subject.listing.entries:
        if id(entry) in cited:
            continue
        if entry.label is None or by_links:
            if linked is None:
                linked = _linked_keys(subject)
            if entry.url is not None and url_key(entry.url) in linked:
                continue
        yield CheckFinding(CitationCode.UNUSED, entry.start, f"{name_entry(entry)} is listed and never cited")


def _linked_keys(subject: AuditSubject) -> set[str | None]:
    keys = {url_key(url) for _, _, url in subject.links}
    keys |= {url_key(use.entry.url) for use in subject.uses if use.entry is not None and use.entry.url is not None}
    return keys - {None}


def listed_twice(subject: AuditSubject, _rules: CiteRules) -> Iterator[CheckFinding]:
    """One page, or one title where there is no address, under two labels."""
    first: dict[str, ListEntry] = {}
    for entry in subject.listing.entries:
        key = _identity(subject, entry)
        if key is None or entry.label is None:
            continue
        other = first.setdefault(key, entry)
        if other.label != entry.label:
            yield CheckFinding(
                CitationCode.TWICE, entry.start, f"{name_entry(entry)} is the same source as {name_entry(other)}"
            )


def _identity(subject: AuditSubject, entry: ListEntry) -> str | None:
    if entry.url is not None:
        parts = subject.parts[id(entry)]
        return None if parts is None else key_of(parts)
    words = " ".join(_WORDS.findall(entry.title.casefold()))
    return f"text:{words}" if words else None


def same_label(subject: AuditSubject, _rules: CiteRules) -> Iterator[CheckFinding]:
    """One label for two entries."""
    first: dict[Label, ListEntry] = {}
    for entry in subject.listing.entries:
        if entry.label is not None and first.setdefault(entry.label, entry) is not entry:
            yield CheckFinding(CitationCode.CLASH, entry.start, f"{name_entry(entry)} stands for two sources")


def bare_domain(subject: AuditSubject, _rules: CiteRules) -> Iterator[CheckFinding]:
    """Entries that name a site and no page of it."""
    for entry in subject.listing.entries:
        if _is_domain(subject, entry):
            yield CheckFinding(
                CitationCode.DOMAIN,
                entry.start,
                f"{name_entry(entry)} names only a site: {brief(entry.url or entry.title)}",
            )


def _is_domain(subject: AuditSubject, entry: ListEntry) -> bool:
    if entry.url is None:
        only = _ONLY_DOMAIN.fullmatch(entry.title.strip(_AROUND))
        return only is not None or _ENDS_IN_DOMAIN.fullmatch(entry.title[-_END_CHARS_MAX:]) is not None
    if _ONLY_DOMAIN.fullmatch(entry.url):
        return True
    parts = subject.parts[id(entry)]
    if parts is None or not parts.is_web or parts.path not in ("", "/") or parts.fragment:
        return False
    return not parts.query or "?" not in key_of(parts)


def no_page(subject: AuditSubject, _rules: CiteRules) -> Iterator[CheckFinding]:
    """Addresses of sources and of links that lead to no page."""
    for entry in subject.listing.entries:
        if entry.url is not None and (match := NO_PAGE.match(entry.url)):
            yield CheckFinding(
                CitationCode.SCHEME, entry.start, f"{name_entry(entry)} has a {match[1].lower()}: address"
            )
    for link in subject.layout.links:
        if (match := NO_PAGE.match(link.url)) and not link.image and not subject.in_list(link.start):
            yield CheckFinding(CitationCode.SCHEME, link.start, f"a link has a {match[1].lower()}: address")


def says_nothing(subject: AuditSubject, _rules: CiteRules) -> Iterator[CheckFinding]:
    """Entries without title and address."""
    for entry in subject.listing.entries:
        if not entry.title and entry.url is None and entry.plain:
            yield CheckFinding(CitationCode.EMPTY, entry.start, f"{name_entry(entry)} has neither title nor address")


# Markers: whether there are any, whether each names a listed source, whether ranges run upwards.


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


# Numbers: whether they run from 1 without gaps, and follow the order of first use. Ids never have to.


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


# How a report shows: the list, footnotes in circles, bytes that are no text.


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
