"""Every page: signing in, the theme, the content policy, and error pages."""

from itertools import pairwise

import httpx2
import pytest
from playwright.sync_api import expect

from custody.server.pages.book import PAGES
from tests.browser.conftest import Look
from tests.builders.browser import PHONE, findings
from tests.builders.service import Started

LABELLED = [page.name for page in PAGES if page.label is not None]


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("name", LABELLED)
def test_every_page_of_the_navigation_is_sound(look: Look, name: str, theme: str) -> None:
    window = look(theme=theme)
    window.go("/overview")
    window.page.click(f"nav a[href='/{name}']")
    window.page.wait_for_url(f"**/{name}*")
    page = window.settled()
    assert page.get_attribute("nav a[aria-current=page]", "href") == f"/{name}"
    assert page.inner_text("h1")
    assert findings(page) == []


OBJECTS = (
    "why?file=src/till/tax.py&line=10",
    "agent?name=claude-code",
    "simulate",
    "change?name=again/add-up",
    "source?id=S1",
    "session?id=c0ffee00",
    "session?id=unknown",
)


STACKED = {
    "overview",
    "changes",
    "trust",
    "sources",
    "sessions",
    "state",
    "agent?name=claude-code",
    "simulate",
    "source?id=S1",
}


@pytest.mark.parametrize("path", [*LABELLED, *OBJECTS])
def test_on_a_phone_nothing_scrolls_sideways_and_every_page_is_reachable(look: Look, path: str) -> None:
    window = look(size=PHONE, theme="dark")
    window.go(f"/{path}")
    page = window.settled()
    content, view = window.wide()
    assert content <= view
    cells = page.locator("table.stacks tbody :is(td, th)")
    ends = cells.evaluate_all("all => all.map((one) => one.getBoundingClientRect().right)")
    assert max(ends, default=0) <= view, "of a thing in a table everything is in sight"
    assert (len(ends) > 0) is (path in STACKED)
    assert findings(page) == []


@pytest.mark.parametrize("path", ["overview", "state", "session?id=c0ffee00"])
def test_on_a_phone_the_navigation_shows_the_current_page(look: Look, path: str) -> None:
    page = look(size=PHONE).go(f"/{path}")
    expect(page.locator(".top nav a[aria-current]")).to_be_in_viewport(ratio=0.9)


def test_only_a_table_that_scrolls_sideways_is_a_tab_stop(look: Look) -> None:
    page = look().go("/trust")
    expect(page.locator(".scroll")).to_have_count(1)
    expect(page.locator(".scroll[tabindex]")).to_have_count(0)
    page.set_viewport_size({"width": 700, "height": 700})
    expect(page.locator(".scroll[tabindex='0']")).to_have_count(1)


def test_on_a_phone_words_in_tables_are_not_broken(look: Look) -> None:
    page = look(size=PHONE).go("/graph?view=tree")
    tall = "one => one.getBoundingClientRect().height / parseFloat(getComputedStyle(one).lineHeight)"
    for words in ("bdi:has-text('Claude Code') >> nth=0", "time >> nth=0"):
        assert page.locator(f"#graph-region td {words}").evaluate(tall) < 1.5


def test_on_a_phone_the_labels_of_a_chart_are_readable(look: Look) -> None:
    window = look(size=PHONE)
    window.go("/agent?name=claude-code")
    page = window.settled()
    shown = page.locator(".chart >> nth=0").locator("text")
    tall = shown.evaluate_all("all => all.map((one) => one.getBoundingClientRect()).filter((one) => one.height)")
    assert len(tall) >= 5 and all(one["height"] > 8 for one in tall)
    ends = sorted((one["left"], one["right"]) for one in tall[3:])
    assert all(before[1] < after[0] for before, after in pairwise(ends)), "no two are above each other"


def test_a_wrong_token_keeps_the_requested_page(look: Look, service: Started) -> None:
    window = look(signed_in=False)
    page = window.go("/sessions?agent=patchbot")
    for token in ("wrong", service.token):
        page.fill("#token", token)
        page.click("main button")
    page.wait_for_url("**/sessions?agent=patchbot")
    assert page.inner_text("h1") == "Sessions"


def test_an_error_page_links_back(look: Look) -> None:
    window = look()
    page = window.go("/session?id=unknown")
    assert page.locator("nav a").count() == len(LABELLED)
    page.click("main a:text-is('Sessions')")
    assert page.inner_text("h1") == "Sessions"
    window.go("/session?id=unknown").click("main a:text-is('Overview')")
    page.wait_for_url("**/overview")
    assert page.inner_text("h1") == "till"


def test_an_expired_token_is_rejected_and_a_valid_one_signs_in(look: Look, service: Started) -> None:
    window = look(signed_in=False)
    page = window.go("/trust?token=" + "0" * 64)
    assert "invalid or has expired" in page.inner_text("main")
    assert findings(page) == []
    page.fill("#token", "nonsense")
    page.click("main button")
    assert page.inner_text("h1") == "Sign in"
    page.goto(f"{window.address}/trust")
    page.fill("#token", service.token)
    page.click("main button")
    page.wait_for_url("**/trust")
    assert page.inner_text("h1") != "Sign in"


def test_a_button_selects_the_dark_theme_for_good(look: Look) -> None:
    window = look()
    page = window.go()
    before = page.evaluate("getComputedStyle(document.documentElement).backgroundColor")
    page.click("#theme")
    after = page.evaluate("getComputedStyle(document.documentElement).backgroundColor")
    assert before != after
    page.reload()
    assert page.evaluate("getComputedStyle(document.documentElement).backgroundColor") == after


def test_an_unknown_path_shows_a_page(look: Look) -> None:
    window = look()
    page = window.go("/nothing-of-the-kind")
    assert page.inner_text("h1") == "Page not found"
    assert findings(page) == []


def test_no_inline_script_runs(look: Look) -> None:
    window = look()
    page = window.go()
    page.evaluate("document.body.append(Object.assign(document.createElement('script'), {text: 'window.ran = 1'}))")
    assert page.evaluate("window.ran") is None
    window.wrong.clear()  # the content policy reports this on the console


def test_pages_have_a_policy_and_programs_get_json(service: Started) -> None:
    cookie = {"cookie": f"custody_token={service.token}"}
    address = f"http://127.0.0.1:{service.port}"
    found = httpx2.get(f"{address}/overview", headers={**cookie, "accept": "text/html"})
    policy = found.headers["content-security-policy"]
    assert "'unsafe-inline'" not in policy and "default-src 'none'" in policy and "script-src 'self'" in policy
    assert httpx2.get(f"{address}/overview").headers["content-type"] == "application/problem+json"
    assert httpx2.get(f"{address}/overview", headers={**cookie, "host": "evil.example"}).status_code == 403
    assert httpx2.get(f"{address}/overview", headers={**cookie, "origin": "https://evil.example"}).status_code == 403
    assert httpx2.post(f"{address}/api/v1/decisions", headers=cookie, json={}).status_code == 401
