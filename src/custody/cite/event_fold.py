"""Application of registry events to a catalog, the same for new and replayed events."""

from collections.abc import Callable, Iterator
from types import MappingProxyType
from typing import Any, NamedTuple

from msgspec.structs import replace

from custody.cite.catalog import (
    AddressSplit,
    Catalog,
    CatalogEntry,
    CatalogMember,
    ExcerptEvent,
    LinkCheckEvent,
    Merge,
    MergeReversal,
    RegistrationReason,
    RegistryChange,
    SourceLost,
    SourceMergeEvent,
    SourceReading,
    SourceRegistration,
    SourceUseEvent,
)
from custody.cite.keys import (
    SourceKeys,
    compute_source_excerpt_key,
    is_source_display_equal,
    merge_source_pair,
    merge_sources,
    normalize_source_text,
)
from custody.cite.links import update_link_memory
from custody.cite.model import ResearchSource, source_id_from_number
from custody.cite.urls import compute_loose_source_key

MEMBERS_MAX = 32
"""Maximum URLs stored separately for one source; further URLs are combined with the first."""
GAP_NUMBERS_MAX = 10_000
"""Maximum gap of lost numbers; a wider gap means a wrong number."""
TITLE_WORDS_MIN = 3
"""Minimum words of a title that is used as a hint; shorter titles are too common."""
NEAR_VALUES = 4
"""How many of the smallest fingerprints of a passage are hints."""


def apply_source_event(catalog: Catalog, event: RegistryChange) -> bool:
    """Apply an event; return False and change nothing if it contradicts earlier events."""
    return _APPLY[type(event)](catalog, event)


def _apply_source_registration(catalog: Catalog, event: SourceRegistration) -> bool:
    entry = catalog.entry(event.number)
    if event.how is RegistrationReason.NEW:
        if not _mark_source_numbers_lost(catalog, event.number - 1):
            return False
        entry = CatalogEntry(number=event.number)
    elif entry is None:
        return False
    catalog.put(add_source_registration(entry, event))
    _claim_source_key(catalog, event.keys.canonical, event.number)
    if event.keys.work_text is not None:
        _claim_source_key(catalog, event.keys.work_text, event.number)
    for hint in compute_source_hints(event.source):
        catalog.hint(hint.text, event.number)
    return True


def _apply_source_merge(catalog: Catalog, event: SourceMergeEvent) -> bool:
    kept, absorbed = catalog.entry(event.number), catalog.entry(event.absorbed)
    if kept is None or absorbed is None or kept.number == absorbed.number or kept.into or absorbed.into:
        return False
    merge = Merge(
        kept=kept.number,
        absorbed=absorbed.number,
        spelling=None,
        how=event.how,
        reason=event.reason,
        keys=event.keys,
        who=event.stamp.who,
        at_ns=event.stamp.at_ns,
    )
    catalog.put(replace(absorbed, into=kept.number))
    catalog.put(replace(kept, absorbed=(*kept.absorbed, absorbed.number), merges=(*kept.merges, merge)))
    return True


def _apply_source_unmerge(catalog: Catalog, event: MergeReversal) -> bool:
    kept, absorbed = catalog.entry(event.number), catalog.entry(event.absorbed)
    if kept is None or absorbed is None or absorbed.into != kept.number:
        return False
    catalog.put(replace(absorbed, into=None, apart=_add_source_number(absorbed.apart, kept.number)))
    catalog.put(
        replace(
            kept,
            absorbed=tuple(number for number in kept.absorbed if number != absorbed.number),
            merges=tuple(merge for merge in kept.merges if merge.absorbed != absorbed.number),
            apart=_add_source_number(kept.apart, absorbed.number),
        )
    )
    return True


def _apply_source_split(catalog: Catalog, event: AddressSplit) -> bool:
    entry = catalog.entry(event.of)
    member = None if entry is None else entry.member(event.spelling)
    if entry is None or member is None or len(entry.members) == 1:
        return False
    if not _mark_source_numbers_lost(catalog, event.number - 1):
        return False
    own = f"{member.keys.canonical}#{source_id_from_number(event.number)}"
    others = tuple(other for other in entry.members if other.spelling != event.spelling)
    is_shared = any(other.keys.canonical == member.keys.canonical for other in others)
    keys = replace(member.keys, canonical=own if is_shared else member.keys.canonical)
    catalog.put(
        replace(
            entry,
            members=others,
            merges=tuple(merge for merge in entry.merges if merge.spelling != event.spelling),
            parted=(*entry.parted, (event.spelling, event.number)),
            apart=_add_source_number(entry.apart, event.number),
        )
    )
    catalog.put(
        CatalogEntry(
            number=event.number,
            members=(replace(member, keys=keys, how=RegistrationReason.PERSON),),
            apart=(entry.number,),
        )
    )
    catalog.point(keys.canonical, event.number)
    return True


def _apply_source_excerpt(catalog: Catalog, event: ExcerptEvent) -> None:
    catalog.add_excerpt(event)
    if event.text is not None:
        for hint in compute_source_excerpt_hints(event.text):
            catalog.hint(hint, event.number)


def _apply_source_reading(catalog: Catalog, event: SourceReading) -> None:
    catalog.add_reading(event)


def _apply_source_use(catalog: Catalog, event: SourceUseEvent) -> None:
    catalog.add_use(event.number, event.kind, event.artifact)


