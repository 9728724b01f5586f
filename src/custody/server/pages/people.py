"""Who read a change, and the form to decide about it: a part of the page of a change."""

from custody.server.page_data.people import read_change_people
from custody.server.pages.page import Page, PageParams, PageView, attempt_page_part
from custody.workspace.workspace import Workspace

HUNKS_SHOWN = 200
CHANGE = "the change: BASE..HEAD, or the ref, pull request number, or first digits of the head commit"
NEXT = "the page that shows this part, to which its forms return"


def view_change_people(workspace: Workspace, params: PageParams) -> PageView:
    """Show who read each hunk of a change, and forms to mark hunks and to decide."""
    name = params.require_text("change")
    people = attempt_page_part(lambda: read_change_people(workspace, name))
    fields = {"people": people, "shown": HUNKS_SHOWN, "back": params.text("next") or ""}
    return PageView(title="Readers and decisions", template="change_people.html", fields=fields)


PAGES = (
    Page(name="change-people", view=view_change_people, takes={"change": CHANGE, "next": NEXT}, part=True, long=True),
)
