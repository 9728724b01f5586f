"""Every page in the order of the navigation, and the page for a name that a user typed."""

import re
from collections.abc import Callable
from urllib.parse import quote, urlencode

from custody.core.errors import InputError
from custody.core.patterns import lazy_pattern
from custody.server.pages import (
    blame,
    change,
    changes,
    graph,
    overview,
    people,
    search,
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
    *changes.PAGES,
    *change.PAGES,
    *people.PAGES,
    *blame.PAGES,
    *why.PAGES,
    *sessions.PAGES,
    *trust.PAGES,
    *simulate.PAGES,
    *sources.PAGES,
    *graph.PAGES,
    *state.PAGES,
    *search.PAGES,
)
BY_NAME = {page.name: page for page in PAGES}


_LINE = lazy_pattern(r"(?P<file>.+):(?P<line>[1-9][0-9]{0,8})", re.DOTALL)
_SOURCE = lazy_pattern(r"S[1-9][0-9]{0,8}")
_NAME_CHARACTERS_MAX = 4096

FileLookup = Callable[[str], str | None]
NameLookup = Callable[[str], tuple[str, str, str] | None]


def resolve_page_url(
    name: str, find_file: FileLookup = lambda _name: None, find_record: NameLookup = lambda _name: None
) -> str:
    """Return the URL path for a page, file, line, source or recorded object.

    ``find_file`` returns the path of a name in the work tree from its root, with a slash behind a folder.
    ``find_record`` returns the page, parameter and value for a recorded name.

    >>> [resolve_page_url(name) for name in ("graph", "Health", "src/a.py", "src/a.py:12")]
    ['/graph', '/state', '/blame?file=src%2Fa.py', '/why?file=src%2Fa.py&line=12']
    >>> resolve_page_url("#7", find_record=lambda name: ("change", "name", name))
    '/change?name=%237'
    >>> resolve_page_url("S3"), resolve_page_url("openapi.json")
    ('/source?id=S3', '/openapi.json')
    """
    if not name or len(name) > _NAME_CHARACTERS_MAX:
        raise InputError("nothing to open", hint=_HINT.format(_list_page_names()))
    if (page := _find_navigation_page(name)) is not None:
        return f"/{page}"
    if name == "openapi.json":
        return "/openapi.json"
    if name.startswith("/"):
        path, _, query = name.lstrip("/\\").partition("?")
        return f"/{quote(path)}?{query}" if query else f"/{quote(path)}"
    if place := find_file(name):
        return "/blame?" + urlencode({"folder": place[:-1]} if place.endswith("/") else {"file": place})
    if line := _LINE.fullmatch(name):
        return "/why?" + urlencode({"file": find_file(line["file"]) or line["file"], "line": line["line"]})
    if _SOURCE.fullmatch(name):
        return "/source?" + urlencode({"id": name})
    if (record := find_record(name)) is not None:
        page, param, value = record
        return f"/{page}?" + urlencode({param: value})
    if "/" in name or "." in name:
        return "/blame?" + urlencode({"file": name})
    raise InputError(f"cannot find '{name}'", hint=_HINT.format(_list_page_names()))


_HINT = "open a file, FILE:LINE, a session, a change, an agent, a source such as S3, or one of {}"


def _find_navigation_page(text: str) -> str | None:
    """Return the page in the navigation with this label or name."""
    word = text.lower()
    names = {name: page.name for page in BY_NAME.values() if page.label for name in (page.name, page.label.lower())}
    return names.get(word) or ("simulate" if word == "simulate" else None)


def _list_page_names() -> str:
    return ", ".join(page.name for page in BY_NAME.values() if page.label is not None)
