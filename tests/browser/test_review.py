"""The review of a change in a browser: sound, by keyboard alone, on a phone, without script, and small when large."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import Look
from tests.builders.browser import PHONE, findings
from tests.builders.repo import a_repository
from tests.builders.service import Started, started

CHANGE = "/changes/again/add-up"
READY = ".verdict-box :is(.approve, .review, .block)"
ELEMENTS_MAX = 1_500


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


def test_a_whole_review_by_keyboard(look: Look) -> None:
    window = look()
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
    page.locator("article.hunk .diff").first.focus()
    page.keyboard.press("w")
    page.wait_for_url("**/why?**")


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
