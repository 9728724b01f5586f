"""One look at an address: HEAD, GET where a server wants that, along redirects, within limits of time and number."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, TypeVar

import httpx2

from custody.cite.addresses import PUBLIC_ONLY, AddressPolicy, RequestTarget, UnfitUrl, redirected, target_of
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
    breaker_per_host,
    look_from,
    retry_after_seconds,
)
from custody.cite.rules import CiteRules
from custody.cite.web.transport import ForbiddenUrl, NoSuchName

RANGE = "bytes=0-0"
SERVER_ERRORS = range(500, 600)
WHY_CHARS_MAX = 200
HOUR_SECONDS = 3600
REDIRECTS_MAX = 5
"""More redirects than this lead nowhere that a reader would get to."""
WAIT_SECONDS_MAX = 10
"""A server that asks for more patience is not waited for: others would wait with it."""


class _Reply(NamedTuple):
    """What matters of an answer."""

    status: int
    location: str | None
    retry_after: str | None


class _HostUnavailable(Exception):
    """The host is left alone for now; the sentence says why."""


class _RedirectEnd(Exception):
    """The chain of redirects leads to nothing that can be asked."""

    def __init__(self, answer: LinkAnswer, why: str) -> None:
        super().__init__(why)
        self.answer = answer
        self.why = why


@dataclass(slots=True, kw_only=True)
class LinkChecker:
    """Looks at addresses through a client. Nothing that an address or a server does makes ``look`` raise."""

    client: httpx2.AsyncClient
    now_ns: Callable[[], int]
    """The time of day, for servers that name a date."""
    rules: CiteRules = field(default_factory=CiteRules)
    policy: AddressPolicy = PUBLIC_ONLY
    breaker_of: BreakerOf | None = None
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    _hosts: dict[str, asyncio.Lock] = field(default_factory=dict, init=False)
    _held: dict[str, float] = field(default_factory=dict, init=False)
    _slots: asyncio.Semaphore = field(init=False)
    _breaker_of: BreakerOf = field(init=False)

    def __post_init__(self) -> None:
        self._slots = asyncio.Semaphore(self.rules.link_parallel_max)
        self._breaker_of = self.breaker_of or breaker_per_host()

    async def look(self, url: str) -> LinkOutcome:
        """What an address answers now. Addresses of one host take turns, and only so many are asked at once."""
        target = target_of(url, self.policy)
        if isinstance(target, UnfitUrl):
            return LinkCheck(url=url, answer=LinkAnswer.REFUSED, why=f"not asked: {target.why}")
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
            return LinkCheck(url=url, answer=LinkAnswer.REFUSED, why=f"not asked: {error.message}")
        except NoSuchName as error:
            return LinkCheck(url=url, answer=LinkAnswer.ABSENT, why=error.message)
        except TimeoutError:
            return LinkCheck(
                url=url, answer=LinkAnswer.SILENT, why=f"no answer in {self.rules.link_total_seconds:g} seconds"
            )
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            return LinkCheck(url=url, answer=LinkAnswer.SILENT, why=_sentence(error))

    async def _follow(self, url: str, target: RequestTarget, deadline: float) -> LinkCheck:
        """Ask, and ask where the answer leads, each place checked like the first."""
        hops: list[Hop] = []
        seen: set[str] = set()
        while True:
            reply, patience = await self._patiently(target, deadline)
            hops.append(Hop(target.url if hops else url, reply.status))
            seen.add(target.url)
            if reply.status not in REDIRECTS:
                return look_from(hops, retry_seconds=patience)
            if len(hops) > REDIRECTS_MAX:
                raise _RedirectEnd(LinkAnswer.SILENT, f"more than {REDIRECTS_MAX} redirects")
            target = self._next(target, reply)
            if target.url in seen:
                raise _RedirectEnd(LinkAnswer.SILENT, "redirects in a circle")

    def _next(self, target: RequestTarget, reply: _Reply) -> RequestTarget:
        url = None if reply.location is None else redirected(target.url, reply.location)
        if url is None:
            raise _RedirectEnd(LinkAnswer.SILENT, f"status {reply.status} leads nowhere")
        following = target_of(url, self.policy)
        if isinstance(following, UnfitUrl):
            raise _RedirectEnd(LinkAnswer.REFUSED, f"redirects to what is not asked: {following.why}")
        return following

    async def _patiently(self, target: RequestTarget, deadline: float) -> tuple[_Reply, int | None]:
        """Ask; a server that wants to be asked again soon is, once, one that wants more patience is left alone."""
        now = asyncio.get_running_loop().time
        reply = await self._ask(target, deadline)
        wait = self._wanted(reply)
        if wait is not None and wait <= WAIT_SECONDS_MAX and now() + wait < deadline:
            await self.sleep(wait)
            reply = await self._ask(target, deadline)
            wait = self._wanted(reply)
        if wait is not None:
            self._held[target.host] = now() + min(wait, HOLD_HOURS_MAX * HOUR_SECONDS)
        return reply, wait

    def _wanted(self, reply: _Reply) -> int | None:
        is_error = reply.status not in REDIRECTS and reply.status >= 400
        if reply.retry_after is None or not is_error:
            return None
        return retry_after_seconds(reply.retry_after, self.now_ns())

    async def _ask(self, target: RequestTarget, deadline: float) -> _Reply:
        """One question to one host, if its breaker and its own wishes let it through."""
        now = asyncio.get_running_loop().time
        if now() < self._held.get(target.host, 0.0):
            raise _HostUnavailable(f"'{target.host}' asked for patience")
        breaker = self._breaker_of(target.host)
        ticket = breaker.enter(now())
        if ticket is None:
            raise _HostUnavailable(f"'{target.host}' failed too often just now")
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
            raise ForbiddenUrl(f"'{target.host}' is read in two ways")
        answer = await self.client.send(request, stream=True, follow_redirects=False)
        try:
            return _Reply(answer.status_code, answer.headers.get("location"), answer.headers.get("retry-after"))
        finally:
            await answer.aclose()


def _sentence(error: Exception) -> str:
    said = " ".join(str(error).split())
    return f"{type(error).__name__}: {said}"[:WHY_CHARS_MAX] if said else type(error).__name__


# Many looks: in an event loop, or from a program that has none.


T = TypeVar("T")


async def look_at(checker: LinkChecker, urls: Sequence[str], tell: Callable[[LinkOutcome], None]) -> None:
    """Look at every address, each once, and tell of each as soon as it is known."""

    async def check_url(url: str) -> None:
        tell(await checker.look(url))

    async with asyncio.TaskGroup() as group:
        for url in dict.fromkeys(urls):
            group.create_task(check_url(url))


async def gather_calls(calls: Sequence[Awaitable[T]]) -> list[T]:
    """What each call gives, in their order; they run side by side."""
    return await asyncio.gather(*calls)


def look_at_all(
    urls: Sequence[str],
    tell: Callable[[LinkOutcome], None],
    *,
    client: Callable[[], httpx2.AsyncClient],
    checker: Callable[[httpx2.AsyncClient], LinkChecker],
) -> None:
    """The same without an event loop around it. What was told before an interruption stays told."""

    async def run() -> None:
        async with client() as opened:
            await look_at(checker(opened), urls, tell)

    asyncio.run(run())
