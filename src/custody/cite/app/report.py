"""Show a saved report with its sources, and the citation contract for the sources of this store."""

from collections.abc import Sequence
from typing import Literal

from custody.cite.app.registry_stores import RecordRegistryStore
from custody.cite.app.report_file import STDIN, read_report, rules_for
from custody.cite.app.saved_report import beside_of
from custody.cite.app.source_registry import SourceRegistry
from custody.cite.contract import citation_contract, executor_context
from custody.cite.document import LabelKind, ListEntry
from custody.cite.drafts import ReportDraft
from custody.cite.markdown_ranges import lay_out
from custody.cite.markdown_text import plain, whole_characters
from custody.cite.model import ResearchSource, UnknownSource
from custody.cite.source_list import find_listing
from custody.cite.wire.writing import (
    CiteContractReport,
    CiteReportReport,
    ReportSource,
    SavedReportInfo,
    decode_beside,
)
from custody.core.digest import digest_of
from custody.core.errors import InputError
from custody.core.wire.body import digest_text
from custody.workspace.workspace import Workspace

ReportState = Literal["there", "missing", "of another text"]


def cite_report(workspace: Workspace, name: str, stdin: bytes = b"") -> tuple[CiteReportReport, str]:
    """A report with its sources and its metrics, and its text without the list of sources."""
    data = read_report(workspace, name, stdin)
    digest = digest_text(digest_of(data))
    beside, state = _beside(workspace, name, digest)
    entries = find_listing(lay_out(data)).entries
    report = CiteReportReport(
        outcome="found" if beside is not None and not beside.passed else "fine",
        file=name,
        digest=digest,
        text=_text(data),
        sources=[_listed(entry) for entry in entries] if beside is None else beside.sources,
        beside=state,
        passed=None if beside is None else beside.passed,
        quality_metrics=None if beside is None else beside.quality_metrics,
        findings=[] if beside is None else beside.findings,
    )
    return report, _text(ReportDraft.of(data, ()).text)


def cite_contract(workspace: Workspace, ids: Sequence[str], *, context: bool = False) -> CiteContractReport:
    """The contract for all sources of the registry, or for these; or what those who gather are told of them."""
    registry = SourceRegistry(RecordRegistryStore(workspace))
    if ids:
        found = [_require_source(registry, source_id) for source_id in dict.fromkeys(ids)]
        sources = list({source.source_id: source for source in found}.values())
    else:
        sources = [source for _, source in registry.all()]
    return CiteContractReport(
        kind="context" if context else "contract",
        text=executor_context(sources) if context else citation_contract(sources, rules_for(workspace)),
        sources=[
            ReportSource(marker=f"[{source.source_id}]", id=source.source_id, title=source.title, url=source.url)
            for source in sources
        ],
    )


def _require_source(registry: SourceRegistry, source_id: str) -> ResearchSource:
    source = registry.get(source_id)
    if source is None:
        raise UnknownSource(source_id)
    return source


def _beside(workspace: Workspace, name: str, digest: str) -> tuple[SavedReportInfo | None, ReportState]:
    """What was saved beside a report, if it is of these bytes."""
    if name == STDIN:
        return None, "missing"
    place = beside_of(workspace.folder / name)
    if not place.is_file():
        return None, "missing"
    try:
        found = decode_beside(read_report(workspace, str(place), b""))
    except InputError as error:
        workspace.talk(f"'{place.name}': {error.message}")
        return None, "missing"
    return (found, "there") if found.digest == digest else (None, "of another text")


def _listed(entry: ListEntry) -> ReportSource:
    label = entry.label
    return ReportSource(
        marker=None if label is None else whole_characters(f"[{label}]"),
        id=str(label) if label is not None and label.kind is LabelKind.ID else None,
        title=whole_characters(plain(entry.title)),
        url=None if entry.url is None else whole_characters(entry.url),
    )


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")
