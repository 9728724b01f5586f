"""The registry of this store's sources: add, list, show, merge, and take a merge back."""

from collections.abc import Mapping
from typing import Any

from custody.cite.app.registry_stores import registry_name
from custody.cite.app.source_registry import SourceRegistry, registry_of
from custody.cite.model import SourceIdentity, UnknownSource, id_of
from custody.cite.opened_check import best_reading
from custody.cite.registry import (
    SAID_SO,
    aliases_of,
    entry_of,
    excerpts_of,
    group,
    identity_of,
    merges_of,
    readings_of,
    root,
    source_of,
    suggestions_for,
    usage_of,
)
from custody.cite.results import source_fields, source_from
from custody.cite.shelf import Merge, Shelf, ShelfEntry
from custody.cite.wire import (
    CiteAddReport,
    CiteAddress,
    CiteExcerpt,
    CiteListReport,
    CiteMerge,
    CiteMergeReport,
    CiteShowReport,
    CiteSource,
    CiteSpan,
    CiteSuggestion,
    CiteUsage,
    ReadingReport,
)
from custody.core.wire.time import text_from
from custody.workspace.workspace import Workspace


def cite_add(workspace: Workspace, fields: Mapping[str, Any], who: str | None = None) -> CiteAddReport:
    """Register the source with these fields (see ``source_from``); ``who`` does so, without it this machine's user."""
    registry = registry_of(workspace, who)
    identity, is_new = registry.registered(
        source_from({name: value for name, value in fields.items() if value is not None})
    )
    return registry.keeper.look(
        lambda shelf: CiteAddReport(
            registry=registry_name(shelf),
            new=is_new,
            source=_shown(shelf, entry_of(shelf, identity.source_id)),
            suggestions=_suggestions(shelf, identity.source_id),
        )
    )


def cite_list(workspace: Workspace) -> CiteListReport:
    """Every source, by number."""

    def look(shelf: Shelf) -> CiteListReport:
        shown: list[CiteSource] = []
        lost: list[str] = []
        workspace.progress.start("reading sources", shelf.last())
        for entry in shelf.entries():
            workspace.progress.step(1)
            if entry.into is None and source_of(shelf, entry) is None:
                lost.append(id_of(entry.number))
            elif entry.into is None:
                shown.append(_shown(shelf, entry))
        return CiteListReport(registry=registry_name(shelf), sources=shown, lost=lost)

    return registry_of(workspace).keeper.look(look)


def cite_page(workspace: Workspace, after: int, limit: int) -> tuple[list[CiteSource], int | None]:
    """The next sources behind a number, and the last one's number where there are more; lost ones are passed over."""

    def look(shelf: Shelf) -> tuple[list[CiteSource], int | None]:
        shown: list[CiteSource] = []
        last = after
        for number in range(after + 1, shelf.last() + 1):
            entry = shelf.entry(number)
            if entry is None or entry.into is not None or source_of(shelf, entry) is None:
                continue
            if len(shown) == limit:
                return shown, last
            shown.append(_shown(shelf, entry))
            last = number
        return shown, None

    return registry_of(workspace).keeper.look(look)


def cite_show(workspace: Workspace, source_id: str) -> CiteShowReport:
    """Everything about one source, by any of its ids."""

    def look(shelf: Shelf) -> CiteShowReport:
        entry = root(shelf, entry_of(shelf, source_id))
        usage = usage_of(shelf, source_id)
        return CiteShowReport(
            registry=registry_name(shelf),
            source=_shown(shelf, entry),
            addresses=[
                CiteAddress(id=id_of(shelf_entry.number), spelling=member.spelling, title=member.source.title)
                for shelf_entry in group(shelf, entry)
                for member in shelf_entry.members
            ],
            merges=[_merge(merge) for merge in merges_of(shelf, source_id)],
            usage=CiteUsage(
                finding_ids=list(usage.finding_ids),
                cluster_ids=list(usage.cluster_ids),
                contradiction_ids=list(usage.contradiction_ids),
                report_sections=list(usage.report_sections),
            ),
            readings=[
                ReadingReport(
                    reading=reading.reading.value,
                    session=reading.session,
                    call=reading.call,
                    who=reading.stamp.who,
                    at=text_from(reading.stamp.at_ns),
                )
                for reading in readings_of(shelf, source_id)
            ],
            excerpts=[
                CiteExcerpt(
                    digest=excerpt.digest,
                    span=None if excerpt.span is None else CiteSpan(*excerpt.span),
                    text=excerpt.text,
                )
                for excerpt in excerpts_of(shelf, source_id)
            ],
            suggestions=_suggestions(shelf, source_id),
        )

    return registry_of(workspace).keeper.look(look)


def cite_merge(workspace: Workspace, kept: str, absorbed: str, *, reason: str | None = None) -> CiteMergeReport:
    """Say that two ids are one source."""
    registry = registry_of(workspace)
    return _now(registry, registry.merge(kept, absorbed, SAID_SO if reason is None else reason))


def cite_unmerge(workspace: Workspace, source_id: str, *, url: str | None, reason: str) -> CiteMergeReport:
    """Take a merge back: of an id, or of one address of a source."""
    registry = registry_of(workspace)
    if url is not None:
        parted = registry.part(source_id, url, reason)
        return _now(registry, parted, source_id)
    before = registry.keeper.look(lambda shelf: id_of(entry_of(shelf, source_id).into or 1))
    return _now(registry, registry.unmerge(source_id, reason), before)


def _now(registry: SourceRegistry, identity: SourceIdentity, *others: str) -> CiteMergeReport:
    def look(shelf: Shelf) -> CiteMergeReport:
        entries = {root(shelf, entry_of(shelf, source_id)).number for source_id in (identity.source_id, *others)}
        shown = [_shown(shelf, entry_of(shelf, id_of(number))) for number in sorted(entries)]
        return CiteMergeReport(registry=registry_name(shelf), sources=shown)

    return registry.keeper.look(look)


def _shown(shelf: Shelf, entry: ShelfEntry) -> CiteSource:
    source = source_of(shelf, entry)
    identity = identity_of(shelf, entry)
    if source is None:
        raise UnknownSource(identity.source_id)
    return CiteSource(
        id=identity.source_id,
        canonical_key=identity.canonical_key,
        source_version=identity.version,
        **source_fields(source),
        aliases=aliases_of(shelf, identity.source_id),
        reading=best_reading(event.reading for event in readings_of(shelf, identity.source_id)).value,
    )


def _merge(merge: Merge) -> CiteMerge:
    return CiteMerge(
        kept=id_of(merge.kept),
        absorbed=None if merge.absorbed is None else id_of(merge.absorbed),
        address=merge.spelling,
        how=merge.how.value,
        reason=merge.reason,
        keys=list(merge.keys),
        who=merge.who,
        at=text_from(merge.at_ns),
    )


def _suggestions(shelf: Shelf, source_id: str) -> list[CiteSuggestion]:
    return [
        CiteSuggestion(id=suggestion.source_id, why=suggestion.why) for suggestion in suggestions_for(shelf, source_id)
    ]
