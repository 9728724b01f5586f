"""The commands of those groups."""

import sys

import click

from custody.core.errors import InputError
from custody.core.ids import DEFAULT_PROJECT
from custody.server.app.github_deliveries import backfill, connect, disconnect, list_connections
from custody.server.app.github_jobs import github_settings
from custody.server.app.jobs import list_jobs, retry_job
from custody.server.app.tenancy import (
    TokenRequest,
    TokenScope,
    create_project,
    create_token,
    init_database,
    list_projects,
    list_tokens,
    project_reads,
    remove_project,
    retain_project,
    revoke_token,
)
from custody.server.github.shapes import GitHubLine
from custody.server.wire.tenancy import JobLine, ProjectLine, TokenLine
from custody.terminal.frame import answer, database_option, json_option, open_workspace, printable, say


@click.command("connect")
@click.argument("repository", metavar="OWNER/NAME")
@click.option("--project", default=DEFAULT_PROJECT, show_default=True, help="Where its evidence is kept.")
@database_option
@json_option
@click.pass_context
def connect_command(ctx: click.Context, repository: str, *, project: str, as_json: bool) -> int:
    """Say which project a repository's evidence belongs to.

    Deliveries about a repository that is not connected do nothing.

    \b
    Examples:
      custody github connect octo-org/hello-world --project web-shop
    """
    report = connect(open_workspace(ctx), repository, project)
    return answer(report, _repository_line(report.repository), as_json=as_json)


@click.command("disconnect")
@click.argument("repository", metavar="OWNER/NAME")
@database_option
@json_option
@click.pass_context
def disconnect_command(ctx: click.Context, repository: str, *, as_json: bool) -> int:
    """Have deliveries about a repository do nothing.

    What was recorded of it stays.

    \b
    Examples:
      custody github disconnect octo-org/hello-world
    """
    report = disconnect(open_workspace(ctx), repository)
    return answer(report, f"{report.repository.name} is not connected any more", as_json=as_json)


@click.command("list")
@database_option
@json_option
@click.pass_context
def list_repositories_command(ctx: click.Context, *, as_json: bool) -> int:
    """List the repositories that are connected.

    \b
    Examples:
      custody github list
    """
    report = list_connections(open_workspace(ctx))
    words = (
        "\n".join(_repository_line(repository) for repository in report.repositories) or "no repository is connected"
    )
    return answer(report, words, as_json=as_json)


@click.command("backfill")
@click.argument("repository", metavar="OWNER/NAME")
@database_option
@json_option
@click.pass_context
def backfill_command(ctx: click.Context, repository: str, *, as_json: bool) -> int:
    """Take over the pull requests that a repository had before.

    For each a job is added, which 'custody worker' does: open ones are judged, of closed ones it is kept what became of
    them, and all are indexed for the search for duplicates. Run again, it adds only what is new since.

    \b
    Examples:
      custody github backfill octo-org/hello-world && custody worker --once
    """
    report = backfill(open_workspace(ctx), repository, github_settings())
    words = f"{report.open} open and {report.closed} closed pull request(s), {report.added} job(s) added"
    return answer(report, words, as_json=as_json)


def _repository_line(line: GitHubLine) -> str:
    app = "" if line.installation is None else f", installation {line.installation}"
    return f"{line.name}: project {line.project}{app}"


# The parts of ``custody project``.


DAYS_MAX = 36_500


@click.command("create")
@click.argument("name")
@database_option
@json_option
@click.pass_context
def create_project_command(ctx: click.Context, name: str, *, as_json: bool) -> int:
    """Make a project with a store of its own.

    NAME has up to 40 small letters, digits and hyphens. Verbs work on a project by --project NAME or CUSTODY_PROJECT.

    \b
    Examples:
      custody project create web-shop
      custody --database postgresql://owner@db/custody project create web-shop
    """
    report = create_project(open_workspace(ctx), name)
    return answer(report, f"project {report.project.name} is there", as_json=as_json)


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
    report = list_projects(open_workspace(ctx))
    return answer(report, "\n".join(_project_line(project) for project in report.projects), as_json=as_json)


@click.command("retain")
@click.argument("name")
@click.option("--days", type=click.IntRange(1, DAYS_MAX), help="Erase texts of conversations that are older.")
@click.option("--forever", is_flag=True, help="Erase none.")
@database_option
@json_option
@click.pass_context
def retain_command(ctx: click.Context, name: str, *, days: int | None, forever: bool, as_json: bool) -> int:
    """Say for how long the texts of conversations are kept.

    'custody worker' carries it out once a day: prompts, and what records of a session hold that nothing rests on, are
    erased as by 'custody erase'. Edits, calls, sources, commits and decisions stay. This cannot be undone.

    \b
    Examples:
      custody project retain web-shop --days 90
      custody project retain web-shop --forever
    """
    if (days is None) != forever:
        raise InputError("say either --days or --forever")
    report = retain_project(open_workspace(ctx), name, days)
    return answer(report, _project_line(report.project), as_json=as_json)


@click.command("reads")
@click.argument("name")
@click.option("-n", "--limit", type=click.IntRange(min=1), default=50, help="How many to list.")
@database_option
@json_option
@click.pass_context
def reads_command(ctx: click.Context, name: str, *, limit: int, as_json: bool) -> int:
    """Say who read texts of conversations.

    Each read through the service is noted before the text is handed out: with which token, what, when.

    \b
    Examples:
      custody project reads web-shop
      custody project reads web-shop --json | jq -r '.reads[].token' | sort | uniq -c
    """
    report = project_reads(open_workspace(ctx), name, limit)
    lines = [f"{read.at}  token {read.token}  {read.what}" for read in report.reads]
    if not lines:
        lines = [f"nobody read a text of project {name}"]
    elif report.total > len(lines):
        lines.append(f"{report.total - len(lines)} more")
    return answer(report, "\n".join(lines), as_json=as_json)


