"""Writers and readers of a service: one queue of writes per project, a few reader threads, metrics."""

import asyncio
import queue
import threading
from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from threading import BoundedSemaphore, Thread
from typing import TypeVar

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_LATEST

from custody.core.errors import CustodyError, StoreError
from custody.core.wire.arrival import Arrival
from custody.server.app.intake import IngestResult, StoreWriter
from custody.server.app.tenancy import AccessKeeper
from custody.server.problems import LATER, TOO_LONG, busy
from custody.workspace.workspace import Workspace

# Questions run in a few threads: the store is opened for each, so that it shows everything acknowledged until then.
# A thread cannot be told to stop. What may take long has threads of its own, so that the rest is answered meanwhile,
# and is not begun again while it still goes on for somebody who has been told to come back. The service ends without
# waiting for it: it asks only, and what it keeps on the way is kept in whole transactions.


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


# Counts of what the service did, in Prometheus' words; no project, no token and no path that a caller made up.


MEDIA = CONTENT_TYPE_LATEST.partition("; charset")[0]
"""Without the charset, which litestar adds to every text."""
GROUP_BUCKETS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)


class Metrics:
    """One service's counts."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self.requests = Counter(
            "custody_requests",
            "Requests by route, method and status",
            ("route", "method", "status"),
            registry=self._registry,
        )
        self.seconds = Histogram(
            "custody_request_seconds", "Time to answer, by route", ("route",), registry=self._registry
        )
        self.in_flight = Gauge("custody_requests_in_flight", "Requests being answered", registry=self._registry)
        self.events = Counter(
            "custody_ingested", "Records that were sent, by what became of them", ("fate",), registry=self._registry
        )
        self.group = Histogram(
            "custody_commit_events",
            "Records that were committed together",
            buckets=GROUP_BUCKETS,
            registry=self._registry,
        )
        self.store_failures = Counter(
            "custody_store_failures", "Times that the store could not be used", registry=self._registry
        )

    def text(self) -> bytes:
        """All of them."""
        return generate_latest(self._registry)


GROUP_EVENTS = 256
"""Records that one transaction takes, unless a single request has more."""
IDLE_SECONDS = 30.0
"""After this long without work the writer lets go of its store."""

Answer = list[IngestResult] | BaseException


@dataclass(slots=True)
class _Job:
    """Records of one request, and whoever waits for them."""

    arrivals: Sequence[Arrival]
    waiting: "asyncio.Future[list[IngestResult]]"
    loop: asyncio.AbstractEventLoop


class Writer:
    """The one thread that writes a project's records here."""

    def __init__(self, workspace: Workspace, metrics: Metrics, waiting_max: int) -> None:
        self._metrics = metrics
        self._jobs: queue.Queue[_Job | None] = queue.Queue(waiting_max)
        self._store = StoreWriter(workspace)
        self._ended = False
        self._thread = threading.Thread(target=self._run, name="custody-writer", daemon=True)
        self._thread.start()

    @property
    def is_alive(self) -> bool:
        """Whether it still takes records."""
        return self._thread.is_alive() and not self._ended

    def put(self, arrivals: Sequence[Arrival]) -> "asyncio.Future[list[IngestResult]]":
        """Queue records; what is waited for comes once they are committed, or says why they are not."""
        loop = asyncio.get_running_loop()
        job = _Job(arrivals, loop.create_future(), loop)
        try:
            self._jobs.put_nowait(job)
        except queue.Full as error:
            raise busy("too many requests wait to be written") from error
        if self._ended:
            self._turn_away()  # it ended while this was put: nobody would look at it
        return job.waiting

    def close(self) -> None:
        """Write what waits, then let go of the store; gives when that is done."""
        self._jobs.put(None)
        self._thread.join()

    def _run(self) -> None:
        try:
            while True:
                group, last = self._next()
                if group:
                    self._write(group)
                if last:
                    return
        finally:
            self._ended = True
            self._store.close()
            self._turn_away()

    def _turn_away(self) -> None:
        """Tell whoever still waits that it would work later."""
        while True:
            try:
                job = self._jobs.get_nowait()
            except queue.Empty:
                return
            if job is not None:
                job.loop.call_soon_threadsafe(_settle, job.waiting, busy("the writer ended"))

    def _next(self) -> tuple[list[_Job], bool]:
        """What waits now, as much as one transaction takes; and whether nothing comes after it."""
        try:
            job = self._jobs.get(timeout=IDLE_SECONDS if self._store.is_open else None)
        except queue.Empty:
            self._store.close()
            return [], False
        group: list[_Job] = []
        count = 0
        while job is not None:
            group.append(job)
            count += len(job.arrivals)
            if count >= GROUP_EVENTS:
                return group, False
            try:
                job = self._jobs.get_nowait()
            except queue.Empty:
                return group, False
        return group, True

    def _write(self, group: list[_Job]) -> None:
        answers: list[Answer] = []
        try:
            answers = self._kept(group)
        except BaseException as error:
            # A bug of ours ends this thread and is seen there; whoever waits is told, and the next request starts anew.
            self._ended = True
            answers = [error] * len(group)
            raise
        finally:
            for job, answer in zip(group, answers, strict=True):
                job.loop.call_soon_threadsafe(_settle, job.waiting, answer)

    def _kept(self, group: list[_Job]) -> list[Answer]:
        """The answer to each request: together, or, if that fails, one by one, so that none fails for another."""
        try:
            return self._together(group)
        except CustodyError as error:
            self._failed()
            if len(group) == 1 or not self._reopened():
                return [error] * len(group)
        answers: list[Answer] = []
        for job in group:
            try:
                answers += self._together([job])
            except CustodyError as error:
                self._failed()
                answers.append(error)
        return answers

    def _together(self, group: list[_Job]) -> list[Answer]:
        arrivals = [arrival for job in group for arrival in job.arrivals]
        kept = iter(self._store.keep(arrivals))
        self._metrics.group.observe(len(arrivals))
        answers: list[Answer] = [[next(kept) for _ in job.arrivals] for job in group]
        return answers

    def _reopened(self) -> bool:
        """Whether the store can be had again: asked once, before many wait for it one after the other."""
        try:
            self._store.open()
        except StoreError:
            return False
        return True

    def _failed(self) -> None:
        self._metrics.store_failures.inc()
        self._store.close()


def _settle(waiting: "asyncio.Future[list[IngestResult]]", answer: Answer) -> None:
    if waiting.done():
        return  # whoever asked has gone; the records are kept all the same
    if isinstance(answer, BaseException):
        waiting.set_exception(answer)
    else:
        waiting.set_result(answer)


class Writers:
    """The writers of every project that was written to."""

    def __init__(self, keeper: AccessKeeper, metrics: Metrics, waiting_max: int) -> None:
        self._keeper = keeper
        self._metrics = metrics
        self._waiting_max = waiting_max
        self._of: dict[str, Writer] = {}
        self._closed = False

    def of(self, project: str) -> Writer:
        """The project's writer; a new one if there is none, or if it ended."""
        if self._closed:
            raise busy("the service is ending")
        found = self._of.get(project)
        if found is None or not found.is_alive:
            found = self._of[project] = Writer(self._keeper.workspace(project), self._metrics, self._waiting_max)
        return found

    async def close(self) -> None:
        """Write what waits, everywhere."""
        self._closed = True
        for writer in self._of.values():
            await asyncio.to_thread(writer.close)
