"""The catalog of a registry: its events, its entries, the interface of its storage, and a catalog in memory."""

from collections.abc import Iterable, Iterator
from enum import Enum
from typing import Protocol

from msgspec import Struct, field

from custody.cite.keys import SourceKeys
from custody.cite.links import LinkCheck, LinkMemory
from custody.cite.model import ArtifactType, ResearchSource
from custody.core.views import Reading

# A registry is the result of these events in order. Events contain the numbers they assign, so that a replay with
# improved keys assigns the same numbers.


class RegistrationReason(Enum):
    """Why a registration has its number."""

    NEW = "new"
    """None of its keys was known."""
    URL = "url"
    """The same page: ``compute_source_url_key``."""
    TEXT = "text"
    """The same title and snippet, if there is neither page nor work."""
    WORK = "work"
    """The same work: ``parse_cited_work``."""
    PERSON = "person"
    """A person decided it."""


class Stamp(Struct, frozen=True, kw_only=True):
    """The id of an event, its time, and who caused it, if known."""

    id: str
    at_ns: int
    who: str | None = None


class SourceRegistration(Struct, frozen=True, kw_only=True):
    """A source was registered under a number; ``source`` has the fields of this registration."""

    stamp: Stamp
    number: int
    how: RegistrationReason
    keys: SourceKeys
    source: ResearchSource


class SourceMergeEvent(Struct, frozen=True, kw_only=True):
    """Two numbers were merged: ``number`` is shown, ``absorbed`` becomes its alias."""

    stamp: Stamp
    number: int
    absorbed: int
    how: RegistrationReason
    reason: str
    keys: tuple[str, ...] = ()


class MergeReversal(Struct, frozen=True, kw_only=True):
    """A merge was undone: ``absorbed`` is separate again, and no key merges it with ``number``."""

    stamp: Stamp
    number: int
    absorbed: int
    reason: str


class AddressSplit(Struct, frozen=True, kw_only=True):
    """One URL of a source became a source of its own, under the new ``number``."""

    stamp: Stamp
    number: int
    of: int
    spelling: str
    reason: str


class ExcerptEvent(Struct, frozen=True, kw_only=True):
    """A passage of a source was stored; ``text`` is None if it was erased."""

    stamp: Stamp
    number: int
    digest: str
    text: str | None
    span: tuple[int, int] | None = None


class SourceReading(Struct, frozen=True, kw_only=True):
    """A source was read; ``call`` is the tool call of the session, if it was recorded."""

    stamp: Stamp
    number: int
    reading: Reading
    session: str | None = None
    call: str | None = None


class SourceUseEvent(Struct, frozen=True, kw_only=True):
    """An artifact uses a source."""

    stamp: Stamp
    number: int
    kind: ArtifactType
    artifact: str


class LinkCheckEvent(Struct, frozen=True, kw_only=True):
    """The URL of a source was checked."""

    stamp: Stamp
    number: int
    look: LinkCheck


class SourceLost(Struct, frozen=True, kw_only=True):
    """A number was assigned, but its registration was erased or cannot be read."""

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


HINTED_MAX = 20
"""Maximum sources stored for one hint."""


class CatalogMember(Struct, frozen=True):
    """A source under one of its URLs, and why it is part of its entry."""

    spelling: str
    keys: SourceKeys
    how: RegistrationReason
    source: ResearchSource
    at_ns: int


class Merge(Struct, frozen=True, kw_only=True):
    """A number or a URL that became part of ``kept``, and why; every merge can be undone."""

    kept: int
    absorbed: int | None
    spelling: str | None
    how: RegistrationReason
    reason: str
    keys: tuple[str, ...]
    who: str | None
    at_ns: int


