"""Every page, in the order of the navigation."""

from custody.server.pages import (
    blame,
    change,
    changes,
    graph,
    overview,
    sessions,
    simulate,
    sources,
    state,
    trust,
    why,
)
from custody.server.pages.page import Page

PAGES: tuple[Page, ...] = (
    *overview.PAGES,
    *blame.PAGES,
    *why.PAGES,
    *changes.PAGES,
    *change.PAGES,
    *trust.PAGES,
    *simulate.PAGES,
    *sources.PAGES,
    *graph.PAGES,
    *sessions.PAGES,
    *state.PAGES,
)
BY_NAME = {page.name: page for page in PAGES}
