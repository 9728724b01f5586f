"""The pages, their built files, and the way in for a browser."""

from collections.abc import Mapping
from functools import cache
from urllib.parse import parse_qsl

from custody import __version__
from custody.core.errors import InputError
from custody.server.app.questions import Note
from custody.server.app.tenancy import TokenScope
from custody.server.auth import START, TokenCheck
from custody.server.endpoints import JSON, Endpoint, EndpointCall, HttpAnswer, Parameter
from custody.server.gatekeeper import cookie_for
from custody.server.pages.book import PAGES
from custody.server.pages.frame import Asset, Frame, PageEnvironment, ServedLinks, assets, render
from custody.server.pages.overview import head_of
from custody.server.pages.page import Page, PageParams
from custody.server.problems import HTML, PAGE_HEADERS, HttpProblem, page_of, wants_page
from custody.server.route_kinds import await_found, note_of
from custody.workspace.workspace import Workspace

FORM = "application/x-www-form-urlencoded"
FIRST = "/overview"
LOGIN_BYTES_MAX = 16 * 1024
FIELDS_MAX = 10
"""Signing in takes a token and an address, and anybody may try: more is not even read."""
FOR_EVER = "public, max-age=31536000, immutable"


@cache
def page_endpoints() -> tuple[Endpoint, ...]:
    """Every page, every built file, and signing in and out. They are for people: the description leaves them out."""
    return (
        *(_page(page) for page in PAGES),
        *(_asset(asset) for asset in assets().values()),
        Endpoint(
            method="GET",
            path="/live",
            name="live",
            words="How many records there are, for a page that is looked at.",
            scope=TokenScope.READ,
            handle=live,
            gives={200: JSON},
        ),
        Endpoint(
            method="POST",
            path="/login",
            name="login",
            words="Have a browser hold a token.",
            scope=None,
            handle=login,
            gives={303: HTML},
            takes={FORM: {"type": "object"}},
            bytes_max=LOGIN_BYTES_MAX,
        ),
        Endpoint(
            method="POST",
            path="/logout",
            name="logout",
            words="Have a browser forget its token.",
            scope=None,
            handle=logout,
            gives={303: HTML},
        ),
    )


def _page(page: Page) -> Endpoint:
    async def handle(call: EndpointCall) -> HttpAnswer:
        given = {name: call.text(name) for name in page.takes}
        said = {name: value for name, value in given.items() if value}
        asked = PageParams(said, _noting(call), call.service.memory)
        around = PageEnvironment(
            project=call.grant.project, version=__version__, can_leave=call.grant.token_id != START
        )

        def answer(workspace: Workspace) -> HttpAnswer:
            frame = Frame(links=ServedLinks(), around=around, book=PAGES)
            view = page.view(workspace, asked)
            return _html(render(view, page, said, frame), 404 if view.nothing else 200)

        name = (page.name, tuple(sorted(said.items())))
        return await await_found(call.ask_long(name, answer) if page.long else call.ask(answer))

    return Endpoint(
        method="GET",
        path=f"/{page.name}",
        name=f"page-{page.name}",
        words=f"The page '{page.label or page.name}'.",
        scope=TokenScope.READ,
        handle=handle,
        gives={200: HTML},
        parameters=tuple(Parameter(name, words) for name, words in page.takes.items()),
        long=page.long,
    )


def _noting(call: EndpointCall) -> Note | None:
    """What notes that words are read: every page that is opened, and what is new when one takes in its parts again."""
    note = note_of(call)
    if note is None:
        return None
    reader = f"{call.grant.project} {call.grant.token_id}"
    again = call.request.headers.get("hx-request") == "true"
    return call.service.noted.noting(note, reader, call.service.settings.now_ns(), again=again)


def _html(text: str, status: int) -> HttpAnswer:
    return HttpAnswer(body=text.encode("utf-8", "replace"), status=status, media="text/html", headers=PAGE_HEADERS)


def _asset(asset: Asset) -> Endpoint:
    async def handle(call: EndpointCall) -> HttpAnswer:
        headers = {"cache-control": FOR_EVER, "vary": "accept-encoding"}
        if "gzip" in call.request.headers.get("accept-encoding", ""):
            return HttpAnswer(body=asset.packed, media=asset.media, headers={**headers, "content-encoding": "gzip"})
        return HttpAnswer(body=asset.data, media=asset.media, headers=headers)

    return Endpoint(
        method="GET",
        path=asset.path,
        name=f"asset-{asset.name}",
        words="A built file of the pages.",
        scope=None,
        handle=handle,
        gives={200: asset.media},
    )


async def live(call: EndpointCall) -> HttpAnswer:
    """How many records there are."""
    return HttpAnswer(body=await call.ask(head_of), headers={"cache-control": "no-store"})


async def login(call: EndpointCall) -> HttpAnswer:
    """Have the browser hold a token that is good, and go on to where it wanted to go."""
    try:
        said = dict(parse_qsl((await call.body()).decode(), keep_blank_values=True, max_num_fields=FIELDS_MAX))
    except UnicodeDecodeError as error:
        raise InputError("the form is no text") from error
    except ValueError as error:
        raise InputError(f"the form has more than {FIELDS_MAX} fields") from error
    token = said.get("token", "").strip()
    settings = call.service.settings
    if await TokenCheck(settings.keeper, settings.now_ns).grant(token) is None:
        refusal = HttpProblem(401, "this token is not good now", remedy="look for the one that was made last")
        if not wants_page(call.request.headers.get("accept"), FIRST):
            raise refusal
        body, headers = page_of(refusal, _onward(said.get("next", "")))
        return HttpAnswer(body=body, status=refusal.status, media="text/html", headers=_but_type(headers))
    # A browser that came over TLS says so in its origin; the cookie then never leaves it.
    secure = "; Secure" if call.request.headers.get("origin", "").startswith("https://") else ""
    cookie = f"{_cookie(call)}={token}; Path=/; HttpOnly; SameSite=Lax{secure}"
    return HttpAnswer(body=b"", status=303, headers={"location": _onward(said.get("next", "")), "set-cookie": cookie})


async def logout(call: EndpointCall) -> HttpAnswer:
    """Have the browser forget its token."""
    cookie = f"{_cookie(call)}=; Path=/; HttpOnly; Max-Age=0"
    return HttpAnswer(body=b"", status=303, headers={"location": FIRST, "set-cookie": cookie})


def _cookie(call: EndpointCall) -> str:
    return cookie_for(call.request.headers.get("host", ""))


def _but_type(headers: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in headers.items() if name != "content-type"}


def _onward(address: str) -> str:
    """Where somebody goes after signing in: a page of ours, never another site."""
    is_ours = address.startswith("/") and not address.startswith(("//", "/\\", "/login", "/logout"))
    return address if is_ours and address.isascii() and address.isprintable() else FIRST
