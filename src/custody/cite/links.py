"""Link checks, their memory, and the verdict.

Only this file decides verdicts. One failure means little: a server may be down for a night. So a URL is gone only after
several failures that are far enough apart, without a success in between.
"""

import math
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime, timedelta
from enum import Enum

from msgspec import Struct
from msgspec.structs import replace

from custody.cite.rules import CiteRules
from custody.cite.urls import compute_source_url_key, parse_source_url
from custody.core.patterns import lazy_pattern
from custody.core.plural import count_noun
from custody.core.rules import check_rule_range

SECOND_NS = 1_000_000_000
HOUR_NS = 3600 * SECOND_NS
DAY_NS = 24 * HOUR_NS
HOLD_HOURS_MAX = 24
"""Maximum rate limit that is respected; after a day, a failure counts again."""
FAILURES_KEPT_MAX = 64
"""Maximum failures stored; the ones closest to another are dropped, never the first and the last."""


class LinkVerdict(Enum):
    """The state of a URL."""

    ALIVE = "alive"
    """It works."""
    MOVED = "moved"
    """It redirects permanently to another URL that works."""
    GONE = "gone"
    """It failed repeatedly over some time."""
    BLOCKED = "blocked"
    """Its server, or our policy, denies access, so its state is unknown."""
    UNREACHABLE = "unreachable"
    """It failed, but not often or long enough to be gone."""


class LinkAnswer(Enum):
    """The result of one check."""

    HERE = "here"
    MOVED = "moved"
    ABSENT = "absent"
    """The server, or the name server, says that it does not exist."""
    REFUSED = "refused"
    SILENT = "silent"
    """No usable answer: no connection, a timeout, a broken answer, or a server error."""


FAILURES = frozenset((LinkAnswer.ABSENT, LinkAnswer.SILENT))


class LinkCheck(Struct, frozen=True, kw_only=True):
    """A check of a URL; ``location`` is where it moved to, ``retry_seconds`` the rate limit of the server."""

    url: str
    answer: LinkAnswer
    why: str
    status: int | None = None
    location: str | None = None
    retry_seconds: int | None = None


class SkippedLink(Struct, frozen=True):
    """A URL that was not checked this time, and why."""

    url: str
    why: str


LinkOutcome = LinkCheck | SkippedLink


class LinkMemory(Struct, frozen=True, kw_only=True):
    """The stored checks of a URL: the last one, and the failures since the last success, oldest first."""

    last: LinkCheck
    at_ns: int
    failures_ns: tuple[int, ...] = ()

    @property
    def url(self) -> str:
        """Return the URL that was checked."""
        return self.last.url


def update_link_memory(memory: LinkMemory | None, check: LinkCheck, at_ns: int) -> LinkMemory:
    """Return the memory after another check; a different URL starts a new memory."""
    known = () if memory is None or memory.url != check.url else memory.failures_ns
    if check.answer is LinkAnswer.REFUSED:
        failures = known  # denied access says nothing about the page
    elif check.answer in FAILURES:
        failures = _thin_link_failures(tuple(sorted((*known, at_ns))))
    else:
        failures = ()
    return LinkMemory(last=check, at_ns=at_ns, failures_ns=failures)


def count_link_failures(memory: LinkMemory, rules: CiteRules) -> int:
    """Return how many failures are far enough apart under the rules, counted from the first."""
    spacing_ns = rules.link_gone_spacing_hours * HOUR_NS
    counted, last = 0, None
    for at_ns in memory.failures_ns:
        if last is None or at_ns - last >= spacing_ns:
            counted, last = counted + 1, at_ns
    return counted


def judge_link(memory: LinkMemory, rules: CiteRules) -> LinkVerdict:
    """Return the verdict on a URL."""
    match memory.last.answer:
        case LinkAnswer.HERE:
            return LinkVerdict.ALIVE
        case LinkAnswer.MOVED:
            return LinkVerdict.MOVED
        case LinkAnswer.REFUSED:
            return LinkVerdict.BLOCKED
        case LinkAnswer.ABSENT | LinkAnswer.SILENT:
            is_gone = count_link_failures(memory, rules) >= rules.link_gone_after
            return LinkVerdict.GONE if is_gone else LinkVerdict.UNREACHABLE


def link_rate_limit_end_ns(memory: LinkMemory | None) -> int | None:
    """Return the end of the server's rate limit, capped; None if there is none."""
    if memory is None or memory.last.retry_seconds is None:
        return None
    hold_ns = min(memory.last.retry_seconds * SECOND_NS, HOLD_HOURS_MAX * HOUR_NS)
    return memory.at_ns + hold_ns


