"""Pages without a server, as HTML and as visible text."""

import json
import re
from html import unescape
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from custody.server.app.questions import Note
from custody.server.pages.book import BY_NAME, PAGES
from custody.server.pages.files import FileLinks
from custody.server.pages.frame import Frame, PageEnvironment, PageLinks, ServedLinks, render_page_view
from custody.server.pages.page import PageMemory, PageParams
from custody.workspace.workspace import Workspace

HOSTILE = "<img src=x onerror=alert(1)> \u202egnp.exe \x1b[31m"


def rendered(
    workspace: Workspace,
    name: str,
    /,
    *,
    note: Note | None = None,
    links: PageLinks | None = None,
    memory: PageMemory | None = None,
    **said: Any,
) -> str:
    """Return a page as HTML, for these parameters; ``from_`` means ``from``."""
    page = BY_NAME[name]
    asked = {key.rstrip("_"): str(value) for key, value in said.items() if value is not None}
    around = PageEnvironment(project="default", version="0")
    where = links or ServedLinks()
    frame = Frame(links=where, around=around, book=PAGES, inline=None if where.served else _inline(workspace, where))
    return render_page_view(page.view(workspace, PageParams(asked, note, memory or PageMemory())), page, asked, frame)


def _inline(workspace: Workspace, links: PageLinks) -> Any:
    return lambda name, said: rendered(workspace, name, links=links, **said)


def in_files() -> FileLinks:
    """Return the links of a report that has room for everything."""
    return FileLinks(10_000)


def words_of(html: str) -> str:
    """Return the visible text of a page."""
    without = re.sub(r"<(script|style)[^>]*>.*?</\1>", " ", html, flags=re.DOTALL)
    return " ".join(unescape(re.sub(r"<[^>]*>", " ", without)).split())


def nodes_of(html: str) -> int:
    """Count the elements of a page."""
    return len(re.findall(r"<[a-zA-Z]", html))


def acts(html: str) -> bool:
    """Return whether recorded text could act: an element that no template has, or a character that reverses text."""
    return bool(re.search(r"<img[^>]*onerror", html)) or "\u202e" in html or "\x1b" in html


def data_in(html: str, name: str) -> Any:
    """Return the data of an island."""
    found = re.search(rf'<script type="application/json" id="{name}">(.*?)</script>', html, re.DOTALL)
    assert found is not None
    return json.loads(found[1])


def links_in(html: str, page: str) -> list[dict[str, str]]:
    """Return the query of every link to a page."""
    found = (urlsplit(unescape(place)) for place in re.findall(r'href="([^"]*)"', html))
    return [dict(parse_qsl(place.query)) for place in found if place.path == f"/{page}"]


def words_in(html: str) -> str:
    """Return the visible text of the main part of a page."""
    return words_of(html[html.index("<main") : html.index("</main>")])
