"""The verbs of the gate.

May touch the terminal. Asks use cases and renders their reports.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import click
import msgspec

from custody import __version__
from custody.core.errors import InputError
from custody.core.wire.report import encode_report
from custody.gate.app.gate import GateRequest, first_place, formed, gate
from custody.gate.wire.report import GateReport
from custody.terminal.frame import answer, json_option, open_workspace
from custody.trust.cli.trust import render_agent_approval
from custody.workspace.machine import open_atomic
from custody.workspace.workspace import Workspace

SHA_DIGITS = 12
DESCRIPTION_BYTES_MAX = 64 * 1024 * 1024
"""More is not read; far less is already too much to be judged."""


@click.command("gate")
@click.argument("change", metavar="[BASE..HEAD]", required=False)
@click.option("--worktree", is_flag=True, help="Judge what the work tree has over HEAD.")
@click.option(
    "--description", type=click.File("rb"), metavar="FILE", help="What its author says of the change (- for stdin)."
)
@click.option(
    "--format",
    "form",
    type=click.Choice(["markdown", "annotations", "sarif", "check-run", "statement"]),
    help="For a pull request, a build's log, code hosts and editors, GitHub's API, or as an in-toto statement.",
)
@click.option(
    "--sign-key",
    type=click.Path(path_type=Path),
    metavar="PATH",
    help="Sign the statement with this private SSH key (a DSSE envelope).",
)
@click.option("--out", type=click.Path(path_type=Path), metavar="FILE", help="Write the answer there instead.")
@json_option
@click.pass_context
def gate_command(  # noqa: PLR0913 - one for each option
    ctx: click.Context,
    change: str | None,
    description: BinaryIO | None,
    form: str | None,
    sign_key: Path | None,
    out: Path | None,
    *,
    worktree: bool,
    as_json: bool,
) -> int:
    """Judge a change by what is known of its lines, and by what it says.

    The answer is approve, review or block, with a line for each reason: its code, what was seen, and what to do; then a
    line for each agent that wrote any of it: its score, its tier, and what is left of its budget. What counts are the
    lines that HEAD has over the point where it left BASE; BASE alone stands for BASE..HEAD. The rules are those of
    BASE, whatever the change sets. The exit status is 1 for block and 0 for the others.

    \b
    Examples:
      custody gate main..HEAD
      custody gate origin/main
      custody gate --worktree
      custody gate v1.2..v1.3 --json
      custody gate origin/main --description pull-request.md
      custody gate origin/main --format markdown > comment.md
      custody gate origin/main --format statement --sign-key ~/.ssh/ci --out verdict.json
    """
    if worktree == (change is not None):
        raise InputError("name a change or --worktree, and not both", hint="such as 'custody gate main..HEAD'")
    if form is not None and as_json:
        raise InputError("--format and --json are two shapes of one answer", hint="give one of them")
    if sign_key is not None and form != "statement":
        raise InputError("only a statement is signed", hint="give --format statement with --sign-key")
    if out is not None and form is None and not as_json:
        raise InputError("--out writes --json or a --format", hint="say which of them")
    said = None if description is None else description.read(DESCRIPTION_BYTES_MAX)
    workspace, request = open_workspace(ctx), GateRequest(change=change, description=said)
    report = gate(workspace, request)
    if form is None and out is None:
        return answer(report, "\n".join(_render_verdict(report)), as_json=as_json)
    data = encode_report(report) + b"\n" if form is None else _formed(report, form, sign_key, workspace, request)
    if out is None:
        click.echo(data, nl=False)
        return 1 if report.outcome == "found" else 0
    with open_atomic(out) as file:
        file.write(data)
    return answer(report, "\n".join(_render_verdict(report)), as_json=False)


def _formed(report: GateReport, form: str, key: Path | None, workspace: Workspace, request: GateRequest) -> bytes:
    if form != "statement":
        return formed(report, form, __version__, first_place(workspace, request) if form == "sarif" else None)
    from custody.gate.app.verify_verdict import stated  # it starts programs, which most verdicts need not

    return stated(report, key)


def _render_verdict(report: GateReport) -> Iterator[str]:
    yield report.level
    for reason in report.reasons:
        yield f"  {reason.code} ({reason.level}): {reason.sentence}; {reason.remedy}"
    yield from (render_agent_approval(agent) for agent in report.trust)
    if report.skipped:
        yield f"  not looked at: {'; '.join(f'{check.name}, since {check.why}' for check in report.skipped)}"
    head = "the work tree" if report.worktree else report.head[:SHA_DIGITS]
    yield f"{report.fork[:SHA_DIGITS]}..{head}: {_added(report)}"


def _added(report: GateReport) -> str:
    """The added lines by whose they are."""
    counts: dict[str, int] = msgspec.to_builtins(report.added)
    total = sum(counts.values())
    unread = f"; {len(report.unread)} file(s) not read" if report.unread else ""
    if not total:
        return f"no lines added{unread}"
    return f"{total} added line(s): {', '.join(f'{n} {whose}' for whose, n in counts.items() if n)}{unread}"
