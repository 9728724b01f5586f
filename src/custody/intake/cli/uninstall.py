"""``custody uninstall``."""

import sys

import click

from custody.core.errors import InputError
from custody.core.wire.report import UninstallReport
from custody.intake.cli.init import render_file
from custody.intake.install.uninstall import evidence, uninstall
from custody.terminal.frame import answer, json_option, open_workspace


@click.command("uninstall")
@click.option("--user", is_flag=True, help="Take out what 'custody init --user' put into your own settings.")
@click.option("--purge/--keep-evidence", default=False, help="Remove all that was recorded here too; asks first.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@json_option
@click.pass_context
def uninstall_command(ctx: click.Context, *, user: bool, purge: bool, yes: bool, as_json: bool) -> int:
    """Take out of settings and hooks what 'custody init' put there.

    Exactly our bytes go: a file that nobody else has touched is as it was before, edits that others made since are
    kept, and a file that was made for us is deleted. What was recorded stays, unless you ask for --purge. Running it
    again changes nothing.

    \b
    Examples:
      custody uninstall
      custody uninstall --user
      custody uninstall --purge
    """
    workspace = open_workspace(ctx)
    if purge and not yes:
        if not sys.stdin.isatty():
            raise InputError("purging cannot be undone and nobody is here to ask", hint="add --yes")
        for folder in evidence(workspace, user=user):
            click.echo(f"  {folder}", err=True)
        click.confirm("remove for good all that was recorded there?", abort=True, err=True)
    report = uninstall(workspace, user=user, purge=purge)
    return answer(report, _render_removal(report), as_json=as_json)


def _render_removal(report: UninstallReport) -> str:
    lines = [line for file in report.files for line in render_file(file)]
    lines += [f"removed    recorder in '{home}'" for home in report.homes]
    if report.purged:
        lines.append("removed    all that was recorded")
    return "\n".join(lines or ["nothing of ours is here"])
