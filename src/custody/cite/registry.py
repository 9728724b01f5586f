"""The registry: numbers, merges and their reasons, and how a merge is undone.

The functions here read a catalog and return events; nothing changes until ``event_fold`` applies them. Only this file
decides which key merges: the URL key (or title and snippet, without page and work) silently, the key of a work with a
visible reason, nothing else.
"""

from collections.abc import Iterator
from hashlib import sha256

from msgspec import Struct
from msgspec.structs import replace

from custody.cite.catalog import (
    AddressSplit,
    Catalog,
    CatalogEntry,
    ExcerptEvent,
    LinkCheckEvent,
    Merge,
    MergeReversal,
    RegistrationReason,
    RegistryChange,
    SourceMergeEvent,
    SourceReading,
    SourceRegistration,
    SourceUseEvent,
    Stamp,
)
from custody.cite.event_fold import (
    add_source_registration,
    choose_source_spelling,
    combine_entry_sources,
    compute_source_excerpt_hints,
    compute_source_hints,
    describe_source_merge_reason,
)
from custody.cite.keys import (
    SourceKeys,
    clean_source,
    compute_source_excerpt_key,
    compute_source_keys,
    measure_excerpt_nearness,
    merge_sources,
)
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
    source_id_from_number,
    source_number_from_id,
)
from custody.core.errors import InputError
from custody.core.views import Reading

ARTIFACT_CHARS_MAX = 1000

# Plan changes.


def plan_source_registration(
    catalog: Catalog, source: ResearchSource, stamp: Stamp, keys: SourceKeys | None = None
) -> tuple[int, tuple[RegistryChange, ...]]:
    """Return the number of a source, new or known, and the events to register it; none if nothing is new.

    ``keys`` are passed if a secret was redacted from the URL, so that its own keys would not be unique.
    """
    source = clean_source(source)
    keys = compute_source_keys(source) if keys is None else keys
    spelling = choose_source_spelling(source, keys)
    number, how = _find_known_source(catalog, keys, spelling)
    if number is None:
        number = catalog.last() + 1
        return number, (SourceRegistration(stamp=stamp, number=number, how=how, keys=keys, source=source),)
    entry = find_source_entry_by_number(catalog, number)
    event = SourceRegistration(stamp=stamp, number=number, how=how, keys=keys, source=source)
    changes = add_source_registration(entry, event) != entry
    return number, (*([event] if changes else []), *_plan_same_work_merge(catalog, entry, keys, stamp))


DEFAULT_REASON = "merged by hand"
"""The reason of a merge without a stated reason."""


def plan_source_merge(
    catalog: Catalog, kept: str, absorbed: str, reason: str, stamp: Stamp
) -> tuple[RegistryChange, ...]:
    """Return the events that merge two sources; ``kept`` is shown from then on."""
    kept_root, absorbed_root = find_shown_source(catalog, kept), find_shown_source(catalog, absorbed)
    if kept_root.number == absorbed_root.number:
        raise InputError(f"'{kept}' and '{absorbed}' are already merged as {source_id_from_number(kept_root.number)}")
    if not reason.strip():
        raise InputError("a merge needs a reason", hint="state why both are the same source")
    return (
        SourceMergeEvent(
            stamp=stamp,
            number=kept_root.number,
            absorbed=absorbed_root.number,
            how=RegistrationReason.PERSON,
            reason=reason.strip(),
        ),
    )


def plan_source_unmerge(catalog: Catalog, source_id: str, reason: str, stamp: Stamp) -> tuple[RegistryChange, ...]:
    """Return the events that undo a merge: the number is separate again, with everything that is its own."""
    entry = find_source_entry(catalog, source_id)
    if entry.into is None:
        hint = (
            "pass the absorbed id"
            if entry.absorbed
            else "to split off a URL, pass --url; 'custody cite show' lists its URLs"
        )
        raise InputError(f"'{source_id}' was not merged into another source", hint=hint)
    return (MergeReversal(stamp=stamp, number=entry.into, absorbed=entry.number, reason=reason),)


