"""Access control of every request: host, origin, head size, token, project, rate, and concurrency.

A rejected request reaches neither a body nor a store.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping, MutableMapping, Sequence
from math import ceil
from typing import Any
from urllib.parse import parse_qsl, quote, urlencode

from msgspec import Struct

from custody.core.errors import CustodyError
from custody.server.app.tenancy import Grant
from custody.server.auth import LOOPBACK_NAMES, TlsSettings, TokenCheck
from custody.server.endpoints import PROJECT
from custody.server.form_token import make_form_key
from custody.server.problems import (
    MEDIA,
    SAFE,
    HttpProblem,
    accepts_html_page,
    encode_http_problem,
    encode_problem_page,
    http_problem_from_error,
    make_busy_problem,
)
from custody.server.shared_state import Service

COOKIE = "custody_token"
TOKEN = "token"
TOKENS_SEPARATOR = "."
"""Between the tokens of a browser; no token contains it."""
BUCKETS_MAX = 10_000

Scope = MutableMapping[str, Any]
AsgiMessage = MutableMapping[str, Any]
AsgiReceive = Callable[[], Awaitable[Any]]
Send = Callable[[Any], Awaitable[None]]
Asgi = Callable[[Any, Any, Any], Awaitable[None]]


class Gatekeeper:
    """Checks every request, unknown paths included."""

    def __init__(
        self,
        inside: Asgi,
        service: Service,
        gatekeeper: TokenCheck,
        open_: frozenset[str],
        forms: frozenset[str] = frozenset(),
    ) -> None:
        self._forms = forms
        self._inside = inside
        self._service = service
        self._gatekeeper = gatekeeper
        self._rates = Rates(service.settings.limits.rate_per_second, service.settings.limits.rate_burst)
        self._open = open_
        self._in_flight = 0

    async def __call__(self, scope: Scope, receive: AsgiReceive, send: Send) -> None:
        """Pass a request on or reject it, and count it."""
        if scope["type"] != "http":
            raise NotImplementedError("only HTTP is supported")
        began, sent = _read_event_loop_time(), _StatusRecorder(send)
        self._service.metrics.in_flight.inc()
        self._in_flight += 1
        try:
            await self._answer(scope, receive, sent)
        finally:
            self._in_flight -= 1
            self._service.metrics.in_flight.dec()
            self._count(scope, sent.status, _read_event_loop_time() - began)

    async def _answer(self, scope: Scope, receive: AsgiReceive, sent: "_StatusRecorder") -> None:
        try:
            head = _RequestHead.of(scope)
            self._check(scope, head)
            if scope["path"] not in self._open:
                redirect = await self._redirect_without_token(scope, head)
                if redirect is not None:
                    await _send_http_response(sent, 303, b"", redirect)
                    return
                state = scope.setdefault("state", {})
                state["grant"] = await self._admit_request(scope, head)
                state["form_key"] = make_form_key(self._read_presented_token(scope, head))
        except HttpProblem as refusal:
            await send_http_problem(sent, refusal, scope)
            return
        except CustodyError as error:
            await send_http_problem(sent, http_problem_from_error(error), scope)
            return
        await self._inside(scope, receive, sent)

    def _check(self, scope: Scope, head: "_RequestHead") -> None:
        settings = self._service.settings
        if head.size > settings.limits.head_bytes:
            raise HttpProblem(431, f"request line and headers are larger than {settings.limits.head_bytes:,} bytes")
        if settings.hosts is not None and _normalize_host_name(head.host) not in settings.hosts:
            # Another site may point its name to this machine; its requests then carry that name.
            raise HttpProblem(403, "unknown host name", remedy="use the URL that 'custody serve' printed")
        if head.origin is not None and head.origin not in (f"http://{head.host}", f"https://{head.host}"):
            raise HttpProblem(403, "requests from other sites are rejected", remedy="open the page of this service")
        if self._in_flight > settings.limits.in_flight:
            raise make_busy_problem("too many requests at once")

    async def _redirect_without_token(self, scope: Scope, head: "_RequestHead") -> dict[str, str] | None:
        """Return the headers that redirect a browser with a token in the URL to the URL without it.

        A valid token is stored in a cookie; an expired one, as in a bookmark, keeps the existing cookie.
        """
        if not self._service.settings.token_in_address or scope["method"] != "GET":
            return None
        token = dict(reversed(_parse_query_params(scope))).get(TOKEN)
        if token is None:
            return None
        is_valid = await self._gatekeeper.grant(token) is not None
        if not is_valid and await self._gatekeeper.grant(self._read_presented_token(scope, head)) is None:
            return None
        # Exactly one slash at the start: two would lead to another host.
        headers = {"location": "/" + quote(str(scope["path"]).lstrip("/\\")) + _strip_token_from_query(scope)}
        if is_valid:
            secure = "; Secure" if is_over_tls(scope, self._service.settings.tls) else ""
            stored = await self._gatekeeper.list_grants([token, *read_cookie_tokens(head.cookie, head.host)])
            value = encode_cookie_tokens([each for each, _ in stored])
            cookie = f"{make_token_cookie_name(head.host)}={value}; Path=/; HttpOnly; SameSite=Strict{secure}"
            headers["set-cookie"] = cookie
        return headers

    async def _admit_request(self, scope: Scope, head: "_RequestHead") -> Grant:
        try:
            grant = await self._gatekeeper.grant(self._read_presented_token(scope, head))
        except CustodyError as error:
            raise http_problem_from_error(error) from error
        if grant is None:
            raise HttpProblem(
                401,
                "a valid token is required",
                remedy="send 'Authorization: Bearer TOKEN'",
                headers={"www-authenticate": 'Bearer realm="custody"'},
            )
        wait = self._rates.wait(grant.token_id, _read_event_loop_time())
        if wait > 0:
            raise HttpProblem(
                429,
                "too many requests with this token",
                remedy="wait, then try again",
                headers={"retry-after": str(ceil(wait))},
            )
        if any(value != grant.project for name, value in _parse_query_params(scope) if name == PROJECT):
            raise HttpProblem(403, "this token is for another project", remedy="use a token of that project")
        return grant

    def _read_presented_token(self, scope: Scope, head: "_RequestHead") -> str:
        kind, _, token = (head.authorization or "").partition(" ")
        if kind.lower() == "bearer":
            return token.strip()
        # A browser sends its cookie unasked, so requests that change something never use it. The forms of pages do:
        # from our own origin, which was checked before, and with a form token, which they check.
        is_own_form = scope["path"] in self._forms and scope["method"] == "POST" and head.comes_from_page
        if (scope["method"] == "GET" or is_own_form) and head.cookie is not None:
            return next(iter(read_cookie_tokens(head.cookie, head.host)), "")
        return ""

    def _count(self, scope: Scope, status: int, seconds: float) -> None:
        route = str(scope.get("path_template") or "none")
        metrics = self._service.metrics
        metrics.requests.labels(route, _normalize_http_method(scope["method"]), str(status)).inc()
        metrics.seconds.labels(route).observe(seconds)


_METHODS = frozenset(("GET", "POST", "HEAD", "OPTIONS", "PUT", "PATCH", "DELETE"))


def _normalize_http_method(name: str) -> str:
    """Return a known method; others become one label, since callers can invent them."""
    return name if name in _METHODS else "other"


async def send_http_problem(send: Send, refusal: HttpProblem, scope: Scope) -> None:
    """Send an error: a page to a browser, else a problem document."""
    accept = next((value.decode("latin-1") for name, value in scope["headers"] if name == b"accept"), None)
    path = str(scope["path"])
    if accepts_html_page(accept, path):
        body, headers = encode_problem_page(refusal, quote(path) + _strip_token_from_query(scope))
        await _send_http_response(send, refusal.status, body, headers)
    else:
        await _send_http_response(
            send, refusal.status, encode_http_problem(refusal, path), {"content-type": MEDIA, **refusal.headers}
        )


async def _send_http_response(send: Send, status: int, body: bytes, headers: dict[str, str]) -> None:
    pairs = [(name.encode("latin-1"), value.encode("latin-1", "replace")) for name, value in headers.items()]
    pairs.append((b"content-length", str(len(body)).encode()))
    await send({"type": "http.response.start", "status": status, "headers": pairs})
    await send({"type": "http.response.body", "body": body})


class _StatusRecorder:
    """Passes an answer on, adds default headers, and stores its status."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self.status = 0

    async def __call__(self, message: AsgiMessage) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            headers = list(message.get("headers", ()))
            names = {name.lower() for name, _ in headers}
            safe = ((name.encode(), value.encode()) for name, value in SAFE.items())
            message["headers"] = [*headers, *(pair for pair in safe if pair[0] not in names)]
        await self._send(message)


