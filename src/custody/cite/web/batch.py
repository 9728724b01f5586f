"""Many looks: in an event loop, or from a program that has none."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

import httpx2

from custody.cite.links import LinkOutcome
from custody.cite.web.request import LinkChecker

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
