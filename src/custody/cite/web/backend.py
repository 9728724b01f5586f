"""Where connections are made: a name is looked up once, every address is checked, and a checked one is connected to.

Nothing above this file can reach the network in another way: whatever asks for a connection, by whichever redirect or
name, passes through ``connect_tcp``.
"""

import asyncio
import ipaddress
import ssl
from collections.abc import Awaitable, Callable, Iterable

import httpcore2

from custody.cite.addresses import AddressPolicy, literal_of
from custody.cite.web.errors import ForbiddenUrl, NoSuchName
from custody.cite.web.resolver import Resolver

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
