"""A client of httpx2 that reaches the network through the guarded backend alone, and carries nothing along."""

import asyncio
import ipaddress
import socket
import ssl
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator
from contextlib import contextmanager
from http.cookiejar import CookieJar, DefaultCookiePolicy

import httpcore2
import httpx2

from custody import __version__
from custody.cite.addresses import PUBLIC_ONLY, AddressPolicy, literal_of
from custody.cite.rules import LINK_PARALLEL_MOST, CiteRules
from custody.core.errors import WorldError

# Why no connection was made, where that is not the network's fault.


class ForbiddenUrl(WorldError):
    """The address is one that we do not ask."""


class NoSuchName(WorldError):
    """The name service says that there is no such host."""


# From a name to addresses, asked of the system's name service.


Resolver = Callable[[str], Awaitable[list[str]]]
"""Gives every address of a name; a ``NoSuchName`` when there is none, a ``ConnectError`` when nobody could say."""

_NO_SUCH_NAME = frozenset(
    getattr(socket, name) for name in ("EAI_NONAME", "EAI_NODATA", "EAI_ADDRFAMILY") if hasattr(socket, name)
)


async def system_resolver(name: str) -> list[str]:
    """Every address that the system knows for a name, in its order of preference.

    The look-up cannot be broken off; in a thread of its own that ends with the program, nobody has to wait for it.
    """
    loop = asyncio.get_running_loop()
    answered: asyncio.Future[list[str]] = loop.create_future()

    def tell(addresses: list[str] | None, error: OSError | None) -> None:
        if answered.done():
            return  # whoever asked does not wait any more
        if addresses is None:
            answered.set_exception(_ours(name, error))
        else:
            answered.set_result(addresses)

    def look_up() -> None:
        addresses, error = None, None
        try:
            addresses = _addresses(name)
        except OSError as problem:
            error = problem
        try:
            loop.call_soon_threadsafe(tell, addresses, error)
        except RuntimeError:
            return  # the loop has ended: nobody waits any more

    threading.Thread(target=look_up, name="look-up", daemon=True).start()
    return await answered


def _addresses(name: str) -> list[str]:
    # The dot at the end says that the name is whole: else the system may try it with endings of the local network.
    found = socket.getaddrinfo(f"{name.removesuffix('.')}.", None, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(_written(place) for *_, place in found))


def _written(place: tuple[object, ...]) -> str:
    """An address as text; one of a single network card says so."""
    address, scope = str(place[0]), place[3] if len(place) > 3 else 0
    return f"{address}%{scope}" if scope and "%" not in address else address


def _ours(name: str, error: OSError | None) -> Exception:
    if isinstance(error, socket.gaierror) and error.errno in _NO_SUCH_NAME:
        return NoSuchName(f"there is no host '{name}'")
    return httpcore2.ConnectError(f"'{name}' cannot be looked up: {error and error.strerror}")


# Where connections are made: a name is looked up once, every address is checked, and a checked one is connected to.
# Nothing above this file can reach the network in another way: whatever asks for a connection, by whichever redirect
# or name, passes through ``connect_tcp``.


Dial = Callable[[str, int, float | None], Awaitable[httpcore2.AsyncNetworkStream]]
"""Connects to a numeric address and a port, within some seconds."""

ADDRESSES_TRIED_MAX = 4
"""Of a name with more addresses the others are checked, but not tried."""
NAMES_KEPT_SECONDS = 60.0
"""So long an answer of the name service is used again; then the name is looked up and checked anew."""
NAMES_KEPT_MAX = 10_000


async def dial_tcp(address: str, port: int, timeout: float | None) -> httpcore2.AsyncNetworkStream:
    """Connect to a numeric address, and see that it is the one that was reached."""
    stream = await httpcore2.AnyIOBackend().connect_tcp(address, port, timeout=timeout)
    reached = stream.get_extra_info("server_addr")
    if reached is None or ipaddress.ip_address(str(reached[0])) != ipaddress.ip_address(address):
        await stream.aclose()
        raise ForbiddenUrl(f"a connection to {address} reached {reached}")
    return stream


