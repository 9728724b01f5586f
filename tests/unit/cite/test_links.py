"""Verdicts, stored link checks, and rate limits."""

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from custody.cite.links import (
    DAY_NS,
    FAILURES,
    FAILURES_KEPT_MAX,
    HOUR_NS,
    SECOND_NS,
    Hop,
    LinkAnswer,
    LinkCheck,
    LinkMemory,
    LinkVerdict,
    count_link_failures,
    is_link_stale,
    judge_link,
    link_answer_from_status,
    link_check_from_hops,
    link_rate_limit_end_ns,
    parse_link_retry_seconds,
    select_informative_checks,
    update_link_memory,
)
from custody.cite.rules import CiteRules
from custody.core.errors import RulesError
from tests.builders.table import table

RULES = CiteRules()
URL = "https://example.org/a"
answers = st.sampled_from(list(LinkAnswer))
hours = st.integers(0, 72)


def a_look(answer: LinkAnswer = LinkAnswer.HERE, **fields: Any) -> LinkCheck:
    return LinkCheck(**{"url": URL, "answer": answer, "why": "so", "status": 200, **fields})


def after(*looks: tuple[LinkAnswer, float]) -> LinkMemory:
    """Return the memory of checks, each this many hours after the first."""
    memory: LinkMemory | None = None
    for answer, at_hours in looks:
        memory = update_link_memory(memory, a_look(answer), int(at_hours * HOUR_NS))
    assert memory is not None
    return memory


@pytest.mark.parametrize(
    ("answer", "verdict"),
    [
        (LinkAnswer.HERE, LinkVerdict.ALIVE),
        (LinkAnswer.MOVED, LinkVerdict.MOVED),
        (LinkAnswer.REFUSED, LinkVerdict.BLOCKED),
        (LinkAnswer.ABSENT, LinkVerdict.UNREACHABLE),
        (LinkAnswer.SILENT, LinkVerdict.UNREACHABLE),
    ],
)
def test_the_first_check_never_says_gone(answer: LinkAnswer, verdict: LinkVerdict) -> None:
    assert judge_link(after((answer, 0)), RULES) is verdict


@pytest.mark.parametrize("failure", [LinkAnswer.ABSENT, LinkAnswer.SILENT])
def test_gone_needs_three_failures_with_a_day_between(failure: LinkAnswer) -> None:
    assert judge_link(after((failure, 0), (failure, 24), (failure, 48)), RULES) is LinkVerdict.GONE
    assert judge_link(after((failure, 0), (failure, 24), (failure, 47.9)), RULES) is LinkVerdict.UNREACHABLE
    assert judge_link(after((failure, 0), (failure, 1), (failure, 2), (failure, 3)), RULES) is LinkVerdict.UNREACHABLE


def test_a_success_in_between_resets_the_count() -> None:
    for answer in (LinkAnswer.HERE, LinkAnswer.MOVED):
        memory = after((LinkAnswer.ABSENT, 0), (LinkAnswer.ABSENT, 24), (answer, 36), (LinkAnswer.ABSENT, 48))
        assert judge_link(memory, RULES) is LinkVerdict.UNREACHABLE
        assert count_link_failures(memory, RULES) == 1


def test_denied_access_says_nothing_about_the_page() -> None:
    memory = after((LinkAnswer.ABSENT, 0), (LinkAnswer.ABSENT, 24), (LinkAnswer.REFUSED, 36))
    assert judge_link(memory, RULES) is LinkVerdict.BLOCKED
    assert judge_link(update_link_memory(memory, a_look(LinkAnswer.SILENT), 48 * HOUR_NS), RULES) is LinkVerdict.GONE


def test_another_url_starts_a_new_count() -> None:
    memory = after((LinkAnswer.ABSENT, 0), (LinkAnswer.ABSENT, 24))
    memory = update_link_memory(memory, a_look(LinkAnswer.ABSENT, url="https://example.org/b"), 48 * HOUR_NS)
    assert count_link_failures(memory, RULES) == 1


def test_count_and_spacing_are_rules() -> None:
    memory = after((LinkAnswer.ABSENT, 0), (LinkAnswer.ABSENT, 1))
    assert judge_link(memory, CiteRules(link_gone_after=2, link_gone_spacing_hours=1)) is LinkVerdict.GONE
    assert judge_link(memory, CiteRules(link_gone_after=2, link_gone_spacing_hours=2)) is LinkVerdict.UNREACHABLE


