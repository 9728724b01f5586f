"""The keys of a source: by page, by work, and by text.

``compute_source_url_key`` identifies a page, ``parse_cited_work`` a work, and ``compute_source_excerpt_key`` a text.
The registry decides which of them merge and which only suggest.
"""

import hashlib
import re
import unicodedata
from collections.abc import Iterable, Mapping
from functools import reduce
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from custody.cite.model import (
    METADATA_BYTES_MAX,
    SCORE_DEFAULT,
    VALIDATION_STATE,
    ResearchSource,
    SourceError,
    source_metadata_size,
)
from custody.cite.urls import compute_source_url_key, strip_source_url_credentials
from custody.cite.works import PAGE, WorkId, parse_cited_work, source_works_from_metadata
from custody.core.patterns import lazy_pattern
from custody.sketch.hashing import BottomSketch, estimate_sketch_containment, make_bottom_sketch
from custody.sketch.winnow import winnow_fingerprints

RUN_WORDS = 5
"""Words per fingerprint."""
WINDOW_RUNS = 8
"""One of this many runs is selected, so two texts with 12 consecutive words in common share a fingerprint."""
SKETCH_VALUES_MAX = 256
_HASH32 = 0xFFFF_FFFF
_CJK = "\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"
_WORD = lazy_pattern(f"[{_CJK}]|[^\\W_{_CJK}]+")
"""A word; each Chinese or Japanese character is one, because they are written without spaces."""


class SourceKeys(Struct, frozen=True):
    """The keys of a source: canonical, of its page, and of its work if it has one."""

    canonical: str
    url: str | None
    work: WorkId | None

    @property
    def work_text(self) -> str | None:
        """Return the work as text; for a wrapped page, the canonical key of that page."""
        if self.work is None:
            return None
        kind, name = self.work
        return f"url:{name}" if kind == PAGE else f"{kind}:{name}"


class ContentKey(Struct, frozen=True):
    """The hash of a text's words, and a sketch to find near copies."""

    digest: str
    sketch: BottomSketch


def compute_source_keys(source: ResearchSource) -> SourceKeys:
    """Return the keys of a source; raise ``SourceError`` for a URL without page and work.

    >>> compute_source_keys(ResearchSource(title="A", url="http://example.org/a#b")).canonical
    'url:https://example.org/a'
    """
    page = None if source.url is None else compute_source_url_key(source.url)
    work = _identify_source_work(source)
    if source.url is not None and page is None and work is None:
        scheme = source.url.strip().partition(":")[0].lower()
        is_known = scheme in ("javascript", "data", "vbscript", "blob", "about")
        problem = f"is a '{scheme}:' URL, not a page" if is_known else "is not a URL"
        raise SourceError("url", f"{problem}: '{source.url[:80]}'", hint="write the full URL, starting with https://")
    return SourceKeys(f"url:{page}" if page is not None else compute_source_text_key(source, work), page, work)


def compute_source_text_key(source: ResearchSource, work: WorkId | None = None) -> str:
    """Return the key of a source without a page: SHA-256 of title and snippet, normalized.

    Two works may have the same title, so the work is included if it is known.
    """
    snippet = source.metadata.get("snippet")
    parts = [normalize_source_text(source.title), normalize_source_text(snippet if isinstance(snippet, str) else "")]
    parts += [] if work is None else list(work)
    return "text:" + hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()


def compute_source_excerpt_key(text: str) -> ContentKey:
    """Return the key of a text, whatever its case, character width, spacing and punctuation.

    >>> first, second = map(compute_source_excerpt_key, ("The  quick, brown fox.", "the quick brown FOX"))
    >>> first.digest == second.digest
    True
    """
    words = split_source_words(text)
    prints = winnow_fingerprints(words, RUN_WORDS, WINDOW_RUNS)
    digest = hashlib.sha256(" ".join(words).encode("utf-8", "surrogatepass")).hexdigest()
    return ContentKey(digest, make_bottom_sketch((fingerprint & _HASH32 for fingerprint in prints), SKETCH_VALUES_MAX))


def measure_excerpt_nearness(key: ContentKey, other: ContentKey) -> float:
    """Return how much of the smaller text is in the larger, from 0 to 1."""
    if key.digest == other.digest:
        return 1.0
    small, large = sorted((key.sketch, other.sketch), key=lambda sketch: sketch.size)
    return estimate_sketch_containment(small, large) or 0.0


def split_source_words(text: str) -> list[str]:
    """Return the normalized words of a text; each Chinese or Japanese character is a word.

    >>> split_source_words("The Quick_fox 价格")
    ['the', 'quick', 'fox', '价', '格']
    """
    words: list[str] = _WORD.findall(normalize_source_text(text))
    return words


def normalize_source_text(text: str) -> str:
    """Return a text for comparison: one width and case, single spaces, none around.

    >>> normalize_source_text("  Ａ  Title\\n")
    'a title'
    """
    return re.sub(r"\s+", " ", unicodedata.normalize("NFKC", text)).strip().casefold()


def _identify_source_work(source: ResearchSource) -> WorkId | None:
    """Return the work of a source, by its URL, its metadata, or a title that is an identifier."""
    by_url = None if source.url is None else parse_cited_work(source.url)
    if by_url is not None and by_url[0] != PAGE:
        return by_url
    named = next(iter(source_works_from_metadata(source.metadata)), None) or by_url
    return named if named is not None or source.url is not None else parse_cited_work(source.title)


# Combine two registrations of a source: the richer value is shown, other values are stored in the metadata under
# ``also``, by field.


