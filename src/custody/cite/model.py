"""The values of document 003: a source, its identity and its usage.

All are frozen. An invalid value raises a ``SourceError`` that names the field.
"""

import math
import re
from collections.abc import AsyncIterator, Iterable, Mapping
from datetime import date, datetime
from typing import TYPE_CHECKING, Any, Literal, NewType, Protocol, TypeAlias, TypeGuard

from msgspec import Struct, field
from msgspec.structs import force_setattr, replace

from custody.core.errors import InputError
from custody.core.patterns import lazy_pattern
from custody.core.structs import hash_struct

SourceID: TypeAlias = str
"""``S1``, ``S2``, …: the permanent id of a source in its registry."""
FootnoteNumber: TypeAlias = int
"""The number of a rendered footnote, not of a source."""
ArtifactType: TypeAlias = Literal["finding", "cluster", "contradiction", "report_section"]

FIELD_BYTES_MAX = 4096
"""Maximum size of a text field, so that it fits in a record."""
METADATA_BYTES_MAX = 64 * 1024
METADATA_DEPTH_MAX = 16
SCORE_DEFAULT = 0.5
VALIDATION_STATE = "validation_state"
DEGRADED = "degraded"

_ID = lazy_pattern(r"S([1-9][0-9]{0,11})", re.ASCII)


class SourceError(InputError):
    """An invalid source; ``field`` is the field that is wrong."""

    def __init__(self, field: str, problem: str = "is invalid", *, hint: str | None = None) -> None:
        super().__init__(f"the source's {field} {problem}", hint=hint)
        self.field = field


class UnknownSource(InputError):
    """An id that is not registered."""

    def __init__(self, source_id: str) -> None:
        super().__init__(f"unknown source '{source_id[:80]}'", hint="list sources with 'custody cite list'")
        self.source_id = source_id


def source_id_from_number(number: int) -> SourceID:
    """Return the id of the source with this number.

    >>> source_id_from_number(3)
    'S3'
    """
    if number < 1:
        raise SourceError("source_id", f"cannot be {number}: sources are numbered from 1")
    return f"S{number}"


def source_number_from_id(source_id: SourceID) -> int:
    """Return the number in a source's id.

    >>> source_number_from_id("S3")
    3
    """
    match = _ID.fullmatch(source_id)
    if match is None:
        raise SourceError("source_id", f"is invalid: '{source_id[:80]}'", hint="an id is S and a number, such as S3")
    return int(match[1])


class ResearchSource(Struct, frozen=True, kw_only=True):
    """A source for statements, with a title or a URL; the registry assigns its id and key."""

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
    metadata: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in ("source_id", "canonical_key", "title", "url", "author", "publisher", "source_type"):
            _check_source_text(name, getattr(self, name), needed=name == "title")
        if self.source_id is not None:
            source_number_from_id(self.source_id)
        if not self.title.strip() and not (self.url or "").strip():
            raise SourceError("title", "and URL are both missing", hint="set at least one of them")
        if self.date is not None and not isinstance(self.date, datetime):
            raise SourceError("date", f"is {self.date!r}, not a datetime", hint="parse text with 'moment_from'")
        check_source_score("credibility_score", self.credibility_score)
        check_source_score("relevance_score", self.relevance_score)
        force_setattr(self, "metadata", _check_source_metadata(self.metadata))

    def __hash__(self) -> int:
        return hash_struct(self, but=("metadata",))


class SourceIdentity(Struct, frozen=True):
    """The identity of a source in its registry; ``version`` counts the registrations that changed it."""

    source_id: SourceID
    canonical_key: str
    version: int = 1

    @classmethod
    def build(cls, source_id: int, canonical_key: str) -> "SourceIdentity":
        """Return the identity of the source with this number."""
        return cls(source_id=source_id_from_number(source_id), canonical_key=canonical_key)


class SourceUsage(Struct, frozen=True):
    """The artifacts that use a source, by kind."""

    source_id: SourceID
    finding_ids: tuple[str, ...] = ()
    cluster_ids: tuple[str, ...] = ()
    contradiction_ids: tuple[str, ...] = ()
    report_sections: tuple[str, ...] = ()

    def used_by(self, kind: ArtifactType, artifact_id: str) -> "SourceUsage":
        """Return a copy that also lists this artifact; the same usage if it already does."""
        if kind not in USAGE_FIELDS:
            raise SourceError("usage", f"is by '{kind}', not one of {', '.join(USAGE_FIELDS)}")
        name = USAGE_FIELDS[kind]
        known: tuple[str, ...] = getattr(self, name)
        more: dict[str, Any] = {name: (*known, artifact_id)}
        return self if artifact_id in known else replace(self, **more)

    def uses(self) -> Iterable[tuple[ArtifactType, str]]:
        """Return all uses as kind and id, in the order of the fields."""
        return [(kind, artifact_id) for kind, name in USAGE_FIELDS.items() for artifact_id in getattr(self, name)]


