"""Who a source is: three keys, never one.

``url_key`` says that two addresses are of one page, ``work_key`` that two sources are one work, ``content_key`` that
two texts are one. Which of them merges, and which only suggests, is the registry's business.
"""

import hashlib
import re
import unicodedata
from dataclasses import dataclass

from custody.cite.identifiers import WorkId
from custody.cite.model import ResearchSource, SourceError
from custody.cite.urls import url_key
from custody.cite.works import PAGE, work_key, works_in
from custody.sketch.bottom_k import BottomSketch, bottom_of, containment
from custody.sketch.winnow import fingerprints_of

RUN_WORDS = 5
"""A fingerprint is over so many words in a row."""
WINDOW_RUNS = 8
"""Of so many runs one is chosen: two texts with 12 words in a row in common share a fingerprint."""
SKETCH_VALUES_MAX = 256
_HASH32 = 0xFFFF_FFFF
_CJK = "\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"
_WORD = re.compile(f"[{_CJK}]|[^\\W_{_CJK}]+")
"""A word; Chinese and Japanese are written without spaces, so each of their signs is one."""


@dataclass(frozen=True, slots=True)
class SourceKeys:
    """The keys of one source: its own, that of its page, that of its work if it has one."""

    canonical: str
    url: str | None
    work: WorkId | None

    @property
    def work_text(self) -> str | None:
        """The work as one text: a wrapper's inner page under that page's own canonical key."""
        if self.work is None:
            return None
        kind, name = self.work
        return f"url:{name}" if kind == PAGE else f"{kind}:{name}"


@dataclass(frozen=True, slots=True)
class ContentKey:
    """A text by the hash of its words, with a sketch by which near copies show."""

    digest: str
    sketch: BottomSketch


def keys_of(source: ResearchSource) -> SourceKeys:
    """The keys of a source, or a ``SourceError`` for a URL that names no page and no work.

    >>> keys_of(ResearchSource(title="A", url="http://example.org/a#b")).canonical
    'url:https://example.org/a'
    """
    page = None if source.url is None else url_key(source.url)
    work = _work_of(source)
    if source.url is not None and page is None and work is None:
        scheme = source.url.strip().partition(":")[0].lower()
        known = (
            f"is a '{scheme}:' URL" if scheme in ("javascript", "data", "vbscript", "blob", "about") else "is no URL"
        )
        raise SourceError(
            "url", f"{known} and names no page: '{source.url[:80]}'", hint="write it in full, with https:// in front"
        )
    return SourceKeys(f"url:{page}" if page is not None else text_key(source, work), page, work)


def text_key(source: ResearchSource, work: WorkId | None = None) -> str:
    """The key of a source without a page: SHA-256 over title and snippet, normalised.

    Two works may have the same title, so a work that is known takes part.
    """
    snippet = source.metadata.get("snippet")
    said = [normalize_text(source.title), normalize_text(snippet if isinstance(snippet, str) else "")]
    said += [] if work is None else list(work)
    return "text:" + hashlib.sha256("\0".join(said).encode("utf-8", "surrogatepass")).hexdigest()


def content_key(text: str) -> ContentKey:
    """The key of a text that was read: case, width of signs, spacing and punctuation aside.

    >>> content_key("The  quick, brown fox.").digest == content_key("the quick brown FOX").digest
    True
    """
    words = split_compared_words(text)
    prints = fingerprints_of(words, RUN_WORDS, WINDOW_RUNS)
    digest = hashlib.sha256(" ".join(words).encode("utf-8", "surrogatepass")).hexdigest()
    return ContentKey(digest, bottom_of((fingerprint & _HASH32 for fingerprint in prints), SKETCH_VALUES_MAX))


def nearness(key: ContentKey, other: ContentKey) -> float:
    """How much of the smaller text stands in the larger, from 0 to 1."""
    if key.digest == other.digest:
        return 1.0
    small, large = sorted((key.sketch, other.sketch), key=lambda sketch: sketch.size)
    return containment(small, large) or 0.0


def split_compared_words(text: str) -> list[str]:
    """The words of a text as they are compared; of Chinese and Japanese the single signs.

    >>> split_compared_words("The Quick_fox 价格")
    ['the', 'quick', 'fox', '价', '格']
    """
    found: list[str] = _WORD.findall(normalize_text(text))
    return found


def normalize_text(text: str) -> str:
    """The text as it is compared: one width and case of signs, one space between words, none around.

    >>> normalize_text("  Ａ  Title\\n")
    'a title'
    """
    return re.sub(r"\s+", " ", unicodedata.normalize("NFKC", text)).strip().casefold()


def _work_of(source: ResearchSource) -> WorkId | None:
    """The work that a source names: by its URL, by its metadata, or by a title that is nothing but an identifier."""
    by_url = None if source.url is None else work_key(source.url)
    if by_url is not None and by_url[0] != PAGE:
        return by_url
    named = next(iter(works_in(source.metadata)), None) or by_url
    return named if named is not None or source.url is not None else work_key(source.title)
