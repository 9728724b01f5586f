"""From a name to addresses, asked of the system's name service."""

import asyncio
import socket
import threading
from collections.abc import Awaitable, Callable

import httpcore2

from custody.cite.web.errors import NoSuchName

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
