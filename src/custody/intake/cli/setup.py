"""``custody init``, ``custody uninstall`` and ``custody doctor``."""

import sys

import click

from custody.core.errors import InputError
from custody.core.wire.report import DoctorReport, InitReport, SetUpFile, UninstallReport
from custody.intake.install.doctor import doctor
from custody.intake.install.init import TITLES, InitRequest, evidence, find_present_agents, init, uninstall
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


_HOOKS = {
    "set up": "hooks set up",
    "partly": "hooks set up in part",
    "misled": "hooks from which nothing comes",
    "off": "hooks turned off",
    "unreadable": "settings that cannot be read",
    "not set up": "no hooks",
    "none": "no hooks to set up",
}
_MARK = {"well": "ok  ", "note": "note", "ill": "ILL "}


@click.command("doctor")
@click.option("--rebuild", is_flag=True, help="First make every view again from the records.")
@json_option
@click.pass_context
def doctor_command(ctx: click.Context, *, rebuild: bool, as_json: bool) -> int:
    """Look at the store and its surroundings, and say what to do.

    Tells what waits, what was set aside, what was observed twice, whether the disk has room and others can look in.
    Exit status: 0 all is well, 1 something needs you.

    \b
    Examples:
      custody doctor
      custody doctor --rebuild
    """
    report = doctor(open_workspace(ctx), rebuild=rebuild)
    return answer(report, _render_checks(report), as_json=as_json)


def _render_checks(report: DoctorReport) -> str:
    lines = [f"store: {report.store}"]
    if report.rebuilt is not None:
        lines.append(f"rebuilt the views of {report.rebuilt:,} record(s)")
    for check in report.checks:
        lines.append(f"{_MARK[check.state]}  {check.name:<12}  {check.what}")
        if check.hint:
            lines.append(f"{'':20}{check.hint}")
    lines += _agents(report)
    return "\n".join(lines)


def _agents(report: DoctorReport) -> list[str]:
    """A line for each agent that is here, was heard or left something on disk; the others are named together."""
    left_some = [agent.name for agent in report.agents if agent.backfill is not None and agent.backfill.transcripts]
    seen = [agent for agent in report.agents if agent.here or agent.last is not None or agent.name in left_some]
    lines = ["agents:"] if seen else []
    wide = max((len(agent.title) for agent in seen), default=0)
    for agent in seen:
        heard = "never heard" if agent.last is None else f"last heard {agent.last[:19]}Z"
        live = (
            "" if agent.last is None else f", live {'never' if agent.last_live is None else agent.last_live[:19] + 'Z'}"
        )
        lines.append(f"    {agent.title:<{wide}}  {_HOOKS[agent.hooks]}; {heard}{live}; {agent.sessions:,} session(s)")
        if agent.hint is not None:
            lines.append(f"{'':8}{agent.hint}")
        left = agent.backfill
        if left is not None and left.new_sessions:
            more = "" if left.looked_at == left.transcripts else f" in the newest {left.looked_at:,} files"
            lines.append(f"{'':8}'custody import {agent.name}' would add {left.new_sessions:,} session(s){more}")
        if left is not None and left.trouble is not None:
            lines.append(f"{'':8}not everything on disk could be looked at: {left.trouble}")
    if others := [agent.title for agent in report.agents if agent not in seen]:
        lines.append(f"not here: {', '.join(others)}")
    return lines