class CatalogEntry(Struct, frozen=True, kw_only=True):
    """The entry of one number. A merge changes only ``into``, ``absorbed`` and ``merges``, so it is easy to undo.

    An entry without members is lost: its registration was erased or cannot be read.
    """

    number: int
    members: tuple[CatalogMember, ...] = ()
    version: int = 1
    into: int | None = None
    absorbed: tuple[int, ...] = ()
    merges: tuple[Merge, ...] = ()
    parted: tuple[tuple[str, int], ...] = ()
    """URLs that were split off, with their new numbers."""
    apart: tuple[int, ...] = ()
    """Numbers that a person declared different."""

    def member(self, spelling: str) -> CatalogMember | None:
        """Return the member with this URL."""
        return next((member for member in self.members if member.spelling == spelling), None)


class Catalog(Protocol):
    """The storage that a registry needs."""

    def last(self) -> int:
        """Return the highest assigned number; 0 if there is none."""

    def entry(self, number: int) -> CatalogEntry | None:
        """Return the entry of a number."""

    def put(self, entry: CatalogEntry) -> None:
        """Store an entry under its number, replacing the old one."""

    def number_at(self, key: str) -> int | None:
        """Return the number that a key points to."""

    def point(self, key: str, number: int) -> None:
        """Point a key to a number."""

    def hint(self, hint: str, number: int) -> None:
        """Store a feature that possibly identical sources share."""

    def list_hinted_numbers(self, hint: str) -> list[int]:
        """Return the numbers with this hint, lowest first, up to ``HINTED_MAX``."""

    def add_excerpt(self, event: ExcerptEvent) -> None:
        """Store a passage, once."""

    def excerpts(self, number: int) -> list[ExcerptEvent]:
        """Return the passages of a number, oldest first."""

    def add_reading(self, event: SourceReading) -> None:
        """Store a reading."""

    def readings(self, number: int) -> list[SourceReading]:
        """Return the readings of a number, oldest first."""

    def add_use(self, number: int, kind: ArtifactType, artifact: str) -> None:
        """Store a use, once."""

    def uses(self, number: int) -> list[tuple[ArtifactType, str]]:
        """Return the uses of a number, oldest first."""

    def put_check(self, number: int, memory: LinkMemory) -> None:
        """Store the link checks of a number, replacing the old ones."""

    def check(self, number: int) -> LinkMemory | None:
        """Return the link checks of a number; None if its URL was never checked."""

    def entries(self) -> Iterable[CatalogEntry]:
        """Return all entries, by number."""


class MemoryCatalog(Struct):
    """A catalog in memory."""

    _entries: dict[int, CatalogEntry] = field(default_factory=dict)
    _keys: dict[str, int] = field(default_factory=dict)
    _hints: dict[str, list[int]] = field(default_factory=dict)
    _excerpts: dict[int, list[ExcerptEvent]] = field(default_factory=dict)
    _readings: dict[int, list[SourceReading]] = field(default_factory=dict)
    _uses: dict[int, dict[tuple[ArtifactType, str], None]] = field(default_factory=dict)
    _checks: dict[int, LinkMemory] = field(default_factory=dict)
    _last: int = 0

    def last(self) -> int:
        """Return the highest assigned number."""
        return self._last

    def entry(self, number: int) -> CatalogEntry | None:
        """Return the entry of a number."""
        return self._entries.get(number)

    def put(self, entry: CatalogEntry) -> None:
        """Store an entry."""
        self._entries[entry.number] = entry
        self._last = max(self._last, entry.number)

    def number_at(self, key: str) -> int | None:
        """Return the number that a key points to."""
        return self._keys.get(key)

    def point(self, key: str, number: int) -> None:
        """Point a key to a number."""
        self._keys[key] = number

    def hint(self, hint: str, number: int) -> None:
        """Store a hint."""
        numbers = self._hints.setdefault(hint, [])
        if number not in numbers and len(numbers) < HINTED_MAX:
            numbers.append(number)

    def list_hinted_numbers(self, hint: str) -> list[int]:
        """Return the numbers with this hint."""
        return sorted(self._hints.get(hint, ()))

    def add_excerpt(self, event: ExcerptEvent) -> None:
        """Store a passage, once."""
        excerpts = self._excerpts.setdefault(event.number, [])
        if all((excerpt.digest, excerpt.span) != (event.digest, event.span) for excerpt in excerpts):
            excerpts.append(event)

    def excerpts(self, number: int) -> list[ExcerptEvent]:
        """Return the passages of a number."""
        return list(self._excerpts.get(number, ()))

    def add_reading(self, event: SourceReading) -> None:
        """Store a reading."""
        self._readings.setdefault(event.number, []).append(event)

    def readings(self, number: int) -> list[SourceReading]:
        """Return the readings of a number."""
        return list(self._readings.get(number, ()))

    def add_use(self, number: int, kind: ArtifactType, artifact: str) -> None:
        """Store a use, once."""
        self._uses.setdefault(number, {})[kind, artifact] = None

    def uses(self, number: int) -> list[tuple[ArtifactType, str]]:
        """Return the uses of a number."""
        return list(self._uses.get(number, ()))

    def put_check(self, number: int, memory: LinkMemory) -> None:
        """Store the link checks of a number."""
        self._checks[number] = memory

    def check(self, number: int) -> LinkMemory | None:
        """Return the link checks of the source with this number."""
        return self._checks.get(number)

    def entries(self) -> Iterator[CatalogEntry]:
        """Return all entries, by number."""
        return (self._entries[number] for number in sorted(self._entries))


