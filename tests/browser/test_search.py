"""The search of the header in a browser: by keyboard, on a phone, without script, with hostile words."""

import pytest

from tests.browser.conftest import Look
from tests.builders.browser import PHONE, findings
from tests.builders.service import Started


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_key_finds_a_file_from_any_page(look: Look, theme: str) -> None:
    window = look(theme=theme)
    page = window.go("/sessions")
    window.settled()
    page.keyboard.press("/")
    page.keyboard.type("prices")
    page.keyboard.press("Enter")
    page.wait_for_url("**/search?text=prices")
    window.settled()
    assert page.locator(".found a", has_text="src/till/prices.py").count() == 1
    assert findings(page) == []
    page.locator(".found a", has_text="src/till/prices.py").click()
    page.wait_for_url("**/blame?file=*")


def test_hostile_words_fit_a_phone(look: Look) -> None:
    window = look(size=PHONE)
    page = window.go("/search?text=%3Cimg%20src%3Dx%20onerror%3Dalert(1)%3E%E2%80%AE" + "y" * 150)
    window.settled()
    assert page.locator("main img").count() == 0
    content, view = window.wide()
    assert content <= view
    assert findings(page) == []


def test_it_works_without_javascript(look: Look, service: Started) -> None:
    window = look()
    context = window.page.context.browser.new_context(java_script_enabled=False)  # type: ignore[union-attr]
    context.add_cookies([{"name": "custody_token", "value": service.token, "url": window.address}])
    page = context.new_page()
    page.goto(f"{window.address}/overview")
    page.fill(".search input", "prices")
    page.press(".search input", "Enter")
    page.wait_for_url("**/search?text=prices")
    assert page.locator(".found a").count() >= 1
    context.close()
