"""Link checks against real servers: methods, redirects, rate limits, limits."""

import asyncio
import gzip
import time
from pathlib import Path
from typing import Any

import httpx2
import pytest

from custody.cite.addresses import AddressPolicy
from custody.cite.links import CircuitBreaker, LinkAnswer, LinkCheck, LinkOutcome, SkippedLink
from custody.cite.rules import CiteRules
from custody.cite.web import LinkChecker, create_link_client
from custody.cite.web.transport import ANSWER_BYTES_MAX
from tests.builders.stores import NOON
from tests.builders.table import table
from tests.builders.web import DRIP, HANG, PUBLIC, Asked, Page, a_web, certificates, names, said
from tests.unit.cite.web.link_checks import QUICK, looked

HOST = "http://a.example.net"


def the_look(pages: dict[str, Page], path: str = "/a", **more: Any) -> tuple[LinkCheck, list[str]]:
    """Return the check of one page, and its requests."""
    with a_web(pages) as web:
        (found,) = looked(web, HOST + path, **more)
        assert isinstance(found, LinkCheck)
        return found, web.lines


def by_method(head: int, get: int) -> Page:
    return lambda asked: said(head if asked.method == "HEAD" else get)


@pytest.mark.parametrize(
    ("status", "answer"),
    [
        (200, LinkAnswer.HERE),
        (204, LinkAnswer.HERE),
        (404, LinkAnswer.ABSENT),
        (410, LinkAnswer.ABSENT),
        (401, LinkAnswer.REFUSED),
    ],
)
def test_head_is_enough(status: int, answer: LinkAnswer) -> None:
    look, lines = the_look({"/a": said(status)})
    assert (look.answer, look.status, lines) == (answer, status, ["HEAD /a"])


@table("status", [403, 405, 501])
@table(
    ("get", "answer"),
    [(206, LinkAnswer.HERE), (200, LinkAnswer.HERE), (416, LinkAnswer.HERE), (404, LinkAnswer.ABSENT)],
)
def test_if_head_is_denied_one_byte_is_requested(status: int, get: int, answer: LinkAnswer) -> None:
    look, lines = the_look({"/a": by_method(status, get)})
    assert (look.answer, lines) == (answer, ["HEAD /a", "GET /a"])


@pytest.mark.parametrize("status", [400, 404, 429, 500, 502, 503])
def test_other_responses_to_head_count(status: int) -> None:
    assert the_look({"/a": by_method(status, 200)})[1] == ["HEAD /a"]


def test_exactly_this_is_sent() -> None:
    with a_web({"/a?q=1": by_method(405, 206)}) as web:
        looked(web, f"{HOST}/a?q=1#fragment")
        head, get = web.asked
    agent = head.headers.pop("user-agent")
    get.headers.pop("user-agent")
    assert agent.startswith("custody/")
    sent = {"host": "a.example.net", "accept": "*/*", "accept-encoding": "identity", "connection": "close"}
    assert head == Asked("HEAD", "/a?q=1", sent)
    assert get == Asked("GET", "/a?q=1", {**sent, "range": "bytes=0-0"})


