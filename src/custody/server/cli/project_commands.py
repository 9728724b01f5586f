"""The parts of ``custody project``."""

import sys

import click

from custody.core.errors import InputError
from custody.server.app.projects import (
    create_project,
    init_database,
    list_projects,
    project_reads,
    remove_project,
    retain_project,
)
from custody.server.wire.tenancy import ProjectLine
from custody.terminal.frame import answer, database_option, json_option, open_workspace

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
    return answer(report, "\n".join(_line(project) for project in report.projects), as_json=as_json)


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
    return answer(report, _line(report.project), as_json=as_json)


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


def _line(project: ProjectLine) -> str:
    kept = "for ever" if project.retain_days is None else f"for {project.retain_days} days"
    return f"{project.name}  since {project.created}  conversations kept {kept}"
