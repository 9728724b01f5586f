"""Reports as files: read whole, written whole or not at all; and the rules by which they are looked at."""

import os
import stat
from dataclasses import dataclass, replace
from pathlib import Path

from custody.cite.drafts import CitedReport
from custody.cite.markdown import whole_characters
from custody.cite.rules import CiteRules
from custody.cite.wire import ReportFinding, ReportSource, SavedReportInfo, encode_beside
from custody.core.errors import InputError
from custody.core.ids import digest_of
from custody.core.wire.body import digest_text
from custody.workspace.machine import open_atomic
from custody.workspace.rules_in_force import load_rules, load_user_rules
from custody.workspace.workspace import Workspace

STDIN = "-"
FILE_BYTES_MAX = 64 * 1024 * 1024
"""A larger file is no report."""


def rules_for(workspace: Workspace, coverage_min: float | None = None) -> CiteRules:
    """The rules in force; outside a repository those of the user. ``coverage_min`` stands above both."""
    rules = _in_force(workspace)
    return rules if coverage_min is None else replace(rules, coverage_min=coverage_min)


def _in_force(workspace: Workspace) -> CiteRules:
    try:
        workspace.repository  # noqa: B018 - only whether there is one
    except InputError:
        # A report may lie anywhere: without a repository there are no rules of one.
        return load_user_rules(workspace).of(CiteRules)
    return load_rules(workspace)[0].of(CiteRules)


def read_report(workspace: Workspace, name: str, stdin: bytes) -> bytes:
    """The bytes of a report; ``-`` is what came in."""
    if name == STDIN:
        return _checked(name, stdin)
    path = workspace.folder / name
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            raise InputError(f"'{name}' is no file", hint="name Markdown files, or - for what is piped in")
        if path.stat().st_size > FILE_BYTES_MAX:
            raise _too_large(name)
        return _checked(name, path.read_bytes())
    except OSError as error:
        raise InputError(
            f"cannot read '{name}': {error.strerror}", hint="name Markdown files that can be read"
        ) from error


def write_report(path: Path, data: bytes) -> None:
    """Put ``data`` in a file that keeps its mode, whole or not at all; a link's target is what is written."""
    place = path.resolve()
    with open_atomic(place, named=path) as out:
        if place.exists():
            os.fchmod(out.fileno(), stat.S_IMODE(place.stat().st_mode))
        out.write(data)


def _checked(name: str, data: bytes) -> bytes:
    if len(data) > FILE_BYTES_MAX:
        raise _too_large(name)
    return data


def _too_large(name: str) -> InputError:
    return InputError(
        f"'{name}' is larger than {FILE_BYTES_MAX:,} bytes", hint="a report is a text that a person reads"
    )


# Save a report: its text, and beside it what is known of its citations.


SUFFIX = ".citations.json"
"""The name of a report with this behind it is the file of its metrics."""


@dataclass(frozen=True, slots=True)
class SavedReport:
    """Where a report was saved, and where what is known of its citations."""

    path: Path
    beside: Path


def save_report_object(report: CitedReport, path: str | os.PathLike[str]) -> SavedReport:
    """Write a report as Markdown: with ``## Footnotes`` if it has ``[^x]`` markers, else with ``## References``.

    Each file is written whole or not at all, the metrics first: whoever sees the report finds them beside it. They hold
    the digest of the text, so that those of another text are never taken for its own.
    """
    place = Path(os.path.abspath(path))
    beside = beside_of(place)
    data = report.text.encode("utf-8", "surrogatepass")
    write_report(beside, encode_beside(_beside(report, data)))
    write_report(place, data)
    return SavedReport(place, beside)


def beside_of(path: Path) -> Path:
    """The file of a report's metrics."""
    return path.with_name(f"{path.name}{SUFFIX}")


def _beside(report: CitedReport, data: bytes) -> SavedReportInfo:
    return SavedReportInfo(
        name=whole_characters(report.name),
        digest=digest_text(digest_of(data)),
        passed=report.passed,
        quality_metrics=dict(report.quality_metrics),
        findings=[
            ReportFinding(finding.code.value, finding.line, finding.column, whole_characters(finding.message))
            for finding in report.audit.findings
        ],
        answers=[whole_characters(attempt.words) for attempt in report.attempts],
        sources=[
            ReportSource(
                marker=marker or None,
                id=source.source_id,
                title=whole_characters(source.title),
                url=source.url and whole_characters(source.url),
            )
            for marker, source in zip(report.markers, report.sources, strict=True)
        ],
    )
