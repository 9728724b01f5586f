"""Overview."""

from custody.app.desk import Desk
from custody.service.pages.page import Asked, Page, View


def overview(desk: Desk, asked: Asked) -> View:
    return View(title="Overview", template="overview.html")


PAGES = (Page(name="overview", label="Overview", view=overview),)
