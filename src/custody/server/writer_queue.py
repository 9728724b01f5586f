"""Writers and readers of a service: one queue of writes per project, a few reader threads, metrics."""

import asyncio
import queue
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from msgspec import Struct
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_LATEST

from custody.core.errors import CustodyError, StoreError
from custody.core.wire.arrival import Arrival
from custody.server.app.intake import IngestResult, StoreWriter
from custody.server.app.tenancy import AccessKeeper
from custody.server.problems import make_busy_problem
from custody.workspace.workspace import Workspace

# The store is opened for each question, so that the answer includes everything acknowledged before.
# Long questions of pages run in a queue of their own (page_data/work.py). The service does not wait for them at
# shutdown: they only read, and what they store on the way is stored in whole transactions.


THREADS = 4

T = TypeVar("T")


class Readers:
    """The threads that read stores."""

    def __init__(self, keeper: AccessKeeper) -> None:
        self._keeper = keeper
        self._workspaces: dict[str, Workspace] = {}
        self._threads = ThreadPoolExecutor(THREADS, "custody-reader")

    async def ask(self, project: str, question: Callable[[Workspace], T]) -> T:
        """Answer a question about a project."""
        return await self.run(lambda: question(self.workspace(project)))

    async def run(self, work: Callable[[], T]) -> T:
        """Run ``work`` in a reader thread."""
        return await asyncio.get_running_loop().run_in_executor(self._threads, work)

    def workspace(self, project: str) -> Workspace:
        """Return the workspace of a project; its repository is found once."""
        if project not in self._workspaces:
            self._workspaces[project] = self._keeper.workspace(project)
        return self._workspaces[project]

    async def close(self) -> None:
        """Finish the questions that run."""
        await asyncio.to_thread(self._threads.shutdown)


# Metrics never contain a project, a token or a path that a caller invented.


MEDIA = CONTENT_TYPE_LATEST.partition("; charset")[0]
"""Without the charset, which litestar adds."""
GROUP_BUCKETS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)


class Metrics:
    """The Prometheus metrics of a service."""

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
        self.in_flight = Gauge("custody_requests_in_flight", "Requests in flight", registry=self._registry)
        self.events = Counter("custody_ingested", "Received records by result", ("fate",), registry=self._registry)
        self.group = Histogram(
            "custody_commit_events",
            "Records per commit",
            buckets=GROUP_BUCKETS,
            registry=self._registry,
        )
        self.store_failures = Counter("custody_store_failures", "Failures of the store", registry=self._registry)

    def text(self) -> bytes:
        """Return all metrics."""
        return generate_latest(self._registry)


GROUP_EVENTS = 256
"""Maximum records per transaction, unless a single request has more."""
IDLE_SECONDS = 30.0
"""Idle time after which a writer closes its store."""

Answer = list[IngestResult] | BaseException


class _Job(Struct):
    """The records of one request, and the future of its caller."""

    arrivals: Sequence[Arrival]
    waiting: "asyncio.Future[list[IngestResult]]"
    loop: asyncio.AbstractEventLoop


class Writer:
    """The one thread that writes the records of a project."""

    def __init__(self, workspace: Workspace, metrics: Metrics, waiting_max: int) -> None:
        self._metrics = metrics
        self._jobs: queue.Queue[_Job | None] = queue.Queue(waiting_max)
        self._store = StoreWriter(workspace)
        self._ended = False
        self._thread = threading.Thread(target=self._run, name="custody-writer", daemon=True)
        self._thread.start()

    @property
    def is_alive(self) -> bool:
        """Whether it still accepts records."""
        return self._thread.is_alive() and not self._ended

    def put(self, arrivals: Sequence[Arrival]) -> "asyncio.Future[list[IngestResult]]":
        """Queue records; the future resolves after their commit, or with the error."""
        loop = asyncio.get_running_loop()
        job = _Job(arrivals, loop.create_future(), loop)
        try:
            self._jobs.put_nowait(job)
        except queue.Full as error:
            raise make_busy_problem("too many requests are waiting to be written") from error
        if self._ended:
            self._reject_waiting_jobs()  # it ended meanwhile, so the job would never be read
        return job.waiting

    def close(self) -> None:
        """Write waiting records, then close the store; blocks until done."""
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
            self._reject_waiting_jobs()

    def _reject_waiting_jobs(self) -> None:
        """Answer waiting requests with a 503."""
        while True:
            try:
                job = self._jobs.get_nowait()
            except queue.Empty:
                return
            if job is not None:
                job.loop.call_soon_threadsafe(
                    _resolve_waiting_request, job.waiting, make_busy_problem("the writer stopped")
                )

    def _next(self) -> tuple[list[_Job], bool]:
        """Return the waiting jobs, as many as one transaction takes, and whether the queue ended."""
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
            answers = self._commit_with_fallback(group)
        except BaseException as error:
            # A bug ends this thread and is reported there; waiting callers get the error, and the next request
            # starts a new writer.
            self._ended = True
            answers = [error] * len(group)
            raise
        finally:
            for job, answer in zip(group, answers, strict=True):
                job.loop.call_soon_threadsafe(_resolve_waiting_request, job.waiting, answer)

    def _commit_with_fallback(self, group: list[_Job]) -> list[Answer]:
        """Commit the requests together or, if that fails, one by one, so that none fails because of another."""
        try:
            return self._commit_group(group)
        except CustodyError as error:
            self._record_store_failure()
            if len(group) == 1 or not self._can_reopen_store():
                return [error] * len(group)
        answers: list[Answer] = []
        for job in group:
            try:
                answers += self._commit_group([job])
            except CustodyError as error:
                self._record_store_failure()
                answers.append(error)
        return answers

    def _commit_group(self, group: list[_Job]) -> list[Answer]:
        arrivals = [arrival for job in group for arrival in job.arrivals]
        results = iter(self._store.keep(arrivals))
        self._metrics.group.observe(len(arrivals))
        answers: list[Answer] = [[next(results) for _ in job.arrivals] for job in group]
        return answers

    def _can_reopen_store(self) -> bool:
        """Return whether the store opens again, before every request tries it."""
        try:
            self._store.open()
        except StoreError:
            return False
        return True

    def _record_store_failure(self) -> None:
        self._metrics.store_failures.inc()
        self._store.close()


def _resolve_waiting_request(waiting: "asyncio.Future[list[IngestResult]]", answer: Answer) -> None:
    if waiting.done():
        return  # the caller is gone; the records are stored anyway
    if isinstance(answer, BaseException):
        waiting.set_exception(answer)
    else:
        waiting.set_result(answer)


class Writers:
    """The writers of all projects."""

    def __init__(self, keeper: AccessKeeper, metrics: Metrics, waiting_max: int) -> None:
        self._keeper = keeper
        self._metrics = metrics
        self._waiting_max = waiting_max
        self._of: dict[str, Writer] = {}
        self._closed = False

    def open_writer(self, project: str) -> Writer:
        """Return the writer of a project; a new one if there is none or it stopped."""
        if self._closed:
            raise make_busy_problem("the service is shutting down")
        writer = self._of.get(project)
        if writer is None or not writer.is_alive:
            writer = self._of[project] = Writer(self._keeper.workspace(project), self._metrics, self._waiting_max)
        return writer

    async def close(self) -> None:
        """Write all waiting records."""
        self._closed = True
        for writer in self._of.values():
            await asyncio.to_thread(writer.close)
