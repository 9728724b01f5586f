"""``custody init``."""

import sys

import click

from custody.core.errors import InputError
from custody.core.wire.report import InitReport, SetUpFile
from custody.intake.install.init import TITLES, InitRequest, find_present_agents, init
from custody.terminal.frame import answer, json_option, open_workspace
from custody.workspace.workspace import Workspace


@click.command("init")
@click.option("--agent", "agents", multiple=True, type=click.Choice(list(TITLES)), help="Set up this one (repeatable).")
@click.option("--yes", is_flag=True, help="Set up every agent that is found, without asking.")
@click.option("--user", is_flag=True, help="Set up your user, for all repositories, instead of this one.")
@click.option("--git-hooks/--no-git-hooks", default=True, help="Have git's hooks link commits to what was recorded.")
@click.option("--dry-run", is_flag=True, help="Show every change and write nothing.")
@json_option
@click.pass_context
def init_command(ctx: click.Context, /, agents: tuple[str, ...], *, yes: bool, as_json: bool, **level: bool) -> int:
    """Have agents' work in this repository recorded as it happens.

    Copies the recorder beside the store and adds an entry to the settings of each agent that you choose, and a few
    lines to git's hooks. What is there stays as it is, to the byte; a copy is kept. A file that git tracks is never
    changed: then the agent's user-level settings are used, or the line to add is printed. A file that cannot be read
    stops everything before anything is written. Running it again changes nothing; 'custody uninstall' takes it back.

    \b
    Examples:
      custody init
      custody init --yes
      custody init --agent claude-code --agent cursor --no-git-hooks
      custody init --user --agent codex --dry-run
    """
    workspace = open_workspace(ctx)
    chosen = tuple(dict.fromkeys(agents)) or _chosen(workspace, yes=yes, user=level["user"])
    report = init(workspace, InitRequest(agents=chosen, **level))
    return answer(report, _render_setup(report, looked=not agents), as_json=as_json)


def _chosen(workspace: Workspace, *, yes: bool, user: bool) -> tuple[str, ...]:
    """The agents that are found and that the user wants."""
    here = find_present_agents(workspace, user=user)
    if yes:
        return tuple(here)
    if not sys.stdin.isatty():
        names = ", ".join(here) or "none was found"
        raise InputError(
            f"nobody is here to ask which agents to record ({names})",
            hint="add --yes for all that are found, or name them with --agent",
        )
    return tuple(name for name in here if click.confirm(f"record {TITLES[name]}?", default=True, err=True))


def _render_setup(report: InitReport, *, looked: bool) -> str:
    """What was done; where agents were looked for, also of whom there was no sign."""
    lines = [line for file in report.files for line in render_file(file)]
    lines += report.off.values()
    if not report.agents and not report.already:
        lines.append(f"no agent was chosen or found; name one with --agent ({', '.join(TITLES)})")
    known = (*report.agents, *report.already)
    for words, names in (
        ("set up before, and left as it is", report.already),
        ("here, but not set up", [name for name in report.found if name not in known]),
        ("no sign of", [name for name in TITLES if looked and name not in (*report.found, *known)]),
    ):
        if names:
            lines.append(f"{words}: {', '.join(TITLES[name] for name in names)}")
    for name, left in report.backfill.items():
        if left.new_sessions:
            lines.append(
                f"{TITLES[name]} left {left.new_sessions:,} session(s) on disk that are not recorded:"
                f" 'custody import {name}' reads them"
            )
    where = " and ".join(f"'{home}'" for home in report.homes)
    lines.append(f"nothing was written; the recorder would be in {where}" if report.dry_run else f"recorder in {where}")
    return "\n".join(lines)


def render_file(file: SetUpFile) -> list[str]:
    """One line for a file, and what the user has to do or see below it."""
    lines = [f"{file.done:<9}  {file.path}  ({file.whose}: {file.what})"]
    for more in (file.by_hand, file.diff):
        lines += [f"    {line}" for line in (more or "").splitlines()]
    return lines
