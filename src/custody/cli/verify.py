"""``custody verify``."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, BinaryIO

import click

from custody.core.errors import InputError
from custody.core.plural import count_noun
from custody.core.wire.report import VerifyReport
from custody.ledger.verify import verify_ledger
from custody.terminal.frame import json_option, open_command_workspace, print_command_report
from custody.workspace.workspace import Workspace

if TYPE_CHECKING:
    from custody.gate.wire.report import VerdictReport

SHA_DIGITS = 12
VERDICT_BYTES_MAX = 128 * 1024 * 1024
KEYS_BYTES_MAX = 1024 * 1024


@click.command("verify")
@click.option("--verdict", type=click.File("rb"), metavar="FILE", help="Check this gate verdict (- for stdin).")
@click.option("--description", type=click.File("rb"), metavar="FILE", help="The description that the gate checked.")
@click.option(
    "--allowed-signers",
    type=click.File("rb"),
    metavar="FILE",
    help="Require a signature of one of these signers (OpenSSH format).",
)
@click.option("--key", type=click.File("rb"), metavar="PUBFILE", help="Require a signature of this key.")
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
    """Check that no stored record was changed.

    Lists every record and text that was changed, deleted, reordered or cut off. Checks each chain, the hash of every
    stored text, the heads stored next to the database, and the tables derived from records. Exit status: 0 OK,
    1 FAILED.

    With --verdict, check a gate verdict instead: its signature, its commit, and that its level follows from its
    reasons. The gate also runs again on the same records, as of the same time, and must give the same bytes. Exit
    status: 0 valid, 1 invalid or not verifiable.

    \b
    Examples:
      custody verify
      custody verify --json | jq .findings
      custody verify --verdict verdict.json
      custody verify --verdict verdict.json --key ci.pub
    """
    workspace = open_command_workspace(ctx)
    if verdict is not None:
        return _run_verdict_verification(workspace, (verdict, description, allowed_signers, key), as_json=as_json)
    if description is not None or allowed_signers is not None or key is not None:
        raise InputError(
            "--description, --allowed-signers and --key work only with --verdict", hint="add --verdict FILE"
        )
    report = verify_ledger(workspace)
    return print_command_report(report, _render_verify_report(report), as_json=as_json)


def _render_verify_report(report: VerifyReport) -> str:
    lines = [f"{finding.code}  {finding.what}" for finding in (*report.findings, *report.warnings)]
    records = count_noun(report.records, "record")
    exceptions = (
        (report.erased, "erased"),
        (report.withheld, "shared without texts"),
        (report.pending, "pending"),
    )
    rest = "".join(f", {count:,} {what}" for count, what in exceptions if count)
    if report.findings:
        lines.append(f"FAILED: {count_noun(len(report.findings), 'problem')} in {records}{rest}")
    elif report.records or report.pending:
        lines.append(f"OK: {records} verified{rest}")
    else:
        lines.append("nothing has been recorded here yet")
    if report.warnings:
        lines.append(f"{count_noun(len(report.warnings), 'warning')}: run 'custody doctor' for what to do")
    return "\n".join(lines)


def _run_verdict_verification(
    workspace: Workspace,
    files: tuple[BinaryIO, BinaryIO | None, BinaryIO | None, BinaryIO | None],
    *,
    as_json: bool,
) -> int:
    from custody.gate.app.verify_verdict import VerdictCheck, verify_verdict  # it loads the whole gate

    verdict, description, allowed, key = files
    check = VerdictCheck(
        verdict=_read_option_file(verdict, VERDICT_BYTES_MAX),
        description=None if description is None else _read_option_file(description, VERDICT_BYTES_MAX),
        allowed=None if allowed is None else _read_option_file(allowed, KEYS_BYTES_MAX),
        key=None if key is None else _read_option_file(key, KEYS_BYTES_MAX),
    )
    try:
        report = verify_verdict(workspace, check)
    except InputError as error:
        raise InputError(f"'{verdict.name}': {error.message}", hint=error.hint) from error
    return print_command_report(report, "\n".join(_render_verdict_check(report)), as_json=as_json)


def _read_option_file(file: BinaryIO, bytes_max: int) -> bytes:
    data = file.read(bytes_max + 1)
    if len(data) > bytes_max:
        raise InputError(f"'{file.name}' is over {bytes_max:,} bytes")
    return data


def _render_verdict_check(report: "VerdictReport") -> Iterator[str]:
    yield from (f"{finding.code}  {finding.what}" for finding in report.findings)
    signature = report.signature
    signed = {
        "none": "not signed",
        "named": f"signed by {signature.signer} ({signature.keyid})",
        "unnamed": f"signed by the unknown key {signature.keyid}",
        "wrong": "INVALID signature",
    }[signature.state]
    if report.home is not None:
        yield f"verified as in the store of chain {report.home}; all its records were imported here"
    if report.unseen:
        yield f"{count_noun(report.unseen, 'older record')} here, not used by the verdict"
    about = f"{report.level} for {report.head[:SHA_DIGITS]} as of {report.as_of}, {signed}"
    yield f"FAILED: the verdict is not valid: {about}" if report.findings else f"OK: the verdict is valid: {about}"
