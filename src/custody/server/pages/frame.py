"""The frame of every page: escaped HTML, links, built files, the content policy and error pages."""

import gzip
import json
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import Any, Protocol
from urllib.parse import quote, urlencode

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape
from msgspec import Struct

from custody import __version__
from custody.core.patterns import lazy_pattern
from custody.core.plural import count_noun, noun_for_count
from custody.server.pages import charts, phrases
from custody.server.pages.icons import render_icon
from custody.server.pages.page import Page, PageView
from custody.server.pages.phrases import escape_page_text, shorten_page_text

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
"""Browsers load only our own files, run no inline script, and send forms only to us."""

FILE_POLICY = (
    "default-src 'none'; script-src 'self' file:; style-src 'self' file:; img-src 'self' file: data:; base-uri 'none'"
)
"""The same for the files of a report, which have no server."""


MEDIA = {
    "css": "text/css",
    "js": "text/javascript",
    "svg": "image/svg+xml",
    "txt": "text/plain",
}
DIGITS = 12


class Asset(Struct, frozen=True):
    """A built file; its path contains its digest, so that browsers can cache it forever."""

    name: str
    path: str
    media: str
    data: bytes
    packed: bytes


@cache
def load_page_assets() -> dict[str, Asset]:
    """Return every built file by its name."""
    assets: dict[str, Asset] = {}
    for file in sorted(files("custody.server").joinpath("static").iterdir(), key=lambda file: file.name):
        media = MEDIA.get(file.name.rpartition(".")[2])
        if media is not None:
            data = file.read_bytes()
            path = f"/static/{sha256(data).hexdigest()[:DIGITS]}/{file.name}"
            assets[file.name] = Asset(file.name, path, media, data, gzip.compress(data, 9, mtime=0))
    return assets


FOLDERS = {"change": ("changes", "name")}
"""The pages with a path of their own for each object, and the parameter that it holds."""
_DOT_SEGMENT = lazy_pattern(r"(^|/)\.{0,2}(/|$)|[\\\x00-\x1f]")
"""Browsers resolve dot segments and empty ones, and take a backslash for a slash."""


class PageLinks(Protocol):
    """The URLs of pages and built files, in a service or in a report."""

    @property
    def served(self) -> bool:
        """Whether a service answers these links, so that forms and later parts work."""
        ...

    def find_page_url(self, page: str, params: dict[str, str]) -> str | None:
        """Return the URL of a page; None if the page does not exist."""
        ...

    def asset(self, name: str) -> str:
        """Return the URL of a built file."""
        ...


class ServedLinks:
    """The URLs of a service."""

    served = True

    def find_page_url(self, page: str, params: dict[str, str]) -> str:
        """Return the URL of a page with its parameters."""
        path, rest = FOLDERS.get(page, (page, ""))
        value = params.get(rest, "")
        if value and not _DOT_SEGMENT.search(value):
            path, params = f"{path}/{quote(value)}", {key: text for key, text in params.items() if key != rest}
        else:
            path = page
        return f"/{path}?{urlencode(params)}" if params else f"/{path}"

    def asset(self, name: str) -> str:
        """Return the URL of a built file, which contains its digest."""
        return load_page_assets()[name].path


_JSON_ESCAPES = str.maketrans(
    {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}
)


class PageEnvironment(Struct, frozen=True, kw_only=True):
    """The project, the version and the time of a report, for the footer."""

    project: str
    version: str
    made: str | None = None
    """The time of a report; None for served pages."""
    can_leave: bool = False
    """Whether the reader signed in, so that signing out makes sense."""
    repository: str | None = None
    """The name of the repository, for the header."""
    is_recording: bool | None = None
    """Whether an agent is recorded here; None if unknown."""
    form_token: str | None = None
    """The token for forms that write; None if the reader may not, so that a page shows commands instead."""
    url: str = ""
    """The URL of the page, to which a form returns."""


class _PageLocation(Struct, frozen=True):
    name: str
    title: str
    params: Mapping[str, str]
    section: str | None


class Frame(Struct, frozen=True, kw_only=True):
    """What all pages of a service or a report share.

    ``inline`` renders a part of a page at once; without it the browser loads the part later.
    """

    links: PageLinks
    around: PageEnvironment
    book: Iterable[Page]
    inline: Callable[[str, Mapping[str, str]], str] | None = None


