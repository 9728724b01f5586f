"""The review of a change in a browser: sound, by keyboard alone, on a phone, without script, and small when large."""

import json
import shutil
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.conftest import Look
from tests.builders.browser import PHONE, findings, looking
from tests.builders.repo import a_repository
from tests.builders.review_numbers import compare_numbers, numbers_in_report, numbers_on_pages
from tests.builders.service import Started, started

CHANGE = "/changes/again/add-up"
READY = ".verdict-box :is(.approve, .review, .block)"
ELEMENTS_MAX = 1_500
COMPLETE_SECONDS_MAX = 120


def opened(page: Page) -> Page:
    page.wait_for_selector(READY)
    return page


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("path", [CHANGE, f"{CHANGE}?by=file", "/changes/forged/discounts", "/changes/main~1..main"])
def test_a_review_is_sound(look: Look, path: str, theme: str) -> None:
    window = look(theme=theme)
    page = opened(window.go(path))
    window.settled()
    assert findings(page) == []
    assert page.locator("article.hunk .proof").count() >= 1


@pytest.fixture(scope="module")
def own_story(story: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, Started]]:
    """A copy of the demo's repository that tests may change, and a service on it."""
    folder = tmp_path_factory.mktemp("own") / "till"
    shutil.copytree(story, folder, symlinks=True)
    with started(folder) as service:
        yield folder, service


def run_custody(folder: Path, *words: str) -> Any:
    ran = subprocess.run(
        [sys.executable, "-m", "custody", *words, "--json"], cwd=folder, capture_output=True, text=True, check=False
    )
    return json.loads(ran.stdout)


def test_a_whole_review_by_keyboard(look: Look, own_story: tuple[Path, Started]) -> None:
    folder, service = own_story
    window = look(service)
    page = opened(window.go(CHANGE))
    window.settled()
    total = page.locator("article.hunk").count()
    for number in range(total):
        page.keyboard.press("j")
        expect(page.locator("article.hunk.now")).to_have_count(1)
        page.keyboard.press("x")
        expect(page.locator("#read-count")).to_have_text(f"{number + 1} of {total} read")
    page.keyboard.press("e")
    expect(page.locator(".proof").first).to_be_hidden()
    page.keyboard.press("e")
    expect(page.locator(".proof").first).to_be_visible()
    page.keyboard.press("y")
    assert page.evaluate("location.hash") == f"#{page.locator('article.hunk.now').get_attribute('id')}"
    page.keyboard.press("?")
    expect(page.locator("dialog")).to_contain_text("mark as read")
    assert findings(page) == []
    page.keyboard.press("Escape")
    page.reload()
    opened(page)
    expect(page.locator("#read-count")).to_have_text(f"{total} of {total} read")
    expect(page.locator("article input[data-read]").first).to_be_checked()
    assert run_custody(folder, "read", "main..again/add-up")["read"] == total, "a mark on the page is a record"
    page.locator("article.hunk .diff").first.focus()
    page.keyboard.press("w")
    page.wait_for_url("**/why?**")


def test_a_decision_from_the_page_is_the_one_of_the_command(look: Look, own_story: tuple[Path, Started]) -> None:
    folder, service = own_story
    window = look(service)
    page = opened(window.go("/changes/clean/format-price"))
    page.click("text=Record a decision")
    expect(page.locator(".trust-words").first).to_contain_text("reviews")
    page.check("input[value=rejected]")
    page.fill("input[name=reason]", "the wrong currency")
    page.click(".decide button")
    page.wait_for_url("**#decide")
    expect(page.locator("#decide")).to_contain_text("the wrong currency")
    assert findings(page) == []
    newest = run_custody(folder, "trust", "show", "claude-code")["history"][0]
    assert (newest["decision"], newest["reason"], newest["counts"]) == ("rejected", "the wrong currency", True)


