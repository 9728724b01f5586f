"""The door to services that the user named: their addresses and tokens, and the HTTP client that speaks to them.

May touch: the user's own file of remotes, and by HTTPS (plain HTTP on this machine only) the addresses in it. Nothing
that a repository holds can name such an address. A token is never part of a message or of a log.
"""

import json
import os
import re
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from ipaddress import ip_address
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import Self
from urllib.parse import quote, urlsplit

import httpx2

from custody import __version__
from custody.core.errors import InputError, WorldError

# The services that the user named, in a file that only the user may read.


FILE_BYTES_MAX = 1 << 20
BELOW = Path("custody") / "remotes.json"
TOKEN_SIGNS_MAX = 512
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_TOKEN = re.compile(r"[!-~]+")


@dataclass(frozen=True, slots=True)
class NamedRemote:
    """A service: the name that the user gave it, where it is, and the token for it, which is never shown."""

    name: str
    url: str
    token: str | None = field(default=None, repr=False)


class RemoteBook:
    """The user's file of services."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        base = environment.get("XDG_CONFIG_HOME", "")
        if not os.path.isabs(base):
            base = os.path.join(environment.get("HOME", ""), ".config")
        self.path = Path(base) / BELOW

    def all(self) -> dict[str, NamedRemote]:
        """Every service by name."""
        try:
            with self.path.open("rb") as file:
                data = file.read(FILE_BYTES_MAX)
        except FileNotFoundError:
            return {}
        except OSError as error:
            raise WorldError(f"cannot read '{self.path}': {error.strerror}") from error
        try:
            said = json.loads(data)["remotes"]
            return {name: NamedRemote(name, str(entry["url"]), entry.get("token")) for name, entry in said.items()}
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise InputError(
                f"'{self.path}' is no list of remotes", hint="move it away; 'custody remote add' makes a new one"
            ) from error

    def add(self, name: str, url: str, token: str | None) -> NamedRemote:
        """Name a service, or give a named one another address or token."""
        if not _NAME.fullmatch(name):
            raise InputError(f"{name!a} is no name for a remote", hint="letters, digits, dots and hyphens, at most 64")
        if token is not None and (not _TOKEN.fullmatch(token) or len(token) > TOKEN_SIGNS_MAX):
            raise InputError("that is no token", hint="a token is one word of printable signs")
        made = NamedRemote(name, checked_url(url), token)
        self._write({**self.all(), name: made})
        return made

    def remove(self, name: str) -> None:
        """Forget a service and its token."""
        known = self.all()
        if name not in known:
            raise InputError(f"there is no remote called '{name}'", hint="'custody remote list' shows those there are")
        del known[name]
        self._write(known)

    def _write(self, remotes: Mapping[str, NamedRemote]) -> None:
        entries = {name: {"url": remote.url, "token": remote.token} for name, remote in sorted(remotes.items())}
        data = json.dumps({"remotes": entries}, indent=2, sort_keys=True).encode() + b"\n"
        aside = self.path.with_name(f".{self.path.name}.{os.getpid()}")
        try:
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            handle = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
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


def checked_url(url: str) -> str:
    """The address of a service as it is kept; an ``InputError`` for one that custody does not go to.

    >>> checked_url("https://custody.example.org/team/")
    'https://custody.example.org/team'
    """
    try:
        parts = urlsplit(url)
        port_is_fine = parts.port is None or parts.port > 0
    except ValueError as error:
        raise InputError(f"{url[:200]!a} is no address", hint="such as https://custody.example.org") from error
    if parts.username is not None or parts.password is not None or parts.query or parts.fragment:
        raise InputError("an address has neither a user nor a question", hint="give the token with --token-file")
    if not parts.hostname or not port_is_fine or not url.isascii() or not url.isprintable() or " " in url:
        raise InputError(f"{url[:200]!a} is no address", hint="such as https://custody.example.org")
    if parts.scheme != "https" and not (parts.scheme == "http" and _is_here(parts.hostname)):
        raise InputError(
            f"custody does not send a token to '{parts.scheme}://{parts.hostname}'",
            hint="https, or http on this machine only",
        )
    return url.rstrip("/")


def _is_here(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


# Speaking to a service: bounded in time and size, patient when told to wait, never led elsewhere.
# A token goes to the address that the user named and nowhere else: redirects are not followed.


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
