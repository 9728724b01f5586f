"""What one look at an address saw, what is remembered of many, and the verdict that follows.

This file is the only one that decides verdicts. One failure says little: a server is down for a night, a page is moved
and comes back. So an address is gone only after several failures with time between them and no answer in between.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import Enum

from custody.cite.rules import CiteRules
from custody.cite.urls import parts_of, url_key

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
