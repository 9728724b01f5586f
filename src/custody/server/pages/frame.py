"""The frame of every page: HTML with everything escaped, links, built files, content policy, refusals."""

import gzip
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import Any, Protocol
from urllib.parse import urlencode

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from custody import __version__
from custody.server.pages import charts
from custody.server.pages import phrases as worded
from custody.server.pages.page import Page, PageView
from custody.server.pages.phrases import escape_control_characters, short

# What a browser may do with our pages: load our own files, run no inline script, send forms to us alone.


POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)

IN_FILES = (
    "default-src 'none'; script-src 'self' file:; style-src 'self' file:; img-src 'self' file: data:; base-uri 'none'"
)
"""The same for pages that are files: a browser that opens them has no server to ask."""


# The built files of the pages, as they lie in this package.


MEDIA = {
    "css": "text/css",
    "js": "text/javascript",
    "svg": "image/svg+xml",
    "txt": "text/plain",
}
DIGITS = 12


@dataclass(frozen=True, slots=True)
class Asset:
    """One file; its path holds its digest, so that it may be kept for ever."""

    name: str
    path: str
    media: str
    data: bytes
    packed: bytes


@cache
def assets() -> dict[str, Asset]:
    """Every built file by its name."""
    found: dict[str, Asset] = {}
    for file in sorted(files("custody.server").joinpath("static").iterdir(), key=lambda file: file.name):
        media = MEDIA.get(file.name.rpartition(".")[2])
        if media is not None:
            data = file.read_bytes()
            path = f"/static/{sha256(data).hexdigest()[:DIGITS]}/{file.name}"
            found[file.name] = Asset(file.name, path, media, data, gzip.compress(data, 9, mtime=0))
    return found


# Where pages are: at addresses of a service, or in the files of a report.


class PageLinks(Protocol):
    """Says where a page and a built file are."""

    @property
    def served(self) -> bool:
        """Whether a service answers behind these links: only then can something be asked."""
        ...

    def to(self, page: str, said: dict[str, str]) -> str | None:
        """Where a page is; None where it cannot be had."""
        ...

    def asset(self, name: str) -> str:
        """Where a built file is."""
        ...


class ServedLinks:
    """The addresses of a service."""

    served = True

    def to(self, page: str, said: dict[str, str]) -> str:
        """The page's address with what it is asked."""
        return f"/{page}?{urlencode(said)}" if said else f"/{page}"

    def asset(self, name: str) -> str:
        """The file's address, which has its digest in it: whoever keeps it keeps the right one."""
        return assets()[name].path


_IN_JSON = str.maketrans({"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"})


@dataclass(frozen=True, slots=True, kw_only=True)
class PageEnvironment:
    """What a page says of its surroundings: who serves it, of which project, when it was made."""

    project: str
    version: str
    made: str | None = None
    """When a report was written; None for pages that are served."""
    can_leave: bool = False
    """Whether whoever looks has signed in, and may sign out."""


@dataclass(frozen=True, slots=True)
class _PageLocation:
    name: str
    title: str
    said: Mapping[str, str]
    section: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """What stands around every page of a service or a report: where pages are, which there are, and how one is made.

    ``inline`` makes a part of a page at once; without it a part is asked for when the page is looked at.
    """

    links: PageLinks
    around: PageEnvironment
    book: Iterable[Page]
    inline: Callable[[str, Mapping[str, str]], str] | None = None


def render(view: PageView, page: Page, said: Mapping[str, str], frame: Frame) -> str:
    """The view as a whole page, or as the part that it is."""
    links = frame.links
    template = environment().get_template(view.template)
    return template.render(
        **view.fields,
        base="bare.html" if page.part else "base.html",
        page=_PageLocation(page.name, view.title, said, page.section),
        around=frame.around,
        served=links.served,
        policy=Markup(escape(IN_FILES)),
        scripts=[links.asset(name) for name in ("app.js", *view.scripts)],
        navigation=[(book_page.label, book_page.name) for book_page in frame.book if book_page.label is not None],
        to=_addressed(links),
        here=_addressed(links, page.name, said),
        part=_taking_in(frame),
        asset=lambda name: Markup(escape(links.asset(name))),
    )


def _taking_in(frame: Frame) -> Any:
    """``part(page, words, **said)``: another page as a part of this one; ``words`` stand there until it comes."""

    def part(name: str, words: str, /, **wanted: object) -> Markup:
        said = {key: str(value) for key, value in wanted.items() if value is not None and value != ""}
        if frame.inline is not None:
            return Markup(frame.inline(name, said))
        return Markup(
            '<div hx-get="{0}" hx-trigger="load" hx-swap="outerHTML"><p class="waiting">{1}</p>'
            '<noscript><p><a href="{0}">Show it on a page of its own</a></p></noscript></div>'
        ).format(frame.links.to(name, said), words)

    return part


def _addressed(links: PageLinks, page: str | None = None, said: Mapping[str, str] | None = None) -> Any:
    """``to(page, **said)``; or with a page given ``here(**said)``, which is this page asked something else."""

    def to(*names: str, **wanted: object) -> Markup | None:
        name = names[0] if page is None else page
        words = {**(said or {}), **wanted}
        known = {key: str(value) for key, value in words.items() if value is not None and value != ""}
        found = links.to(name, known)
        return None if found is None else Markup(escape(found))

    return to


@cache
def environment() -> Environment:
    """The templates: autoescape is on for every one of them, and a field that is missing is an error."""
    made = Environment(
        loader=PackageLoader("custody.server.pages"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_escape_value,
        auto_reload=False,
    )
    made.globals.update(block=block, form=worded, charts=charts)
    made.filters.update(short=short)
    return made


def _escape_value(value: object) -> object:
    """What stands in double braces: None is nothing; text that is not markup is made fit to be shown."""
    if value is None:
        return ""
    return escape_control_characters(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def block(name: str, data: object) -> Markup:
    """Data for an island: a script element that no browser runs, and that no text can end."""
    # Escaped for where it stands: inside a script element only '<' could end it.
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    text = text.translate(_IN_JSON).encode("utf-8", "replace").decode()
    return Markup('<script type="application/json" id="{}">{}</script>').format(name, Markup(text))


# A refusal as a page: in words, with what helps, and with a place to sign in where that is what is missing.


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
