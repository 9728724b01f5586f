"""``custody init``, ``custody uninstall`` and ``custody doctor``."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import click

from custody.core.agent_titles import get_agent_title
from custody.core.errors import InputError
from custody.core.plural import count_noun
from custody.intake.settings.agent_table import TITLES, TRANSCRIPT_TITLES
from custody.terminal.frame import current_screen, json_option, open_command_workspace, print_command_report
from custody.terminal.screen import Role, Screen, StyledText, TextLine, escape_controls, wrap_text

if TYPE_CHECKING:
    from custody.core.wire.report import (
        AgentReport,
        DoctorCheck,
        DoctorReport,
        InitReport,
        SetUpFile,
        TeamPolicyReport,
        UninstallReport,
    )
    from custody.workspace.workspace import Workspace


class _AgentChoice(click.Choice[str]):
    """The agents that can be set up; for an agent without a hook, the error says how to read its sessions."""

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the name of an agent that can be set up."""
        if value in TRANSCRIPT_TITLES:
            title = TRANSCRIPT_TITLES[value]
            raise InputError(f"{title} has no hook: transcripts only", hint=f"run 'custody import {value}'")
        return super().convert(value, param, ctx)


@click.command("init")
@click.option(
    "--agent", "agents", multiple=True, type=_AgentChoice(list(TITLES)), help="Set up this agent (repeatable)."
)
@click.option("--yes", is_flag=True, help="Set up every agent that is used in this repository, without asking.")
@click.option("--user", is_flag=True, help="Set up your user settings, for all repositories, instead of this one.")
@click.option("--team", is_flag=True, help="Write the policy of a team into custody.toml instead.")
@click.option("--mcp", is_flag=True, help="Register 'custody mcp' with the agents instead (docs/mcp.md).")
@click.option("--git-hooks/--no-git-hooks", default=True, help="Link commits to records with git's hooks.")
@click.option("--dry-run", is_flag=True, help="Show every change and write nothing.")
@json_option
@click.pass_context
def init_command(
    ctx: click.Context, /, agents: tuple[str, ...], *, yes: bool, team: bool, mcp: bool, as_json: bool, **level: bool
) -> int:
    """Set up recording for agents in this repository.

    Copies the recorder next to the store, adds an entry to the settings of each agent, and adds a few lines to git's
    hooks. Agents are those that you choose with --agent. Without it, they are those that have a folder or sessions in
    this repository, and you confirm each.

    Everything else in these files stays the same, and a backup is made. A file that git tracks is never changed: the
    agent's user settings are changed instead, or the line to add is printed. If a file cannot be read, nothing is
    written. Running it again changes nothing; 'custody uninstall' removes it.

    --mcp lists this repository's server in the settings of the agents, with absolute paths.

    --team adds to custody.toml what a team needs: gate.assurance_min, this store in [stores], and [reviewers]. It
    replaces nothing in the file, and sets up no agent.

    \b
    Examples:
      custody init
      custody init --team
      custody init --mcp --agent claude-code
      custody init --yes
      custody init --agent claude-code --agent cursor --no-git-hooks
      custody init --user --agent codex --dry-run
    """
    from custody.intake.cli.status import list_tool_commands
    from custody.intake.install.init import (
        InitRequest,
        find_installed_agents,
        find_transcript_agents,
        install_agent_hooks,
    )
    from custody.intake.install.repository_status import find_tools_to_import
    from custody.intake.install.team_policy import write_team_policy

    workspace = open_command_workspace(ctx)
    if team:
        if agents or yes or level["user"]:
            raise InputError("--team sets up no agent", hint="run 'custody init' for the agents")
        policy = write_team_policy(workspace, dry_run=level["dry_run"])
        return print_command_report(policy, "\n".join(_render_team_policy(policy)), as_json=as_json)
    requested = tuple(dict.fromkeys(agents)) or _choose_setup_agents(
        workspace, yes=yes or (level["dry_run"] and not sys.stdin.isatty()), user=level["user"]
    )
    if mcp:
        return _register_server(workspace, requested, is_user=level["user"], dry_run=level["dry_run"], as_json=as_json)
    report = install_agent_hooks(workspace, InitRequest(agents=requested, **level))
    machine = find_installed_agents(workspace, user=True)
    lines = [_render_agent_setup(report, machine, show_missing=not agents)]
    if unhooked := find_transcript_agents(workspace) if not agents else ():
        titles = ", ".join(map(get_agent_title, unhooked))
        lines.append(f"Transcripts only, no hook: {titles} (run 'custody import' to read their sessions)")
    if not as_json:
        lines += [f"hint: {command}" for command in list_tool_commands(find_tools_to_import(workspace))]
    return print_command_report(report, "\n".join(lines), as_json=as_json)


def _register_server(
    workspace: Workspace, agents: Sequence[str], *, is_user: bool, dry_run: bool, as_json: bool
) -> int:
    from custody.intake.install.agent_servers import install_agent_servers

    if is_user:
        raise InputError("--mcp and --user are mutually exclusive", hint="a server answers about one repository")
    report = install_agent_servers(workspace, agents, dry_run=dry_run)
    titles = ", ".join(TITLES[name] for name in agents) or "no agent"
    lines = [f"{'Would register' if dry_run else 'Registered'} 'custody mcp' with {titles}"]
    lines += [line for file in report.files for line in render_setup_file(file)]
    lines.append("hint: docs/mcp.md has a text for AGENTS.md that says when to ask")
    return print_command_report(report, "\n".join(lines), as_json=as_json)


