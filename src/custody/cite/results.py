"""Research results: findings with their sources, clusters and contradictions."""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeVar

from msgspec import Struct, field
from msgspec.structs import force_setattr, replace

from custody.cite.model import (
    ArtifactType,
    ResearchSource,
    SourceError,
    SourceID,
    SourceUsage,
    UnknownSource,
    moment_from,
    source_id_from_number,
    source_number_from_id,
)
from custody.core.structs import hash_struct

FINDING_ID_DIGITS = 32


class HierarchicalFinding(Struct, frozen=True, kw_only=True):
    """A finding and its sources; its first source is the first of ``source_ids``.

    Without an id it gets one from its content, the same in every run.
    """

    finding_id: str = ""
    finding: str = ""
    source: ResearchSource | None = None
    source_ids: tuple[SourceID, ...] = ()
    supporting_source_ids: tuple[SourceID, ...] = ()

    def __post_init__(self) -> None:
        first = None if self.source is None else self.source.source_id
        named = _check_source_ids("source_ids", self.source_ids)
        force_setattr(self, "source_ids", named if first is None or first in named else (first, *named))
        force_setattr(
            self, "supporting_source_ids", _check_source_ids("supporting_source_ids", self.supporting_source_ids)
        )
        if not self.finding_id:
            force_setattr(self, "finding_id", self._made_id())

    def _made_id(self) -> str:
        content = "\0".join((self.finding, *self.source_ids, "", *self.supporting_source_ids))
        return hashlib.sha256(content.encode("utf-8", "surrogatepass")).hexdigest()[:FINDING_ID_DIGITS]


class FindingCluster(Struct, frozen=True, kw_only=True):
    """Findings on the same topic, with their sources."""

    cluster_id: str
    finding_ids: tuple[str, ...] = ()
    source_ids: tuple[SourceID, ...] = ()
    supporting_source_ids: tuple[SourceID, ...] = ()


class Contradiction(Struct, frozen=True, kw_only=True):
    """Findings that contradict each other, with their sources."""

    contradiction_id: str
    finding_ids: tuple[str, ...] = ()
    source_ids: tuple[SourceID, ...] = ()
    supporting_source_ids: tuple[SourceID, ...] = ()


class ResearchMetadata(Struct, frozen=True, kw_only=True):
    """Facts about the research; ``sources_consulted`` counts every source once."""

    sources_consulted: int = 0


class SynthesisMetadata(Struct, frozen=True, kw_only=True):
    """The quality metrics of a report, by name."""

    quality_metrics: Mapping[str, float] = field(default_factory=dict)

    def __hash__(self) -> int:
        return hash_struct(self, but=("quality_metrics",))


def quality_metrics(*, citation_coverage: float, orphaned_sources: int, audit_failures: int) -> dict[str, float]:
    """Return the three metrics of document 003, under its names."""
    return {
        "citation_coverage": float(citation_coverage),
        "orphaned_sources": float(orphaned_sources),
        "audit_failures": float(audit_failures),
    }


