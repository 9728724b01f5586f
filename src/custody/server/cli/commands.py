"""The commands of the groups github, project, token and worker."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, BinaryIO

import click

from custody.core.errors import InputError
from custody.core.ids import DEFAULT_PROJECT
from custody.core.plural import count_noun
from custody.server.app.tenancy import TokenScope
from custody.terminal.dates import format_time
from custody.terminal.frame import (
    database_option,
    escape_terminal_text,
    json_option,
    open_command_workspace,
    print_command_report,
    print_terminal_notice,
)

if TYPE_CHECKING:
    from custody.server.github.shapes import GitHubLine
    from custody.server.wire.tenancy import JobLine, ProjectLine, TokenLine


@click.command("connect")
@click.argument("repository", metavar="OWNER/NAME")
@click.option("--project", default=DEFAULT_PROJECT, show_default=True, help="Project that stores its evidence.")
@database_option
@json_option
@click.pass_context
def connect_command(ctx: click.Context, repository: str, *, project: str, as_json: bool) -> int:
    """Connect a repository to a project.

    Webhook deliveries of repositories that are not connected are ignored.

    \b
    Examples:
      custody github connect octo-org/hello-world --project web-shop
    """
    from custody.server.app.github_deliveries import connect_github_repository

    report = connect_github_repository(open_command_workspace(ctx), repository, project)
    return print_command_report(report, _render_github_repository(report.repository), as_json=as_json)


@click.command("disconnect")
@click.argument("repository", metavar="OWNER/NAME")
@database_option
@json_option
@click.pass_context
def disconnect_command(ctx: click.Context, repository: str, *, as_json: bool) -> int:
    """Ignore webhook deliveries of a repository.

    Its records stay.

    \b
    Examples:
      custody github disconnect octo-org/hello-world
    """
    from custody.server.app.github_deliveries import disconnect_github_repository

    report = disconnect_github_repository(open_command_workspace(ctx), repository)
    return print_command_report(report, f"Disconnected {report.repository.name}", as_json=as_json)


@click.command("list")
@database_option
@json_option
@click.pass_context
def list_repositories_command(ctx: click.Context, *, as_json: bool) -> int:
    """List the connected repositories.

    \b
    Examples:
      custody github list
    """
    from custody.server.app.github_deliveries import list_github_connections

    report = list_github_connections(open_command_workspace(ctx))
    text = (
        "\n".join(_render_github_repository(repository) for repository in report.repositories)
        or "No repositories connected"
    )
    return print_command_report(report, text, as_json=as_json)


@click.command("backfill")
@click.argument("repository", metavar="OWNER/NAME")
@database_option
@json_option
@click.pass_context
def backfill_command(ctx: click.Context, repository: str, *, as_json: bool) -> int:
    """Import the existing pull requests of a repository.

    Adds a job for each, which 'custody worker' runs: it checks open ones, records the outcome of closed ones, and
    indexes all of them to find duplicates. A second run adds only what is new.

    \b
    Examples:
      custody github backfill octo-org/hello-world && custody worker --once
    """
    from custody.server.app.github_deliveries import backfill_github_pulls
    from custody.server.app.github_jobs import read_github_settings

    report = backfill_github_pulls(open_command_workspace(ctx), repository, read_github_settings())
    pulls = count_noun(report.open + report.closed, "pull request")
    text = f"Added {count_noun(report.added, 'job')} for {pulls} ({report.open:,} open, {report.closed:,} closed)"
    return print_command_report(report, text, as_json=as_json)


@click.command("comment")
@click.argument("review", metavar="FILE", type=click.File("rb"))
@click.option("--repository", required=True, metavar="OWNER/NAME", help="The repository of the pull request.")
@click.option("--pull", required=True, type=click.IntRange(min=1), metavar="NUMBER", help="The pull request.")
@click.option("--head", required=True, metavar="SHA", help="The commit that the review is about.")
@json_option
def comment_command(review: BinaryIO, repository: str, pull: int, head: str, *, as_json: bool) -> int:
    """Write a review as the one comment on a pull request.

    FILE is the output of 'custody review --json', from a run that may not be trusted: its size, schema and head are
    checked. The comment is edited in place. Nothing is written if the pull request has another head or is closed.

    \b
    Examples:
      custody github comment review.json --repository octo-org/hello-world --pull 7 --head "$HEAD_SHA"
    """
    from custody.review.app.artifact import ARTIFACT_BYTES_MAX
    from custody.server.app.github_jobs import read_github_settings
    from custody.server.app.review_comment import CommentRequest, comment_review
    from custody.workspace.machine import machine_now_ns

    request = CommentRequest(repository=repository, number=pull, head=head)
    data = review.read(ARTIFACT_BYTES_MAX + 1)
    report = comment_review(read_github_settings(), request, data, machine_now_ns)
    text = f"Wrote comment {report.comment}" if report.state == "written" else "skipped: the pull request moved on"
    return print_command_report(report, text, as_json=as_json)


def _render_github_repository(line: GitHubLine) -> str:
    app = "" if line.installation is None else f", installation {line.installation}"
    return f"{line.name}: project {line.project}{app}"


DAYS_MAX = 36_500


@click.command("create")
@click.argument("name")
@database_option
@json_option
@click.pass_context
def create_project_command(ctx: click.Context, name: str, *, as_json: bool) -> int:
    """Create a project with its own store.

    NAME has up to 40 lowercase letters, digits and hyphens. Select a project with --project NAME or CUSTODY_PROJECT.

    \b
    Examples:
      custody project create web-shop
      custody --database postgresql://owner@db/custody project create web-shop
    """
    from custody.server.app.tenancy import create_project

    report = create_project(open_command_workspace(ctx), name)
    return print_command_report(report, f"Created project {report.project.name}", as_json=as_json)


@click.command("list")
@database_option
@json_option
@click.pass_context
def list_projects_command(ctx: click.Context, *, as_json: bool) -> int:
    """List the projects.

    \b
    Examples:
      custody project list
      custody project list --json | jq -r '.projects[].name'
    """
    from custody.server.app.tenancy import list_projects

    report = list_projects(open_command_workspace(ctx))
    return print_command_report(
        report, "\n".join(_render_project_line(project) for project in report.projects), as_json=as_json
    )


@click.command("retain")
@click.argument("name")
@click.option("--days", type=click.IntRange(1, DAYS_MAX), help="Erase prompts that are older.")
@click.option("--forever", is_flag=True, help="Erase nothing.")
@database_option
@json_option
@click.pass_context
def retain_command(ctx: click.Context, name: str, *, days: int | None, forever: bool, as_json: bool) -> int:
    """Set how long conversations are stored.

    'custody worker' applies it once a day: it erases prompts and session records that no other record needs, like
    'custody erase'. Edits, calls, sources, commits and decisions stay. This cannot be undone.

    \b
    Examples:
      custody project retain web-shop --days 90
      custody project retain web-shop --forever
    """
    from custody.server.app.tenancy import set_project_retention

    if (days is None) != forever:
        raise InputError("pass either --days or --forever")
    report = set_project_retention(open_command_workspace(ctx), name, days)
    return print_command_report(report, _render_project_line(report.project), as_json=as_json)


@click.command("reads")
@click.argument("name")
@click.option("-n", "--limit", type=click.IntRange(min=1), default=50, help="Maximum number to list.")
@database_option
@json_option
@click.pass_context
def reads_command(ctx: click.Context, name: str, *, limit: int, as_json: bool) -> int:
    """List who read conversations.

    The service logs every read before it returns the text: the token, the text, the time.

    \b
    Examples:
      custody project reads web-shop
      custody project reads web-shop --json | jq -r '.reads[].token'
    """
    from custody.server.app.tenancy import list_project_reads

    report = list_project_reads(open_command_workspace(ctx), name, limit)
    lines = [f"{format_time(read.at)}  token {read.token}  {read.what}" for read in report.reads]
    if not lines:
        lines = [f"No reads of conversations of project {name}"]
    elif report.total > len(lines):
        lines.append(f"{report.total - len(lines):,} more")
    return print_command_report(report, "\n".join(lines), as_json=as_json)


@click.command("remove")
@click.argument("name")
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
@database_option
@json_option
@click.pass_context
def remove_project_command(ctx: click.Context, name: str, *, yes: bool, as_json: bool) -> int:
    """Remove a project with everything in it.

    Deletes its evidence, tokens and jobs; the log of who read its conversations stays. This cannot be undone. The
    default project cannot be removed.

    \b
    Examples:
      custody project remove old-shop
      custody project remove old-shop --yes
    """
    from custody.server.app.tenancy import remove_project

    if not yes:
        if not sys.stdin.isatty():
            raise InputError(
                "cannot ask for confirmation without a terminal", hint="pass --yes; removing cannot be undone"
            )
        click.confirm(f"Remove project {name} with all its evidence?", abort=True, err=True)
    report = remove_project(open_command_workspace(ctx), name)
    return print_command_report(report, f"Removed project {report.project.name}", as_json=as_json)


@click.command("init-database")
@click.option("--login", metavar="ROLE", help="Database role that the service logs in as.")
@database_option
@json_option
@click.pass_context
def init_database_command(ctx: click.Context, *, login: str | None, as_json: bool) -> int:
    """Prepare a team database for projects and a service.

    Run it with the URL of the database owner, and again after each upgrade. It creates the role 'custody_service',
    which owns nothing and is limited by row-level security, grants it the rights of a service, and migrates every
    project. The service itself connects with the URL of the login role.

    \b
    Examples:
      custody --database postgresql://owner@db/x project init-database --login web
    """
    from custody.server.app.tenancy import init_team_database

    report = init_team_database(open_command_workspace(ctx), login)
    text = f"Initialized for the role {report.role}; projects: {', '.join(report.projects)}"
    return print_command_report(report, text if login is None else f"{text}; {login} may use it", as_json=as_json)


def _render_project_line(project: ProjectLine) -> str:
    term = "forever" if project.retain_days is None else f"for {count_noun(project.retain_days, 'day')}"
    return f"{project.name}  since {format_time(project.created)}  conversations stored {term}"


@click.command("create")
@click.option("--project", default=DEFAULT_PROJECT, show_default=True, help="Project that the token is for.")
@click.option(
    "--scope",
    "scopes",
    multiple=True,
    type=click.Choice([scope.value for scope in TokenScope]),
    default=(TokenScope.READ.value,),
    show_default=True,
    help="Scope of the token; can be repeated.",
)
@click.option("--expires", default="90d", show_default=True, help="Lifetime: 12h, 90d, 4w, 1y, or never.")
@click.option("--name", default="", help="Name to recognize it by.")
@database_option
@json_option
@click.pass_context
def create_token_command(
    ctx: click.Context, *, project: str, scopes: tuple[str, ...], expires: str, name: str, as_json: bool
) -> int:
    """Create a token for one project and show it once.

    read: everything but conversations. write: send records. text: conversations, every read is logged. admin: erase.
    No scope includes another. The token is printed to stdout and not stored: if it is lost, create another.

    \b
    Examples:
      custody token create --name laptop
      custody token create --scope read --scope write --expires 30d --name ci
    """
    from custody.server.app.tenancy import TokenRequest, create_token

    request = TokenRequest(project, [TokenScope(scope) for scope in scopes], expires, name)
    report = create_token(open_command_workspace(ctx), request)
    if not as_json:
        print_terminal_notice(escape_terminal_text(f"token {_render_token_line(report.token)}; it is shown only once"))
    return print_command_report(report, report.secret, as_json=as_json)


@click.command("list")
@click.option("--project", help="Only tokens of this project.")
@database_option
@json_option
@click.pass_context
def list_tokens_command(ctx: click.Context, *, project: str | None, as_json: bool) -> int:
    """List tokens, without their secrets.

    \b
    Examples:
      custody token list
      custody token list --project web-shop --json | jq '.tokens[].state'
    """
    from custody.server.app.tenancy import list_tokens

    report = list_tokens(open_command_workspace(ctx), project)
    text = "\n".join(_render_token_line(token) for token in report.tokens) or "No tokens"
    return print_command_report(report, text, as_json=as_json)


@click.command("revoke")
@click.argument("id_", metavar="ID")
@database_option
@json_option
@click.pass_context
def revoke_token_command(ctx: click.Context, id_: str, *, as_json: bool) -> int:
    """Revoke a token.

    ID is the id from 'custody token list'. It takes effect with the next request.

    \b
    Examples:
      custody token revoke 5f0c3a8e91d2b746
    """
    from custody.server.app.tenancy import revoke_token

    report = revoke_token(open_command_workspace(ctx), id_)
    return print_command_report(report, _render_token_line(report.token), as_json=as_json)


def _render_token_line(token: TokenLine) -> str:
    name = f" ({token.name})" if token.name else ""
    last_use = "never used" if token.last_used is None else f"last used {format_time(token.last_used)}"
    expiry = "never expires" if token.expires is None else f"until {format_time(token.expires)}"
    return f"{token.id}{name}: {token.state}, project {token.project}, {' '.join(token.scopes)}, {expiry}, {last_use}"


@click.command("list")
@click.option("-n", "--limit", type=click.IntRange(min=1), default=50, help="Maximum number to list.")
@database_option
@json_option
@click.pass_context
def list_jobs_command(ctx: click.Context, *, limit: int, as_json: bool) -> int:
    """List failed, running and waiting jobs.

    \b
    Examples:
      custody worker list
      custody worker list --json | jq '.jobs[] | select(.state == "aside")'
    """
    from custody.server.app.jobs import list_jobs

    report = list_jobs(open_command_workspace(ctx), limit)
    counts = f"{report.aside:,} failed, {report.leased:,} running, {report.waiting:,} waiting, {report.done:,} done"
    return print_command_report(
        report, "\n".join((*(_render_job_line(job) for job in report.jobs), counts)), as_json=as_json
    )


@click.command("retry")
@click.argument("id_", metavar="ID")
@database_option
@json_option
@click.pass_context
def retry_job_command(ctx: click.Context, id_: str, *, as_json: bool) -> int:
    """Retry a failed job.

    ID is the id from 'custody worker list'.

    \b
    Examples:
      custody worker retry 0f3a9c51d2e84b76a1c09e5572d4b8f3
    """
    from custody.server.app.jobs import retry_job

    report = retry_job(open_command_workspace(ctx), id_)
    return print_command_report(report, _render_job_line(report.job), as_json=as_json)


def _render_job_line(job: JobLine) -> str:
    attempts = f", {count_noun(job.attempts, 'attempt')}" if job.attempts else ""
    error = f": {job.error}" if job.error else ""
    return f"{job.id}  {job.state}  {job.kind} {job.key} of project {job.project}{attempts}{error}"
