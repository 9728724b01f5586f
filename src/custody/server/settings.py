"""How a service is set: whom it answers, and how much it takes."""

from collections.abc import Callable
from dataclasses import dataclass, field

from custody.server.app.github_settings import GitHubSettings
from custody.server.app.intake import BODY_BYTES_MAX
from custody.server.app.tenancy_model import AccessKeeper


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
