"""What happens to a registry, which is nothing but these events one after the other.

A number that was given stands in its event, so that replaying with better keys can never give another.
"""

from dataclasses import dataclass
from enum import Enum

from custody.cite.keys import SourceKeys
from custody.cite.links import LinkCheck
from custody.cite.model import ArtifactType, ResearchSource
from custody.core.views import Reading


class RegistrationReason(Enum):
    """Why a registration has the number that it has."""

    NEW = "new"
    """Nothing known has one of its keys."""
    URL = "url"
    """The same page: ``url_key``."""
    TEXT = "text"
    """The same title and snippet, where there is neither page nor work."""
    WORK = "work"
    """The same work: ``work_key``."""
    PERSON = "person"
    """Somebody said so."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stamp:
    """Which event, when, and who caused it, as far as that is known."""

    id: str
    at_ns: int
    who: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceRegistration:
    """A source was registered under a number; ``source`` is what this registration said."""

    stamp: Stamp
    number: int
    how: RegistrationReason
    keys: SourceKeys
    source: ResearchSource


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceMergeEvent:
    """Two numbers were found to be one source: ``number`` is shown, ``absorbed`` stays as its alias."""

    stamp: Stamp
    number: int
    absorbed: int
    how: RegistrationReason
    reason: str
    keys: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeReversal:
    """A merge was taken back: ``absorbed`` stands alone again, and is never merged with ``number`` by a key."""

    stamp: Stamp
    number: int
    absorbed: int
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AddressSplit:
    """One address of a source is a source of its own from now on, under the new ``number``."""

    stamp: Stamp
    number: int
    of: int
    spelling: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ExcerptEvent:
    """A passage of a source was kept; ``text`` is None once it was erased."""

    stamp: Stamp
    number: int
    digest: str
    text: str | None
    span: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceReading:
    """Somebody read a source, and how; ``call`` is the tool call of the session that did it, where one was captured."""

    stamp: Stamp
    number: int
    reading: Reading
    session: str | None = None
    call: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceUseEvent:
    """Something rests on a source."""

    stamp: Stamp
    number: int
    kind: ArtifactType
    artifact: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkCheckEvent:
    """Somebody looked whether the address of a source answers."""

    stamp: Stamp
    number: int
    look: LinkCheck


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceLost:
    """A number was given, but what was registered under it was erased or cannot be read any more."""

    stamp: Stamp
    number: int


RegistryChange = (
    SourceRegistration
    | SourceMergeEvent
    | MergeReversal
    | AddressSplit
    | ExcerptEvent
    | SourceReading
    | SourceUseEvent
    | LinkCheckEvent
    | SourceLost
)
