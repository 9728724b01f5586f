"""Repositories on GitHub: which project each belongs to, and taking over what they had before."""

from collections.abc import Iterator
from dataclasses import dataclass

from custody.core.errors import InputError
from custody.server.app.control import control_of, project_of
from custody.server.app.github_deliveries import JobRequest, judge_wish, outcome_wish
from custody.server.app.github_jobs import INDEX, site_of
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

PAGE = 100


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


@dataclass(slots=True)
class _BackfillTally:
    open: int = 0
    closed: int = 0
    added: int = 0


def backfill(workspace: Workspace, repository: str, settings: GitHubSettings) -> GitHubBackfillReport:
    """Add a job for each pull request that a repository ever had, and one for its index; again, only what is new.

    Open ones are judged as they are now; of closed ones it is kept what became of them.
    """
    tally = _BackfillTally()
    with site_of(workspace, repository, settings) as site, control_of(workspace, as_service=True) as control:
        known = _found(control.github.named(site.repository), site.repository)
        workspace.progress.start("pull requests", None)
        for wish in _wishes(site.repository, site.github.pulls(site.repository), tally):
            new = NewJob(wish.kind, known.project, wish.key, wish.payload)
            tally.added += add_job(control, new, id_=workspace.token(), now_ns=workspace.now_ns())
            workspace.progress.step(1)
    return GitHubBackfillReport(repository=_line(known), open=tally.open, closed=tally.closed, added=tally.added)


def _wishes(repository: str, pulls: Iterator[Pull], tally: _BackfillTally) -> Iterator[JobRequest]:
    newest = 0
    for pull in pulls:
        newest = max(newest, pull.number)
        if pull.state == "open":
            tally.open += 1
            wish = judge_wish(repository, pull.number)
        else:
            tally.closed += 1
            wish = outcome_wish(repository, pull.number)
        # What was told of a state is told once; a state that came since is another.
        yield JobRequest(
            wish.kind, f"{wish.key}:{pull.head.sha}:{pull.state}:{pull.merge_commit_sha or ''}", wish.payload
        )
    yield JobRequest(INDEX, f"{repository}:{newest}", {"repository": repository})


def _found(known: GitHubConnection | None, name: str) -> GitHubConnection:
    if known is None:
        raise InputError(f"'{name}' is not connected", hint="'custody github connect' does that")
    return known


def _line(connection: GitHubConnection) -> GitHubLine:
    return GitHubLine(connection.full_name, connection.project, connection.installation)
