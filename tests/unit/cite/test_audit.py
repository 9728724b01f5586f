import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from custody.cite.audit import CHECKS, READING_CODES, RECORD_CODES, Audit, audit_citations
from custody.cite.codes import CODES, CitationCode
from custody.cite.convert import ConversionTarget, convert_citations
from custody.cite.opened_check import CHECKS as READING_CHECKS
from custody.cite.rules import CiteRules
from custody.cite.subject import AuditSubject
from custody.core.errors import RulesError
from tests.builders.table import table
from tests.unit.cite.reports import PASSING, a_report

RULES = CiteRules()


def audit(data: bytes, rules: CiteRules) -> Audit:
    return audit_citations(AuditSubject.of(data), rules)


def codes(data: bytes, rules: CiteRules = RULES) -> set[str]:
    return {finding.code.value for finding in audit(data, rules).findings}


def found(data: bytes, code: CitationCode) -> list[tuple[int, int, str]]:
    return [(one.line, one.column, one.message) for one in audit(data, RULES).findings if one.code is code]


def changed(old: bytes, new: bytes) -> bytes:
    assert old in PASSING
    return PASSING.replace(old, new)


def test_a_report_that_is_in_order_passes() -> None:
    assert audit(PASSING, RULES) == Audit((), audit(PASSING, RULES).coverage, markers=3, sources=2)
    assert (audit(PASSING, RULES).coverage.cited, audit(PASSING, RULES).coverage.total) == (3, 3)


# Conformance: 003-005, 003-067, 003-090, 003-092
@table(
    ("data", "code", "place"),
    [
        (b"# Title\n\nNothing here rests on anything.\n", CitationCode.NONE, (1, 1)),
        (changed(b"[2].", b"[7]."), CitationCode.UNKNOWN, (3, 82)),
        (changed(b"[1, 2]", b"[1, 9]"), CitationCode.UNKNOWN, (5, 32)),
        (changed(b"agency [2]", b"agency [1]").replace(b"[1, 2]", b"[1]"), CitationCode.UNUSED, (10, 1)),
        (
            changed(b"2. Annual", b"3. Annual").replace(b"2].", b"3].").replace(b", 2]", b", 3]"),
            CitationCode.GAP,
            (10, 1),
        ),
        (changed(b"[1]. Catches", b"[2]. Catches").replace(b"agency [2]", b"agency [1]"), CitationCode.ORDER, (3, 82)),
        (changed(b"/review", b"/statistics?utm_source=x#top"), CitationCode.TWICE, (10, 1)),
        (changed(b"1. F", b"- [1] F").replace(b"2. A", b"- [1] Other\n- [2] A"), CitationCode.CLASH, (10, 1)),
        (changed(b"/review", b"/"), CitationCode.DOMAIN, (10, 1)),
        (changed(b"Annual review <https://example.org/review>", b"example.org"), CitationCode.DOMAIN, (10, 1)),
        (changed(b"<https://example.org/review>", b"javascript:alert(1)"), CitationCode.SCHEME, (10, 1)),
        (changed(b"Boats", b"[Boats](javascript:alert(1))"), CitationCode.SCHEME, (5, 1)),
        (changed(b"Annual review <https://example.org/review>", b""), CitationCode.EMPTY, (10, 1)),
        (changed(b"1. F", b"[1] F").replace(b"2. A", b"[2] A"), CitationCode.LIST, (10, 1)),
        (changed(b"[1, 2]", b"[2-1]"), CitationCode.RANGE, (5, 32)),
        (b"Prices rose by 12% [^1].\n\n[^1]: see [^1] https://example.org/a\n", CitationCode.CIRCLE, (3, 1)),
        (changed(b" [1]. C", b". C").replace(b" [2].", b"."), CitationCode.COVERAGE, (1, 1)),
        (changed(b"rose", b"r\xffse"), CitationCode.TEXT, (3, 12)),
        (changed(b"rose", b"r\x00se"), CitationCode.TEXT, (3, 12)),
    ],
)
def test_each_fault_is_found_at_its_position_and_no_other(
    data: bytes, code: CitationCode, place: tuple[int, int]
) -> None:
    follows = {CitationCode.NONE: CitationCode.COVERAGE, CitationCode.CLASH: CitationCode.UNUSED}
    assert codes(data) <= {code.value, follows.get(code, code).value}
    assert [one[:2] for one in found(data, code)] == [place]


@table(
    ("entry", "is_bare"),
    [
        ("<example.org>", True),
        ("**example.org**.", True),
        ("Annual review (example.org)", True),
        ("Annual review, example.org", True),
        ("Ana (2020). Annual review. www.example.org/", True),
        ("https://example.org/?utm_source=x", True),
        ("https://example.org/?id=3", False),
        ("Annual review of example.org", False),
        ("Annual review, example.org/review", False),
        ("example.org, https://example.org/review2", False),
        ("Annual review (plan.md)", False),
        ("Write to: ana@example.org", False),
    ],
)
def test_a_bare_domain_is_found_in_any_spelling(entry: str, is_bare: bool) -> None:
    data = changed(b"Annual review <https://example.org/review>", entry.encode())
    assert (CitationCode.DOMAIN.value in codes(data)) is is_bare


