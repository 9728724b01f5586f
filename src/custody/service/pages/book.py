"""Every page, in the order of the navigation."""

from custody.service.pages import overview
from custody.service.pages.page import Page

PAGES: tuple[Page, ...] = (*overview.PAGES,)
BY_NAME = {page.name: page for page in PAGES}
