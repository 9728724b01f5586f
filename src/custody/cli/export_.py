"""``custody export``."""

import sys
from pathlib import Path

import click

from custody.app.export import export, export_to
from custody.app.export_traces import export_agent_trace
from custody.cli.frame import answer, json_option, the_desk
from custody.model.errors import InputError
from custody.wire.reports import ExportReport


@click.command("export")
@click.option("-o", "--output", metavar="FILE", help="Write to FILE, whole or not at all, instead of stdout.")
@click.option(
    "--agent-trace", metavar="FILE", help="Write Agent Trace 0.1.0 records to FILE instead, for other tools to read."
)
@json_option
@click.pass_context
def command(ctx: click.Context, *, output: str | None, agent_trace: str | None, as_json: bool) -> int:
    """Write everything that is kept as JSON lines.

    Chains go out verbatim: importing the file elsewhere and exporting again gives the same bytes. Erased texts stay
    erased; acknowledged events that no chain holds yet are marked pending. With --json a report on the export is
    printed, so the export itself needs --output. Agent Trace records say which lines each call wrote, without any text.

    \b
    Examples:
      custody export -o evidence.jsonl
      custody export --agent-trace traces.jsonl
      custody export | zstd > evidence.jsonl.zst
    """
    desk = the_desk(ctx)
    if agent_trace is not None:
        if output is not None:
            raise InputError("--agent-trace and --output are two exports", hint="give one of them")
        traces = export_agent_trace(desk, Path(agent_trace)).report
        left = f"; {traces.left_out:,} edit(s) left out, of which no lines are known" if traces.left_out else ""
        return answer(traces, f"wrote {traces.records:,} trace(s) to '{traces.path}'{left}", as_json=as_json)
    if output is None or output == "-":
        if as_json:
            raise InputError("--json prints a report, so the export needs a file", hint="add --output FILE")
        export(desk, sys.stdout.buffer, "-")
        return 0
    report = export_to(desk, Path(output))
    return answer(report, _words(report), as_json=as_json)


def _words(report: ExportReport) -> str:
    extra = "".join(
        f", {count:,} {name}"
        for count, name in ((report.erased, "erased"), (report.forks, "forked"), (report.pending, "pending"))
        if count
    )
    what = f"{report.records:,} records of {report.chains} chain(s){extra}"
    return f"wrote {what} to '{report.path}' ({report.bytes:,} bytes)"
