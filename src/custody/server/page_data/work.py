"""Long work of pages: a bounded queue of jobs with progress.

A request waits for its job a short time only. Then the page shows how far the job is, and asks again: a job that is
asked for twice runs once, and its result waits for the next request. No request is refused: when the queue is full, the
page says so and asks again.
"""

from collections import OrderedDict, deque
from collections.abc import Callable, Hashable
from concurrent.futures import Future
from threading import Condition, Thread
from typing import Any, TypeVar

from msgspec import Struct, field
from msgspec.structs import replace

from custody.workspace.workspace import Progress

T = TypeVar("T")

THREADS = 3
WAITING_MAX = 200
"""Maximum waiting jobs; a page asks again for one that found no room."""
NS = 1_000_000_000
RESULT_NS_MAX = 60 * NS
"""How long a result waits to be fetched."""
RESULTS_MAX = 200
WANTED_NS = 30 * NS
"""A job counts as wanted for this long after a page asked for it."""


class WorkProgress(Struct, frozen=True, kw_only=True):
    """How far a job is; ``ahead`` counts the jobs before it, None once it runs; ``total`` is None while unknown."""

    what: str = ""
    done: int = 0
    total: int | None = None
    ahead: int | None = None
    seconds: float = 0.0
    is_full: bool = False
    """Whether the queue had no room for it."""


class WorkJob(Struct, eq=False):
    """One job: what it computes, its result and how far it is."""

    key: Hashable
    work: "Callable[[WorkJob], Any]"
    is_background: bool
    future: "Future[Any]"
    clock: Callable[[], int]
    asked_ns: int
    """When a page asked for it the last time."""
    began_ns: int | None = None
    ended_ns: int | None = None
    what: str = ""
    done: int = 0
    total: int | None = None

    @property
    def progress(self) -> Progress:
        """The callbacks that a use case reports its progress to."""
        return Progress(self.start_step, self.advance, lambda what, _total: self.start_step(what, None))

    def start_step(self, what: str, total: int | None) -> None:
        """Start a step of the work with its size, if known."""
        self.what, self.done, self.total = what, 0, total

    def advance(self, count: int) -> None:
        """Count finished items of the step."""
        self.done += count

    def is_wanted(self) -> bool:
        """Return whether a page asked for it recently."""
        return self.clock() - self.asked_ns < WANTED_NS


class _WorkLane(Struct):
    """The waiting jobs of one kind; ``threads_max`` of them run at a time."""

    threads_max: int
    waiting: deque[WorkJob] = field(default_factory=deque)
    running: int = 0


class WorkQueue:
    """Jobs in the order of their requests; background jobs run one at a time, so that they never hold up a page."""

    def __init__(self, clock: Callable[[], int], *, threads: int = THREADS, waiting_max: int = WAITING_MAX) -> None:
        self._clock = clock
        self._threads_max = threads
        self._waiting_max = waiting_max
        self._front = _WorkLane(threads)
        self._back = _WorkLane(1)
        self._jobs: dict[Hashable, WorkJob] = {}
        self._ended: OrderedDict[Hashable, WorkJob] = OrderedDict()
        self._changed = Condition()
        self._threads = 0
        self._idle = 0

    def ask(self, key: Hashable, work: Callable[[WorkJob], Any], *, is_background: bool = False) -> WorkJob | None:
        """Return the job of this key: the running one, its finished result once, or a new one; None without room."""
        with self._changed:
            self._drop_old_results()
            job = self._ended.pop(key, None) or self._jobs.get(key)
            if job is not None:
                job.asked_ns = self._clock()
                return job
            if len(self._front.waiting) + len(self._back.waiting) >= self._waiting_max:
                return None
            job = WorkJob(key, work, is_background, Future(), self._clock, self._clock())
            self._jobs[key] = job
            (self._back if is_background else self._front).waiting.append(job)
            if not self._idle and self._threads < self._threads_max:
                self._threads += 1
                Thread(target=self._run, name="custody-page-work", daemon=True).start()
            self._changed.notify()
            return job

    def find_running(self, key: Hashable) -> WorkJob | None:
        """Return the waiting or running job of this key."""
        with self._changed:
            return self._jobs.get(key)

    def forget_result(self, job: WorkJob) -> None:
        """Drop a result that was fetched while the job ended."""
        with self._changed:
            if self._ended.get(job.key) is job:
                del self._ended[job.key]

    def measure(self, job: WorkJob | None) -> WorkProgress:
        """Return how far a job is; None stands for a job that found no room."""
        if job is None:
            return WorkProgress(is_full=True, ahead=self._waiting_max)
        with self._changed:
            seconds = 0.0 if job.began_ns is None else (self._clock() - job.began_ns) / NS
            progress = WorkProgress(what=job.what, done=job.done, total=job.total, seconds=seconds)
            lane = self._back if job.is_background else self._front
            if job.began_ns is not None:
                return progress
            return replace(progress, ahead=lane.running + next((n for n, j in enumerate(lane.waiting) if j is job), 0))

    def _run(self) -> None:
        while True:
            with self._changed:
                while (job := self._take()) is None:
                    self._idle += 1
                    self._changed.wait()
                    self._idle -= 1
            try:
                answer, error = job.work(job), None
            except BaseException as caught:  # noqa: BLE001 - it is raised in the request that fetches the result
                answer, error = None, caught
            self._end(job)
            if error is None:
                job.future.set_result(answer)
            else:
                job.future.set_exception(error)

    def _take(self) -> WorkJob | None:
        for lane in (self._front, self._back):
            if lane.waiting and lane.running < lane.threads_max:
                job = lane.waiting.popleft()
                lane.running += 1
                job.began_ns = self._clock()
                return job
        return None

    def _end(self, job: WorkJob) -> None:
        with self._changed:
            (self._back if job.is_background else self._front).running -= 1
            job.ended_ns = self._clock()
            self._jobs.pop(job.key, None)
            self._ended[job.key] = job
            while len(self._ended) > RESULTS_MAX:
                self._ended.popitem(last=False)
            self._changed.notify_all()

    def _drop_old_results(self) -> None:
        now_ns = self._clock()
        while self._ended:
            first = next(iter(self._ended.values()))
            if first.ended_ns is None or now_ns - first.ended_ns < RESULT_NS_MAX:
                return
            self._ended.popitem(last=False)
