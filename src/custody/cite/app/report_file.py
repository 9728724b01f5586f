"""Report files, read and written as a whole, and the rules for them."""

import os
import stat
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from custody.cite.drafts import CitedReport
from custody.cite.markdown import replace_citation_surrogates
from custody.cite.rules import CiteRules
from custody.cite.wire import ReportFinding, ReportSource, SavedReportInfo, encode_citation_metrics
from custody.core.errors import InputError
from custody.core.ids import digest_from_bytes
from custody.core.wire.body import format_digest
from custody.workspace.machine import open_atomic_file
from custody.workspace.rules_in_force import load_user_rules, load_workspace_rules
from custody.workspace.workspace import Workspace

STDIN = "-"
FILE_BYTES_MAX = 64 * 1024 * 1024
"""Maximum size of a report."""


def load_citation_rules(workspace: Workspace, coverage_min: float | None = None) -> CiteRules:
    """Return the effective rules; outside a repository those of the user. ``coverage_min`` overrides both."""
    rules = _load_effective_cite_rules(workspace)
    return rules if coverage_min is None else replace(rules, coverage_min=coverage_min)


def _load_effective_cite_rules(workspace: Workspace) -> CiteRules:
    try:
        workspace.repository  # noqa: B018 - raises if there is none
    except InputError:
        # A report may be anywhere; outside a repository only the user's rules apply.
        return load_user_rules(workspace).of(CiteRules)
    return load_workspace_rules(workspace)[0].of(CiteRules)


def read_cited_report(workspace: Workspace, name: str, stdin: bytes) -> bytes:
    """Return the bytes of a report; ``-`` is stdin."""
    if name == STDIN:
        return _check_cited_report_size(name, stdin)
    path = workspace.folder / name
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            raise InputError(f"'{name}' is not a file", hint="pass Markdown files, or - for stdin")
        if path.stat().st_size > FILE_BYTES_MAX:
            raise _cited_report_size_error(name)
        return _check_cited_report_size(name, path.read_bytes())
    except OSError as error:
        raise InputError(f"cannot read '{name}': {error.strerror}", hint="pass readable Markdown files") from error


def write_citation_file(path: Path, data: bytes) -> None:
    """Write a file atomically, keeping its mode; a symbolic link is followed."""
    target = path.resolve()
    with open_atomic_file(target, shown=path) as out:
        if target.exists():
            os.fchmod(out.fileno(), stat.S_IMODE(target.stat().st_mode))
        out.write(data)


def _check_cited_report_size(name: str, data: bytes) -> bytes:
    if len(data) > FILE_BYTES_MAX:
        raise _cited_report_size_error(name)
    return data


def _cited_report_size_error(name: str) -> InputError:
    return InputError(f"'{name}' is larger than {FILE_BYTES_MAX:,} bytes", hint="split the report")


# Save a report: its text, and a file with its citation metrics.


SUFFIX = ".citations.json"
"""Suffix of the metrics file, appended to the name of the report."""


class SavedReport(Struct, frozen=True):
    """The files of a saved report: its text, and its metrics in ``beside``."""

    path: Path
    beside: Path


def save_report_object(report: CitedReport, path: str | os.PathLike[str]) -> SavedReport:
    """Write a report as Markdown: with ``## Footnotes`` if it has ``[^x]`` markers, else with ``## References``.

    Each file is written atomically, the metrics first, so that a report always has its metrics. They contain the
    digest of the text, so that metrics of another text are recognized.
    """
    target = Path(os.path.abspath(path))
    beside = citation_metrics_path(target)
    data = report.text.encode("utf-8", "surrogatepass")
    write_citation_file(beside, encode_citation_metrics(_to_saved_report_info(report, data)))
    write_citation_file(target, data)
    return SavedReport(target, beside)


def citation_metrics_path(path: Path) -> Path:
    """Return the path of a report's metrics."""
    return path.with_name(f"{path.name}{SUFFIX}")


def _to_saved_report_info(report: CitedReport, data: bytes) -> SavedReportInfo:
    return SavedReportInfo(
        name=replace_citation_surrogates(report.name),
        digest=format_digest(digest_from_bytes(data)),
        passed=report.passed,
        quality_metrics=dict(report.quality_metrics),
        findings=[
            ReportFinding(
                finding.code.value, finding.line, finding.column, replace_citation_surrogates(finding.message)
            )
            for finding in report.audit.findings
        ],
        answers=[replace_citation_surrogates(attempt.words) for attempt in report.attempts],
        sources=[
            ReportSource(
                marker=marker or None,
                id=source.source_id,
                title=replace_citation_surrogates(source.title),
                url=source.url and replace_citation_surrogates(source.url),
            )
            for marker, source in zip(report.markers, report.sources, strict=True)
        ],
    )
