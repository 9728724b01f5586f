"""How a registry changes: ``apply`` lets one event happen, the same way whether it is new or replayed."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from custody.cite.keys import SourceKeys, content_key, normalize_text, richer, shown_alike, together
from custody.cite.links import update_link_memory
from custody.cite.model import ResearchSource, id_of
from custody.cite.shelf import (
    AddressSplit,
    ExcerptEvent,
    LinkCheckEvent,
    Merge,
    MergeReversal,
    RegistrationReason,
    RegistryChange,
    Shelf,
    ShelfEntry,
    ShelfMember,
    SourceLost,
    SourceMergeEvent,
    SourceReading,
    SourceRegistration,
    SourceUseEvent,
)
from custody.cite.urls import loose_key

MEMBERS_MAX = 32
"""Of one source so many addresses are told apart; what comes under more is kept with the first."""
GAP_NUMBERS_MAX = 10_000
"""What was lost may leave a gap; a wider one is no loss but a wrong number."""
TITLE_WORDS_MIN = 3
"""A shorter title is shared by too many pages to hint at anything."""
NEAR_VALUES = 4
"""So many of the smallest fingerprints of a passage are hints."""


def apply(shelf: Shelf, event: RegistryChange) -> bool:
    """Let one event happen; False when it does not fit what happened before, and nothing was changed."""
    return _APPLY[type(event)](shelf, event)


def _register(shelf: Shelf, event: SourceRegistration) -> bool:
    entry = shelf.entry(event.number)
    if event.how is RegistrationReason.NEW:
        if not _mark_lost(shelf, event.number - 1):
            return False
        entry = ShelfEntry(number=event.number)
    elif entry is None:
        return False
    shelf.put(with_registration(entry, event))
    _point_if_free(shelf, event.keys.canonical, event.number)
    if event.keys.work_text is not None:
        _point_if_free(shelf, event.keys.work_text, event.number)
    for hint in hints_of(event.source):
        shelf.hint(hint, event.number)
    return True


def _merge(shelf: Shelf, event: SourceMergeEvent) -> bool:
    kept, absorbed = shelf.entry(event.number), shelf.entry(event.absorbed)
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
    shelf.put(replace(absorbed, into=kept.number))
    shelf.put(replace(kept, absorbed=(*kept.absorbed, absorbed.number), merges=(*kept.merges, merge)))
    return True


def _unmerge(shelf: Shelf, event: MergeReversal) -> bool:
    kept, absorbed = shelf.entry(event.number), shelf.entry(event.absorbed)
    if kept is None or absorbed is None or absorbed.into != kept.number:
        return False
    shelf.put(replace(absorbed, into=None, apart=_with(absorbed.apart, kept.number)))
    shelf.put(
        replace(
            kept,
            absorbed=tuple(number for number in kept.absorbed if number != absorbed.number),
            merges=tuple(merge for merge in kept.merges if merge.absorbed != absorbed.number),
            apart=_with(kept.apart, absorbed.number),
        )
    )
    return True


def _part(shelf: Shelf, event: AddressSplit) -> bool:
    entry = shelf.entry(event.of)
    member = None if entry is None else entry.member(event.spelling)
    if entry is None or member is None or len(entry.members) == 1:
        return False
    if not _mark_lost(shelf, event.number - 1):
        return False
    own = f"{member.keys.canonical}#{id_of(event.number)}"
    others = tuple(other for other in entry.members if other.spelling != event.spelling)
    is_shared = any(other.keys.canonical == member.keys.canonical for other in others)
    keys = replace(member.keys, canonical=own if is_shared else member.keys.canonical)
    shelf.put(
        replace(
            entry,
            members=others,
            merges=tuple(merge for merge in entry.merges if merge.spelling != event.spelling),
            parted=(*entry.parted, (event.spelling, event.number)),
            apart=_with(entry.apart, event.number),
        )
    )
    shelf.put(
        ShelfEntry(
            number=event.number,
            members=(replace(member, keys=keys, how=RegistrationReason.PERSON),),
            apart=(entry.number,),
        )
    )
    shelf.point(keys.canonical, event.number)
    return True


def _excerpt(shelf: Shelf, event: ExcerptEvent) -> bool:
    if shelf.entry(event.number) is None:
        return False
    shelf.add_excerpt(event)
    if event.text is not None:
        for hint in content_hints(event.text):
            shelf.hint(hint, event.number)
    return True


def _read(shelf: Shelf, event: SourceReading) -> bool:
    if shelf.entry(event.number) is None:
        return False
    shelf.add_reading(event)
    return True


def _use(shelf: Shelf, event: SourceUseEvent) -> bool:
    if shelf.entry(event.number) is None:
        return False
    shelf.add_use(event.number, event.kind, event.artifact)
    return True


def _check(shelf: Shelf, event: LinkCheckEvent) -> bool:
    if shelf.entry(event.number) is None:
        return False
    shelf.put_check(event.number, update_link_memory(shelf.check(event.number), event.look, event.stamp.at_ns))
    return True


def _lose(shelf: Shelf, event: SourceLost) -> bool:
    return event.number <= shelf.last() or _mark_lost(shelf, event.number)


_APPLY: MappingProxyType[type[RegistryChange], Callable[[Shelf, Any], bool]] = MappingProxyType(
    {
        SourceRegistration: _register,
        SourceMergeEvent: _merge,
        MergeReversal: _unmerge,
        AddressSplit: _part,
        ExcerptEvent: _excerpt,
        SourceReading: _read,
        SourceUseEvent: _use,
        LinkCheckEvent: _check,
        SourceLost: _lose,
    }
)


def _mark_lost(shelf: Shelf, number: int) -> bool:
    """Let the numbers up to this one stand as lost, never to be given again; False if they were given, or cannot be."""
    last = shelf.last()
    if not last <= number <= last + GAP_NUMBERS_MAX:
        return False
    for missing in range(last + 1, number + 1):
        shelf.put(ShelfEntry(number=missing))
    return True


def with_registration(entry: ShelfEntry, event: SourceRegistration) -> ShelfEntry:
    """The entry after one more registration; the same entry when it says nothing new."""
    spelling = spelling_of(event.source, event.keys)
    here = entry.member(spelling) or _overflow(entry, event.keys)
    if here is None:
        member = ShelfMember(spelling, event.keys, event.how, event.source, event.stamp.at_ns)
        members: tuple[ShelfMember, ...] = (*entry.members, member)
        merges = (*entry.merges, *_joined(entry, event, spelling))
    else:
        changed = replace(here, source=richer(here.source, event.source))
        members = tuple(changed if old_member is here else old_member for old_member in entry.members)
        merges = entry.merges
    made = replace(entry, members=members, merges=merges)
    if entry.members and not shown_alike(own_source(entry), own_source(made)):
        made = replace(made, version=entry.version + 1)
    return made


def _overflow(entry: ShelfEntry, keys: SourceKeys) -> ShelfMember | None:
    """With too many addresses, the member that takes in one more of them."""
    if len(entry.members) < MEMBERS_MAX:
        return None
    return next((member for member in entry.members if member.keys.canonical == keys.canonical), entry.members[0])


def _joined(entry: ShelfEntry, event: SourceRegistration, spelling: str) -> tuple[Merge, ...]:
    if not entry.members:
        return ()
    reason = {
        RegistrationReason.URL: f"the same page, {event.keys.canonical}",
        RegistrationReason.TEXT: "the same title and snippet",
        RegistrationReason.WORK: f"the same work, {event.keys.work_text}",
    }.get(event.how, "registered again")
    keys = tuple(key for key in (event.keys.canonical, event.keys.work_text) if key is not None)
    return (
        Merge(
            kept=entry.number,
            absorbed=None,
            spelling=spelling,
            how=event.how,
            reason=reason,
            keys=keys,
            who=event.stamp.who,
            at_ns=event.stamp.at_ns,
        ),
    )


def own_source(entry: ShelfEntry) -> ResearchSource:
    """What is known of an entry by itself, whatever it was merged with."""
    return together(member.source for member in entry.members)


def spelling_of(source: ResearchSource, keys: SourceKeys) -> str:
    """By what a registration is told apart from others of its source: its address as written, or its key."""
    return source.url if source.url is not None else keys.canonical


def _point_if_free(shelf: Shelf, key: str, number: int) -> None:
    if shelf.number_at(key) is None:
        shelf.point(key, number)


def _with(numbers: tuple[int, ...], number: int) -> tuple[int, ...]:
    return numbers if number in numbers else (*numbers, number)


def hints_of(source: ResearchSource) -> Iterator[str]:
    """What sources that are perhaps the same have in common."""
    loose = None if source.url is None else loose_key(source.url)
    if loose is not None:
        yield f"loose:{loose}"
    title = normalize_text(source.title)
    if len(title.split()) >= TITLE_WORDS_MIN:
        yield f"title:{title}"


def content_hints(text: str) -> list[str]:
    """What near copies of a passage have in common."""
    key = content_key(text)
    return [f"content:{key.digest}", *(f"near:{value:08x}" for value in key.sketch.values[:NEAR_VALUES])]
