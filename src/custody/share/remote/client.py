"""Speaking to a service: bounded in time and size, patient when told to wait, never led elsewhere.

A token goes to the address that the user named and nowhere else: redirects are not followed.
"""

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType, TracebackType
from typing import Self
from urllib.parse import quote

import httpx2

from custody import __version__
from custody.core.errors import InputError, WorldError
from custody.share.remote.service_book import NamedRemote

CONNECT_SECONDS = 10.0
ANSWER_SECONDS = 120.0
ANSWER_BYTES_MAX = 128 * 1024 * 1024
TRIES_MAX = 5
WAIT_SECONDS_MAX = 30.0
_FIRST_WAIT_SECONDS = 0.5
_LATER = frozenset((429, 503))
_WAITS = "nothing was lost; what waits is sent the next time"
_DETAIL_SIGNS_MAX = 500
NOTHING: Mapping[str, str | int] = MappingProxyType({})


class ServiceRefusal(InputError):
    """The service refuses what was asked; ``status`` is HTTP's."""

    def __init__(self, status: int, message: str, *, hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.status = status


@dataclass(frozen=True, slots=True)
class _Answer:
    status: int
    headers: Mapping[str, str]
    body: bytes


class RemoteService:
    """One service, for a ``with`` block."""

    def __init__(self, remote: NamedRemote, *, sleep: Callable[[float], None] = time.sleep) -> None:
        self._remote = remote
        self._sleep = sleep
        headers = {"User-Agent": f"custody/{__version__}", "Accept-Encoding": "identity"}
        if remote.token is not None:
            headers["Authorization"] = f"Bearer {remote.token}"
        self._client = httpx2.Client(
            headers=headers,
            follow_redirects=False,
            timeout=httpx2.Timeout(ANSWER_SECONDS, connect=CONNECT_SECONDS),
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._client.close()

    def get(self, path: str, question: Mapping[str, str | int] = NOTHING) -> bytes:
        """What the service answers at ``path`` to ``question``."""
        asked = "&".join(f"{name}={quote(str(value), safe='')}" for name, value in sorted(question.items()))
        return self._ask("GET", path + (f"?{asked}" if asked else ""), None, "")

    def post(self, path: str, body: bytes, media: str) -> bytes:
        """What the service answers to ``body``; sent again when it asks to come back later."""
        return self._ask("POST", path, body, media)

    def _ask(self, method: str, path: str, body: bytes | None, media: str) -> bytes:
        wait = _FIRST_WAIT_SECONDS
        for left in reversed(range(TRIES_MAX)):
            answer = self._once(method, path, body, media)
            if answer.status not in _LATER or not left:
                return self._judged(answer)
            self._sleep(min(_read_retry_after(answer) or wait, WAIT_SECONDS_MAX))
            wait *= 2
        raise AssertionError("the last try returns or raises")

    def _once(self, method: str, path: str, body: bytes | None, media: str) -> _Answer:
        headers = {"Content-Type": media} if body is not None else {}
        try:
            with self._client.stream(method, self._remote.url + path, content=body, headers=headers) as response:
                received = bytearray()
                for chunk in response.iter_raw():
                    received += chunk
                    if len(received) > ANSWER_BYTES_MAX:
                        raise WorldError(f"'{self._remote.name}' answers with too much", hint=_WAITS)
                return _Answer(response.status_code, dict(response.headers), bytes(received))
        except httpx2.HTTPError as error:
            # An error of httpx2 names what failed, never the headers; its address is the one that the user named.
            what = " ".join(str(error).split())[:200] or type(error).__name__
            raise WorldError(
                f"cannot reach '{self._remote.name}' at {self._remote.url}: {what}", hint=_WAITS
            ) from error

    def _judged(self, answer: _Answer) -> bytes:
        if 200 <= answer.status < 300:
            return answer.body
        name, detail = self._remote.name, _detail(answer.body)
        if 300 <= answer.status < 400:
            raise WorldError(f"'{name}' wants to send us elsewhere, which we do not follow", hint="check its address")
        if answer.status in (401, 403):
            hint = "give a token with 'custody remote add NAME URL --token-file FILE'"
            raise ServiceRefusal(answer.status, f"'{name}' does not let us in: {detail}", hint=hint)
        if answer.status in _LATER or answer.status >= 500:
            raise WorldError(f"'{name}' cannot answer now: {detail}", hint=_WAITS)
        raise ServiceRefusal(answer.status, f"'{name}' refuses: {detail}", hint="nothing was changed")


def _read_retry_after(answer: _Answer) -> float | None:
    """How long the service asks to wait."""
    given = answer.headers.get("retry-after", "")
    return float(given) if given.isascii() and given.isdecimal() and len(given) < 6 else None


def _detail(body: bytes) -> str:
    """What a problem document says, kept short; the words of something else are not repeated."""
    try:
        said = json.loads(body[:65536])
    except ValueError:
        return "no problem was told"
    told = said.get("detail") if isinstance(said, dict) else None
    words = " ".join(str(told or "no problem was told").split())[:_DETAIL_SIGNS_MAX]
    return "".join(sign if sign.isprintable() else "?" for sign in words)