USAGE_FIELDS: Mapping[ArtifactType, str] = {
    "finding": "finding_ids",
    "cluster": "cluster_ids",
    "contradiction": "contradiction_ids",
    "report_section": "report_sections",
}

if TYPE_CHECKING:  # mypy 2.4 crashes on a NewType of a struct

    class ValidatedSource(ResearchSource, frozen=True, kw_only=True):
        """A registered source that is not degraded."""
else:
    ValidatedSource = NewType("ValidatedSource", ResearchSource)


def is_validated(source: ResearchSource) -> TypeGuard[ValidatedSource]:
    """Return whether a source is registered and not degraded."""
    registered = source.source_id is not None and source.canonical_key is not None
    return registered and source.metadata.get(VALIDATION_STATE) != DEGRADED


def degraded(source: ResearchSource, why: str) -> ResearchSource:
    """Return the source marked as not validated; it can still be registered."""
    return replace(source, metadata={**source.metadata, VALIDATION_STATE: DEGRADED, "validation_error": why})


def moment_from(text: str) -> datetime:
    """Parse an ISO 8601 date or time, or raise ``SourceError``.

    >>> moment_from("2024-02-29").isoformat()
    '2024-02-29T00:00:00'
    """
    try:
        return datetime.fromisoformat(text.strip())
    except ValueError as error:
        raise SourceError(
            "date", f"is invalid: '{text[:60]}'", hint="write 2026-01-31 or 2026-01-31T12:00:00Z"
        ) from error


def check_source_score(name: str, value: object) -> None:
    """Raise ``SourceError`` unless the value is a number from 0 to 1."""
    if isinstance(value, bool) or not isinstance(value, int | float) or math.isnan(value) or not 0 <= value <= 1:
        raise SourceError(name, f"is {value!r}, not a number from 0 to 1")


def source_metadata_size(metadata: Mapping[str, Any]) -> int:
    """Return the approximate size of metadata in bytes."""
    return len(repr(metadata))


def _check_source_text(name: str, value: object, *, needed: bool) -> None:
    if value is None and not needed:
        return
    if not isinstance(value, str):
        raise SourceError(name, f"is {value!r:.80}, not text")
    size = len(value.encode("utf-8", "surrogatepass"))
    if size > FIELD_BYTES_MAX:
        raise SourceError(
            name, f"has {size:,} bytes, more than {FIELD_BYTES_MAX:,}", hint="store long texts as excerpts"
        )


def _check_source_metadata(value: object) -> dict[str, Any]:
    if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
        raise SourceError("metadata", f"is {value!r:.80}, not a mapping")
    metadata: dict[str, Any] = _copy_source_metadata(value, METADATA_DEPTH_MAX)
    size = source_metadata_size(metadata)
    if size > METADATA_BYTES_MAX:
        raise SourceError("metadata", f"has about {size:,} bytes, more than {METADATA_BYTES_MAX:,}")
    return metadata


def _copy_source_metadata(value: object, depth: int) -> Any:
    """Return a copy that consists of JSON values only."""
    if depth == 0:
        raise SourceError("metadata", f"is nested deeper than {METADATA_DEPTH_MAX} levels")
    if isinstance(value, Mapping):
        return {str(key): _copy_source_metadata(item, depth - 1) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        items = sorted(value, key=repr) if isinstance(value, set | frozenset) else value
        return [_copy_source_metadata(item, depth - 1) for item in items]
    if isinstance(value, date):
        return value.isoformat()
    if value is None or isinstance(value, bool | int | str) or (isinstance(value, float) and math.isfinite(value)):
        return value
    raise SourceError("metadata", f"contains {value!r:.80}, which is not JSON")


# The repository interface of document 003; ``custody.sources`` has its implementations.


class AbstractSourceRepository(Protocol):
    """A repository of sources for programs with an event loop."""

    async def register(self, source: ResearchSource) -> SourceIdentity:
        """Register a source and return its id, new or known."""

    async def get(self, source_id: SourceID) -> ResearchSource | None:
        """Return a source; None if it is not registered."""

    async def find_by_key(self, canonical_key: str) -> SourceIdentity | None:
        """Return the source with a canonical key."""

    def iter_all(self) -> AsyncIterator[tuple[SourceIdentity, ResearchSource]]:
        """Yield all sources once, by number."""
