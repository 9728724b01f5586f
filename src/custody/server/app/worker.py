"""A worker: takes jobs, does them, and records how each came out.

Killed at any moment it loses nothing: a lease that is not renewed ends, and the job is taken again. What a job does
happens at least once; that it is done is recorded once, by whoever holds the lease then.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from threading import Event, Thread

from custody.core.errors import CustodyError, InputError, RetryLater, StoreError
from custody.server.app.control import control_of, storable
from custody.server.app.jobs import JobFunction, add_due, payload_of
from custody.server.control import ControlTables, Job
from custody.server.wire.tenancy import WorkerReport
from custody.workspace.workspace import Workspace

ERROR_SIGNS_MAX = 1_000
_SECOND_NS = 1_000_000_000
_CHANCE_DIGITS = 8
_CHANCE_MAX = 0xFFFFFFFF


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkRules:
    """How long a lease lasts, how often a job is tried, and how long it waits in between."""

    lease_seconds: float = 60.0
    attempts_max: int = 8
    """So many failures set a job aside."""
    back_off_seconds: float = 5.0
    """After the first failure; twice as long after each further one."""
    back_off_seconds_max: float = 3_600.0
    idle_seconds: float = 2.0
    """Between two looks when nothing is due."""


def back_off_ns(attempts: int, chance: float, rules: WorkRules) -> int:
    """How long a job waits after that many failures: between half of the doubled time and all of it, by ``chance``.

    >>> [back_off_ns(n, 1.0, WorkRules()) // 1_000_000_000 for n in (1, 2, 3, 30)]
    [5, 10, 20, 3600]
    >>> back_off_ns(2, 0.0, WorkRules()) // 1_000_000_000
    5
    """
    whole = min(rules.back_off_seconds * 2 ** min(attempts - 1, 63), rules.back_off_seconds_max)
    return int(whole * (0.5 + chance / 2) * _SECOND_NS)


@dataclass(frozen=True, slots=True)
class JobWorker:
    """Does the jobs of some kinds until it is stopped."""

    workspace: Workspace
    kinds: Mapping[str, JobFunction]
    rules: WorkRules = field(default_factory=WorkRules)
    stop: Event = field(default_factory=Event)
    """Set by anybody: the job that runs is finished, and no other is begun."""

    def run(self, *, once: bool) -> WorkerReport:
        """Do what is due, and unless ``once`` what becomes due, until stopped."""
        tally = Counter[str]()
        while not self.stop.is_set():
            try:
                with control_of(self.workspace, as_service=True) as control:
                    self._work(control, tally, once=once)
            except StoreError as error:
                if once:
                    raise
                self.workspace.talk(f"{error.message}; trying again")
            if once:
                break
            self.stop.wait(self.rules.idle_seconds)
        return WorkerReport(
            outcome="found" if tally["aside"] else "fine",
            done=tally["done"],
            again=tally["again"],
            aside=tally["aside"],
            lost=tally["lost"],
        )

    def _work(self, control: ControlTables, tally: Counter[str], *, once: bool) -> None:
        while not self.stop.is_set():
            add_due(control, self.workspace)
            while not self.stop.is_set() and (job := self._taken(control)) is not None:
                self._do(control, job, tally)
            if once:
                return
            self.stop.wait(self.rules.idle_seconds)

    def _taken(self, control: ControlTables) -> Job | None:
        now = self.workspace.now_ns()
        return control.jobs.take(self.kinds, now, now + self._lease_ns)

    @property
    def _lease_ns(self) -> int:
        return int(self.rules.lease_seconds * _SECOND_NS)

    def _do(self, control: ControlTables, job: Job, tally: Counter[str]) -> None:
        if job.attempts > self.rules.attempts_max:
            # Every worker that had it ended without a word: the job may be what kills them.
            words = f"begun {job.attempts - 1} times and never ended"
            tally["aside"] += control.jobs.set_aside(job, self.workspace.now_ns(), job.error or words)
            return
        try:
            with self._renewing(job):
                self.kinds[job.kind](self._workspace_of(job), payload_of(job))
        except Exception as error:  # noqa: BLE001 - whatever a job fails of, the worker goes on with the next
            self._failed(control, job, error, tally)
            return
        # Whoever took the job when our lease had ended settles it.
        tally["done" if control.jobs.done(job, self.workspace.now_ns()) else "lost"] += 1

    def _workspace_of(self, job: Job) -> Workspace:
        return replace(self.workspace, project=job.project, bound=True, spooled=False)

    def _failed(self, control: ControlTables, job: Job, error: Exception, tally: Counter[str]) -> None:
        words = _describe_error(error)
        self.workspace.talk(f"job {job.id} ({job.kind}) failed: {words}")
        # What the caller got wrong does not get right by itself.
        if isinstance(error, InputError) or job.attempts >= self.rules.attempts_max:
            tally["aside"] += control.jobs.set_aside(job, self.workspace.now_ns(), words)
            return
        waits = back_off_ns(job.attempts, self._chance(), self.rules)
        if isinstance(error, RetryLater):
            waits = max(waits, error.seconds * _SECOND_NS)
        due = self.workspace.now_ns() + waits
        tally["again"] += control.jobs.again(job, due, words)

    def _chance(self) -> float:
        return int(self.workspace.token()[-_CHANCE_DIGITS:], 16) / _CHANCE_MAX

    @contextmanager
    def _renewing(self, job: Job) -> Iterator[None]:
        """Keep the lease while the block runs."""
        ended = Event()
        renewing = Thread(target=self._renew, args=(job, ended), name=f"lease of {job.id}", daemon=True)
        renewing.start()
        try:
            yield
        finally:
            ended.set()
            renewing.join()

    def _renew(self, job: Job, ended: Event) -> None:
        while not ended.wait(self.rules.lease_seconds / 3):
            try:
                with control_of(self.workspace, as_service=True) as control:
                    if not control.jobs.renew(job, self.workspace.now_ns() + self._lease_ns):
                        return
            except StoreError:
                # The database is away for now; the lease may outlast that, and if not, settling finds it lost.
                continue


def _describe_error(error: Exception) -> str:
    words = error.message if isinstance(error, CustodyError) else f"{type(error).__name__}: {error}"
    return storable(words, ERROR_SIGNS_MAX)
