"""The search of the header as one page of links."""

from custody.server.page_data.search import HITS_MAX, search_for_page
from custody.server.pages.page import Page, PageParams, PageView
from custody.workspace.workspace import Workspace

TEXT_CHARACTERS_MAX = 200


def view_search(workspace: Workspace, params: PageParams) -> PageView:
    """Show what matches a few words."""
    text = (params.text("text") or "")[:TEXT_CHARACTERS_MAX]
    groups = search_for_page(workspace, text, note=params.note)
    fields = {
        "text": text,
        "groups": groups,
        "shown": HITS_MAX,
        "with_prompts": params.note is not None,
    }
    return PageView(title="Search", template="search.html", fields=fields)


PAGES = (Page(name="search", view=view_search, takes={"text": "the words to find"}, long=True),)