def plan_source_split(
    catalog: Catalog, source_id: str, spelling: str, reason: str, stamp: Stamp
) -> tuple[RegistryChange, ...]:
    """Return the events that make a URL, merged by a key, a source of its own."""
    entry = find_source_entry(catalog, source_id)
    member = entry.member(spelling)
    if member is None:
        raise InputError(
            f"'{spelling[:80]}' is not a URL of '{source_id}'", hint="list its URLs with 'custody cite show'"
        )
    if len(entry.members) == 1:
        raise InputError(f"'{spelling[:80]}' is the only URL of '{source_id}'", hint="there is nothing to split")
    return (AddressSplit(stamp=stamp, number=catalog.last() + 1, of=entry.number, spelling=spelling, reason=reason),)


def plan_source_excerpt(
    catalog: Catalog, source_id: str, text: str, span: tuple[int, int] | None, stamp: Stamp
) -> tuple[RegistryChange, ...]:
    """Return the events that store a passage; none if it is stored."""
    entry = find_source_entry(catalog, source_id)
    if not text.strip():
        raise SourceError("excerpt", "is empty")
    if span is not None and not 0 <= span[0] <= span[1]:
        raise SourceError(
            "excerpt", f"is {span[0]} to {span[1]}", hint="a span starts at 0 or later and ends after its start"
        )
    digest = sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
    if any((excerpt.digest, excerpt.span) == (digest, span) for excerpt in catalog.excerpts(entry.number)):
        return ()
    return (ExcerptEvent(stamp=stamp, number=entry.number, digest=digest, text=text, span=span),)


def plan_source_reading(
    catalog: Catalog, source_id: str, reading: Reading, session: str | None, stamp: Stamp, call: str | None = None
) -> tuple[RegistryChange, ...]:
    """Return the events that store a reading; none for the same reading by the same session or call."""
    entry = find_source_entry(catalog, source_id)
    stored = {
        (source_reading.reading, source_reading.session, source_reading.call, source_reading.stamp.who)
        for source_reading in catalog.readings(entry.number)
    }
    if (reading, session, call, stamp.who) in stored:
        return ()
    return (SourceReading(stamp=stamp, number=entry.number, reading=reading, session=session, call=call),)


def plan_source_use(
    catalog: Catalog, source_id: str, kind: ArtifactType, artifact: str, stamp: Stamp
) -> tuple[RegistryChange, ...]:
    """Return the events that store a use; none if it is known."""
    entry = find_source_entry(catalog, source_id)
    if kind not in USAGE_FIELDS:
        raise SourceError("usage", f"is by '{kind}', not one of {', '.join(USAGE_FIELDS)}")
    if not artifact.strip() or len(artifact) > ARTIFACT_CHARS_MAX or not artifact.isprintable():
        raise SourceError("usage", f"is by '{artifact[:40]}'", hint="pass the id of the artifact that uses the source")
    if (kind, artifact) in catalog.uses(entry.number):
        return ()
    return (SourceUseEvent(stamp=stamp, number=entry.number, kind=kind, artifact=artifact),)


def plan_link_check(catalog: Catalog, source_id: str, check: LinkCheck, stamp: Stamp) -> tuple[RegistryChange, ...]:
    """Return the events that store a link check; every check counts."""
    return (LinkCheckEvent(stamp=stamp, number=find_source_entry(catalog, source_id).number, look=check),)


# Find entries.


def find_source_entry(catalog: Catalog, source_id: str) -> CatalogEntry:
    """Return the entry of an id, or raise ``UnknownSource``."""
    return find_source_entry_by_number(catalog, source_number_from_id(source_id))


def resolve_merged_source(catalog: Catalog, entry: CatalogEntry) -> CatalogEntry:
    """Return the entry that an entry is shown as."""
    while entry.into is not None:
        entry = find_source_entry_by_number(catalog, entry.into)
    return entry


def find_shown_source(catalog: Catalog, source_id: str) -> CatalogEntry:
    """Return the entry that an id is shown as, or raise ``UnknownSource``."""
    return resolve_merged_source(catalog, find_source_entry(catalog, source_id))


