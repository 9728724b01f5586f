"""The one way in: host, origin, size of the head, token, project, rate, and how many at once.

Whoever is refused here has reached nothing: neither a body nor a store was looked at.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass
from math import ceil
from typing import Any
from urllib.parse import parse_qsl, quote, urlencode

from custody.core.errors import CustodyError
from custody.server.app.tenancy import Grant
from custody.server.auth import TokenCheck
from custody.server.endpoints import PROJECT
from custody.server.problems import MEDIA, SAFE, HttpProblem, body_of, busy, page_of, problem_of, wants_page
from custody.server.shared_state import Service

COOKIE = "custody_token"
TOKEN = "token"
BUCKETS_MAX = 10_000

Scope = MutableMapping[str, Any]
AsgiMessage = MutableMapping[str, Any]
AsgiReceive = Callable[[], Awaitable[Any]]
Send = Callable[[Any], Awaitable[None]]
Asgi = Callable[[Any, Any, Any], Awaitable[None]]


class Gatekeeper:
    """Stands before every route, those that are not there too."""

    def __init__(self, inside: Asgi, service: Service, gatekeeper: TokenCheck, open_: frozenset[str]) -> None:
        self._inside = inside
        self._service = service
        self._gatekeeper = gatekeeper
        self._rates = Rates(service.settings.limits.rate_per_second, service.settings.limits.rate_burst)
        self._open = open_
        self._in_flight = 0

    async def __call__(self, scope: Scope, receive: AsgiReceive, send: Send) -> None:
        """Let a request in, or refuse it; count it either way."""
        if scope["type"] != "http":
            raise NotImplementedError("only HTTP is spoken here")
        began, sent = _now(), _StatusRecorder(send)
        self._service.metrics.in_flight.inc()
        self._in_flight += 1
        try:
            await self._answer(scope, receive, sent)
        finally:
            self._in_flight -= 1
            self._service.metrics.in_flight.dec()
            self._count(scope, sent.status, _now() - began)

    async def _answer(self, scope: Scope, receive: AsgiReceive, sent: "_StatusRecorder") -> None:
        try:
            head = _RequestHead.of(scope)
            self._check(scope, head)
            if scope["path"] not in self._open:
                moved = await self._moved(scope, head)
                if moved is not None:
                    await _send(sent, 303, b"", moved)
                    return
                scope.setdefault("state", {})["grant"] = await self._admitted(scope, head)
        except HttpProblem as refusal:
            await refuse(sent, refusal, scope)
            return
        except CustodyError as error:
            await refuse(sent, problem_of(error), scope)
            return
        await self._inside(scope, receive, sent)

    def _check(self, scope: Scope, head: "_RequestHead") -> None:
        settings = self._service.settings
        if head.size > settings.limits.head_bytes:
            raise HttpProblem(431, f"a request's head has at most {settings.limits.head_bytes:,} bytes")
        if settings.hosts is not None and _name(head.host) not in settings.hosts:
            # A page elsewhere may have its name lead here; its requests then carry that name.
            raise HttpProblem(403, "this service is not called so", remedy="use the address that it printed")
        if head.origin is not None and head.origin not in (f"http://{head.host}", f"https://{head.host}"):
            raise HttpProblem(403, "pages of other sites are not answered", remedy="ask without a browser")
        if self._in_flight > settings.limits.in_flight:
            raise busy("too many requests are being answered")

    async def _moved(self, scope: Scope, head: "_RequestHead") -> dict[str, str] | None:
        """Where a browser goes that brings a token in the address: the same page without it, if it may see it.

        A good token it holds in a cookie from then on; a stale one, as of a bookmark, takes nothing from it.
        """
        if not self._service.settings.token_in_address or scope["method"] != "GET":
            return None
        token = dict(reversed(_questions(scope))).get(TOKEN)
        if token is None:
            return None
        is_good = await self._gatekeeper.grant(token) is not None
        if not is_good and await self._gatekeeper.grant(self._presented(scope, head)) is None:
            return None
        # One slash at its beginning, else it would be another host's address.
        moved = {"location": "/" + quote(str(scope["path"]).lstrip("/\\")) + _but_token(scope)}
        if is_good:
            moved["set-cookie"] = f"{cookie_for(head.host)}={token}; Path=/; HttpOnly; SameSite=Strict"
        return moved

    async def _admitted(self, scope: Scope, head: "_RequestHead") -> Grant:
        try:
            grant = await self._gatekeeper.grant(self._presented(scope, head))
        except CustodyError as error:
            raise problem_of(error) from error
        if grant is None:
            raise HttpProblem(
                401,
                "this needs a token that is good now",
                remedy="send 'Authorization: Bearer TOKEN'",
                headers={"www-authenticate": 'Bearer realm="custody"'},
            )
        wait = self._rates.wait(grant.token_id, _now())
        if wait > 0:
            raise HttpProblem(
                429,
                "this token asks too often",
                remedy="wait, then try again",
                headers={"retry-after": str(ceil(wait))},
            )
        if any(value != grant.project for name, value in _questions(scope) if name == PROJECT):
            raise HttpProblem(403, "this token is not good for that project", remedy="use a token of that project")
        return grant

    def _presented(self, scope: Scope, head: "_RequestHead") -> str:
        kind, _, token = (head.authorization or "").partition(" ")
        if kind.lower() == "bearer":
            return token.strip()
        # A browser sends its cookie by itself, so what changes something never rests on one.
        if scope["method"] == "GET" and head.cookie is not None:
            return _read_cookie_token(head)
        return ""

    def _count(self, scope: Scope, status: int, seconds: float) -> None:
        route = str(scope.get("path_template") or "none")
        metrics = self._service.metrics
        metrics.requests.labels(route, _method(scope["method"]), str(status)).inc()
        metrics.seconds.labels(route).observe(seconds)


_METHODS = frozenset(("GET", "POST", "HEAD", "OPTIONS", "PUT", "PATCH", "DELETE"))


def _method(name: str) -> str:
    """A method by its name, if it is one: a caller can make up others."""
    return name if name in _METHODS else "other"


async def refuse(send: Send, refusal: HttpProblem, scope: Scope) -> None:
    """Send a refusal: a page to a browser that asks for one, else a document for programs."""
    accept = next((value.decode("latin-1") for name, value in scope["headers"] if name == b"accept"), None)
    address = str(scope["path"])
    if wants_page(accept, address):
        body, headers = page_of(refusal, quote(address) + _but_token(scope))
        await _send(send, refusal.status, body, headers)
    else:
        await _send(send, refusal.status, body_of(refusal, address), {"content-type": MEDIA, **refusal.headers})


async def _send(send: Send, status: int, body: bytes, headers: dict[str, str]) -> None:
    pairs = [(name.encode("latin-1"), value.encode("latin-1", "replace")) for name, value in headers.items()]
    pairs.append((b"content-length", str(len(body)).encode()))
    await send({"type": "http.response.start", "status": status, "headers": pairs})
    await send({"type": "http.response.body", "body": body})


class _StatusRecorder:
    """Passes an answer on, and remembers its status."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self.status = 0

    async def __call__(self, message: AsgiMessage) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            said = list(message.get("headers", ()))
            names = {name.lower() for name, _ in said}
            safe = ((name.encode(), value.encode()) for name, value in SAFE.items())
            message["headers"] = [*said, *(pair for pair in safe if pair[0] not in names)]
        await self._send(message)


