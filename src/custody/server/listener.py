"""``custody serve``: bind an address, answer until told to end, finish what was begun."""

import signal
import socket
import webbrowser
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from ipaddress import ip_address
from types import FrameType

import uvicorn

from custody.core.errors import InputError, WorldError
from custody.server.app.github_settings import github_settings
from custody.server.app.tenancy import StoredTenancy
from custody.server.app.tokens import list_tokens
from custody.server.assembly import create_app
from custody.server.auth import PerStartKeeper
from custody.server.logs import set_up
from custody.server.protocol import limited
from custody.server.settings import LOOPBACK_NAMES, Settings
from custody.workspace.workspace import Workspace

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
