"""``custody doctor``."""

import click

from custody.app.doctor import doctor
from custody.cli.frame import answer, json_option, the_desk
from custody.wire.reports import DoctorReport

_MARK = {"well": "ok  ", "note": "note", "ill": "ILL "}


@click.command("doctor")
@click.option("--rebuild", is_flag=True, help="First make every view again from the records.")
@json_option
@click.pass_context
def command(ctx: click.Context, *, rebuild: bool, as_json: bool) -> int:
    """Look at the store and its surroundings, and say what to do.

    Tells what waits, what was set aside, what was observed twice, whether the disk has room and others can look in.
    Exit status: 0 all is well, 1 something needs you.

    \b
    Examples:
      custody doctor
      custody doctor --rebuild
    """
    report = doctor(the_desk(ctx), rebuild=rebuild)
    return answer(report, _words(report), as_json=as_json)


def _words(report: DoctorReport) -> str:
    lines = [f"store: {report.store}"]
    if report.rebuilt is not None:
        lines.append(f"rebuilt the views of {report.rebuilt:,} record(s)")
    for check in report.checks:
        lines.append(f"{_MARK[check.state]}  {check.name:<12}  {check.what}")
        if check.hint:
            lines.append(f"{'':20}{check.hint}")
    return "\n".join(lines)