def _apply_link_check(catalog: Catalog, event: LinkCheckEvent) -> None:
    catalog.put_check(event.number, update_link_memory(catalog.check(event.number), event.look, event.stamp.at_ns))


def _require_entry(apply: Callable[[Catalog, Any], None]) -> Callable[[Catalog, Any], bool]:
    def apply_if_registered(catalog: Catalog, event: Any) -> bool:
        if catalog.entry(event.number) is None:
            return False
        apply(catalog, event)
        return True

    return apply_if_registered


def _apply_source_loss(catalog: Catalog, event: SourceLost) -> bool:
    return event.number <= catalog.last() or _mark_source_numbers_lost(catalog, event.number)


_APPLY: MappingProxyType[type[RegistryChange], Callable[[Catalog, Any], bool]] = MappingProxyType(
    {
        SourceRegistration: _apply_source_registration,
        SourceMergeEvent: _apply_source_merge,
        MergeReversal: _apply_source_unmerge,
        AddressSplit: _apply_source_split,
        ExcerptEvent: _require_entry(_apply_source_excerpt),
        SourceReading: _require_entry(_apply_source_reading),
        SourceUseEvent: _require_entry(_apply_source_use),
        LinkCheckEvent: _require_entry(_apply_link_check),
        SourceLost: _apply_source_loss,
    }
)


def _mark_source_numbers_lost(catalog: Catalog, number: int) -> bool:
    """Mark the numbers up to this one as lost, so that they are not reused; return False if that is impossible."""
    last = catalog.last()
    if not last <= number <= last + GAP_NUMBERS_MAX:
        return False
    for missing in range(last + 1, number + 1):
        catalog.put(CatalogEntry(number=missing))
    return True


def add_source_registration(entry: CatalogEntry, event: SourceRegistration) -> CatalogEntry:
    """Return the entry after a registration; an equal entry if nothing is new."""
    spelling = choose_source_spelling(event.source, event.keys)
    known = entry.member(spelling) or _overflow_source_member(entry, event.keys)
    if known is None:
        member = CatalogMember(spelling, event.keys, event.how, event.source, event.stamp.at_ns)
        members: tuple[CatalogMember, ...] = (*entry.members, member)
        merges = (*entry.merges, *_source_merges_from_registration(entry, event, spelling))
    else:
        changed = replace(known, source=merge_source_pair(known.source, event.source))
        members = tuple(changed if member is known else member for member in entry.members)
        merges = entry.merges
    result = replace(entry, members=members, merges=merges)
    if entry.members and not is_source_display_equal(combine_entry_sources(entry), combine_entry_sources(result)):
        result = replace(result, version=entry.version + 1)
    return result


def _overflow_source_member(entry: CatalogEntry, keys: SourceKeys) -> CatalogMember | None:
    """Return the member that takes another URL if the entry is full."""
    if len(entry.members) < MEMBERS_MAX:
        return None
    return next((member for member in entry.members if member.keys.canonical == keys.canonical), entry.members[0])


def _source_merges_from_registration(
    entry: CatalogEntry, event: SourceRegistration, spelling: str
) -> tuple[Merge, ...]:
    if not entry.members:
        return ()
    keys = tuple(key for key in (event.keys.canonical, event.keys.work_text) if key is not None)
    return (
        Merge(
            kept=entry.number,
            absorbed=None,
            spelling=spelling,
            how=event.how,
            reason=describe_source_merge_reason(event.how, event.keys),
            keys=keys,
            who=event.stamp.who,
            at_ns=event.stamp.at_ns,
        ),
    )


def describe_source_merge_reason(how: RegistrationReason, keys: SourceKeys) -> str:
    """Return why a key merged a registration into a source."""
    match how:
        case RegistrationReason.URL:
            return f"the same page, {keys.canonical}"
        case RegistrationReason.TEXT:
            return "the same title and snippet"
        case RegistrationReason.WORK:
            return f"the same work, {keys.work_text}"
        case _:
            return "registered again"


def combine_entry_sources(entry: CatalogEntry) -> ResearchSource:
    """Return the source of an entry alone, without merges."""
    return merge_sources(member.source for member in entry.members)


def choose_source_spelling(source: ResearchSource, keys: SourceKeys) -> str:
    """Return what identifies a registration within its source: its URL as written, or its key."""
    return source.url if source.url is not None else keys.canonical


def _claim_source_key(catalog: Catalog, key: str, number: int) -> None:
    if catalog.number_at(key) is None:
        catalog.point(key, number)


def _add_source_number(numbers: tuple[int, ...], number: int) -> tuple[int, ...]:
    return numbers if number in numbers else (*numbers, number)


class SourceHint(NamedTuple):
    """A feature that possibly identical sources share, and why it makes them similar."""

    text: str
    why: str


def compute_source_hints(source: ResearchSource) -> Iterator[SourceHint]:
    """Yield the features that possibly identical sources share."""
    loose = None if source.url is None else compute_loose_source_key(source.url)
    if loose is not None:
        yield SourceHint(f"loose:{loose}", "similar URLs")
    title = normalize_source_text(source.title)
    if len(title.split()) >= TITLE_WORDS_MIN:
        yield SourceHint(f"title:{title}", "same title")


def compute_source_excerpt_hints(text: str) -> list[str]:
    """Return the features that near copies of a passage share."""
    key = compute_source_excerpt_key(text)
    return [f"content:{key.digest}", *(f"near:{value:08x}" for value in key.sketch.values[:NEAR_VALUES])]
