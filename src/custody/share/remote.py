"""Services that the user added: their URLs and tokens, and the HTTP client for them.

May touch: the user's own file of remotes, and by HTTPS (plain HTTP on this machine only) the URLs in it. A repository
cannot name such a URL. A token is never part of a message or of a log.
"""

import json
import os
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from ipaddress import ip_address
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import Self
from urllib.parse import quote, urlsplit

from msgspec import Struct

from custody import __version__
from custody.core.errors import InputError, WorldError
from custody.core.patterns import lazy_pattern
from custody.core.platform import CLOEXEC, NOFOLLOW
from custody.core.structs import format_struct
from custody.share.wire import RemoteInfo, RemoteReport

# The services that the user added, in a file that only the user can read.


FILE_BYTES_MAX = 1 << 20
REMOTES_FILE = Path("custody") / "remotes.json"
TOKEN_CHARS_MAX = 512
_NAME = lazy_pattern(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_TOKEN = lazy_pattern(r"[!-~]+")


class NamedRemote(Struct, frozen=True):
    """A service: its name, its URL and its token, which is never shown."""

    name: str
    url: str
    token: str | None = None

    def __repr__(self) -> str:
        return format_struct(self, but=("token",))


class RemoteBook:
    """The user's file of services."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        base = environment.get("XDG_CONFIG_HOME", "")
        if not os.path.isabs(base):
            base = os.path.join(environment.get("HOME", ""), ".config")
        self.path = Path(base) / REMOTES_FILE

    def read_all(self) -> dict[str, NamedRemote]:
        """Return every service by name."""
        try:
            with self.path.open("rb") as file:
                data = file.read(FILE_BYTES_MAX)
        except FileNotFoundError:
            return {}
        except OSError as error:
            raise WorldError(f"cannot read '{self.path}': {error.strerror}") from error
        try:
            entries = json.loads(data)["remotes"]
            return {name: NamedRemote(name, str(entry["url"]), entry.get("token")) for name, entry in entries.items()}
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise InputError(
                f"'{self.path}' is not a list of remotes", hint="move it away; 'custody remote add' creates a new one"
            ) from error

    def add(self, name: str, url: str, token: str | None) -> NamedRemote:
        """Add a service, or replace the URL and token of one."""
        if not _NAME.fullmatch(name):
            raise InputError(
                f"invalid remote name {name!a}", hint="use letters, digits, dots and hyphens, at most 64 characters"
            )
        if token is not None and (not _TOKEN.fullmatch(token) or len(token) > TOKEN_CHARS_MAX):
            raise InputError("invalid token", hint="a token is one word of printable characters")
        remote = NamedRemote(name, check_remote_url(url), token)
        self._write({**self.read_all(), name: remote})
        return remote

    def remove(self, name: str) -> None:
        """Remove a service and its token."""
        known = self.read_all()
        if name not in known:
            raise InputError(f"unknown remote '{name}'", hint="list them with 'custody remote list'")
        del known[name]
        self._write(known)

    def _write(self, remotes: Mapping[str, NamedRemote]) -> None:
        entries = {name: {"url": remote.url, "token": remote.token} for name, remote in sorted(remotes.items())}
        data = json.dumps({"remotes": entries}, indent=2, sort_keys=True).encode() + b"\n"
        aside = self.path.with_name(f".{self.path.name}.{os.getpid()}")
        try:
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            handle = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | NOFOLLOW | CLOEXEC, 0o600)
            with os.fdopen(handle, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(handle)
            aside.rename(self.path)
        except OSError as error:
            with suppress(OSError):
                aside.unlink(missing_ok=True)
            raise WorldError(
                f"cannot write '{self.path}': {error.strerror}", hint="free space, or check who owns it"
            ) from error


def add_remote(name: str, url: str, token: str | None) -> RemoteReport:
    """Add a service, or replace its URL and token."""
    RemoteBook(os.environ).add(name, url, token)
    return list_remotes()


def remove_remote(name: str) -> RemoteReport:
    """Remove a service and its token."""
    RemoteBook(os.environ).remove(name)
    return list_remotes()


def list_remotes() -> RemoteReport:
    """List the services that the user added."""
    known = RemoteBook(os.environ).read_all()
    return RemoteReport(
        remotes=[RemoteInfo(remote.name, remote.url, remote.token is not None) for _, remote in sorted(known.items())]
    )


def check_remote_url(url: str) -> str:
    """Return the URL of a service as it is stored; raise ``InputError`` for a URL that custody does not connect to.

    >>> check_remote_url("https://custody.example.org/team/")
    'https://custody.example.org/team'
    """
    try:
        parts = urlsplit(url)
        port_is_fine = parts.port is None or parts.port > 0
    except ValueError as error:
        raise InputError(f"invalid URL {url[:200]!a}", hint="such as https://custody.example.org") from error
    if parts.username is not None or parts.password is not None or parts.query or parts.fragment:
        raise InputError("the URL must have no user, query or fragment", hint="pass the token with --token-file")
    if not parts.hostname or not port_is_fine or not url.isascii() or not url.isprintable() or " " in url:
        raise InputError(f"invalid URL {url[:200]!a}", hint="such as https://custody.example.org")
    if parts.scheme != "https" and not (parts.scheme == "http" and is_loopback_host(parts.hostname)):
        raise InputError(
            f"refusing to send a token to '{parts.scheme}://{parts.hostname}'",
            hint="use https, or http on this machine",
        )
    return url.rstrip("/")


def is_loopback_host(host: str) -> bool:
    """Return whether only this machine can reach a host."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


# The HTTP client: limited in time and size, waits when the service asks it to, and follows no redirects, so that a
# token goes only to the URL that the user added.


CONNECT_SECONDS = 10.0
ANSWER_SECONDS = 120.0
ANSWER_BYTES_MAX = 128 * 1024 * 1024
ATTEMPTS_MAX = 5
WAIT_SECONDS_MAX = 30.0
_FIRST_WAIT_SECONDS = 0.5
_RETRY_STATUSES = frozenset((429, 503))
_NOTHING_LOST = "nothing was lost; unsent records go out with the next push"
_DETAIL_CHARS_MAX = 500
NO_DETAIL = "no reason given"
NOTHING: Mapping[str, str | int] = MappingProxyType({})


class ServiceRefusal(InputError):
    """The service refused a request; ``status`` is the HTTP status."""

    def __init__(self, status: int, message: str, *, hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.status = status


class _Answer(Struct, frozen=True):
    status: int
    headers: Mapping[str, str]
    body: bytes


class RemoteService:
    """One service, for a ``with`` block."""

    def __init__(self, remote: NamedRemote, *, sleep: Callable[[float], None] = time.sleep) -> None:
        import httpx2  # only a command that asks a service pays for it

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
        self._failure = httpx2.HTTPError

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._client.close()

    def get(self, path: str, query: Mapping[str, str | int] = NOTHING) -> bytes:
        """Return the service's answer for ``path`` and ``query``."""
        text = "&".join(f"{name}={quote(str(value), safe='')}" for name, value in sorted(query.items()))
        return self._request("GET", path + (f"?{text}" if text else ""), None, "")

    def post(self, path: str, body: bytes, media: str) -> bytes:
        """Return the service's answer to ``body``; sent again when the service asks to retry."""
        return self._request("POST", path, body, media)

    def _request(self, method: str, path: str, body: bytes | None, media: str) -> bytes:
        wait = _FIRST_WAIT_SECONDS
        for attempts_left in reversed(range(ATTEMPTS_MAX)):
            answer = self._send_once(method, path, body, media)
            if answer.status not in _RETRY_STATUSES or not attempts_left:
                return self._check_answer(answer)
            self._sleep(min(_read_service_retry_after(answer) or wait, WAIT_SECONDS_MAX))
            wait *= 2
        raise AssertionError("the last attempt returns or raises")

    def _send_once(self, method: str, path: str, body: bytes | None, media: str) -> _Answer:
        headers = {"Content-Type": media} if body is not None else {}
        try:
            with self._client.stream(method, self._remote.url + path, content=body, headers=headers) as response:
                received = bytearray()
                for chunk in response.iter_raw():
                    received += chunk
                    if len(received) > ANSWER_BYTES_MAX:
                        raise WorldError(
                            f"the answer of '{self._remote.name}' is over {ANSWER_BYTES_MAX:,} bytes",
                            hint=_NOTHING_LOST,
                        )
                return _Answer(response.status_code, dict(response.headers), bytes(received))
        except self._failure as error:
            # An error of the HTTP client names what failed, never the headers; its URL is the one that the user added.
            what = " ".join(str(error).split())[:200] or type(error).__name__
            raise WorldError(
                f"cannot reach '{self._remote.name}' at {self._remote.url}: {what}", hint=_NOTHING_LOST
            ) from error

    def _check_answer(self, answer: _Answer) -> bytes:
        if 200 <= answer.status < 300:
            return answer.body
        name, detail = self._remote.name, _read_service_problem(answer.body)
        if 300 <= answer.status < 400:
            raise WorldError(f"'{name}' redirects, which custody does not follow", hint="check its URL")
        if answer.status in (401, 403):
            hint = "store a token with 'custody remote add NAME URL --token-file FILE'"
            raise ServiceRefusal(answer.status, f"'{name}' denied access: {detail}", hint=hint)
        if answer.status in _RETRY_STATUSES or answer.status >= 500:
            raise WorldError(f"'{name}' is not available now: {detail}", hint=_NOTHING_LOST)
        raise ServiceRefusal(answer.status, f"'{name}' refused the request: {detail}", hint="nothing was changed")


def _read_service_retry_after(answer: _Answer) -> float | None:
    """Return the seconds that the service asks to wait."""
    seconds = answer.headers.get("retry-after", "")
    return float(seconds) if seconds.isascii() and seconds.isdecimal() and len(seconds) < 6 else None


def _read_service_problem(body: bytes) -> str:
    """Return the detail of a problem document, shortened; other content is not repeated."""
    try:
        problem = json.loads(body[:65536])
    except ValueError:
        return NO_DETAIL
    detail = problem.get("detail") if isinstance(problem, dict) else None
    text = " ".join(str(detail or NO_DETAIL).split())[:_DETAIL_CHARS_MAX]
    return "".join(character if character.isprintable() else "?" for character in text)
