"""What one look at an address saw, what is remembered of many, and the verdict that follows.

This file is the only one that decides verdicts. One failure says little: a server is down for a night, a page is moved
and comes back. So an address is gone only after several failures with time between them and no answer in between.
"""

import math
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from enum import Enum

from custody.cite.rules import CiteRules
from custody.cite.urls import parts_of, url_key
from custody.core.rules import check_range

SECOND_NS = 1_000_000_000
HOUR_NS = 3600 * SECOND_NS
DAY_NS = 24 * HOUR_NS
HOLD_HOURS_MAX = 24
"""A server that asks to be left alone for longer is asked again after a day, when a failure counts anew."""
FAILURES_KEPT_MAX = 64
"""Of more failures in a row those are forgotten that stand closest to another: the first and the latest never."""


class LinkVerdict(Enum):
    """What is known of an address."""

    ALIVE = "alive"
    """It answers."""
    MOVED = "moved"
    """It leads for good to another address, which answers."""
    GONE = "gone"
    """It failed again and again over some time."""
    BLOCKED = "blocked"
    """Its server, or our own policy, does not let us look: nobody knows whether it is there."""
    UNREACHABLE = "unreachable"
    """It failed, but not often or long enough to be gone."""


class LinkAnswer(Enum):
    """What one look saw."""

    HERE = "here"
    MOVED = "moved"
    ABSENT = "absent"
    """Its server, or the name server, says that there is no such thing."""
    REFUSED = "refused"
    SILENT = "silent"
    """No answer that says anything: no connection, too late, broken, the server's own error."""


FAILURES = frozenset((LinkAnswer.ABSENT, LinkAnswer.SILENT))


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkCheck:
    """One look at an address; ``location`` is where it moved to, ``retry_seconds`` the patience that was asked for."""

    url: str
    answer: LinkAnswer
    why: str
    status: int | None = None
    location: str | None = None
    retry_seconds: int | None = None


@dataclass(frozen=True, slots=True)
class SkippedLink:
    """An address that nobody asked this time, and why; nothing was learnt of it."""

    url: str
    why: str


LinkOutcome = LinkCheck | SkippedLink


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkMemory:
    """What is remembered of an address: the last look, and when it failed since it last answered, oldest first."""

    last: LinkCheck
    at_ns: int
    failures_ns: tuple[int, ...] = ()

    @property
    def url(self) -> str:
        """The address that was looked at."""
        return self.last.url


def update_link_memory(memory: LinkMemory | None, look: LinkCheck, at_ns: int) -> LinkMemory:
    """The memory after one more look; another address than the one that is known begins anew."""
    known = () if memory is None or memory.url != look.url else memory.failures_ns
    if look.answer is LinkAnswer.REFUSED:
        failures = known  # whoever turned us away said nothing about the page
    elif look.answer in FAILURES:
        failures = _thinned(tuple(sorted((*known, at_ns))))
    else:
        failures = ()
    return LinkMemory(last=look, at_ns=at_ns, failures_ns=failures)


def failures_counted(memory: LinkMemory, rules: CiteRules) -> int:
    """How many failures have the time between them that the rules ask for, from the first on."""
    spacing_ns = rules.link_gone_spacing_hours * HOUR_NS
    counted, last = 0, None
    for at_ns in memory.failures_ns:
        if last is None or at_ns - last >= spacing_ns:
            counted, last = counted + 1, at_ns
    return counted


def verdict_of(memory: LinkMemory, rules: CiteRules) -> LinkVerdict:
    """What is known of an address now."""
    match memory.last.answer:
        case LinkAnswer.HERE:
            return LinkVerdict.ALIVE
        case LinkAnswer.MOVED:
            return LinkVerdict.MOVED
        case LinkAnswer.REFUSED:
            return LinkVerdict.BLOCKED
        case LinkAnswer.ABSENT | LinkAnswer.SILENT:
            is_gone = failures_counted(memory, rules) >= rules.link_gone_after
            return LinkVerdict.GONE if is_gone else LinkVerdict.UNREACHABLE


def held_until_ns(memory: LinkMemory | None) -> int | None:
    """Until when the server asked not to be asked again, with our own bound on it; None when it did not."""
    if memory is None or memory.last.retry_seconds is None:
        return None
    hold_ns = min(memory.last.retry_seconds * SECOND_NS, HOLD_HOURS_MAX * HOUR_NS)
    return memory.at_ns + hold_ns


def is_stale(memory: LinkMemory | None, now_ns: int, rules: CiteRules) -> bool:
    """Whether it is time to look again: never looked, too long ago, or a failure that can be counted again by now."""
    if memory is None:
        return True
    fresh_ns = rules.link_fresh_days * DAY_NS
    if memory.last.answer in FAILURES:
        fresh_ns = min(fresh_ns, rules.link_gone_spacing_hours * HOUR_NS)
    # A memory from the future is of a clock that was wrong.
    return not 0 <= now_ns - memory.at_ns < fresh_ns


def select_informative_checks(looks: Iterable[LinkCheck]) -> tuple[LinkCheck, ...]:
    """The looks of one run that say something about their addresses.

    Where no server answered at all, the silence is most likely ours: a machine without network must not let sources
    die.
    """
    every = tuple(looks)
    heard = any(look.status is not None for look in every)
    return tuple(look for look in every if heard or look.answer not in FAILURES)


