"""Jobs by kind, the worker that runs them, and retention."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from threading import Event, Thread
from types import MappingProxyType

from msgspec import Struct, field
from msgspec.structs import replace

from custody.core.errors import CustodyError, InputError, RetryLater, StoreError
from custody.core.plural import count_noun
from custody.core.wire.canonical import Json, dump_canonical_json, parse_json_bytes
from custody.core.wire.time import format_timestamp
from custody.ledger.queries import ConversationTables
from custody.server.app.tenancy import connect_control_tables, sanitize_tenancy_text
from custody.server.control import ControlTables, Job, JobState
from custody.server.wire.tenancy import JobLine, WorkerListReport, WorkerReport, WorkerRetryReport
from custody.workspace.wiring import import_wired_name
from custody.workspace.workspace import Workspace

RETENTION = "retention"
PAYLOAD_BYTES_MAX = 1024 * 1024
DAY_NS = 24 * 3_600 * 1_000_000_000


JobFunction = Callable[[Workspace, Json], None]
"""Runs a kind of job, with the workspace of its project and its payload."""


def _defer_job_import(name: str) -> JobFunction:
    """Return a function of this package that is imported with the first job that needs it."""

    def run(workspace: Workspace, payload: Json) -> None:
        import_wired_name(f"custody.server.app.{name}")(workspace, payload)

    return run


KINDS: Mapping[str, JobFunction] = MappingProxyType(
    {
        RETENTION: _defer_job_import("jobs:run_retention_job"),
        "github.judge": _defer_job_import("github_jobs:judge_github_pull"),
        "github.outcome": _defer_job_import("github_jobs:record_github_outcome"),
        "github.reverts": _defer_job_import("github_jobs:record_github_reverts"),
        "github.index": _defer_job_import("github_jobs:index_github_changes"),
    }
)
"""Every kind of job with its function."""


class NewJob(Struct, frozen=True):
    """A job to add; ``key`` names its subject, and a second job with the same key is not added."""

    kind: str
    project: str
    key: str
    payload: Json = None


def add_job(control: ControlTables, new: NewJob, *, id_: str, now_ns: int) -> bool:
    """Add a job; False if one with its kind, project and key was ever added."""
    payload = dump_canonical_json(new.payload)
    if len(payload) > PAYLOAD_BYTES_MAX:
        raise InputError(f"the payload of a job of kind '{new.kind}' is larger than {PAYLOAD_BYTES_MAX:,} bytes")
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


def add_retention_jobs(control: ControlTables, workspace: Workspace) -> int:
    """Add the daily retention job of each project with a retention; return how many were added."""
    now = workspace.now_ns()
    return sum(
        add_job(
            control,
            NewJob(RETENTION, project.name, f"day-{now // DAY_NS}", {"days": project.retain_days}),
            id_=workspace.token(),
            now_ns=now,
        )
        for project in control.projects.list_all()
        if project.retain_days is not None
    )


def parse_job_payload(job: Job) -> Json:
    """Return the payload of a job."""
    return parse_json_bytes(job.payload.encode(), bytes_max=PAYLOAD_BYTES_MAX)


def list_jobs(workspace: Workspace, limit: int) -> WorkerListReport:
    """List unfinished jobs: failed ones first, then running and waiting ones."""
    with connect_control_tables(workspace, as_service=True) as control:
        aside = control.jobs.list_in_states((JobState.ASIDE,), limit)
        coming = control.jobs.list_in_states((JobState.LEASED, JobState.WAITING), limit)
        counts = control.jobs.counts()
    return WorkerListReport(
        jobs=[_make_job_line(job) for job in (*aside, *coming)[:limit]],
        waiting=counts[JobState.WAITING],
        leased=counts[JobState.LEASED],
        done=counts[JobState.DONE],
        aside=counts[JobState.ASIDE],
    )


def list_project_jobs(workspace: Workspace, limit: int) -> list[JobLine]:
    """List the unfinished jobs of the workspace's project; none without a control database."""
    if workspace.database is None and not workspace.service_file.is_file():
        return []
    with connect_control_tables(workspace, as_service=True) as control:
        return [_make_job_line(job) for job in control.jobs.list_unfinished(workspace.project, limit)]


def retry_job(workspace: Workspace, id_: str) -> WorkerRetryReport:
    """Retry a failed job."""
    with connect_control_tables(workspace, as_service=True) as control:
        job = control.jobs.retry(id_, workspace.now_ns())
    if job is None:
        raise InputError(f"no failed job '{id_}'", hint="'custody worker list' lists failed jobs")
    return WorkerRetryReport(job=_make_job_line(job))


def _make_job_line(job: Job) -> JobLine:
    return JobLine(
        id=job.id,
        kind=job.kind,
        project=job.project,
        key=job.key,
        state=job.state.value,
        attempts=job.attempts,
        due=format_timestamp(job.due_ns),
        error=job.error,
    )


BATCH = 100
"""Bodies per transaction, so that other writers do not wait long."""
WHO = "retention"


def run_retention_job(workspace: Workspace, payload: Json) -> None:
    """Run a retention job: erase conversations older than its ``days``."""
    days = payload.get("days") if isinstance(payload, dict) else None
    if not isinstance(days, int):
        raise InputError("a retention job needs 'days'")
    apply_project_retention(workspace, days)


def apply_project_retention(workspace: Workspace, days: int) -> int:
    """Erase conversations older than ``days``; return the number of erased bodies."""
    why = f"conversations are stored for {count_noun(days, 'day')}"
    with workspace.writing() as store:
        old = ConversationTables(store).bodies_before(workspace.now_ns() - days * DAY_NS)
        for start in range(0, len(old), BATCH):
            store.erase(old[start : start + BATCH], who=WHO, why=why)
    return len(old)


