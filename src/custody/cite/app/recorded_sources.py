"""Sources that recorders told of and that agents' calls opened, on their way into the registry.

In the records' order, so that replaying gives the same numbers. This file is the only one that says what of an agent's
reading becomes a source: pages of the web. Files stay readings under their paths.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from custody.cite.event_fold import apply
from custody.cite.events import RegistryChange, Stamp
from custody.cite.keys import SourceKeys
from custody.cite.model import FIELD_BYTES_MAX, ResearchSource, id_of
from custody.cite.queries.readings import pages_in_chain, sources_in_chain
from custody.cite.queries.registry import RegistryTables
from custody.cite.readings import is_page
from custody.cite.registry import to_excerpt, to_read, to_register
from custody.cite.shelf import Shelf
from custody.cite.staged_shelf import StagedShelf
from custody.core.ids import StoreId
from custody.core.views import Reading, Source, SourceAccess
from custody.store import ObservedView, Store

PAGE_ROWS = 256
"""So many readings are registered in one transaction; a call lists fewer."""
SKIPPED_MAX = 1000
"""Records that tell of no source are passed over once they are this many, so that nobody looks at them again."""


@dataclass(frozen=True, slots=True)
class RecordedSource:
    """A source as it may be kept, and how it was read where it was."""

    stamp: Stamp
    source: ResearchSource
    keys: SourceKeys | None
    read: SourceAccess | None
    passage: str | None = None


@dataclass(frozen=True, slots=True)
class SourcePage:
    """What a stretch of a chain tells of sources, in order; ``until`` is the place up to which that is all."""

    store: StoreId
    seen: Sequence[ObservedView[SourceAccess | Source]]
    until: int


def pages(store: Store, own: StoreId) -> Iterator[SourcePage]:
    """What the chain tells of sources and nobody registered yet."""
    after, end = RegistryTables(store).adopted(own), int(store.tables.head(own).seq)
    while after < end:
        read = pages_in_chain(store, own, after, end, PAGE_ROWS)
        until = end if len(read) < PAGE_ROWS else max(int(seen.record.seq) for seen in read) - 1
        told = sources_in_chain(store, own, after, until)
        both: list[ObservedView[SourceAccess | Source]] = [*read, *told]
        both = [seen for seen in both if seen.record.seq <= until]
        if both or until - after >= SKIPPED_MAX:
            yield SourcePage(own, sorted(both, key=lambda seen: (seen.record.seq, seen.n)), until)
        after = until


def source_in(seen: ObservedView[SourceAccess | Source]) -> ResearchSource | None:
    """The source that a view tells of; None for what is no page, and for an attempt that perhaps opened nothing."""
    view = seen.view
    if isinstance(view, Source):
        said = {"snippet": view.snippet, "year": view.year}
        return ResearchSource(
            title=view.title or "",
            url=view.url,
            author=view.author,
            publisher=view.publisher,
            metadata={name: value for name, value in said.items() if value is not None},
        )
    if not is_page(view.locator):
        return None
    if view.reading is Reading.ATTEMPTED and not view.failed:
        return None
    return ResearchSource(title=_short(view.title), url=view.locator)


def stamp_of(seen: ObservedView[SourceAccess | Source]) -> Stamp:
    """By which a registration is told apart from others, and whose it is."""
    view, seq = seen.view, seen.record.seq
    if isinstance(view, SourceAccess):
        return Stamp(id=f"read-{seq}-{seen.n}", at_ns=view.at_ns, who=view.agent)
    return Stamp(id=f"source-{seq}", at_ns=seen.record.entry.at_ns)


def plan_registrations(told: Sequence[RecordedSource], shelf: Shelf) -> list[RegistryChange]:
    """What happens when these are registered one after the other; what is known changes nothing."""
    staged = StagedShelf(shelf)
    made: list[RegistryChange] = []
    for source in told:
        number, events = to_register(staged, source.source, source.stamp, source.keys)
        made += _happened(staged, events)
        if source.read is not None:
            made += _happened(staged, _reading(staged, id_of(number), source.read, source))
    return made


def _reading(shelf: Shelf, source_id: str, read: SourceAccess, told: RecordedSource) -> tuple[RegistryChange, ...]:
    events = to_read(shelf, source_id, read.reading, read.session, told.stamp, read.call)
    if not events or told.passage is None or not told.passage.strip():
        return events
    return (*events, *to_excerpt(shelf, source_id, told.passage, None, told.stamp))


def _happened(shelf: Shelf, events: tuple[RegistryChange, ...]) -> tuple[RegistryChange, ...]:
    for event in events:
        apply(shelf, event)
    return events


def _short(title: str | None) -> str:
    return (title or "").encode("utf-8", "replace")[:FIELD_BYTES_MAX].decode("utf-8", "ignore")