def test_no_cookies_proxies_or_passwords_are_used(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    (tmp_path / "netrc").write_text("default login ana password secret\n")
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    with a_web({"/a": said(200, "Set-Cookie: c=1"), "/b": said(200)}) as web:
        found = looked(web, f"{HOST}/a", f"{HOST}/b", f"{HOST}/a?again")
        assert [type(one) for one in found] == [LinkCheck] * 3
        assert not any({"cookie", "authorization", "referer"} & set(asked.headers) for asked in web.asked)
        assert web.accepted == 3


def test_redirects_are_followed_with_one_request_each() -> None:
    pages: dict[str, Page] = {
        "/a": said(301, "Location: /b"),
        "/b": said(302, "Location: http://b.example.net/c"),
        "/c": said(200),
    }
    look, lines = the_look(pages)
    assert (look.answer, look.location) == (LinkAnswer.MOVED, f"{HOST}/b")
    assert lines == ["HEAD /a", "HEAD /b", "HEAD /c"]


@pytest.mark.parametrize(
    ("pages", "why"),
    [
        ({"/a": said(302, "Location: /b"), "/b": said(302, "Location: /a")}, "redirect loop"),
        ({"/a": said(302, "Location: /a")}, "redirect loop"),
        (
            {f"/{n}": said(302, f"Location: /{n + 1}") for n in range(9)} | {"/a": said(302, "Location: /0")},
            "more than 5 redirects",
        ),
        ({"/a": said(302)}, "status 302 without a location"),
    ],
)
def test_redirects_without_a_result(pages: dict[str, Page], why: str) -> None:
    look, lines = the_look(pages)
    assert (look.answer, look.why) == (LinkAnswer.SILENT, why)
    assert len(lines) <= 6


def test_a_short_rate_limit_is_retried_once() -> None:
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    answers = [said(429, "Retry-After: 2"), said(200)]
    look, lines = the_look({"/a": lambda _: answers.pop(0)}, sleep=sleep)
    assert (look.answer, slept, lines) == (LinkAnswer.HERE, [2], ["HEAD /a", "HEAD /a"])


@pytest.mark.parametrize(("wait", "total"), [(11, 60), (2, 1)])
def test_a_rate_limit_beyond_the_timeout_is_not_waited_for(wait: int, total: float) -> None:
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    rules = CiteRules(link_total_seconds=total)
    look, lines = the_look({"/a": said(429, f"Retry-After: {wait}")}, sleep=sleep, rules=rules)
    assert (look.answer, look.retry_seconds, slept, lines) == (LinkAnswer.REFUSED, wait, [], ["HEAD /a"])


@pytest.mark.parametrize("status", [429, 503])
def test_a_rate_limited_server_is_skipped(status: int) -> None:
    with a_web({"/a": said(status, "Retry-After: 3600"), "/b": said(200)}) as web:
        first, second, other = looked(web, f"{HOST}/a", f"{HOST}/b", "http://b.example.net/b")
        assert web.lines.count("HEAD /a") == 1 and web.accepted == 2
    assert isinstance(first, LinkCheck) and first.retry_seconds == 3600
    assert second == SkippedLink(f"{HOST}/b", "'a.example.net' is rate-limited")
    assert isinstance(other, LinkCheck) and other.answer is LinkAnswer.HERE


def test_rate_limit_until_a_date() -> None:
    look, _ = the_look({"/a": said(503, "Retry-After: Sun, 01 Mar 2099 12:00:00 GMT")})
    assert look.retry_seconds is not None and look.retry_seconds > 365 * 86_400


def test_a_request_is_not_retried_twice() -> None:
    async def sleep(_: float) -> None: ...

    look, lines = the_look({"/a": said(429, "Retry-After: 0")}, sleep=sleep)
    assert (look.answer, lines) == (LinkAnswer.REFUSED, ["HEAD /a", "HEAD /a"])


def test_a_silent_server_times_out() -> None:
    look, _ = the_look({"/a": HANG}, rules=CiteRules(link_read_seconds=0.2))
    assert (look.answer, look.why) == (LinkAnswer.SILENT, "ReadTimeout")


def test_a_slow_server_times_out() -> None:
    rules = CiteRules(link_total_seconds=0.5, link_read_seconds=5)
    began = time.monotonic()
    look, _ = the_look({"/a": DRIP}, rules=rules)
    assert (look.answer, look.why) == (LinkAnswer.SILENT, "no answer in 0.5 seconds")
    assert time.monotonic() - began < 5


def test_timeouts_open_the_breaker_too() -> None:
    rules = CiteRules(link_total_seconds=0.2)
    with a_web({f"/{n}": DRIP for n in range(5)}) as web:
        found = looked(web, *(f"{HOST}/{n}" for n in range(5)), rules=rules)
    assert [type(one) for one in found] == [LinkCheck] * 3 + [SkippedLink] * 2


@pytest.mark.parametrize(
    "page",
    [
        b"HTTP/1.1 200 OK\r\n" + b"X: " + b"a" * 90_000 + b"\r\n\r\n",
        b"HTTP/1.1 200 OK\r\n" + b"".join(b"X-%d: a\r\n" % n for n in range(20_000)) + b"\r\n",
        b"HTTP/1.1 100 Continue\r\n\r\n" * 10_000,
    ],
)
def test_a_header_has_a_size_limit(page: bytes) -> None:
    look, _ = the_look({"/a": page})
    assert look.answer is LinkAnswer.SILENT
    assert "exceeds 65,536 bytes" in look.why


@pytest.mark.parametrize("page", [b"garbage\r\n\r\n", b"HTTP/1.1 2000 OK\r\n\r\n", b"SSH-2.0-OpenSSH\r\n"])
def test_an_invalid_response_counts_as_silence(page: bytes) -> None:
    assert the_look({"/a": page})[0].answer is LinkAnswer.SILENT


def test_no_body_is_read_and_nothing_is_decompressed() -> None:
    bomb = gzip.compress(b"\0" * 50_000_000)
    page = said(200, "Content-Encoding: gzip", body=bomb)
    with a_web({"/a": lambda asked: said(405) if asked.method == "HEAD" else page}) as web:
        read: list[int] = []
        (found,) = looked(web, f"{HOST}/a", dial=counting(web.dial, read))
    assert isinstance(found, LinkCheck) and found.answer is LinkAnswer.HERE
    assert sum(read) < ANSWER_BYTES_MAX


def counting(dial: Any, read: list[int]) -> Any:
    async def dialled(*place: Any) -> Any:
        stream = await dial(*place)
        inner = stream.read

        async def counted(*args: Any) -> bytes:
            data: bytes = await inner(*args)
            read.append(len(data))
            return data

        stream.read = counted
        return stream

    return dialled


# Conformance: 003-061
def test_at_most_ten_requests_run_at_once_and_one_per_host() -> None:
    def slow(_: Asked) -> bytes:
        return HANG

    rules = CiteRules(link_read_seconds=1)
    with a_web({"/a": slow}) as web:
        looked(web, *(f"http://h{n}.example.net/a" for n in range(25)), rules=rules)
        assert web.most_at_once == 10
    with a_web({f"/{n}": slow for n in range(3)}) as web:
        looked(web, *(f"{HOST}/{n}" for n in range(3)), rules=rules)
        assert web.most_at_once == 1


def test_a_host_that_fails_repeatedly_is_skipped() -> None:
    with a_web({f"/{n}": said(500) for n in range(9)} | {"/fine": said(200)}) as web:
        found = looked(web, *(f"{HOST}/{n}" for n in range(9)), "http://b.example.net/fine")
        assert web.accepted == 4
    assert [type(one) for one in found] == [LinkCheck] * 3 + [SkippedLink] * 6 + [LinkCheck]
    assert found[3] == SkippedLink(f"{HOST}/3", "'a.example.net' failed too often")


def test_a_missing_page_is_not_a_failure_of_its_host() -> None:
    with a_web() as web:
        found = looked(web, *(f"{HOST}/{n}" for n in range(9)))
        assert web.accepted == 9
    assert {one.answer for one in found if isinstance(one, LinkCheck)} == {LinkAnswer.ABSENT}


def test_after_the_cool_down_one_probe_is_made() -> None:
    pages: dict[str, Page] = {f"/{n}": said(500) for n in range(9)}

    async def story() -> list[int]:
        breaker = CircuitBreaker(failures_max=2, cool_down_seconds=1)
        client = create_link_client(resolver=names(), dial=web.dial)
        counts = []
        async with client:
            checker = LinkChecker(client=client, now_ns=lambda: NOON, breaker_of=lambda _: breaker)
            for first in (0, 4):
                for n in range(first, first + 4):
                    await checker.check(f"{HOST}/{n}")
                counts.append(web.accepted)
                await asyncio.sleep(1.1)
        return counts

    with a_web(pages) as web:
        assert asyncio.run(story()) == [2, 3]


def test_tls_verifies_the_name_and_sends_it(tmp_path: Path) -> None:
    server, client = certificates(tmp_path, "a.example.net")
    with a_web({"/a": said(200)}, tls=server) as web:
        right, wrong = looked(web, "https://a.example.net/a", "https://b.example.net/a", tls=client)
        assert web.dialled == [(PUBLIC, 443)] * 2
        assert web.asked[0].headers["host"] == "a.example.net" and len(web.asked) == 1
    assert isinstance(right, LinkCheck) and right.answer is LinkAnswer.HERE
    assert isinstance(wrong, LinkCheck) and wrong.answer is LinkAnswer.SILENT and "certificate" in wrong.why.lower()


def test_an_untrusted_certificate_is_rejected(tmp_path: Path) -> None:
    server, _ = certificates(tmp_path, "a.example.net")
    with a_web({"/a": said(200)}, tls=server) as web:
        (found,) = looked(web, "https://a.example.net/a")
        assert web.asked == []
    assert isinstance(found, LinkCheck) and found.answer is LinkAnswer.SILENT


def test_the_second_address_is_tried_if_the_first_refuses() -> None:
    resolver = names(a=[["8.8.8.8", "9.9.9.9"]])
    with a_web({"/a": said(200)}) as web:
        tried: list[str] = []

        async def dial(address: str, port: int, timeout: float | None) -> Any:
            tried.append(address)
            if address == "8.8.8.8":
                import httpcore2

                raise httpcore2.ConnectError("refused")
            return await web.dial(address, port, timeout)

        (found,) = looked(web, f"{HOST}/a", resolver=resolver, dial=dial)
    assert isinstance(found, LinkCheck) and (found.answer, tried) == (LinkAnswer.HERE, ["8.8.8.8", "9.9.9.9"])


def test_a_name_is_resolved_once_for_all_its_pages() -> None:
    resolver = names()
    with a_web({"/a": by_method(405, 200), "/b": said(302, "Location: /a")}) as web:
        looked(web, f"{HOST}/a", f"{HOST}/b", resolver=resolver)
        assert web.accepted == 5
    assert resolver.looked_up == ["a.example.net"]


def test_a_closed_port_is_unreachable() -> None:
    with a_web() as web:
        port = web.port
    policy = AddressPolicy(frozenset((port,)), frozenset(("127.0.0.1",)))

    async def story() -> LinkOutcome:
        async with create_link_client(QUICK, policy=policy) as client:
            checker = LinkChecker(client=client, now_ns=lambda: NOON, policy=policy)
            return await checker.check(f"http://127.0.0.1:{port}/")

    found = asyncio.run(story())
    assert isinstance(found, LinkCheck) and found.answer is LinkAnswer.SILENT and found.why.startswith("ConnectError")


def test_a_real_connection_works_if_the_policy_allows_it() -> None:
    with a_web({"/a": said(200)}) as web:
        policy = AddressPolicy(frozenset((web.port,)), frozenset(("127.0.0.1",)))

        async def story() -> LinkOutcome:
            async with create_link_client(QUICK, policy=policy) as client:
                checker = LinkChecker(client=client, now_ns=lambda: NOON, policy=policy)
                return await checker.check(f"http://127.0.0.1:{web.port}/a")

        found = asyncio.run(story())
    assert isinstance(found, LinkCheck) and found.answer is LinkAnswer.HERE


def test_another_client_is_limited_by_the_addresses_in_urls() -> None:
    with a_web({"/a": said(200)}) as web:

        async def story() -> LinkOutcome:
            async with httpx2.AsyncClient(trust_env=False) as client:
                return await LinkChecker(client=client, now_ns=lambda: NOON).check(f"http://127.0.0.1:{web.port}/a")

        found = asyncio.run(story())
        assert web.accepted == 0
    assert isinstance(found, LinkCheck) and found.answer is LinkAnswer.REFUSED
