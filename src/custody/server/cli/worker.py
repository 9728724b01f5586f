"""``custody worker``."""

import signal
from types import FrameType, MappingProxyType

import click

from custody.server.app.jobs import KINDS
from custody.server.app.worker import JobWorker
from custody.server.wire.tenancy import WorkerReport
from custody.terminal.command_group import CommandGroup, CommandTable
from custody.terminal.frame import answer, database_option, json_option, open_workspace, say

PARTS: CommandTable = MappingProxyType(
    {
        "list": ("custody.server.cli.worker_commands:list_jobs_command", "List jobs that are set aside, run or wait."),
        "retry": ("custody.server.cli.worker_commands:retry_job_command", "Have a job that was set aside taken again."),
    }
)


@click.group("worker", cls=CommandGroup, parts=PARTS, invoke_without_command=True)
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
