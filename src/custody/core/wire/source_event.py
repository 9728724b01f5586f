"""The parts of a ``registry`` event: what was said of a source, and by which keys it is known."""

from typing import Annotated, Any

import msgspec
from msgspec import Meta

Line4k = Annotated[str, Meta(max_length=4096, pattern=r"^[^\x00\ud800-\udfff]*$")]
Score = Annotated[float, Meta(ge=0, le=1)]


class SourceDescription(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """What one registration said of a source; ``date`` as ISO 8601 writes it."""

    title: Line4k = ""
    url: Line4k | None = None
    author: Line4k | None = None
    publisher: Line4k | None = None
    date: Annotated[str, Meta(max_length=64)] | None = None
    source_type: Line4k | None = None
    credibility_score: Score = 0.5
    relevance_score: Score = 0.5
    metadata: dict[str, Any] = {}


class WorkIdentifier(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A work by the kind of its identifier and the identifier."""

    kind: str
    id: str


class PassageSpan(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Where a passage begins and ends in its source."""

    first: Annotated[int, Meta(ge=0, le=2**53)]
    last: Annotated[int, Meta(ge=0, le=2**53)]


class RegistrationKeys(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """The keys that a registration went by: its own, that of its page, that of its work."""

    canonical: str
    url: str | None = None
    work: WorkIdentifier | None = None
