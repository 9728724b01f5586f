"""What a registry shows: sources as one whatever they were merged from, why they are one, and which might be."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from custody.cite.event_fold import content_hints, hints_of, own_source
from custody.cite.events import ExcerptEvent, SourceReading
from custody.cite.keys import content_key, nearness
from custody.cite.links import LinkMemory
from custody.cite.model import ResearchSource, SourceID, SourceIdentity, SourceUsage, id_of
from custody.cite.registry import entry_of, group, root
from custody.cite.shelf import Merge, Shelf, ShelfEntry
from custody.cite.source_merge import together

NEAR_MIN = 0.5
"""Passages that have less in common are not suggested as copies."""


@dataclass(frozen=True, slots=True)
class MergeSuggestion:
    """That another source is perhaps the same, and why; nobody merges by it but a person."""

    source_id: SourceID
    why: str


def identity_of(shelf: Shelf, entry: ShelfEntry) -> SourceIdentity:
    """Who an entry is shown as: the source that it was merged into, if it was."""
    shown = root(shelf, entry)
    changed = sum(shelf_entry.version - 1 for shelf_entry in group(shelf, shown))
    key = shown.members[0].keys.canonical if shown.members else ""
    return SourceIdentity(id_of(shown.number), key, 1 + changed)


def source_of(shelf: Shelf, entry: ShelfEntry) -> ResearchSource | None:
    """What is known of a source with all that it was merged with; None when all of it was erased or lost."""
    shown = root(shelf, entry)
    told = [own_source(shelf_entry) for shelf_entry in group(shelf, shown) if shelf_entry.members]
    if not told:
        return None
    who = identity_of(shelf, shown)
    return replace(together(told), source_id=who.source_id, canonical_key=who.canonical_key)


def sources(shelf: Shelf) -> Iterator[tuple[SourceIdentity, ResearchSource]]:
    """Every source once, by number; what was absorbed is shown with what absorbed it."""
    for entry in shelf.entries():
        source = None if entry.into is not None else source_of(shelf, entry)
        if source is not None:
            yield identity_of(shelf, entry), source


def usage_of(shelf: Shelf, source_id: SourceID) -> SourceUsage:
    """What rests on a source, under any of its ids."""
    shown = root(shelf, entry_of(shelf, source_id))
    usage = SourceUsage(id_of(shown.number))
    for entry in group(shelf, shown):
        for kind, artifact in shelf.uses(entry.number):
            usage = usage.used_by(kind, artifact)
    return usage


def readings_of(shelf: Shelf, source_id: SourceID) -> list[SourceReading]:
    """How a source was read, under any of its ids."""
    shown = root(shelf, entry_of(shelf, source_id))
    return [reading for entry in group(shelf, shown) for reading in shelf.readings(entry.number)]


def excerpts_of(shelf: Shelf, source_id: SourceID) -> list[ExcerptEvent]:
    """The passages that were read, under any of its ids."""
    shown = root(shelf, entry_of(shelf, source_id))
    return [excerpt for entry in group(shelf, shown) for excerpt in shelf.excerpts(entry.number)]


def check_of(shelf: Shelf, source_id: SourceID) -> LinkMemory | None:
    """What is remembered of the address that a source is shown with; None when nobody looked at that one."""
    shown = root(shelf, entry_of(shelf, source_id))
    source, memory = source_of(shelf, shown), shelf.check(shown.number)
    return memory if source is not None and memory is not None and memory.url == source.url else None


def aliases_of(shelf: Shelf, source_id: SourceID) -> list[SourceID]:
    """The other ids that a source was given."""
    shown = root(shelf, entry_of(shelf, source_id))
    return [id_of(entry.number) for entry in group(shelf, shown) if entry.number != shown.number]


def merges_of(shelf: Shelf, source_id: SourceID) -> list[Merge]:
    """Why a source is one: every address and number that became part of it."""
    shown = root(shelf, entry_of(shelf, source_id))
    return [merge for entry in group(shelf, shown) for merge in entry.merges]


def suggestions_for(shelf: Shelf, source_id: SourceID) -> list[MergeSuggestion]:
    """The sources that are perhaps the same, by number: like addresses, the same title, near copies of a passage."""
    shown = root(shelf, entry_of(shelf, source_id))
    found: dict[int, str] = {}
    for shelf_entry in group(shelf, shown):
        for member in shelf_entry.members:
            for hint in hints_of(member.source):
                for number in shelf.hinted(hint):
                    found.setdefault(number, _WHY[hint.partition(":")[0]])
        for number, why in _copies(shelf, shelf_entry.number):
            found.setdefault(number, why)
    roots = {number: root(shelf, entry).number for number in sorted(found) if (entry := shelf.entry(number))}
    apart = {number for entry in group(shelf, shown) for number in entry.apart}
    told = {roots[number]: found[number] for number in reversed(roots) if roots[number] != shown.number}
    return [MergeSuggestion(id_of(number), told[number]) for number in sorted(told) if number not in apart]


def _copies(shelf: Shelf, number: int) -> Iterator[tuple[int, str]]:
    """Where passages of a source stand nearly the same in another."""
    for excerpt in shelf.excerpts(number):
        if excerpt.text is None:
            continue
        key = content_key(excerpt.text)
        near = {other for hint in content_hints(excerpt.text) for other in shelf.hinted(hint)} - {number}
        for other in sorted(near):
            theirs = [event.text for event in shelf.excerpts(other) if event.text is not None]
            best = max((nearness(key, content_key(text)) for text in theirs), default=0.0)
            if best >= NEAR_MIN:
                yield other, f"a passage of it is a copy by {best:.0%}"


_WHY = {"loose": "the addresses are alike", "title": "the titles are the same"}