# Several events can be planned on a staged catalog before the first is stored.


class StagedCatalog:
    """A catalog with changes on top of ``below``, which stays unchanged."""

    def __init__(self, below: Catalog) -> None:
        self._below = below
        self._above = MemoryCatalog()
        self._readings_below: dict[int, list[SourceReading]] = {}

    def last(self) -> int:
        """Return the highest assigned number."""
        return max(self._below.last(), self._above.last())

    def entry(self, number: int) -> CatalogEntry | None:
        """Return the entry of a number."""
        return self._above.entry(number) or self._below.entry(number)

    def put(self, entry: CatalogEntry) -> None:
        """Stage an entry."""
        self._above.put(entry)

    def number_at(self, key: str) -> int | None:
        """Return the number that a key points to."""
        above = self._above.number_at(key)
        return self._below.number_at(key) if above is None else above

    def point(self, key: str, number: int) -> None:
        """Stage a key."""
        self._above.point(key, number)

    def hint(self, hint: str, number: int) -> None:
        """Stage a hint."""
        self._above.hint(hint, number)

    def list_hinted_numbers(self, hint: str) -> list[int]:
        """Return the numbers with this hint."""
        return sorted({*self._below.list_hinted_numbers(hint), *self._above.list_hinted_numbers(hint)})[:HINTED_MAX]

    def add_excerpt(self, event: ExcerptEvent) -> None:
        """Stage a passage."""
        self._above.add_excerpt(event)

    def excerpts(self, number: int) -> list[ExcerptEvent]:
        """Return the passages of a number."""
        return [*self._below.excerpts(number), *self._above.excerpts(number)]

    def add_reading(self, event: SourceReading) -> None:
        """Stage a reading."""
        self._above.add_reading(event)

    def readings(self, number: int) -> list[SourceReading]:
        """Return the readings of a number; those below are cached, since a page may have been read very often."""
        if number not in self._readings_below:
            self._readings_below[number] = self._below.readings(number)
        return [*self._readings_below[number], *self._above.readings(number)]

    def add_use(self, number: int, kind: ArtifactType, artifact: str) -> None:
        """Stage a use."""
        self._above.add_use(number, kind, artifact)

    def uses(self, number: int) -> list[tuple[ArtifactType, str]]:
        """Return the uses of a number."""
        return list(dict.fromkeys((*self._below.uses(number), *self._above.uses(number))))

    def put_check(self, number: int, memory: LinkMemory) -> None:
        """Stage link checks."""
        self._above.put_check(number, memory)

    def check(self, number: int) -> LinkMemory | None:
        """Return the link checks of a number."""
        return self._above.check(number) or self._below.check(number)

    def entries(self) -> Iterator[CatalogEntry]:
        """Return all entries, by number."""
        known = {entry.number for entry in self._below.entries()} | {entry.number for entry in self._above.entries()}
        return (entry for number in sorted(known) if (entry := self.entry(number)) is not None)
