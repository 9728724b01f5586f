"""A shelf with what is about to happen on top of it: several events can be decided before the first is kept."""

from collections.abc import Iterator

from custody.cite.events import ExcerptEvent, SourceReading
from custody.cite.links import LinkMemory
from custody.cite.model import ArtifactType
from custody.cite.shelf import HINTED_MAX, MemoryShelf, Shelf, ShelfEntry


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
