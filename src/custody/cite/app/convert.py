"""Rewrite the citations of one file, and export what it lists."""

import re
from collections.abc import Iterable
from pathlib import Path

from custody.cite.app.report_file import STDIN, read_report, write_report
from custody.cite.convert import convert
from custody.cite.document import ListEntry
from custody.cite.markdown_text import plain, whole_characters
from custody.cite.plan import ConversionTarget
from custody.cite.subject import AuditSubject, brief
from custody.cite.wire.audit import CiteConvertReport, CslDate, CslSource, TargetName, UnchangedMarker, encode_csl
from custody.cite.works import work_key
from custody.core.errors import InputError
from custody.workspace.workspace import Workspace

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
