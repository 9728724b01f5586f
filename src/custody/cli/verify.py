"""``custody verify``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import click

from custody.core.assurance import Assurance
from custody.core.errors import InputError
from custody.core.patterns import lazy_pattern
from custody.core.plural import count_noun
from custody.terminal.frame import json_option, open_command_workspace, print_command_report

if TYPE_CHECKING:
    from custody.core.wire.report import VerifyReport
    from custody.gate.wire.report import VerdictReport
    from custody.workspace.workspace import Workspace

LEVELS = ("approve", "review", "block")
SHA_DIGITS = 12
VERDICT_BYTES_MAX = 128 * 1024 * 1024
KEYS_BYTES_MAX = 1024 * 1024
SPAN_BYTES_MAX = 32 * 1024 * 1024
EVERYTHING_CHECKED = "everything was checked again: no earlier check fits the store's files"
_FULL_SHA = lazy_pattern(r"[0-9a-f]{40}|[0-9a-f]{64}")


@click.command("verify")
@click.option("--new", is_flag=True, help="Check only what is new since the last check.")
@click.option("--span", type=click.File("rb"), metavar="FILE", help="Check a span that 'custody show --json' wrote.")
@click.option("--verdict", type=click.File("rb"), metavar="FILE", help="Check this gate verdict (- for stdin).")
@click.option("--description", type=click.File("rb"), metavar="FILE", help="The description that the gate checked.")
@click.option(
    "--allowed-signers",
    type=click.File("rb"),
    metavar="FILE",
    help="Require a signature of one of these signers (OpenSSH format).",
)
@click.option("--key", type=click.File("rb"), metavar="PUBFILE", help="Require a signature of this key.")
@click.option("--head", metavar="SHA", help="Require that the verdict is about this commit.")
@click.option("--base", metavar="BRANCH", help="Require that the verdict is about the change since this branch.")
@click.option("--min-level", type=click.Choice(LEVELS), help="Require this level or a milder one.")
@click.option(
    "--min-assurance", type=click.Choice([each.value for each in Assurance]), help="Require this assurance or more."
)
@click.option("--signature-only", is_flag=True, help="Check the signature without judging again.")
@click.option(
    "--bundle",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Judge again with the records of this bundle.",
)
@json_option
@click.pass_context
def verify_command(
    ctx: click.Context,
    /,
    *,
    new: bool,
    span: BinaryIO | None,
    verdict: BinaryIO | None,
    as_json: bool,
    **options: Any,
) -> int:
    """Check that no stored record was changed.

    Lists every record and text that was changed, deleted, reordered or cut off. Checks each chain, the hash of every
    stored text, the heads stored next to the database, and the tables derived from records. Exit status: 0 OK,
    1 FAILED.

    With --new, check only the records after those that an earlier check covers. If another program has written to the
    store since, everything is checked again.

    With --span, check that a record of this store holds a span, as 'custody show' wrote both with a proof. Neither the
    other spans of the record nor the bytes of the record are needed.

    With --verdict, check a gate verdict instead: its signature, its commit, and that its level follows from its
    reasons. The gate also runs again on the same records, as of the same time, and must give the same bytes. In a
    clone without records, --bundle brings them: 'custody export --verdict' writes it. Exit status: 0 valid, 1 invalid
    or not verifiable.

    \b
    Examples:
      custody verify
      custody verify --new
      custody verify --verdict verdict.json --key ci.pub
      custody verify --verdict verdict.json --head HEAD --min-level approve
      custody verify --verdict verdict.json --bundle verdict.bundle
      custody verify --verdict verdict.json --key ci.pub --signature-only
    """
    from custody.ledger.verify import check_ledger_integrity, verify_ledger

    workspace = open_command_workspace(ctx)
    if sum((new, span is not None, verdict is not None)) > 1:
        raise InputError("--new, --span and --verdict are mutually exclusive", hint="pass one of them")
    if verdict is not None:
        return _run_verdict_verification(workspace, verdict, options, as_json=as_json)
    if any(value is not None and value is not False for value in options.values()):
        raise InputError("only --new, --span and --json work without --verdict", hint="add --verdict FILE")
    if span is not None:
        return _run_span_verification(workspace, span, as_json=as_json)
    report = check_ledger_integrity(workspace) if new else verify_ledger(workspace)
    again = [EVERYTHING_CHECKED] if new and report.records and report.earlier is None else []
    return print_command_report(report, "\n".join([*again, _render_verify_report(report)]), as_json=as_json)


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
    elif report.earlier is not None:
        new = count_noun(report.records - report.earlier, "new record")
        lines.append(f"OK: {new} verified, {report.earlier:,} verified earlier{rest}")
    elif report.records or report.pending:
        lines.append(f"OK: {records} verified{rest}")
    else:
        lines.append("nothing has been recorded here yet")
    if report.warnings:
        lines.append(f"{count_noun(len(report.warnings), 'warning')}: run 'custody doctor' for what to do")
    return "\n".join(lines)


def _run_span_verification(workspace: Workspace, span: BinaryIO, *, as_json: bool) -> int:
    from custody.ledger.span_proof import verify_span_proofs

    report = verify_span_proofs(workspace, _read_option_file(span, SPAN_BYTES_MAX))
    lines = [f"{finding.code}  {finding.what}" for finding in report.findings]
    count = count_noun(report.records, "span")
    lines.append(f"FAILED: {count} checked" if lines else f"OK: {count} verified")
    return print_command_report(report, "\n".join(lines), as_json=as_json)


def _run_verdict_verification(
    workspace: Workspace, verdict: BinaryIO, options: Mapping[str, Any], *, as_json: bool
) -> int:
    from custody.gate.app.verify_verdict import VerdictCheck, verify_verdict  # it loads the whole gate

    if options["bundle"] is not None and options["signature_only"]:
        raise InputError("--bundle and --signature-only are mutually exclusive", hint="pass one of them")
    check = VerdictCheck(
        verdict=_read_option_file(verdict, VERDICT_BYTES_MAX),
        description=_read_optional_file(options["description"], VERDICT_BYTES_MAX),
        allowed=_read_optional_file(options["allowed_signers"], KEYS_BYTES_MAX),
        key=_read_optional_file(options["key"], KEYS_BYTES_MAX),
        head=None if options["head"] is None else _resolve_expected_head(workspace, options["head"]),
        base=options["base"],
        level=options["min_level"],
        assurance=None if options["min_assurance"] is None else Assurance(options["min_assurance"]),
        signature_only=options["signature_only"],
    )
    with _open_verdict_evidence(workspace, options["bundle"]) as evidence:
        try:
            report = verify_verdict(evidence, check)
        except InputError as error:
            hint = error.hint or "get the verdict again, as 'custody gate --json' or '--format statement' wrote it"
            raise InputError(f"'{verdict.name}': {error.message}", hint=hint) from error
    return print_command_report(report, "\n".join(_render_verdict_check(report)), as_json=as_json)


@contextmanager
def _open_verdict_evidence(workspace: Workspace, bundle: Path | None) -> Iterator[Workspace]:
    if bundle is None:
        yield workspace
        return
    from custody.share.bundle import open_bundle_workspace  # most verdicts are checked where they were made

    with open_bundle_workspace(workspace, bundle) as bundled:
        yield bundled


def _resolve_expected_head(workspace: Workspace, name: str) -> str:
    """Return the full id of a commit; a full id need not be in the repository."""
    return name.lower() if _FULL_SHA.fullmatch(name.lower()) else workspace.repository.resolve(name)


def _read_optional_file(file: BinaryIO | None, bytes_max: int) -> bytes | None:
    return None if file is None else _read_option_file(file, bytes_max)


def _read_option_file(file: BinaryIO, bytes_max: int) -> bytes:
    data = file.read(bytes_max + 1)
    if len(data) > bytes_max:
        raise InputError(f"'{file.name}' is over {bytes_max:,} bytes")
    return data


def _render_verdict_check(report: VerdictReport) -> Iterator[str]:
    from custody.terminal.dates import format_time

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
    judged = ", not judged again" if report.again == "skipped" else ""
    about = f"{report.level} for {report.head[:SHA_DIGITS]} as of {format_time(report.as_of)}, {signed}{judged}"
    yield f"FAILED: the verdict is not valid: {about}" if report.findings else f"OK: the verdict is valid: {about}"
