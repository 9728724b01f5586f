"""Saved reports, the citation contract, conversion and export."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Literal

from custody.cite.app.registry_stores import RecordRegistryStore
from custody.cite.app.report_file import (
    STDIN,
    citation_metrics_path,
    load_citation_rules,
    read_cited_report,
    write_citation_file,
)
from custody.cite.app.source_registry import SourceRegistry
from custody.cite.contract import citation_contract, executor_context
from custody.cite.convert import ConversionTarget, convert_citations
from custody.cite.document import LabelKind, ListEntry
from custody.cite.drafts import ReportDraft
from custody.cite.markdown import citation_markdown_to_text, parse_markdown_layout, replace_citation_surrogates
from custody.cite.model import ResearchSource, UnknownSource
from custody.cite.source_list import find_source_listing
from custody.cite.subject import AuditSubject, shorten_citation_text
from custody.cite.wire import (
    CiteContractReport,
    CiteConvertReport,
    CiteReportReport,
    CslDate,
    CslSource,
    ReportSource,
    SavedReportInfo,
    TargetName,
    UnchangedMarker,
    decode_citation_metrics,
    encode_csl_sources,
)
from custody.cite.works import parse_cited_work
from custody.core.errors import InputError
from custody.core.ids import digest_from_bytes
from custody.core.patterns import lazy_pattern
from custody.core.wire.body import format_digest
from custody.workspace.workspace import Workspace

ReportState = Literal["there", "missing", "of another text"]


def cite_report(workspace: Workspace, name: str, stdin: bytes = b"") -> tuple[CiteReportReport, str]:
    """Return a report with its sources and metrics, and its text without the source list."""
    data = read_cited_report(workspace, name, stdin)
    digest = format_digest(digest_from_bytes(data))
    beside, state = _read_citation_metrics(workspace, name, digest)
    entries = find_source_listing(parse_markdown_layout(data)).entries
    report = CiteReportReport(
        outcome="found" if beside is not None and not beside.passed else "fine",
        file=name,
        digest=digest,
        text=_decode_cited_report(data),
        sources=[_to_report_source(entry) for entry in entries] if beside is None else beside.sources,
        beside=state,
        passed=None if beside is None else beside.passed,
        quality_metrics=None if beside is None else beside.quality_metrics,
        findings=[] if beside is None else beside.findings,
    )
    return report, _decode_cited_report(ReportDraft.of(data, ()).text)


def cite_contract(workspace: Workspace, ids: Sequence[str], *, context: bool = False) -> CiteContractReport:
    """Return the contract for these sources or all; with ``context``, the instructions for agents that gather."""
    registry = SourceRegistry(RecordRegistryStore(workspace))
    if ids:
        named = [_require_source(registry, source_id) for source_id in dict.fromkeys(ids)]
        sources = list({source.source_id: source for source in named}.values())
    else:
        sources = [source for _, source in registry.list_all()]
    return CiteContractReport(
        kind="context" if context else "contract",
        text=executor_context(sources) if context else citation_contract(sources, load_citation_rules(workspace)),
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


def _read_citation_metrics(workspace: Workspace, name: str, digest: str) -> tuple[SavedReportInfo | None, ReportState]:
    """Return the metrics saved for a report, if they belong to these bytes."""
    if name == STDIN:
        return None, "missing"
    path = citation_metrics_path(workspace.folder / name)
    if not path.is_file():
        return None, "missing"
    try:
        info = decode_citation_metrics(read_cited_report(workspace, str(path), b""))
    except InputError as error:
        workspace.talk(f"'{path.name}': {error.message}")
        return None, "missing"
    return (info, "there") if info.digest == digest else (None, "of another text")


def _to_report_source(entry: ListEntry) -> ReportSource:
    label = entry.label
    return ReportSource(
        marker=None if label is None else replace_citation_surrogates(f"[{label}]"),
        id=str(label) if label is not None and label.kind is LabelKind.ID else None,
        title=replace_citation_surrogates(citation_markdown_to_text(entry.title)),
        url=None if entry.url is None else replace_citation_surrogates(entry.url),
    )


def _decode_cited_report(data: bytes) -> str:
    return data.decode("utf-8", "replace")


# Convert the citations of a file, and export its sources.


STDOUT = "-"
_YEAR = lazy_pattern(r"[(（]\s*(?P<year>1[5-9][0-9]{2}|20[0-9]{2})[^)）]{0,20}[)）]")


def cite_convert(
    workspace: Workspace,
    name: str,
    to: TargetName,
    stdin: bytes = b"",
    *,
    output: str | None = None,
    in_place: bool = False,
) -> tuple[CiteConvertReport, bytes]:
    """Convert a report; return the result and the new text, also written to ``output`` or in place if requested."""
    if in_place and (output is not None or name == STDIN):
        raise InputError("--in-place needs a file and excludes --output", hint="omit one of the two")
    data = read_cited_report(workspace, name, stdin)
    done = convert_citations(data, ConversionTarget(to))
    target = name if in_place else output or STDOUT
    written = target != STDOUT and not (in_place and done.text == data)
    if written:
        write_citation_file(workspace.folder / target, done.text)
    return _citation_conversion_report(name, to, target, data, written=written, changes=len(done.changes)), done.text


def _citation_conversion_report(
    name: str, to: TargetName, target: str, data: bytes, *, written: bool, changes: int
) -> CiteConvertReport:
    subject = AuditSubject.of(data)
    left: list[UnchangedMarker] = []
    for use in subject.uses:
        if use.entry is None:
            line, column = subject.layout.place(use.marker.start)
            left.append(UnchangedMarker(line, column, shorten_citation_text(f"[{use.label}]")))
    return CiteConvertReport(
        file=name,
        to=to,
        path=target,
        written=written,
        changes=changes,
        markers=len(subject.markers),
        sources=len(subject.listing.entries),
        left=left,
    )


def cite_export(workspace: Workspace, name: str, stdin: bytes = b"", *, output: str | None = None) -> bytes:
    """Return the listed sources of a report as CSL-JSON, also written to ``output`` if passed."""
    subject = AuditSubject.of(read_cited_report(workspace, name, stdin))
    encoded = encode_csl_sources(to_csl_sources(subject.listing.entries))
    if output is not None and output != STDOUT:
        write_citation_file(Path(workspace.folder) / output, encoded)
    return encoded


def to_csl_sources(entries: Iterable[ListEntry]) -> list[CslSource]:
    """Return the listed sources in order; a source without a label is named by its position."""
    sources: list[CslSource] = []
    used: set[str] = set()
    for place, entry in enumerate(entries, start=1):
        name = str(entry.label) if entry.label is not None else f"entry-{place}"
        unique = name if name not in used else f"{name}-{place}"
        used.add(unique)
        sources.append(_to_csl_source(unique, entry))
    return sources


def _to_csl_source(name: str, entry: ListEntry) -> CslSource:
    """Convert an entry; nothing is guessed."""
    title = citation_markdown_to_text(entry.title)
    work = parse_cited_work(entry.url) if entry.url else None
    doi = work[1] if work is not None and work[0] == "doi" else None
    year = _YEAR.search(title)
    return CslSource(
        id=name,
        type="article" if doi else "webpage" if entry.url else "document",
        title=title,
        url=None if entry.url is None else replace_citation_surrogates(entry.url),
        doi=doi,
        issued=None if year is None else CslDate([[int(year["year"])]]),
    )
