"""The public API of document 003; every repository runs its calls on one worker thread, in order."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any, ClassVar, Concatenate, ParamSpec, TypeVar

from custody.cite.app.library import *
from custody.writer import *

P = ParamSpec("P")
T = TypeVar("T")


def _queue(call: Callable[Concatenate[SourceRegistry, P], T]) -> Callable[..., Coroutine[Any, Any, T]]:
    async def submit(self: "_Repository", *values: P.args, **named: P.kwargs) -> T:
        return await asyncio.wrap_future(self._worker.submit(lambda: call(self.registry, *values, **named)))

    return submit


class _Repository:
    _open: ClassVar[Callable[..., SourceRegistry]]

    def __init_subclass__(cls, opens: Callable[..., SourceRegistry]) -> None:
        cls._open = staticmethod(opens)

    def __init__(self, *place: Any, **named: Any) -> None:
        self.registry, self._worker = self._open(*place, **named), ThreadPoolExecutor(1, "sources")

    register, get = _queue(SourceRegistry.register), _queue(SourceRegistry.get)
    find_by_key = _queue(SourceRegistry.find_by_key)
    find_by_canonical_key = _queue(SourceRegistry.find_by_canonical_key)
    register_usage, usage = _queue(SourceRegistry.register_usage), _queue(SourceRegistry.usage)
    merge, unmerge = _queue(SourceRegistry.merge), _queue(SourceRegistry.unmerge)
    part, excerpt = _queue(SourceRegistry.part), _queue(SourceRegistry.excerpt)
    read, known = _queue(SourceRegistry.read), _queue(SourceRegistry.find_with_text)

    async def iter_all(self) -> AsyncIterator[tuple[SourceIdentity, ResearchSource]]:
        for pair in await _queue(SourceRegistry.list_all)(self):
            yield pair

    async def iter_sources(self) -> AsyncIterator[ResearchSource]:
        async for _, source in self.iter_all():
            yield source

    def ordered_sources(self) -> list[ResearchSource]:
        return [source for _, source in self._worker.submit(self.registry.list_all).result()]


class InMemorySourceRepository(_Repository, opens=in_memory):
    """Sources in memory, lost when the program ends."""


class AppendOnlySourceRepository(_Repository, opens=in_file):
    """``AppendOnlySourceRepository(path)``: sources in an append-only file."""


class StoreSourceRepository(_Repository, opens=in_store):
    """``StoreSourceRepository(folder=".", database=None)``: sources in the store of a repository or a team."""
