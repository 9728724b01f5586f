"""A refusal as a page: in words, with what helps, and with a place to sign in where that is what is missing."""

from custody import __version__
from custody.server.pages.frame import Frame, PageEnvironment, render
from custody.server.pages.links import ServedLinks
from custody.server.pages.page import Page, PageView

_PAGE = Page(name="refused", view=lambda _workspace, _asked: PageView(title="", template=""))
NO_TOKEN, NOT_FOUND = 401, 404


def refusal_page(status: int, title: str, detail: str, remedy: str | None, address: str) -> str:
    """The page; ``address`` is where somebody wanted to go, who may go there after signing in."""
    sign_in = status == NO_TOKEN
    view = PageView(
        title="Sign in" if sign_in else title,
        template="refused.html",
        fields={
            "detail": "The token of this page is not good, or not any more." if sign_in else detail,
            "remedy": None if sign_in or status == NOT_FOUND else remedy,
            "sign_in": sign_in,
            "back": None if sign_in else _section(address),
            "next": address,
        },
    )
    around = PageEnvironment(project="", version=__version__)
    return render(view, _PAGE, {}, Frame(links=ServedLinks(), around=around, book=() if sign_in else _book()))


def _section(address: str) -> Page | None:
    """The page of the navigation that an address belongs to: where whoever did not find one thing sees the others."""
    named = {page.name: page for page in _book()}
    wanted = named.get(address.partition("?")[0].strip("/"))
    return None if wanted is None else named.get(wanted.section or "")


def _book() -> tuple[Page, ...]:
    # Pages ask questions whose refusals lead here: the book is opened when it is needed.
    from custody.server.pages.book import PAGES

    return PAGES
