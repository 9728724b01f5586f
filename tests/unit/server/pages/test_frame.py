"""The frame of the pages: escaped text, the content policy, links, and signing in."""

import gzip
import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markupsafe import Markup

from custody.server.app.questions import find_page_file
from custody.server.pages.book import PAGES, resolve_page_url
from custody.server.pages.frame import (
    Frame,
    PageEnvironment,
    ServedLinks,
    load_page_assets,
    load_template_environment,
    render_data_island,
    render_page_view,
    render_problem_page,
)
from custody.server.pages.page import Page, PageView
from custody.server.pages.phrases import TEXT_CHARACTERS_MAX, escape_page_text, shorten_page_text
from custody.workspace.workspace import Workspace
from tests.builders.repo import a_repository
from tests.builders.service import OTHER, Asked, a_trace, bearer

REQUESTS_MAX = 60
HTML = {"accept": "text/html"}
SCRIPT_BYTES_MAX = 100_000


@given(st.text())
def test_shown_text_has_no_control_character(text: str) -> None:
    found = escape_page_text(text)
    assert all(c.isprintable() or c in "\n\t\u200c\u200d\ufe0e\ufe0f" or c.isspace() for c in found)
    assert "\x1b" not in found and "\u202e" not in found and "\0" not in found


@given(st.text(min_size=1), st.integers(1, 50))
def test_shown_text_is_bounded_and_says_so(text: str, most: int) -> None:
    found = escape_page_text(text, most)
    assert len(found) <= most * 8 + 40
    assert (len(text) > most) == found.endswith(f"… ({len(text):,} characters)")


@given(st.text(), st.integers(4, 200))
def test_short_text_is_one_line(text: str, most: int) -> None:
    assert len(shorten_page_text(text, most)) <= most
    assert "\n" not in shorten_page_text(text, most)


@given(
    st.recursive(
        st.text() | st.integers() | st.none(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)
    )
)
def test_a_data_island_parses_back_and_cannot_be_closed(data: object) -> None:
    made = str(render_data_island("data", data))
    inside = re.fullmatch(r'<script type="application/json" id="data">(.*)</script>', made, re.DOTALL)
    assert inside is not None and "<" not in inside[1]
    whole = json.dumps(data).encode("utf-8", "replace").decode()
    assert json.loads(inside[1]) == json.loads(re.sub(r"\\ud[89a-f][0-9a-f]{2}", "?", whole)) or "\\ud" in whole


@given(st.text())
def test_text_in_braces_is_escaped(text: str) -> None:
    made = load_template_environment().from_string("<p>{{ text }}</p>").render(text=text)
    assert made.startswith("<p>") and made.endswith("</p>")
    assert "<" not in made[3:-4] and ">" not in made[3:-4]


REFUSED = {"detail": "", "remedy": None, "sign_in": False, "back": None, "next": ""}


def test_only_markup_is_markup() -> None:
    assert load_template_environment().from_string("{{ a }}{{ b }}").render(a="<b>", b=Markup("<i>")) == "&lt;b&gt;<i>"


def test_a_long_text_is_cut_and_a_url_never() -> None:
    long = "x" * (TEXT_CHARACTERS_MAX * 2)
    page = Page(name="overview", view=lambda _workspace, _asked: PageView(title="", template=""))
    view = PageView(title=long, template="refused.html", fields={**REFUSED, "detail": long})
    frame = Frame(links=ServedLinks(), around=PageEnvironment(project="p", version="1"), book=())
    made = render_page_view(view, page, {}, frame)
    assert 0 < max(map(len, re.findall(r"x+", made))) <= TEXT_CHARACTERS_MAX
    template = load_template_environment().from_string("{{ to('session', id=long) }}")
    assert f"/session?id={long}" == template.render(
        to=lambda name, **said: Markup(ServedLinks().find_page_url(name, said)), long=long
    )


def test_no_template_has_inline_script_style_or_unescaped_text() -> None:
    loader = load_template_environment().loader
    assert loader is not None
    for name in loader.list_templates():
        source, _, _ = loader.get_source(load_template_environment(), name)
        assert not re.search(r"<script(?![^>]*\bsrc=)[^>]*>", source), name
        assert not re.search(r"<style|\sstyle=|\son[a-z]+=|javascript:|\|\s*safe|autoescape", source), name


@pytest.mark.parametrize("page", [page for page in PAGES if not page.part], ids=lambda page: page.name)
def test_every_page_marks_its_place_in_the_navigation(page: Page) -> None:
    view = PageView(title="any", template="refused.html", fields=REFUSED)
    around = PageEnvironment(project="default", version="0")
    html = render_page_view(view, page, {}, Frame(links=ServedLinks(), around=around, book=PAGES))
    navigation = html[html.index("<nav") : html.index("</nav>")]
    found = re.findall(r'href="/([a-z]+)" aria-current="(\w+)"', navigation)
    if page.name == "search":
        assert not page.section and found == [] and 'role="search"' in html, "its place is the field in the header"
    else:
        assert found == [(page.name, "page") if page.label else (page.section, "true")]


