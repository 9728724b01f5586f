"""Who a source is: three keys, never one.

``url_key`` says that two addresses are of one page, ``work_key`` that two sources are one work, ``content_key`` that
two texts are one. Which of them merges, and which only suggests, is the registry's business.
"""

import hashlib
import re
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

from custody.cite.model import (
    METADATA_BYTES_MAX,
    SCORE_DEFAULT,
    VALIDATION_STATE,
    ResearchSource,
    SourceError,
    metadata_size,
)
from custody.cite.urls import url_key, without_credentials
from custody.cite.works import PAGE, WorkId, work_key, works_in
from custody.sketch.hashing import BottomSketch, bottom_of, containment
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


# What two registrations of one source say together: the richer value is shown, the other is kept beside it.
# Values that were said and are not shown stand in the metadata under ``also``, by the name of their field.


ALSO = "also"
ALSO_VALUES_MAX = 16
"""Of one field so many other values are kept beside the shown one; the records hold all of them."""
ALSO_BYTES_MAX = METADATA_BYTES_MAX // 2

_TEXTS = ("title", "author", "publisher", "source_type")
_SCORES = ("credibility_score", "relevance_score")
_CONTROLS = re.compile(r"[\s\x00-\x1f\x7f-\x9f\ud800-\udfff]+")


def clean_source(source: ResearchSource) -> ResearchSource:
    """The source as a registry keeps it: without a password in its URL, without signs that nobody can see or store.

    Runs of white space and control signs become one space. What is written from right to left stays as it is.
    """
    texts: dict[str, Any] = {name: _clean(getattr(source, name)) for name in ("author", "publisher", "source_type")}
    url = None if source.url is None else without_credentials(source.url.strip()) or None
    metadata = {str(_clean(name)): _clean_value(value) for name, value in source.metadata.items()}
    title = _clean(source.title) or ""
    return replace(source, source_id=None, canonical_key=None, title=title, url=url, metadata=metadata, **texts)


def richer(known: ResearchSource, new: ResearchSource) -> ResearchSource:
    """Both together; the same again changes nothing."""
    also: dict[str, list[Any]] = {}
    shown: dict[str, Any] = {}
    for name in _TEXTS:
        shown[name] = _text(name, getattr(known, name), getattr(new, name), also)
    for name in ("url", "date"):
        shown[name] = _first(name, getattr(known, name), getattr(new, name), also)
    for name in _SCORES:
        said = getattr(new, name)
        shown[name] = getattr(known, name) if said == SCORE_DEFAULT else said
    return replace(known, **shown, metadata=_metadata(known.metadata, new.metadata, also))


def together(sources: Iterable[ResearchSource]) -> ResearchSource:
    """Several registrations as one, the first leading."""
    return reduce(richer, sources)


def shown_alike(source: ResearchSource, other: ResearchSource) -> bool:
    """Whether two sources show the same, whatever is kept beside."""
    return _without_also(source) == _without_also(other)


def _without_also(source: ResearchSource) -> ResearchSource:
    return replace(source, metadata={name: value for name, value in source.metadata.items() if name != ALSO})


def _text(name: str, known: str | None, new: str | None, also: dict[str, list[Any]]) -> str | None:
    if not new or not known or new == known:
        return known or new
    if _says_more(new, known):
        known, new = new, known
    also.setdefault(name, []).append(new)
    return known


def _says_more(new: str, known: str) -> bool:
    """Whether a text holds another and more; a title that is only an address says less than any other."""
    if re.match(r"https?://", known) and not re.match(r"https?://", new):
        return True
    return len(new) > len(known) and _compared(known) in _compared(new)


def _compared(text: str) -> str:
    return unicodedata.normalize("NFKC", text).casefold()


def _first(name: str, known: Any, new: Any, also: dict[str, list[Any]]) -> Any:
    if known is not None and new is not None and new != known:
        also.setdefault(name, []).append(new if isinstance(new, str) else new.isoformat())
    return new if known is None else known


def _metadata(known: Mapping[str, Any], new: Mapping[str, Any], also: dict[str, list[Any]]) -> dict[str, Any]:
    made = {name: value for name, value in known.items() if name != ALSO}
    for name, value in new.items():
        if name == ALSO:
            continue
        if name in made and made[name] != value and name != VALIDATION_STATE:
            also.setdefault(name, []).append(value)
        elif metadata_size({**made, name: value}) <= METADATA_BYTES_MAX - ALSO_BYTES_MAX or name == VALIDATION_STATE:
            made[name] = value
    beside = _beside(_also_of(known), _also_of(new), also, made)
    return {**made, ALSO: beside} if beside else made


def _beside(
    known: Mapping[str, list[Any]], new: Mapping[str, list[Any]], also: Mapping[str, list[Any]], made: Mapping[str, Any]
) -> dict[str, list[Any]]:
    """Everything said beside what is shown, each value once, in the order in which it came."""
    beside = {name: list(values) for name, values in known.items()}
    for name, values in (*also.items(), *new.items()):
        there = beside.setdefault(name, [])
        for value in values:
            fits = len(there) < ALSO_VALUES_MAX and metadata_size({**beside, "": value}) <= ALSO_BYTES_MAX
            if value not in there and value != made.get(name) and fits:
                there.append(value)
    return {name: values for name, values in beside.items() if values}


def _also_of(metadata: Mapping[str, Any]) -> Mapping[str, list[Any]]:
    said = metadata.get(ALSO)
    return said if isinstance(said, dict) and all(isinstance(values, list) for values in said.values()) else {}


def _clean(text: str | None) -> str | None:
    return None if text is None else _CONTROLS.sub(" ", text).strip() or None


def _clean_value(value: Any) -> Any:
    if isinstance(value, str):
        # Line ends may mean something in a snippet; a NUL or half of a pair means nothing anywhere.
        return re.sub(r"[\x00\ud800-\udfff]+", " ", value)
    if isinstance(value, list):
        return [_clean_value(item) for item in value]
    return {str(_clean(name)): _clean_value(item) for name, item in value.items()} if isinstance(value, dict) else value
