"""An httpx2 client that reaches the network only through the guarded backend, without cookies or credentials."""

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
from custody.cite.addresses import PUBLIC_ONLY, AddressPolicy, parse_link_host_ip
from custody.cite.rules import LINK_PARALLEL_MOST, CiteRules
from custody.core.errors import WorldError

# Reasons for no connection that are not network errors.


class ForbiddenUrl(WorldError):
    """The address is not allowed."""


class NoSuchName(WorldError):
    """The name service says that the host does not exist."""


# Resolve names with the system's name service.


Resolver = Callable[[str], Awaitable[list[str]]]
"""Returns the addresses of a name; raises ``NoSuchName``, or ``ConnectError`` if the name service fails."""

_NO_SUCH_NAME = frozenset(
    getattr(socket, name) for name in ("EAI_NONAME", "EAI_NODATA", "EAI_ADDRFAMILY") if hasattr(socket, name)
)


async def resolve_link_host(name: str) -> list[str]:
    """Return the addresses of a name, in the system's order of preference.

    A lookup cannot be canceled, so it runs in a daemon thread that need not be waited for.
    """
    loop = asyncio.get_running_loop()
    answered: asyncio.Future[list[str]] = loop.create_future()

    def tell(addresses: list[str] | None, error: OSError | None) -> None:
        if answered.done():
            return  # the caller was canceled
        if addresses is None:
            answered.set_exception(_link_resolution_error(name, error))
        else:
            answered.set_result(addresses)

    def look_up() -> None:
        addresses, error = None, None
        try:
            addresses = _look_up_link_host(name)
        except OSError as problem:
            error = problem
        try:
            loop.call_soon_threadsafe(tell, addresses, error)
        except RuntimeError:
            return  # the loop has ended

    threading.Thread(target=look_up, name="look-up", daemon=True).start()
    return await answered


def _look_up_link_host(name: str) -> list[str]:
    # The final dot makes the name absolute; otherwise the system may append local search domains.
    infos = socket.getaddrinfo(f"{name.removesuffix('.')}.", None, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(_link_ip_from_sockaddr(sockaddr) for *_, sockaddr in infos))


def _link_ip_from_sockaddr(sockaddr: tuple[object, ...]) -> str:
    """Return an address as text, with its scope if it belongs to one network interface."""
    address, scope = str(sockaddr[0]), sockaddr[3] if len(sockaddr) > 3 else 0
    return f"{address}%{scope}" if scope and "%" not in address else address


def _link_resolution_error(name: str, error: OSError | None) -> Exception:
    if isinstance(error, socket.gaierror) and error.errno in _NO_SUCH_NAME:
        return NoSuchName(f"unknown host '{name}'")
    return httpcore2.ConnectError(f"cannot resolve '{name}': {error and error.strerror}")


# Make connections: resolve a name once, check all its addresses, and connect to a checked one. Every connection, by
# whichever redirect or name, passes through ``connect_tcp``: nothing above this file can reach the
# network in another way.


Dial = Callable[[str, int, float | None], Awaitable[httpcore2.AsyncNetworkStream]]
"""Connects to an IP address and a port, with a timeout in seconds."""

ADDRESSES_TRIED_MAX = 4
"""Maximum addresses of a name that are tried; all are checked."""
NAMES_CACHED_SECONDS = 60.0
"""How long a resolved name is cached, in seconds."""
NAMES_CACHED_MAX = 10_000


async def dial_link_host(address: str, port: int, timeout: float | None) -> httpcore2.AsyncNetworkStream:
    """Connect to an IP address, and check that it is the one that was reached."""
    stream = await httpcore2.AnyIOBackend().connect_tcp(address, port, timeout=timeout)
    reached = stream.get_extra_info("server_addr")
    if reached is None or ipaddress.ip_address(str(reached[0])) != ipaddress.ip_address(address):
        await stream.aclose()
        raise ForbiddenUrl(f"a connection to {address} reached {reached}")
    return stream


