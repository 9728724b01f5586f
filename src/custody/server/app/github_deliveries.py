"""Webhook deliveries of GitHub, and the project of each repository."""

from collections import Counter
from collections.abc import Callable, Iterator
from types import MappingProxyType

from msgspec import Struct
from msgspec.structs import replace

from custody.core.errors import InputError
from custody.core.ids import digest_from_bytes
from custody.core.patterns import lazy_pattern
from custody.core.wire.canonical import Json
from custody.server.app.github_jobs import INDEX, JUDGE, OUTCOME, REVERTS, GitHubSettings, open_github_site
from custody.server.app.jobs import NewJob, add_job
from custody.server.app.tenancy import connect_control_tables, require_project
from custody.server.control import ControlTables, GitHubConnection
from custody.server.github.shapes import (
    Delivery,
    GitHubBackfillReport,
    GitHubConnectReport,
    GitHubLine,
    GitHubListReport,
    Pull,
    WebhookReport,
    decode_webhook_delivery,
    has_valid_webhook_signature,
    parse_github_repository,
    parse_github_sha,
)
from custody.workspace.workspace import Workspace

GUID = lazy_pattern(r"[A-Za-z0-9-]{8,64}")
QUEUED = "queued"
"""The result for a delivery that added jobs."""
SAME_BODY_EVENTS = frozenset(("pull_request", "pull_request_review", "push"))
"""Events whose bodies have a timestamp, so that the same body is the same event under another id."""
CHECKED_ACTIONS = frozenset(("opened", "reopened", "synchronize", "edited", "ready_for_review"))


class UntrustedDelivery(InputError):
    """A delivery without a valid signature, or without a configured secret."""


class WebhookDelivery(Struct, frozen=True):
    """A raw delivery: its headers and the signed bytes."""

    event: str
    id: str
    signature: str | None
    body: bytes


class DeliveryIntake(Struct, frozen=True):
    """Turns deliveries into jobs."""

    settings: GitHubSettings
    now_ns: Callable[[], int]
    token: Callable[[], str]

    def take_in(self, control: ControlTables, sent: WebhookDelivery) -> WebhookReport:
        """Add the jobs of a delivery in one transaction, or report why there are none.

        An ``UntrustedDelivery`` is raised before the body is parsed.
        """
        if self.settings.secret is None:
            raise UntrustedDelivery("this service accepts no webhooks: no secret is set")
        if not has_valid_webhook_signature(sent.body, self.settings.secret, sent.signature):
            raise UntrustedDelivery("the signature of the delivery is invalid")
        if GUID.fullmatch(sent.id) is None:
            raise InputError("the delivery has no id", hint="GitHub sends it as X-GitHub-Delivery")
        delivery = decode_webhook_delivery(sent.body)
        if sent.event == "ping":
            return _ignore_webhook_delivery("pong")
        if delivery.repository is None:
            return _ignore_webhook_delivery("the delivery names no repository")
        connected = control.github.find_by_name(parse_github_repository(delivery.repository.full_name))
        if connected is None:
            return _ignore_webhook_delivery("the repository is not connected (run 'custody github connect')")
        jobs = tuple(EVENTS[sent.event](delivery, connected)) if sent.event in EVENTS else ()
        if not jobs:
            return _ignore_webhook_delivery("nothing to do")
        with control.writing():
            return self._queue_jobs(control, sent, delivery, connected, jobs)

    def _queue_jobs(
        self,
        control: ControlTables,
        sent: WebhookDelivery,
        delivery: Delivery,
        connected: GitHubConnection,
        jobs: tuple[NewJob, ...],
    ) -> WebhookReport:
        now = self.now_ns()
        # A repeated request for a check has the same bytes; other bodies contain a timestamp.
        if not control.github.take_in(
            sent.id, digest_from_bytes(sent.body), now, same_body_too=sent.event in SAME_BODY_EVENTS
        ):
            return WebhookReport(taken="known", said="already received", jobs=0)
        if delivery.installation is not None:
            control.github.set_installation(connected.full_name, delivery.installation.id)
        added = sum(
            add_job(control, replace(job, key=f"{job.key}:{sent.id}"), id_=self.token(), now_ns=now) for job in jobs
        )
        return WebhookReport(taken=QUEUED, said="queued", jobs=added)


def make_pull_request_job(kind: str, connected: GitHubConnection, number: int) -> NewJob:
    """Return a job for a pull request; it reads the state of the pull request when it runs."""
    name = connected.full_name
    return NewJob(kind, connected.project, f"{name}#{number}", {"repository": name, "number": number})


def _ignore_webhook_delivery(why: str) -> WebhookReport:
    return WebhookReport(taken="nothing", said=why, jobs=0)


def _plan_pull_request_jobs(delivery: Delivery, connected: GitHubConnection) -> Iterator[NewJob]:
    pull = delivery.pull_request
    if pull is None:
        raise InputError("the delivery has no pull request")
    if delivery.action in CHECKED_ACTIONS:
        yield make_pull_request_job(JUDGE, connected, pull.number)
    elif delivery.action == "closed":
        yield make_pull_request_job(OUTCOME, connected, pull.number)