@given(st.lists(st.tuples(answers, hours), min_size=1, max_size=30))
def test_gone_needs_that_many_failures_that_far_apart(said: list[tuple[LinkAnswer, int]]) -> None:
    at, looks = 0, []
    for answer, later in said:
        at += later
        looks.append((answer, float(at)))
    memory = after(*looks)
    run: list[float] = []
    for answer, moment in looks:
        if answer in FAILURES:
            run.append(moment)
        elif answer is not LinkAnswer.REFUSED:
            run.clear()
    spaced: list[float] = []
    for moment in run:
        if not spaced or moment - spaced[-1] >= 24:
            spaced.append(moment)
    is_gone = looks[-1][0] in FAILURES and len(spaced) >= 3
    assert (judge_link(memory, RULES) is LinkVerdict.GONE) == is_gone
    assert is_gone <= (at >= 48)


@given(st.integers(FAILURES_KEPT_MAX, 200), st.integers(1, 30))
def test_stored_failures_are_bounded_and_still_lead_to_gone(count: int, minutes: int) -> None:
    memory = after(*((LinkAnswer.SILENT, n * minutes / 60) for n in range(count)))
    first = memory.failures_ns[0]
    assert len(memory.failures_ns) <= FAILURES_KEPT_MAX
    assert (first, memory.failures_ns[-1]) == (0, memory.at_ns)
    for day in range(1, 4):
        memory = update_link_memory(memory, a_look(LinkAnswer.SILENT), memory.at_ns + day * DAY_NS)
    assert judge_link(memory, RULES) is LinkVerdict.GONE


@given(st.lists(st.integers(0, 10**6), min_size=1, max_size=120))
def test_forgetting_never_makes_a_verdict_harsher(gaps: list[int]) -> None:
    moments, at, memory = [], 0, None
    for gap in gaps:
        at += gap * SECOND_NS
        moments.append(at)
        memory = update_link_memory(memory, a_look(LinkAnswer.SILENT), at)
    assert memory is not None
    whole = LinkMemory(last=memory.last, at_ns=at, failures_ns=tuple(moments))
    assert count_link_failures(memory, RULES) <= count_link_failures(whole, RULES)


def test_without_any_answer_no_failure_counts() -> None:
    silent, absent = a_look(LinkAnswer.SILENT, status=None), a_look(LinkAnswer.ABSENT, status=None)
    refused = a_look(LinkAnswer.REFUSED, status=None)
    assert select_informative_checks([silent, absent, refused]) == (refused,)
    heard = a_look(LinkAnswer.ABSENT, status=404)
    assert select_informative_checks([silent, absent, heard]) == (silent, absent, heard)
    assert select_informative_checks([]) == ()


def test_checks_become_stale() -> None:
    here, failed = after((LinkAnswer.HERE, 0)), after((LinkAnswer.SILENT, 0))
    assert is_link_stale(None, 0, RULES)
    assert [is_link_stale(here, day * DAY_NS, RULES) for day in (0, 29, 30, 31)] == [False, False, True, True]
    assert [is_link_stale(failed, hour * HOUR_NS, RULES) for hour in (0, 23, 24)] == [False, False, True]
    assert is_link_stale(update_link_memory(None, a_look(), DAY_NS), 0, RULES), "a clock was wrong"


def test_rate_limits_are_capped() -> None:
    assert link_rate_limit_end_ns(None) is None
    assert link_rate_limit_end_ns(after((LinkAnswer.HERE, 0))) is None
    asked = update_link_memory(None, a_look(LinkAnswer.REFUSED, retry_seconds=60), HOUR_NS)
    assert link_rate_limit_end_ns(asked) == HOUR_NS + 60 * SECOND_NS
    greedy = update_link_memory(None, a_look(LinkAnswer.REFUSED, retry_seconds=10**12), HOUR_NS)
    assert link_rate_limit_end_ns(greedy) == 25 * HOUR_NS


HERE = {*range(200, 300), 300, 304, 416}
ABSENT = {404, 410}
SILENT = {*range(301, 400), 408, 425, *range(500, 600)} - HERE


