"""Save a report: its text, and beside it what is known of its citations."""

import os
from dataclasses import dataclass
from pathlib import Path

from custody.cite.app.report_file import write_report
from custody.cite.markdown_text import whole_characters
from custody.cite.report import CitedReport
from custody.cite.wire.audit import ReportFinding
from custody.cite.wire.writing import ReportSource, SavedReportInfo, encode_beside
from custody.core.digest import digest_of
from custody.core.wire.body import digest_text

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
