"""The checks of a report: one function per code, which yields its findings."""

import re
from collections.abc import Iterator
from itertools import pairwise

from custody.cite.codes import CitationCode
from custody.cite.document import Label, LabelKind, ListEntry, Marker
from custody.cite.entries import NO_PAGE
from custody.cite.footnotes import iterate_footnote_cycles
from custody.cite.rules import CiteRules
from custody.cite.subject import AuditSubject, CheckFinding, name_source_entry, shorten_citation_text
from custody.cite.urls import compute_source_url_key, url_key_from_parts
from custody.core.patterns import lazy_pattern

# Listed sources: each is cited, is listed once, and is a page.


_ONLY_DOMAIN = lazy_pattern(r"(?:[a-z0-9-]{1,63}\.){1,8}[a-z]{2,24}/?", re.IGNORECASE)
_ENDS_IN_DOMAIN = lazy_pattern(
    r"(?:.*[-–—:：,，|(（<]\s*|.*\.\s)(?:[a-z0-9-]{1,63}\.){1,8}"
    r"(?:com|org|net|edu|gov|mil|int|info|cn|uk|de|fr|jp|eu|ca|au)/?[)）>.]*",
    re.IGNORECASE,
)
"""A title, a separator, and the name of a site; without file name endings."""
_END_CHARS_MAX = 300
_AROUND = " *_`<>()（）."
_WORDS = lazy_pattern(r"\w+")


def find_uncited_sources(subject: AuditSubject, _rules: CiteRules) -> Iterator[CheckFinding]:
    """Yield the listed sources that no marker names.

    A link to the same page also counts for an entry without a label, and for every entry if the report has no markers
    and cites only by links.
    """
    by_links = not subject.markers and sum(entry.label is not None for entry in subject.listing.entries) > 1
    cited = {id(use.entry) for use in subject.uses}
    linked: set[str | None] | None = None
    for entry in subject.listing.entries:
        if id(entry) in cited:
            continue
        if entry.label is None or by_links:
            if linked is None:
                linked = _linked_source_keys(subject)
            if entry.url is not None and compute_source_url_key(entry.url) in linked:
                continue
        yield CheckFinding(CitationCode.UNUSED, entry.start, f"{name_source_entry(entry)} is listed but never cited")


def _linked_source_keys(subject: AuditSubject) -> set[str | None]:
    keys = {compute_source_url_key(url) for _, _, url in subject.links}
    keys |= {
        compute_source_url_key(use.entry.url)
        for use in subject.uses
        if use.entry is not None and use.entry.url is not None
    }
    return keys - {None}


def find_duplicate_sources(subject: AuditSubject, _rules: CiteRules) -> Iterator[CheckFinding]:
    """Yield the entries with the same page, or with the same title and no URL."""
    first: dict[str, ListEntry] = {}
    for entry in subject.listing.entries:
        key = _source_entry_key(subject, entry)
        if key is None or entry.label is None:
            continue
        other = first.setdefault(key, entry)
        if other.label != entry.label:
            yield CheckFinding(
                CitationCode.TWICE,
                entry.start,
                f"{name_source_entry(entry)} is the same source as {name_source_entry(other)}",
            )


def _source_entry_key(subject: AuditSubject, entry: ListEntry) -> str | None:
    if entry.url is not None:
        parts = subject.parts[id(entry)]
        return None if parts is None else url_key_from_parts(parts)
    title = " ".join(_WORDS.findall(entry.title.casefold()))
    return f"text:{title}" if title else None


def find_label_clashes(subject: AuditSubject, _rules: CiteRules) -> Iterator[CheckFinding]:
    """Yield the entries with the label of another entry."""
    first: dict[Label, ListEntry] = {}
    for entry in subject.listing.entries:
        if entry.label is not None and first.setdefault(entry.label, entry) is not entry:
            yield CheckFinding(CitationCode.CLASH, entry.start, f"{name_source_entry(entry)} is used for two sources")


def find_bare_domains(subject: AuditSubject, _rules: CiteRules) -> Iterator[CheckFinding]:
    """Yield the entries that name a site, not a page."""
    for entry in subject.listing.entries:
        if _is_bare_domain(subject, entry):
            yield CheckFinding(
                CitationCode.DOMAIN,
                entry.start,
                f"{name_source_entry(entry)} names only a site: {shorten_citation_text(entry.url or entry.title)}",
            )


def _is_bare_domain(subject: AuditSubject, entry: ListEntry) -> bool:
    if entry.url is None:
        only = _ONLY_DOMAIN.fullmatch(entry.title.strip(_AROUND))
        return only is not None or _ENDS_IN_DOMAIN.fullmatch(entry.title[-_END_CHARS_MAX:]) is not None
    if _ONLY_DOMAIN.fullmatch(entry.url):
        return True
    parts = subject.parts[id(entry)]
    if parts is None or not parts.is_web or parts.path not in ("", "/") or parts.fragment:
        return False
    return not parts.query or "?" not in url_key_from_parts(parts)


