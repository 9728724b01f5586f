"""``custody serve``: the application assembled, limits on request heads, logs, and the loop that answers."""

import asyncio
import json
import logging
import signal
import socket
import sys
import webbrowser
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass
from ipaddress import ip_address
from types import FrameType
from typing import Any

import uvicorn
from litestar import Litestar, Request, Response
from litestar.exceptions import HTTPException, MethodNotAllowedException
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from custody.core.errors import InputError, WorldError
from custody.core.wire.time import text_from
from custody.server.app.github_jobs import github_settings
from custody.server.app.tenancy import StoredTenancy, list_tokens
from custody.server.auth import LOOPBACK_NAMES, CallerLimits, PerStartKeeper, Settings, TokenCheck
from custody.server.endpoints import route_of
from custody.server.gatekeeper import Gatekeeper
from custody.server.problems import MEDIA, SAFE, TITLES, HttpProblem, body_of, page_of, problem_of, wants_page
from custody.server.routes import ENDPOINTS
from custody.server.routes.pages import page_endpoints
from custody.server.shared_state import Service
from custody.workspace.workspace import Workspace

# What the service writes down while it runs: one JSON object a line on stderr, and never a question or a token.


_NS = 1_000_000_000
_EXTRA = ("token", "project")
"""What a line may say beside its words; ``token`` is a token's name, which opens nothing."""


class JsonLines(logging.Formatter):
    """A record as one line."""

    def format(self, record: logging.LogRecord) -> str:
        """When, how bad, who says it, what."""
        said = {
            "at": text_from(int(record.created * _NS)),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **{name: getattr(record, name) for name in _EXTRA if hasattr(record, name)},
        }
        if record.exc_info:
            said["trace"] = self.formatException(record.exc_info)
        return json.dumps(said)