class GuardedBackend(httpcore2.AsyncNetworkBackend):
    """Connects only to addresses that the policy allows."""

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
        """Return a connection to a checked address of a host; raise ``ForbiddenUrl`` before connecting."""
        refused = self._policy.explain_port_refusal(port)
        if refused is not None:
            raise ForbiddenUrl(f"'{host}' uses {refused}")
        try:
            async with asyncio.timeout(timeout):
                stream = await self._connect_first(await self.addresses(host), port, timeout)
        except TimeoutError as error:
            raise httpcore2.ConnectTimeout(f"connection to '{host}' timed out") from error
        return _BoundedStream(stream, self._bytes_max)

    async def connect_unix_socket(
        self,
        path: str,
        timeout: float | None = None,
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        """Raise ``ForbiddenUrl``: a local socket is not a web page."""
        raise ForbiddenUrl("local sockets are not allowed")

    async def sleep(self, seconds: float) -> None:
        """Sleep."""
        await asyncio.sleep(seconds)

    async def addresses(self, host: str) -> list[str]:
        """Return all addresses of a host, checked; one forbidden address forbids the host."""
        literal = parse_link_host_ip(host)
        if literal is not None:
            return self._check_addresses(host, [literal])
        why = self._policy.explain_name_refusal(host)
        if why is not None:
            raise ForbiddenUrl(f"'{host}' is {why}")
        async with self._looking.setdefault(host, asyncio.Lock()):
            return await self._look_up(host)

    async def _look_up(self, host: str) -> list[str]:
        now = asyncio.get_running_loop().time()
        until, known = self._known.get(host, (now, []))
        if now < until:
            return known
        resolved = await self._resolver(host)
        if not resolved:
            raise NoSuchName(f"'{host}' has no address")
        checked = self._check_addresses(host, resolved)
        if len(self._known) >= NAMES_CACHED_MAX:
            self._known.clear()
            self._looking.clear()
        self._known[host] = (now + NAMES_CACHED_SECONDS, checked)
        return checked

    def _check_addresses(self, host: str, addresses: list[str]) -> list[str]:
        for address in addresses:
            why = self._policy.explain_address_refusal(address)
            if why is not None:
                raise ForbiddenUrl(f"'{host}' resolves to {address}, which is {why}")
        return addresses

    async def _connect_first(
        self, addresses: list[str], port: int, timeout: float | None
    ) -> httpcore2.AsyncNetworkStream:
        """Return a connection to the first address that accepts; each gets a share of the time."""
        tried = addresses[:ADDRESSES_TRIED_MAX]
        share = None if timeout is None else timeout / len(tried)
        for address in tried[:-1]:
            try:
                return await self._dial(address, port, share)
            except (httpcore2.ConnectError, httpcore2.ConnectTimeout):
                continue  # try the next address of the host
        return await self._dial(tried[-1], port, share)


class _BoundedStream(httpcore2.AsyncNetworkStream):
    """A connection with a limit on the bytes read."""

    def __init__(self, stream: httpcore2.AsyncNetworkStream, bytes_max: int) -> None:
        self._stream = stream
        self._bytes_max = bytes_max
        self._left = bytes_max

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        if self._left <= 0:
            raise httpcore2.ReadError(f"the response exceeds {self._bytes_max:,} bytes")
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
    # Nothing is decompressed, so a small response cannot become large.
    "Accept-Encoding": "identity",
    "Connection": "close",
    "User-Agent": f"custody/{__version__} (link check)",
}
"""All headers sent, besides ``Host``, and ``Range`` with a GET."""
CONNECT_SECONDS = 10.0
"""Timeout of a connection with its TLS handshake; slower servers count as down."""
ANSWER_BYTES_MAX = 65_536
"""Maximum bytes read of a response, header included; bodies are not read."""


def create_link_client(
    rules: CiteRules | None = None,
    *,
    policy: AddressPolicy = PUBLIC_ONLY,
    resolver: Resolver = resolve_link_host,
    dial: Dial = dial_link_host,
    tls: ssl.SSLContext | None = None,
) -> httpx2.AsyncClient:
    """Return a client that connects to public addresses only, follows no redirects and stores no cookies."""
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
    """Sends each request over a new connection from the backend."""

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
        """Send a request; the body of the response is not read."""
        url = httpcore2.URL(
            scheme=request.url.raw_scheme,
            host=request.url.raw_host,
            port=request.url.port,
            target=request.url.raw_path,
        )
        core_request = httpcore2.Request(
            method=request.method,
            url=url,
            headers=request.headers.raw,
            content=request.stream,
            extensions=request.extensions,
        )
        with _translate_link_errors(request):
            answer = await self._pool.handle_async_request(core_request)
        return httpx2.Response(
            status_code=answer.status,
            headers=answer.headers,
            stream=_Body(answer, request),
            extensions=answer.extensions,
        )

    async def aclose(self) -> None:
        """Close all connections."""
        await self._pool.aclose()


class _Body(httpx2.AsyncByteStream):
    """The rest of a response."""

    def __init__(self, answer: httpcore2.Response, request: httpx2.Request) -> None:
        self._answer = answer
        self._request = request

    async def __aiter__(self) -> AsyncIterator[bytes]:
        with _translate_link_errors(self._request):
            async for part in self._answer.aiter_stream():
                yield part

    async def aclose(self) -> None:
        with _translate_link_errors(self._request):
            await self._answer.aclose()


@contextmanager
def _translate_link_errors(request: httpx2.Request) -> Iterator[None]:
    """Translate errors of httpcore2 to those of httpx2, which have the same names."""
    try:
        yield
    except _LOWER as error:
        raise _link_transport_error_type(type(error))(str(error), request=request) from error


def _link_transport_error_type(lower: type[BaseException]) -> type[httpx2.TransportError]:
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