@dataclass(frozen=True, slots=True)
class _RequestHead:
    """What the door looks at of a request's head."""

    size: int
    host: str
    origin: str | None
    authorization: str | None
    cookie: str | None

    @classmethod
    def of(cls, scope: Scope) -> "_RequestHead":
        pairs: list[tuple[bytes, bytes]] = list(scope["headers"])
        found: dict[bytes, str] = {}
        for name, value in pairs:
            if name in (b"host", b"authorization", b"origin") and name in found:
                raise HttpProblem(400, f"'{name.decode()}' was sent twice", remedy="send it once")
            found[name] = value.decode("latin-1")
        size = sum(len(name) + len(value) + 4 for name, value in pairs)
        size += len(scope.get("raw_path") or b"") + len(scope["query_string"])
        get = found.get
        return cls(size, get(b"host", ""), get(b"origin"), get(b"authorization"), get(b"cookie"))


def _name(host: str) -> str:
    """A host without its port, as names are compared; one with something else for a port is none.

    >>> _name("LocalHost:80"), _name("[::1]:80"), _name("[::1]"), _name("localhost:evil.example")
    ('localhost', '[::1]', '[::1]', '')
    """
    name, colon, port = host.rpartition(":")
    if host.endswith("]") or not colon:
        return host.lower()
    return name.lower() if port.isdecimal() and port.isascii() else ""


def cookie_for(host: str) -> str:
    """The cookie of the service that is called so: a browser sends its cookies to every port of a machine.

    >>> cookie_for("127.0.0.1:8080"), cookie_for("custody.example")
    ('custody_token_8080', 'custody_token')
    """
    port = "" if host.endswith("]") else host.rpartition(":")[2]
    return f"{COOKIE}_{port}" if port != host and port.isdecimal() and port.isascii() else COOKIE


def _read_cookie_token(head: _RequestHead) -> str:
    """The token that a browser holds for us; what others on this machine had it hold may look like anything."""
    pairs = (pair.strip().partition("=") for pair in (head.cookie or "").split(";"))
    found = {name: value for name, _, value in pairs}
    return found.get(cookie_for(head.host)) or found.get(COOKIE, "")


def _questions(scope: Scope) -> list[tuple[str, str]]:
    return parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)


def _but_token(scope: Scope) -> str:
    """What an address asks, from its question mark on, without any token."""
    rest = urlencode([pair for pair in _questions(scope) if pair[0] != TOKEN])
    return f"?{rest}" if rest else ""


def _now() -> float:
    return asyncio.get_running_loop().time()


class Rates:
    """How often tokens may ask: so many at once after a rest, so many a second in the long run."""

    def __init__(self, per_second: float, burst: int) -> None:
        self._per_second = per_second
        self._burst = float(burst)
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def wait(self, name: str, now: float) -> float:
        """Count one more; the seconds to wait if that was one too many, else 0."""
        left, since = self._left.get(name, (self._burst, now))
        left = min(self._burst, left + (now - since) * self._per_second)
        wait = 0.0 if left >= 1.0 else (1.0 - left) / self._per_second
        self._left[name] = (left if wait else left - 1.0, now)
        self._left.move_to_end(name)
        while len(self._left) > BUCKETS_MAX:
            self._left.popitem(last=False)
        return wait
