"""What somebody wants to see, as they type it, and the page that shows it."""

import re
from collections.abc import Callable
from urllib.parse import quote, urlencode

from custody.model.errors import InputError
from custody.service.pages.book import BY_NAME

_LINE = re.compile(r"(?P<file>.+):(?P<line>[1-9][0-9]{0,8})", re.DOTALL)
_SOURCE = re.compile(r"S[1-9][0-9]{0,8}")
_SIGNS_MAX = 4096

Found = Callable[[str], str | None]


def page_for(what: str, found: Found = lambda _name: None) -> str:
    """The address, from its first slash on: of a page by its name, a file, a line, a source, or else a session.

    ``found`` says what a name is in the work tree: its path from the root, with a slash behind a folder's.

    >>> page_for("graph"), page_for("src/a.py"), page_for("src/a.py:12")
    ('/graph', '/blame?file=src%2Fa.py', '/why?file=src%2Fa.py&line=12')
    >>> page_for("S3"), page_for("9e8f7a6b"), page_for("openapi.json")
    ('/source?id=S3', '/session?id=9e8f7a6b', '/openapi.json')
    """
    if not what or len(what) > _SIGNS_MAX:
        raise InputError("there is nothing to open", hint=f"name a file, FILE:LINE, a session, or one of {_names()}")
    if what in BY_NAME and not BY_NAME[what].part:
        return f"/{what}"
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
    if "/" in what or "." in what:
        return "/blame?" + urlencode({"file": what})
    return "/session?" + urlencode({"id": what})


def _names() -> str:
    return ", ".join(page.name for page in BY_NAME.values() if page.label is not None)
