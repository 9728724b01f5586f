"""What a registry knows of its sources beyond their names: the text that was read of them, and who looked at them when.

The text is what was kept: the snippet of the registration, then every passage in the order in which it was kept. So a
passage that comes later only adds to the end, and the text of before stays the beginning of the text of now.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from custody.cite.model import ResearchSource, SourceID
from custody.cite.registry import group, source_of
from custody.cite.shelf import ExcerptEvent, Shelf, ShelfEntry, SourceReading
from custody.core.views import OPENED

APART = "\n\n[…]\n\n"
"""Stands between two passages: what was between them in the source is not known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextCandidate:
    """A source that a context may show: its kept text, or None if there is none, and what tells how much it matters.

    ``accesses`` are the moments at which it was registered, read or excerpted, each once; ``uses`` counts what rests on
    it.
    """

    source: ResearchSource
    text: str | None = None
    accesses: tuple[int, ...] = ()
    uses: int = 0

    @property
    def source_id(self) -> SourceID:
        """Its id; only what a registry knows can be a candidate."""
        assert self.source.source_id is not None, "a registry gives every source its id"
        return self.source.source_id


def candidates(shelf: Shelf) -> Iterator[ContextCandidate]:
    """Every source of a registry, by number; what was merged is one."""
    for entry in shelf.entries():
        found = None if entry.into is not None else candidate(shelf, entry)
        if found is not None:
            yield found


def candidate(shelf: Shelf, entry: ShelfEntry) -> ContextCandidate | None:
    """One source with everything that it was merged with; None when all of it was erased or lost."""
    source = source_of(shelf, entry)
    if source is None:
        return None
    parts = list(group(shelf, entry))
    excerpts = [excerpt for part in parts for excerpt in shelf.excerpts(part.number)]
    readings = [reading for part in parts for reading in shelf.readings(part.number)]
    registered = (member.at_ns for part in parts for member in part.members)
    uses = {use for part in parts for use in shelf.uses(part.number)}
    return ContextCandidate(
        source=source,
        text=known_text(source, excerpts),
        accesses=tuple(sorted({*registered, *_moments(excerpts, readings)})),
        uses=len(uses),
    )


def known_text(source: ResearchSource, excerpts: list[ExcerptEvent]) -> str | None:
    """Everything that was kept of a source's text, each passage once; None when nothing was.

    >>> known_text(ResearchSource(title="t", metadata={"snippet": "Some words."}), [])
    'Some words.'
    """
    snippet = source.metadata.get("snippet")
    said = [snippet] if isinstance(snippet, str) else []
    kept: list[str] = []
    for text in (*said, *(excerpt.text for excerpt in excerpts if excerpt.text is not None)):
        if text.strip() and not any(text in earlier for earlier in kept):
            kept.append(text)
    return APART.join(kept) if kept else None


def _moments(excerpts: list[ExcerptEvent], readings: list[SourceReading]) -> Iterator[int]:
    yield from (excerpt.stamp.at_ns for excerpt in excerpts)
    # A search hit and a failed attempt are no access.
    yield from (reading.stamp.at_ns for reading in readings if reading.reading in OPENED)
