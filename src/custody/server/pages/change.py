"""One change with its verdict, duplicates and files; and two changes side by side."""

from custody.core.errors import InputError
from custody.dupes.app.indexed_changes import preview_change_duplicates
from custody.dupes.app.overlap import PairPage, compare_indexed_changes, compare_stored_evidence
from custody.dupes.app.select import UnknownChange
from custody.dupes.app.show import dupes_show
from custody.server.app.questions import map_errors_to_404, require_project_repository
from custody.server.page_data.changes import find_change_for_page, judge_change_for_page, read_change_page
from custody.server.pages.page import Page, PageParams, PageView, attempt_page_part
from custody.workspace.workspace import Workspace, has_workspace_repository

WHOLE = ("no", "yes")
NAME = "the ref, pull request number, or first digits of the head commit"


def view_change(workspace: Workspace, params: PageParams) -> PageView:
    """Show one change."""
    name = params.require_text("name")
    detail = read_change_page(workspace, name)
    return PageView(
        title=detail.change.title or detail.change.head,
        template="change.html",
        fields={
            "detail": detail,
            "repository": has_workspace_repository(workspace),
            "duplicates": attempt_page_part(
                lambda: preview_change_duplicates(
                    require_project_repository(workspace), find_change_for_page(workspace, name)
                )
            ),
        },
    )


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
    Page(name="change", section="changes", view=view_change, takes={"name": NAME}, long=True),
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
