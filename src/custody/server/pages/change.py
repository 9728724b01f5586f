"""One change: what it is and does, what it is like, and its verdict; and two changes beside each other."""

from custody.core.errors import InputError
from custody.dupes.app.indexed_changes import change_like
from custody.dupes.app.overlap import PairPage, compare_changes, compare_stored
from custody.dupes.app.select import UnknownChange
from custody.dupes.app.show import dupes_show
from custody.server.app.questions import name_not_found, require_repository
from custody.server.page_data.changes import change_judged, find_indexed, read_change_page
from custody.server.pages.attempt import attempt_question
from custody.server.pages.page import Page, PageParams, PageView
from custody.workspace.workspace import Workspace, has_repository

WHOLE = ("no", "yes", "word")
NAMED = "its ref, the number of its pull request, or the first digits of its head"


def change(workspace: Workspace, asked: PageParams) -> PageView:
    """One change."""
    name = asked.needed("name")
    seen = read_change_page(workspace, name)
    return PageView(
        title=seen.change.title or seen.change.head,
        template="change.html",
        fields={
            "seen": seen,
            "repository": has_repository(workspace),
            "like": attempt_question(lambda: change_like(require_repository(workspace), find_indexed(workspace, name))),
        },
    )


def change_verdict(workspace: Workspace, asked: PageParams) -> PageView:
    """What the gate says of an open change; it takes a second, so pages ask for it later."""
    name = asked.needed("change")
    fields = {
        "verdict": attempt_question(lambda: change_judged(workspace, asked.memory.verdicts, name)),
        "whole": asked.choice("whole", WHOLE),
    }
    return PageView(title="Verdict", template="change_verdict.html", fields=fields)


def evidence(workspace: Workspace, asked: PageParams) -> PageView:
    """Two changes beside each other: of stored evidence, or any two that are indexed."""
    seen = _pair(workspace, asked)
    title = f"{seen.this.title} beside {seen.other.title}"
    return PageView(title=title, template="evidence.html", fields={"seen": seen, "found": seen.evidence})


def _pair(workspace: Workspace, asked: PageParams) -> PairPage:
    id_ = asked.text("id")
    if id_ is not None:
        here = require_repository(workspace)
        with name_not_found(InputError):
            report = dupes_show(here, id_)
        return compare_stored(here, report)
    if asked.text("change") is None:
        raise InputError("the address does not say which changes are meant", hint="follow a link to this page")
    name, other = asked.needed("change"), asked.needed("other")
    with name_not_found(UnknownChange):
        return compare_changes(require_repository(workspace), name, other)


PAGES = (
    Page(name="change", section="changes", view=change, takes={"name": NAMED}, long=True),
    Page(
        name="change-verdict",
        view=change_verdict,
        takes={"change": NAMED, "whole": "yes to have the reasons unfolded, word to have the word alone"},
        part=True,
        long=True,
    ),
    Page(
        name="evidence",
        section="changes",
        view=evidence,
        takes={"change": NAMED, "other": f"the other change: {NAMED}", "id": "stored evidence, by its id"},
        long=True,
    ),
)