def iterate_merged_sources(catalog: Catalog, entry: CatalogEntry) -> Iterator[CatalogEntry]:
    """Yield an entry and all entries merged into it, itself first, then by number."""
    yield entry
    for number in sorted(entry.absorbed):
        yield from iterate_merged_sources(catalog, find_source_entry_by_number(catalog, number))


def _find_known_source(catalog: Catalog, keys: SourceKeys, spelling: str) -> tuple[int | None, RegistrationReason]:
    number = catalog.number_at(keys.canonical)
    if number is not None:
        entry = find_source_entry_by_number(catalog, number)
        split = dict(entry.parted)
        if spelling in split:
            number, entry = split[spelling], find_source_entry_by_number(catalog, split[spelling])
        own = any(member.keys.url == keys.url for member in entry.members) if keys.url is not None else True
        return number, (
            RegistrationReason.URL if keys.url is not None else RegistrationReason.TEXT
        ) if own else RegistrationReason.WORK
    number = None if keys.work_text is None else catalog.number_at(keys.work_text)
    return number, RegistrationReason.NEW if number is None else RegistrationReason.WORK


def _plan_same_work_merge(
    catalog: Catalog, entry: CatalogEntry, keys: SourceKeys, stamp: Stamp
) -> tuple[RegistryChange, ...]:
    """Return a merge with the entry of the same work, unless a person declared the two different."""
    other_number = None if keys.work_text is None else catalog.number_at(keys.work_text)
    other = None if other_number is None else catalog.entry(other_number)
    if other is None:
        return ()
    entry_root, other_root = resolve_merged_source(catalog, entry), resolve_merged_source(catalog, other)
    if entry_root.number == other_root.number or _is_source_pair_split(catalog, entry_root, other_root):
        return ()
    kept, absorbed = sorted((entry_root, other_root), key=lambda root_entry: root_entry.number)
    merged = SourceMergeEvent(
        stamp=replace(stamp, id=f"{stamp.id}-merge"),
        number=kept.number,
        absorbed=absorbed.number,
        how=RegistrationReason.WORK,
        reason=describe_source_merge_reason(RegistrationReason.WORK, keys),
        keys=(str(keys.work_text),),
    )
    return (merged,)


def _is_source_pair_split(catalog: Catalog, entry: CatalogEntry, other: CatalogEntry) -> bool:
    others = {part.number for part in iterate_merged_sources(catalog, other)}
    return any(others.intersection(part.apart) for part in iterate_merged_sources(catalog, entry))


def find_source_entry_by_number(catalog: Catalog, number: int) -> CatalogEntry:
    """Return the entry of a number, or raise ``UnknownSource``."""
    entry = catalog.entry(number)
    if entry is None:
        raise UnknownSource(source_id_from_number(number))
    return entry


# Show sources: combined over merges, with the reasons, and with suggestions.


NEAR_MIN = 0.5
"""Minimum similarity of passages for a suggestion."""


class MergeSuggestion(Struct, frozen=True):
    """A source that is possibly the same, and why; only a person merges it."""

    source_id: SourceID
    why: str


def identify_source(catalog: Catalog, entry: CatalogEntry) -> SourceIdentity:
    """Return the identity that an entry is shown as."""
    shown = resolve_merged_source(catalog, entry)
    changes = sum(part.version - 1 for part in iterate_merged_sources(catalog, shown))
    key = shown.members[0].keys.canonical if shown.members else ""
    return SourceIdentity(source_id_from_number(shown.number), key, 1 + changes)


def combine_merged_source(catalog: Catalog, entry: CatalogEntry) -> ResearchSource | None:
    """Return a source combined with all that it was merged with; None if everything was erased or lost."""
    shown = resolve_merged_source(catalog, entry)
    parts = [combine_entry_sources(part) for part in iterate_merged_sources(catalog, shown) if part.members]
    if not parts:
        return None
    identity = identify_source(catalog, shown)
    return replace(merge_sources(parts), source_id=identity.source_id, canonical_key=identity.canonical_key)


def iterate_sources(catalog: Catalog) -> Iterator[tuple[SourceIdentity, ResearchSource]]:
    """Yield all sources once, by number; merged sources are combined."""
    for entry in catalog.entries():
        source = None if entry.into is not None else combine_merged_source(catalog, entry)
        if source is not None:
            yield identify_source(catalog, entry), source


