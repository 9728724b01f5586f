"""Drafts under the contract: what passes, what fails, and the report made from them."""

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from custody.cite.audit import audit_citations
from custody.cite.codes import CitationCode
from custody.cite.drafts import (
    CitationWarning,
    ReportDraft,
    audit_draft,
    cited_report,
    find_cited_sections,
    render_draft_footnotes,
)
from custody.cite.footnotes import FootnoteFormatter
from custody.cite.keys import clean_source
from custody.cite.model import ResearchSource
from custody.cite.rules import CiteRules
from custody.cite.subject import AuditSubject
from tests.unit.cite.drafts import SOURCES, TEXT, a_passing_text, a_wild_text, some_sources, without

RULES = CiteRules()
FORMAT = FootnoteFormatter()
ABOUT_SOURCES = {CitationCode.DOMAIN, CitationCode.TWICE, CitationCode.CLASH, CitationCode.EMPTY, CitationCode.SCHEME}


def codes(text: str, sources: tuple[ResearchSource, ...] = SOURCES) -> list[tuple[str, int, int]]:
    found = audit_draft(ReportDraft.of(text.encode(), sources), RULES).findings
    return [(one.code.value, one.line, one.column) for one in found]


def saved(text: str, sources: tuple[ResearchSource, ...] = SOURCES) -> str:
    return render_draft_footnotes(ReportDraft.of(text.encode(), sources)).text.decode()


# Conformance: 003-004
def test_a_text_that_cites_every_source_passes_and_becomes_footnotes() -> None:
    assert codes(TEXT) == []
    assert (
        saved(TEXT)
        == """# Prices of mackerel

The price rose by 12% in 2024 [^1]. Catches fell to 3,000 tonnes, says the agency [^2].

## Boats

Boats were smaller than before [^3][^2].

## Footnotes

[^1]: Annual review <https://example.org/review>
[^2]: Fishery statistics <https://example.org/statistics>
[^3]: An interview
"""
    )


# Conformance: 003-067, 003-090
@pytest.mark.parametrize(
    ("text", "found"),
    [
        (TEXT.replace("[S7]", ""), [("CITE-UNUSED", 1, 1)]),
        (TEXT.replace("[S7]", "[S7][S9]"), [("CITE-UNKNOWN", 7, 36)]),
        (
            TEXT.replace(" [S2]", "").replace("agency [S1]", "agency").replace("[S7]", "[S7][S2]"),
            [("CITE-COVERAGE", 1, 1)],
        ),
        (TEXT.replace("[S7]", "[^7]"), [("CITE-UNUSED", 1, 1), ("CITE-UNKNOWN", 7, 32)]),
        (TEXT.replace("[S7]", "[7](https://example.org/x)"), [("CITE-UNUSED", 7, 32)]),
        (TEXT.replace("[S7]", "[S7-S2]"), [("CITE-UNKNOWN", 7, 32)] * 4 + [("CITE-RANGE", 7, 32)]),
        (TEXT.replace("rose", "r\0se"), [("CITE-TEXT", 3, 12)]),
    ],
)
def test_each_fault_is_found_at_its_position(text: str, found: list[tuple[str, int, int]]) -> None:
    assert codes(text) == found


def test_without_a_marker_there_are_references_in_the_order_of_ids() -> None:
    assert saved("Nothing is said.\n").endswith(
        "said.\n\n## References\n\n1. Fishery statistics <https://example.org/statistics>\n"
        "2. Annual review <https://example.org/review>\n3. An interview\n"
    )


def test_a_list_in_the_draft_is_replaced() -> None:
    own = TEXT + "\n## Sources\n\n- [S1] Fishery statistics https://example.org/statistics#top\n- [S7] *An* interview\n"
    assert codes(own) == []
    assert saved(own) == saved(TEXT)


@pytest.mark.parametrize(
    ("entry", "code"),
    [
        ("- [S1] Another page https://evil.example/page", "CITE-CLASH"),
        ("- [S9] Invented https://evil.example/page", "CITE-UNKNOWN"),
        ("- Invented https://evil.example/page", "CITE-UNKNOWN"),
        ("[^note]: an aside", "CITE-UNKNOWN"),
    ],
)
def test_a_listed_entry_that_is_not_a_source_is_reported_and_not_saved(entry: str, code: str) -> None:
    own = f"{TEXT}\n## Sources\n\n{entry}\n"
    assert codes(own) == [(code, 11, 1)]
    assert saved(own) == saved(TEXT)


def test_a_list_in_the_middle_does_not_shift_positions() -> None:
    text = TEXT.replace("## Boats", "[^x]: an aside\n    over two lines\n\n## Boats").replace("[S7]", "[S7][S9]")
    assert codes(text) == [("CITE-UNKNOWN", 5, 1), ("CITE-UNKNOWN", 10, 36)]
    assert "aside" not in saved(text) and "  \n" not in saved(text)


@pytest.mark.parametrize("opened", ["```\ncode", "<!-- note", "<pre>\nx"])
def test_a_text_that_would_hide_its_list_fails_and_stays_complete(opened: str) -> None:
    text = f"{TEXT}\n{opened}"
    found = [one[0] for one in codes(text)]
    assert "CITE-LIST" in found and found.count("CITE-UNUSED") == len(SOURCES)
    assert saved(text).startswith(text) and "- [S7] An interview" in saved(text)


