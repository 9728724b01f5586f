"""The command ``undo``: arguments in, a patch out; the summary goes to stderr."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from custody.core.errors import InputError
from custody.core.plural import count_noun
from custody.terminal.frame import (
    current_screen,
    json_option,
    open_command_workspace,
    print_answer,
    print_command_report,
    print_terminal_notice,
    stop_progress,
)

if TYPE_CHECKING:
    from custody.undo.wire import SparedBlock, UndoReport
    from custody.workspace.workspace import Workspace

BLOCKS_SHOWN_MAX = 20


@click.command("undo")
@click.argument("name", required=False, metavar="SESSION|CALL|PROMPT")
@click.option("--path", metavar="PATH", help="Undo only changes of this file or folder.")
@click.option("--agent", metavar="NAME", help="Search only work of this agent.")
@click.option("--imported", is_flag=True, help="Also undo lines with imported evidence only.")
@click.option("--apply", "is_applied", is_flag=True, help="Change the work tree, which must be clean.")
@click.option("--abort", "is_aborted", is_flag=True, help="Restore the work tree after an interrupted --apply.")
@json_option
@click.pass_context
def undo_command(  # noqa: PLR0913 - one for each option
    ctx: click.Context,
    name: str | None,
    *,
    path: str | None,
    agent: str | None,
    imported: bool,
    is_applied: bool,
    is_aborted: bool,
    as_json: bool,
) -> int:
    """Print a patch that undoes a session, a call or a prompt.

    The patch removes the lines that this work wrote and restores what it replaced or deleted, committed or not. Lines
    that others changed since stay, and are listed. Nothing changes without --apply, and nothing is ever committed.

    \b
    Examples:
      custody undo 7d5a1c2e
      custody undo 7d5a1c2e --path src | git apply
      custody undo 7d5a1c2e --apply
    """
    from custody.undo.app.plan import UndoRequest
    from custody.undo.app.undo import undo_work

    workspace = open_command_workspace(ctx)
    if is_aborted:
        return _abort(workspace, name, as_json=as_json)
    if name is None:
        raise InputError("missing argument SESSION, CALL or PROMPT", hint="'custody log' lists the sessions")
    request = UndoRequest(name, agent, path, imported)

    def show(_report: UndoReport, patch: bytes) -> None:
        if not as_json:
            _print_patch(ctx, patch)

    report, patch = undo_work(workspace, request, show if is_applied else None)
    if as_json:
        return print_command_report(report, "", as_json=True)
    if not is_applied:
        _print_patch(ctx, patch)
    for line in render_undo_summary(report):
        print_terminal_notice(line)
    return 0


def _abort(workspace: Workspace, name: str | None, *, as_json: bool) -> int:
    from custody.undo.app.apply import abort_undo

    if name is not None or as_json:
        raise InputError("--abort takes no other argument", hint="run 'custody undo --abort'")
    aborted = abort_undo(workspace.repository)
    print_terminal_notice(f"restored {count_noun(len(aborted.restored), 'file')}")
    for path in aborted.changed:
        print_terminal_notice(
            f"warning: '{path.display}' changed since and stays; its former text is in {aborted.folder}"
        )
    return 0


def _print_patch(ctx: click.Context, patch: bytes) -> None:
    """Print a patch: its bytes for 'git apply', or with escaped control characters on a terminal."""
    stop_progress(ctx)
    if current_screen().is_terminal:
        print_answer(patch.decode("utf-8", "backslashreplace").removesuffix("\n"), tabs=True)
        return
    click.echo(patch, nl=False)


def render_undo_summary(report: UndoReport) -> Iterator[str]:
    """Yield what the patch changes, what it leaves and why, and what to do next."""
    from custody.undo.app.undo import count_spared_lines, summarize_undo

    yield summarize_undo(report)
    if report.spared:
        yield f"left as they are: {count_noun(count_spared_lines(report.spared), 'line')}"
    for block in report.spared[:BLOCKS_SHOWN_MAX]:
        yield f"  {describe_spared_block(block)}"
    if len(report.spared) > BLOCKS_SHOWN_MAX:
        yield f"  and {count_noun(len(report.spared) - BLOCKS_SHOWN_MAX, 'more block')} (--json lists all)"
    yield from (f"note: {note}" for note in report.notes)
    if report.imported:
        yield "note: lines with imported evidence are included: nothing recorded shows that this work wrote them"
    elif any(block.reason == "imported" for block in report.spared):
        yield "hint: --imported includes lines with imported evidence only"
    if report.files and not report.applied:
        yield "hint: --apply changes the work tree; review the patch first"


def describe_spared_block(block: SparedBlock) -> str:
    """Return a block that was left as it is, on one line.

    >>> from custody.undo.wire import SparedBlock
    >>> about = {"path": "a.py", "reason": "changed", "why": "changed since"}
    >>> describe_spared_block(SparedBlock(start_line=3, end_line=5, by="Ana in 1234567", **about))
    'a.py:3-5  changed since (Ana in 1234567)'
    >>> describe_spared_block(SparedBlock(start_line=None, end_line=None, below=7, former=2, **about))
    'a.py, below line 7: 2 former lines not restored  changed since'
    """
    by = "" if block.by is None else f" ({block.by})"
    if block.start_line is not None:
        lines = str(block.start_line) if block.start_line == block.end_line else f"{block.start_line}-{block.end_line}"
        return f"{block.path}:{lines}  {block.why}{by}"
    if block.former:
        former = count_noun(block.former, "former line")
        return f"{block.path}, below line {block.below}: {former} not restored  {block.why}{by}"
    return f"{block.path}  {block.why}{by}"