def test_a_token_that_may_not_write_marks_in_the_browser_and_sees_commands(
    browser: Browser, own_story: tuple[Path, Started]
) -> None:
    folder, service = own_story
    token = run_custody(folder, "token", "create", "--scope", "read")["secret"]
    with looking(browser, f"http://127.0.0.1:{service.port}", token) as window:
        page = opened(window.go("/changes/forged/discounts"))
        page.keyboard.press("j")
        page.keyboard.press("x")
        expect(page.locator("#read-count")).to_have_text("1 of 1 read")
        page.keyboard.press("x")
        expect(page.locator("#read-count")).to_have_text("0 of 1 read")
        page.keyboard.press("x")
        page.reload()
        expect(page.locator("#read-count")).to_have_text("1 of 1 read")
        page.click("text=Record a decision")
        expect(page.locator("#decide .cmd").first).to_contain_text("custody trust record")
        assert page.locator("#decide form").count() == 0
    assert run_custody(folder, "read", "main..forged/discounts")["read"] == 0


def test_every_number_of_the_page_is_that_of_the_command(story: Path, service: Started) -> None:
    def get(path: str) -> str:
        url = f"http://127.0.0.1:{service.port}{path}"
        cookie = {"cookie": f"custody_token={service.token}", "accept": "text/html"}
        until = time.monotonic() + COMPLETE_SECONDS_MAX
        while time.monotonic() < until:
            with urllib.request.urlopen(urllib.request.Request(url, headers=cookie)) as answer:
                html = str(answer.read().decode())
            if 'id="review-status"' not in html:
                return html
            time.sleep(0.2)
        raise TimeoutError(path)

    for name in ("rewrite/read-prices", "report/rounding", "clean/format-price", "earlier"):
        page = numbers_on_pages(get, f"/changes/{name}")
        assert page["hunks"], name
        assert compare_numbers(page, numbers_in_report(run_custody(story, "review", f"main..{name}"))) == [], name


def test_keys_are_off_while_typing_and_by_the_switch(look: Look) -> None:
    window = look()
    page = opened(window.go(CHANGE))
    page.keyboard.press("?")
    page.locator("dialog input[type=checkbox]").uncheck()
    page.keyboard.press("Escape")
    page.keyboard.press("j")
    expect(page.locator("article.hunk.now")).to_have_count(0)


def test_on_a_phone_only_code_scrolls_sideways(look: Look) -> None:
    window = look(size=PHONE)
    page = opened(window.go(CHANGE))
    window.settled()
    content, view = window.wide()
    assert content <= view
    assert findings(page) == []


def test_without_script_the_page_has_the_diff_and_links(look: Look) -> None:
    window = look()
    opened(window.go(CHANGE))  # the service has computed it
    context = window.page.context.browser.new_context(java_script_enabled=False)  # type: ignore[union-attr]
    try:
        context.add_cookies([{"name": "custody_token", "value": window.token, "url": window.address}])
        page = context.new_page()
        page.goto(f"{window.address}{CHANGE}")
        assert page.locator("article.hunk .l.add").count() > 1
        assert page.locator(READY).count() == 1
        assert page.locator(".needs-script:visible").count() == 0
    finally:
        context.close()


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Started]:
    """A service with a change of 10,000 lines in 50 files."""
    built = a_repository(tmp_path_factory.mktemp("large") / "repo")
    first = built.commit({b"a.py": b"x\n"})
    body = b"".join(b"    total = total + amount_%d  # add it\n" % n for n in range(200))
    built.commit({b"src/part_%02d.py" % n: b"def f(total):\n" + body for n in range(50)}, first)
    built.checkout()
    with started(Path(built.path)) as service:
        yield service


def test_ten_thousand_lines_are_few_elements_and_open_one_by_one(look: Look, large: Started) -> None:
    window = look(large)
    page = opened(window.go("/changes/HEAD~1..HEAD"))
    window.settled()
    assert window.nodes() <= ELEMENTS_MAX
    folded = page.locator("article.hunk.folded").first
    name = folded.get_attribute("data-hunk")
    folded.locator(".unfold").click()
    expect(page.locator(f"article[data-hunk='{name}'] .l.add").first).to_be_visible()
    page.click("a[rel=next]")
    page.wait_for_url("**from=*")
    expect(page.locator("article.hunk").first).to_be_visible()
