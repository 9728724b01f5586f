"""The nouns of document 003: a source, who it is, where it is used, and what findings rest on.

All of them are frozen. A value that cannot be is refused with a ``SourceError`` that names its field.
"""

import math
import re
from collections.abc import AsyncIterator, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from typing import Any, Literal, NewType, Protocol, TypeAlias, TypeGuard

from custody.core.errors import InputError

SourceID: TypeAlias = str
"""``S1``, ``S2``, …: what a registry calls a source, for good."""
FootnoteNumber: TypeAlias = int
"""The number of a footnote as it is rendered; never a source's own number."""
ArtifactType: TypeAlias = Literal["finding", "cluster", "contradiction", "report_section"]

FIELD_BYTES_MAX = 4096
"""What names something stays inside its record."""
METADATA_BYTES_MAX = 64 * 1024
METADATA_DEPTH_MAX = 16
SCORE_DEFAULT = 0.5
VALIDATION_STATE = "validation_state"
DEGRADED = "degraded"

_ID = re.compile(r"S([1-9][0-9]{0,11})", re.ASCII)


class SourceError(InputError):
    """A source cannot be what it is said to be; ``field`` is the part that is wrong."""

    def __init__(self, field: str, problem: str = "cannot be so", *, hint: str | None = None) -> None:
        super().__init__(f"the source's {field} {problem}", hint=hint)
        self.field = field


class UnknownSource(InputError):
    """Nothing is registered under this id."""

    def __init__(self, source_id: str) -> None:
        super().__init__(
            f"no source is registered as '{source_id[:80]}'", hint="'custody cite list' shows every source"
        )
        self.source_id = source_id


def id_of(number: int) -> SourceID:
    """What a registry calls its ``number``-th source.

    >>> id_of(3)
    'S3'
    """
    if number < 1:
        raise SourceError("source_id", f"cannot be made of {number}: sources are counted from 1")
    return f"S{number}"


def number_of(source_id: SourceID) -> int:
    """The number in a source's id.

    >>> number_of("S3")
    3
    """
    found = _ID.fullmatch(source_id)
    if found is None:
        raise SourceError("source_id", f"is '{source_id[:80]}'", hint="an id is S and a number from 1 on, such as S3")
    return int(found[1])


@dataclass(frozen=True, slots=True, kw_only=True)
class ResearchSource:
    """Something that statements can rest on. It has a title or a URL; its id and key are a registry's to give."""

    source_id: SourceID | None = None
    canonical_key: str | None = None
    title: str
    url: str | None = None
    author: str | None = None
    publisher: str | None = None
    date: datetime | None = None
    source_type: str | None = None
    credibility_score: float = SCORE_DEFAULT
    relevance_score: float = SCORE_DEFAULT
    metadata: Mapping[str, Any] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        for name in ("source_id", "canonical_key", "title", "url", "author", "publisher", "source_type"):
            _check_text(name, getattr(self, name), needed=name == "title")
        if self.source_id is not None:
            number_of(self.source_id)
        if not self.title.strip() and not (self.url or "").strip():
            raise SourceError("title", "and URL are both missing", hint="give at least one of the two")
        if self.date is not None and not isinstance(self.date, datetime):
            raise SourceError("date", f"is {self.date!r}, not a moment", hint="read a text with 'moment_from'")
        check_score("credibility_score", self.credibility_score)
        check_score("relevance_score", self.relevance_score)
        object.__setattr__(self, "metadata", _checked_metadata(self.metadata))


@dataclass(frozen=True, slots=True)
class SourceIdentity:
    """Who a source is in its registry; ``version`` counts the registrations that changed what is known of it."""

    source_id: SourceID
    canonical_key: str
    version: int = 1

    @classmethod
    def build(cls, source_id: int, canonical_key: str) -> "SourceIdentity":
        """The identity of the ``source_id``-th source."""
        return cls(source_id=id_of(source_id), canonical_key=canonical_key)


@dataclass(frozen=True, slots=True)
class SourceUsage:
    """What rests on a source, by the kind of thing."""

    source_id: SourceID
    finding_ids: tuple[str, ...] = ()
    cluster_ids: tuple[str, ...] = ()
    contradiction_ids: tuple[str, ...] = ()
    report_sections: tuple[str, ...] = ()

    def used_by(self, kind: ArtifactType, artifact_id: str) -> "SourceUsage":
        """The same with one more use; one that is known changes nothing."""
        if kind not in USAGE_FIELDS:
            raise SourceError("usage", f"is by '{kind}', not one of {', '.join(USAGE_FIELDS)}")
        name = USAGE_FIELDS[kind]
        known: tuple[str, ...] = getattr(self, name)
        more: dict[str, Any] = {name: (*known, artifact_id)}
        return self if artifact_id in known else replace(self, **more)

    def uses(self) -> Iterable[tuple[ArtifactType, str]]:
        """Every use as kind and id, in the order of the fields."""
        return [(kind, artifact_id) for kind, name in USAGE_FIELDS.items() for artifact_id in getattr(self, name)]


