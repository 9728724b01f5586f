"""``custody serve``: the application, limits on request heads, logs, and the HTTP server."""

import asyncio
import json
import logging
import signal
import socket
import sys
import webbrowser
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, closing
from types import FrameType
from typing import Any

import uvicorn
from litestar import Litestar, Request, Response
from litestar.exceptions import HTTPException, MethodNotAllowedException
from msgspec import Struct
from msgspec.structs import replace
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from custody.core.errors import InputError, WorldError
from custody.core.wire.time import format_timestamp
from custody.server.app.github_jobs import read_github_settings
from custody.server.app.tenancy import StoredTenancy, list_tokens
from custody.server.auth import LOOPBACK_NAMES, CallerLimits, PerStartKeeper, Settings, TlsSettings, TokenCheck
from custody.server.endpoints import make_endpoint_route
from custody.server.gatekeeper import Gatekeeper
from custody.server.problems import (
    MEDIA,
    SAFE,
    TITLES,
    HttpProblem,
    accepts_html_page,
    encode_http_problem,
    encode_problem_page,
    http_problem_from_error,
)
from custody.server.routes import ENDPOINTS
from custody.server.routes.forms import FORM_PATHS, FORMS
from custody.server.routes.pages import make_page_endpoints
from custody.server.shared_state import Service
from custody.share.remote import is_loopback_host
from custody.workspace.workspace import Workspace

# The log has one JSON object per line on stderr, and never contains a query string or a token.


_NS = 1_000_000_000
_EXTRA = ("token", "project")
"""Extra fields of a log line; ``token`` is the public id of a token."""


class JsonLines(logging.Formatter):
    """Formats log records as JSON lines."""

    def format(self, record: logging.LogRecord) -> str:
        """Return a record as one line of JSON."""
        line = {
            "at": format_timestamp(int(record.created * _NS)),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **{name: getattr(record, name) for name in _EXTRA if hasattr(record, name)},
        }
        if record.exc_info:
            line["trace"] = self.formatException(record.exc_info)
        return json.dumps(line)