def test_every_code_has_a_check_a_meaning_and_a_remedy() -> None:
    assert set(CODES) == set(CitationCode)
    assert set(CHECKS) == set(CitationCode) - {CitationCode.COVERAGE, CitationCode.SUPPORT, *RECORD_CODES}
    assert tuple(READING_CHECKS) == READING_CODES
    for about in CODES.values():
        assert about.name and about.meaning.endswith(".") and not about.remedy.endswith(".")


# Conformance: 003-092
def test_ids_may_have_gaps_and_any_order() -> None:
    text = b"Prices rose by 12% [S9]. Catches fell by 3% [S4].\n\n## Sources\n\n- [S4] A <https://example.org/a>\n"
    assert codes(text + b"- [S9] B <https://example.org/b>\n") == set()


def test_a_list_is_checked_as_it_renders() -> None:
    assert codes(changed(b"2. Annual", b"1. Annual")) == set()


def test_numbers_of_one_marker_are_used_together() -> None:
    text = changed(b"[1]. Catches", b"[2, 1]. Catches")
    assert codes(text) == set()


def test_the_same_title_without_a_url_is_a_duplicate() -> None:
    text = b"Prices rose by 12% [1]. Catches fell by 3% [2].\n\n## Sources\n\n1. The Review\n2. The review.\n"
    assert codes(text) == {"CITE-TWICE"}


def test_a_report_that_cites_by_links_is_cited() -> None:
    text = b"Prices rose by 12%, says [the agency](https://example.org/a).\n\n## References\n\n- A <https://example.org/a>\n"
    assert codes(text) == set()
    assert codes(text.replace(b"[the agency](https://example.org/a)", b"the agency")) >= {"CITE-NONE", "CITE-UNUSED"}


def test_in_a_report_with_markers_a_link_does_not_cite() -> None:
    text = changed(b"Boats were smaller than before [1, 2].", b"See [the review](https://example.org/review).")
    assert codes(text.replace(b" [2].", b".")) >= {"CITE-UNUSED"}


def test_columns_count_characters() -> None:
    text = "价格上涨了12%[1]，又[7]。\n\n## 来源\n\n1. 甲 <https://example.org/a>\n".encode()
    assert found(text, CitationCode.UNKNOWN) == [(1, 14, "[7] is not in the source list")]


def test_all_line_ends_count() -> None:
    for end in (b"\n", b"\r\n", b"\r"):
        assert found(changed(b"[1, 2]", b"[1, 9]").replace(b"\n", end), CitationCode.UNKNOWN)[0][:2] == (5, 32)


# Conformance: 003-093
def test_the_minimum_of_coverage_is_a_rule() -> None:
    half = changed(b" [2].", b".").replace(b"[1, 2]", b"[2]").replace(b"than before [2]", b"than before [2]")
    assert "CITE-COVERAGE" not in codes(half, CiteRules(coverage_min=0.6))
    assert "CITE-COVERAGE" in codes(half, CiteRules(coverage_min=0.7))
    with pytest.raises(RulesError, match=re.escape("'cite.coverage_min' is 2, above 1")):
        CiteRules(coverage_min=2)


def test_messages_are_printable() -> None:
    text = b"Prices rose by 12% [1] [2].\n\n## Sources\n\n1. A \xff\n2. \xff\xfe https://example.org/\n"
    messages = [finding.message for finding in audit(text, RULES).findings]
    assert messages and all(message.isprintable() for message in messages)


@given(a_report())
@settings(deadline=None)
def test_an_audit_is_the_same_every_time_and_in_the_order_of_the_text(data: bytes) -> None:
    first = audit(data, RULES)
    assert audit(data, RULES) == first
    places = [(one.line, one.column) for one in first.findings]
    assert places == sorted(places)


# Conformance: 003-091, 003-096
@given(st.integers(1, 6), st.sampled_from(list(ConversionTarget)), st.data())
@settings(deadline=None)
def test_a_passing_report_fails_without_all_markers_of_any_one_source(
    count: int, to: ConversionTarget, data: st.DataObject
) -> None:
    said = "".join(f"Prices rose by {n}% in the year [{n}]. " for n in range(1, count + 1))
    said += data.draw(st.sampled_from(("", "Boats are small [1].", "`[1]`", "See [this](https://example.org/1).")))
    rows = "\n".join(f"{n}. Title {n} <https://example.org/{n}>" for n in range(1, count + 1))
    report = convert_citations(f"{said}\n\n## Sources\n\n{rows}\n".encode(), to).text
    assert codes(report) == set()
    gone = data.draw(st.integers(1, count))
    head, mark, tail = report.partition(b"\n\n## ")
    sign = {ConversionTarget.FOOTNOTES: b"^", ConversionTarget.SOURCES: b"", ConversionTarget.MARKERS: b"S"}[to]
    less = re.sub(rb"(?<!`)\[" + re.escape(sign) + str(gone).encode() + rb"\](?!`)", b"", head)
    assert "CITE-UNUSED" in codes(less + mark + tail)


def test_a_megabyte_on_one_line_is_audited() -> None:
    text = b"Prices rose by 12% in the year. " * 33_000 + b"\n\n## Sources\n\n1. A <https://example.org/a>\n"
    assert codes(text) == {"CITE-NONE", "CITE-COVERAGE", "CITE-UNUSED"}


@pytest.mark.parametrize("data", [b"", b"\n\n", b"\xff", b"\x00", b"[", b"[^", b"## Sources", b"## Sources\n\n1."])
def test_tiny_texts_are_audited(data: bytes) -> None:
    assert "CITE-NONE" in codes(data)
