"""A link check: HEAD, GET if the server needs it, following redirects, within limits of time and number."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import NamedTuple, TypeVar

import httpx2
from msgspec import Struct, field

from custody.cite.addresses import (
    PUBLIC_ONLY,
    AddressPolicy,
    RequestTarget,
    UnfitUrl,
    parse_link_target,
    resolve_link_redirect,
)
from custody.cite.links import (
    ASK_AGAIN,
    HOLD_HOURS_MAX,
    REDIRECTS,
    BreakerOf,
    Hop,
    LinkAnswer,
    LinkCheck,
    LinkOutcome,
    SkippedLink,
    link_check_from_hops,
    make_link_breakers,
    parse_link_retry_seconds,
)
from custody.cite.rules import CiteRules
from custody.cite.web.transport import ForbiddenUrl, NoSuchName

RANGE = "bytes=0-0"
SERVER_ERRORS = range(500, 600)
WHY_CHARS_MAX = 200
HOUR_SECONDS = 3600
REDIRECTS_MAX = 5
"""Maximum redirects, as in browsers."""
WAIT_SECONDS_MAX = 10
"""Maximum rate limit that a check waits for, because other URLs wait with it."""


class _Reply(NamedTuple):
    """The relevant parts of a response."""

    status: int
    location: str | None
    retry_after: str | None


class _HostUnavailable(Exception):
    """The host is skipped for now; the message says why."""


class _RedirectEnd(Exception):
    """The chain of redirects ends at a URL that cannot be requested."""

    def __init__(self, answer: LinkAnswer, why: str) -> None:
        super().__init__(why)
        self.answer = answer
        self.why = why


class LinkChecker(Struct, kw_only=True):
    """Checks URLs through a client; ``check`` never raises because of a URL or a server."""

    client: httpx2.AsyncClient
    now_ns: Callable[[], int]
    """The time of day, for servers that send a date."""
    rules: CiteRules = field(default_factory=CiteRules)
    policy: AddressPolicy = PUBLIC_ONLY
    breaker_of: BreakerOf | None = None
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    _hosts: dict[str, asyncio.Lock] = field(default_factory=dict)
    _held: dict[str, float] = field(default_factory=dict)
    _slots: asyncio.Semaphore = field(default_factory=asyncio.Semaphore)
    _breaker_of: BreakerOf = field(default_factory=make_link_breakers)

    def __post_init__(self) -> None:
        self._slots = asyncio.Semaphore(self.rules.link_parallel_max)
        self._breaker_of = self.breaker_of or make_link_breakers()

    async def check(self, url: str) -> LinkOutcome:
        """Check a URL; URLs of one host are checked one at a time, with a limit on all."""
        target = parse_link_target(url, self.policy)
        if isinstance(target, UnfitUrl):
            return LinkCheck(url=url, answer=LinkAnswer.REFUSED, why=f"not checked: {target.why}")
        async with self._hosts.setdefault(target.host, asyncio.Lock()), self._slots:
            return await self._within_time(url, target)

    async def _within_time(self, url: str, target: RequestTarget) -> LinkOutcome:
        deadline = asyncio.get_running_loop().time() + self.rules.link_total_seconds
        try:
            return await self._follow(url, target, deadline)
        except _HostUnavailable as closed:
            return SkippedLink(url, str(closed))
        except _RedirectEnd as end:
            return LinkCheck(url=url, answer=end.answer, why=end.why)
        except ForbiddenUrl as error:
            return LinkCheck(url=url, answer=LinkAnswer.REFUSED, why=f"not checked: {error.message}")
        except NoSuchName as error:
            return LinkCheck(url=url, answer=LinkAnswer.ABSENT, why=error.message)
        except TimeoutError:
            return LinkCheck(
                url=url, answer=LinkAnswer.SILENT, why=f"no answer in {self.rules.link_total_seconds:g} seconds"
            )
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            return LinkCheck(url=url, answer=LinkAnswer.SILENT, why=_describe_link_error(error))

    async def _follow(self, url: str, target: RequestTarget, deadline: float) -> LinkCheck:
        """Request a URL and its redirects, each validated like the first."""
        hops: list[Hop] = []
        visited: set[str] = set()
        while True:
            reply, patience = await self._ask_with_retry(target, deadline)
            hops.append(Hop(target.url if hops else url, reply.status))
            visited.add(target.url)
            if reply.status not in REDIRECTS:
                return link_check_from_hops(hops, retry_seconds=patience)
            if len(hops) > REDIRECTS_MAX:
                raise _RedirectEnd(LinkAnswer.SILENT, f"more than {REDIRECTS_MAX} redirects")
            target = self._next(target, reply)
            if target.url in visited:
                raise _RedirectEnd(LinkAnswer.SILENT, "redirect loop")

    def _next(self, target: RequestTarget, reply: _Reply) -> RequestTarget:
        url = None if reply.location is None else resolve_link_redirect(target.url, reply.location)
        if url is None:
            raise _RedirectEnd(LinkAnswer.SILENT, f"status {reply.status} without a location")
        following = parse_link_target(url, self.policy)
        if isinstance(following, UnfitUrl):
            raise _RedirectEnd(LinkAnswer.REFUSED, f"redirects to a URL that is not checked: {following.why}")
        return following

    async def _ask_with_retry(self, target: RequestTarget, deadline: float) -> tuple[_Reply, int | None]:
        """Send a request; retry once after a short rate limit, give up on a long one."""
        now = asyncio.get_running_loop().time
        reply = await self._ask(target, deadline)
        wait = self._retry_seconds(reply)
        if wait is not None and wait <= WAIT_SECONDS_MAX and now() + wait < deadline:
            await self.sleep(wait)
            reply = await self._ask(target, deadline)
            wait = self._retry_seconds(reply)
        if wait is not None:
            self._held[target.host] = now() + min(wait, HOLD_HOURS_MAX * HOUR_SECONDS)
        return reply, wait

    def _retry_seconds(self, reply: _Reply) -> int | None:
        is_error = reply.status not in REDIRECTS and reply.status >= 400
        if reply.retry_after is None or not is_error:
            return None
        return parse_link_retry_seconds(reply.retry_after, self.now_ns())

    async def _ask(self, target: RequestTarget, deadline: float) -> _Reply:
        """Send one request to a host, unless its breaker or its rate limit forbids it."""
        now = asyncio.get_running_loop().time
        if now() < self._held.get(target.host, 0.0):
            raise _HostUnavailable(f"'{target.host}' is rate-limited")
        breaker = self._breaker_of(target.host)
        ticket = breaker.enter(now())
        if ticket is None:
            raise _HostUnavailable(f"'{target.host}' failed too often")
        try:
            async with asyncio.timeout_at(deadline):
                reply = await self._head_or_get(target)
        except (httpx2.HTTPError, TimeoutError):
            breaker.failed(ticket, now())
            raise
        except NoSuchName:
            breaker.succeeded(ticket)
            raise
        except BaseException:
            breaker.gave_up(ticket)
            raise
        if reply.status in SERVER_ERRORS:
            breaker.failed(ticket, now())
        else:
            breaker.succeeded(ticket)
        return reply

    async def _head_or_get(self, target: RequestTarget) -> _Reply:
        reply = await self._send("HEAD", target, {})
        return await self._send("GET", target, {"Range": RANGE}) if reply.status in ASK_AGAIN else reply

    async def _send(self, method: str, target: RequestTarget, headers: dict[str, str]) -> _Reply:
        request = self.client.build_request(method, target.url, headers=headers)
        if (request.url.raw_host.decode("ascii"), request.url.port or target.port) != (target.host, target.port):
            raise ForbiddenUrl(f"'{target.host}' is ambiguous")
        answer = await self.client.send(request, stream=True, follow_redirects=False)
        try:
            return _Reply(answer.status_code, answer.headers.get("location"), answer.headers.get("retry-after"))
        finally:
            await answer.aclose()


def _describe_link_error(error: Exception) -> str:
    message = " ".join(str(error).split())
    return f"{type(error).__name__}: {message}"[:WHY_CHARS_MAX] if message else type(error).__name__


# Check many URLs, with or without an event loop.


T = TypeVar("T")


async def check_links_concurrently(
    checker: LinkChecker, urls: Sequence[str], tell: Callable[[LinkOutcome], None]
) -> None:
    """Check every URL once, and report each result as soon as it is known."""

    async def check_url(url: str) -> None:
        tell(await checker.check(url))

    async with asyncio.TaskGroup() as group:
        for url in dict.fromkeys(urls):
            group.create_task(check_url(url))


async def gather_link_calls(calls: Sequence[Awaitable[T]]) -> list[T]:
    """Return the results of concurrent calls, in order."""
    return await asyncio.gather(*calls)


def run_link_checks(
    urls: Sequence[str],
    tell: Callable[[LinkOutcome], None],
    *,
    client: Callable[[], httpx2.AsyncClient],
    checker: Callable[[httpx2.AsyncClient], LinkChecker],
) -> None:
    """Check URLs without an event loop; results before an interrupt have been reported."""

    async def run() -> None:
        async with client() as opened:
            await check_links_concurrently(checker(opened), urls, tell)

    asyncio.run(run())