# A killed worker loses nothing: its lease expires, and another worker takes the job. So a job runs at least once; that
# it is done is recorded once, by the holder of the lease.


ERROR_CHARACTERS_MAX = 1_000
_SECOND_NS = 1_000_000_000
_JITTER_DIGITS = 8
_JITTER_MAX = 0xFFFFFFFF


class WorkRules(Struct, frozen=True, kw_only=True):
    """The length of a lease, the number of attempts, and the delays between them."""

    lease_seconds: float = 60.0
    attempts_max: int = 8
    """Maximum attempts of a job."""
    back_off_seconds: float = 5.0
    """Delay after the first failure; it doubles after each further one."""
    back_off_seconds_max: float = 3_600.0
    idle_seconds: float = 2.0
    """Delay between two polls."""


def compute_job_backoff_ns(attempts: int, jitter: float, rules: WorkRules) -> int:
    """Return the delay after that many failures: half to all of the doubled time, by ``jitter`` from 0 to 1.

    >>> [compute_job_backoff_ns(n, 1.0, WorkRules()) // 1_000_000_000 for n in (1, 2, 3, 30)]
    [5, 10, 20, 3600]
    >>> compute_job_backoff_ns(2, 0.0, WorkRules()) // 1_000_000_000
    5
    """
    whole = min(rules.back_off_seconds * 2 ** min(attempts - 1, 63), rules.back_off_seconds_max)
    return int(whole * (0.5 + jitter / 2) * _SECOND_NS)


class JobWorker(Struct, frozen=True):
    """Runs the jobs of some kinds until it is stopped."""

    workspace: Workspace
    kinds: Mapping[str, JobFunction]
    rules: WorkRules = field(default_factory=WorkRules)
    stop: Event = field(default_factory=Event)
    """If set, the worker stops after the running job."""

    def run(self, *, once: bool) -> WorkerReport:
        """Run due jobs until stopped; with ``once`` only those that are due now."""
        tally = Counter[str]()
        while not self.stop.is_set():
            try:
                with connect_control_tables(self.workspace, as_service=True) as control:
                    self._work(control, tally, once=once)
            except StoreError as error:
                if once:
                    raise
                self.workspace.talk(f"{error.message}; retrying")
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
            add_retention_jobs(control, self.workspace)
            while not self.stop.is_set() and (job := self._take_job(control)) is not None:
                self._run_job(control, job, tally)
            if once:
                return
            self.stop.wait(self.rules.idle_seconds)

    def _take_job(self, control: ControlTables) -> Job | None:
        now = self.workspace.now_ns()
        return control.jobs.take(self.kinds, now, now + self._lease_ns)

    @property
    def _lease_ns(self) -> int:
        return int(self.rules.lease_seconds * _SECOND_NS)

    def _run_job(self, control: ControlTables, job: Job, tally: Counter[str]) -> None:
        if job.attempts > self.rules.attempts_max:
            # Every worker that took it died: the job may be the cause.
            reason = f"started {count_noun(job.attempts - 1, 'time')} and never finished"
            tally["aside"] += control.jobs.set_aside(job, self.workspace.now_ns(), job.error or reason)
            return
        try:
            with self._keep_lease(job):
                self.kinds[job.kind](self._workspace_of(job), parse_job_payload(job))
        except Exception as error:  # noqa: BLE001 - after any failure the worker continues with the next job
            self._handle_job_failure(control, job, error, tally)
            return
        # If the lease was lost, the worker that took the job settles it.
        tally["done" if control.jobs.mark_done(job, self.workspace.now_ns()) else "lost"] += 1

    def _workspace_of(self, job: Job) -> Workspace:
        return replace(self.workspace, project=job.project, bound=True, spooled=False)

    def _handle_job_failure(self, control: ControlTables, job: Job, error: Exception, tally: Counter[str]) -> None:
        message = _describe_job_error(error)
        self.workspace.talk(f"job {job.id} ({job.kind}) failed: {message}")
        # A retry does not fix an input error.
        if isinstance(error, InputError) or job.attempts >= self.rules.attempts_max:
            tally["aside"] += control.jobs.set_aside(job, self.workspace.now_ns(), message)
            return
        delay = compute_job_backoff_ns(job.attempts, self._draw_backoff_jitter(), self.rules)
        if isinstance(error, RetryLater):
            delay = max(delay, error.seconds * _SECOND_NS)
        due = self.workspace.now_ns() + delay
        tally["again"] += control.jobs.schedule_retry(job, due, message)

    def _draw_backoff_jitter(self) -> float:
        return int(self.workspace.token()[-_JITTER_DIGITS:], 16) / _JITTER_MAX

    @contextmanager
    def _keep_lease(self, job: Job) -> Iterator[None]:
        """Renew the lease while the block runs."""
        finished = Event()
        thread = Thread(target=self._renew, args=(job, finished), name=f"lease of {job.id}", daemon=True)
        thread.start()
        try:
            yield
        finally:
            finished.set()
            thread.join()

    def _renew(self, job: Job, finished: Event) -> None:
        while not finished.wait(self.rules.lease_seconds / 3):
            try:
                with connect_control_tables(self.workspace, as_service=True) as control:
                    if not control.jobs.renew(job, self.workspace.now_ns() + self._lease_ns):
                        return
            except StoreError:
                # The lease may outlast the failure; if not, settling the job detects the loss.
                continue


def _describe_job_error(error: Exception) -> str:
    message = error.message if isinstance(error, CustodyError) else f"{type(error).__name__}: {error}"
    return sanitize_tenancy_text(message, ERROR_CHARACTERS_MAX)
