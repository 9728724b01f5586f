"""Rewrite the citations of one file, and export what it lists."""

from pathlib import Path

from custody.cite.app.report_file import STDIN, read_report, write_report
from custody.cite.convert import convert
from custody.cite.csl import CslItem, csl_items
from custody.cite.plan import ConversionTarget
from custody.cite.subject import AuditSubject, brief
from custody.cite.wire.audit import CiteConvertReport, CslDate, CslSource, TargetName, UnchangedMarker, encode_csl
from custody.core.errors import InputError
from custody.workspace.workspace import Workspace

STDOUT = "-"


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
    made = encode_csl([_csl(item) for item in csl_items(subject.listing.entries)])
    if output is not None and output != STDOUT:
        write_report(Path(workspace.folder) / output, made)
    return made


def _csl(item: CslItem) -> CslSource:
    url = None if item.url is None else item.url.encode("utf-8", "replace").decode("utf-8")
    issued = None if item.year is None else CslDate([[item.year]])
    return CslSource(id=item.id, type=item.type, title=item.title, url=url, doi=item.doi, issued=issued)