def render_page_view(view: PageView, page: Page, params: Mapping[str, str], frame: Frame) -> str:
    """Render a view as a whole page, or as a part of one."""
    links = frame.links
    template = load_template_environment().get_template(view.template)
    return template.render(
        **view.fields,
        base="bare.html" if page.part else "base.html",
        page=_PageLocation(page.name, view.title, params, page.section),
        around=frame.around,
        served=links.served,
        policy=Markup(escape(FILE_POLICY)),
        scripts=[links.asset(name) for name in ("app.js", *view.scripts)],
        styles=[links.asset(name) for name in ("app.css", *view.styles)],
        navigation=[(book_page.label, book_page.name) for book_page in frame.book if book_page.label is not None],
        to=_make_page_linker(links),
        here=_make_page_linker(links, page.name, params),
        part=_make_part_loader(frame),
        asset=lambda name: Markup(escape(links.asset(name))),
    )


def _make_part_loader(frame: Frame) -> Any:
    """Return ``part(page, text, **params)``: another page as a part of this one, with ``text`` until it is loaded."""

    def part(name: str, text: str, /, **values: object) -> Markup:
        params = {key: str(value) for key, value in values.items() if value is not None and value != ""}
        if frame.inline is not None:
            return Markup(frame.inline(name, params))
        return Markup(
            '<div hx-get="{0}" hx-trigger="load" hx-swap="outerHTML"><p class="waiting">{1}</p>'
            '<noscript><p><a href="{0}">Show as a page</a></p></noscript></div>'
        ).format(frame.links.find_page_url(name, params), text)

    return part


def _make_page_linker(links: PageLinks, page: str | None = None, params: Mapping[str, str] | None = None) -> Any:
    """Return ``to(page, **params)``; with a page, ``here(**params)``: the same page with other parameters."""

    def to(*names: str, **values: object) -> Markup | None:
        name = names[0] if page is None else page
        merged = {**(params or {}), **values}
        url = links.find_page_url(
            name, {key: str(value) for key, value in merged.items() if value is not None and value != ""}
        )
        return None if url is None else Markup(escape(url))

    return to


@cache
def load_template_environment() -> Environment:
    """Return the template environment: autoescape is on, and a missing field is an error."""
    environment = Environment(
        loader=PackageLoader("custody.server.pages"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_escape_template_value,
        auto_reload=False,
    )
    environment.globals.update(
        block=render_data_island, form=phrases, count_noun=count_noun, noun_for_count=noun_for_count, charts=charts
    )
    environment.globals.update(icon=render_icon)
    environment.filters.update(
        agent_title=phrases.format_agent_title,
        short=shorten_page_text,
        ucfirst=phrases.capitalize_sentence,
        decoded=_decode_name,
    )
    return environment


def _decode_name(raw: bytes) -> str:
    return raw.decode("utf-8", "replace")


def _escape_template_value(value: object) -> object:
    """Prepare a value in double braces: None becomes empty, and text without markup is escaped."""
    if value is None:
        return ""
    return escape_page_text(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def render_data_island(name: str, data: object) -> Markup:
    """Return data for a script, in a script element that browsers do not run and that no text can close."""
    # Inside a script element only '<' could close it.
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    text = text.translate(_JSON_ESCAPES).encode("utf-8", "replace").decode()
    return Markup('<script type="application/json" id="{}">{}</script>').format(name, Markup(text))


_PROBLEM_PAGE = Page(name="refused", view=lambda _workspace, _params: PageView(title="", template=""))
NO_TOKEN, NOT_FOUND = 401, 404


def render_problem_page(status: int, title: str, detail: str, remedy: str | None, url: str) -> str:
    """Render an error page, with a form to sign in if a token is missing; ``url`` is where to go then."""
    sign_in = status == NO_TOKEN
    view = PageView(
        title="Sign in" if sign_in else "Page not found" if status == NOT_FOUND else title,
        template="refused.html",
        fields={
            "detail": "The token is invalid or has expired." if sign_in else detail,
            "remedy": None if sign_in or status == NOT_FOUND else remedy,
            "sign_in": sign_in,
            "back": None if sign_in else _find_page_section(url),
            "next": url,
        },
    )
    around = PageEnvironment(project="", version=__version__)
    return render_page_view(
        view, _PROBLEM_PAGE, {}, Frame(links=ServedLinks(), around=around, book=() if sign_in else _load_all_pages())
    )


def _find_page_section(url: str) -> Page | None:
    """Return the page in the navigation that a URL belongs to, as a link from an error page."""
    pages = {page.name: page for page in _load_all_pages()}
    page = pages.get(url.partition("?")[0].strip("/"))
    return None if page is None else pages.get(page.section or "")


def _load_all_pages() -> tuple[Page, ...]:
    # Errors of pages lead here, so an import at the top would be circular.
    from custody.server.pages.book import PAGES

    return PAGES
