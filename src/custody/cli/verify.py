"""``custody verify``."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, BinaryIO

import click

from custody.core.errors import InputError
from custody.core.wire.report import VerifyReport
from custody.ledger.verify import verify
from custody.terminal.frame import answer, json_option, open_workspace
from custody.workspace.workspace import Workspace

if TYPE_CHECKING:
    from custody.gate.wire.report import VerdictReport

SHA_DIGITS = 12
VERDICT_BYTES_MAX = 128 * 1024 * 1024
KEYS_BYTES_MAX = 1024 * 1024


@click.command("verify")
@click.option("--verdict", type=click.File("rb"), metavar="FILE", help="Check a verdict of the gate (- for stdin).")
@click.option(
    "--description", type=click.File("rb"), metavar="FILE", help="The description that the verdict was given with."
)
@click.option(
    "--allowed-signers",
    type=click.File("rb"),
    metavar="FILE",
    help="Only a verdict that one of these signed will do (a list as OpenSSH has it).",
)
@click.option("--key", type=click.File("rb"), metavar="PUBFILE", help="Only a verdict that this key signed will do.")
@json_option
@click.pass_context
def verify_command(
    ctx: click.Context,
    verdict: BinaryIO | None,
    description: BinaryIO | None,
    allowed_signers: BinaryIO | None,
    key: BinaryIO | None,
    *,
    as_json: bool,
) -> int:
    """Check that every kept record is as it was stored.

    Follows each chain from its beginning, hashes every stored text, compares the chains' ends with the heads
    remembered beside the database, and checks the views against their records. Whatever was changed, deleted,
    reordered or cut off is named. Exit status: 0 all is as stored, 1 something is not.

    With --verdict it checks a verdict instead: its signature, that it is about the commit that it judges, that its
    level is that of its reasons, and that judging the change again gives the same, byte for byte, on the records that
    it names and as of its moment. Exit status: 0 all of it holds, 1 something does not, or cannot be found out.

    \b
    Examples:
      custody verify
      custody verify --json | jq .findings
      custody verify --verdict verdict.json
      custody verify --verdict verdict.json --key ci.pub
    """
    workspace = open_workspace(ctx)
    if verdict is not None:
        return _verdict(workspace, (verdict, description, allowed_signers, key), as_json=as_json)
    if description is not None or allowed_signers is not None or key is not None:
        raise InputError("there is no verdict to check", hint="give it with --verdict FILE")
    report = verify(workspace)
    return answer(report, _render_verification(report), as_json=as_json)


def _render_verification(report: VerifyReport) -> str:
    lines = [f"{finding.code}  {finding.what}" for finding in report.findings]
    counted = f"{report.records:,} records in {len(report.chains)} chain(s), {report.bodies:,} bodies"
    if report.erased:
        counted += f", {report.erased:,} erased"
    if report.withheld:
        counted += f", {report.withheld:,} withheld by the stores that shared them"
    if report.pending:
        counted += f", {report.pending:,} pending"
    if report.findings:
        lines.append(f"NOT as stored: {len(report.findings)} finding(s) in {counted}")
    elif report.records or report.pending:
        lines.append(f"all as stored: {counted}")
    else:
        lines.append("nothing has been recorded here yet")
    return "\n".join(lines)


def _verdict(
    workspace: Workspace,
    files: tuple[BinaryIO, BinaryIO | None, BinaryIO | None, BinaryIO | None],
    *,
    as_json: bool,
) -> int:
    from custody.gate.app.verify_verdict import VerdictCheck, verify_verdict  # it loads the whole gate

    verdict, description, allowed, key = files
    relied = VerdictCheck(
        verdict=_read(verdict, VERDICT_BYTES_MAX),
        description=None if description is None else _read(description, VERDICT_BYTES_MAX),
        allowed=None if allowed is None else _read(allowed, KEYS_BYTES_MAX),
        key=None if key is None else _read(key, KEYS_BYTES_MAX),
    )
    try:
        report = verify_verdict(workspace, relied)
    except InputError as error:
        raise InputError(f"'{verdict.name}': {error.message}", hint=error.hint) from error
    return answer(report, "\n".join(_render_verdict_check(report)), as_json=as_json)


def _read(file: BinaryIO, bytes_max: int) -> bytes:
    data = file.read(bytes_max + 1)
    if len(data) > bytes_max:
        raise InputError(f"'{file.name}' is over the limit of {bytes_max:,} bytes")
    return data


def _render_verdict_check(report: "VerdictReport") -> Iterator[str]:
    yield from (f"{finding.code}  {finding.what}" for finding in report.findings)
    signature = report.signature
    signed = {
        "none": "not signed",
        "named": f"signed by {signature.signer} ({signature.keyid})",
        "unnamed": f"signed by {signature.keyid}, a key that nobody named",
        "wrong": "WRONGLY signed",
    }[signature.state]
    if report.home is not None:
        yield f"it comes out so where chain {report.home} is at home; here all of its records were imported"
    if report.unseen:
        yield f"{report.unseen:,} record(s) here claim no later moment and are none of those that it rests on"
    about = f"{report.level} for {report.head[:SHA_DIGITS]} as of {report.as_of}, {signed}"
    yield f"the verdict does NOT hold: {about}" if report.findings else f"the verdict holds: {about}"
