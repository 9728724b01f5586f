"""What research comes to: findings with the sources that they rest on, and the results that hold them together."""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from custody.cite.model import (
    ArtifactType,
    ResearchSource,
    SourceError,
    SourceID,
    SourceUsage,
    UnknownSource,
    id_of,
    moment_from,
    number_of,
)

FINDING_ID_DIGITS = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class HierarchicalFinding:
    """Something that was found, and the sources it rests on; its first source leads ``source_ids``.

    Without an id it has one made from what it says: the same finding has the same id in every run.
    """

    finding_id: str = ""
    finding: str = ""
    source: ResearchSource | None = None
    source_ids: tuple[SourceID, ...] = ()
    supporting_source_ids: tuple[SourceID, ...] = ()

    def __post_init__(self) -> None:
        first = None if self.source is None else self.source.source_id
        named = _ids("source_ids", self.source_ids)
        object.__setattr__(self, "source_ids", named if first is None or first in named else (first, *named))
        object.__setattr__(self, "supporting_source_ids", _ids("supporting_source_ids", self.supporting_source_ids))
        if not self.finding_id:
            object.__setattr__(self, "finding_id", self._made_id())

    def _made_id(self) -> str:
        said = "\0".join((self.finding, *self.source_ids, "", *self.supporting_source_ids))
        return hashlib.sha256(said.encode("utf-8", "surrogatepass")).hexdigest()[:FINDING_ID_DIGITS]


@dataclass(frozen=True, slots=True, kw_only=True)
class FindingCluster:
    """Findings that speak of the same thing, with their sources."""

    cluster_id: str
    finding_ids: tuple[str, ...] = ()
    source_ids: tuple[SourceID, ...] = ()
    supporting_source_ids: tuple[SourceID, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Contradiction:
    """Findings that cannot all be true, with their sources."""

    contradiction_id: str
    finding_ids: tuple[str, ...] = ()
    source_ids: tuple[SourceID, ...] = ()
    supporting_source_ids: tuple[SourceID, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ResearchMetadata:
    """What research took; ``sources_consulted`` counts every source once."""

    sources_consulted: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class SynthesisMetadata:
    """How good a report is, in numbers by name."""

    quality_metrics: Mapping[str, float] = field(default_factory=dict, hash=False)


def quality_metrics(*, citation_coverage: float, orphaned_sources: int, audit_failures: int) -> dict[str, float]:
    """The document's three metrics under the document's names."""
    return {
        "citation_coverage": float(citation_coverage),
        "orphaned_sources": float(orphaned_sources),
        "audit_failures": float(audit_failures),
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class ResearchResults:
    """Everything that research came to. Only ``source_usage`` grows, by ``record_usage``."""

    sources: tuple[ResearchSource, ...] = ()
    source_usage: dict[SourceID, SourceUsage] = field(default_factory=dict, hash=False)
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
        """Note what rests on a source; what is known already changes nothing."""
        number_of(source_id)
        said: tuple[tuple[ArtifactType, str | None], ...] = (
            ("finding", finding_id),
            ("cluster", cluster_id),
            ("contradiction", contradiction_id),
            ("report_section", report_section),
        )
        usage = self.source_usage.get(source_id, SourceUsage(source_id))
        for kind, artifact in said:
            usage = usage if not artifact else usage.used_by(kind, artifact)
        self.source_usage[source_id] = usage

    def backfill_usage(self) -> None:
        """Note the usage that findings, clusters and contradictions tell of, as for results from before ids."""
        for finding in self.findings:
            for source_id in (*finding.source_ids, *finding.supporting_source_ids):
                self.record_usage(source_id, finding_id=finding.finding_id)
        for cluster in self.clusters:
            for source_id in (*cluster.source_ids, *cluster.supporting_source_ids):
                self.record_usage(source_id, cluster_id=cluster.cluster_id)
        for contradiction in self.contradictions:
            for source_id in (*contradiction.source_ids, *contradiction.supporting_source_ids):
                self.record_usage(source_id, contradiction_id=contradiction.contradiction_id)


def with_sources(results: ResearchResults, sources: Iterable[ResearchSource]) -> ResearchResults:
    """The results with these sources in the order of their ids, each once, and their count consulted."""
    by_id = {source.source_id: source for source in sources if source.source_id is not None}
    ordered = tuple(by_id[source_id] for source_id in sorted(by_id, key=number_of))
    return replace(results, sources=ordered, metadata=ResearchMetadata(sources_consulted=len(ordered)))


@dataclass(frozen=True, slots=True)
class LoadedSources:
    """Sources from before they had ids, each with one now, and what to tell the user of it."""

    sources: tuple[ResearchSource, ...]
    warnings: tuple[str, ...]


def with_ids(sources: Iterable[ResearchSource]) -> LoadedSources:
    """Give every source without an id, or with one that another has, the next free number; each gift is a warning.

    >>> a, b = ResearchSource(title="a", source_id="S2"), ResearchSource(title="b")
    >>> [source.source_id for source in with_ids([a, b]).sources]
    ['S2', 'S3']
    """
    given = list(sources)
    taken = max((number_of(source.source_id) for source in given if source.source_id is not None), default=0)
    seen: set[SourceID] = set()
    made: list[ResearchSource] = []
    warnings: list[str] = []
    for source in given:
        if source.source_id is None or source.source_id in seen:
            taken += 1
            why = "had no id" if source.source_id is None else f"had the id of another, {source.source_id}"
            source = replace(source, source_id=id_of(taken))
            warnings.append(f"'{source.title or source.url}' {why}; it is {source.source_id} now")
        seen.add(str(source.source_id))
        made.append(source)
    return LoadedSources(tuple(made), tuple(warnings))


def source_from(fields: Mapping[str, Any]) -> ResearchSource:
    """A source from its fields as JSON has them; dates are texts, fields that we do not know go to its metadata."""
    known = {name: value for name, value in fields.items() if name in _FIELDS}
    unknown = {name: value for name, value in fields.items() if name not in _FIELDS}
    metadata = known.pop("metadata", None)
    if metadata is not None and not isinstance(metadata, Mapping):
        raise SourceError("metadata", f"is {metadata!r:.80}, not values by name")
    if isinstance(known.get("date"), str):
        known["date"] = moment_from(known["date"])
    known.setdefault("title", "")
    return ResearchSource(**known, metadata={**unknown, **(metadata or {})})


def source_fields(source: ResearchSource) -> dict[str, Any]:
    """The fields of a source as JSON has them, without the id and the key that a registry gave: see ``source_from``."""
    fields = {name: getattr(source, name) for name in _FIELDS - {"source_id", "canonical_key"}}
    date = None if source.date is None else source.date.isoformat()
    return {**fields, "date": date, "metadata": dict(source.metadata)}


_FIELDS = frozenset(ResearchSource.__dataclass_fields__)


def _ids(name: str, said: Iterable[str]) -> tuple[SourceID, ...]:
    if isinstance(said, str):
        raise SourceError(name, f"is the text '{said[:80]}', not several ids")
    made = tuple(dict.fromkeys(said))
    for source_id in made:
        number_of(source_id)
    return made


# Put results together: findings, clusters and contradictions under the ids that their sources have now.


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
