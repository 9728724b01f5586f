"""The review of a change: verdict, reading order, hunks with their evidence; and two changes side by side."""

from typing import Any

from custody.core.errors import InputError
from custody.dupes.app.indexed_changes import preview_change_duplicates
from custody.dupes.app.overlap import PairPage, compare_indexed_changes, compare_stored_evidence
from custody.dupes.app.select import UnknownChange
from custody.dupes.app.show import dupes_show
from custody.review.wire import ReviewReport
from custody.server.app.questions import NameNotFound, map_errors_to_404, require_project_repository
from custody.server.page_data.cache import make_page_cache_key
from custody.server.page_data.changes import find_change_for_page, judge_change_for_page, read_change_page
from custody.server.page_data.diff import ChangeDiff, DiffReader, read_change_diff
from custody.server.page_data.late import LateAnswer
from custody.server.page_data.people import find_own_reads
from custody.server.page_data.review import review_change_for_page
from custody.server.pages import review
from custody.server.pages.page import Page, PageParams, PageView, attempt_page_part
from custody.server.pages.review import HunkBox, make_review_page, render_box_lines
from custody.workspace.workspace import Workspace, has_workspace_repository

STYLES = ("diff.css", "review.css")
WHOLE = ("no", "yes")
NAME = "the ref, pull request number, range, or first digits of the head commit"
HUNKS_MAX = 1_000_000
TAKES = {
    "name": NAME,
    "by": "risk or file: the order of the hunks",
    "from": "the position of the first hunk",
    "hunk": "the patch identity of a hunk to show first",
}


def view_change(workspace: Workspace, params: PageParams) -> PageView:
    """Show a change: its diff at once, and its verdict and evidence as soon as they are computed."""
    name = params.require_text("name")
    if not has_workspace_repository(workspace):
        return _view_stored_change(workspace, name, None)
    try:
        diff = _read_diff(workspace, params, name)
    except NameNotFound:
        raise
    except InputError as error:
        return _view_stored_change(workspace, name, error.message)
    fields = _make_review_fields(workspace, params, diff, _read_review(workspace, params, diff))
    return PageView(title=diff.title, template="change.html", fields=fields, scripts=("review.js",), styles=STYLES)


def _view_stored_change(workspace: Workspace, name: str, problem: str | None) -> PageView:
    """Show what the index has of a change that git cannot read here."""
    detail = read_change_page(workspace, name)
    title = detail.change.title or detail.change.head
    return PageView(title=title, template="change_stored.html", fields={"detail": detail, "problem": problem})


def view_change_review(workspace: Workspace, params: PageParams) -> PageView:
    """Show the verdict, the reading order and the hunks with their evidence, once they are computed."""
    diff = _read_diff(workspace, params, params.require_text("name"))
    fields = _make_review_fields(workspace, params, diff, _read_review(workspace, params, diff))
    return PageView(title=diff.title, template="change_review.html", fields=fields, styles=STYLES)


def view_change_status(workspace: Workspace, params: PageParams) -> PageView:
    """Show how far the review is; when it is finished, the page loads it."""
    diff = _read_diff(workspace, params, params.require_text("name"))
    fields = {"late": _read_review(workspace, params, diff), "name": params.require_text("name")}
    return PageView(title=diff.title, template="change_status.html", fields=fields, styles=STYLES)


def _read_review(workspace: Workspace, params: PageParams, diff: ChangeDiff) -> LateAnswer[ReviewReport] | str:
    """Return the review, how far it is, or a sentence that says why there is none."""
    memory = params.memory
    return attempt_page_part(
        lambda: review_change_for_page(workspace, memory.reviews, memory.work, diff, note=params.note)
    )


def view_change_hunk(workspace: Workspace, params: PageParams) -> PageView:
    """Show one hunk that the page folds."""
    diff = _read_diff(workspace, params, params.require_text("name"))
    id_ = params.require_text("hunk")
    if id_ not in diff.hunks:
        raise NameNotFound("this hunk is not in the change", hint="reload the page: the change may have moved")
    late = _read_review(workspace, params, diff)
    report = None if isinstance(late, str) else late.answer
    found = None if report is None else next((hunk for hunk in report.hunks if hunk.id == id_), None)
    lines = render_box_lines(DiffReader(workspace), diff.hunks[id_], found, () if report is None else report.reasons)
    box = HunkBox(number=0, hunk=diff.hunks[id_], lines=lines, report=found)
    fields = {**_make_common_fields(workspace, params, diff, report), "box": box}
    return PageView(title=diff.title, template="change_hunk.html", fields=fields, styles=STYLES)


