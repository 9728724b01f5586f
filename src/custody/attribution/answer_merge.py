"""Neighbouring findings as one answer (document 000, section 11)."""

from collections.abc import Sequence
from dataclasses import dataclass

from custody.attribution.model import AttributionFinding, TraceAttribution
from custody.core.lines import Lines


@dataclass(frozen=True, slots=True)
class AttributionRun:
    """Neighbouring segments that say the same; each keeps its own finding, so that no evidence is lost."""

    lines: Lines
    findings: tuple[AttributionFinding, ...]


def merge_findings(findings: Sequence[AttributionFinding]) -> list[AttributionRun]:
    """Findings of one file in the order of its lines, those with the same trace and tier side by side as one."""
    made: list[AttributionRun] = []
    for finding in findings:
        if made and _belongs(made[-1].findings[-1], finding):
            lines = Lines(made[-1].lines.first, finding.segment.lines.last)
            made[-1] = AttributionRun(lines, (*made[-1].findings, finding))
        else:
            made.append(AttributionRun(finding.segment.lines, (finding,)))
    return made


def _belongs(before: AttributionFinding, after: AttributionFinding) -> bool:
    neighbours = before.segment.lines.last + 1 == after.segment.lines.first
    return neighbours and before.segment.path == after.segment.path and _says(before) == _says(after)


def _says(finding: AttributionFinding) -> tuple[object, ...]:
    if isinstance(finding, TraceAttribution):
        return (finding.candidate.trace, finding.tier)
    return (finding.reason,)
