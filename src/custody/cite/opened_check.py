"""Was what is cited opened, before it was written down, and more than a summary of it where it is quoted?

Pure: the records that are needed are handed in. Only lines are judged that the records say are an agent's.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from custody.cite.codes import CitationCode
from custody.cite.document import ListEntry
from custody.cite.keys import normalize_text
from custody.cite.prose import HAN, carries_evidence, sentences, sentences_with_uses
from custody.cite.rules import CiteRules
from custody.cite.subject import AuditSubject, CheckFinding, brief, name_entry
from custody.cite.urls import loose_key, parts_of, unwrap_url
from custody.cite.walk import QUOTE
from custody.cite.works import work_key
from custody.core.views import OPENED, Reading

# What the records know of how a report's sources were read; what of an agent's reading is a source at all.


_PRIVATE = ("localhost", ".localhost", ".local", ".internal", ".lan", ".home.arpa", ".test")
_NUMBERS = re.compile(r"[\d.]+|\[.*\]")
_MOVED = range(300, 400)


def is_page(locator: str) -> bool:
    """Whether a locator is the address of a page that is not only this machine's or this network's.

    >>> [is_page(one) for one in ("https://example.org/a", "http://localhost:8000/", "http://10.0.0.1/", "src/a.py")]
    [True, False, False, False]
    """
    parts = parts_of(locator) if locator[:4].lower() == "http" else None
    if parts is None or not parts.is_web:
        return False
    return "." in parts.host and not parts.host.endswith(_PRIVATE) and not _NUMBERS.fullmatch(parts.host)


@dataclass(frozen=True, slots=True)
class PageReading:
    """One captured reading of a page. An attempt that did not fail for certain may have brought anything."""

    locator: str
    reading: Reading
    at_ns: int
    failed: bool = False
    code: int | None = None
    text: str | None = None

    @property
    def is_opened(self) -> bool:
        """Whether something of the page was read, if only a summary."""
        return self.reading in OPENED

    @property
    def is_untold(self) -> bool:
        """Whether nobody knows what it brought; a page that has moved was perhaps opened where it is now."""
        return self.reading is Reading.ATTEMPTED and (not self.failed or self.code in _MOVED)


@dataclass(frozen=True)
class Readings:
    """Every captured reading, to be asked by address. Alike counts as the same: a doubt never accuses."""

    openings: Sequence[PageReading]
    _by_key: Mapping[str, list[PageReading]] = field(init=False)
    _untold: Sequence[str] = field(init=False)

    def __post_init__(self) -> None:
        by_key: dict[str, list[PageReading]] = {}
        for opening in self.openings:
            for key in _keys(opening.locator):
                by_key.setdefault(key, []).append(opening)
        untold = {loose_key(reading.locator) for reading in self.openings if reading.is_untold}
        object.__setattr__(self, "_by_key", by_key)
        object.__setattr__(self, "_untold", sorted(key for key in untold if key is not None))

    def of(self, url: str) -> list[PageReading]:
        """How a page was read, oldest first."""
        page_readings = {id(reading): reading for key in _keys(url) for reading in self._by_key.get(key, ())}
        return sorted(page_readings.values(), key=lambda reading: reading.at_ns)

    def is_doubtful(self, url: str) -> bool:
        """Whether it may have been opened unseen: by a program that was given its address, or that of what it is in."""
        key = loose_key(url)
        below = key is not None and any(key == page or key.startswith(f"{page.rstrip('/')}/") for page in self._untold)
        return below or any(reading.is_untold for reading in self.of(url))


def best_reading(readings: Iterable[Reading]) -> Reading:
    """The reading that shows most, which is defined first; ``never`` without any."""
    return min(readings, key=list(Reading).index, default=Reading.NEVER)


def _keys(url: str) -> set[str]:
    """By what an address is found again: like addresses of the page, of what an archive wraps, and its work."""
    inner, work = unwrap_url(url), work_key(url)
    keys = (loose_key(url), None if inner is None else loose_key(inner), None if work is None else ":".join(work))
    return {key for key in keys if key is not None}


QUOTED_WORDS_MIN = 5
"""Fewer words in quotation marks are a name, a term or irony."""
QUOTED_SIGNS_MIN = 10
"""The same for Chinese and Japanese, in characters."""
_QUOTATION = re.compile('“([^“”]+)”|"([^"]+)"|«([^«»]+)»|「([^「」]+)」|『([^『』]+)』')


@dataclass(frozen=True, slots=True)
class WritingTimes:
    """Which lines are judged, and when each was written; None where nobody knows when."""

    lines: Mapping[int, int | None]
    readings: Readings


ReadingCheck = Callable[[AuditSubject, WritingTimes, CiteRules], Iterator[CheckFinding]]


def never_opened(subject: AuditSubject, written: WritingTimes, rules: CiteRules) -> Iterator[CheckFinding]:
    """Sources that are cited and of which no captured call brought anything."""
    for at, name, url in _cited(subject, rules):
        if subject.line(at) not in written.lines or not is_page(url) or written.readings.is_doubtful(url):
            continue
        known = written.readings.of(url)
        if not any(reading.is_opened for reading in known):
            yield CheckFinding(CitationCode.UNREAD, at, f"{name} was never opened: {_how(known)}")


def opened_late(subject: AuditSubject, written: WritingTimes, rules: CiteRules) -> Iterator[CheckFinding]:
    """Sources that were opened only after the line that cites them was written; the first such line of each."""
    reported_urls: set[str] = set()
    for at, name, url in _citing(subject, rules):
        moment = written.lines.get(subject.line(at))
        if moment is None or url in reported_urls or written.readings.is_doubtful(url):
            continue
        opened = [reading.at_ns for reading in written.readings.of(url) if reading.is_opened]
        if opened and min(opened) > moment:
            reported_urls.add(url)
            yield CheckFinding(
                CitationCode.LATE, at, f"{name} was opened only {_after(min(opened) - moment)} this was written"
            )


def only_summed_up(subject: AuditSubject, written: WritingTimes, _rules: CiteRules) -> Iterator[CheckFinding]:
    """Quotations from sources of which only a summary was read, that a model wrote."""
    for at, quotation, entries in _quotations(subject):
        pages = [entry.url for entry in entries if entry.url is not None and is_page(entry.url)]
        if subject.line(at) not in written.lines or len(pages) != len(entries):
            continue
        known = [written.readings.of(url) for url in pages]
        best = [best_reading(reading.reading for reading in page_readings) for page_readings in known]
        if any(reading is not Reading.SUMMARISED for reading in best) or any(map(written.readings.is_doubtful, pages)):
            continue
        names = ", ".join(dict.fromkeys(name_entry(entry) for entry in entries))
        has = _describe_missing_quote([reading for page_readings in known for reading in page_readings], quotation)
        yield CheckFinding(CitationCode.SUMMARY, at, f"'{brief(quotation)}' is quoted from {names}, {has}")


CHECKS: Mapping[CitationCode, ReadingCheck] = {
    CitationCode.UNREAD: never_opened,
    CitationCode.LATE: opened_late,
    CitationCode.SUMMARY: only_summed_up,
}
"""Every check of readings by the code that it gives."""


def _cited(subject: AuditSubject, rules: CiteRules) -> Iterator[tuple[int, str, str]]:
    """What is cited and where it is listed: entries with an address; without a list, the links that cite."""
    for entry in subject.listing.entries:
        if entry.url is not None:
            yield entry.start, name_entry(entry), entry.url
    yield from _linked(subject, rules)


def _citing(subject: AuditSubject, rules: CiteRules) -> Iterator[tuple[int, str, str]]:
    """What is cited and where it is cited."""
    for use in subject.uses:
        if use.entry is not None and use.entry.url is not None:
            yield use.marker.start, name_entry(use.entry), use.entry.url
    yield from _linked(subject, rules)


def _linked(subject: AuditSubject, rules: CiteRules) -> Iterator[tuple[int, str, str]]:
    """Links in sentences that carry evidence, in a report without a list; a link to a whole site cites nothing."""
    if subject.listing.entries or not subject.links:
        return
    found = sentences(subject)
    for start, _, url in subject.links:
        parts = parts_of(url)
        inside = next((sentence for sentence in reversed(found) if sentence.at <= start), None)
        if parts is None or parts.path in ("", "/") or inside is None or not inside.cited:
            continue
        if start < inside.at + len(inside.text.encode()) and carries_evidence(inside.text, rules):
            yield start, f"'{brief(url)}'", url


def _quotations(subject: AuditSubject) -> Iterator[tuple[int, str, tuple[ListEntry, ...]]]:
    """Quotations with the sources that their sentence names: in the text, and in blocks of their own."""
    for sentence, entries in sentences_with_uses(subject):
        for match in _QUOTATION.finditer(sentence.text):
            words = next(group for group in match.groups() if group is not None)
            if _is_long(words):
                yield sentence.at + len(sentence.text[: match.start()].encode()), words, entries
    for block in subject.layout.blocks:
        if block.kind != QUOTE or block.inside & QUOTE or subject.in_list(block.start):
            continue
        uses = [use for use in subject.uses if block.start <= use.marker.start < block.end and use.entry is not None]
        words = re.sub(r"(?m)^[ >]+", "", subject.layout.text(block.start, block.end))
        if uses and _is_long(words):
            yield block.start, " ".join(words.split()), tuple(use.entry for use in uses if use.entry is not None)


def _is_long(words: str) -> bool:
    return len(words.split()) >= QUOTED_WORDS_MIN or len(HAN.findall(words)) >= QUOTED_SIGNS_MIN


def _describe_missing_quote(known: list[PageReading], quotation: str) -> str:
    texts = [reading.text for reading in known if reading.text is not None]
    if not texts:
        return "of which only a summary was read"
    has = any(normalize_text(quotation) in normalize_text(text) for text in texts)
    return f"of which only a summary was read, which {'has' if has else 'does not have'} these words"


def _how(known: list[PageReading]) -> str:
    failed = [reading for reading in known if reading.failed]
    if failed:
        code = next((reading.code for reading in failed if reading.code is not None), None)
        return "the attempt failed" if code is None else f"the attempt failed with status {code}"
    return "a search listed it, no more" if known else "no captured call names it"


def _after(ns: int) -> str:
    seconds = ns // 1_000_000_000
    if seconds < 120:
        return f"{seconds} seconds after"
    return f"{seconds // 60:,} minutes after" if seconds < 7200 else f"{seconds // 3600:,} hours after"