def set_up() -> None:
    """Have the service's own lines and the server's warnings on stderr."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
    for name, level in (("custody.service", logging.INFO), ("uvicorn", logging.WARNING)):
        logger = logging.getLogger(name)
        logger.handlers = [handler]
        logger.setLevel(level)
        logger.propagate = False


# Limits on a request's head, which is read before there is a request: its size, and the time that it takes.
# Behind it, bodies have limits of their own (``bodies``).


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


# The service put together: routes behind the door, refusals in one shape, an end that loses nothing.


log = logging.getLogger("custody.service")


def create_app(settings: Settings) -> Litestar:
    """The service as an ASGI application; its threads begin with its first request and end with its lifespan."""
    service = Service.of(settings)
    endpoints = (*ENDPOINTS, *page_endpoints())

    @asynccontextmanager
    async def running(_app: Litestar) -> AsyncIterator[None]:
        try:
            yield
        finally:
            await service.close()

    app = Litestar(
        route_handlers=[route_of(endpoint) for endpoint in endpoints],
        lifespan=[running],
        openapi_config=None,
        exception_handlers={Exception: _refused},
        request_max_body_size=None,
        logging_config=None,
    )
    app.state.service = service
    # Outside everything else, since litestar answers unknown paths before any middleware of its own.
    open_ = frozenset(endpoint.path for endpoint in endpoints if endpoint.scope is None)
    gatekeeper = TokenCheck(settings.keeper, settings.now_ns)
    app.asgi_handler = Gatekeeper(app.asgi_handler, service, gatekeeper, open_)  # type: ignore[assignment]
    return app


def _refused(request: Request[Any, Any, Any], error: Exception) -> Response[bytes]:
    refusal = _litestars(request, error) if isinstance(error, HTTPException) else problem_of(error)
    if refusal.status == 500:
        log.error("a bug at %s %s", request.method, request.scope.get("path_template"), exc_info=error)
    path, questions = str(request.scope["path"]), request.scope["query_string"].decode("latin-1")
    if wants_page(request.headers.get("accept"), path):
        body, headers = page_of(refusal, f"{path}?{questions}" if questions else path)
        return Response(body, status_code=refusal.status, headers=headers)
    return Response(body_of(refusal, path), status_code=refusal.status, media_type=MEDIA, headers=dict(refusal.headers))


def _litestars(request: Request[Any, Any, Any], error: HTTPException) -> HttpProblem:
    """What litestar refuses by itself: unknown paths and methods."""
    status = error.status_code if error.status_code in TITLES else 400 if error.status_code < 500 else 500
    headers = dict(error.headers or {})
    if isinstance(error, MethodNotAllowedException):
        return HttpProblem(status, f"'{request.method[:20]}' is not taken here", headers=headers)
    if status == 404:
        return HttpProblem(404, "nothing is here", remedy="/openapi.json lists what is")
    return HttpProblem(status, TITLES[status][1], headers=headers)


KEEP_ALIVE_SECONDS = 30
BACKLOG = 1024
TOKEN_HALVES = 2
"""The token of a start is as many times 128 random bits."""


@dataclass(frozen=True, slots=True)
class ListenAddress:
    """Where a service answers; ``token`` is that of this start, if it has one."""

    host: str
    port: int
    token: str | None

    @property
    def url(self) -> str:
        """The address without its token."""
        return f"http://{_called(self.host)}:{self.port}/"

    def at(self, path: str) -> str:
        """The address of a page, with the token for a browser."""
        page, _, questions = path.lstrip("/").partition("?")
        said = "&".join(filter(None, (questions, f"token={self.token}" if self.token else "")))
        return f"{self.url}{page}?{said}" if said else f"{self.url}{page}"


def _called(host: str) -> str:
    return f"[{host}]" if ":" in host else host


Announce = Callable[[ListenAddress], None]


def serve(workspace: Workspace, *, host: str, port: int, announce: Announce, page: str | None = None) -> None:
    """Answer at ``host`` until a signal says to end; ``announce`` is told where, once it does."""
    with closing(StoredTenancy(workspace)) as kept:
        settings, token = settings_for(workspace, host, kept)
        _run(settings, token, _bound(host, port), host, announce, page)


def _run(
    settings: Settings, token: str | None, bound: socket.socket, host: str, announce: Announce, page: str | None
) -> None:
    address = ListenAddress(host, bound.getsockname()[1], token)

    def started() -> None:
        announce(address)
        if page is not None:
            webbrowser.open(address.at(page))

    set_up()
    config = uvicorn.Config(
        create_app(settings),
        http=limited(settings.limits),
        ws="none",
        loop="uvloop",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        backlog=BACKLOG,
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=settings.limits.shutdown_seconds,
    )
    _Server(config, started).run([bound])


def settings_for(workspace: Workspace, host: str, kept: StoredTenancy) -> tuple[Settings, str | None]:
    """How a service at ``host`` is set, and the token of this start: only on this machine, with the embedded store."""
    if workspace.database is None and is_loopback(host):
        token = "".join(workspace.token() for _ in range(TOKEN_HALVES))
        keeper = PerStartKeeper(kept.workspace(workspace.project), token, kept)
        github = github_settings()
        return Settings(
            keeper=keeper,
            now_ns=workspace.now_ns,
            hosts=LOOPBACK_NAMES | {_called(host)},
            token_in_address=True,
            github=github,
        ), token
    if workspace.database is None and not any(token.state == "active" for token in list_tokens(workspace, None).tokens):
        raise InputError(
            f"nobody could ask a service at '{host}': there is no token",
            hint="make one with 'custody token create', or serve on 127.0.0.1 for yourself",
        )
    return Settings(keeper=kept, now_ns=workspace.now_ns, github=github_settings()), None


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach an address."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _bound(host: str, port: int) -> socket.socket:
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        family, kind, _, _, place = found[0]
        made = socket.socket(family, kind)
        try:
            made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            made.bind(place)
        except OSError:
            made.close()
            raise
    except OSError as error:
        raise WorldError(
            f"cannot listen at '{host}', port {port}: {error.strerror or error}", hint="--port 0 takes a free port"
        ) from error
    return made


class _Server(uvicorn.Server):
    """uvicorn's server, which says when it answers and ends quietly when told to."""

    def __init__(self, config: uvicorn.Config, started: Callable[[], None]) -> None:
        super().__init__(config)
        self._when_started = started

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to answer."""
        await super().startup(sockets)
        if self.started:
            self._when_started()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Finish what was begun; a second Ctrl-C does not wait for it."""
        self.force_exit = self.should_exit and sig == signal.SIGINT
        self.should_exit = True
