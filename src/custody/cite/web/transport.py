"""A client of httpx2 that reaches the network through the guarded backend alone, and carries nothing along."""

import ssl
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from http.cookiejar import CookieJar, DefaultCookiePolicy

import httpcore2
import httpx2

from custody import __version__
from custody.cite.addresses import PUBLIC_ONLY, AddressPolicy
from custody.cite.rules import LINK_PARALLEL_MOST, CiteRules
from custody.cite.web.backend import Dial, GuardedBackend, dial_tcp
from custody.cite.web.resolver import Resolver, system_resolver

HEADERS = {
    "Accept": "*/*",
    # Nothing is unpacked here, so nothing that is small when sent can become large.
    "Accept-Encoding": "identity",
    "Connection": "close",
    "User-Agent": f"custody/{__version__} (link check)",
}
"""Everything that is sent with a request beside ``Host``, and ``Range`` with a GET."""
CONNECT_SECONDS = 10.0
"""Time for a connection with its encryption; slower servers are as good as down."""
ANSWER_BYTES_MAX = 65_536
"""Bytes read of one answer, header included: no honest header is longer, and no body is read."""


def guarded_client(
    rules: CiteRules | None = None,
    *,
    policy: AddressPolicy = PUBLIC_ONLY,
    resolver: Resolver = system_resolver,
    dial: Dial = dial_tcp,
    tls: ssl.SSLContext | None = None,
) -> httpx2.AsyncClient:
    """A client that connects to public addresses only, follows no redirect, and keeps no cookie."""
    rules = CiteRules() if rules is None else rules
    backend = GuardedBackend(policy, resolver, dial, ANSWER_BYTES_MAX)
    client = httpx2.AsyncClient(
        transport=GuardedTransport(backend, httpx2.create_ssl_context(trust_env=False) if tls is None else tls),
        trust_env=False,
        follow_redirects=False,
        cookies=CookieJar(DefaultCookiePolicy(allowed_domains=())),
        timeout=httpx2.Timeout(rules.link_read_seconds, connect=CONNECT_SECONDS, pool=None),
    )
    client.headers = httpx2.Headers(HEADERS)
    return client


class GuardedTransport(httpx2.AsyncBaseTransport):
    """Sends each request over a connection of its own, which the backend makes."""

    def __init__(self, backend: GuardedBackend, tls: ssl.SSLContext) -> None:
        self._pool = httpcore2.AsyncConnectionPool(
            ssl_context=tls,
            max_connections=LINK_PARALLEL_MOST,
            max_keepalive_connections=0,
            http1=True,
            http2=False,
            retries=0,
            network_backend=backend,
        )

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send one request; the body of the answer is not read."""
        url = httpcore2.URL(
            scheme=request.url.raw_scheme,
            host=request.url.raw_host,
            port=request.url.port,
            target=request.url.raw_path,
        )
        asked = httpcore2.Request(
            method=request.method,
            url=url,
            headers=request.headers.raw,
            content=request.stream,
            extensions=request.extensions,
        )
        with _as_httpx(request):
            answer = await self._pool.handle_async_request(asked)
        return httpx2.Response(
            status_code=answer.status,
            headers=answer.headers,
            stream=_Body(answer, request),
            extensions=answer.extensions,
        )

    async def aclose(self) -> None:
        """Close every connection."""
        await self._pool.aclose()


class _Body(httpx2.AsyncByteStream):
    """The rest of an answer, for whoever reads it."""

    def __init__(self, answer: httpcore2.Response, request: httpx2.Request) -> None:
        self._answer = answer
        self._request = request

    async def __aiter__(self) -> AsyncIterator[bytes]:
        with _as_httpx(self._request):
            async for part in self._answer.aiter_stream():
                yield part

    async def aclose(self) -> None:
        with _as_httpx(self._request):
            await self._answer.aclose()


@contextmanager
def _as_httpx(request: httpx2.Request) -> Iterator[None]:
    """Errors of the lower library as those of the upper one, which have the same names."""
    try:
        yield
    except _LOWER as error:
        raise _upper(type(error))(str(error), request=request) from error


def _upper(lower: type[BaseException]) -> type[httpx2.TransportError]:
    for ancestor in lower.__mro__:
        upper = getattr(httpx2, ancestor.__name__, None)
        if isinstance(upper, type) and issubclass(upper, httpx2.TransportError):
            return upper
    return httpx2.TransportError


_LOWER = (
    httpcore2.TimeoutException,
    httpcore2.NetworkError,
    httpcore2.ProtocolError,
    httpcore2.UnsupportedProtocol,
)
