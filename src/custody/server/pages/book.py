"""Every page, in the order of the navigation."""

import re
from collections.abc import Callable
from urllib.parse import quote, urlencode

from custody.core.errors import InputError
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


# What somebody wants to see, as they type it, and the page that shows it.


_LINE = re.compile(r"(?P<file>.+):(?P<line>[1-9][0-9]{0,8})", re.DOTALL)
_SOURCE = re.compile(r"S[1-9][0-9]{0,8}")
_SIGNS_MAX = 4096

FileLookup = Callable[[str], str | None]
NameLookup = Callable[[str], tuple[str, str, str] | None]


def page_for(what: str, found: FileLookup = lambda _name: None, named: NameLookup = lambda _name: None) -> str:
    """The address, from its first slash on: of a page by its name, a file, a line, a source, or what is recorded.

    ``found`` says what a name is in the work tree: its path from the root, with a slash behind a folder's. ``named``
    says what is recorded under it: the page of that, and what to ask there.

    >>> page_for("graph"), page_for("Health"), page_for("src/a.py"), page_for("src/a.py:12")
    ('/graph', '/state', '/blame?file=src%2Fa.py', '/why?file=src%2Fa.py&line=12')
    >>> page_for("S3"), page_for("openapi.json"), page_for("#7", named=lambda name: ("change", "name", name))
    ('/source?id=S3', '/openapi.json', '/change?name=%237')
    """
    if not what or len(what) > _SIGNS_MAX:
        raise InputError("there is nothing to open", hint=_HINT.format(_names()))
    if (page := _page(what)) is not None:
        return f"/{page}"
    if what == "openapi.json":
        return "/openapi.json"
    if what.startswith("/"):
        path, _, questions = what.lstrip("/\\").partition("?")
        return f"/{quote(path)}?{questions}" if questions else f"/{quote(path)}"
    if place := found(what):
        return "/blame?" + urlencode({"folder": place[:-1]} if place.endswith("/") else {"file": place})
    if line := _LINE.fullmatch(what):
        return "/why?" + urlencode({"file": found(line["file"]) or line["file"], "line": line["line"]})
    if _SOURCE.fullmatch(what):
        return "/source?" + urlencode({"id": what})
    if (known := named(what)) is not None:
        page, name, value = known
        return f"/{page}?" + urlencode({name: value})
    if "/" in what or "." in what:
        return "/blame?" + urlencode({"file": what})
    raise InputError(f"nothing here is called '{what}'", hint=_HINT.format(_names()))


_HINT = "name a file, FILE:LINE, a session, a change, an agent, a source such as S3, or one of {}"


def _page(what: str) -> str | None:
    """The page in the navigation that is called so there or in addresses; one of a single object needs that object."""
    word = what.lower()
    names = {name: page.name for page in BY_NAME.values() if page.label for name in (page.name, page.label.lower())}
    return names.get(word) or ("simulate" if word == "simulate" else None)


def _names() -> str:
    return ", ".join(page.name for page in BY_NAME.values() if page.label is not None)
