"""The command groups for a team: github, project, token and worker."""

from __future__ import annotations

import signal
from types import FrameType, MappingProxyType
from typing import TYPE_CHECKING

import click

from custody.server.app.jobs import KINDS
from custody.terminal.frame import (
    CommandGroup,
    CommandTable,
    database_option,
    json_option,
    open_command_workspace,
    print_command_report,
    print_terminal_notice,
)

if TYPE_CHECKING:
    from custody.server.wire.tenancy import WorkerReport


GITHUB_PARTS: CommandTable = MappingProxyType(
    {
        "connect": (
            "custody.server.cli.commands:connect_command",
            "Connect a repository to a project.",
        ),
        "disconnect": (
            "custody.server.cli.commands:disconnect_command",
            "Ignore webhook deliveries of a repository.",
        ),
        "list": (
            "custody.server.cli.commands:list_repositories_command",
            "List the connected repositories.",
        ),
        "backfill": (
            "custody.server.cli.commands:backfill_command",
            "Import the existing pull requests of a repository.",
        ),
        "comment": (
            "custody.server.cli.commands:comment_command",
            "Write a review as the one comment on a pull request.",
        ),
    }
)


@click.group("github", cls=CommandGroup, parts=GITHUB_PARTS)
def github_command() -> None:
    """Check pull requests on GitHub.

    GitHub sends pull requests to the service by a webhook; 'custody worker' checks them and writes a check run.
    docs/github.md describes the setup, and an action that works without a server.

    \b
    Example:
      custody github list
    """


PROJECT_PARTS: CommandTable = MappingProxyType(
    {
        "create": (
            "custody.server.cli.commands:create_project_command",
            "Create a project with its own store.",
        ),
        "list": ("custody.server.cli.commands:list_projects_command", "List the projects."),
        "retain": (
            "custody.server.cli.commands:retain_command",
            "Set how long conversations are stored.",
        ),
        "reads": ("custody.server.cli.commands:reads_command", "List who read conversations."),
        "remove": (
            "custody.server.cli.commands:remove_project_command",
            "Remove a project with everything in it.",
        ),
        "init-database": (
            "custody.server.cli.commands:init_database_command",
            "Prepare a team database for projects and a service.",
        ),
    }
)


@click.group("project", cls=CommandGroup, parts=PROJECT_PARTS)
def project_command() -> None:
    """Manage projects, each with its own store, tokens and retention.

    No project can see another. In PostgreSQL each has its own schema, and row-level security on top. docs/team.md
    describes the setup for a team.

    \b
    Example:
      custody project create shop
    """


TOKEN_PARTS: CommandTable = MappingProxyType(
    {
        "create": (
            "custody.server.cli.commands:create_token_command",
            "Create a token for one project and show it once.",
        ),
        "list": ("custody.server.cli.commands:list_tokens_command", "List tokens, without their secrets."),
        "revoke": ("custody.server.cli.commands:revoke_token_command", "Revoke a token."),
    }
)


@click.group("token", cls=CommandGroup, parts=TOKEN_PARTS)
def token_command() -> None:
    """Manage access tokens for a service.

    A token is for one project, with some scopes, until it expires. Only its hash is stored.

    \b
    Example:
      custody token create --project shop --name ci
    """


WORKER_PARTS: CommandTable = MappingProxyType(
    {
        "list": ("custody.server.cli.commands:list_jobs_command", "List failed, running and waiting jobs."),
        "retry": ("custody.server.cli.commands:retry_job_command", "Retry a failed job."),
    }
)


@click.group("worker", cls=CommandGroup, parts=WORKER_PARTS, invoke_without_command=True)
@click.option("--once", is_flag=True, help="Run the jobs that are due now, then exit.")
@click.option(
    "--kinds",
    "kinds",
    multiple=True,
    type=click.Choice(list(KINDS)),
    help="Only jobs of this kind; can be repeated.",
)
@database_option
@json_option
@click.pass_context
def worker_command(ctx: click.Context, *, once: bool, kinds: tuple[str, ...], as_json: bool) -> int:
    """Run background jobs.

    Any number of workers can run. A worker renews the lease of its job while it works; if the worker is killed,
    another takes the job when the lease expires. A failed job is retried with growing delays, up to a maximum.
    SIGTERM and SIGINT let the running job finish first.

    \b
    Examples:
      custody worker
      custody worker --once --kinds retention
    """
    from custody.server.app.jobs import JobWorker

    if ctx.invoked_subcommand is not None:
        return 0
    selected = {kind: function for kind, function in KINDS.items() if kind in (kinds or KINDS)}
    worker = JobWorker(open_command_workspace(ctx, is_service=True), MappingProxyType(selected))

    def stop(_number: int, _frame: FrameType | None) -> None:
        print_terminal_notice("stopping after the running job")
        worker.stop.set()

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, stop)
    report = worker.run(once=once)
    return print_command_report(report, _render_worker_jobs(report), as_json=as_json)


def _render_worker_jobs(report: WorkerReport) -> str:
    lost = f", {report.lost:,} taken over by another worker" if report.lost else ""
    return f"{report.done:,} done, {report.again:,} to retry, {report.aside:,} failed{lost}"