def answer_of(status: int) -> LinkAnswer:
    """What a status of HTTP says about a page, after redirects were followed.

    >>> [answer_of(status).value for status in (206, 404, 429, 503)]
    ['here', 'absent', 'refused', 'silent']
    """
    if status in _HERE or 200 <= status < 300:
        return LinkAnswer.HERE
    if status in _ABSENT:
        return LinkAnswer.ABSENT
    if status in _SILENT or status < 400 or 500 <= status < 600:
        return LinkAnswer.SILENT
    return LinkAnswer.REFUSED


_HERE = frozenset((300, 304, 416))
"""Several forms, as it was, and a page too short for the part that was asked for: each is there."""
_ABSENT = frozenset((404, 410))
_SILENT = frozenset((408, 425))
"""Too late and too early: try again."""

PERMANENT = frozenset((301, 308))
REDIRECTS = frozenset((301, 302, 303, 307, 308))
ASK_AGAIN = frozenset((403, 405, 501))
"""Some servers know no HEAD, or let none through: these are asked by GET."""


@dataclass(frozen=True, slots=True)
class Hop:
    """One answer on the way: the address that was asked, and its status."""

    url: str
    status: int


def look_from(hops: Sequence[Hop], *, retry_seconds: int | None = None) -> LinkCheck:
    """What a chain of answers says about its first address; the last one is the answer, the others redirect."""
    first, last = hops[0], hops[-1]
    answer = answer_of(last.status)
    look = LinkCheck(
        url=first.url,
        answer=answer,
        why=_describe_hop(last, len(hops)),
        status=last.status,
        retry_seconds=retry_seconds,
    )
    location = _moved_to(hops)
    if answer is not LinkAnswer.HERE or location is None:
        return look
    return replace(look, answer=LinkAnswer.MOVED, location=location, why=_where(first.url, location))


def _moved_to(hops: Sequence[Hop]) -> str | None:
    """Where the redirects for good lead that stand at the beginning; None where that is the same page."""
    end = next(n for n, hop in enumerate(hops) if hop.status not in PERMANENT)
    return None if url_key(hops[end].url) == url_key(hops[0].url) else hops[end].url


def _where(url: str, location: str) -> str:
    here, there = parts_of(url), parts_of(location)
    if here is not None and there is not None and there.path == "/" != here.path:
        return "leads to a front page: what was there is perhaps not"
    return "leads for good to another address"


def _describe_hop(hop: Hop, hops: int) -> str:
    after = "" if hops == 1 else f" after {hops - 1} redirect(s)"
    return f"status {hop.status}{after}"


def _thinned(moments: tuple[int, ...]) -> tuple[int, ...]:
    if len(moments) <= FAILURES_KEPT_MAX:
        return moments
    closest = min(range(1, len(moments) - 1), key=lambda n: moments[n] - moments[n - 1])
    return moments[:closest] + moments[closest + 1 :]


# A circuit breaker: what fails again and again is left alone for a while, then tried exactly once.
# Moments are given in, as seconds of any clock that never goes back.


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


# What a ``Retry-After`` asks for: seconds, or a date in one of the three forms that HTTP knows.


_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTH = "|".join(_MONTHS)
_TIME = r"(?P<hour>[0-9]{2}):(?P<minute>[0-9]{2}):(?P<second>[0-9]{2})"
_FORMS = (
    re.compile(rf"[a-z]{{3}}, (?P<day>[0-9]{{2}}) (?P<month>{_MONTH}) (?P<year>[0-9]{{4}}) {_TIME} GMT", re.IGNORECASE),
    re.compile(
        rf"[a-z]{{6,9}}, (?P<day>[0-9]{{2}})-(?P<month>{_MONTH})-(?P<year>[0-9]{{2}}) {_TIME} GMT", re.IGNORECASE
    ),
    re.compile(rf"[a-z]{{3}} (?P<month>{_MONTH}) (?P<day>[ 0-9][0-9]) {_TIME} (?P<year>[0-9]{{4}})", re.IGNORECASE),
)
_SECONDS = re.compile("[0-9]{1,10}", re.ASCII)
_CHARS_MAX = 64
_CENTURY = 100
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def retry_after_seconds(value: str, now_ns: int) -> int | None:
    """How many whole seconds to wait; 0 for a date that has passed, None for what is neither seconds nor a date.

    >>> retry_after_seconds("120", 0), retry_after_seconds("soon", 0)
    (120, None)
    >>> retry_after_seconds("Thu, 01 Jan 1970 00:01:00 GMT", 0)
    60
    """
    said = value.strip()
    if len(said) > _CHARS_MAX:
        return None
    if _SECONDS.fullmatch(said):
        return int(said)
    now = _EPOCH + timedelta(microseconds=now_ns // 1000)
    moment = next((_moment(found, now) for form in _FORMS if (found := form.fullmatch(said))), None)
    return None if moment is None else max(0, math.ceil((moment - now).total_seconds()))


def _moment(found: re.Match[str], now: datetime) -> datetime | None:
    year = int(found["year"])
    if len(found["year"]) == 2:
        # As the standard says: a year that seems more than 50 years ahead is of the century before.
        year += now.year - now.year % _CENTURY
        year -= _CENTURY if year > now.year + _CENTURY // 2 else 0
    month = _MONTHS.index(found["month"].lower()) + 1
    try:
        hour, minute, second = (int(found[name]) for name in ("hour", "minute", "second"))
        return datetime(year, month, int(found["day"]), hour, minute, min(second, 59), tzinfo=UTC)
    except ValueError:
        return None  # the thirtieth of February: no date, so nothing was asked for
