"""The frame of the pages: everything is text, every page has its policy, and nothing leads elsewhere."""

import gzip
import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markupsafe import Markup

from custody.server.app.questions import in_work_tree
from custody.server.pages.book import PAGES, page_for
from custody.server.pages.frame import (
    Frame,
    PageEnvironment,
    ServedLinks,
    assets,
    block,
    environment,
    refusal_page,
    render,
)
from custody.server.pages.page import Page, PageView
from custody.server.pages.phrases import SIGNS_MAX, escape_control_characters, short
from custody.workspace.workspace import Workspace
from tests.builders.repo import a_repository
from tests.builders.service import Asked, a_trace, bearer

HTML = {"accept": "text/html"}
SCRIPT_BYTES_MAX = 100_000


@given(st.text())
def test_shown_text_holds_no_sign_that_acts(text: str) -> None:
    found = escape_control_characters(text)
    assert all(sign.isprintable() or sign in "\n\t\u200c\u200d\ufe0e\ufe0f" or sign.isspace() for sign in found)
    assert "\x1b" not in found and "\u202e" not in found and "\0" not in found


@given(st.text(min_size=1), st.integers(1, 50))
def test_shown_text_is_bounded_and_says_so(text: str, most: int) -> None:
    found = escape_control_characters(text, most)
    assert len(found) <= most * 8 + 40
    assert (len(text) > most) == found.endswith(f"… ({len(text):,} signs)")


@given(st.text(), st.integers(4, 200))
def test_short_text_is_one_line(text: str, most: int) -> None:
    assert len(short(text, most)) <= most
    assert "\n" not in short(text, most)


@given(
    st.recursive(
        st.text() | st.integers() | st.none(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)
    )
)
def test_a_block_is_read_back_and_cannot_be_ended(data: object) -> None:
    made = str(block("data", data))
    inside = re.fullmatch(r'<script type="application/json" id="data">(.*)</script>', made, re.DOTALL)
    assert inside is not None and "<" not in inside[1]
    whole = json.dumps(data).encode("utf-8", "replace").decode()
    assert json.loads(inside[1]) == json.loads(re.sub(r"\\ud[89a-f][0-9a-f]{2}", "?", whole)) or "\\ud" in whole


@given(st.text())
def test_what_stands_in_braces_is_escaped(text: str) -> None:
    made = environment().from_string("<p>{{ text }}</p>").render(text=text)
    assert made.startswith("<p>") and made.endswith("</p>")
    assert "<" not in made[3:-4] and ">" not in made[3:-4]


REFUSED = {"detail": "", "remedy": None, "sign_in": False, "back": None, "next": ""}


def test_only_markup_is_markup() -> None:
    assert environment().from_string("{{ a }}{{ b }}").render(a="<b>", b=Markup("<i>")) == "&lt;b&gt;<i>"


def test_a_long_text_is_cut_and_an_address_never() -> None:
    long = "x" * (SIGNS_MAX * 2)
    page = Page(name="overview", view=lambda _workspace, _asked: PageView(title="", template=""))
    view = PageView(title=long, template="refused.html", fields={**REFUSED, "detail": long})
    frame = Frame(links=ServedLinks(), around=PageEnvironment(project="p", version="1"), book=())
    made = render(view, page, {}, frame)
    assert len(made) < SIGNS_MAX * 3
    template = environment().from_string("{{ to('session', id=long) }}")
    assert f"/session?id={long}" == template.render(
        to=lambda name, **said: Markup(ServedLinks().to(name, said)), long=long
    )


def test_no_template_has_inline_script_style_or_unescaped_text() -> None:
    loader = environment().loader
    assert loader is not None
    for name in loader.list_templates():
        source, _, _ = loader.get_source(environment(), name)
        assert not re.search(r"<script(?![^>]*\bsrc=)[^>]*>", source), name
        assert not re.search(r"<style|\sstyle=|\son[a-z]+=|javascript:|\|\s*safe|autoescape", source), name


@pytest.mark.parametrize("page", [page for page in PAGES if not page.part], ids=lambda page: page.name)
def test_every_page_says_where_in_the_navigation_it_is(page: Page) -> None:
    view = PageView(title="any", template="refused.html", fields=REFUSED)
    around = PageEnvironment(project="default", version="0")
    html = render(view, page, {}, Frame(links=ServedLinks(), around=around, book=PAGES))
    navigation = html[html.index("<nav") : html.index("</nav>")]
    found = re.findall(r'href="/([a-z]+)" aria-current="(\w+)"', navigation)
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
def test_a_refusal_leads_to_others_of_the_kind(address: str, back: list[str]) -> None:
    html = refusal_page(404, "There is no such thing", "nothing is here", None, address)
    assert re.findall(r'href="(/\w+)"', html[html.index("<main") :]) == [*back, "/overview"]