def configure_service_logging() -> None:
    """Send the log of the service and the warnings of uvicorn to stderr."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
    # A person at a terminal reads warnings; a file or a log collector gets the reads of texts as well.
    reads = logging.WARNING if sys.stderr.isatty() else logging.INFO
    levels = (("custody.service", logging.INFO), ("custody.service.reads", reads), ("uvicorn", logging.WARNING))
    for name, level in levels:
        logger = logging.getLogger(name)
        logger.handlers = [handler]
        logger.setLevel(level)
        logger.propagate = False


class LimitedProtocol(HttpToolsProtocol):
    """uvicorn's protocol with limits on the size and the time of request heads."""

    limits = CallerLimits()

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start the timer for the first head."""
        super().connection_made(transport)
        self._head_bytes = 0
        self._in_head = self._between = True
        self._has_data = False
        self._heads_begun = 0
        self._timer: asyncio.TimerHandle | None = None
        self._start_head_timer()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the timer."""
        self._cancel_head_timer()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Count the bytes of a head and reject one that is too large."""
        between, self._heads_begun = self._between, 0
        super().data_received(data)
        if not self._in_head:
            return
        # If these bytes also contain the end of another message, counting starts with the next bytes.
        is_all_head = self._heads_begun == 0 or (between and self._heads_begun == 1)
        self._head_bytes += len(data) if is_all_head else 0
        if self._head_bytes > self.limits.head_bytes:
            self._refuse(self._make_head_size_problem())

    def on_message_begin(self) -> None:
        """Start to count a head."""
        super().on_message_begin()
        self._in_head = self._has_data = True
        self._between = False
        self._heads_begun += 1
        self._head_bytes = 0
        self._start_head_timer()

    def on_headers_complete(self) -> None:
        """Stop to count a head."""
        self._in_head = False
        self._cancel_head_timer()
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """Note that the connection is between two requests."""
        self._between = True
        super().on_message_complete()

    def send_400_response(self, msg: str) -> None:
        """Answer invalid HTTP with a problem document; a URL may be too long even to be parsed."""
        is_long = self._has_data and len(self.url) > self.limits.head_bytes
        self._refuse(self._make_head_size_problem() if is_long else HttpProblem(400, msg.rstrip(".").lower()))

    def _make_head_size_problem(self) -> HttpProblem:
        return HttpProblem(431, f"request line and headers are larger than {self.limits.head_bytes:,} bytes")

    def _start_head_timer(self) -> None:
        self._cancel_head_timer()
        self._timer = self.loop.call_later(self.limits.head_seconds, self._handle_head_timeout)

    def _cancel_head_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _handle_head_timeout(self) -> None:
        if not self._has_data:
            self.transport.close()  # without data no request needs an answer
        else:
            self._refuse(HttpProblem(408, f"the head did not arrive within {self.limits.head_seconds:g} seconds"))

    def _refuse(self, refusal: HttpProblem) -> None:
        if self.transport.is_closing():
            return
        body = encode_http_problem(refusal, "")
        headers = {"content-type": MEDIA, "content-length": str(len(body)), "connection": "close", **SAFE}
        head = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        self.transport.write(STATUS_LINE[refusal.status] + head.encode() + b"\r\n" + body)
        self.transport.close()


def make_limited_protocol(limits: CallerLimits) -> type[LimitedProtocol]:
    """Return the protocol class with these limits."""
    attributes: dict[str, Any] = {"limits": limits}
    return type("LimitedProtocol", (LimitedProtocol,), attributes)


log = logging.getLogger("custody.service")


def create_app(settings: Settings) -> Litestar:
    """Return the ASGI application; its threads start with the first request and end with its lifespan."""
    service = Service.of(settings)
    endpoints = (*ENDPOINTS, *make_page_endpoints(), *FORMS)

    @asynccontextmanager
    async def running(_app: Litestar) -> AsyncIterator[None]:
        try:
            yield
        finally:
            await service.close()

    app = Litestar(
        route_handlers=[make_endpoint_route(endpoint) for endpoint in endpoints],
        lifespan=[running],
        openapi_config=None,
        exception_handlers={Exception: _handle_request_error},
        request_max_body_size=None,
        logging_config=None,
    )
    app.state.service = service
    # Around everything else, since litestar answers unknown paths before its own middleware.
    open_ = frozenset(endpoint.path for endpoint in endpoints if endpoint.scope is None)
    gatekeeper = TokenCheck(settings.keeper, settings.now_ns)
    app.asgi_handler = Gatekeeper(  # type: ignore[assignment]
        app.asgi_handler, service, gatekeeper, open_, FORM_PATHS
    )
    return app


def _handle_request_error(request: Request[Any, Any, Any], error: Exception) -> Response[bytes]:
    refusal = (
        _problem_from_litestar(request, error) if isinstance(error, HTTPException) else http_problem_from_error(error)
    )
    if refusal.status == 500:
        log.error("unexpected error at %s %s", request.method, request.scope.get("path_template"), exc_info=error)
    path, query = str(request.scope["path"]), request.scope["query_string"].decode("latin-1")
    if accepts_html_page(request.headers.get("accept"), path):
        body, headers = encode_problem_page(refusal, f"{path}?{query}" if query else path)
        return Response(body, status_code=refusal.status, headers=headers)
    return Response(
        encode_http_problem(refusal, path), status_code=refusal.status, media_type=MEDIA, headers=dict(refusal.headers)
    )


def _problem_from_litestar(request: Request[Any, Any, Any], error: HTTPException) -> HttpProblem:
    """Return the problem for an error of litestar: unknown paths and methods."""
    status = error.status_code if error.status_code in TITLES else 400 if error.status_code < 500 else 500
    headers = dict(error.headers or {})
    if isinstance(error, MethodNotAllowedException):
        return HttpProblem(status, f"method '{request.method[:20]}' is not supported here", headers=headers)
    if status == 404:
        return HttpProblem(404, "unknown path", remedy="/openapi.json lists the paths")
    return HttpProblem(status, TITLES[status][1], headers=headers)


KEEP_ALIVE_SECONDS = 30
BACKLOG = 1024
TOKEN_HALVES = 2
"""The token of a start has this many times 128 random bits."""


class ListenAddress(Struct, frozen=True):
    """The address of a running service; ``token`` is the one of this start, if any."""

    host: str
    port: int
    token: str | None

    @property
    def url(self) -> str:
        """The URL without the token."""
        return f"http://{_format_url_host(self.host)}:{self.port}/"

    def make_page_url(self, path: str) -> str:
        """Return the URL of a page, with the token for a browser."""
        page, _, params = path.lstrip("/").partition("?")
        query = "&".join(filter(None, (params, f"token={self.token}" if self.token else "")))
        return f"{self.url}{page}?{query}" if query else f"{self.url}{page}"


def _format_url_host(host: str) -> str:
    return f"[{host}]" if ":" in host else host


Announce = Callable[[ListenAddress], None]


def serve(
    workspace: Workspace,
    *,
    host: str,
    port: int,
    announce: Announce,
    page: str | None = None,
    tls: TlsSettings | None = None,
) -> None:
    """Listen on ``host`` until a signal; call ``announce`` with the address when ready."""
    configure_service_logging()
    with closing(StoredTenancy(workspace)) as tenancy:
        settings, token = make_service_settings(workspace, host, tenancy)
        _run_http_server(
            replace(settings, tls=tls or TlsSettings()), token, _bind_listen_socket(host, port), host, announce, page
        )


def _run_http_server(
    settings: Settings, token: str | None, bound: socket.socket, host: str, announce: Announce, page: str | None
) -> None:
    address = ListenAddress(host, bound.getsockname()[1], token)

    def started() -> None:
        announce(address)
        if page is not None:
            webbrowser.open(address.make_page_url(page))

    config = uvicorn.Config(
        create_app(settings),
        http=make_limited_protocol(settings.limits),
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


def make_service_settings(workspace: Workspace, host: str, tenancy: StoredTenancy) -> tuple[Settings, str | None]:
    """Return the settings for ``host``, and the token of this start: only on loopback with the embedded store."""
    if workspace.database is None and is_loopback_host(host):
        token = "".join(workspace.token() for _ in range(TOKEN_HALVES))
        keeper = PerStartKeeper(tenancy.workspace(workspace.project), token, tenancy)
        github = read_github_settings()
        return Settings(
            keeper=keeper,
            now_ns=workspace.now_ns,
            hosts=LOOPBACK_NAMES | {_format_url_host(host)},
            token_in_address=True,
            github=github,
        ), token
    if workspace.database is None and not any(token.state == "active" for token in list_tokens(workspace, None).tokens):
        raise InputError(
            f"cannot serve on '{host}' without a token",
            hint="create one with 'custody token create', or serve on 127.0.0.1",
        )
    return Settings(keeper=tenancy, now_ns=workspace.now_ns, github=read_github_settings()), None


def _bind_listen_socket(host: str, port: int) -> socket.socket:
    try:
        addresses = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        family, kind, _, _, address = addresses[0]
        bound = socket.socket(family, kind)
        try:
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            bound.bind(address)
        except OSError:
            bound.close()
            raise
    except OSError as error:
        raise WorldError(
            f"cannot listen on '{host}', port {port}: {error.strerror or error}", hint="--port 0 uses a free port"
        ) from error
    return bound


class _Server(uvicorn.Server):
    """uvicorn's server with a callback when it is ready, and a quiet shutdown."""

    def __init__(self, config: uvicorn.Config, started: Callable[[], None]) -> None:
        super().__init__(config)
        self._when_started = started

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start, then call back."""
        await super().startup(sockets)
        if self.started:
            self._when_started()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Finish open requests; a second Ctrl-C does not wait for them."""
        self.force_exit = self.should_exit and sig == signal.SIGINT
        self.should_exit = True