class _RequestHead(Struct, frozen=True):
    """The parts of a request's head that are checked."""

    size: int
    host: str
    origin: str | None
    authorization: str | None
    cookie: str | None
    fetch_site: str | None

    @property
    def comes_from_page(self) -> bool:
        """Return whether the browser says that a page of this service sent the request."""
        return self.origin is not None and self.fetch_site in (None, "same-origin")

    @classmethod
    def of(cls, scope: Scope) -> "_RequestHead":
        pairs: list[tuple[bytes, bytes]] = list(scope["headers"])
        headers: dict[bytes, str] = {}
        for name, value in pairs:
            if name in (b"host", b"authorization", b"origin") and name in headers:
                raise HttpProblem(400, f"duplicate header '{name.decode()}'", remedy="send it once")
            headers[name] = value.decode("latin-1")
        size = sum(len(name) + len(value) + 4 for name, value in pairs)
        size += len(scope.get("raw_path") or b"") + len(scope["query_string"])
        get = headers.get
        site = get(b"sec-fetch-site")
        return cls(size, get(b"host", ""), get(b"origin"), get(b"authorization"), get(b"cookie"), site)


def _normalize_host_name(host: str) -> str:
    """Return a host in lower case without its port; empty if the port is invalid.

    >>> [_normalize_host_name(host) for host in ("LocalHost:80", "[::1]:80", "[::1]", "localhost:evil.example")]
    ['localhost', '[::1]', '[::1]', '']
    """
    name, colon, port = host.rpartition(":")
    if host.endswith("]") or not colon:
        return host.lower()
    return name.lower() if port.isdecimal() and port.isascii() else ""


