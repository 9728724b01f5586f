"""The pages, their built files, and signing in."""

from collections.abc import Mapping, Sequence
from functools import cache, partial
from urllib.parse import parse_qsl

from msgspec.structs import replace

from custody import __version__
from custody.core.errors import InputError
from custody.server.app.questions import Note
from custody.server.app.tenancy import TokenScope
from custody.server.auth import START, TokenCheck
from custody.server.endpoints import JSON, Endpoint, EndpointCall, HttpAnswer, Parameter
from custody.server.form_token import make_form_token
from custody.server.gatekeeper import (
    encode_cookie_tokens,
    is_over_tls,
    make_token_cookie_name,
    read_cookie_tokens,
)
from custody.server.page_data.site import PageSite, RepositoryRow, read_page_site, read_repository_row
from custody.server.page_data.work import WorkProgress
from custody.server.pages.book import BY_NAME, PAGES
from custody.server.pages.frame import (
    FOLDERS,
    Asset,
    Frame,
    PageEnvironment,
    ServedLinks,
    load_page_assets,
    render_page_view,
)
from custody.server.pages.overview import encode_page_refresh_state
from custody.server.pages.page import Page, PageParams, PageView, attempt_page_part
from custody.server.problems import HTML, PAGE_HEADERS, HttpProblem, accepts_html_page, encode_problem_page
from custody.server.route_kinds import await_or_http_404, get_read_note, name_page_reader
from custody.workspace.workspace import Workspace

FORM = "application/x-www-form-urlencoded"
FIRST = "/overview"
NS_PER_S = 1_000_000_000
LOGIN_BYTES_MAX = 16 * 1024
FIELDS_MAX = 10
"""Signing in needs a token and a URL; longer forms are rejected unread."""
WORK_REFRESH_SECONDS = 2
"""When a browser opens a page again whose work is not finished."""
CACHE_FOREVER = "public, max-age=31536000, immutable"


@cache
def make_page_endpoints() -> tuple[Endpoint, ...]:
    """Return the endpoints of pages, built files and signing in; the OpenAPI document leaves them out."""
    return (
        *(_make_page_endpoint(page, f"/{page.name}") for page in PAGES),
        *(
            _make_page_endpoint(BY_NAME[name], f"/{path}/{{{rest}:path}}", rest)
            for name, (path, rest) in FOLDERS.items()
        ),
        *(_make_asset_endpoint(asset) for asset in load_page_assets().values()),
        Endpoint(
            method="GET",
            path="/live",
            name="live",
            summary="Return the number of records, for open pages.",
            scope=TokenScope.READ,
            handle=serve_live_status,
            gives={200: JSON},
        ),
        Endpoint(
            method="POST",
            path="/login",
            name="login",
            summary="Store a token in the browser.",
            scope=None,
            handle=login,
            gives={303: HTML},
            takes={FORM: {"type": "object"}},
            bytes_max=LOGIN_BYTES_MAX,
        ),
        Endpoint(
            method="POST",
            path="/switch",
            name="switch",
            summary="Show another project that the browser has a token of.",
            scope=None,
            handle=switch_project,
            gives={303: HTML},
            takes={FORM: {"type": "object"}},
            bytes_max=LOGIN_BYTES_MAX,
        ),
        Endpoint(
            method="POST",
            path="/logout",
            name="logout",
            summary="Remove all tokens from the browser.",
            scope=None,
            handle=logout,
            gives={303: HTML},
        ),
    )


