"""``custody import``."""

from pathlib import Path

import click

from custody.app.import_ import import_export
from custody.cli.frame import answer, json_option, the_desk
from custody.wire.reports import ImportReport


@click.command("import")
@click.argument("path", type=click.Path(path_type=Path))
@json_option
@click.pass_context
def command(ctx: click.Context, path: Path, *, as_json: bool) -> int:
    """Bring an export into this repository's store.

    PATH is a file that 'custody export' wrote. Everything in it is checked first; a chain that does not verify is
    named and nothing is imported. Chains are copied verbatim; importing twice changes nothing. Exit status: 0
    imported, 1 refused.

    \b
    Example:
      custody import evidence.jsonl
    """
    report = import_export(the_desk(ctx), path)
    return answer(report, _words(report), as_json=as_json)


def _words(report: ImportReport) -> str:
    if report.findings:
        lines = [f"{finding.code}  {finding.what}" for finding in report.findings]
        return "\n".join((*lines, f"refused '{report.path}': it does not verify, and nothing was imported"))
    lines = [
        f"chain {chain.store}: {chain.new:,} new, {chain.known:,} known"
        + (f", {chain.forked:,} FORKED" * bool(chain.forked))
        for chain in report.chains
    ]
    if report.pending:
        lines.append(f"{report.pending:,} pending event(s) taken into this store's own chain")
    return "\n".join(lines or ["the export holds no records"])
