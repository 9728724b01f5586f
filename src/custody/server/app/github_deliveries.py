"""GitHub's webhook deliveries, and which project each repository belongs to."""

import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from types import MappingProxyType

from custody.core.errors import InputError
from custody.core.ids import digest_of
from custody.core.wire.canonical import Json
from custody.server.app.github_jobs import INDEX, JUDGE, OUTCOME, REVERTS, GitHubSettings, site_of
from custody.server.app.jobs import NewJob, add_job
from custody.server.app.tenancy import control_of, project_of
from custody.server.control import ControlTables, GitHubConnection
from custody.server.github.shapes import (
    Delivery,
    GitHubBackfillReport,
    GitHubConnectReport,
    GitHubLine,
    GitHubListReport,
    Pull,
    WebhookReport,
    decode_delivery,
    is_signed,
    parse_commit_name,
    parse_repository_name,
)
from custody.workspace.workspace import Workspace

GUID = re.compile(r"[A-Za-z0-9-]{8,64}")
QUEUED = "queued"
"""The fate of a delivery that made jobs."""
LOOKED_AGAIN = frozenset(("opened", "reopened", "synchronize", "edited", "ready_for_review"))


class UntrustedDelivery(InputError):
    """A delivery that is not signed with our secret, or that no secret is set for."""


@dataclass(frozen=True, slots=True)
class WebhookDelivery:
    """A delivery as it came: its headers and the bytes that are signed."""

    event: str
    id: str
    signature: str | None
    body: bytes


@dataclass(frozen=True, slots=True)
class DeliveryIntake:
    """Takes deliveries in."""

    settings: GitHubSettings
    now_ns: Callable[[], int]
    token: Callable[[], str]

    def take_in(self, control: ControlTables, sent: WebhookDelivery) -> WebhookReport:
        """Take a delivery in, or report why not; whatever is stored of it is stored in one transaction.

        An ``UntrustedDelivery`` is raised before anything of it is read.
        """
        if self.settings.secret is None:
            raise UntrustedDelivery("this service takes no webhooks: no secret is set")
        if not is_signed(sent.body, self.settings.secret, sent.signature):
            raise UntrustedDelivery("the delivery is not signed with our secret")
        if GUID.fullmatch(sent.id) is None:
            raise InputError("the delivery has no id", hint="GitHub sends it as X-GitHub-Delivery")
        delivery = decode_delivery(sent.body)
        if sent.event == "ping":
            return _nothing("pong")
        if delivery.repository is None:
            return _nothing("it is about no repository")
        connected = control.github.named(parse_repository_name(delivery.repository.full_name))
        if connected is None:
            return _nothing("the repository is not connected: 'custody github connect' does that")
        jobs = tuple(EVENTS[sent.event](delivery, connected)) if sent.event in EVENTS else ()
        if not jobs:
            return _nothing("there is nothing to do for it")
        with control.writing():
            return self._queued(control, sent, delivery, connected, jobs)

    def _queued(
        self,
        control: ControlTables,
        sent: WebhookDelivery,
        delivery: Delivery,
        connected: GitHubConnection,
        jobs: tuple[NewJob, ...],
    ) -> WebhookReport:
        now = self.now_ns()
        # A check that is asked for twice has the same bytes twice; of the others every body tells its moment.
        if not control.github.take_in(
            sent.id, digest_of(sent.body), now, same_body_too=sent.event in ("pull_request", "push")
        ):
            return WebhookReport(taken="known", said="it was taken in before", jobs=0)
        if delivery.installation is not None:
            control.github.installed(connected.full_name, delivery.installation.id)
        made = sum(
            add_job(control, replace(job, key=f"{job.key}:{sent.id}"), id_=self.token(), now_ns=now) for job in jobs
        )
        return WebhookReport(taken=QUEUED, said="queued", jobs=made)


def pull_job(kind: str, connected: GitHubConnection, number: int) -> NewJob:
    """A job about a pull request, which looks at it as it is when the job runs."""
    name = connected.full_name
    return NewJob(kind, connected.project, f"{name}#{number}", {"repository": name, "number": number})


def _nothing(why: str) -> WebhookReport:
    return WebhookReport(taken="nothing", said=why, jobs=0)


