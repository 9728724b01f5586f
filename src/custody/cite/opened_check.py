"""Checks of readings: the cited page was opened, before the line was written, and not only as a summary if quoted.

Pure: the records are passed in. Only lines that records assign to an agent are checked.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property

from msgspec import Struct

from custody.cite.codes import CitationCode
from custody.cite.document import ListEntry
from custody.cite.keys import normalize_source_text
from custody.cite.prose import HAN, is_citable_sentence, pair_sentences_with_sources, split_report_sentences
from custody.cite.subject import AuditSubject, CheckFinding, name_source_entry, shorten_citation_text
from custody.cite.urls import compute_loose_source_key, parse_source_url, unwrap_source_url
from custody.cite.walk import QUOTE
from custody.cite.works import parse_cited_work
from custody.core.patterns import lazy_pattern
from custody.core.views import OPENED, Reading

# The recorded readings of a report's sources.


_PRIVATE = ("localhost", ".localhost", ".local", ".internal", ".lan", ".home.arpa", ".test")
_NUMBERS = lazy_pattern(r"[\d.]+|\[.*\]")
_MOVED = range(300, 400)


def is_public_source_page(locator: str) -> bool:
    """Return whether a locator is a web page that is not local to this machine or network.

    >>> pages = ("https://example.org/a", "http://localhost:8000/", "http://10.0.0.1/", "src/a.py")
    >>> [is_public_source_page(page) for page in pages]
    [True, False, False, False]
    """
    parts = parse_source_url(locator) if locator[:4].lower() == "http" else None
    if parts is None or not parts.is_web:
        return False
    return "." in parts.host and not parts.host.endswith(_PRIVATE) and not _NUMBERS.fullmatch(parts.host)


class PageReading(Struct, frozen=True):
    """A recorded reading of a page, or a recorded attempt to read it."""

    locator: str
    reading: Reading
    at_ns: int
    failed: bool = False
    code: int | None = None
    text: str | None = None

    @property
    def is_opened(self) -> bool:
        """Return whether something of the page was read, if only a summary."""
        return self.reading in OPENED

    @property
    def is_outcome_unknown(self) -> bool:
        """Return whether its result is unknown; a page that has moved may have been opened at its new URL."""
        return self.reading is Reading.ATTEMPTED and (not self.failed or self.code in _MOVED)


class Readings(Struct, frozen=True, dict=True):
    """All recorded readings, by URL. Similar URLs count as the same, so that doubt causes no finding."""

    openings: Sequence[PageReading]

    @cached_property
    def _by_key(self) -> Mapping[str, list[PageReading]]:
        by_key: dict[str, list[PageReading]] = {}
        for opening in self.openings:
            for key in _source_page_keys(opening.locator):
                by_key.setdefault(key, []).append(opening)
        return by_key

    @cached_property
    def _untold(self) -> Sequence[str]:
        untold = {compute_loose_source_key(reading.locator) for reading in self.openings if reading.is_outcome_unknown}
        return sorted(key for key in untold if key is not None)

    def list_page_readings(self, url: str) -> list[PageReading]:
        """Return the readings of a page, oldest first."""
        page_readings = {
            id(reading): reading for key in _source_page_keys(url) for reading in self._by_key.get(key, ())
        }
        return sorted(page_readings.values(), key=lambda reading: reading.at_ns)

    def is_doubtful(self, url: str) -> bool:
        """Return whether a program that was given the URL, or its site's, may have opened the page unrecorded."""
        key = compute_loose_source_key(url)
        below = key is not None and any(key == page or key.startswith(f"{page.rstrip('/')}/") for page in self._untold)
        return below or any(reading.is_outcome_unknown for reading in self.list_page_readings(url))


def choose_best_source_reading(readings: Iterable[Reading]) -> Reading:
    """Return the most complete reading; ``never`` without any."""
    return min(readings, key=list(Reading).index, default=Reading.NEVER)


def _source_page_keys(url: str) -> set[str]:
    """Return the keys of a URL: similar URLs, the page inside an archive URL, and its work."""
    inner, work = unwrap_source_url(url), parse_cited_work(url)
    keys = (
        compute_loose_source_key(url),
        None if inner is None else compute_loose_source_key(inner),
        None if work is None else ":".join(work),
    )
    return {key for key in keys if key is not None}


QUOTED_WORDS_MIN = 5
"""Minimum words of a quotation; fewer are a name, a term or irony."""
QUOTED_CHARACTERS_MIN = 10
"""The same for Chinese and Japanese, in characters."""
_QUOTATION = lazy_pattern('“([^“”]+)”|"([^"]+)"|«([^«»]+)»|「([^「」]+)」|『([^『』]+)』')


class WritingTimes(Struct, frozen=True):
    """The lines to check, with the time each was written; None if unknown."""

    lines: Mapping[int, int | None]
    readings: Readings


ReadingCheck = Callable[[AuditSubject, WritingTimes], Iterator[CheckFinding]]


def find_unopened_sources(subject: AuditSubject, written: WritingTimes) -> Iterator[CheckFinding]:
    """Yield the cited sources that no recorded call opened."""
    for at, name, url in _list_cited_urls(subject):
        if subject.line(at) not in written.lines or not is_public_source_page(url) or written.readings.is_doubtful(url):
            continue
        known = written.readings.list_page_readings(url)
        if not any(reading.is_opened for reading in known):
            yield CheckFinding(CitationCode.UNREAD, at, f"{name} was never opened: {_describe_page_readings(known)}")


