"""Show a saved report with its sources, and the citation contract for the sources of this store."""

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Literal

from custody.cite.app.registry_stores import RecordRegistryStore
from custody.cite.app.report_file import STDIN, beside_of, read_report, rules_for, write_report
from custody.cite.app.source_registry import SourceRegistry
from custody.cite.contract import citation_contract, executor_context
from custody.cite.convert import ConversionTarget, convert
from custody.cite.document import LabelKind, ListEntry
from custody.cite.drafts import ReportDraft
from custody.cite.markdown import lay_out, plain, whole_characters
from custody.cite.model import ResearchSource, UnknownSource
from custody.cite.source_list import find_listing
from custody.cite.subject import AuditSubject, brief
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
    decode_beside,
    encode_csl,
)
from custody.cite.works import work_key
from custody.core.errors import InputError
from custody.core.ids import digest_of
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


# Rewrite the citations of one file, and export what it lists.


STDOUT = "-"
_YEAR = re.compile(r"[(（]\s*(?P<year>1[5-9][0-9]{2}|20[0-9]{2})[^)）]{0,20}[)）]")


def cite_convert(
    workspace: Workspace,
    name: str,
    to: TargetName,
    stdin: bytes = b"",
    *,
    output: str | None = None,
    in_place: bool = False,
) -> tuple[CiteConvertReport, bytes]:
    """What was done, and the new text; it is written to ``output`` or over the file itself, if either is asked for."""
    if in_place and (output is not None or name == STDIN):
        raise InputError("--in-place needs a file, and no --output", hint="leave one of the two out")
    data = read_report(workspace, name, stdin)
    done = convert(data, ConversionTarget(to))
    target = name if in_place else output or STDOUT
    written = target != STDOUT and not (in_place and done.text == data)
    if written:
        write_report(workspace.folder / target, done.text)
    return _report(name, to, target, data, written=written, changes=len(done.changes)), done.text


def _report(name: str, to: TargetName, target: str, data: bytes, *, written: bool, changes: int) -> CiteConvertReport:
    subject = AuditSubject.of(data)
    left: list[UnchangedMarker] = []
    for use in subject.uses:
        if use.entry is None:
            line, column = subject.layout.place(use.marker.start)
            left.append(UnchangedMarker(line, column, brief(f"[{use.label}]")))
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
    """The listed sources of a report as CSL-JSON, written to ``output`` if it is given."""
    subject = AuditSubject.of(read_report(workspace, name, stdin))
    made = encode_csl(csl_sources(subject.listing.entries))
    if output is not None and output != STDOUT:
        write_report(Path(workspace.folder) / output, made)
    return made


def csl_sources(entries: Iterable[ListEntry]) -> list[CslSource]:
    """Every listed source, in the order of the list; one without a label is called by its place in it."""
    made: list[CslSource] = []
    used: set[str] = set()
    for place, entry in enumerate(entries, start=1):
        name = str(entry.label) if entry.label is not None else f"entry-{place}"
        unique = name if name not in used else f"{name}-{place}"
        used.add(unique)
        made.append(_csl(unique, entry))
    return made


def _csl(name: str, entry: ListEntry) -> CslSource:
    """Only what the list says goes in: nothing is guessed."""
    title = plain(entry.title)
    work = work_key(entry.url) if entry.url else None
    doi = work[1] if work is not None and work[0] == "doi" else None
    year = _YEAR.search(title)
    return CslSource(
        id=name,
        type="article" if doi else "webpage" if entry.url else "document",
        title=title,
        url=None if entry.url is None else whole_characters(entry.url),
        doi=doi,
        issued=None if year is None else CslDate([[int(year["year"])]]),
    )
