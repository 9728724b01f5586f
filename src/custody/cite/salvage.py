"""A source from what somebody says of it, however bad: what cannot be used is set aside, and the rest is a source."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from custody.cite.keys import keys_of
from custody.cite.model import ResearchSource, SourceError
from custody.cite.results import source_from
from custody.cite.source_merge import clean_source

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