class GuardedBackend(httpcore2.AsyncNetworkBackend):
    """Connects to what the policy lets through, and to nothing else."""

    def __init__(self, policy: AddressPolicy, resolver: Resolver, dial: Dial, bytes_max: int) -> None:
        self._policy = policy
        self._resolver = resolver
        self._dial = dial
        self._bytes_max = bytes_max
        self._known: dict[str, tuple[float, list[str]]] = {}
        self._looking: dict[str, asyncio.Lock] = {}

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        """A connection to a checked address of a host, or ``ForbiddenUrl`` before anything was connected to."""
        refused = self._policy.against_port(port)
        if refused is not None:
            raise ForbiddenUrl(f"'{host}' is asked at {refused}")
        try:
            async with asyncio.timeout(timeout):
                stream = await self._first(await self.addresses(host), port, timeout)
        except TimeoutError as error:
            raise httpcore2.ConnectTimeout(f"no connection to '{host}' in time") from error
        return _BoundedStream(stream, self._bytes_max)

    async def connect_unix_socket(
        self,
        path: str,
        timeout: float | None = None,
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        """Never: a socket of this machine is no page."""
        raise ForbiddenUrl("a socket of this machine is not asked")

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        await asyncio.sleep(seconds)

    async def addresses(self, host: str) -> list[str]:
        """Every address of a host, each checked. One that is forbidden forbids the host: it is no public page's."""
        literal = literal_of(host)
        if literal is not None:
            return self._checked(host, [literal])
        why = self._policy.against_name(host)
        if why is not None:
            raise ForbiddenUrl(f"'{host}' is {why}")
        async with self._looking.setdefault(host, asyncio.Lock()):
            return await self._looked_up(host)

    async def _looked_up(self, host: str) -> list[str]:
        now = asyncio.get_running_loop().time()
        until, known = self._known.get(host, (now, []))
        if now < until:
            return known
        found = await self._resolver(host)
        if not found:
            raise NoSuchName(f"'{host}' has no address")
        checked = self._checked(host, found)
        if len(self._known) >= NAMES_KEPT_MAX:
            self._known.clear()
            self._looking.clear()
        self._known[host] = (now + NAMES_KEPT_SECONDS, checked)
        return checked

    def _checked(self, host: str, addresses: list[str]) -> list[str]:
        for address in addresses:
            why = self._policy.against_address(address)
            if why is not None:
                raise ForbiddenUrl(f"'{host}' is at {address}, which is {why}")
        return addresses

    async def _first(self, addresses: list[str], port: int, timeout: float | None) -> httpcore2.AsyncNetworkStream:
        """A connection to the first address that takes one; each has its share of the time."""
        tried = addresses[:ADDRESSES_TRIED_MAX]
        share = None if timeout is None else timeout / len(tried)
        for address in tried[:-1]:
            try:
                return await self._dial(address, port, share)
            except (httpcore2.ConnectError, httpcore2.ConnectTimeout):
                continue  # the next address is the same host's
        return await self._dial(tried[-1], port, share)


class _BoundedStream(httpcore2.AsyncNetworkStream):
    """A connection of which only so much is read, whatever the other side sends."""

    def __init__(self, stream: httpcore2.AsyncNetworkStream, bytes_max: int) -> None:
        self._stream = stream
        self._bytes_max = bytes_max
        self._left = bytes_max

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        if self._left <= 0:
            raise httpcore2.ReadError(f"more than {self._bytes_max:,} bytes before the answer was whole")
        data = await self._stream.read(min(max_bytes, self._left), timeout)
        self._left -= len(data)
        return data

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:
        await self._stream.write(buffer, timeout)

    async def aclose(self) -> None:
        await self._stream.aclose()

    async def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore2.AsyncNetworkStream:
        return _BoundedStream(await self._stream.start_tls(ssl_context, server_hostname, timeout), self._bytes_max)

    def get_extra_info(self, info: str) -> object:
        return self._stream.get_extra_info(info)


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
