"""The parts of ``custody worker``."""

import click

from custody.server.app.jobs import list_jobs, retry_job
from custody.server.wire.tenancy import JobLine
from custody.terminal.frame import answer, database_option, json_option, open_workspace


@click.command("list")
@click.option("-n", "--limit", type=click.IntRange(min=1), default=50, help="How many to list.")
@database_option
@json_option
@click.pass_context
def list_jobs_command(ctx: click.Context, *, limit: int, as_json: bool) -> int:
    """List jobs that are set aside, run or wait.

    \b
    Examples:
      custody worker list
      custody worker list --json | jq '.jobs[] | select(.state == "aside")'
    """
    report = list_jobs(open_workspace(ctx), limit)
    counts = f"{report.aside} set aside, {report.leased} running, {report.waiting} waiting, {report.done} done"
    return answer(report, "\n".join((*(_line(job) for job in report.jobs), counts)), as_json=as_json)


@click.command("retry")
@click.argument("id_", metavar="ID")
@database_option
@json_option
@click.pass_context
def retry_job_command(ctx: click.Context, id_: str, *, as_json: bool) -> int:
    """Have a job that was set aside taken again.

    ID is the job's id, as 'custody worker list' shows it.

    \b
    Examples:
      custody worker retry 0f3a9c51d2e84b76a1c09e5572d4b8f3
    """
    report = retry_job(open_workspace(ctx), id_)
    return answer(report, _line(report.job), as_json=as_json)


def _line(job: JobLine) -> str:
    tried = f", begun {job.attempts} times" if job.attempts else ""
    error = f": {job.error}" if job.error else ""
    return f"{job.id}  {job.state}  {job.kind} {job.key} of project {job.project}{tried}{error}"