ALSO = "also"
ALSO_VALUES_MAX = 16
"""Maximum other values stored per field; the records have all of them."""
ALSO_BYTES_MAX = METADATA_BYTES_MAX // 2

_TEXTS = ("title", "author", "publisher", "source_type")
_SCORES = ("credibility_score", "relevance_score")
_CONTROLS = lazy_pattern(r"[\s\x00-\x1f\x7f-\x9f\ud800-\udfff]+")


def clean_source(source: ResearchSource) -> ResearchSource:
    """Return the source for a registry: without a password in its URL and without invisible characters.

    Runs of white space and control characters become one space. Right-to-left text stays as it is.
    """
    texts: dict[str, Any] = {
        name: _clean_source_text(getattr(source, name)) for name in ("author", "publisher", "source_type")
    }
    url = None if source.url is None else strip_source_url_credentials(source.url.strip()) or None
    metadata = {str(_clean_source_text(name)): _clean_source_value(value) for name, value in source.metadata.items()}
    title = _clean_source_text(source.title) or ""
    return replace(source, source_id=None, canonical_key=None, title=title, url=url, metadata=metadata, **texts)


def merge_source_pair(known: ResearchSource, new: ResearchSource) -> ResearchSource:
    """Combine two registrations; an equal one changes nothing."""
    also: dict[str, list[Any]] = {}
    shown: dict[str, Any] = {}
    for name in _TEXTS:
        shown[name] = _merge_source_text(name, getattr(known, name), getattr(new, name), also)
    for name in ("url", "date"):
        shown[name] = _merge_source_value(name, getattr(known, name), getattr(new, name), also)
    for name in _SCORES:
        score = getattr(new, name)
        shown[name] = getattr(known, name) if score == SCORE_DEFAULT else score
    return replace(known, **shown, metadata=_merge_source_metadata(known.metadata, new.metadata, also))


def merge_sources(sources: Iterable[ResearchSource]) -> ResearchSource:
    """Combine several registrations, the first first."""
    return reduce(merge_source_pair, sources)


def is_source_display_equal(source: ResearchSource, other: ResearchSource) -> bool:
    """Return whether two sources show the same, apart from other values."""
    return _drop_source_alternatives(source) == _drop_source_alternatives(other)


def _drop_source_alternatives(source: ResearchSource) -> ResearchSource:
    return replace(source, metadata={name: value for name, value in source.metadata.items() if name != ALSO})


def _merge_source_text(name: str, known: str | None, new: str | None, also: dict[str, list[Any]]) -> str | None:
    if not new or not known or new == known:
        return known or new
    if _is_richer_source_text(new, known):
        known, new = new, known
    also.setdefault(name, []).append(new)
    return known


def _is_richer_source_text(new: str, known: str) -> bool:
    """Return whether a text contains another and more; a title that is only a URL is the poorest."""
    if re.match(r"https?://", known) and not re.match(r"https?://", new):
        return True
    return len(new) > len(known) and _fold_source_text(known) in _fold_source_text(new)


def _fold_source_text(text: str) -> str:
    return unicodedata.normalize("NFKC", text).casefold()


def _merge_source_value(name: str, known: Any, new: Any, also: dict[str, list[Any]]) -> Any:
    if known is not None and new is not None and new != known:
        also.setdefault(name, []).append(new if isinstance(new, str) else new.isoformat())
    return new if known is None else known


def _merge_source_metadata(
    known: Mapping[str, Any], new: Mapping[str, Any], also: dict[str, list[Any]]
) -> dict[str, Any]:
    merged = {name: value for name, value in known.items() if name != ALSO}
    for name, value in new.items():
        if name == ALSO:
            continue
        if name in merged and merged[name] != value and name != VALIDATION_STATE:
            also.setdefault(name, []).append(value)
        elif (
            source_metadata_size({**merged, name: value}) <= METADATA_BYTES_MAX - ALSO_BYTES_MAX
            or name == VALIDATION_STATE
        ):
            merged[name] = value
    beside = _merge_source_alternatives(_source_alternatives(known), _source_alternatives(new), also, merged)
    return {**merged, ALSO: beside} if beside else merged


def _merge_source_alternatives(
    known: Mapping[str, list[Any]],
    new: Mapping[str, list[Any]],
    also: Mapping[str, list[Any]],
    merged: Mapping[str, Any],
) -> dict[str, list[Any]]:
    """Return all values that are not shown, each once, in order."""
    beside = {name: list(values) for name, values in known.items()}
    for name, values in (*also.items(), *new.items()):
        stored = beside.setdefault(name, [])
        for value in values:
            fits = len(stored) < ALSO_VALUES_MAX and source_metadata_size({**beside, "": value}) <= ALSO_BYTES_MAX
            if value not in stored and value != merged.get(name) and fits:
                stored.append(value)
    return {name: values for name, values in beside.items() if values}


def _source_alternatives(metadata: Mapping[str, Any]) -> Mapping[str, list[Any]]:
    also = metadata.get(ALSO)
    return also if isinstance(also, dict) and all(isinstance(values, list) for values in also.values()) else {}


def _clean_source_text(text: str | None) -> str | None:
    return None if text is None else _CONTROLS.sub(" ", text).strip() or None


def _clean_source_value(value: Any) -> Any:
    if isinstance(value, str):
        # Line ends may matter in a snippet; a NUL or a lone surrogate never does.
        return re.sub(r"[\x00\ud800-\udfff]+", " ", value)
    if isinstance(value, list):
        return [_clean_source_value(item) for item in value]
    return (
        {str(_clean_source_text(name)): _clean_source_value(item) for name, item in value.items()}
        if isinstance(value, dict)
        else value
    )