def _render_team_policy(report: TeamPolicyReport) -> Iterator[str]:
    if not report.added:
        yield f"{report.file} has the policy of a team already"
    else:
        yield f"{'Would add' if report.dry_run else 'Added'} to {report.file}:"
        yield from (f"  {line}" for line in report.added)
    yield from (f"Left as it is: {line}" for line in report.kept)
    yield f"Next: review {report.file}, list your reviewers, and commit it on the base branch"


def _choose_setup_agents(workspace: Workspace, *, yes: bool, user: bool) -> tuple[str, ...]:
    """Return the agents used in this repository that the user confirms; for the user's level, the installed ones."""
    from custody.intake.install.init import find_installed_agents, find_used_agents

    used = find_installed_agents(workspace, user=True) if user else find_used_agents(workspace)
    if yes:
        return tuple(used)
    if not sys.stdin.isatty():
        raise InputError(
            f"cannot prompt without a terminal; found {', '.join(used) or 'no agents'}",
            hint="pass --agent or --yes",
        )
    return tuple(name for name in used if click.confirm(f"Record {TITLES[name]}?", default=True, err=True))


def _render_agent_setup(report: InitReport, machine: Sequence[str], *, show_missing: bool) -> str:
    """Render the changes; with ``show_missing`` also the agents that are not installed.

    ``machine`` has the agents that are installed. Of others, only a folder in this repository may have been found.
    """
    titles = ", ".join(TITLES[name] for name in report.agents)
    lines = [f"{'Would set up' if report.dry_run else 'Set up'} recording for {titles}"] if report.agents else []
    if not report.agents and not report.already:
        lines.append(f"No agent was chosen or is used in this repository; pass --agent ({', '.join(TITLES)})")
    lines += [line for file in report.files for line in render_setup_file(file)]
    lines += report.off.values()
    known = (*report.agents, *report.already)
    others = [name for name in report.found if name not in known]
    for label, names in (
        ("Already set up", report.already),
        ("Installed, but not set up", [name for name in others if name in machine]),
        ("Folder in this repository, but not set up", [name for name in others if name not in machine]),
        ("Not installed", [name for name in TITLES if show_missing and name not in (*report.found, *known)]),
    ):
        if names:
            lines.append(f"{label}: {', '.join(TITLES[name] for name in names)}")
    for name, preview in report.backfill.items():
        if preview.new_sessions:
            count = count_noun(preview.new_sessions, "session")
            lines.append(f"{TITLES[name]} has {count} on disk, not imported yet (run 'custody import {name}')")
    homes = " and ".join(f"'{home}'" for home in report.homes)
    lines.append(f"Dry run: would install the recorder in {homes}" if report.dry_run else f"Recorder in {homes}")
    return "\n".join(lines)


def render_setup_file(file: SetUpFile) -> list[str]:
    """Return one line for a file, with manual steps or the diff below it."""
    lines = [f"{file.done:<9}  {file.path}  ({file.whose}: {file.what})"]
    for more in (file.by_hand, file.diff):
        lines += [f"    {line}" for line in (more or "").splitlines()]
    return lines


@click.command("uninstall")
@click.option("--user", is_flag=True, help="Remove what 'custody init --user' added to your user settings.")
@click.option("--purge/--keep-evidence", default=False, help="Also delete all records, after a prompt.")
@click.option("--yes", is_flag=True, help="Do not prompt.")
@json_option
@click.pass_context
def uninstall_command(ctx: click.Context, *, user: bool, purge: bool, yes: bool, as_json: bool) -> int:
    """Remove what 'custody init' added to settings and hooks.

    Removes exactly what 'custody init' added: an otherwise unchanged file gets its old content back, later edits stay,
    and files that 'custody init' created are deleted. Records stay, unless you pass --purge. Running it again changes
    nothing.

    \b
    Examples:
      custody uninstall
      custody uninstall --user
      custody uninstall --purge
    """
    from custody.intake.install.init import list_purge_folders, uninstall_agent_hooks

    workspace = open_command_workspace(ctx)
    if purge and not yes:
        if not sys.stdin.isatty():
            raise InputError("cannot prompt without a terminal", hint="pass --yes to delete all records")
        for folder in list_purge_folders(workspace, user=user):
            click.echo(f"  {folder}", err=True)
        click.confirm("Delete all records in these folders? This cannot be undone.", abort=True, err=True)
    report = uninstall_agent_hooks(workspace, user=user, purge=purge)
    return print_command_report(report, _render_uninstall(report), as_json=as_json)


def _render_uninstall(report: UninstallReport) -> str:
    lines = [line for file in report.files for line in render_setup_file(file)]
    lines += [f"removed    recorder in '{home}'" for home in report.homes]
    if report.purged:
        lines.append("removed    all records")
    return "\n".join(lines or ["custody is not set up in this repository"])