@pytest.mark.parametrize(
    ("address", "back"),
    [
        ("/change?name=nothing", ["/changes"]),
        ("/session", ["/sessions"]),
        ("/changes?state=none", []),
        ("/nothing", []),
        ("//[", []),
    ],
)
def test_an_error_page_links_to_its_section(address: str, back: list[str]) -> None:
    html = render_problem_page(404, "Not found", "unknown path", None, address)
    assert "<h1>Page not found</h1>" in html
    assert re.findall(r'href="(/\w+)"', html[html.index("<main") :]) == [*back, "/overview"]


def test_the_first_page_needs_little_script() -> None:
    assert len(load_page_assets()["app.js"].packed) < SCRIPT_BYTES_MAX


def test_every_page_works_with_an_empty_store(service: Asked) -> None:
    for page in PAGES:
        found = service.get(f"/{page.name}", accept="text/html")
        for _ in range(REQUESTS_MAX):
            if found.status_code != 202:  # a busy machine: the page shows how far it is first
                break
            found = service.get(f"/{page.name}", accept="text/html")
        assert found.status_code in (200, 404, 422), (page.name, found.text)
        if page.label is not None:
            assert found.status_code == 200, (page.name, found.text)
        assert found.headers["content-type"].startswith("text/html"), page.name
        assert "script-src 'self'" in found.headers["content-security-policy"], page.name
        assert found.headers["cache-control"] == "no-store"


@pytest.mark.parametrize("page", [page.name for page in PAGES])
def test_no_page_opens_without_a_token(service: Asked, page: str) -> None:
    found = service.client.get(f"/{page}", headers=HTML)
    assert found.status_code == 401
    assert "Sign in" in found.text


def test_a_page_needs_the_scope_to_read(service: Asked) -> None:
    assert service.get("/overview", token="write", accept="text/html").status_code == 403


def test_a_built_file_is_cached_forever_under_its_digest(service: Asked) -> None:
    for asset in load_page_assets().values():
        found = service.client.get(asset.path)
        assert found.status_code == 200 and found.content == asset.data
        assert "immutable" in found.headers["cache-control"]


