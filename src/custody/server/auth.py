"""Who is let in: the token of this start, and whoever a keeper of projects and tokens vouches for."""

import asyncio
import hmac
import logging
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from hashlib import sha256

from custody.server.app.github_jobs import GitHubSettings
from custody.server.app.intake import BODY_BYTES_MAX
from custody.server.app.tenancy import AccessKeeper, Grant, TokenScope
from custody.workspace.workspace import Workspace

START = "this-start"
"""The name of the token that a start makes."""
TOKEN_SIGNS_MAX = 512
REMEMBERED_SECONDS = 2.0
"""How long an answer about a token counts: a token that was revoked is refused after this time at the latest."""
REMEMBERED_MAX = 10_000

reads = logging.getLogger("custody.service.reads")


@dataclass(frozen=True, slots=True)
class PerStartKeeper:
    """One project that this token opens for everything; other tokens are asked of ``others``, if there are any."""

    own: Workspace
    token: str
    others: AccessKeeper | None = None

    def grant(self, presented: str, now_ns: int) -> Grant | None:
        """Everything for the token of this start; else what the others say."""
        if hmac.compare_digest(_digest(presented), _digest(self.token)):
            return Grant(self.own.project, frozenset(TokenScope), START, None)
        return None if self.others is None else self.others.grant(presented, now_ns)

    def workspace(self, project: str) -> Workspace:
        """The embedded store for its one project; the others' projects are theirs."""
        return self.own if project == self.own.project or self.others is None else self.others.workspace(project)

    def noted_read(self, grant: Grant, what: str) -> None:
        """In the service's log for the person who started it; the others keep their own list."""
        if grant.token_id == START or self.others is None:
            reads.info("text read: %s", what, extra={"token": grant.token_id, "project": grant.project})
        else:
            self.others.noted_read(grant, what)


def _digest(text: str) -> bytes:
    return sha256(text.encode("utf-8", "surrogatepass")).digest()


@dataclass(frozen=True, slots=True)
class _CachedGrant:
    grant: Grant
    until: float


class TokenCheck:
    """Asks the keeper in a thread, and remembers good answers for a moment: tokens are asked about all the time."""

    def __init__(self, keeper: AccessKeeper, now_ns: Callable[[], int]) -> None:
        self._keeper = keeper
        self._now_ns = now_ns
        self._known: OrderedDict[bytes, _CachedGrant] = OrderedDict()

    async def grant(self, presented: str) -> Grant | None:
        """What a token is good for at this moment."""
        if not presented or len(presented) > TOKEN_SIGNS_MAX:
            return None
        name, now = _digest(presented), asyncio.get_running_loop().time()
        known = self._known.get(name)
        if known is None or known.until <= now:
            found = await asyncio.to_thread(self._keeper.grant, presented, self._now_ns())
            if found is None:
                self._known.pop(name, None)
                return None
            known = _CachedGrant(found, now + REMEMBERED_SECONDS)
            self._known[name] = known
            while len(self._known) > REMEMBERED_MAX:
                self._known.popitem(last=False)
        ends = known.grant.expires_ns
        return known.grant if ends is None or ends > self._now_ns() else None


# How a service is set: whom it answers, and how much it takes.


@dataclass(frozen=True, slots=True, kw_only=True)
class CallerLimits:
    """What a single caller may ask of the service."""

    body_bytes: int = BODY_BYTES_MAX
    """Of a body, as sent and unpacked."""
    head_bytes: int = 32 * 1024
    """Of a request's first line and headers together."""
    head_seconds: float = 15.0
    """For a request's head to arrive, from its first byte, or from the connection's beginning."""
    body_seconds: float = 60.0
    """For a body to arrive."""
    answer_seconds: float = 90.0
    """For an answer, the body's time included."""
    in_flight: int = 512
    """Requests being answered at once."""
    waiting: int = 4096
    """Requests of one project that wait for its writer."""
    rate_per_second: float = 2_000.0
    """Requests of one token, in the long run."""
    rate_burst: int = 4_000
    """Requests of one token at once, after a rest."""
    shutdown_seconds: int = 30
    """For requests under way when the service is told to end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What ``create_app`` is handed."""

    keeper: AccessKeeper
    now_ns: Callable[[], int]
    hosts: frozenset[str] | None = None
    """Names in the Host header that are answered, without ports; None answers any."""
    token_in_address: bool = False
    """Whether an address may bring a token, which a browser then holds in a cookie: on this machine only."""
    github: GitHubSettings = field(default_factory=GitHubSettings)
    limits: CallerLimits = field(default_factory=CallerLimits)


LOOPBACK_NAMES = frozenset(("127.0.0.1", "localhost", "[::1]"))
"""What a browser on this machine calls this machine."""
