"""The names of document 003 for ``custody.sources``, and its registries in memory, in a file and in a store.

Names imported ``as`` themselves are for ``custody.writer`` only.
"""

import os
import warnings
from pathlib import Path

from custody.cite.app.context import AttentionAwareContextManager
from custody.cite.app.registry_stores import FileRegistryStore, MemoryRegistryStore, RecordRegistryStore
from custody.cite.app.report_file import SavedReport, load_citation_rules, save_report_object
from custody.cite.app.source_registry import SourceRegistry
from custody.cite.app.source_validation import SourceValidationPipeline, guarded_client
from custody.cite.audit import Audit
from custody.cite.codes import Finding
from custody.cite.compression import Compressed, Level, RestorableSourceCompressor, Unrestorable
from custody.cite.context import Context, tokens_of
from custody.cite.contract import citation_contract, executor_context, missing_citations_reminder
from custody.cite.drafts import Attempt, CitationWarning, CitedReport, NoReport, cited_report
from custody.cite.drafts import DraftLoop as DraftLoop
from custody.cite.drafts import choose_best_draft as choose_best_draft
from custody.cite.footnotes import FootnoteFormatter
from custody.cite.hits import is_source_hit as is_source_hit
from custody.cite.hits import source_of_hit
from custody.cite.links import CircuitBreaker
from custody.cite.model import (
    AbstractSourceRepository,
    ArtifactType,
    FootnoteNumber,
    ResearchSource,
    SourceError,
    SourceID,
    SourceIdentity,
    SourceUsage,
    UnknownSource,
    ValidatedSource,
    degraded,
    is_validated,
    moment_from,
)
from custody.cite.monitor import ContextMetrics, ContextPerformanceMonitor, ContextSettings
from custody.cite.near_copies import LSHForest, Near, SimHash, Winnowing, compute_semantic_hash, find_duplicates
from custody.cite.results import (
    Contradiction,
    FindingCluster,
    HierarchicalFinding,
    ResearchMetadata,
    ResearchResults,
    SynthesisMetadata,
    quality_metrics,
    source_from,
    with_ids,
    with_sources,
)
from custody.cite.results import assemble_research_results as assemble_research_results
from custody.cite.results import collect_source_ids as collect_source_ids
from custody.cite.rules import CiteRules
from custody.cite.vectors import VectorIndex
from custody.core.errors import MissingExtra
from custody.core.views import Reading
from custody.workspace.machine import machine_user_name
from custody.workspace.workspace import Workspace

__all__ = [
    "AbstractSourceRepository",
    "ArtifactType",
    "Attempt",
    "AttentionAwareContextManager",
    "Audit",
    "CircuitBreaker",
    "CitationWarning",
    "CiteRules",
    "CitedReport",
    "Compressed",
    "Context",
    "ContextMetrics",
    "ContextPerformanceMonitor",
    "ContextSettings",
    "Contradiction",
    "Finding",
    "FindingCluster",
    "FootnoteFormatter",
    "FootnoteNumber",
    "HierarchicalFinding",
    "LSHForest",
    "Level",
    "MissingExtra",
    "Near",
    "NoReport",
    "Reading",
    "ResearchMetadata",
    "ResearchResults",
    "ResearchSource",
    "RestorableSourceCompressor",
    "SavedReport",
    "SimHash",
    "SourceError",
    "SourceID",
    "SourceIdentity",
    "SourceRegistry",
    "SourceRegistryWarning",
    "SourceUsage",
    "SourceValidationError",
    "SourceValidationPipeline",
    "SynthesisMetadata",
    "UnknownSource",
    "Unrestorable",
    "ValidatedSource",
    "VectorIndex",
    "Winnowing",
    "citation_contract",
    "cite_rules",
    "cited_report",
    "compute_semantic_hash",
    "degraded",
    "executor_context",
    "find_duplicates",
    "guarded_client",
    "in_file",
    "in_memory",
    "in_store",
    "is_validated",
    "missing_citations_reminder",
    "moment_from",
    "quality_metrics",
    "save_report_object",
    "source_from",
    "source_of_hit",
    "tokens_of",
    "with_ids",
    "with_sources",
]


SourceValidationError = SourceError
"""The name of ``SourceError`` in document 003."""


class SourceRegistryWarning(UserWarning):
    """A line of a registry file was skipped."""


def in_memory() -> SourceRegistry:
    """Return a registry in memory."""
    return SourceRegistry(MemoryRegistryStore())


def in_file(path: str | os.PathLike[str]) -> SourceRegistry:
    """Return a registry in an append-only file; lines that cannot be read raise a ``SourceRegistryWarning``."""

    def warn(sentence: str) -> None:
        warnings.warn(sentence, SourceRegistryWarning, stacklevel=2)

    return SourceRegistry(FileRegistryStore(Path(os.path.abspath(path)), warn))


def in_store(folder: str | os.PathLike[str] = ".", database: str | None = None) -> SourceRegistry:
    """Return the registry of the repository around ``folder``, or of a team's database."""
    return SourceRegistry(
        RecordRegistryStore(Workspace(Path(os.path.abspath(folder)), database)), who=machine_user_name()
    )


def cite_rules(folder: str | os.PathLike[str] = ".") -> CiteRules:
    """Return the effective rules of the repository around ``folder``; outside a repository, the user's rules."""
    return load_citation_rules(Workspace(Path(os.path.abspath(folder))))
