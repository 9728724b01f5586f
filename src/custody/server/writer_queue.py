"""One writer per project: requests queue up, what waits is committed together, and each is answered after COMMIT.

A request's records are never split over two transactions.
"""

import asyncio
import queue
import threading
from collections.abc import Sequence
from dataclasses import dataclass

from custody.core.errors import CustodyError, StoreError
from custody.core.wire.arrival import Arrival
from custody.server.app.ingest import IngestResult, StoreWriter
from custody.server.app.tenancy_model import AccessKeeper
from custody.server.metrics import Metrics
from custody.server.problems import busy
from custody.workspace.workspace import Workspace

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
