"""The findings that a change adds to a text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from custody.cite.audit import find_new_citation_findings, find_unregistered_source_ids
from custody.cite.codes import CitationCode
from custody.cite.rules import CiteRules

RULES = CiteRules()
LIST = "\n## Sources\n\n1. [Rates](https://example.org/rates)\n2. [Yields](https://example.org/yields)\n"
FINE = f"Rates rose to 4.5 % in 2023 [1].\n\nYields fell by 12 % in March 2024 [2].\n{LIST}"
BROKEN = FINE.replace("[2].", "[2] and [3].")


def codes(after: str, before: str | None = None, *, is_report: bool = False) -> list[str]:
    data = None if before is None else before.encode()
    return [one.code.value for one in find_new_citation_findings(after.encode(), data, RULES, is_report=is_report)]


@pytest.mark.parametrize("is_report", [False, True])
def test_a_well_cited_text_adds_no_findings(is_report: bool) -> None:
    assert codes(FINE, is_report=is_report) == []


@pytest.mark.parametrize("is_report", [False, True])
def test_only_new_findings_are_reported(is_report: bool) -> None:
    assert codes(BROKEN, is_report=is_report) == ["CITE-UNKNOWN"]
    assert codes(BROKEN, FINE, is_report=is_report) == ["CITE-UNKNOWN"]
    assert codes(f"# Title\n\n{BROKEN}", BROKEN, is_report=is_report) == []
    assert codes(BROKEN.replace("and [3]", "and [3], [3]"), BROKEN, is_report=is_report) == ["CITE-UNKNOWN"]


def test_removing_a_source_reports_its_orphaned_markers() -> None:
    less = FINE.replace("2. [Yields](https://example.org/yields)\n", "")
    assert codes(less, FINE) == ["CITE-UNKNOWN"]


def test_a_report_must_be_well_cited_after_each_change() -> None:
    bare = "Rates rose to 4.5 % in 2023.\n"
    assert (
        codes(bare, is_report=True) == codes(f"{bare}More.\n", bare, is_report=True) == ["CITE-NONE", "CITE-COVERAGE"]
    )
    assert codes(bare) == []


@pytest.mark.parametrize(
    "other",
    [
        "Set bits[1] and bits[2], as step [3] says.\n",
        "## References\n\n- [Commands](commands.md)\n- [Settings](settings.md)\n",
        "Plain words.\n",
        "",
    ],
)
def test_usual_forms_of_other_documents_are_not_checked(other: str) -> None:
    assert codes(other) == []


def test_ids_are_looked_up_in_the_registry_once_it_has_a_source() -> None:
    assert find_unregistered_source_ids(b"As [S3] and [2] say.", 0) == ()
    assert find_unregistered_source_ids(b"As [S3] says.", 3) == ()
    (found,) = find_unregistered_source_ids(b"\n\nAs [S3] and [S4] say.", 3)
    assert (found.code, found.line, found.column) == (CitationCode.UNKNOWN, 3, 13)
    assert find_unregistered_source_ids(b"As [S4] says.\n\n## Sources\n\n- [S4] [A](https://example.org/a)\n", 3) == ()


@given(st.text(max_size=200), st.booleans())
def test_an_unchanged_text_reports_only_findings_about_the_whole(text: str, is_report: bool) -> None:
    assert set(codes(text, text, is_report=is_report)) <= {"CITE-NONE", "CITE-COVERAGE"}
