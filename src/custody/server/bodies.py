"""Bodies as they arrive: of the right type, not over the limit, in time; unpacked no further than the limit."""

import asyncio
import zlib
from collections.abc import Awaitable, Callable, Collection, Mapping
from typing import Any

from custody.server.problems import HttpProblem

GZIP_WINDOW = 31
"""zlib's word for: expect gzip's head, and check its sum."""
CLOSE: Mapping[str, str] = {"connection": "close"}
"""What is still on its way after a refusal is not read."""

BodyReceive = Callable[[], Awaitable[Any]]


async def body_of(
    receive: BodyReceive,
    headers: Mapping[str, str],
    *,
    media: Collection[str],
    bytes_max: int,
    seconds: float,
    packed: bool = True,
) -> bytes:
    """The body, unpacked; an ``HttpProblem`` for one that is not taken, before anything is done with it.

    ``packed``: whether gzip may have packed it.
    """
    check_type(headers.get("content-type"), media)
    unpack = _unpacker(headers.get("content-encoding"), bytes_max, packed=packed)
    length = headers.get("content-length", "")
    if length.isdecimal() and int(length) > bytes_max:
        raise _too_large(bytes_max)
    try:
        async with asyncio.timeout(seconds):
            return await _read(receive, unpack, bytes_max)
    except TimeoutError as error:
        raise HttpProblem(
            408, f"the body did not arrive within {seconds:g} seconds", remedy="send less at once", headers=CLOSE
        ) from error


def check_type(given: str | None, media: Collection[str]) -> str:
    """The media type of a body, if it is one of those that are taken."""
    kind, _, parameters = (given or "").partition(";")
    kind = kind.strip().lower()
    charset = [p.partition("=")[2].strip().strip('"').lower() for p in parameters.split(";") if "charset" in p.lower()]
    if kind not in media or any(name not in ("utf-8", "utf8") for name in charset):
        raise HttpProblem(
            415, f"'{(given or 'nothing')[:80]}' is not taken here", remedy=f"send {' or '.join(sorted(media))}"
        )
    return kind


async def _read(receive: BodyReceive, unpack: "_PlainBytes | _Gzip", bytes_max: int) -> bytes:
    arrived = 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise HttpProblem(400, "the connection ended before the body did", headers=CLOSE)
        chunk: bytes = message.get("body", b"")
        arrived += len(chunk)
        if arrived > bytes_max:
            raise _too_large(bytes_max)
        unpack.feed(chunk)
        if not message.get("more_body", False):
            return unpack.whole()


def _too_large(bytes_max: int) -> HttpProblem:
    return HttpProblem(
        413, f"a body has at most {bytes_max:,} bytes, unpacked too", remedy="send it in parts", headers=CLOSE
    )


def _unpacker(encoding: str | None, bytes_max: int, *, packed: bool) -> "_PlainBytes | _Gzip":
    name = (encoding or "identity").strip().lower()
    if name == "identity":
        return _PlainBytes()
    if name == "gzip" and packed:
        return _Gzip(bytes_max)
    remedy = "send gzip, or nothing packed" if packed else "send nothing packed"
    raise HttpProblem(415, f"the encoding '{name[:40]}' is not taken here", remedy=remedy)


class _PlainBytes:
    """Bytes as they are."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []

    def feed(self, chunk: bytes) -> None:
        """Some more."""
        self._parts.append(chunk)

    def whole(self) -> bytes:
        """All of them."""
        return b"".join(self._parts)


class _Gzip:
    """Bytes that gzip packed: never more of them at once than the limit allows."""

    def __init__(self, bytes_max: int) -> None:
        self._max = bytes_max
        self._member = zlib.decompressobj(GZIP_WINDOW)
        self._parts: list[bytes] = []
        self._size = 0

    def feed(self, chunk: bytes) -> None:
        """Unpack some more."""
        while chunk:
            if self._member.eof:
                self._member = zlib.decompressobj(GZIP_WINDOW)  # any number of members in a row are one
            try:
                made = self._member.decompress(chunk, self._max - self._size + 1)
            except zlib.error as error:
                raise HttpProblem(422, "the body is not what gzip makes", headers=CLOSE) from error
            self._size += len(made)
            if self._size > self._max:
                raise _too_large(self._max)
            self._parts.append(made)
            chunk = self._member.unused_data or self._member.unconsumed_tail

    def whole(self) -> bytes:
        """All of it; what was cut short is refused."""
        if not self._member.eof:
            raise HttpProblem(422, "the packed body ends too early")
        return b"".join(self._parts)