@click.command("remove")
@click.argument("name")
@click.option("--yes", is_flag=True, help="Do not ask.")
@database_option
@json_option
@click.pass_context
def remove_project_command(ctx: click.Context, name: str, *, yes: bool, as_json: bool) -> int:
    """Remove a project with everything that it holds.

    Its evidence, tokens and jobs are gone; who read its conversations stays. This cannot be undone. The default project
    cannot be removed.

    \b
    Examples:
      custody project remove old-shop
      custody project remove old-shop --yes
    """
    if not yes:
        if not sys.stdin.isatty():
            raise InputError("removing cannot be undone and nobody is here to ask", hint="add --yes")
        click.confirm(f"remove project {name} with all its evidence?", abort=True, err=True)
    report = remove_project(open_workspace(ctx), name)
    return answer(report, f"project {report.project.name} is gone", as_json=as_json)


@click.command("init-database")
@click.option("--login", metavar="ROLE", help="A role of the server that a service logs in as; it is let in.")
@database_option
@json_option
@click.pass_context
def init_database_command(ctx: click.Context, *, login: str | None, as_json: bool) -> int:
    """Prepare a team database for projects and for a service.

    Run with the address of the database's owner, again after each upgrade: it makes the role 'custody_service', which
    owns nothing and is held by row-level security, gives it the rights that a service needs, and brings every project
    up to date. The service itself connects with the address of the login.

    \b
    Examples:
      custody --database postgresql://owner@db/custody project init-database --login custody_web
    """
    report = init_database(open_workspace(ctx), login)
    words = f"initialised for the role {report.role}; projects: {', '.join(report.projects)}"
    return answer(report, words if login is None else f"{words}; {login} may work as it", as_json=as_json)


def _project_line(project: ProjectLine) -> str:
    kept = "for ever" if project.retain_days is None else f"for {project.retain_days} days"
    return f"{project.name}  since {project.created}  conversations kept {kept}"


# The parts of ``custody token``.


@click.command("create")
@click.option("--project", default=DEFAULT_PROJECT, show_default=True, help="The one project that it opens.")
@click.option(
    "--scope",
    "scopes",
    multiple=True,
    type=click.Choice([scope.value for scope in TokenScope]),
    default=(TokenScope.READ.value,),
    show_default=True,
    help="What it is good for; give it several times for several.",
)
@click.option("--expires", default="90d", show_default=True, help="After how long: 12h, 90d, 4w, 1y, or never.")
@click.option("--name", default="", help="What people call it.")
@database_option
@json_option
@click.pass_context
def create_token_command(
    ctx: click.Context, *, project: str, scopes: tuple[str, ...], expires: str, name: str, as_json: bool
) -> int:
    """Make a token for one project and show it, once.

    read: everything but texts of conversations. write: ingest. text: texts of conversations, each read noted. admin:
    erase. None includes another. The token is on stdout and is kept nowhere: if it is lost, make another.

    \b
    Examples:
      custody token create --name laptop
      custody token create --project web-shop --scope read --scope write --expires 30d --name ci
    """
    wanted = TokenRequest(project, [TokenScope(scope) for scope in scopes], expires, name)
    report = create_token(open_workspace(ctx), wanted)
    if not as_json:
        say(printable(f"token {_token_line(report.token)}; it is shown this once"))
    return answer(report, report.secret, as_json=as_json)


@click.command("list")
@click.option("--project", help="Only those of this project.")
@database_option
@json_option
@click.pass_context
def list_tokens_command(ctx: click.Context, *, project: str | None, as_json: bool) -> int:
    """List tokens, without what they open with.

    \b
    Examples:
      custody token list
      custody token list --project web-shop --json | jq '.tokens[] | select(.state == "active")'
    """
    report = list_tokens(open_workspace(ctx), project)
    words = "\n".join(_token_line(token) for token in report.tokens) or "there are no tokens"
    return answer(report, words, as_json=as_json)


@click.command("revoke")
@click.argument("id_", metavar="ID")
@database_option
@json_option
@click.pass_context
def revoke_token_command(ctx: click.Context, id_: str, *, as_json: bool) -> int:
    """Have a token open nothing from now on.

    ID is the token's id, as 'custody token list' shows it. It holds from the next request on.

    \b
    Examples:
      custody token revoke 5f0c3a8e91d2b746
    """
    report = revoke_token(open_workspace(ctx), id_)
    return answer(report, _token_line(report.token), as_json=as_json)


def _token_line(token: TokenLine) -> str:
    name = f" ({token.name})" if token.name else ""
    used = "never used" if token.last_used is None else f"last used {token.last_used}"
    until = "for ever" if token.expires is None else f"until {token.expires}"
    return f"{token.id}{name}: {token.state}, project {token.project}, {' '.join(token.scopes)}, {until}, {used}"


# The parts of ``custody worker``.


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
    return answer(report, "\n".join((*(_job_line(job) for job in report.jobs), counts)), as_json=as_json)


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
    return answer(report, _job_line(report.job), as_json=as_json)


def _job_line(job: JobLine) -> str:
    tried = f", begun {job.attempts} times" if job.attempts else ""
    error = f": {job.error}" if job.error else ""
    return f"{job.id}  {job.state}  {job.kind} {job.key} of project {job.project}{tried}{error}"
