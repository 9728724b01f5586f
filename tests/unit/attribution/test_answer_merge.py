"""Neighbours that say the same are one answer, and nothing of them is lost."""

from typing import Any

from custody.attribution.engine import merge_findings
from custody.attribution.model import AttributionFinding
from custody.core.paths import Lines
from tests.unit.attribution.builders import LINKED, OTHER_FILE, a_candidate, a_segment, an_entry, found


def at(first: int, last: int, name: str | None = "t1", **fields: Any) -> AttributionFinding:
    """A finding for these lines; with a link it is of tier 4, else of tier 6, and without a name it is none."""
    segment = a_segment(lines=Lines(first, last), path=fields.get("path", a_segment().path))
    entries = (an_entry(first, last),)
    return found(*([a_candidate(name, *entries, **fields)] if name else []), segment=segment)


def lines(findings: list[AttributionFinding]) -> list[str]:
    return [str(one.lines) for one in merge_findings(findings)]


# Conformance: 000-097
def test_neighbours_of_one_trace_and_tier_are_one() -> None:
    findings = [at(1, 3), at(4, 4), at(5, 9)]
    assert lines(findings) == ["1-9"]
    assert merge_findings(findings)[0].findings == tuple(findings)


# Conformance: 000-097
def test_another_trace_or_another_tier_stays_apart() -> None:
    assert lines([at(1, 3), at(4, 6, "t2"), at(7, 9)]) == ["1-3", "4-6", "7-9"]
    assert lines([at(1, 3), at(4, 6, **LINKED)]) == ["1-3", "4-6"]


def test_lines_between_keep_two_apart() -> None:
    assert lines([at(1, 3), at(5, 6)]) == ["1-3", "5-6"]


def test_what_is_not_attributed_is_merged_by_its_reason() -> None:
    assert lines([at(1, 3, None), at(4, 6, None)]) == ["1-6"]
    not_enough = found(a_candidate("t1"), segment=a_segment(lines=Lines(4, 6)))
    assert lines([at(1, 3, None), not_enough]) == ["1-3", "4-6"]


def test_an_answer_and_none_stay_apart() -> None:
    assert lines([at(1, 3), at(4, 6, None), at(7, 9, None), at(10, 10)]) == ["1-3", "4-9", "10"]


def test_two_files_stay_apart() -> None:
    assert lines([at(1, 3), at(4, 6, path=OTHER_FILE)]) == ["1-3", "4-6"]


def test_nothing_merged_is_nothing() -> None:
    assert merge_findings([]) == []
