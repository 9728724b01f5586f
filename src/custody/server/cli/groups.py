"""The groups of verbs for a team: github, project, token and worker."""

import signal
from types import FrameType, MappingProxyType

import click

from custody.server.app.jobs import KINDS, JobWorker
from custody.server.wire.tenancy import WorkerReport
from custody.terminal.frame import CommandGroup, CommandTable, answer, database_option, json_option, open_workspace, say

GITHUB_PARTS: CommandTable = MappingProxyType(
    {
        "connect": (
            "custody.server.cli.commands:connect_command",
            "Say which project a repository's evidence belongs to.",
        ),
        "disconnect": (
            "custody.server.cli.commands:disconnect_command",
            "Have deliveries about a repository do nothing.",
        ),
        "list": (
            "custody.server.cli.commands:list_repositories_command",
            "List the repositories that are connected.",
        ),
        "backfill": (
            "custody.server.cli.commands:backfill_command",
            "Take over the pull requests that a repository had before.",
        ),
    }
)


@click.group("github", cls=CommandGroup, parts=GITHUB_PARTS)
def github_command() -> None:
    """Judge pull requests on GitHub, and learn from what becomes of them.

    GitHub tells the service of pull requests by a webhook; 'custody worker' judges them and writes a check run.
    docs/github.md says how to set this up, and which action does without a server.
    """


PROJECT_PARTS: CommandTable = MappingProxyType(
    {
        "create": (
            "custody.server.cli.commands:create_project_command",
            "Make a project with a store of its own.",
        ),
        "list": ("custody.server.cli.commands:list_projects_command", "List the projects."),
        "retain": (
            "custody.server.cli.commands:retain_command",
            "Say for how long the texts of conversations are kept.",
        ),
        "reads": ("custody.server.cli.commands:reads_command", "Say who read texts of conversations."),
        "remove": (
            "custody.server.cli.commands:remove_project_command",
            "Remove a project with everything that it holds.",
        ),
        "init-database": (
            "custody.server.cli.commands:init_database_command",
            "Prepare a team database for projects and for a service.",
        ),
    }
)


@click.group("project", cls=CommandGroup, parts=PROJECT_PARTS)
def project_command() -> None:
    """Keep projects apart, each with its own store, tokens and retention.

    Nothing of one project can be seen from another. In PostgreSQL each has a schema of its own, and row-level security
    on top. docs/team.md says how a team sets this up.
    """


TOKEN_PARTS: CommandTable = MappingProxyType(
    {
        "create": (
            "custody.server.cli.commands:create_token_command",
            "Make a token for one project and show it, once.",
        ),
        "list": ("custody.server.cli.commands:list_tokens_command", "List tokens, without what they open with."),
        "revoke": ("custody.server.cli.commands:revoke_token_command", "Have a token open nothing from now on."),
    }
)


@click.group("token", cls=CommandGroup, parts=TOKEN_PARTS)
def token_command() -> None:
    """Make, list and revoke the tokens that open a service.

    A token opens one project, for what its scopes say, until it expires. Only a hash of it is kept.
    """


WORKER_PARTS: CommandTable = MappingProxyType(
    {
        "list": ("custody.server.cli.commands:list_jobs_command", "List jobs that are set aside, run or wait."),
        "retry": ("custody.server.cli.commands:retry_job_command", "Have a job that was set aside taken again."),
    }
)


@click.group("worker", cls=CommandGroup, parts=WORKER_PARTS, invoke_without_command=True)
@click.option("--once", is_flag=True, help="Do what is due now, then end.")
@click.option(
    "--kinds",
    "kinds",
    multiple=True,
    type=click.Choice(list(KINDS)),
    help="Only jobs of this kind; give it several times for several.",
)
@database_option
@json_option
@click.pass_context
def worker_command(ctx: click.Context, *, once: bool, kinds: tuple[str, ...], as_json: bool) -> int:
    """Do what waits to be done: retention, and jobs of a service.

    Any number of workers may run. Each job has a lease, which a worker renews while it works; when a worker is killed,
    another takes the job once the lease has ended. A job that fails is tried again, later each time; one that fails too
    often is set aside. SIGTERM and SIGINT let the job that runs end first.

    \b
    Examples:
      custody worker
      custody worker --once --kinds retention
    """
    if ctx.invoked_subcommand is not None:
        return 0
    chosen = {kind: does for kind, does in KINDS.items() if kind in (kinds or KINDS)}
    worker = JobWorker(open_workspace(ctx, is_service=True), MappingProxyType(chosen))

    def stop(_number: int, _frame: FrameType | None) -> None:
        say("stopping when the job that runs has ended")
        worker.stop.set()

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, stop)
    report = worker.run(once=once)
    return answer(report, _render_jobs(report), as_json=as_json)


def _render_jobs(report: WorkerReport) -> str:
    lost = f", {report.lost} that others settled" if report.lost else ""
    return f"{report.done} done, {report.again} to be tried again, {report.aside} set aside{lost}"