USAGE_FIELDS: Mapping[ArtifactType, str] = {
    "finding": "finding_ids",
    "cluster": "cluster_ids",
    "contradiction": "contradiction_ids",
    "report_section": "report_sections",
}

ValidatedSource = NewType("ValidatedSource", ResearchSource)
"""A source that a registry knows and whose validation did not fail."""


def is_validated(source: ResearchSource) -> TypeGuard[ValidatedSource]:
    """Whether a source may be shown as one: registered, and not marked as degraded."""
    registered = source.source_id is not None and source.canonical_key is not None
    return registered and source.metadata.get(VALIDATION_STATE) != DEGRADED


def degraded(source: ResearchSource, why: str) -> ResearchSource:
    """The source marked as one that could not be validated; it still gets its id."""
    return replace(source, metadata={**source.metadata, VALIDATION_STATE: DEGRADED, "validation_error": why})


def moment_from(text: str) -> datetime:
    """Read a date or a moment as ISO 8601 writes it, or say that it is none.

    >>> moment_from("2024-02-29").isoformat()
    '2024-02-29T00:00:00'
    """
    try:
        return datetime.fromisoformat(text.strip())
    except ValueError as error:
        raise SourceError(
            "date", f"is '{text[:60]}', which is no date", hint="write 2026-01-31 or 2026-01-31T12:00:00Z"
        ) from error


def check_score(name: str, value: object) -> None:
    """A score is a number from 0 to 1."""
    if isinstance(value, bool) or not isinstance(value, int | float) or math.isnan(value) or not 0 <= value <= 1:
        raise SourceError(name, f"is {value!r}, not a number from 0 to 1")


def metadata_size(metadata: Mapping[str, Any]) -> int:
    """About how many bytes metadata takes."""
    return len(repr(metadata))


def _check_text(name: str, value: object, *, needed: bool) -> None:
    if value is None and not needed:
        return
    if not isinstance(value, str):
        raise SourceError(name, f"is {value!r:.80}, not a text")
    size = len(value.encode("utf-8", "surrogatepass"))
    if size > FIELD_BYTES_MAX:
        raise SourceError(
            name, f"has {size:,} bytes, more than {FIELD_BYTES_MAX:,}", hint="keep long texts as excerpts"
        )


def _checked_metadata(said: object) -> dict[str, Any]:
    if not isinstance(said, Mapping) or not all(isinstance(key, str) for key in said):
        raise SourceError("metadata", f"is {said!r:.80}, not values by name")
    made: dict[str, Any] = _plain(said, METADATA_DEPTH_MAX)
    size = metadata_size(made)
    if size > METADATA_BYTES_MAX:
        raise SourceError("metadata", f"has about {size:,} bytes, more than {METADATA_BYTES_MAX:,}")
    return made


def _plain(value: object, depth: int) -> Any:
    """A copy made of what JSON knows: texts, numbers, lists, values by name."""
    if depth == 0:
        raise SourceError("metadata", f"is nested deeper than {METADATA_DEPTH_MAX} levels")
    if isinstance(value, Mapping):
        return {str(key): _plain(item, depth - 1) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        items = sorted(value, key=repr) if isinstance(value, set | frozenset) else value
        return [_plain(item, depth - 1) for item in items]
    if isinstance(value, date):
        return value.isoformat()
    if value is None or isinstance(value, bool | int | str) or (isinstance(value, float) and math.isfinite(value)):
        return value
    raise SourceError("metadata", f"holds {value!r:.80}, which JSON cannot say")


# The document's interface of a store of sources. It is only a protocol: its implementations are in ``cite.app``.


class AbstractSourceRepository(Protocol):
    """What any store of sources offers a program that runs an event loop."""

    async def register(self, source: ResearchSource) -> SourceIdentity:
        """Give a source its id, or the one that it has."""

    async def get(self, source_id: SourceID) -> ResearchSource | None:
        """What is known of a source; None when nobody registered it."""

    async def find_by_key(self, canonical_key: str) -> SourceIdentity | None:
        """Who is registered under a key."""

    def iter_all(self) -> AsyncIterator[tuple[SourceIdentity, ResearchSource]]:
        """Every source once, by number."""
