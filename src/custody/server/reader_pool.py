"""Questions run in a few threads: the store is opened for each, so that it shows everything acknowledged until then.

A thread cannot be told to stop. What may take long has threads of its own, so that the rest is answered meanwhile, and
is not begun again while it still goes on for somebody who has been told to come back. The service ends without waiting
for it: it asks only, and what it keeps on the way is kept in whole transactions.
"""

import asyncio
from collections.abc import Callable, Hashable
from concurrent.futures import Future, ThreadPoolExecutor
from threading import BoundedSemaphore, Thread
from typing import TypeVar

from custody.server.app.tenancy_model import AccessKeeper
from custody.server.problems import LATER, TOO_LONG, busy
from custody.workspace.workspace import Workspace

THREADS = 4
LONG_THREADS = 4

T = TypeVar("T")


class Readers:
    """The threads that ask stores."""

    def __init__(self, keeper: AccessKeeper) -> None:
        self._keeper = keeper
        self._workspaces: dict[str, Workspace] = {}
        self._threads = ThreadPoolExecutor(THREADS, "custody-reader")
        self._long = BoundedSemaphore(LONG_THREADS)
        self._going_on: set[Hashable] = set()

    async def ask(self, project: str, question: Callable[[Workspace], T]) -> T:
        """What a question to a project's workspace comes to."""
        return await self.run(lambda: question(self.workspace(project)))

    async def ask_long(self, project: str, name: Hashable, question: Callable[[Workspace], T]) -> T:
        """The same of a question that may take long; one of this ``name`` that goes on unheard is not begun again."""
        if name in self._going_on:
            raise busy(TOO_LONG, remedy=LATER)
        begun = self._begun(lambda: question(self.workspace(project)))
        try:
            return await asyncio.wrap_future(begun)
        except asyncio.CancelledError:
            if not begun.cancel():
                self._going_on.add(name)
                begun.add_done_callback(lambda _: self._going_on.discard(name))
            raise

    def _begun(self, work: Callable[[], T]) -> "Future[T]":
        """Something that goes on in a thread that nobody waits for at the end, when it is its turn."""
        begun: Future[T] = Future()

        def go_on() -> None:
            with self._long:
                if begun.set_running_or_notify_cancel():
                    try:
                        begun.set_result(work())
                    except BaseException as error:  # noqa: BLE001 - it is raised where the answer is waited for
                        begun.set_exception(error)

        Thread(target=go_on, name="custody-long-reader", daemon=True).start()
        return begun

    async def run(self, work: Callable[[], T]) -> T:
        """Do something that takes its time beside the event loop."""
        return await asyncio.get_running_loop().run_in_executor(self._threads, work)

    def workspace(self, project: str) -> Workspace:
        """The project's workspace, which finds its repository once."""
        if project not in self._workspaces:
            self._workspaces[project] = self._keeper.workspace(project)
        return self._workspaces[project]

    async def close(self) -> None:
        """Answer what was asked, then end; what goes on unheard is left to itself."""
        await asyncio.to_thread(self._threads.shutdown)
