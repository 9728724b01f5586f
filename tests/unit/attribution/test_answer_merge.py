"""Adjacent findings with the same conclusion are merged without losing evidence."""

from typing import Any

from custody.attribution.engine import merge_findings
from custody.attribution.model import AttributionFinding
from custody.core.paths import Lines
from tests.unit.attribution.builders import LINKED, OTHER_FILE, a_candidate, a_segment, an_entry, find_author


def at(first: int, last: int, name: str | None = "t1", **fields: Any) -> AttributionFinding:
    """Return a finding for these lines: tier 4 with a link, else tier 6; no attribution without a name."""
    segment = a_segment(lines=Lines(first, last), path=fields.get("path", a_segment().path))
    entries = (an_entry(first, last),)
    return find_author(*([a_candidate(name, *entries, **fields)] if name else []), segment=segment)


def lines(findings: list[AttributionFinding]) -> list[str]:
    return [str(run.lines) for run in merge_findings(findings)]


# Conformance: 000-097
def test_adjacent_findings_of_one_trace_and_tier_are_merged() -> None:
    findings = [at(1, 3), at(4, 4), at(5, 9)]
    assert lines(findings) == ["1-9"]
    assert merge_findings(findings)[0].findings == tuple(findings)


# Conformance: 000-097
def test_findings_of_another_trace_or_tier_stay_separate() -> None:
    assert lines([at(1, 3), at(4, 6, "t2"), at(7, 9)]) == ["1-3", "4-6", "7-9"]
    assert lines([at(1, 3), at(4, 6, **LINKED)]) == ["1-3", "4-6"]


def test_findings_that_are_not_adjacent_stay_separate() -> None:
    assert lines([at(1, 3), at(5, 6)]) == ["1-3", "5-6"]


def test_findings_without_attribution_are_merged_by_reason() -> None:
    assert lines([at(1, 3, None), at(4, 6, None)]) == ["1-6"]
    not_enough = find_author(a_candidate("t1"), segment=a_segment(lines=Lines(4, 6)))
    assert lines([at(1, 3, None), not_enough]) == ["1-3", "4-6"]


def test_findings_with_and_without_attribution_stay_separate() -> None:
    assert lines([at(1, 3), at(4, 6, None), at(7, 9, None), at(10, 10)]) == ["1-3", "4-9", "10"]


def test_findings_of_two_files_stay_separate() -> None:
    assert lines([at(1, 3), at(4, 6, path=OTHER_FILE)]) == ["1-3", "4-6"]


def test_merging_no_findings_returns_none() -> None:
    assert merge_findings([]) == []