def _plan_review_jobs(delivery: Delivery, connected: GitHubConnection) -> Iterator[NewJob]:
    """Yield a job for a new review: it records who read the change, and checks it again."""
    if delivery.pull_request is None:
        raise InputError("the delivery has no pull request")
    if delivery.action == "submitted":
        yield make_pull_request_job(JUDGE, connected, delivery.pull_request.number)


def _plan_check_run_jobs(delivery: Delivery, connected: GitHubConnection) -> Iterator[NewJob]:
    if delivery.check_run is None or delivery.action != "rerequested":
        return
    for pull in delivery.check_run.pull_requests:
        number = pull.get("number")
        if isinstance(number, int):
            yield make_pull_request_job(JUDGE, connected, number)


def _plan_push_jobs(delivery: Delivery, connected: GitHubConnection) -> Iterator[NewJob]:
    """Yield a job for a push to the default branch, which may contain reverts; a deleted branch has none."""
    branch = "" if delivery.repository is None else delivery.repository.default_branch
    if delivery.ref != f"refs/heads/{branch}" or not branch or set(delivery.after) == {"0"}:
        return
    before, after = parse_github_sha(delivery.before), parse_github_sha(delivery.after)
    payload: dict[str, Json] = {"repository": connected.full_name, "before": before, "after": after}
    yield NewJob(REVERTS, connected.project, f"{connected.full_name}@{after}", payload)


EVENTS = MappingProxyType(
    {
        "pull_request": _plan_pull_request_jobs,
        "pull_request_review": _plan_review_jobs,
        "check_run": _plan_check_run_jobs,
        "push": _plan_push_jobs,
    }
)
"""The jobs of each event; other events are ignored."""


def connect_github_repository(workspace: Workspace, repository: str, project: str) -> GitHubConnectReport:
    """Connect a repository to a project."""
    name = parse_github_repository(repository)
    with connect_control_tables(workspace) as control:
        require_project(control, project)
        control.github.connect(name, project)
        return GitHubConnectReport(
            done="connected",
            repository=_make_github_line(_require_github_connection(control.github.find_by_name(name), name)),
        )


def disconnect_github_repository(workspace: Workspace, repository: str) -> GitHubConnectReport:
    """Ignore deliveries of a repository from now on; its records stay."""
    name = parse_github_repository(repository)
    with connect_control_tables(workspace) as control:
        known = _require_github_connection(control.github.find_by_name(name), name)
        control.github.disconnect(name)
        return GitHubConnectReport(done="disconnected", repository=_make_github_line(known))


def list_github_connections(workspace: Workspace) -> GitHubListReport:
    """List the connected repositories."""
    with connect_control_tables(workspace) as control:
        return GitHubListReport(
            repositories=[_make_github_line(connection) for connection in control.github.list_all()]
        )


def backfill_github_pulls(workspace: Workspace, repository: str, settings: GitHubSettings) -> GitHubBackfillReport:
    """Add a job for each pull request of a repository and one for its index; a second run adds only what is new.

    Open pull requests are checked in their current state; the outcome of closed ones is recorded.
    """
    states = Counter[str]()
    added = newest = 0
    with (
        open_github_site(workspace, repository, settings) as site,
        connect_control_tables(workspace, as_service=True) as control,
    ):
        known = _require_github_connection(control.github.find_by_name(site.repository), site.repository)
        connected = replace(known, full_name=site.repository)  # the keys of jobs contain the name as typed
        workspace.progress.start("pull requests", None)

        def add(job: NewJob) -> bool:
            return add_job(control, job, id_=workspace.token(), now_ns=workspace.now_ns())

        for pull in site.github.pulls(site.repository):
            newest = max(newest, pull.number)
            states[pull.state] += 1
            added += add(_make_backfill_job(connected, pull))
            workspace.progress.step(1)
        added += add(NewJob(INDEX, known.project, f"{site.repository}:{newest}", {"repository": site.repository}))
        workspace.progress.step(1)
    closed = states.total() - states["open"]
    return GitHubBackfillReport(repository=_make_github_line(known), open=states["open"], closed=closed, added=added)


def _make_backfill_job(connected: GitHubConnection, pull: Pull) -> NewJob:
    """Return the job for a pull request; its key contains the state, so a new state adds a new job."""
    job = make_pull_request_job(JUDGE if pull.state == "open" else OUTCOME, connected, pull.number)
    return replace(job, key=f"{job.key}:{pull.head.sha}:{pull.state}:{pull.merge_commit_sha or ''}")


def _require_github_connection(known: GitHubConnection | None, name: str) -> GitHubConnection:
    if known is None:
        raise InputError(f"'{name}' is not connected", hint="run 'custody github connect'")
    return known


def _make_github_line(connection: GitHubConnection) -> GitHubLine:
    return GitHubLine(connection.full_name, connection.project, connection.installation)