class ResearchResults(Struct, frozen=True, kw_only=True):
    """The results of research; only ``source_usage`` changes, through ``record_usage``."""

    sources: tuple[ResearchSource, ...] = ()
    source_usage: dict[SourceID, SourceUsage] = field(default_factory=dict)
    findings: tuple[HierarchicalFinding, ...] = ()
    clusters: tuple[FindingCluster, ...] = ()
    contradictions: tuple[Contradiction, ...] = ()
    metadata: ResearchMetadata = ResearchMetadata()
    synthesis_metadata: SynthesisMetadata = SynthesisMetadata()

    def record_usage(
        self,
        source_id: SourceID,
        *,
        finding_id: str | None = None,
        cluster_id: str | None = None,
        contradiction_id: str | None = None,
        report_section: str | None = None,
    ) -> None:
        """Record uses of a source; a known use changes nothing."""
        source_number_from_id(source_id)
        uses: tuple[tuple[ArtifactType, str | None], ...] = (
            ("finding", finding_id),
            ("cluster", cluster_id),
            ("contradiction", contradiction_id),
            ("report_section", report_section),
        )
        usage = self.source_usage.get(source_id, SourceUsage(source_id))
        for kind, artifact in uses:
            usage = usage if not artifact else usage.used_by(kind, artifact)
        self.source_usage[source_id] = usage

    def backfill_usage(self) -> None:
        """Record the uses by findings, clusters and contradictions, for results from before ids."""
        for finding in self.findings:
            for source_id in (*finding.source_ids, *finding.supporting_source_ids):
                self.record_usage(source_id, finding_id=finding.finding_id)
        for cluster in self.clusters:
            for source_id in (*cluster.source_ids, *cluster.supporting_source_ids):
                self.record_usage(source_id, cluster_id=cluster.cluster_id)
        for contradiction in self.contradictions:
            for source_id in (*contradiction.source_ids, *contradiction.supporting_source_ids):
                self.record_usage(source_id, contradiction_id=contradiction.contradiction_id)

    def __hash__(self) -> int:
        return hash_struct(self, but=("source_usage",))


def with_sources(results: ResearchResults, sources: Iterable[ResearchSource]) -> ResearchResults:
    """Return the results with these sources, each once, in the order of their ids, and the count of consulted ones."""
    by_id = {source.source_id: source for source in sources if source.source_id is not None}
    ordered = tuple(by_id[source_id] for source_id in sorted(by_id, key=source_number_from_id))
    return replace(results, sources=ordered, metadata=ResearchMetadata(sources_consulted=len(ordered)))


class LoadedSources(Struct, frozen=True):
    """Sources that got missing ids, and the warnings about that."""

    sources: tuple[ResearchSource, ...]
    warnings: tuple[str, ...]


def with_ids(sources: Iterable[ResearchSource]) -> LoadedSources:
    """Assign the next free number to every source without an id or with a duplicate id; each is a warning.

    >>> a, b = ResearchSource(title="a", source_id="S2"), ResearchSource(title="b")
    >>> [source.source_id for source in with_ids([a, b]).sources]
    ['S2', 'S3']
    """
    loaded = list(sources)
    taken = max(
        (source_number_from_id(source.source_id) for source in loaded if source.source_id is not None), default=0
    )
    used: set[SourceID] = set()
    numbered: list[ResearchSource] = []
    warnings: list[str] = []
    for source in loaded:
        if source.source_id is None or source.source_id in used:
            taken += 1
            why = "had no id" if source.source_id is None else f"had the id of another, {source.source_id}"
            source = replace(source, source_id=source_id_from_number(taken))
            warnings.append(f"'{source.title or source.url}' {why}; it is {source.source_id} now")
        used.add(str(source.source_id))
        numbered.append(source)
    return LoadedSources(tuple(numbered), tuple(warnings))


def source_from(fields: Mapping[str, Any]) -> ResearchSource:
    """Return a source from its JSON fields; dates are text, and unknown fields go to its metadata."""
    known = {name: value for name, value in fields.items() if name in _FIELDS}
    unknown = {name: value for name, value in fields.items() if name not in _FIELDS}
    metadata = known.pop("metadata", None)
    if metadata is not None and not isinstance(metadata, Mapping):
        raise SourceError("metadata", f"is {metadata!r:.80}, not a mapping")
    if isinstance(known.get("date"), str):
        known["date"] = moment_from(known["date"])
    known.setdefault("title", "")
    return ResearchSource(**known, metadata={**unknown, **(metadata or {})})


def source_to_fields(source: ResearchSource) -> dict[str, Any]:
    """Return the JSON fields of a source without its id and key, the inverse of ``source_from``."""
    fields = {name: getattr(source, name) for name in _FIELDS - {"source_id", "canonical_key"}}
    date = None if source.date is None else source.date.isoformat()
    return {**fields, "date": date, "metadata": dict(source.metadata)}


_FIELDS = frozenset(ResearchSource.__struct_fields__)


