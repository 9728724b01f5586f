"""What search and reading tools give back, as sources: other tools' names for the same fields, and what cannot be."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, fields
from types import MappingProxyType
from typing import Any

from custody.cite.keys import clean_source, keys_of
from custody.cite.model import FIELD_BYTES_MAX, ResearchSource, SourceError, check_score, moment_from
from custody.cite.results import source_from

SNIPPET_CHARACTERS_MAX = 500
"""So much of a hit's text is registered as its snippet; the tool's answer keeps all of it."""

NAMES: MappingProxyType[str, tuple[str, ...]] = MappingProxyType(
    {
        "url": ("url", "link", "href", "uri"),
        "title": ("title", "name", "headline"),
        "author": ("author", "authors", "creator"),
        "publisher": ("publisher", "site_name", "siteName"),
        "source_type": ("source_type",),
        "date": ("date", "published", "published_date", "publishedDate", "published_at"),
    }
)
"""Every field of a source under the names that tools give it, the best first."""
SNIPPETS = ("snippet", "description", "summary", "body", "content", "text")
SCORES = ("credibility_score", "relevance_score")
BESIDE = ("year", "doi", "isbn")


def is_hit(value: object) -> bool:
    """Whether a value of a tool's answer tells of a source: fields by name, with a title or an address."""
    return isinstance(value, Mapping) and any(
        isinstance(value.get(name), str) and value[name].strip() for name in (*NAMES["url"], "title")
    )


def source_of_hit(hit: Mapping[str, Any]) -> ResearchSource:
    """The source that a hit tells of. Ids that others gave it do not count, and what cannot be is left out.

    >>> source_of_hit({"link": "https://example.org/a", "name": "A", "date": "3 days ago"}).metadata
    {'date_said': '3 days ago'}
    """
    fields: dict[str, Any] = {}
    for field, names in NAMES.items():
        said = next((_text(hit[name]) for name in names if _text(hit.get(name))), None)
        if said is not None:
            fields[field] = said
    metadata = {name: hit[name] for name in BESIDE if isinstance(hit.get(name), str | int)}
    snippet = next((_text(hit[name]) for name in SNIPPETS if _text(hit.get(name))), None)
    if snippet is not None:
        metadata["snippet"] = snippet[:SNIPPET_CHARACTERS_MAX]
    if "date" in fields and not _is_date(fields["date"]):
        metadata["date_said"] = fields.pop("date")
    fields |= {name: hit[name] for name in SCORES if _is_score(hit.get(name))}
    return source_from({**fields, "metadata": metadata})


def _text(value: object) -> str | None:
    """A text that fits into a field; of several texts, all with commas."""
    if isinstance(value, list | tuple) and value and all(isinstance(part, str) for part in value):
        value = ", ".join(value)
    if not isinstance(value, str) or not value.strip():
        return None
    return value.strip().encode("utf-8", "replace")[:FIELD_BYTES_MAX].decode("utf-8", "ignore")


def _is_date(said: str) -> bool:
    try:
        moment_from(said)
    except SourceError:
        return False
    return True


def _is_score(value: object) -> bool:
    try:
        check_score("score", value)
    except SourceError:
        return False
    return True


# A source from what somebody says of it, however bad: what cannot be used is set aside, and the rest is a source.


UNUSABLE = "unusable"
"""The metadata's name for what was said and cannot be used."""
SAID_CHARS_MAX = 200
NAME_DIGITS = 12
_FIELDS = frozenset(field.name for field in fields(ResearchSource))
_ROUNDS_MAX = 2 * len(_FIELDS)


@dataclass(frozen=True, slots=True)
class SalvagedSource:
    """What there is of a source, and what was wrong with it; no source where nothing was said at all."""

    source: ResearchSource | None
    why: str | None = None


def salvaged(raw: object) -> SalvagedSource:
    """The source that somebody meant, without the parts that no source can have.

    >>> salvaged({"title": "A", "credibility_score": 7}).why
    "the source's credibility_score is 7, not a number from 0 to 1"
    """
    if not isinstance(raw, Mapping) or not any(value not in (None, "") for value in raw.values()):
        return SalvagedSource(None, "nothing was said of it")
    said = {str(name): value for name, value in raw.items()}
    name = _name(said)
    first, unusable = None, dict[str, str]()
    for _ in range(_ROUNDS_MAX):
        try:
            return SalvagedSource(_source(said, unusable), first)
        except SourceError as error:
            first = first or error.message
            said = _without(said, error.field, unusable)
            if error.field == "title":
                said["title"] = name
    return SalvagedSource(None, first)


def _source(said: Mapping[str, Any], unusable: Mapping[str, str]) -> ResearchSource:
    aside = {**_mapping(said.get("metadata")), UNUSABLE: dict(unusable)} if unusable else said.get("metadata")
    source = source_from({**said, "metadata": aside})
    keys_of(clean_source(source))
    return source


def _without(said: dict[str, Any], field: str, unusable: dict[str, str]) -> dict[str, Any]:
    """The same without a part that cannot be."""
    if field == "metadata":
        return {name: value for name, value in said.items() if name in _FIELDS and name != "metadata"}
    if said.get(field) not in (None, ""):
        unusable[field] = f"{said[field]!s:.{SAID_CHARS_MAX}}"
    return {name: value for name, value in said.items() if name != field}


def _name(said: Mapping[str, Any]) -> str:
    """What a source without a title is called: the same for the same words, another for others."""
    words = repr(sorted((name, repr(value)) for name, value in said.items()))
    return f"untitled source {hashlib.sha256(words.encode('utf-8', 'replace')).hexdigest()[:NAME_DIGITS]}"


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