def test_sections_are_named_by_their_headings() -> None:
    text = f"Words of 2024 [S2].\n\n{TEXT}".replace("## Boats", "Small `boats`\n----")
    assert find_cited_sections(ReportDraft.of(text.encode(), SOURCES), "fish") == {
        "S1": ("fish#Prices of mackerel", "fish#Small boats"),
        "S2": ("fish", "fish#Prices of mackerel"),
        "S7": ("fish#Small boats",),
    }


# Conformance: 003-085
def test_a_report_carries_its_metrics_and_its_warning() -> None:
    fine = cited_report(TEXT, SOURCES)
    assert fine.passed and fine.warning is None
    assert fine.quality_metrics == {"citation_coverage": 1.0, "orphaned_sources": 0.0, "audit_failures": 0.0}
    assert [one.source_id for one in fine.sources] == ["S2", "S1", "S7"]
    assert fine.markers == ("[^1]", "[^2]", "[^3]")
    failed = cited_report(TEXT.replace("[S7]", "[S9]"), SOURCES, name="fish")
    assert not failed.passed
    assert failed.quality_metrics == {"citation_coverage": 1.0, "orphaned_sources": 1.0, "audit_failures": 1.0}
    assert isinstance(failed.warning, CitationWarning) and failed.warning.report is failed
    assert str(failed.warning) == ("'fish' breaks the citation contract after 1 answer: CITE-UNUSED, CITE-UNKNOWN")


def test_invisible_characters_of_a_source_are_not_saved() -> None:
    hidden = ResearchSource(source_id="S1", title="A\x1b[2J\0 page", url="https://ana:secret@example.org/a")
    report = cited_report("The price rose by 12% [S1].\n", [hidden])
    assert report.text.endswith("[^1]: A \\[2J page <https://example.org/a>\n")


def test_a_lone_surrogate_is_reported_and_breaks_nothing() -> None:
    report = cited_report(TEXT.replace("rose", "r\ud800se"), SOURCES)
    assert [one.code for one in report.audit.findings] == [CitationCode.TEXT]
    assert "r\ud800se" in report.text


# Conformance: 003-066, 003-084
@settings(deadline=None)
@given(st.data())
def test_footnotes_are_the_sources_each_once_by_first_use(data: st.DataObject) -> None:
    sources = data.draw(some_sources())
    text = data.draw(a_passing_text(sources))
    draft = ReportDraft.of(text.encode(), sources)
    assert audit_draft(draft, RULES).findings == ()
    made = render_draft_footnotes(draft)
    first = dict.fromkeys(
        str(use.label) if str(use.label)[0] == "S" else f"S{use.label}" for use in AuditSubject.of(draft.whole).uses
    )
    assert [one.source_id for one in made.sources] == list(first)
    end = "\r\n" if "\r\n" in text else "\n"
    lines = [FORMAT.format_footnote(n, clean_source(one)) for n, one in enumerate(made.sources, start=1)]
    assert made.text.decode().endswith(end.join(["", "## Footnotes", "", *lines, ""]))
    assert {one.source_id for one in made.sources} == {one.source_id for one in sources}


# Conformance: 003-091
@settings(deadline=None)
@given(st.data())
def test_removing_all_markers_of_any_one_source_makes_a_passing_text_fail(data: st.DataObject) -> None:
    sources = data.draw(some_sources())
    text = data.draw(a_passing_text(sources))
    gone = data.draw(st.sampled_from([str(one.source_id) for one in sources]))
    found = audit_draft(ReportDraft.of(without(text, gone).encode(), sources), RULES).findings
    assert any(one.code is CitationCode.UNUSED and f"[{gone}]" in one.message for one in found)


@settings(deadline=None)
@given(st.data())
def test_a_saved_report_passes_the_audit_of_files_but_for_its_sources_themselves(data: st.DataObject) -> None:
    sources = tuple(one for one in data.draw(some_sources()) if one.title.startswith(("Prices", "Generic", "# A_b")))
    sources = sources or SOURCES
    text = data.draw(a_passing_text(sources))
    found = audit_citations(AuditSubject.of(saved(text, sources).encode()), RULES).findings
    assert [one for one in found if one.code not in ABOUT_SOURCES] == []


@settings(deadline=None, max_examples=300)
@given(a_wild_text())
@example("Prices rose by 12%. It rose by 12% [S1][S2][S7].[7](https://example.org/x)## Sources\n**References**\n")
def test_what_passes_as_a_draft_passes_as_a_file(text: str) -> None:
    report = cited_report(text, SOURCES)
    if report.passed:
        assert audit_citations(AuditSubject.of(report.text.encode()), RULES).findings == ()
        assert "## Footnotes" in report.text


@settings(deadline=None)
@given(st.text(alphabet=st.sampled_from("ab12[]S^#`<>-|*:.$\\ \n\r\t!~【】é"), max_size=80))
def test_any_text_is_audited_and_kept(text: str) -> None:
    report = cited_report(text, SOURCES)
    assert report == cited_report(text, SOURCES)
    assert {one.source_id for one in report.sources} == {one.source_id for one in SOURCES}
    assert all(line in report.text for line in (FORMAT.format_source(one) for one in SOURCES))
