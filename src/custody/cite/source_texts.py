"""The texts and accesses of registered sources.

The text is the snippet of the registration, then all passages in the order they were stored. So a later passage is
added at the end, and the earlier text stays the beginning.
"""

from collections.abc import Iterator

from msgspec import Struct

from custody.cite.catalog import Catalog, CatalogEntry, ExcerptEvent, SourceReading
from custody.cite.model import ResearchSource, SourceID
from custody.cite.registry import combine_merged_source, iterate_merged_sources
from custody.core.views import OPENED

APART = "\n\n[…]\n\n"
"""Separates two passages; the text between them in the source is unknown."""


class ContextCandidate(Struct, frozen=True, kw_only=True):
    """A candidate for a context: a source, its stored text or None, and the data for its rank.

    ``accesses`` are the times when it was registered, read or excerpted, each once; ``uses`` counts its
    uses.
    """

    source: ResearchSource
    text: str | None = None
    accesses: tuple[int, ...] = ()
    uses: int = 0

    @property
    def source_id(self) -> SourceID:
        """Return its id; candidates are always registered."""
        assert self.source.source_id is not None, "registered sources have ids"
        return self.source.source_id


def iterate_context_sources(catalog: Catalog) -> Iterator[ContextCandidate]:
    """Yield all sources of a registry, by number; merged sources are combined."""
    for entry in catalog.entries():
        candidate = None if entry.into is not None else build_context_source(catalog, entry)
        if candidate is not None:
            yield candidate


def build_context_source(catalog: Catalog, entry: CatalogEntry) -> ContextCandidate | None:
    """Return a source combined with all that it was merged with; None if everything was erased or lost."""
    source = combine_merged_source(catalog, entry)
    if source is None:
        return None
    parts = list(iterate_merged_sources(catalog, entry))
    excerpts = [excerpt for part in parts for excerpt in catalog.excerpts(part.number)]
    readings = [reading for part in parts for reading in catalog.readings(part.number)]
    registered = (member.at_ns for part in parts for member in part.members)
    uses = {use for part in parts for use in catalog.uses(part.number)}
    return ContextCandidate(
        source=source,
        text=join_source_excerpts(source, excerpts),
        accesses=tuple(sorted({*registered, *_source_access_times(excerpts, readings)})),
        uses=len(uses),
    )


def join_source_excerpts(source: ResearchSource, excerpts: list[ExcerptEvent]) -> str | None:
    """Return the stored text of a source, each passage once; None if there is none.

    >>> join_source_excerpts(ResearchSource(title="t", metadata={"snippet": "Some words."}), [])
    'Some words.'
    """
    snippet = source.metadata.get("snippet")
    snippets = [snippet] if isinstance(snippet, str) else []
    passages: list[str] = []
    for text in (*snippets, *(excerpt.text for excerpt in excerpts if excerpt.text is not None)):
        if text.strip() and not any(text in earlier for earlier in passages):
            passages.append(text)
    return APART.join(passages) if passages else None


def _source_access_times(excerpts: list[ExcerptEvent], readings: list[SourceReading]) -> Iterator[int]:
    yield from (excerpt.stamp.at_ns for excerpt in excerpts)
    # A search hit or a failed attempt does not count as an access.
    yield from (reading.stamp.at_ns for reading in readings if reading.reading in OPENED)
