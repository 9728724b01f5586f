"""Jobs by kind, the worker that runs them, and retention."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from threading import Event, Thread
from types import MappingProxyType

from custody.core.errors import CustodyError, InputError, RetryLater, StoreError
from custody.core.wire.canonical import Json, dump, parse
from custody.core.wire.time import text_from
from custody.ledger.queries import ConversationTables
from custody.server.app.tenancy import control_of, storable
from custody.server.control import ControlTables, Job, JobState
from custody.server.wire.tenancy import JobLine, WorkerListReport, WorkerReport, WorkerRetryReport
from custody.workspace.wiring import import_name
from custody.workspace.workspace import Workspace

RETENTION = "retention"
PAYLOAD_BYTES_MAX = 1024 * 1024
DAY_NS = 24 * 3_600 * 1_000_000_000


JobFunction = Callable[[Workspace, Json], None]
"""What a kind of job does: it gets the workspace of the job's project, and what the job was made with."""


def _import_later(name: str) -> JobFunction:
    """The function of this name in a module beside this one, imported with the first job that needs it."""

    def run(workspace: Workspace, payload: Json) -> None:
        import_name(f"custody.server.app.{name}")(workspace, payload)

    return run


KINDS: Mapping[str, JobFunction] = MappingProxyType(
    {
        RETENTION: _import_later("jobs:run_retention"),
        "github.judge": _import_later("github_jobs:judge_pull"),
        "github.outcome": _import_later("github_jobs:keep_outcome"),
        "github.reverts": _import_later("github_jobs:record_reverts"),
        "github.index": _import_later("github_jobs:index_changes"),
    }
)
"""Every kind with the function that does it."""


@dataclass(frozen=True, slots=True)
class NewJob:
    """A job that is to be added: ``key`` says what it is about, and makes a second one the same."""

    kind: str
    project: str
    key: str
    payload: Json = None


def add_job(control: ControlTables, new: NewJob, *, id_: str, now_ns: int) -> bool:
    """Add a job; False if one of its kind, project and key was ever added."""
    payload = dump(new.payload)
    if len(payload) > PAYLOAD_BYTES_MAX:
        raise InputError(f"a job of kind '{new.kind}' holds more than {PAYLOAD_BYTES_MAX} bytes")
    job = Job(
        id=id_,
        kind=new.kind,
        project=new.project,
        key=new.key,
        payload=payload.decode(),
        state=JobState.WAITING,
        attempts=0,
        lease=0,
        due_ns=now_ns,
        error=None,
    )
    return control.jobs.put(job, now_ns)


def add_due(control: ControlTables, workspace: Workspace) -> int:
    """Add what comes round: retention, once a day for each project that has one; give how many were added."""
    now = workspace.now_ns()
    return sum(
        add_job(
            control,
            NewJob(RETENTION, project.name, f"day-{now // DAY_NS}", {"days": project.retain_days}),
            id_=workspace.token(),
            now_ns=now,
        )
        for project in control.projects.all()
        if project.retain_days is not None
    )


def payload_of(job: Job) -> Json:
    """What a job was made with."""
    return parse(job.payload.encode(), bytes_max=PAYLOAD_BYTES_MAX)


def list_jobs(workspace: Workspace, limit: int) -> WorkerListReport:
    """Jobs that are not done: set aside first, then those that run or wait."""
    with control_of(workspace, as_service=True) as control:
        aside = control.jobs.in_states((JobState.ASIDE,), limit)
        coming = control.jobs.in_states((JobState.LEASED, JobState.WAITING), limit)
        counts = control.jobs.counts()
    return WorkerListReport(
        jobs=[_line(job) for job in (*aside, *coming)[:limit]],
        waiting=counts[JobState.WAITING],
        leased=counts[JobState.LEASED],
        done=counts[JobState.DONE],
        aside=counts[JobState.ASIDE],
    )


def jobs_of_project(workspace: Workspace, limit: int) -> list[JobLine]:
    """Jobs of the workspace's own project that are not done; none where no service ever kept any."""
    if workspace.database is None and not workspace.service_file.is_file():
        return []
    with control_of(workspace, as_service=True) as control:
        return [_line(job) for job in control.jobs.unsettled(workspace.project, limit)]


def retry_job(workspace: Workspace, id_: str) -> WorkerRetryReport:
    """Have a job that was set aside taken again."""
    with control_of(workspace, as_service=True) as control:
        job = control.jobs.retry(id_, workspace.now_ns())
    if job is None:
        raise InputError(f"no job '{id_}' is set aside", hint="'custody worker list' shows those that are")
    return WorkerRetryReport(job=_line(job))


def _line(job: Job) -> JobLine:
    return JobLine(
        id=job.id,
        kind=job.kind,
        project=job.project,
        key=job.key,
        state=job.state.value,
        attempts=job.attempts,
        due=text_from(job.due_ns),
        error=job.error,
    )


# Erase the texts of conversations that are older than their project keeps them; 'custody verify' then says erased.


BATCH = 100
"""Bodies per transaction: other writers wait no longer."""
WHO = "retention"


def run_retention(workspace: Workspace, payload: Json) -> None:
    """Do a job of retention: erase what is older than its ``days``."""
    days = payload.get("days") if isinstance(payload, dict) else None
    if not isinstance(days, int):
        raise InputError("a job of retention needs its 'days'")
    retain(workspace, days)


def retain(workspace: Workspace, days: int) -> int:
    """Erase what is older than ``days``; give how many bodies that were."""
    why = f"conversations are kept for {days} days"
    with workspace.writing() as store:
        old = ConversationTables(store).bodies_before(workspace.now_ns() - days * DAY_NS)
        for start in range(0, len(old), BATCH):
            store.erase(old[start : start + BATCH], who=WHO, why=why)
    return len(old)


# A worker: takes jobs, does them, and records how each came out.
# Killed at any moment it loses nothing: a lease that is not renewed ends, and the job is taken again. What a job does
# happens at least once; that it is done is recorded once, by whoever holds the lease then.


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
