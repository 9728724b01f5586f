"""Put results together: findings, clusters and contradictions under the ids that their sources have now."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from custody.cite.model import ResearchSource, SourceID, UnknownSource
from custody.cite.results import (
    Contradiction,
    FindingCluster,
    HierarchicalFinding,
    ResearchMetadata,
    ResearchResults,
    with_sources,
)

Group = TypeVar("Group", FindingCluster, Contradiction)


def named_ids(
    findings: Iterable[HierarchicalFinding],
    clusters: Iterable[FindingCluster],
    contradictions: Iterable[Contradiction],
) -> tuple[SourceID, ...]:
    """Every id that anything rests on, once, in the order in which they are named."""
    ids: dict[SourceID, None] = {}
    everything: tuple[HierarchicalFinding | FindingCluster | Contradiction, ...] = (
        *findings,
        *clusters,
        *contradictions,
    )
    for finding in everything:
        ids.update(dict.fromkeys((*finding.source_ids, *finding.supporting_source_ids)))
    return tuple(ids)


def assembled(
    findings: Sequence[HierarchicalFinding],
    clusters: Sequence[FindingCluster],
    contradictions: Sequence[Contradiction],
    known: Mapping[SourceID, ResearchSource],
    *,
    consulted: Iterable[SourceID] = (),
) -> ResearchResults:
    """The results. ``known`` has the source of every named id; an id that was merged becomes the one that is shown.

    A group that names no source rests on those of its findings. ``consulted`` are ids beyond those that something rests
    on; ``sources_consulted`` counts every source once, whatever it was called. An id without a source is an
    ``UnknownSource``.
    """
    shown = tuple(_found(finding, known) for finding in findings)
    by_id = {finding.finding_id: finding for finding in shown}
    results = ResearchResults(
        findings=shown,
        clusters=tuple(_renamed(_filled(cluster, by_id), known) for cluster in clusters),
        contradictions=tuple(_renamed(_filled(contradiction, by_id), known) for contradiction in contradictions),
    )
    used = named_ids(results.findings, results.clusters, results.contradictions)
    results = with_sources(results, (known[source_id] for source_id in used))
    results.backfill_usage()
    count = len({*used, *_now(consulted, known)})
    return replace(results, metadata=ResearchMetadata(sources_consulted=count))


def _found(finding: HierarchicalFinding, known: Mapping[SourceID, ResearchSource]) -> HierarchicalFinding:
    source = (
        finding.source
        if finding.source is None or finding.source.source_id is None
        else known.get(finding.source.source_id)
    )
    return replace(
        finding,
        source=source,
        source_ids=_now(finding.source_ids, known),
        supporting_source_ids=_now(finding.supporting_source_ids, known),
    )


def _renamed(group: Group, known: Mapping[SourceID, ResearchSource]) -> Group:
    return replace(
        group, source_ids=_now(group.source_ids, known), supporting_source_ids=_now(group.supporting_source_ids, known)
    )


def _filled(group: Group, findings: Mapping[str, HierarchicalFinding]) -> Group:
    if group.source_ids or group.supporting_source_ids:
        return group
    within = [findings[finding_id] for finding_id in group.finding_ids if finding_id in findings]
    first = dict.fromkeys(source_id for finding in within for source_id in finding.source_ids)
    others = dict.fromkeys(source_id for finding in within for source_id in finding.supporting_source_ids)
    return replace(group, source_ids=tuple(first), supporting_source_ids=tuple(others))


def _now(ids: Iterable[SourceID], known: Mapping[SourceID, ResearchSource]) -> tuple[SourceID, ...]:
    now: dict[SourceID, None] = {}
    for source_id in ids:
        source = known.get(source_id)
        if source is None or source.source_id is None:
            raise UnknownSource(source_id)
        now[source.source_id] = None
    return tuple(now)
