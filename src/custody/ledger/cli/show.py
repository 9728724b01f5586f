"""``custody show``."""

import click

from custody.core.wire.canonical import indented, shortened
from custody.core.wire.report import ShowReport
from custody.ledger.cli.records import line_of
from custody.ledger.records import show
from custody.terminal.frame import answer, json_option, open_workspace


@click.command("show")
@click.argument("record")
@json_option
@click.pass_context
def show_command(ctx: click.Context, record: str, *, as_json: bool) -> int:
    """Show what a record says.

    RECORD is its number in this store, STORE:NUMBER, its event id, or its natural key (which may name several
    observations of the same thing; all are shown).

    \b
    Examples:
      custody show 17
      custody show 17 --json | jq .payloads[0]
    """
    report = show(open_workspace(ctx), record)
    return answer(report, _render_record(report), as_json=as_json)


def _render_record(report: ShowReport) -> str:
    lines = []
    for record, payload in zip(report.records, report.payloads, strict=True):
        says = "erased" if payload is None else indented(shortened(payload))
        lines += [line_of(record), f"  event  {record.event}", f"  digest {record.digest}", says]
    return "\n".join(lines)