CHECK_COLUMNS = 23
"""Where the text of a check begins."""
MARK_COLUMNS = 9
_MARK = {"well": "ok     ", "note": "warning", "ill": "FAILED "}
_ROLE: Mapping[str, Role] = {"well": "ok", "note": "warn", "ill": "bad"}


@click.command("doctor")
@click.option("--rebuild", is_flag=True, help="First rebuild all derived tables from the records.")
@click.option("-v", "--verbose", is_flag=True, help="List the checks that are ok too.")
@json_option
@click.pass_context
def doctor_command(ctx: click.Context, *, rebuild: bool, verbose: bool, as_json: bool) -> int:
    """Check the setup and the store, and suggest fixes.

    Checks the chains, pending and rejected events, conflicting records, hooks, free disk space and file permissions,
    and lists the agents. Failed checks come first, then warnings. Exit status: 0 no failed check, 1 at least one.

    \b
    Examples:
      custody doctor
      custody doctor --rebuild
    """
    from custody.intake.install.doctor import run_doctor_checks

    report = run_doctor_checks(open_command_workspace(ctx), rebuild=rebuild)
    return print_command_report(
        report, render_doctor_checks(report, current_screen(), verbose=verbose), as_json=as_json
    )


def render_doctor_checks(report: DoctorReport, screen: Screen, *, verbose: bool) -> Iterator[TextLine]:
    """Yield failed checks, then warnings, then the checks that are ok: in one line, or all of them."""
    if report.rebuilt is not None:
        yield f"rebuilt the tables of {count_noun(report.rebuilt, 'record')}"
    for state in ("ill", "note", *(("well",) if verbose else ())):
        for check in report.checks:
            if check.state == state:
                yield from _render_doctor_check(check, screen)
    troubled = {check.name for check in report.checks if check.state != "well"}
    passed = [check.name for check in report.checks if check.name not in troubled]
    if passed and not verbose:
        names = f"{', '.join(dict.fromkeys(passed))} (-v shows details)"
        first, *rest = _wrap_below(names, screen, indent=MARK_COLUMNS)
        yield StyledText(_MARK["well"], _ROLE["well"]), f"  {first}"
        yield from (f"{'':{MARK_COLUMNS}}{line}" for line in rest)
    if verbose:
        yield f"store: {report.store}"
    yield from _render_doctor_agents(report)


def _render_doctor_check(check: DoctorCheck, screen: Screen) -> Iterator[TextLine]:
    """Yield a check, with what it found and its hint beside its name, or below it on a narrow terminal."""
    mark = StyledText(_MARK[check.state], _ROLE[check.state])
    is_narrow = screen.is_terminal and screen.columns < 2 * CHECK_COLUMNS
    indent = 2 if is_narrow else CHECK_COLUMNS
    lines = [line for text in (check.what, check.hint) if text for line in _wrap_below(text, screen, indent=indent)]
    if is_narrow:
        yield mark, f"  {check.name}"
    else:
        yield mark, f"  {check.name:<12}  {lines.pop(0)}"
    yield from ((" " * indent, line) for line in lines)


def _wrap_below(text: str, screen: Screen, *, indent: int) -> list[str]:
    text = escape_controls(text)
    return wrap_text(text, screen.columns - indent) if screen.is_terminal else [text]


def _render_doctor_agents(report: DoctorReport) -> list[str]:
    """Return a line for each agent that is installed, has records or sessions on disk; the others share one line."""
    from custody.intake.cli.status import HOOK_STATES

    on_disk = [agent.name for agent in report.agents if agent.backfill is not None and agent.backfill.transcripts]
    present = [agent for agent in report.agents if agent.here or agent.last is not None or agent.name in on_disk]
    lines = ["agents:"] if present else []
    width = max((len(agent.title) for agent in present), default=0)
    for agent in present:
        activity = _render_agent_activity(agent)
        sessions = count_noun(agent.sessions, "session")
        lines.append(f"    {agent.title:<{width}}  {HOOK_STATES[agent.hooks]}; {activity}; {sessions}")
        if agent.hint is not None:
            lines.append(f"{'':8}{agent.hint}")
        preview = agent.backfill
        if preview is not None and preview.new_sessions:
            more = "" if preview.looked_at == preview.transcripts else f" in the newest {preview.looked_at:,} files"
            count = count_noun(preview.new_sessions, "session")
            lines.append(f"{'':8}{count} not imported{more} (run 'custody import {agent.name}')")
        if preview is not None and preview.trouble is not None:
            lines.append(f"{'':8}cannot read all sessions on disk: {preview.trouble}")
    if others := [agent.title for agent in report.agents if agent not in present]:
        lines.append(f"Not installed: {', '.join(others)}")
    return lines


def _render_agent_activity(agent: AgentReport) -> str:
    if agent.last is None:
        return "no session yet"
    if agent.hooks == "transcripts":
        return f"last session {agent.last[:10]}"
    live = "no live events yet" if agent.last_live is None else f"last live event {agent.last_live[:10]}"
    return f"last session {agent.last[:10]}; {live}"
