"""The registry: who gets which number, what merges and why, and how a merge is taken back.

Deciding and keeping are apart: the functions below look at a shelf and say which events there shall be, and nothing
changes until those are applied. This file is the only one that decides which key merges: ``url_key`` (and title and
snippet, where there is neither page nor work) by itself, ``work_key`` with a reason that is shown, anything else never.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from hashlib import sha256

from custody.cite.event_fold import content_hints, hints_of, own_source, spelling_of, with_registration
from custody.cite.keys import SourceKeys, clean_source, content_key, keys_of, nearness, together
from custody.cite.links import LinkCheck, LinkMemory
from custody.cite.model import (
    USAGE_FIELDS,
    ArtifactType,
    ResearchSource,
    SourceError,
    SourceID,
    SourceIdentity,
    SourceUsage,
    UnknownSource,
    id_of,
    number_of,
)
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
    SourceMergeEvent,
    SourceReading,
    SourceRegistration,
    SourceUseEvent,
    Stamp,
)
from custody.core.errors import InputError
from custody.core.views import Reading

ARTIFACT_CHARS_MAX = 1000

# --- decide -----------------------------------------------------------------------------------------------------------


def to_register(
    shelf: Shelf, source: ResearchSource, stamp: Stamp, keys: SourceKeys | None = None
) -> tuple[int, tuple[RegistryChange, ...]]:
    """The number that a source has or gets, and what happens; nothing, when nothing new was said.

    ``keys`` are given where the source's own would not tell it apart, because a secret was taken out of its address.
    """
    said = clean_source(source)
    keys = keys_of(said) if keys is None else keys
    spelling = spelling_of(said, keys)
    number, how = _known_as(shelf, keys, spelling)
    if number is None:
        number = shelf.last() + 1
        return number, (SourceRegistration(stamp=stamp, number=number, how=how, keys=keys, source=said),)
    entry = entry_at(shelf, number)
    event = SourceRegistration(stamp=stamp, number=number, how=how, keys=keys, source=said)
    changes = with_registration(entry, event) != entry
    return number, (*([event] if changes else []), *_same_work(shelf, entry, keys, stamp))


SAID_SO = "somebody said so"
"""The reason of a merge for which none was given."""


def to_merge(shelf: Shelf, kept: str, absorbed: str, reason: str, stamp: Stamp) -> tuple[RegistryChange, ...]:
    """What happens when somebody says that two numbers are one source; ``kept`` is shown from then on."""
    kept_root, absorbed_root = root(shelf, entry_of(shelf, kept)), root(shelf, entry_of(shelf, absorbed))
    if kept_root.number == absorbed_root.number:
        raise InputError(f"'{kept}' and '{absorbed}' are one source already, {id_of(kept_root.number)}")
    if not reason.strip():
        raise InputError("a merge needs a reason", hint="say why the two are one source")
    return (
        SourceMergeEvent(
            stamp=stamp,
            number=kept_root.number,
            absorbed=absorbed_root.number,
            how=RegistrationReason.PERSON,
            reason=reason.strip(),
        ),
    )


def to_unmerge(shelf: Shelf, source_id: str, reason: str, stamp: Stamp) -> tuple[RegistryChange, ...]:
    """What happens when a merge is taken back: the number stands alone again, with everything that is its own."""
    entry = entry_of(shelf, source_id)
    if entry.into is None:
        hint = (
            "name the absorbed id" if entry.absorbed else "'custody cite show' lists its addresses: give one by --url"
        )
        raise InputError(f"'{source_id}' was not merged into another source", hint=hint)
    return (MergeReversal(stamp=stamp, number=entry.into, absorbed=entry.number, reason=reason),)


def to_part(shelf: Shelf, source_id: str, spelling: str, reason: str, stamp: Stamp) -> tuple[RegistryChange, ...]:
    """What happens when an address that a key had merged shall be a source of its own."""
    entry = entry_of(shelf, source_id)
    member = entry.member(spelling)
    if member is None:
        raise InputError(
            f"'{spelling[:80]}' is no address of '{source_id}'", hint="'custody cite show' lists its addresses"
        )
    if len(entry.members) == 1:
        raise InputError(f"'{spelling[:80]}' is the only address of '{source_id}'", hint="there is nothing to part")
    return (AddressSplit(stamp=stamp, number=shelf.last() + 1, of=entry.number, spelling=spelling, reason=reason),)


def to_excerpt(
    shelf: Shelf, source_id: str, text: str, span: tuple[int, int] | None, stamp: Stamp
) -> tuple[RegistryChange, ...]:
    """What happens when a passage that was read is kept."""
    entry = entry_of(shelf, source_id)
    if not text.strip():
        raise SourceError("excerpt", "is empty")
    if span is not None and not 0 <= span[0] <= span[1]:
        raise SourceError("excerpt", f"goes from {span[0]} to {span[1]}", hint="a span begins at 0 or later and rises")
    digest = sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
    if any((excerpt.digest, excerpt.span) == (digest, span) for excerpt in shelf.excerpts(entry.number)):
        return ()
    return (ExcerptEvent(stamp=stamp, number=entry.number, digest=digest, text=text, span=span),)


def to_read(
    shelf: Shelf, source_id: str, reading: Reading, session: str | None, stamp: Stamp, call: str | None = None
) -> tuple[RegistryChange, ...]:
    """What happens when somebody read a source; the same reading in the same session, or call of it, is told once."""
    entry = entry_of(shelf, source_id)
    told = {
        (source_reading.reading, source_reading.session, source_reading.call, source_reading.stamp.who)
        for source_reading in shelf.readings(entry.number)
    }
    if (reading, session, call, stamp.who) in told:
        return ()
    return (SourceReading(stamp=stamp, number=entry.number, reading=reading, session=session, call=call),)


def to_use(shelf: Shelf, source_id: str, kind: ArtifactType, artifact: str, stamp: Stamp) -> tuple[RegistryChange, ...]:
    """What happens when something rests on a source; a known use is told once."""
    entry = entry_of(shelf, source_id)
    if kind not in USAGE_FIELDS:
        raise SourceError("usage", f"is by '{kind}', not one of {', '.join(USAGE_FIELDS)}")
    if not artifact.strip() or len(artifact) > ARTIFACT_CHARS_MAX or not artifact.isprintable():
        raise SourceError("usage", f"is by '{artifact[:40]}'", hint="give the id of what rests on the source")
    if (kind, artifact) in shelf.uses(entry.number):
        return ()
    return (SourceUseEvent(stamp=stamp, number=entry.number, kind=kind, artifact=artifact),)


def to_check(shelf: Shelf, source_id: str, look: LinkCheck, stamp: Stamp) -> tuple[RegistryChange, ...]:
    """What happens when somebody looked whether a source's address answers: every look counts."""
    return (LinkCheckEvent(stamp=stamp, number=entry_of(shelf, source_id).number, look=look),)