def is_link_stale(memory: LinkMemory | None, now_ns: int, rules: CiteRules) -> bool:
    """Return whether to check again: never checked, too long ago, or a failure that can count again."""
    if memory is None:
        return True
    fresh_ns = rules.link_fresh_days * DAY_NS
    if memory.last.answer in FAILURES:
        fresh_ns = min(fresh_ns, rules.link_gone_spacing_hours * HOUR_NS)
    # A time in the future comes from a wrong clock.
    return not 0 <= now_ns - memory.at_ns < fresh_ns


def select_informative_checks(looks: Iterable[LinkCheck]) -> tuple[LinkCheck, ...]:
    """Return the checks of a run that say something about their URLs.

    If no server answered at all, this machine is most likely offline, and failures must not count.
    """
    every = tuple(looks)
    any_answer = any(check.status is not None for check in every)
    return tuple(check for check in every if any_answer or check.answer not in FAILURES)


def link_answer_from_status(status: int) -> LinkAnswer:
    """Return what an HTTP status says about a page, after redirects.

    >>> [link_answer_from_status(status).value for status in (206, 404, 429, 503)]
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
"""Statuses of pages that exist: several forms, not modified, range not satisfiable."""
_ABSENT = frozenset((404, 410))
_SILENT = frozenset((408, 425))
"""Timeout and too early: try again."""

PERMANENT = frozenset((301, 308))
REDIRECTS = frozenset((301, 302, 303, 307, 308))
ASK_AGAIN = frozenset((403, 405, 501))
"""Statuses of servers that do not support HEAD: these are requested with GET."""


class Hop(Struct, frozen=True):
    """One response of a redirect chain: the URL and its status."""

    url: str
    status: int


def link_check_from_hops(hops: Sequence[Hop], *, retry_seconds: int | None = None) -> LinkCheck:
    """Return the check of a redirect chain's first URL; the last response is the result."""
    first, last = hops[0], hops[-1]
    answer = link_answer_from_status(last.status)
    check = LinkCheck(
        url=first.url,
        answer=answer,
        why=_describe_link_hop(last, len(hops)),
        status=last.status,
        retry_seconds=retry_seconds,
    )
    location = _permanent_link_redirect(hops)
    if answer is not LinkAnswer.HERE or location is None:
        return check
    return replace(check, answer=LinkAnswer.MOVED, location=location, why=_describe_link_move(first.url, location))


def _permanent_link_redirect(hops: Sequence[Hop]) -> str | None:
    """Return the target of the leading permanent redirects; None if it is the same page."""
    end = next(n for n, hop in enumerate(hops) if hop.status not in PERMANENT)
    return None if compute_source_url_key(hops[end].url) == compute_source_url_key(hops[0].url) else hops[end].url


def _describe_link_move(url: str, location: str) -> str:
    old, new = parse_source_url(url), parse_source_url(location)
    if old is not None and new is not None and new.path == "/" != old.path:
        return "redirects to a home page; the original content may be gone"
    return "redirects permanently to another URL"


def _describe_link_hop(hop: Hop, hops: int) -> str:
    after = "" if hops == 1 else f" after {count_noun(hops - 1, 'redirect')}"
    return f"status {hop.status}{after}"


def _thin_link_failures(failures_ns: tuple[int, ...]) -> tuple[int, ...]:
    if len(failures_ns) <= FAILURES_KEPT_MAX:
        return failures_ns
    closest = min(range(1, len(failures_ns) - 1), key=lambda n: failures_ns[n] - failures_ns[n - 1])
    return failures_ns[:closest] + failures_ns[closest + 1 :]


# A circuit breaker: a host that fails repeatedly is skipped for a while, then tried exactly once. Times are passed in,
# as seconds of any monotonic clock.


FAILURES_MAX = 3
"""Consecutive failures that open the breaker; one may be chance."""
COOL_DOWN_SECONDS = 60.0
"""Seconds until a host is tried again: enough to restart a server, short enough for one run."""


class BreakerState(Enum):
    """Closed lets everything through, open nothing, half-open one probe."""

    CLOSED = "closed"
    OPEN = "open"
    HALF_OPEN = "half-open"


class Ticket(Struct, frozen=True):
    """Permission for one attempt; its result is reported with it. ``era`` is the breaker's state when it was issued."""

    era: int


