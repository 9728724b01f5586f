"""``custody erase``."""

import sys

import click

from custody.core.errors import InputError
from custody.core.wire.report import EraseReport
from custody.ledger.erase import erase, preview
from custody.terminal.frame import answer, json_option, open_workspace


@click.command("erase")
@click.argument("targets", nargs=-1, required=True, metavar="TARGET...")
@click.option("--reason", required=True, help="Why; kept in the record of the erasure.")
@click.option("--who", help="Who asks for it; the user of this machine if not given.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@json_option
@click.pass_context
def erase_command(
    ctx: click.Context, targets: tuple[str, ...], *, reason: str, who: str | None, yes: bool, as_json: bool
) -> int:
    """Forget what a record says, and keep the proof that it was there.

    TARGET is a record (its number in this store, STORE:NUMBER, its event id or its natural key), which erases all
    that it says, or the digest of one stored text (8 digits or more). The bytes are overwritten (PostgreSQL: given up
    for reuse); digest and chain still check, and 'custody verify' says erased. This cannot be undone. Copies that
    were exported or imported elsewhere are not reached.

    \b
    Examples:
      custody erase 17 --reason "a customer's name in a prompt"
      custody erase sha256:9f86d081 --reason "leaked key" --who ana --yes
    """
    workspace = open_workspace(ctx)
    if not yes:
        if not sys.stdin.isatty():
            raise InputError("erasing cannot be undone and nobody is here to ask", hint="add --yes")
        for sentence in preview(workspace, targets):
            click.echo(f"  {sentence}", err=True)
        click.confirm("erase for good?", abort=True, err=True)
    report = erase(workspace, targets, who=who, why=reason)
    return answer(report, _render_erasure(report), as_json=as_json)


def _render_erasure(report: EraseReport) -> str:
    return "\n".join(
        f"erased {digest} (record {record})" for digest, record in zip(report.erased, report.records, strict=True)
    )
