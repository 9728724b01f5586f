"""A circuit breaker: what fails again and again is left alone for a while, then tried exactly once.

Moments are given in, as seconds of any clock that never goes back.
"""

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum

from custody.core.rules import check_range

FAILURES_MAX = 3
"""After so many failures in a row a host is not asked: one may be chance, three hardly are."""
COOL_DOWN_SECONDS = 60.0
"""After this time such a host is tried once more: long enough to restart a server, short enough for one run."""


class BreakerState(Enum):
    """Closed lets everything through, open nothing, half-open has one probe under way."""

    CLOSED = "closed"
    OPEN = "open"
    HALF_OPEN = "half-open"


@dataclass(frozen=True, slots=True)
class Ticket:
    """The leave to try once; how it went is told with it. ``era`` is what the breaker was in when it was given."""

    era: int


@dataclass(slots=True, kw_only=True)
class CircuitBreaker:
    """Counts failures one after the other; opens at ``failures_max`` and stays so for ``cool_down_seconds``.

    Whoever asks ``enter`` and gets a ticket tries, and then says ``succeeded``, ``failed`` or ``gave_up``. What is told
    with a ticket from before the last change of state is old news and changes nothing.

    >>> breaker = CircuitBreaker(failures_max=1, cool_down_seconds=60)
    >>> ticket = breaker.enter(0.0)
    >>> breaker.failed(ticket, 1.0)
    >>> breaker.is_closed, breaker.enter(60.0), breaker.enter(61.0) is None, breaker.enter(61.0)
    (False, None, False, None)
    """

    failures_max: int = FAILURES_MAX
    cool_down_seconds: float = COOL_DOWN_SECONDS
    _state: BreakerState = field(default=BreakerState.CLOSED, init=False)
    _failures: int = field(default=0, init=False)
    _opened_at: float = field(default=0.0, init=False)
    _era: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        check_range("failures_max", self.failures_max, least=1)
        check_range("cool_down_seconds", self.cool_down_seconds, least=0)

    @property
    def state(self) -> BreakerState:
        """Where it is now."""
        return self._state

    @property
    def is_closed(self) -> bool:
        """Whether it lets everything through."""
        return self._state is BreakerState.CLOSED

    def enter(self, now: float) -> Ticket | None:
        """Leave to try, or None. When the time of an open breaker is over, the first who asks has the one probe."""
        if self._state is BreakerState.OPEN and now - self._opened_at >= self.cool_down_seconds:
            self._change(BreakerState.HALF_OPEN)
            return Ticket(self._era)
        return Ticket(self._era) if self.is_closed else None

    def succeeded(self, ticket: Ticket) -> None:
        """The try went well: a probe closes the breaker."""
        if ticket.era != self._era:
            return
        self._failures = 0
        if self._state is BreakerState.HALF_OPEN:
            self._change(BreakerState.CLOSED)

    def failed(self, ticket: Ticket, now: float) -> None:
        """The try failed: a probe opens the breaker again, one failure too many opens it."""
        if ticket.era != self._era:
            return
        self._failures += 1
        if self._state is BreakerState.HALF_OPEN or self._failures >= self.failures_max:
            self._opened_at = now
            self._change(BreakerState.OPEN)

    def gave_up(self, ticket: Ticket) -> None:
        """The try was broken off and says nothing: a probe is free for the next who asks."""
        if ticket.era == self._era and self._state is BreakerState.HALF_OPEN:
            self._change(BreakerState.OPEN)

    def _change(self, state: BreakerState) -> None:
        self._state = state
        self._era += 1


BreakerOf = Callable[[str], CircuitBreaker]
"""The breaker that guards a host."""


def breaker_per_host() -> BreakerOf:
    """One breaker for each host, made when it is first asked for."""
    breakers: defaultdict[str, CircuitBreaker] = defaultdict(CircuitBreaker)
    return breakers.__getitem__
