"""Document 003's library: its names, and the registries behind its repositories, in memory, in a file, in a store."""

import os
import warnings
from pathlib import Path

from custody.app.desk import Desk
from custody.app.source_keepers import InFile, InMemory, InStore
from custody.app.source_registry import SourceRegistry
from custody.app.user import user
from custody.cite.footnotes import FootnoteFormatter
from custody.cite.model import (
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
from custody.cite.repository import AbstractSourceRepository
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
from custody.model.views import Reading

__all__ = [
    "AbstractSourceRepository",
    "ArtifactType",
    "Contradiction",
    "FindingCluster",
    "FootnoteFormatter",
    "FootnoteNumber",
    "HierarchicalFinding",
    "Reading",
    "ResearchMetadata",
    "ResearchResults",
    "ResearchSource",
    "SourceError",
    "SourceID",
    "SourceIdentity",
    "SourceRegistry",
    "SourceRegistryWarning",
    "SourceUsage",
    "SynthesisMetadata",
    "UnknownSource",
    "ValidatedSource",
    "degraded",
    "in_file",
    "in_memory",
    "in_store",
    "is_validated",
    "moment_from",
    "quality_metrics",
    "source_from",
    "with_ids",
    "with_sources",
]


class SourceRegistryWarning(UserWarning):
    """Something in a registry file could not be read; everything else of it was."""


def in_memory() -> SourceRegistry:
    """A registry that ends with the program."""
    return SourceRegistry(InMemory())


def in_file(path: str | os.PathLike[str]) -> SourceRegistry:
    """A registry in a file that only grows; what cannot be read in it is a ``SourceRegistryWarning``."""

    def warn(sentence: str) -> None:
        warnings.warn(sentence, SourceRegistryWarning, stacklevel=2)

    return SourceRegistry(InFile(Path(os.path.abspath(path)), warn))


def in_store(folder: str | os.PathLike[str] = ".", database: str | None = None) -> SourceRegistry:
    """The registry of the store of the repository around ``folder``, or of a team's database."""
    return SourceRegistry(InStore(Desk(Path(os.path.abspath(folder)), database)), who=user())