@table("status", range(200, 1000))
def test_every_status_has_an_answer(status: int) -> None:
    answer = link_answer_from_status(status)
    assert (answer is LinkAnswer.HERE) == (status in HERE)
    assert (answer is LinkAnswer.ABSENT) == (status in ABSENT)
    assert (answer is LinkAnswer.SILENT) == (status in SILENT)
    assert answer is not LinkAnswer.MOVED


@pytest.mark.parametrize(
    ("hops", "answer", "location"),
    [
        ([("", 200)], LinkAnswer.HERE, None),
        ([("", 301), ("/b", 200)], LinkAnswer.MOVED, "/b"),
        ([("", 308), ("/b", 301), ("/c", 200)], LinkAnswer.MOVED, "/c"),
        ([("", 302), ("/b", 200)], LinkAnswer.HERE, None),
        ([("", 302), ("/b", 301), ("/c", 200)], LinkAnswer.HERE, None),
        ([("", 301), ("/b", 302), ("/c", 200)], LinkAnswer.MOVED, "/b"),
        ([("", 301), ("/b", 404)], LinkAnswer.ABSENT, None),
        ([("", 301), ("/b", 500)], LinkAnswer.SILENT, None),
        ([("", 301), ("/b", 403)], LinkAnswer.REFUSED, None),
    ],
)
def test_targets_of_redirects(hops: list[tuple[str, int]], answer: LinkAnswer, location: str | None) -> None:
    look = link_check_from_hops([Hop(f"https://example.org{path}", status) for path, status in hops])
    wanted = None if location is None else f"https://example.org{location}"
    assert (look.url, look.answer, look.location) == ("https://example.org", answer, wanted)


def test_the_same_page_under_https_has_not_moved() -> None:
    look = link_check_from_hops([Hop("http://example.org/a", 301), Hop("https://example.org/a", 200)])
    assert (look.answer, look.location) == (LinkAnswer.HERE, None)


def test_a_redirect_to_the_home_page_is_reported() -> None:
    look = link_check_from_hops([Hop("https://example.org/a", 301), Hop("https://example.org/", 200)])
    assert look.why == "redirects to a home page; the original content may be gone"


NOON = datetime(2024, 11, 6, 12, 0, 0, tzinfo=UTC)
NOON_NS = int(NOON.timestamp()) * SECOND_NS


@table(
    ("value", "seconds"),
    [
        ("0", 0),
        ("120", 120),
        (" 7 ", 7),
        ("Wed, 06 Nov 2024 12:01:00 GMT", 60),
        ("wed, 06 nov 2024 12:01:00 gmt", 60),
        ("Wednesday, 06-Nov-24 12:01:00 GMT", 60),
        ("Wed Nov  6 12:01:00 2024", 60),
        ("Wednesday, 06-Nov-94 12:00:00 GMT", 0),
        ("Wed, 06 Nov 2024 11:00:00 GMT", 0),
        ("Wed, 06 Nov 2024 12:00:60 GMT", 59),
        ("Fri, 30 Feb 2024 12:00:00 GMT", None),
        ("Wed, 06 Nov 2024 12:01:00 CET", None),
        ("-1", None),
        ("1.5", None),
        ("1e9", None),
        ("٣", None),
        ("99999999999999", None),
        ("soon", None),
        ("", None),
        ("1" * 100, None),
    ],
)
def test_retry_after_in_seconds_or_as_a_date(value: str, seconds: int | None) -> None:
    assert parse_link_retry_seconds(value, NOON_NS) == seconds


def test_fractions_of_a_second_are_rounded_up() -> None:
    assert parse_link_retry_seconds("Wed, 06 Nov 2024 12:00:02 GMT", NOON_NS + 1_000) == 2


@given(st.text(max_size=80))
def test_any_retry_after_is_parsed(value: str) -> None:
    seconds = parse_link_retry_seconds(value, NOON_NS)
    assert seconds is None or seconds >= 0


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("link_total_seconds", 0),
        ("link_read_seconds", 4000),
        ("link_parallel_max", 0),
        ("link_parallel_max", 101),
        ("link_gone_after", 0),
        ("link_gone_spacing_hours", 0),
        ("link_fresh_days", -1),
    ],
)
def test_an_invalid_rule_is_rejected(name: str, value: float) -> None:
    said: dict[str, Any] = {name: value}
    with pytest.raises(RulesError, match=name):
        CiteRules(**said)