def view_change_duplicates(workspace: Workspace, params: PageParams) -> PageView:
    """Show the duplicates of an indexed change, and its cluster."""
    name = params.require_text("name")
    change = find_change_for_page(workspace, name)
    fields = {
        "name": change.head,
        "change_head": change.head,
        "duplicates": attempt_page_part(
            lambda: preview_change_duplicates(require_project_repository(workspace), change)
        ),
    }
    return PageView(title="Duplicates", template="change_duplicates.html", fields=fields)


def _read_diff(workspace: Workspace, params: PageParams, name: str) -> ChangeDiff:
    key = (*make_page_cache_key(workspace), name)
    return params.memory.diffs.get(key, None, workspace.now_ns(), lambda: read_change_diff(workspace, name))


def _make_common_fields(
    workspace: Workspace, params: PageParams, diff: ChangeDiff, report: ReviewReport | None
) -> dict[str, Any]:
    return {
        "name": params.require_text("name"),
        "diff": diff,
        "report": report,
        "review": review,
        "problem": None,
        "read": _find_own_reads(workspace, params, diff),
    }


def _find_own_reads(workspace: Workspace, params: PageParams, diff: ChangeDiff) -> frozenset[str]:
    """Return the hunks that the reader marked as read; none if that cannot be told."""
    reader = params.reader
    found = (
        frozenset[str]() if reader is None else attempt_page_part(lambda: find_own_reads(workspace, diff.hunks, reader))
    )
    return frozenset() if isinstance(found, str) else found


def _make_review_fields(
    workspace: Workspace, params: PageParams, diff: ChangeDiff, late: LateAnswer[ReviewReport] | str
) -> dict[str, Any]:
    report = None if isinstance(late, str) else late.answer
    is_by_file = params.choice("by", ("risk", "file")) == "file"
    start = params.number("from", 0, least=0, most=HUNKS_MAX)
    shown = make_review_page(workspace, diff, report, start=start, is_by_file=is_by_file, wanted=params.text("hunk"))
    return {
        **_make_common_fields(workspace, params, diff, report),
        "problem": late if isinstance(late, str) else None,
        "late": None if isinstance(late, str) else late,
        "shown": shown,
        "by": "file" if is_by_file else "risk",
    }


def view_change_verdict(workspace: Workspace, params: PageParams) -> PageView:
    """Show the verdict on an open change, or the last one while the queue computes it."""
    name, memory = params.require_text("change"), params.memory
    verdict = attempt_page_part(lambda: judge_change_for_page(workspace, memory.verdicts, memory.work, name))
    fields = {"verdict": verdict, "whole": params.choice("whole", WHOLE)}
    return PageView(title="Verdict", template="change_verdict.html", fields=fields)


def view_evidence(workspace: Workspace, params: PageParams) -> PageView:
    """Show two changes side by side: of stored evidence, or any two indexed changes."""
    pair = _read_change_pair(workspace, params)
    title = f"{pair.this.title} and {pair.other.title}"
    return PageView(title=title, template="evidence.html", fields={"pair_page": pair, "evidence": pair.evidence})


def _read_change_pair(workspace: Workspace, params: PageParams) -> PairPage:
    id_ = params.text("id")
    if id_ is not None:
        here = require_project_repository(workspace)
        with map_errors_to_404(InputError):
            report = dupes_show(here, id_)
        return compare_stored_evidence(here, report)
    if params.text("change") is None:
        raise InputError("missing parameter 'change'", hint="follow a link to this page")
    name, other = params.require_text("change"), params.require_text("other")
    with map_errors_to_404(UnknownChange):
        return compare_indexed_changes(require_project_repository(workspace), name, other)


PAGES = (
    Page(name="change", section="changes", view=view_change, takes=TAKES),
    Page(name="change-review", view=view_change_review, takes=TAKES, part=True),
    Page(name="change-status", view=view_change_status, takes={"name": NAME}, part=True),
    Page(
        name="change-hunk",
        view=view_change_hunk,
        takes={"name": NAME, "hunk": "the patch identity of the hunk"},
        part=True,
    ),
    Page(name="change-duplicates", view=view_change_duplicates, takes={"name": NAME}, part=True, long=True),
    Page(
        name="change-verdict",
        view=view_change_verdict,
        takes={"change": NAME, "whole": "yes for expanded reasons"},
        part=True,
    ),
    Page(
        name="evidence",
        section="changes",
        view=view_evidence,
        takes={"change": NAME, "other": f"the other change: {NAME}", "id": "the id of stored evidence"},
        long=True,
    ),
)
