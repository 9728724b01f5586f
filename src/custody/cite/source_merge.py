"""What two registrations of one source say together: the richer value is shown, the other is kept beside it.

Values that were said and are not shown stand in the metadata under ``also``, by the name of their field.
"""

import re
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import reduce
from typing import Any

from custody.cite.model import (
    METADATA_BYTES_MAX,
    SCORE_DEFAULT,
    VALIDATION_STATE,
    ResearchSource,
    metadata_size,
)
from custody.cite.urls import without_credentials

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