def _make_page_endpoint(page: Page, path: str, rest: str | None = None) -> Endpoint:
    """Return the endpoint of a page; ``rest`` is the parameter that the path holds."""

    async def handle(call: EndpointCall) -> HttpAnswer:
        texts = {name: call.text(name) for name in page.takes}
        if rest is not None:
            texts[rest] = str(call.request.path_params[rest]).removeprefix("/")
        values = {name: value for name, value in texts.items() if value}
        form_token = _make_page_form_token(call)
        reader = None if form_token is None else name_page_reader(call)
        others = await _read_other_repositories(call) if page.across else ()
        params = PageParams(values, _make_page_note(call), call.service.memory, reader, others)
        url = ServedLinks().find_page_url(page.name, values)

        def make_frame(workspace: Workspace) -> Frame:
            site = PageSite() if page.part else read_page_site(workspace, params.memory.site)
            around = PageEnvironment(
                project=call.grant.project,
                version=__version__,
                can_leave=call.grant.token_id != START,
                repository=site.repository,
                is_recording=site.is_recording,
                form_token=form_token,
                url=url,
            )
            return Frame(links=ServedLinks(), around=around, book=PAGES)

        def answer(workspace: Workspace) -> HttpAnswer:
            frame = make_frame(workspace)
            view = page.view(workspace, params)
            return _make_html_answer(render_page_view(view, page, values, frame), 404 if view.is_missing else 200)

        if not page.long:
            return await await_or_http_404(call.ask(answer))
        found = await await_or_http_404(call.ask_work((page.name, tuple(sorted(values.items()))), answer))
        if not isinstance(found, WorkProgress):
            return found
        return _answer_work_progress(call, page, values, found, await call.ask(make_frame))

    return Endpoint(
        method="GET",
        path=path,
        name=f"page-{page.name}" if rest is None else f"page-{page.name}-{rest}",
        summary=f"Show the page '{page.label or page.name}'.",
        scope=TokenScope.READ,
        handle=handle,
        gives={200: HTML},
        parameters=tuple(Parameter(name, description) for name, description in page.takes.items()),
    )


