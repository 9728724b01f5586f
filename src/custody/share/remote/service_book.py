"""The services that the user named, in a file that only the user may read."""

import json
import os
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from ipaddress import ip_address
from pathlib import Path
from urllib.parse import urlsplit

from custody.core.errors import InputError, WorldError

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
