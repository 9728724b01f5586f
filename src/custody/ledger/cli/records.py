"""``custody records``."""

import click

from custody.core.wire.report import RecordsReport, RecordSummary
from custody.ledger.records import records
from custody.terminal.frame import answer, json_option, open_workspace

WIDTH_OF_NUMBER = 7


@click.command("records")
@click.option("-n", "limit", type=click.IntRange(1, 100_000), default=20, show_default=True, help="How many.")
@click.option("--kind", help="Only records of this kind: edit, call, prompt, link, decision …")
@json_option
@click.pass_context
def records_command(ctx: click.Context, *, limit: int, kind: str | None, as_json: bool) -> int:
    """List what was recorded, newest first.

    Each line has the record's number in this store (or its full name when it came from another), the time it claims,
    its kind and its key. 'custody show NUMBER' shows what it says.

    \b
    Examples:
      custody records
      custody records -n 100 --kind edit
    """
    report = records(open_workspace(ctx), limit=limit, kind=kind)
    return answer(report, _render_records(report), as_json=as_json)


def _render_records(report: RecordsReport) -> str:
    if not report.records:
        return "nothing has been recorded here yet" if not report.total else "no such record"
    return "\n".join(line_of(record) for record in report.records)


def line_of(record: RecordSummary) -> str:
    """A record on one line."""
    name = record.record if record.number is None else f"{record.number:>{WIDTH_OF_NUMBER}}"
    return f"{name}  {record.at:<24}  {record.kind:<11}  {record.key}"