def _pull_request(delivery: Delivery, connected: GitHubConnection) -> Iterator[NewJob]:
    pull = delivery.pull_request
    if pull is None:
        raise InputError("the delivery has no pull request")
    if delivery.action in LOOKED_AGAIN:
        yield pull_job(JUDGE, connected, pull.number)
    elif delivery.action == "closed":
        yield pull_job(OUTCOME, connected, pull.number)


def _check_run(delivery: Delivery, connected: GitHubConnection) -> Iterator[NewJob]:
    if delivery.check_run is None or delivery.action != "rerequested":
        return
    for pull in delivery.check_run.pull_requests:
        number = pull.get("number")
        if isinstance(number, int):
            yield pull_job(JUDGE, connected, number)


def _push(delivery: Delivery, connected: GitHubConnection) -> Iterator[NewJob]:
    """A push to the default branch may undo what was merged; a branch that is gone undoes nothing."""
    branch = "" if delivery.repository is None else delivery.repository.default_branch
    if delivery.ref != f"refs/heads/{branch}" or not branch or set(delivery.after) == {"0"}:
        return
    before, after = parse_commit_name(delivery.before), parse_commit_name(delivery.after)
    payload: dict[str, Json] = {"repository": connected.full_name, "before": before, "after": after}
    yield NewJob(REVERTS, connected.project, f"{connected.full_name}@{after}", payload)


EVENTS = MappingProxyType({"pull_request": _pull_request, "check_run": _check_run, "push": _push})
"""What each event asks for; every other asks for nothing."""


# Repositories on GitHub: which project each belongs to, and taking over what they had before.


def connect(workspace: Workspace, repository: str, project: str) -> GitHubConnectReport:
    """Say that a repository's evidence belongs to a project."""
    name = parse_repository_name(repository)
    with control_of(workspace) as control:
        project_of(control, project)
        control.github.connect(name, project)
        return GitHubConnectReport(done="connected", repository=_line(_found(control.github.named(name), name)))


def disconnect(workspace: Workspace, repository: str) -> GitHubConnectReport:
    """Have deliveries about a repository do nothing from now on; what was recorded stays."""
    name = parse_repository_name(repository)
    with control_of(workspace) as control:
        known = _found(control.github.named(name), name)
        control.github.disconnect(name)
        return GitHubConnectReport(done="disconnected", repository=_line(known))


def list_connections(workspace: Workspace) -> GitHubListReport:
    """Every repository that is connected."""
    with control_of(workspace) as control:
        return GitHubListReport(repositories=[_line(connection) for connection in control.github.all()])


def backfill(workspace: Workspace, repository: str, settings: GitHubSettings) -> GitHubBackfillReport:
    """Add a job for each pull request that a repository ever had, and one for its index; again, only what is new.

    Open ones are judged as they are now; of closed ones it is kept what became of them.
    """
    states = Counter[str]()
    added = newest = 0
    with site_of(workspace, repository, settings) as site, control_of(workspace, as_service=True) as control:
        known = _found(control.github.named(site.repository), site.repository)
        connected = replace(known, full_name=site.repository)  # jobs are told apart by the name as it was typed
        workspace.progress.start("pull requests", None)

        def add(job: NewJob) -> bool:
            return add_job(control, job, id_=workspace.token(), now_ns=workspace.now_ns())

        for pull in site.github.pulls(site.repository):
            newest = max(newest, pull.number)
            states[pull.state] += 1
            added += add(_pull_job(connected, pull))
            workspace.progress.step(1)
        added += add(NewJob(INDEX, known.project, f"{site.repository}:{newest}", {"repository": site.repository}))
        workspace.progress.step(1)
    closed = states.total() - states["open"]
    return GitHubBackfillReport(repository=_line(known), open=states["open"], closed=closed, added=added)


def _pull_job(connected: GitHubConnection, pull: Pull) -> NewJob:
    """The job for a pull request: one for each state that it is found in."""
    job = pull_job(JUDGE if pull.state == "open" else OUTCOME, connected, pull.number)
    return replace(job, key=f"{job.key}:{pull.head.sha}:{pull.state}:{pull.merge_commit_sha or ''}")


def _found(known: GitHubConnection | None, name: str) -> GitHubConnection:
    if known is None:
        raise InputError(f"'{name}' is not connected", hint="'custody github connect' does that")
    return known


def _line(connection: GitHubConnection) -> GitHubLine:
    return GitHubLine(connection.full_name, connection.project, connection.installation)