def find_non_page_urls(subject: AuditSubject, _rules: CiteRules) -> Iterator[CheckFinding]:
    """Yield the URLs of sources and links that are not pages."""
    for entry in subject.listing.entries:
        if entry.url is not None and (match := NO_PAGE.match(entry.url)):
            yield CheckFinding(
                CitationCode.SCHEME, entry.start, f"{name_source_entry(entry)} has a {match[1].lower()}: URL"
            )
    for link in subject.layout.links:
        if (match := NO_PAGE.match(link.url)) and not link.image and not subject.is_in_list(link.start):
            yield CheckFinding(CitationCode.SCHEME, link.start, f"a link has a {match[1].lower()}: URL")


def find_empty_sources(subject: AuditSubject, _rules: CiteRules) -> Iterator[CheckFinding]:
    """Yield the entries without title and URL."""
    for entry in subject.listing.entries:
        if not entry.title and entry.url is None and entry.plain:
            yield CheckFinding(CitationCode.EMPTY, entry.start, f"{name_source_entry(entry)} has neither title nor URL")


# Markers: there are some, each names a listed source, and ranges ascend.


def find_missing_citations(subject: AuditSubject, _rules: CiteRules) -> Iterator[CheckFinding]:
    """Yield a finding if the report has neither markers nor links to other pages."""
    if not subject.markers and not subject.links:
        yield CheckFinding(CitationCode.NONE, 0, "the report has no citations")


def find_unlisted_markers(subject: AuditSubject, _rules: CiteRules) -> Iterator[CheckFinding]:
    """Yield the markers of sources that are not listed."""
    for use in subject.uses:
        if use.entry is None:
            yield CheckFinding(
                CitationCode.UNKNOWN,
                use.marker.start,
                f"[{shorten_citation_text(str(use.label))}] is not in the source list",
            )


def find_backward_ranges(subject: AuditSubject, _rules: CiteRules) -> Iterator[CheckFinding]:
    """Yield the ranges that end before they start."""
    for marker in subject.markers:
        if marker.backwards:
            written = subject.layout.text(marker.start, marker.end)
            yield CheckFinding(
                CitationCode.RANGE, marker.start, f"the range in {shorten_citation_text(written)} is backwards"
            )


# Numbers: they run from 1 without gaps and follow the order of first use. Ids need not.


_COUNTED = (LabelKind.NUMBER, LabelKind.NOTE)


def find_number_gaps(subject: AuditSubject, _rules: CiteRules) -> Iterator[CheckFinding]:
    """Yield the gaps in the numbers of the list."""
    for kind in _COUNTED:
        numbered = _index_sources_by_number(subject, kind)
        before = 0
        for number in sorted(numbered):
            if number > before + 1:
                entry = numbered[number]
                yield CheckFinding(
                    CitationCode.GAP,
                    entry.start,
                    f"the list jumps from {before} to {number}" if before else _describe_source_list_start(number),
                )
            before = number


def _describe_source_list_start(number: int) -> str:
    return f"the list starts at {number} instead of 1"


def _index_sources_by_number(subject: AuditSubject, kind: LabelKind) -> dict[int, ListEntry]:
    """Return entries by number; none if a footnote is named by a word."""
    entries = [entry for entry in subject.listing.entries if entry.label is not None and entry.label.kind is kind]
    by_number: dict[int, ListEntry] = {}
    for entry in entries:
        number = entry.label.number if entry.label is not None else None
        if number is None:
            return {}
        by_number.setdefault(number, entry)
    return by_number


def find_unordered_sources(subject: AuditSubject, _rules: CiteRules) -> Iterator[CheckFinding]:
    """Yield, per kind of label, the first source that is first used after a source with a higher number."""
    for kind in _COUNTED:
        for before, after in pairwise(_first_source_uses(subject, kind)):
            if after[0] < before[0]:
                message = f"[{after[0]}] is first used after [{before[0]}]"
                yield CheckFinding(CitationCode.ORDER, after[1].start, message)
                break


def _first_source_uses(subject: AuditSubject, kind: LabelKind) -> list[tuple[int, Marker]]:
    """Return the numbers of listed sources in the order of first use; those of one marker are sorted."""
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


# Rendering: the list, footnote cycles, invalid bytes.


def find_source_list_problems(subject: AuditSubject, _rules: CiteRules) -> Iterator[CheckFinding]:
    """Yield the problems with how the list renders."""
    for trouble in subject.listing.troubles:
        yield CheckFinding(CitationCode.LIST, trouble.at, trouble.why)


def find_footnote_cycles(subject: AuditSubject, _rules: CiteRules) -> Iterator[CheckFinding]:
    """Yield the footnotes that refer to themselves."""
    for cycle in iterate_footnote_cycles(subject.layout, subject.listing):
        yield CheckFinding(CitationCode.CIRCLE, cycle.at, f"the footnote refers to itself: {cycle.route}")


def find_invalid_bytes(subject: AuditSubject, _rules: CiteRules) -> Iterator[CheckFinding]:
    """Yield the first invalid UTF-8 byte and the first NUL."""
    if subject.layout.broken is not None:
        yield CheckFinding(CitationCode.TEXT, subject.layout.broken, "invalid UTF-8 byte")
    nul = subject.layout.data.find(0)
    if nul >= 0:
        yield CheckFinding(CitationCode.TEXT, nul, "NUL character")
