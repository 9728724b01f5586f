"""Limits on a request's head, which is read before there is a request: its size, and the time that it takes.

Behind it, bodies have limits of their own (``bodies``).
"""

import asyncio
from typing import Any

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from custody.server.problems import MEDIA, SAFE, HttpProblem, body_of
from custody.server.settings import CallerLimits


class LimitedProtocol(HttpToolsProtocol):
    """uvicorn's protocol, for callers who may mean harm."""

    limits = CallerLimits()

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Somebody is there; a head has to follow."""
        super().connection_made(transport)
        self._head_bytes = 0
        self._in_head = self._between = True
        self._spoke = False
        self._begun = 0
        self._late: asyncio.TimerHandle | None = None
        self._expect()

    def connection_lost(self, exc: Exception | None) -> None:
        """Nobody is there any more."""
        self._expect_no_longer()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Read on, unless a head grows over its limit."""
        between, self._begun = self._between, 0
        super().data_received(data)
        if not self._in_head:
            return
        # Where something else stands before a head in these very bytes, the head is counted from the next ones on.
        is_all_head = self._begun == 0 or (between and self._begun == 1)
        self._head_bytes += len(data) if is_all_head else 0
        if self._head_bytes > self.limits.head_bytes:
            self._refuse(self._too_large())

    def on_message_begin(self) -> None:
        """A head begins."""
        super().on_message_begin()
        self._in_head = self._spoke = True
        self._between = False
        self._begun += 1
        self._head_bytes = 0
        self._expect()

    def on_headers_complete(self) -> None:
        """A head has ended."""
        self._in_head = False
        self._expect_no_longer()
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """A request has ended."""
        self._between = True
        super().on_message_complete()

    def send_400_response(self, msg: str) -> None:
        """What is no HTTP is refused like everything else; an address may be too long even to be read."""
        is_long = self._spoke and len(self.url) > self.limits.head_bytes
        self._refuse(self._too_large() if is_long else HttpProblem(400, msg.rstrip(".").lower()))

    def _too_large(self) -> HttpProblem:
        return HttpProblem(431, f"a request's head has at most {self.limits.head_bytes:,} bytes")

    def _expect(self) -> None:
        self._expect_no_longer()
        self._late = self.loop.call_later(self.limits.head_seconds, self._too_late)

    def _expect_no_longer(self) -> None:
        if self._late is not None:
            self._late.cancel()
            self._late = None

    def _too_late(self) -> None:
        if not self._spoke:
            self.transport.close()  # not a byte came: there is no request to refuse
        else:
            self._refuse(HttpProblem(408, f"the head did not arrive within {self.limits.head_seconds:g} seconds"))

    def _refuse(self, refusal: HttpProblem) -> None:
        if self.transport.is_closing():
            return
        body = body_of(refusal, "")
        said = {"content-type": MEDIA, "content-length": str(len(body)), "connection": "close", **SAFE}
        head = "".join(f"{name}: {value}\r\n" for name, value in said.items())
        self.transport.write(STATUS_LINE[refusal.status] + head.encode() + b"\r\n" + body)
        self.transport.close()


def limited(limits: CallerLimits) -> type[LimitedProtocol]:
    """The protocol with these limits."""
    named: dict[str, Any] = {"limits": limits}
    return type("LimitedProtocol", (LimitedProtocol,), named)