def collect_source_usage(catalog: Catalog, source_id: SourceID) -> SourceUsage:
    """Return the uses of a source, under any of its ids."""
    shown = find_shown_source(catalog, source_id)
    usage = SourceUsage(source_id_from_number(shown.number))
    for entry in iterate_merged_sources(catalog, shown):
        for kind, artifact in catalog.uses(entry.number):
            usage = usage.used_by(kind, artifact)
    return usage


def collect_source_readings(catalog: Catalog, source_id: SourceID) -> list[SourceReading]:
    """Return the readings of a source, under any of its ids."""
    shown = find_shown_source(catalog, source_id)
    return [reading for entry in iterate_merged_sources(catalog, shown) for reading in catalog.readings(entry.number)]


def collect_source_excerpts(catalog: Catalog, source_id: SourceID) -> list[ExcerptEvent]:
    """Return the passages of a source, under any of its ids."""
    shown = find_shown_source(catalog, source_id)
    return [excerpt for entry in iterate_merged_sources(catalog, shown) for excerpt in catalog.excerpts(entry.number)]


def find_source_link_memory(catalog: Catalog, source_id: SourceID) -> LinkMemory | None:
    """Return the link checks of the URL that a source is shown with; None if that URL was never checked."""
    shown = find_shown_source(catalog, source_id)
    source, memory = combine_merged_source(catalog, shown), catalog.check(shown.number)
    return memory if source is not None and memory is not None and memory.url == source.url else None


def list_source_aliases(catalog: Catalog, source_id: SourceID) -> list[SourceID]:
    """Return the other ids of a source."""
    shown = find_shown_source(catalog, source_id)
    return [
        source_id_from_number(entry.number)
        for entry in iterate_merged_sources(catalog, shown)
        if entry.number != shown.number
    ]


def list_source_merges(catalog: Catalog, source_id: SourceID) -> list[Merge]:
    """Return all URLs and numbers that became part of a source, with the reasons."""
    shown = find_shown_source(catalog, source_id)
    return [merge for entry in iterate_merged_sources(catalog, shown) for merge in entry.merges]


def suggest_source_merges(catalog: Catalog, source_id: SourceID) -> list[MergeSuggestion]:
    """Return possibly identical sources, by number: similar URLs, the same title, nearly the same passage."""
    shown = find_shown_source(catalog, source_id)
    reasons: dict[int, str] = {}
    for part in iterate_merged_sources(catalog, shown):
        for member in part.members:
            for hint in compute_source_hints(member.source):
                for number in catalog.list_hinted_numbers(hint.text):
                    reasons.setdefault(number, hint.why)
        for number, why in _find_near_source_excerpts(catalog, part.number):
            reasons.setdefault(number, why)
    roots = {
        number: resolve_merged_source(catalog, entry).number
        for number in sorted(reasons)
        if (entry := catalog.entry(number))
    }
    apart = {number for entry in iterate_merged_sources(catalog, shown) for number in entry.apart}
    suggested = {roots[number]: reasons[number] for number in reversed(roots) if roots[number] != shown.number}
    return [
        MergeSuggestion(source_id_from_number(number), suggested[number])
        for number in sorted(suggested)
        if number not in apart
    ]


def _find_near_source_excerpts(catalog: Catalog, number: int) -> Iterator[tuple[int, str]]:
    """Yield the other sources with nearly the same passage."""
    for excerpt in catalog.excerpts(number):
        if excerpt.text is None:
            continue
        key = compute_source_excerpt_key(excerpt.text)
        near = {
            other for hint in compute_source_excerpt_hints(excerpt.text) for other in catalog.list_hinted_numbers(hint)
        } - {number}
        for other in sorted(near):
            theirs = [event.text for event in catalog.excerpts(other) if event.text is not None]
            best = max(
                (measure_excerpt_nearness(key, compute_source_excerpt_key(text)) for text in theirs), default=0.0
            )
            if best >= NEAR_MIN:
                yield other, f"a passage matches by {best:.0%}"
