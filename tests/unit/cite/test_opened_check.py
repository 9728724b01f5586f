"""Checks of readings: never opened, opened late, quoted from a summary."""

from collections.abc import Mapping, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from custody.cite.codes import CitationCode
from custody.cite.opened_check import CHECKS, PageReading, Readings, WritingTimes, is_public_source_page
from custody.cite.subject import AuditSubject
from custody.core.views import Reading

PAGE = "https://example.org/a"
REPORT = f"""# Report

Catches fell by 12% in 2024 [1].

The agency says that "the northern grounds were closed for a year" [1].

## Sources

1. A page <{PAGE}>
"""
CITING, QUOTING, LISTING = 3, 5, 9
ALL = dict.fromkeys(range(1, 20), 1000)


def opening(reading: Reading = Reading.VERBATIM, at: int = 500, url: str = PAGE, **more: object) -> PageReading:
    return PageReading(url, reading, at, **more)  # type: ignore[arg-type]


def failed(code: int | None = None) -> PageReading:
    return opening(Reading.ATTEMPTED, failed=True, code=code)


def found(
    openings: Sequence[PageReading], text: str = REPORT, lines: Mapping[int, int | None] = ALL
) -> list[tuple[CitationCode, int, str]]:
    subject = AuditSubject.of(text.encode())
    written = WritingTimes(lines, Readings(openings))
    made = [one for check in CHECKS.values() for one in check(subject, written)]
    return [(one.code, subject.layout.place(one.at).line, one.message) for one in made]


def test_a_source_read_before_has_no_finding() -> None:
    assert found([opening()]) == []
    assert found([opening(Reading.EXCERPT)]) == []


@pytest.mark.parametrize(
    ("openings", "why"),
    [
        ([], "no recorded call names it"),
        ([opening(Reading.LISTED)], "a search only listed it"),
        ([opening(Reading.LISTED), failed(404)], "the attempt failed with status 404"),
        ([failed()], "the attempt failed"),
        ([opening(url="https://example.org/b")], "no recorded call names it"),
        ([opening(url="https://example.org/A")], None),
    ],
)
def test_a_source_never_opened_is_reported_at_its_entry(openings: list[PageReading], why: str | None) -> None:
    unread = [one for one in found(openings) if one[0] is CitationCode.UNREAD]
    assert unread == ([] if why is None else [(CitationCode.UNREAD, LISTING, f"[1] was never opened: {why}")])


@pytest.mark.parametrize(
    "opened",
    [
        "http://www.example.org/a/",
        "https://example.org/a?utm_source=x",
        "https://example.org/a#part",
        "https://web.archive.org/web/2020/https://example.org/a",
    ],
)
def test_another_spelling_of_the_page_is_the_same_page(opened: str) -> None:
    assert found([opening(url=opened)]) == []


@pytest.mark.parametrize(
    "doubt",
    [
        opening(Reading.ATTEMPTED),
        opening(Reading.ATTEMPTED, url="https://example.org/"),
        failed(301),
    ],
    ids=["a program was given it", "a program was given the host", "it has moved"],
)
def test_doubt_causes_no_finding(doubt: PageReading) -> None:
    assert found([doubt]) == []
    assert found([doubt, opening(at=2000)]) == []
    assert found([doubt, opening(Reading.SUMMARISED)]) == []


def test_a_source_opened_only_afterwards_is_reported_at_its_first_citation() -> None:
    second = 1_000_000_000
    late = found([opening(at=1000 + 150 * second)])
    assert late == [(CitationCode.LATE, CITING, "[1] was opened only 2 minutes after this was written")]
    assert found([opening(Reading.LISTED, at=1), opening(at=1000 + 3 * second)]) == [
        (CitationCode.LATE, CITING, "[1] was opened only 3 seconds after this was written")
    ]
    assert found([opening(), opening(at=2000)]) == [], "it was also opened before"


def test_a_line_with_unknown_writing_time_is_never_late() -> None:
    assert found([opening(at=2000)], lines=dict.fromkeys(ALL)) == []


def test_a_quotation_from_a_page_read_only_as_a_summary_is_reported() -> None:
    ((code, line, message),) = found([opening(Reading.SUMMARISED, text="They closed the grounds.")])
    assert (code, line) == (CitationCode.SUMMARY, QUOTING)
    assert message.endswith("from [1], but only a summary was read, and it does not have these words")
    words = "It says: “The northern  grounds were closed for a year”."
    ((_, _, message),) = found([opening(Reading.SUMMARISED, text=words)])
    assert message.endswith("and it has these words")
    assert found([opening(Reading.SUMMARISED), opening(Reading.EXCERPT)]) == [], "more than a summary was read too"


def test_a_quotation_of_its_own_block_counts() -> None:
    text = f"> The northern grounds were closed for a whole year [1].\n\n## Sources\n\n1. A page <{PAGE}>\n"
    assert [(code, line) for code, line, _ in found([opening(Reading.SUMMARISED)], text)] == [(CitationCode.SUMMARY, 1)]


def test_a_term_in_quotation_marks_is_not_a_quotation() -> None:
    text = f'The "northern grounds" fell by 12% [1].\n\n## Sources\n\n1. A page <{PAGE}>\n'
    assert found([opening(Reading.SUMMARISED)], text) == []


def test_only_lines_with_records_are_checked() -> None:
    assert found([], lines={CITING: 1000}) == [], "the list is not the agent's"
    assert found([opening(at=2000)], lines={QUOTING: 1000, LISTING: 1000}) == [
        (CitationCode.LATE, QUOTING, "[1] was opened only 0 seconds after this was written")
    ]
    assert found([opening(Reading.SUMMARISED)], lines={LISTING: 1000}) == []


def test_without_a_list_links_in_statements_are_checked() -> None:
    text = (
        f"Catches fell by 12% in 2024, [says the agency]({PAGE}).\n\n"
        "This page is made with [a tool](https://tool.example/start).\n\nIt fell by 3% at [Home](https://example.org/).\n"
    )
    assert found([], text) == [
        (CitationCode.UNREAD, 1, f"'{PAGE}' was never opened: no recorded call names it"),
    ]


def test_only_web_pages_are_checked() -> None:
    text = "It fell by 12% [1], and by 3% [2].\n\n## Sources\n\n1. Local <http://localhost:8000/x>\n2. A talk by Ana\n"
    assert found([], text) == []


@given(st.lists(st.sampled_from([opening(r, at) for r in Reading for at in (500, 2000)]), max_size=5))
def test_one_more_reading_before_never_makes_it_worse(openings: list[PageReading]) -> None:
    before = {code for code, _, _ in found(openings)}
    after = {code for code, _, _ in found([*openings, opening(Reading.VERBATIM, 1)])}
    assert after == set()
    assert CitationCode.UNREAD not in before or not any(one.is_opened for one in openings)


@given(st.text(max_size=40))
def test_any_locator_gives_a_result(text: str) -> None:
    assert is_public_source_page(f"https://{text}") in (True, False)
    assert Readings([PageReading(text, Reading.LISTED, 1)]).is_doubtful(text) is False
