"""Jobs: what is to be done, by kind, and how one is added, listed and tried again.

A new kind is a function and a row of ``KINDS``. The function may run more than once for one job, since a worker can be
killed after the deed and before it is recorded: doing it twice must come to the same.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from custody.core.errors import InputError
from custody.core.wire.canonical import Json, dump, parse
from custody.core.wire.time import text_from
from custody.server.app.control import control_of
from custody.server.control import ControlTables, Job, JobState
from custody.server.wire.tenancy import JobLine, WorkerListReport, WorkerRetryReport
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
        RETENTION: _import_later("retention:run_retention"),
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
