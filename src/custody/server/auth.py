"""Authentication: the token of this start, stored tokens, and the settings of a service."""

import asyncio
import hmac
import logging
from collections import OrderedDict
from collections.abc import Callable, Sequence
from hashlib import sha256
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from urllib.parse import urlsplit

from msgspec import Struct, field

from custody.core.errors import InputError
from custody.server.app.github_jobs import GitHubSettings
from custody.server.app.intake import BODY_BYTES_MAX
from custody.server.app.tenancy import AccessKeeper, Grant, TokenScope
from custody.workspace.workspace import Workspace

START = "this-start"
"""The public id of the token of this start."""
TOKEN_CHARACTERS_MAX = 512
BROWSER_TOKENS_MAX = 8
"""Maximum projects whose tokens one browser stores."""
CACHED_SECONDS = 2.0
"""How long the check of a token is cached: a revoked token is rejected after this time at the latest."""
CACHED_MAX = 10_000

reads = logging.getLogger("custody.service.reads")


class PerStartKeeper(Struct, frozen=True):
    """Accepts the token that this server printed when it started, for one project with all scopes.

    ``others`` checks all other tokens.
    """

    own: Workspace
    token: str
    others: AccessKeeper | None = None

    def grant(self, presented: str, now_ns: int) -> Grant | None:
        """Return all scopes for the token printed at the start; else the answer of ``others``."""
        if hmac.compare_digest(_digest_token(presented), _digest_token(self.token)):
            return Grant(self.own.project, frozenset(TokenScope), START, None)
        return None if self.others is None else self.others.grant(presented, now_ns)

    def workspace(self, project: str) -> Workspace:
        """Return the embedded store for its project; else the workspace of ``others``."""
        return self.own if project == self.own.project or self.others is None else self.others.workspace(project)

    def record_text_read(self, grant: Grant, what: str) -> None:
        """Log reads with the token of this start; ``others`` stores those of other tokens."""
        if grant.token_id == START or self.others is None:
            reads.info("text read: %s", what, extra={"token": grant.token_id, "project": grant.project})
        else:
            self.others.record_text_read(grant, what)


def _digest_token(text: str) -> bytes:
    return sha256(text.encode("utf-8", "surrogatepass")).digest()


class _CachedGrant(Struct, frozen=True):
    grant: Grant
    until: float


class TokenCheck:
    """Checks tokens in a thread, and caches valid ones for a short time."""

    def __init__(self, keeper: AccessKeeper, now_ns: Callable[[], int]) -> None:
        self._keeper = keeper
        self._now_ns = now_ns
        self._cached: OrderedDict[bytes, _CachedGrant] = OrderedDict()

    async def grant(self, presented: str) -> Grant | None:
        """Return the rights of a token; None if it is invalid."""
        if not presented or len(presented) > TOKEN_CHARACTERS_MAX:
            return None
        name, now = _digest_token(presented), asyncio.get_running_loop().time()
        known = self._cached.get(name)
        if known is None or known.until <= now:
            grant = await asyncio.to_thread(self._keeper.grant, presented, self._now_ns())
            if grant is None:
                self._cached.pop(name, None)
                return None
            known = _CachedGrant(grant, now + CACHED_SECONDS)
            self._cached[name] = known
            while len(self._cached) > CACHED_MAX:
                self._cached.popitem(last=False)
        expires_ns = known.grant.expires_ns
        return known.grant if expires_ns is None or expires_ns > self._now_ns() else None

    async def list_grants(self, presented: Sequence[str]) -> list[tuple[str, Grant]]:
        """Return the valid tokens with their rights, the first one of each project."""
        grants: dict[str, tuple[str, Grant]] = {}
        for token in presented[: 2 * BROWSER_TOKENS_MAX]:
            grant = await self.grant(token)
            if grant is not None:
                grants.setdefault(grant.project, (token, grant))
        return list(grants.values())[:BROWSER_TOKENS_MAX]


class CallerLimits(Struct, frozen=True, kw_only=True):
    """Limits on requests."""

    body_bytes: int = BODY_BYTES_MAX
    """Maximum size of a body, as sent and unpacked."""
    head_bytes: int = 32 * 1024
    """Maximum size of the request line and headers together."""
    head_seconds: float = 15.0
    """Maximum time for a head to arrive, from its first byte or from the start of the connection."""
    body_seconds: float = 60.0
    """Maximum time for a body to arrive."""
    answer_seconds: float = 90.0
    """Maximum time for an answer, including the body."""
    page_seconds: float = 1.0
    """How long a page waits for work that takes long, before it shows how far the work is."""
    in_flight: int = 512
    """Maximum requests at the same time."""
    waiting: int = 4096
    """Maximum requests of one project that wait for its writer."""
    rate_per_second: float = 2_000.0
    """Sustained request rate of one token."""
    rate_burst: int = 4_000
    """Maximum burst of requests of one token."""
    shutdown_seconds: int = 30
    """Time for open requests at shutdown."""


IpNetwork = IPv4Network | IPv6Network


class TlsSettings(Struct, frozen=True, kw_only=True):
    """How a service knows that a browser reaches it over TLS."""

    public_url: str | None = None
    """The URL that browsers use."""
    proxies: tuple[IpNetwork, ...] = ()
    """The addresses of proxies; only their X-Forwarded-Proto is believed."""

    @classmethod
    def of(cls, public_url: str | None, proxies: Sequence[str]) -> "TlsSettings":
        """Parse the options of ``custody serve``; an ``InputError`` if one is invalid."""
        parts = urlsplit(public_url or "")
        if public_url is not None and (parts.scheme not in ("http", "https") or not parts.netloc):
            raise InputError(
                f"invalid URL '{public_url}'", hint="--public-url takes a URL like https://custody.example"
            )
        try:
            return cls(public_url=public_url, proxies=tuple(ip_network(proxy) for proxy in proxies))
        except ValueError as error:
            raise InputError(str(error), hint="--trusted-proxy takes an IP address or a network") from error

    def trusts(self, address: str) -> bool:
        """Return whether requests from this address come from a trusted proxy."""
        try:
            peer = ip_address(address)
        except ValueError:
            return False  # a socket without an IP address
        return any(peer in network for network in self.proxies)


class Settings(Struct, frozen=True, kw_only=True):
    """The settings of ``create_app``."""

    keeper: AccessKeeper
    now_ns: Callable[[], int]
    hosts: frozenset[str] | None = None
    """Accepted names in the Host header, without ports; None accepts any."""
    token_in_address: bool = False
    """Whether a URL may contain a token, which the browser then stores in a cookie; on loopback only."""
    tls: TlsSettings = field(default_factory=TlsSettings)
    github: GitHubSettings = field(default_factory=GitHubSettings)
    limits: CallerLimits = field(default_factory=CallerLimits)


LOOPBACK_NAMES = frozenset(("127.0.0.1", "localhost", "[::1]"))
"""The names of this machine in the Host header of local browsers."""