def make_token_cookie_name(host: str) -> str:
    """Return the cookie name for a host and port, since browsers send cookies to every port of a machine.

    >>> make_token_cookie_name("127.0.0.1:8080"), make_token_cookie_name("custody.example")
    ('custody_token_8080', 'custody_token')
    """
    port = "" if host.endswith("]") else host.rpartition(":")[2]
    return f"{COOKIE}_{port}" if port != host and port.isdecimal() and port.isascii() else COOKIE


def is_over_tls(scope: Mapping[str, Any], tls: TlsSettings) -> bool:
    """Return whether the browser uses TLS: cookies are then marked Secure, which plain HTTP would lose.

    A trusted proxy decides alone. Without one, the public URL or the origin that a browser sends must be https.
    """
    headers: dict[bytes, str] = {name: value.decode("latin-1") for name, value in scope["headers"]}
    forwarded = headers.get(b"x-forwarded-proto")
    client = scope.get("client")
    if forwarded is not None and client is not None and tls.trusts(client[0]):
        return forwarded.rpartition(",")[2].strip().lower() == "https"  # the last one is the proxy's own
    host = headers.get(b"host", "").lower()
    if scope.get("scheme") == "https" or tls.public_url in (f"https://{host}", f"https://{host}/"):
        return True
    return _normalize_host_name(host) not in LOOPBACK_NAMES and headers.get(b"origin", "").startswith("https://")


def read_cookie_tokens(cookie: str | None, host: str) -> list[str]:
    """Return the tokens in the cookies, that of the current project first.

    Cookies of other services on this machine are ignored.

    >>> read_cookie_tokens("a=b; custody_token_8080=one.two", "127.0.0.1:8080")
    ['one', 'two']
    """
    pairs = (pair.strip().partition("=") for pair in (cookie or "").split(";"))
    cookies = {name: value for name, _, value in pairs}
    value = cookies.get(make_token_cookie_name(host)) or cookies.get(COOKIE, "")
    return [token for token in value.split(TOKENS_SEPARATOR) if token]


def encode_cookie_tokens(tokens: Sequence[str]) -> str:
    """Return the value of the cookie with these tokens, which ``read_cookie_tokens`` reads."""
    return TOKENS_SEPARATOR.join(tokens)


def _parse_query_params(scope: Scope) -> list[tuple[str, str]]:
    return parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)


def _strip_token_from_query(scope: Scope) -> str:
    """Return the query string with its question mark, without a token."""
    rest = urlencode([pair for pair in _parse_query_params(scope) if pair[0] != TOKEN])
    return f"?{rest}" if rest else ""


def _read_event_loop_time() -> float:
    return asyncio.get_running_loop().time()


class Rates:
    """A token bucket per API token: a burst, and a sustained rate."""

    def __init__(self, per_second: float, burst: int) -> None:
        self._per_second = per_second
        self._burst = float(burst)
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def wait(self, name: str, now: float) -> float:
        """Count a request; return the seconds to wait if it is over the limit, else 0."""
        left, since = self._left.get(name, (self._burst, now))
        left = min(self._burst, left + (now - since) * self._per_second)
        wait = 0.0 if left >= 1.0 else (1.0 - left) / self._per_second
        self._left[name] = (left if wait else left - 1.0, now)
        self._left.move_to_end(name)
        while len(self._left) > BUCKETS_MAX:
            self._left.popitem(last=False)
        return wait
