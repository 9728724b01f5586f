"""The parts of ``custody github``."""

import click

from custody.core.project import DEFAULT_PROJECT
from custody.server.app.github_connection import backfill, connect, disconnect, list_connections
from custody.server.app.github_settings import github_settings
from custody.server.github.report import GitHubLine
from custody.terminal.frame import answer, database_option, json_option, open_workspace


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
    return answer(report, _line(report.repository), as_json=as_json)


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
    words = "\n".join(_line(repository) for repository in report.repositories) or "no repository is connected"
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


def _line(line: GitHubLine) -> str:
    app = "" if line.installation is None else f", installation {line.installation}"
    return f"{line.name}: project {line.project}{app}"
