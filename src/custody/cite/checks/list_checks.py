"""Listed sources: whether each is cited, is listed once, and is a page that can be looked at."""

import re
from collections.abc import Iterator

from custody.cite.codes import CitationCode
from custody.cite.document import Label, ListEntry
from custody.cite.entries import NO_PAGE
from custody.cite.rules import CiteRules
from custody.cite.subject import AuditSubject, CheckFinding, brief, name_entry
from custody.cite.urls import key_of, url_key

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
