"""Questions run in a few threads: the store is opened for each, so that it shows everything acknowledged until then."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from custody.app.desk import Desk
from custody.app.tenancy_model import Keeper

THREADS = 4

T = TypeVar("T")


class Readers:
    """The threads that ask stores."""

    def __init__(self, keeper: Keeper) -> None:
        self._keeper = keeper
        self._desks: dict[str, Desk] = {}
        self._threads = ThreadPoolExecutor(THREADS, "custody-reader")

    async def ask(self, project: str, question: Callable[[Desk], T]) -> T:
        """What a question to a project's desk comes to."""
        return await self.run(lambda: question(self.desk(project)))

    async def run(self, work: Callable[[], T]) -> T:
        """Do something that takes its time beside the event loop."""
        return await asyncio.get_running_loop().run_in_executor(self._threads, work)

    def desk(self, project: str) -> Desk:
        """The project's desk, which finds its repository once."""
        if project not in self._desks:
            self._desks[project] = self._keeper.desk(project)
        return self._desks[project]

    async def close(self) -> None:
        """Answer what was asked, then end."""
        await asyncio.to_thread(self._threads.shutdown)