def _check_source_ids(name: str, ids: Iterable[str]) -> tuple[SourceID, ...]:
    if isinstance(ids, str):
        raise SourceError(name, f"is the text '{ids[:80]}', not a list of ids")
    unique = tuple(dict.fromkeys(ids))
    for source_id in unique:
        source_number_from_id(source_id)
    return unique


# Assemble results: findings, clusters and contradictions with the current ids of their sources.


Group = TypeVar("Group", FindingCluster, Contradiction)


def collect_source_ids(
    findings: Iterable[HierarchicalFinding],
    clusters: Iterable[FindingCluster],
    contradictions: Iterable[Contradiction],
) -> tuple[SourceID, ...]:
    """Return all ids in use, once, in the order of their first use."""
    ids: dict[SourceID, None] = {}
    everything: tuple[HierarchicalFinding | FindingCluster | Contradiction, ...] = (
        *findings,
        *clusters,
        *contradictions,
    )
    for finding in everything:
        ids.update(dict.fromkeys((*finding.source_ids, *finding.supporting_source_ids)))
    return tuple(ids)


def assemble_research_results(
    findings: Sequence[HierarchicalFinding],
    clusters: Sequence[FindingCluster],
    contradictions: Sequence[Contradiction],
    known: Mapping[SourceID, ResearchSource],
    *,
    consulted: Iterable[SourceID] = (),
) -> ResearchResults:
    """Return the results; ``known`` has the source of every id, and a merged id is replaced by the shown one.

    A group without sources uses those of its findings. ``consulted`` are further ids, which ``sources_consulted``
    counts too; it counts every source once. An id without a source raises
    ``UnknownSource``.
    """
    shown = tuple(_update_finding_sources(finding, known) for finding in findings)
    by_id = {finding.finding_id: finding for finding in shown}
    results = ResearchResults(
        findings=shown,
        clusters=tuple(_update_group_sources(_fill_group_sources(cluster, by_id), known) for cluster in clusters),
        contradictions=tuple(
            _update_group_sources(_fill_group_sources(contradiction, by_id), known) for contradiction in contradictions
        ),
    )
    used = collect_source_ids(results.findings, results.clusters, results.contradictions)
    results = with_sources(results, (known[source_id] for source_id in used))
    results.backfill_usage()
    count = len({*used, *_resolve_source_ids(consulted, known)})
    return replace(results, metadata=ResearchMetadata(sources_consulted=count))


def _update_finding_sources(
    finding: HierarchicalFinding, known: Mapping[SourceID, ResearchSource]
) -> HierarchicalFinding:
    source = (
        finding.source
        if finding.source is None or finding.source.source_id is None
        else known.get(finding.source.source_id)
    )
    return replace(
        finding,
        source=source,
        source_ids=_resolve_source_ids(finding.source_ids, known),
        supporting_source_ids=_resolve_source_ids(finding.supporting_source_ids, known),
    )


def _update_group_sources(group: Group, known: Mapping[SourceID, ResearchSource]) -> Group:
    return replace(
        group,
        source_ids=_resolve_source_ids(group.source_ids, known),
        supporting_source_ids=_resolve_source_ids(group.supporting_source_ids, known),
    )


def _fill_group_sources(group: Group, findings: Mapping[str, HierarchicalFinding]) -> Group:
    if group.source_ids or group.supporting_source_ids:
        return group
    within = [findings[finding_id] for finding_id in group.finding_ids if finding_id in findings]
    first = dict.fromkeys(source_id for finding in within for source_id in finding.source_ids)
    others = dict.fromkeys(source_id for finding in within for source_id in finding.supporting_source_ids)
    return replace(group, source_ids=tuple(first), supporting_source_ids=tuple(others))


def _resolve_source_ids(ids: Iterable[SourceID], known: Mapping[SourceID, ResearchSource]) -> tuple[SourceID, ...]:
    now: dict[SourceID, None] = {}
    for source_id in ids:
        source = known.get(source_id)
        if source is None or source.source_id is None:
            raise UnknownSource(source_id)
        now[source.source_id] = None
    return tuple(now)