class TestSigningIn:
    def test_a_valid_token_is_stored_in_an_http_only_cookie(self, service: Asked) -> None:
        found = service.client.post("/login", data={"token": "read", "next": "/trust?x=1"}, follow_redirects=False)
        assert (found.status_code, found.headers["location"]) == (303, "/trust?x=1")
        cookie = found.headers["set-cookie"]
        assert "HttpOnly" in cookie and "SameSite=Lax" in cookie and "Secure" not in cookie

    def test_over_tls_the_cookie_is_secure(self, service: Asked) -> None:
        over_tls = {"host": "custody.example", "origin": "https://custody.example"}
        found = service.client.post("/login", data={"token": "read"}, headers=over_tls, follow_redirects=False)
        assert "Secure" in found.headers["set-cookie"]

    @pytest.mark.parametrize("onward", ["https://evil.example/", "//evil.example", "/\\evil.example", "x", "", "/a\nb"])
    def test_the_redirect_leads_to_our_pages_only(self, service: Asked, onward: str) -> None:
        found = service.client.post("/login", data={"token": "read", "next": onward}, follow_redirects=False)
        assert found.headers["location"] == "/overview"

    @pytest.mark.parametrize("token", ["", "wrong", "expired", "x" * 10_000])
    def test_an_invalid_token_shows_the_sign_in_page(self, service: Asked, token: str) -> None:
        found = service.client.post("/login", data={"token": token}, headers=HTML, follow_redirects=False)
        assert found.status_code == 401 and "set-cookie" not in found.headers
        assert "Sign in" in found.text

    @pytest.mark.parametrize(
        ("form", "more", "status"),
        [
            (b"token=read&x=" + b"x" * 20_000, {}, 413),
            (b"&".join(b"a%d=" % n for n in range(20)) + b"&token=read", {}, 422),
            (b"token=\xff", {}, 422),
            (gzip.compress(b"token=read", mtime=0), {"content-encoding": "gzip"}, 415),
        ],
        ids=["long", "fields", "no text", "packed"],
    )
    def test_a_large_or_invalid_form_is_rejected(
        self, service: Asked, form: bytes, more: dict[str, str], status: int
    ) -> None:
        headers = {"content-type": "application/x-www-form-urlencoded", **more}
        for content in (form, iter([form])):  # the second without a length
            found = service.client.post("/login", content=content, headers=headers, follow_redirects=False)
            assert (found.status_code, "set-cookie" in found.headers) == (status, False)

    def test_a_form_of_another_site_is_rejected(self, service: Asked) -> None:
        headers = {"origin": "https://evil.example"}
        found = service.client.post("/login", data={"token": "read"}, headers=headers, follow_redirects=False)
        assert found.status_code == 403

    def test_a_browser_shows_each_repository_that_it_has_a_token_of(self, service: Asked) -> None:
        assert service.send("traces", a_trace(), OTHER).status_code in (200, 201)
        cookie = self.sign_in(service, "read", "")
        alone = service.client.get("/overview-repositories", headers={"cookie": cookie, **HTML})
        assert alone.status_code == 200 and "project" not in alone.text.partition("<details")[0]
        cookie = self.sign_in(service, OTHER, cookie)
        assert cookie == f"custody_token={OTHER}.read"
        listed = service.client.get("/overview-repositories", headers={"cookie": cookie, **HTML}).text
        assert [name in listed for name in ('value="default"', 'value="other"')] == [True, False]

    def test_switching_shows_only_projects_of_the_browsers_tokens(self, service: Asked) -> None:
        cookie = self.sign_in(service, "read", self.sign_in(service, OTHER, ""))
        found = self.switch(service, "other", cookie)
        assert (found.status_code, found.headers["location"]) == (303, "/overview")
        assert found.headers["set-cookie"].startswith(f"custody_token={OTHER}.read;")
        for project, cookies in (("third", cookie), ("other", "custody_token=read"), ("other", ""), ("", cookie)):
            assert self.switch(service, project, cookies).status_code == 403

    def test_tokens_that_are_no_longer_valid_are_dropped(self, service: Asked) -> None:
        cookie = self.sign_in(service, OTHER, "custody_token=expired.wrong.read.all")
        assert cookie == f"custody_token={OTHER}.read"
        many = ".".join(f"t{n}" for n in range(500))
        assert self.sign_in(service, "read", f"custody_token={many}") == "custody_token=read"

    @staticmethod
    def sign_in(service: Asked, token: str, cookie: str) -> str:
        headers = {"cookie": cookie} if cookie else {}
        found = service.client.post("/login", data={"token": token}, headers=headers, follow_redirects=False)
        service.client.cookies.clear()
        return str(found.headers["set-cookie"]).partition(";")[0]

    @staticmethod
    def switch(service: Asked, project: str, cookie: str) -> Any:
        headers = {"cookie": cookie} if cookie else {}
        found = service.client.post("/switch", data={"project": project}, headers=headers, follow_redirects=False)
        service.client.cookies.clear()
        return found

    def test_signing_out_removes_the_cookie(self, service: Asked) -> None:
        found = service.client.post("/logout", follow_redirects=False)
        assert found.status_code == 303 and "Max-Age=0" in found.headers["set-cookie"]


def test_a_browser_is_redirected_from_api_paths_to_pages(service: Asked) -> None:
    for path, page in (("/", "/overview"), ("/health", "/state")):
        found = service.client.get(path, headers={**bearer(), **HTML}, follow_redirects=False)
        assert (found.status_code, found.headers["location"]) == (303, page)
        assert service.get(path).headers["content-type"] == "application/json"


def test_live_returns_the_number_of_records(service: Asked) -> None:
    before = service.get("/live").json()
    assert service.send("traces", a_trace()).status_code in (200, 201)
    after = service.get("/live").json()
    assert after["head"] != before["head"] and after["records"] == before["records"] + 1


def test_open_finds_files_in_the_work_tree(tmp_path: Path) -> None:
    built = a_repository(tmp_path / "repo")
    built.commit({b"src/app.py": b"x\n", b"Makefile": b"all:\n"})
    built.checkout()
    here = Workspace(built.path / "src")

    def opened(name: str, workspace: Workspace) -> str:
        return resolve_page_url(name, lambda path: find_page_file(workspace, path))

    assert opened("Makefile", Workspace(built.path)) == "/blame?file=Makefile"
    assert opened("src", Workspace(built.path)) == "/blame?folder=src"
    assert opened("app.py", here) == "/blame?file=src%2Fapp.py"
    assert opened("app.py:1", here) == "/why?file=src%2Fapp.py&line=1"
    assert opened("../../outside", here) == "/blame?file=..%2F..%2Foutside"


def test_without_javascript_a_later_part_is_a_link(service: Asked) -> None:
    found = service.get("/overview", accept="text/html").text
    assert '<noscript><p><a href="/overview-share">' in found
