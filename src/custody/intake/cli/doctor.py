"""``custody doctor``."""

import click

from custody.core.wire.report import DoctorReport
from custody.intake.install.doctor import doctor
from custody.terminal.frame import answer, json_option, open_workspace

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