def _make_page_form_token(call: EndpointCall) -> str | None:
    """Return the token for the forms of a page; None if the reader may not write."""
    if not call.may(TokenScope.WRITE):
        return None
    key: bytes = call.request.scope["state"]["form_key"]
    return make_form_token(key, call.grant.project, call.service.settings.now_ns() // NS_PER_S)


def _answer_work_progress(
    call: EndpointCall, page: Page, values: Mapping[str, str], progress: WorkProgress, frame: Frame
) -> HttpAnswer:
    """Return a page that shows how far its work is; browsers open it again by themselves.

    Regions of an open page that are refreshed keep what they show (204).
    """
    is_script = call.request.headers.get("hx-request") == "true"
    if is_script and not page.part:
        return HttpAnswer(body=b"", status=204)
    view = PageView(title=page.label or page.name.title(), template="working.html", fields={"progress": progress})
    answer = _make_html_answer(render_page_view(view, page, values, frame), 202)
    refresh = {} if is_script else {"refresh": str(WORK_REFRESH_SECONDS)}
    return replace(answer, headers={**answer.headers, **refresh})


def _make_page_note(call: EndpointCall) -> Note | None:
    """Return the function that logs reads of conversations; a refresh of an open page logs only what is new."""
    note = get_read_note(call)
    if note is None:
        return None
    reader = f"{call.grant.project} {call.grant.token_id}"
    again = call.request.headers.get("hx-request") == "true"
    return call.service.noted.limit_repeat_notes(note, reader, call.service.settings.now_ns(), again=again)


def _make_html_answer(text: str, status: int) -> HttpAnswer:
    return HttpAnswer(body=text.encode("utf-8", "replace"), status=status, media="text/html", headers=PAGE_HEADERS)


def _make_asset_endpoint(asset: Asset) -> Endpoint:
    async def handle(call: EndpointCall) -> HttpAnswer:
        headers = {"cache-control": CACHE_FOREVER, "vary": "accept-encoding"}
        if "gzip" in call.request.headers.get("accept-encoding", ""):
            return HttpAnswer(body=asset.packed, media=asset.media, headers={**headers, "content-encoding": "gzip"})
        return HttpAnswer(body=asset.data, media=asset.media, headers=headers)

    return Endpoint(
        method="GET",
        path=asset.path,
        name=f"asset-{asset.name}",
        summary="Return a built file of the pages.",
        scope=None,
        handle=handle,
        gives={200: asset.media},
    )


async def serve_live_status(call: EndpointCall) -> HttpAnswer:
    """Return the number of records."""
    return HttpAnswer(body=await call.ask(encode_page_refresh_state), headers={"cache-control": "no-store"})


async def login(call: EndpointCall) -> HttpAnswer:
    """Check a token, store it in the browser, and redirect to the requested page.

    Tokens of other projects that the browser has stay with it.
    """
    form = await _read_short_form(call)
    token = form.get("token", "").strip()
    check = _make_token_check(call)
    if await check.grant(token) is None:
        refusal = HttpProblem(401, "the token is invalid or has expired", remedy="use the newest token")
        if not accepts_html_page(call.request.headers.get("accept"), FIRST):
            raise refusal
        body, headers = encode_problem_page(refusal, choose_redirect_path(form.get("next", "")))
        return HttpAnswer(body=body, status=refusal.status, media="text/html", headers=_drop_content_type(headers))
    stored = await check.list_grants([token, *_read_browser_tokens(call)])
    return _store_browser_tokens(call, [each for each, _ in stored], choose_redirect_path(form.get("next", "")))


async def switch_project(call: EndpointCall) -> HttpAnswer:
    """Make another project of the browser's tokens the current one, and redirect to its overview."""
    project = (await _read_short_form(call)).get("project", "")
    stored = await _make_token_check(call).list_grants(_read_browser_tokens(call))
    if all(grant.project != project for _, grant in stored):
        raise HttpProblem(403, "this browser has no valid token of the project", remedy="sign in with one")
    ordered = sorted(stored, key=lambda each: each[1].project != project)
    return _store_browser_tokens(call, [token for token, _ in ordered], FIRST)


async def _read_short_form(call: EndpointCall) -> dict[str, str]:
    try:
        return dict(parse_qsl((await call.body()).decode(), keep_blank_values=True, max_num_fields=FIELDS_MAX))
    except UnicodeDecodeError as error:
        raise InputError("the form is not UTF-8 text") from error
    except ValueError as error:
        raise InputError(f"the form has more than {FIELDS_MAX} fields") from error


async def _read_other_repositories(call: EndpointCall) -> list[RepositoryRow | str]:
    """Return the other projects that the browser's tokens may read; a sentence for one that cannot be read now."""
    memory = call.service.memory.site

    def read_row(workspace: Workspace, project: str) -> RepositoryRow | str:
        return attempt_page_part(lambda: read_repository_row(workspace, project, memory))

    rows = []
    for _, grant in await _make_token_check(call).list_grants(_read_browser_tokens(call)):
        if grant.project != call.grant.project and TokenScope.READ in grant.scopes:
            rows.append(await call.service.readers.ask(grant.project, partial(read_row, project=grant.project)))
    return rows


def _make_token_check(call: EndpointCall) -> TokenCheck:
    settings = call.service.settings
    return TokenCheck(settings.keeper, settings.now_ns)


def _read_browser_tokens(call: EndpointCall) -> list[str]:
    headers = call.request.headers
    return read_cookie_tokens(headers.get("cookie"), headers.get("host", ""))


def _store_browser_tokens(call: EndpointCall, tokens: Sequence[str], location: str) -> HttpAnswer:
    secure = "; Secure" if is_over_tls(call.request.scope, call.service.settings.tls) else ""
    value = encode_cookie_tokens(tokens)
    cookie = f"{_read_cookie_name(call)}={value}; Path=/; HttpOnly; SameSite=Lax{secure}"
    return HttpAnswer(body=b"", status=303, headers={"location": location, "set-cookie": cookie})


async def logout(call: EndpointCall) -> HttpAnswer:
    """Remove all tokens from the browser."""
    cookie = f"{_read_cookie_name(call)}=; Path=/; HttpOnly; Max-Age=0"
    return HttpAnswer(body=b"", status=303, headers={"location": FIRST, "set-cookie": cookie})


def _read_cookie_name(call: EndpointCall) -> str:
    return make_token_cookie_name(call.request.headers.get("host", ""))


def _drop_content_type(headers: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in headers.items() if name != "content-type"}


def choose_redirect_path(url: str) -> str:
    """Return the page to show after signing in: one of ours, never another site."""
    is_ours = url.startswith("/") and not url.startswith(("//", "/\\", "/login", "/logout"))
    return url if is_ours and url.isascii() and url.isprintable() else FIRST
