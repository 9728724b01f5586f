"""Any URL and any response: a check returns a result, never raises, and connects to public addresses only."""

import asyncio
import ssl
from typing import Any

import httpcore2
from hypothesis import given
from hypothesis import strategies as st

from custody.cite.addresses import explain_link_ip_refusal
from custody.cite.links import LinkOutcome
from custody.cite.rules import CiteRules
from custody.cite.web import LinkChecker, create_link_client
from custody.cite.web.request import REDIRECTS_MAX
from tests.builders.stores import NOON
from tests.builders.web import PUBLIC

TLS = ssl.create_default_context()
RULES = CiteRules(link_total_seconds=5)


class Said(httpcore2.AsyncNetworkStream):
    """A connection that returns some bytes, then an end or an error."""

    def __init__(self, data: bytes, error: Exception | None) -> None:
        self._data = data
        self._error = error

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        if not self._data and self._error is not None:
            raise self._error
        part, self._data = self._data[:max_bytes], self._data[max_bytes:]
        return part

    async def write(self, buffer: bytes, timeout: float | None = None) -> None: ...

    async def aclose(self) -> None: ...

    async def start_tls(self, *_: Any, **__: Any) -> httpcore2.AsyncNetworkStream:
        return self

    def get_extra_info(self, info: str) -> Any:
        return None


def looked(url: str, answers: list[bytes], error: Exception | None = None) -> tuple[LinkOutcome, list[str]]:
    """Check a URL against these scripted responses."""
    dialled: list[str] = []

    async def dial(address: str, port: int, timeout: float | None) -> httpcore2.AsyncNetworkStream:
        dialled.append(address)
        return Said(answers[min(len(dialled), len(answers)) - 1] if answers else b"", error)

    async def resolver(_: str) -> list[str]:
        return [PUBLIC]

    async def sleep(_: float) -> None: ...

    async def story() -> LinkOutcome:
        async with create_link_client(RULES, resolver=resolver, dial=dial, tls=TLS) as client:
            return await LinkChecker(client=client, now_ns=lambda: NOON, rules=RULES, sleep=sleep).check(url)

    return asyncio.run(story()), dialled


lines = st.sampled_from(
    [
        b"HTTP/1.1 200 OK",
        b"HTTP/1.0 404 x",
        b"HTTP/1.1 301 x",
        b"HTTP/1.1 302 x",
        b"HTTP/1.1 429 x",
        b"HTTP/1.1 101 x",
        b"HTTP/1.1 100 x",
        b"HTTP/2 200",
        b"HTTP/1.1 999 x",
        b"HTTP/1.1 000 x",
    ]
)
values = st.sampled_from(
    [
        b"/a",
        b"http://a.example.net/b",
        b"http://127.0.0.1/",
        b"http://[::1",
        b"//",
        b"http://\xff\xfe/",
        b"http://xn--/",
        b"http://a:99999/",
        b"javascript:x",
        b"http:///",
        b"?" * 5000,
        b"0",
        b"soon",
        b"gzip",
        b"chunked",
        b"-1",
    ]
) | st.binary(max_size=20)
headers = st.tuples(
    st.sampled_from(
        [b"Location", b"Retry-After", b"Content-Encoding", b"Transfer-Encoding", b"Content-Length", b"Set-Cookie"]
    ),
    values,
)
wholes = st.builds(
    lambda line, fields, body: b"\r\n".join([line, *(name + b": " + value for name, value in fields), b"", body]),
    lines,
    st.lists(headers, max_size=4),
    st.binary(max_size=20),
)
errors = st.sampled_from(
    [None, httpcore2.ReadError("reset"), httpcore2.ReadTimeout("late"), httpcore2.WriteError("gone")]
)


@given(st.lists(wholes | st.binary(max_size=40), max_size=4), errors, st.sampled_from(["http", "https"]))
def test_any_response_gives_a_result(answers: list[bytes], error: Exception | None, scheme: str) -> None:
    found, dialled = looked(f"{scheme}://a.example.net/x", answers, error)
    assert found.url.endswith("/x")
    assert all(explain_link_ip_refusal(address) is None for address in dialled)
    assert len(dialled) <= 4 * (REDIRECTS_MAX + 1)


@given(st.text(max_size=40).map(lambda text: f"http://{text}") | st.text(max_size=60))
def test_any_url_gives_a_result(url: str) -> None:
    found, dialled = looked(url, [b"HTTP/1.1 200 OK\r\n\r\n"])
    assert found.url == url
    assert all(explain_link_ip_refusal(address) is None for address in dialled)