def test_the_first_page_needs_little_script() -> None:
    assert len(assets()["app.js"].packed) < SCRIPT_BYTES_MAX


def test_every_page_answers_an_empty_store_in_words(service: Asked) -> None:
    for page in PAGES:
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


def test_a_built_file_is_kept_for_ever_under_its_digest(service: Asked) -> None:
    for asset in assets().values():
        found = service.client.get(asset.path)
        assert found.status_code == 200 and found.content == asset.data
        assert "immutable" in found.headers["cache-control"]


class TestSigningIn:
    def test_a_good_token_is_held_in_a_cookie_that_no_script_reads(self, service: Asked) -> None:
        found = service.client.post("/login", data={"token": "read", "next": "/trust?x=1"}, follow_redirects=False)
        assert (found.status_code, found.headers["location"]) == (303, "/trust?x=1")
        cookie = found.headers["set-cookie"]
        assert "HttpOnly" in cookie and "SameSite=Lax" in cookie and "Secure" not in cookie

    def test_over_tls_it_never_leaves_it(self, service: Asked) -> None:
        found = service.client.post(
            "/login", data={"token": "read"}, headers={"origin": "https://127.0.0.1"}, follow_redirects=False
        )
        assert "Secure" in found.headers["set-cookie"]

    @pytest.mark.parametrize("onward", ["https://evil.example/", "//evil.example", "/\\evil.example", "x", "", "/a\nb"])
    def test_one_goes_on_to_our_pages_only(self, service: Asked, onward: str) -> None:
        found = service.client.post("/login", data={"token": "read", "next": onward}, follow_redirects=False)
        assert found.headers["location"] == "/overview"

    @pytest.mark.parametrize("token", ["", "wrong", "expired", "x" * 10_000])
    def test_a_bad_token_is_refused_on_a_page(self, service: Asked, token: str) -> None:
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
    def test_what_is_no_small_form_is_not_read(
        self, service: Asked, form: bytes, more: dict[str, str], status: int
    ) -> None:
        headers = {"content-type": "application/x-www-form-urlencoded", **more}
        for content in (form, iter([form])):  # the second without a length
            found = service.client.post("/login", content=content, headers=headers, follow_redirects=False)
            assert (found.status_code, "set-cookie" in found.headers) == (status, False)

    def test_another_sites_form_signs_nobody_in(self, service: Asked) -> None:
        headers = {"origin": "https://evil.example"}
        found = service.client.post("/login", data={"token": "read"}, headers=headers, follow_redirects=False)
        assert found.status_code == 403

    def test_signing_out_forgets(self, service: Asked) -> None:
        found = service.client.post("/logout", follow_redirects=False)
        assert found.status_code == 303 and "Max-Age=0" in found.headers["set-cookie"]


def test_a_browser_is_led_from_the_programs_addresses_to_pages(service: Asked) -> None:
    for path, page in (("/", "/overview"), ("/health", "/state")):
        found = service.client.get(path, headers={**bearer(), **HTML}, follow_redirects=False)
        assert (found.status_code, found.headers["location"]) == (303, page)
        assert service.get(path).headers["content-type"] == "application/json"


def test_live_says_how_many_records_there_are(service: Asked) -> None:
    before = service.get("/live").json()
    assert service.send("traces", a_trace()).status_code in (200, 201)
    after = service.get("/live").json()
    assert after["head"] != before["head"] and after["records"] == before["records"] + 1


def test_what_is_opened_is_what_is_there(tmp_path: Path) -> None:
    built = a_repository(tmp_path / "repo")
    built.commit({b"src/app.py": b"x\n", b"Makefile": b"all:\n"})
    built.checkout()
    here = Workspace(built.path / "src")

    def opened(what: str, workspace: Workspace) -> str:
        return page_for(what, lambda name: in_work_tree(workspace, name))

    assert opened("Makefile", Workspace(built.path)) == "/blame?file=Makefile"
    assert opened("src", Workspace(built.path)) == "/blame?folder=src"
    assert opened("app.py", here) == "/blame?file=src%2Fapp.py"
    assert opened("app.py:1", here) == "/why?file=src%2Fapp.py&line=1"
    assert opened("../../outside", here) == "/blame?file=..%2F..%2Foutside"


def test_without_scripts_what_comes_later_is_a_link(service: Asked) -> None:
    found = service.get("/overview", accept="text/html").text
    assert '<noscript><p><a href="/overview-share">' in found
