"""The source registry of a store: add, list, show, merge and unmerge."""

from collections.abc import Mapping
from typing import Any

from custody.cite.app.registry_stores import source_registry_name
from custody.cite.app.source_registry import SourceRegistry, open_source_registry
from custody.cite.catalog import Catalog, CatalogEntry, Merge
from custody.cite.model import SourceIdentity, UnknownSource, source_id_from_number
from custody.cite.opened_check import choose_best_source_reading
from custody.cite.registry import (
    DEFAULT_REASON,
    collect_source_excerpts,
    collect_source_readings,
    collect_source_usage,
    combine_merged_source,
    find_source_entry,
    identify_source,
    iterate_merged_sources,
    list_source_aliases,
    list_source_merges,
    resolve_merged_source,
    suggest_source_merges,
)
from custody.cite.results import source_from, source_to_fields
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
from custody.core.wire.time import format_timestamp
from custody.workspace.workspace import Workspace


def cite_add(workspace: Workspace, fields: Mapping[str, Any], who: str | None = None) -> CiteAddReport:
    """Register the source with these fields (see ``source_from``) as ``who``, by default this machine's user."""
    registry = open_source_registry(workspace, who)
    identity, is_new = registry.register_or_find(
        source_from({name: value for name, value in fields.items() if value is not None})
    )
    return registry.store.read(
        lambda catalog: CiteAddReport(
            registry=source_registry_name(catalog),
            new=is_new,
            source=_to_cite_source(catalog, find_source_entry(catalog, identity.source_id)),
            suggestions=_source_merge_suggestions(catalog, identity.source_id),
        )
    )


def cite_list(workspace: Workspace) -> CiteListReport:
    """Return all sources, by number."""

    def read(catalog: Catalog) -> CiteListReport:
        shown: list[CiteSource] = []
        lost: list[str] = []
        workspace.progress.start("reading sources", catalog.last())
        for entry in catalog.entries():
            workspace.progress.step(1)
            if entry.into is None and combine_merged_source(catalog, entry) is None:
                lost.append(source_id_from_number(entry.number))
            elif entry.into is None:
                shown.append(_to_cite_source(catalog, entry))
        return CiteListReport(registry=source_registry_name(catalog), sources=shown, lost=lost)

    return open_source_registry(workspace).store.read(read)


def cite_page(workspace: Workspace, after: int, limit: int) -> tuple[list[CiteSource], int | None]:
    """Return the next sources after a number, without erased ones, and the last number if there are more."""

    def read(catalog: Catalog) -> tuple[list[CiteSource], int | None]:
        shown: list[CiteSource] = []
        last = after
        for number in range(after + 1, catalog.last() + 1):
            entry = catalog.entry(number)
            if entry is None or entry.into is not None or combine_merged_source(catalog, entry) is None:
                continue
            if len(shown) == limit:
                return shown, last
            shown.append(_to_cite_source(catalog, entry))
            last = number
        return shown, None

    return open_source_registry(workspace).store.read(read)


def cite_show(workspace: Workspace, source_id: str) -> CiteShowReport:
    """Return everything about a source, by any of its ids."""

    def read(catalog: Catalog) -> CiteShowReport:
        entry = resolve_merged_source(catalog, find_source_entry(catalog, source_id))
        usage = collect_source_usage(catalog, source_id)
        return CiteShowReport(
            registry=source_registry_name(catalog),
            source=_to_cite_source(catalog, entry),
            addresses=[
                CiteAddress(
                    id=source_id_from_number(catalog_entry.number), spelling=member.spelling, title=member.source.title
                )
                for catalog_entry in iterate_merged_sources(catalog, entry)
                for member in catalog_entry.members
            ],
            merges=[_to_cite_merge(merge) for merge in list_source_merges(catalog, source_id)],
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
                    at=format_timestamp(reading.stamp.at_ns),
                )
                for reading in collect_source_readings(catalog, source_id)
            ],
            excerpts=[
                CiteExcerpt(
                    digest=excerpt.digest,
                    span=None if excerpt.span is None else CiteSpan(*excerpt.span),
                    text=excerpt.text,
                )
                for excerpt in collect_source_excerpts(catalog, source_id)
            ],
            suggestions=_source_merge_suggestions(catalog, source_id),
        )

    return open_source_registry(workspace).store.read(read)


def cite_merge(workspace: Workspace, kept: str, absorbed: str, *, reason: str | None = None) -> CiteMergeReport:
    """Merge two ids into one source."""
    registry = open_source_registry(workspace)
    return _source_merge_report(registry, registry.merge(kept, absorbed, DEFAULT_REASON if reason is None else reason))


def cite_unmerge(workspace: Workspace, source_id: str, *, url: str | None, reason: str) -> CiteMergeReport:
    """Undo the merge of an id, or split off one URL of a source."""
    registry = open_source_registry(workspace)
    if url is not None:
        split = registry.part(source_id, url, reason)
        return _source_merge_report(registry, split, source_id)
    before = registry.store.read(lambda catalog: source_id_from_number(find_source_entry(catalog, source_id).into or 1))
    return _source_merge_report(registry, registry.unmerge(source_id, reason), before)


def _source_merge_report(registry: SourceRegistry, identity: SourceIdentity, *others: str) -> CiteMergeReport:
    def read(catalog: Catalog) -> CiteMergeReport:
        entries = {
            resolve_merged_source(catalog, find_source_entry(catalog, source_id)).number
            for source_id in (identity.source_id, *others)
        }
        shown = [
            _to_cite_source(catalog, find_source_entry(catalog, source_id_from_number(number)))
            for number in sorted(entries)
        ]
        return CiteMergeReport(registry=source_registry_name(catalog), sources=shown)

    return registry.store.read(read)


def _to_cite_source(catalog: Catalog, entry: CatalogEntry) -> CiteSource:
    source = combine_merged_source(catalog, entry)
    identity = identify_source(catalog, entry)
    if source is None:
        raise UnknownSource(identity.source_id)
    return CiteSource(
        id=identity.source_id,
        canonical_key=identity.canonical_key,
        source_version=identity.version,
        **source_to_fields(source),
        aliases=list_source_aliases(catalog, identity.source_id),
        reading=choose_best_source_reading(
            event.reading for event in collect_source_readings(catalog, identity.source_id)
        ).value,
    )


def _to_cite_merge(merge: Merge) -> CiteMerge:
    return CiteMerge(
        kept=source_id_from_number(merge.kept),
        absorbed=None if merge.absorbed is None else source_id_from_number(merge.absorbed),
        address=merge.spelling,
        how=merge.how.value,
        reason=merge.reason,
        keys=list(merge.keys),
        who=merge.who,
        at=format_timestamp(merge.at_ns),
    )


def _source_merge_suggestions(catalog: Catalog, source_id: str) -> list[CiteSuggestion]:
    return [
        CiteSuggestion(id=suggestion.source_id, why=suggestion.why)
        for suggestion in suggest_source_merges(catalog, source_id)
    ]
