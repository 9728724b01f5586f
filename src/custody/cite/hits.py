"""What search and reading tools give back, as sources: other tools' names for the same fields, and what cannot be."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

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
