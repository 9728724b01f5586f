"""Undo a session, a call or a prompt: the patch, the report, and on request the change of the work tree."""

import base64
from collections.abc import Callable, Sequence
from types import MappingProxyType

from custody.core.plural import count_noun
from custody.undo.app.apply import apply_undo, check_can_apply, check_no_interruption
from custody.undo.app.plan import FileOutcome, SparedLines, UndoPlan, UndoRequest, plan_undo
from custody.undo.patch import render_patch
from custody.undo.reverse import SparedReason
from custody.undo.wire import SparedBlock, UndoneFile, UndoReport
from custody.workspace.workspace import Workspace

WHY = MappingProxyType(
    {
        SparedReason.CHANGED: "changed since",
        SparedReason.OTHERS: "not shown to be of this work",
        SparedReason.REPLACED: "the lines that replaced the former text are gone",
        SparedReason.NO_TEXT: "the former text is neither in git nor in a live recording",
        SparedReason.MOVED: "moved to another place",
        SparedReason.MIXED: "partly rewritten since",
        SparedReason.CONTESTED: "a person says that they wrote it",
        SparedReason.WEAK: "weak evidence",
        SparedReason.IMPORTED: "imported evidence only",
        SparedReason.FILE: "the file cannot be changed",
    }
)
"""Each reason as a sentence."""


def undo_work(
    workspace: Workspace, request: UndoRequest, show: Callable[[UndoReport, bytes], None] | None = None
) -> tuple[UndoReport, bytes]:
    """Return what undoing the named work changes, with its patch; with ``show``, show both and change the work tree."""
    check_no_interruption(workspace.repository)
    plan = plan_undo(workspace, request)
    patch = render_patch([outcome.patch for outcome in plan.outcomes])
    report = _report_plan(plan, request, patch, applied=False)
    if show is None:
        return report, patch
    check_can_apply(plan, workspace.repository)
    show(report, patch)
    apply_undo(plan, workspace.repository)
    return _report_plan(plan, request, patch, applied=bool(plan.outcomes)), patch


def _report_plan(plan: UndoPlan, request: UndoRequest, patch: bytes, *, applied: bool) -> UndoReport:
    selection = plan.work.selection
    text = _decode_patch(patch)
    return UndoReport(
        name=plan.work.id,
        kind=plan.work.kind,
        agent=selection.agent,
        session=selection.session,
        calls=None if selection.calls is None else len(selection.calls),
        base=plan.base,
        files=[_report_file(outcome) for outcome in plan.outcomes],
        removed_lines=sum(outcome.patch.removed for outcome in plan.outcomes),
        restored_lines=sum(outcome.patch.added for outcome in plan.outcomes),
        spared=[_report_spared(spared) for spared in plan.spared],
        patch=text,
        patch_base64=None if text is not None else base64.b64encode(patch).decode("ascii"),
        imported=request.imported,
        applied=applied,
        notes=list(plan.notes),
    )


def _decode_patch(patch: bytes) -> str | None:
    try:
        return patch.decode("utf-8")
    except UnicodeDecodeError:
        return None


def _report_file(outcome: FileOutcome) -> UndoneFile:
    old, new = outcome.patch.old, outcome.patch.new
    side = new or old
    assert side is not None, "a patch has at least one side"
    renamed = old is not None and new is not None and old.path != new.path
    return UndoneFile(
        path=side.path.display,
        change="renamed" if renamed else "restored" if old is None else "deleted" if new is None else "modified",
        old_path=old.path.display if renamed and old is not None else None,
        removed=outcome.patch.removed,
        restored=outcome.patch.added,
        exact=outcome.exact,
    )


def _report_spared(spared: SparedLines) -> SparedBlock:
    has_lines = len(spared.lines) > 0
    return SparedBlock(
        path=spared.path.display,
        start_line=spared.lines.start if has_lines else None,
        end_line=spared.lines.stop - 1 if has_lines else None,
        below=None if has_lines else spared.below,
        former=spared.former,
        reason=spared.reason.value,
        why=WHY[spared.reason] if spared.detail is None else spared.detail,
        by=spared.by,
    )


def summarize_undo(report: UndoReport) -> str:
    """Return one sentence about what the patch changes."""
    if not report.files:
        return f"nothing to undo: no line of this {report.kind} can be removed or restored"
    verb = "undone" if report.applied else "would undo"
    return (
        f"{verb}: {count_noun(report.removed_lines, 'line')} removed and {report.restored_lines:,} restored"
        f" in {count_noun(len(report.files), 'file')}"
    )


def count_spared_lines(spared: Sequence[SparedBlock]) -> int:
    """Return how many lines of the work tree were left as they are."""
    return sum(
        block.end_line - block.start_line + 1
        for block in spared
        if block.start_line is not None and block.end_line is not None
    )
