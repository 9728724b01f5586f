"""Where a registry's sources stand: what the registry needs of any store, and one that is only memory."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from enum import Enum
from typing import Protocol

from custody.cite.keys import SourceKeys
from custody.cite.links import LinkCheck, LinkMemory
from custody.cite.model import ArtifactType, ResearchSource
from custody.core.views import Reading

# What happens to a registry, which is nothing but these events one after the other.
# A number that was given stands in its event, so that replaying with better keys can never give another.


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


HINTED_MAX = 20
"""Of the sources with the same hint only so many are looked at."""


@dataclass(frozen=True, slots=True)
class ShelfMember:
    """A source under one of its addresses: what was said of it there, and why it is here."""

    spelling: str
    keys: SourceKeys
    how: RegistrationReason
    source: ResearchSource
    at_ns: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Merge:
    """Why two are one: a number, or an address, that became part of ``kept``. Every one can be taken back."""

    kept: int
    absorbed: int | None
    spelling: str | None
    how: RegistrationReason
    reason: str
    keys: tuple[str, ...]
    who: str | None
    at_ns: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ShelfEntry:
    """What stands under one number. Merging changes only ``into`` and ``absorbed``, so nothing has to be sorted apart.

    Without members it is lost: what was registered was erased, or cannot be read any more.
    """

    number: int
    members: tuple[ShelfMember, ...] = ()
    version: int = 1
    into: int | None = None
    absorbed: tuple[int, ...] = ()
    merges: tuple[Merge, ...] = ()
    parted: tuple[tuple[str, int], ...] = ()
    """Addresses that were taken out, and the numbers that they have now."""
    apart: tuple[int, ...] = ()
    """Numbers that it was told apart from."""

    def member(self, spelling: str) -> ShelfMember | None:
        """The member with this address."""
        return next((member for member in self.members if member.spelling == spelling), None)


class Shelf(Protocol):
    """What a registry needs of a store; each is one look or one change."""

    def last(self) -> int:
        """The highest number that was given; 0 before the first."""

    def entry(self, number: int) -> ShelfEntry | None:
        """What stands under a number."""

    def put(self, entry: ShelfEntry) -> None:
        """Let an entry stand under its number."""

    def number_at(self, key: str) -> int | None:
        """The number that a key leads to."""

    def point(self, key: str, number: int) -> None:
        """Let a key lead to a number."""

    def hint(self, hint: str, number: int) -> None:
        """Note something that sources which are perhaps the same have in common."""

    def hinted(self, hint: str) -> list[int]:
        """The numbers with this hint, lowest first; at most a few."""

    def add_excerpt(self, event: ExcerptEvent) -> None:
        """Keep a passage; one that is there is not kept twice."""

    def excerpts(self, number: int) -> list[ExcerptEvent]:
        """The passages kept under a number, oldest first."""

    def add_reading(self, event: SourceReading) -> None:
        """Keep that it was read."""

    def readings(self, number: int) -> list[SourceReading]:
        """How it was read, oldest first."""

    def add_use(self, number: int, kind: ArtifactType, artifact: str) -> None:
        """Keep a use, once."""

    def uses(self, number: int) -> list[tuple[ArtifactType, str]]:
        """What rests on it, oldest first."""

    def put_check(self, number: int, memory: LinkMemory) -> None:
        """Remember how its address answers, instead of what was remembered."""

    def check(self, number: int) -> LinkMemory | None:
        """What is remembered of its address; None when nobody looked."""

    def entries(self) -> Iterable[ShelfEntry]:
        """Everything, by number."""


@dataclass(slots=True)
class MemoryShelf:
    """A shelf that is gone with the program."""

    _entries: dict[int, ShelfEntry] = field(default_factory=dict)
    _keys: dict[str, int] = field(default_factory=dict)
    _hints: dict[str, list[int]] = field(default_factory=dict)
    _excerpts: dict[int, list[ExcerptEvent]] = field(default_factory=dict)
    _readings: dict[int, list[SourceReading]] = field(default_factory=dict)
    _uses: dict[int, dict[tuple[ArtifactType, str], None]] = field(default_factory=dict)
    _checks: dict[int, LinkMemory] = field(default_factory=dict)
    _last: int = 0

    def last(self) -> int:
        """The highest number that was given."""
        return self._last

    def entry(self, number: int) -> ShelfEntry | None:
        """What stands under a number."""
        return self._entries.get(number)

    def put(self, entry: ShelfEntry) -> None:
        """Let an entry stand under its number."""
        self._entries[entry.number] = entry
        self._last = max(self._last, entry.number)

    def number_at(self, key: str) -> int | None:
        """The number that a key leads to."""
        return self._keys.get(key)

    def point(self, key: str, number: int) -> None:
        """Let a key lead to a number."""
        self._keys[key] = number

    def hint(self, hint: str, number: int) -> None:
        """Note a hint."""
        there = self._hints.setdefault(hint, [])
        if number not in there and len(there) < HINTED_MAX:
            there.append(number)

    def hinted(self, hint: str) -> list[int]:
        """The numbers with this hint."""
        return sorted(self._hints.get(hint, ()))

    def add_excerpt(self, event: ExcerptEvent) -> None:
        """Keep a passage, once."""
        there = self._excerpts.setdefault(event.number, [])
        if all((excerpt.digest, excerpt.span) != (event.digest, event.span) for excerpt in there):
            there.append(event)

    def excerpts(self, number: int) -> list[ExcerptEvent]:
        """The passages kept under a number."""
        return list(self._excerpts.get(number, ()))

    def add_reading(self, event: SourceReading) -> None:
        """Keep that it was read."""
        self._readings.setdefault(event.number, []).append(event)

    def readings(self, number: int) -> list[SourceReading]:
        """How it was read."""
        return list(self._readings.get(number, ()))

    def add_use(self, number: int, kind: ArtifactType, artifact: str) -> None:
        """Keep a use, once."""
        self._uses.setdefault(number, {})[kind, artifact] = None

    def uses(self, number: int) -> list[tuple[ArtifactType, str]]:
        """What rests on it."""
        return list(self._uses.get(number, ()))

    def put_check(self, number: int, memory: LinkMemory) -> None:
        """Remember how its address answers."""
        self._checks[number] = memory

    def check(self, number: int) -> LinkMemory | None:
        """What is remembered of its address."""
        return self._checks.get(number)

    def entries(self) -> Iterator[ShelfEntry]:
        """Everything, by number."""
        return (self._entries[number] for number in sorted(self._entries))


# A shelf with what is about to happen on top of it: several events can be decided before the first is kept.


class StagedShelf:
    """What ``below`` holds and what was put here, as ``cite.shelf.Shelf`` promises; ``below`` never changes."""

    def __init__(self, below: Shelf) -> None:
        self._below = below
        self._above = MemoryShelf()
        self._read: dict[int, list[SourceReading]] = {}

    def last(self) -> int:
        """The highest number that was given."""
        return max(self._below.last(), self._above.last())

    def entry(self, number: int) -> ShelfEntry | None:
        """What stands under a number."""
        return self._above.entry(number) or self._below.entry(number)

    def put(self, entry: ShelfEntry) -> None:
        """Let an entry stand under its number, here."""
        self._above.put(entry)

    def number_at(self, key: str) -> int | None:
        """The number that a key leads to."""
        above = self._above.number_at(key)
        return self._below.number_at(key) if above is None else above

    def point(self, key: str, number: int) -> None:
        """Let a key lead to a number, here."""
        self._above.point(key, number)

    def hint(self, hint: str, number: int) -> None:
        """Note a hint, here."""
        self._above.hint(hint, number)

    def hinted(self, hint: str) -> list[int]:
        """The numbers with this hint."""
        return sorted({*self._below.hinted(hint), *self._above.hinted(hint)})[:HINTED_MAX]

    def add_excerpt(self, event: ExcerptEvent) -> None:
        """Keep a passage, here."""
        self._above.add_excerpt(event)

    def excerpts(self, number: int) -> list[ExcerptEvent]:
        """The passages kept under a number."""
        return [*self._below.excerpts(number), *self._above.excerpts(number)]

    def add_reading(self, event: SourceReading) -> None:
        """Keep that it was read, here."""
        self._above.add_reading(event)

    def readings(self, number: int) -> list[SourceReading]:
        """How it was read; what is below is read once, since a page may have been read very often."""
        if number not in self._read:
            self._read[number] = self._below.readings(number)
        return [*self._read[number], *self._above.readings(number)]

    def add_use(self, number: int, kind: ArtifactType, artifact: str) -> None:
        """Keep a use, here."""
        self._above.add_use(number, kind, artifact)

    def uses(self, number: int) -> list[tuple[ArtifactType, str]]:
        """What rests on it."""
        return list(dict.fromkeys((*self._below.uses(number), *self._above.uses(number))))

    def put_check(self, number: int, memory: LinkMemory) -> None:
        """Remember how its address answers, here."""
        self._above.put_check(number, memory)

    def check(self, number: int) -> LinkMemory | None:
        """What is remembered of its address."""
        return self._above.check(number) or self._below.check(number)

    def entries(self) -> Iterator[ShelfEntry]:
        """Everything, by number."""
        known = {entry.number for entry in self._below.entries()} | {entry.number for entry in self._above.entries()}
        return (entry for number in sorted(known) if (entry := self.entry(number)) is not None)
