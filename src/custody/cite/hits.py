"""Sources from the results of search and reading tools, which use other field names and may be invalid."""

import hashlib
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from msgspec import Struct

from custody.cite.keys import clean_source, compute_source_keys
from custody.cite.model import FIELD_BYTES_MAX, ResearchSource, SourceError, check_source_score, moment_from
from custody.cite.results import source_from

SNIPPET_CHARACTERS_MAX = 500
"""Maximum text of a hit that is registered as its snippet."""

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
"""The fields of a source, each with the names that tools use for it, the best first."""
SNIPPETS = ("snippet", "description", "summary", "body", "content", "text")
SCORES = ("credibility_score", "relevance_score")
BESIDE = ("year", "doi", "isbn")


def is_source_hit(value: object) -> bool:
    """Return whether a value of a tool's result is a source: a mapping with a title or a URL."""
    return isinstance(value, Mapping) and any(
        isinstance(value.get(name), str) and value[name].strip() for name in (*NAMES["url"], "title")
    )


def source_of_hit(hit: Mapping[str, Any]) -> ResearchSource:
    """Return the source of a hit; its own ids are ignored, and invalid fields are left out.

    >>> source_of_hit({"link": "https://example.org/a", "name": "A", "date": "3 days ago"}).metadata
    {'date_said': '3 days ago'}
    """
    fields: dict[str, Any] = {}
    for field, names in NAMES.items():
        value = next((_source_field_text(hit[name]) for name in names if _source_field_text(hit.get(name))), None)
        if value is not None:
            fields[field] = value
    metadata = {name: hit[name] for name in BESIDE if isinstance(hit.get(name), str | int)}
    snippet = next((_source_field_text(hit[name]) for name in SNIPPETS if _source_field_text(hit.get(name))), None)
    if snippet is not None:
        metadata["snippet"] = snippet[:SNIPPET_CHARACTERS_MAX]
    if "date" in fields and not _is_source_date(fields["date"]):
        metadata["date_said"] = fields.pop("date")
    fields |= {name: hit[name] for name in SCORES if _is_source_score(hit.get(name))}
    return source_from({**fields, "metadata": metadata})


def _source_field_text(value: object) -> str | None:
    """Return a value as text that fits into a field; a list is joined with commas."""
    if isinstance(value, list | tuple) and value and all(isinstance(part, str) for part in value):
        value = ", ".join(value)
    if not isinstance(value, str) or not value.strip():
        return None
    return value.strip().encode("utf-8", "replace")[:FIELD_BYTES_MAX].decode("utf-8", "ignore")


def _is_source_date(text: str) -> bool:
    try:
        moment_from(text)
    except SourceError:
        return False
    return True


def _is_source_score(value: object) -> bool:
    try:
        check_source_score("score", value)
    except SourceError:
        return False
    return True


# Salvage a source from invalid fields: unusable values are set aside in its metadata.


UNUSABLE = "unusable"
"""The metadata key of values that cannot be used."""
SAID_CHARS_MAX = 200
NAME_DIGITS = 12
_FIELDS = frozenset(ResearchSource.__struct_fields__)
_ROUNDS_MAX = 2 * len(_FIELDS)


class SalvagedSource(Struct, frozen=True):
    """A source without its invalid fields, and the first problem; no source if the input was empty."""

    source: ResearchSource | None
    why: str | None = None


def salvage_source(raw: object) -> SalvagedSource:
    """Return the source without the fields that are invalid.

    >>> salvage_source({"title": "A", "credibility_score": 7}).why
    "the source's credibility_score is 7, not a number from 0 to 1"
    """
    if not isinstance(raw, Mapping) or not any(value not in (None, "") for value in raw.values()):
        return SalvagedSource(None, "the source is empty")
    fields = {str(name): value for name, value in raw.items()}
    name = _untitled_source_name(fields)
    first, unusable = None, dict[str, str]()
    for _ in range(_ROUNDS_MAX):
        try:
            return SalvagedSource(_source_from_usable_fields(fields, unusable), first)
        except SourceError as error:
            first = first or error.message
            fields = _drop_unusable_source_field(fields, error.field, unusable)
            if error.field == "title":
                fields["title"] = name
    return SalvagedSource(None, first)


def _source_from_usable_fields(fields: Mapping[str, Any], unusable: Mapping[str, str]) -> ResearchSource:
    aside = (
        {**_source_metadata_mapping(fields.get("metadata")), UNUSABLE: dict(unusable)}
        if unusable
        else fields.get("metadata")
    )
    source = source_from({**fields, "metadata": aside})
    compute_source_keys(clean_source(source))
    return source


def _drop_unusable_source_field(fields: dict[str, Any], field: str, unusable: dict[str, str]) -> dict[str, Any]:
    """Return the fields without an invalid one."""
    if field == "metadata":
        return {name: value for name, value in fields.items() if name in _FIELDS and name != "metadata"}
    if fields.get(field) not in (None, ""):
        unusable[field] = f"{fields[field]!s:.{SAID_CHARS_MAX}}"
    return {name: value for name, value in fields.items() if name != field}


def _untitled_source_name(fields: Mapping[str, Any]) -> str:
    """Return a name for a source without a title, the same for the same fields."""
    content = repr(sorted((name, repr(value)) for name, value in fields.items()))
    return f"untitled source {hashlib.sha256(content.encode('utf-8', 'replace')).hexdigest()[:NAME_DIGITS]}"


def _source_metadata_mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
