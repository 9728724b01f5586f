"""``custody verify``."""

import click

from custody.app.verify import verify
from custody.cli.frame import answer, json_option, the_desk
from custody.wire.reports import VerifyReport


@click.command("verify")
@json_option
@click.pass_context
def command(ctx: click.Context, *, as_json: bool) -> int:
    """Check that every kept record is as it was stored.

    Follows each chain from its beginning, hashes every stored text, compares the chains' ends with the heads
    remembered beside the database, and checks the views against their records. Whatever was changed, deleted,
    reordered or cut off is named. Exit status: 0 all is as stored, 1 something is not.

    \b
    Examples:
      custody verify
      custody verify --json | jq .findings
    """
    report = verify(the_desk(ctx))
    return answer(report, _words(report), as_json=as_json)


def _words(report: VerifyReport) -> str:
    lines = [f"{finding.code}  {finding.what}" for finding in report.findings]
    counted = f"{report.records:,} records in {len(report.chains)} chain(s), {report.bodies:,} bodies"
    if report.erased:
        counted += f", {report.erased:,} erased"
    if report.pending:
        counted += f", {report.pending:,} pending"
    if report.findings:
        lines.append(f"NOT as stored: {len(report.findings)} finding(s) in {counted}")
    elif report.records or report.pending:
        lines.append(f"all as stored: {counted}")
    else:
        lines.append("nothing has been recorded here yet")
    return "\n".join(lines)
