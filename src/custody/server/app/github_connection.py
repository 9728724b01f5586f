"""Repositories on GitHub: which project each belongs to, and taking over what they had before."""

from collections import Counter
from dataclasses import replace

from custody.core.errors import InputError
from custody.server.app.control import control_of, project_of
from custody.server.app.github_deliveries import pull_job
from custody.server.app.github_jobs import INDEX, JUDGE, OUTCOME, site_of
from custody.server.app.github_settings import GitHubSettings
from custody.server.app.jobs import NewJob, add_job
from custody.server.control import GitHubConnection
from custody.server.github.report import (
    GitHubBackfillReport,
    GitHubConnectReport,
    GitHubLine,
    GitHubListReport,
)
from custody.server.github.shapes import Pull, parse_repository_name
from custody.workspace.workspace import Workspace


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