# --- look -------------------------------------------------------------------------------------------------------------


def entry_of(shelf: Shelf, source_id: str) -> ShelfEntry:
    """What stands under an id, or an ``UnknownSource``."""
    return entry_at(shelf, number_of(source_id))


def root(shelf: Shelf, entry: ShelfEntry) -> ShelfEntry:
    """The source that an entry is shown as."""
    while entry.into is not None:
        entry = entry_at(shelf, entry.into)
    return entry


def group(shelf: Shelf, entry: ShelfEntry) -> Iterator[ShelfEntry]:
    """An entry and all that it absorbed, itself first, then in the order of their numbers."""
    yield entry
    for number in sorted(entry.absorbed):
        yield from group(shelf, entry_at(shelf, number))


def _known_as(shelf: Shelf, keys: SourceKeys, spelling: str) -> tuple[int | None, RegistrationReason]:
    number = shelf.number_at(keys.canonical)
    if number is not None:
        entry = entry_at(shelf, number)
        parted = dict(entry.parted)
        if spelling in parted:
            number, entry = parted[spelling], entry_at(shelf, parted[spelling])
        own = any(member.keys.url == keys.url for member in entry.members) if keys.url is not None else True
        return number, (
            RegistrationReason.URL if keys.url is not None else RegistrationReason.TEXT
        ) if own else RegistrationReason.WORK
    number = None if keys.work_text is None else shelf.number_at(keys.work_text)
    return number, RegistrationReason.NEW if number is None else RegistrationReason.WORK


def _same_work(shelf: Shelf, entry: ShelfEntry, keys: SourceKeys, stamp: Stamp) -> tuple[RegistryChange, ...]:
    """That an entry is the same work as another one, if it is, and nobody has said that the two are not the same."""
    other_number = None if keys.work_text is None else shelf.number_at(keys.work_text)
    other = None if other_number is None else shelf.entry(other_number)
    if other is None:
        return ()
    entry_root, other_root = root(shelf, entry), root(shelf, other)
    if entry_root.number == other_root.number or _is_split(shelf, entry_root, other_root):
        return ()
    kept, absorbed = sorted((entry_root, other_root), key=lambda root_entry: root_entry.number)
    reason = f"the same work, {keys.work_text}"
    merged = SourceMergeEvent(
        stamp=replace(stamp, id=f"{stamp.id}-merge"),
        number=kept.number,
        absorbed=absorbed.number,
        how=RegistrationReason.WORK,
        reason=reason,
        keys=(str(keys.work_text),),
    )
    return (merged,)


def _is_split(shelf: Shelf, entry: ShelfEntry, two: ShelfEntry) -> bool:
    others = {shelf_entry.number for shelf_entry in group(shelf, two)}
    return any(others.intersection(shelf_entry.apart) for shelf_entry in group(shelf, entry))


def entry_at(shelf: Shelf, number: int) -> ShelfEntry:
    """What stands under a number, or an ``UnknownSource``."""
    found = shelf.entry(number)
    if found is None:
        raise UnknownSource(id_of(number))
    return found


# What a registry shows: sources as one whatever they were merged from, why they are one, and which might be.


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
