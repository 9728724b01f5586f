"""Bundles: all records and indexed changes that a verdict rests on, to judge it again where nothing was recorded.

A bundle is an export of the chains as far as the verdict names them, followed by its index of changes.
"""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from custody.core.errors import InputError
from custody.core.wire.report import ExportReport
from custody.dupes.app.indexed_changes import read_change_index, write_change_index
from custody.gate.app.snapshot import PastWorkspace, open_verdict_workspace
from custody.gate.app.verify_verdict import basis_from_verdict, check_verdict_records
from custody.gate.wire.report import GateReport
from custody.share.export import export_chains, import_export_file
from custody.share.wire import LINE_BYTES_MAX
from custody.workspace.workspace import Workspace

END_LINE = b'"line":"end"'


def write_verdict_bundle(workspace: Workspace, verdict: GateReport, out: BinaryIO, path: str) -> ExportReport:
    """Write the records and indexed changes that ``verdict`` rests on, texts included; the report calls it ``path``."""
    basis = basis_from_verdict(verdict)
    with workspace.reading() as store:
        check_verdict_records(store, basis)
    with open_verdict_workspace(workspace, basis) as past:
        report = export_chains(past, out, path)
        write_change_index(past.store, 0 if basis.index is None else basis.index.changes, out)
    return report


@contextmanager
def open_bundle_workspace(workspace: Workspace, path: Path) -> Iterator[PastWorkspace]:
    """Yield the repository with the records of a bundle in place of its own; nothing is imported.

    Raises ``InputError`` if any record of the bundle does not verify.
    """
    with workspace.scratch() as store, path.open("rb") as bundle, tempfile.NamedTemporaryFile() as export:
        for line in _read_lines(bundle_lines := iter(lambda: bundle.readline(LINE_BYTES_MAX + 1), b""), path):
            export.write(line)
            if END_LINE in line:
                break
        export.flush()
        same = {name: getattr(workspace, name) for name in Workspace.__struct_fields__}
        bundled = PastWorkspace(**same, store=store)
        report = import_export_file(bundled, Path(export.name), str(path))
        if report.findings:
            raise InputError(f"'{path}' does not verify: {report.findings[0].what}", hint="get the bundle again")
        read_change_index(store, _read_lines(bundle_lines, path))
        yield bundled


def _read_lines(lines: Iterator[bytes], path: Path) -> Iterator[bytes]:
    for line in lines:
        if len(line) > LINE_BYTES_MAX or not line.endswith(b"\n"):
            raise InputError(f"'{path}' is not a bundle, or it is cut off", hint="get the bundle again")
        yield line