def find_late_opened_sources(subject: AuditSubject, written: WritingTimes) -> Iterator[CheckFinding]:
    """Yield the sources that were first opened after the citing line was written; the first such line of each."""
    reported_urls: set[str] = set()
    for at, name, url in _list_citing_places(subject):
        written_ns = written.lines.get(subject.line(at))
        if written_ns is None or url in reported_urls or written.readings.is_doubtful(url):
            continue
        opened = [reading.at_ns for reading in written.readings.list_page_readings(url) if reading.is_opened]
        if opened and min(opened) > written_ns:
            reported_urls.add(url)
            yield CheckFinding(
                CitationCode.LATE,
                at,
                f"{name} was opened only {_format_source_opening_delay(min(opened) - written_ns)} this was written",
            )


def find_summary_only_quotations(subject: AuditSubject, written: WritingTimes) -> Iterator[CheckFinding]:
    """Yield the quotations from sources that were read only as a summary by a model."""
    for at, quotation, entries in _find_cited_quotations(subject):
        pages = [entry.url for entry in entries if entry.url is not None and is_public_source_page(entry.url)]
        if subject.line(at) not in written.lines or len(pages) != len(entries):
            continue
        known = [written.readings.list_page_readings(url) for url in pages]
        best = [choose_best_source_reading(reading.reading for reading in page_readings) for page_readings in known]
        if any(reading is not Reading.SUMMARISED for reading in best) or any(map(written.readings.is_doubtful, pages)):
            continue
        names = ", ".join(dict.fromkeys(name_source_entry(entry) for entry in entries))
        has = _describe_missing_quote([reading for page_readings in known for reading in page_readings], quotation)
        yield CheckFinding(
            CitationCode.SUMMARY, at, f"'{shorten_citation_text(quotation)}' is quoted from {names}, {has}"
        )


CHECKS: Mapping[CitationCode, ReadingCheck] = {
    CitationCode.UNREAD: find_unopened_sources,
    CitationCode.LATE: find_late_opened_sources,
    CitationCode.SUMMARY: find_summary_only_quotations,
}
"""The checks of readings, by code."""


def _list_cited_urls(subject: AuditSubject) -> Iterator[tuple[int, str, str]]:
    """Yield the cited sources at their list entries; without a list, the links that cite."""
    for entry in subject.listing.entries:
        if entry.url is not None:
            yield entry.start, name_source_entry(entry), entry.url
    yield from _find_evidence_links(subject)


def _list_citing_places(subject: AuditSubject) -> Iterator[tuple[int, str, str]]:
    """Yield the cited sources at their citations."""
    for use in subject.uses:
        if use.entry is not None and use.entry.url is not None:
            yield use.marker.start, name_source_entry(use.entry), use.entry.url
    yield from _find_evidence_links(subject)


def _find_evidence_links(subject: AuditSubject) -> Iterator[tuple[int, str, str]]:
    """Yield the links in sentences with evidence, in a report without a list, except links to whole sites."""
    if subject.listing.entries or not subject.links:
        return
    sentences = split_report_sentences(subject)
    for start, _, url in subject.links:
        parts = parse_source_url(url)
        inside = next((sentence for sentence in reversed(sentences) if sentence.at <= start), None)
        if parts is None or parts.path in ("", "/") or inside is None or not inside.cited:
            continue
        if start < inside.at + len(inside.text.encode()) and is_citable_sentence(inside.text):
            yield start, f"'{shorten_citation_text(url)}'", url


def _find_cited_quotations(subject: AuditSubject) -> Iterator[tuple[int, str, tuple[ListEntry, ...]]]:
    """Yield the quotations with the sources that their sentence cites: in the text, and as blocks."""
    for sentence, entries in pair_sentences_with_sources(subject):
        for match in _QUOTATION.finditer(sentence.text):
            quotation = next(group for group in match.groups() if group is not None)
            if _is_long_quotation(quotation):
                yield sentence.at + len(sentence.text[: match.start()].encode()), quotation, entries
    for block in subject.layout.blocks:
        if block.kind != QUOTE or block.inside & QUOTE or subject.is_in_list(block.start):
            continue
        uses = [use for use in subject.uses if block.start <= use.marker.start < block.end and use.entry is not None]
        quotation = re.sub(r"(?m)^[ >]+", "", subject.layout.text(block.start, block.end))
        if uses and _is_long_quotation(quotation):
            yield block.start, " ".join(quotation.split()), tuple(use.entry for use in uses if use.entry is not None)


def _is_long_quotation(text: str) -> bool:
    return len(text.split()) >= QUOTED_WORDS_MIN or len(HAN.findall(text)) >= QUOTED_CHARACTERS_MIN


def _describe_missing_quote(known: list[PageReading], quotation: str) -> str:
    texts = [reading.text for reading in known if reading.text is not None]
    if not texts:
        return "but only a summary was read"
    has = any(normalize_source_text(quotation) in normalize_source_text(text) for text in texts)
    return f"but only a summary was read, and it {'has' if has else 'does not have'} these words"


def _describe_page_readings(known: list[PageReading]) -> str:
    failed = [reading for reading in known if reading.failed]
    if failed:
        code = next((reading.code for reading in failed if reading.code is not None), None)
        return "the attempt failed" if code is None else f"the attempt failed with status {code}"
    return "a search only listed it" if known else "no recorded call names it"


def _format_source_opening_delay(ns: int) -> str:
    seconds = ns // 1_000_000_000
    if seconds < 120:
        return f"{seconds} seconds after"
    return f"{seconds // 60:,} minutes after" if seconds < 7200 else f"{seconds // 3600:,} hours after"