class CircuitBreaker(Struct, kw_only=True):
    """Counts consecutive failures; opens at ``failures_max`` for ``cool_down_seconds``.

    A caller that gets a ticket from ``enter`` makes an attempt and reports ``succeeded``, ``failed`` or ``gave_up``.
    Reports with a ticket from before the last change of state are ignored.

    >>> breaker = CircuitBreaker(failures_max=1, cool_down_seconds=60)
    >>> ticket = breaker.enter(0.0)
    >>> breaker.failed(ticket, 1.0)
    >>> breaker.is_closed, breaker.enter(60.0), breaker.enter(61.0) is None, breaker.enter(61.0)
    (False, None, False, None)
    """

    failures_max: int = FAILURES_MAX
    cool_down_seconds: float = COOL_DOWN_SECONDS
    _state: BreakerState = BreakerState.CLOSED
    _failures: int = 0
    _opened_at: float = 0.0
    _era: int = 0

    def __post_init__(self) -> None:
        check_rule_range("failures_max", self.failures_max, least=1)
        check_rule_range("cool_down_seconds", self.cool_down_seconds, least=0)

    @property
    def state(self) -> BreakerState:
        """Return the state."""
        return self._state

    @property
    def is_closed(self) -> bool:
        """Return whether it lets everything through."""
        return self._state is BreakerState.CLOSED

    def enter(self, now: float) -> Ticket | None:
        """Return a ticket, or None. After the cool-down, the first caller gets the only probe."""
        if self._state is BreakerState.OPEN and now - self._opened_at >= self.cool_down_seconds:
            self._change(BreakerState.HALF_OPEN)
            return Ticket(self._era)
        return Ticket(self._era) if self.is_closed else None

    def succeeded(self, ticket: Ticket) -> None:
        """Report success: a probe closes the breaker."""
        if ticket.era != self._era:
            return
        self._failures = 0
        if self._state is BreakerState.HALF_OPEN:
            self._change(BreakerState.CLOSED)

    def failed(self, ticket: Ticket, now: float) -> None:
        """Report a failure: a failed probe, or one failure too many, opens the breaker."""
        if ticket.era != self._era:
            return
        self._failures += 1
        if self._state is BreakerState.HALF_OPEN or self._failures >= self.failures_max:
            self._opened_at = now
            self._change(BreakerState.OPEN)

    def gave_up(self, ticket: Ticket) -> None:
        """Report an interrupted attempt: a probe is free for the next caller."""
        if ticket.era == self._era and self._state is BreakerState.HALF_OPEN:
            self._change(BreakerState.OPEN)

    def _change(self, state: BreakerState) -> None:
        self._state = state
        self._era += 1


BreakerOf = Callable[[str], CircuitBreaker]
"""Returns the breaker of a host."""


def make_link_breakers() -> BreakerOf:
    """Return a function that creates one breaker per host."""
    breakers: defaultdict[str, CircuitBreaker] = defaultdict(CircuitBreaker)
    return breakers.__getitem__


# Parse ``Retry-After``: seconds, or a date in one of the three forms of HTTP.


_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTH = "|".join(_MONTHS)
_TIME = r"(?P<hour>[0-9]{2}):(?P<minute>[0-9]{2}):(?P<second>[0-9]{2})"
_FORMS = (
    lazy_pattern(
        rf"[a-z]{{3}}, (?P<day>[0-9]{{2}}) (?P<month>{_MONTH}) (?P<year>[0-9]{{4}}) {_TIME} GMT", re.IGNORECASE
    ),
    lazy_pattern(
        rf"[a-z]{{6,9}}, (?P<day>[0-9]{{2}})-(?P<month>{_MONTH})-(?P<year>[0-9]{{2}}) {_TIME} GMT", re.IGNORECASE
    ),
    lazy_pattern(rf"[a-z]{{3}} (?P<month>{_MONTH}) (?P<day>[ 0-9][0-9]) {_TIME} (?P<year>[0-9]{{4}})", re.IGNORECASE),
)
_SECONDS = lazy_pattern("[0-9]{1,10}", re.ASCII)
_CHARS_MAX = 64
_CENTURY = 100
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def parse_link_retry_seconds(value: str, now_ns: int) -> int | None:
    """Return the seconds to wait; 0 for a past date, None if it is neither seconds nor a date.

    >>> parse_link_retry_seconds("120", 0), parse_link_retry_seconds("soon", 0)
    (120, None)
    >>> parse_link_retry_seconds("Thu, 01 Jan 1970 00:01:00 GMT", 0)
    60
    """
    text = value.strip()
    if len(text) > _CHARS_MAX:
        return None
    if _SECONDS.fullmatch(text):
        return int(text)
    now = _EPOCH + timedelta(microseconds=now_ns // 1000)
    date = next((_parse_link_retry_date(match, now) for form in _FORMS if (match := form.fullmatch(text))), None)
    return None if date is None else max(0, math.ceil((date - now).total_seconds()))


def _parse_link_retry_date(match: re.Match[str], now: datetime) -> datetime | None:
    year = int(match["year"])
    if len(match["year"]) == 2:
        # RFC 9110: a two-digit year more than 50 years ahead is in the past century.
        year += now.year - now.year % _CENTURY
        year -= _CENTURY if year > now.year + _CENTURY // 2 else 0
    month = _MONTHS.index(match["month"].lower()) + 1
    try:
        hour, minute, second = (int(match[name]) for name in ("hour", "minute", "second"))
        return datetime(year, month, int(match["day"]), hour, minute, min(second, 59), tzinfo=UTC)
    except ValueError:
        return None  # not a date, such as February 30
