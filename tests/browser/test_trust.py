"""Trust in a browser: an agent, its history, a past time, and policy simulation."""

import re

import pytest

from tests.browser.conftest import Look
from tests.builders.browser import PHONE, findings

OWN_PAGES = ("/agent?name=claude-code", "/simulate", "/simulate?samples=1&days=730")


def test_an_agent_shows_its_history_and_a_past_time(look: Look) -> None:
    window = look()
    page = window.go("/trust")
    page.click("table.agents a:has-text('Claude Code')")
    page.wait_for_selector("h1:has-text('claude-code')")
    window.settled()
    assert page.locator("table.account tbody tr").count() == 15
    assert page.locator("svg.chart").count() == 2
    page.fill("input[name=at]", "2026-02-15T12:00")
    page.click("main form button:has-text('Show')")
    page.wait_for_url(re.compile(r"at=2026-02-15"))
    window.settled()
    assert page.locator("table.account tbody tr").count() == 6
    assert "At 2026-02-15 12:00:00 UTC" in window.said()
    page.click("p.lead a")
    page.wait_for_selector(".card:has-text('13')")


def test_sliders_show_their_values_and_results(look: Look) -> None:
    window = look()
    page = window.go("/simulate")
    window.settled()
    merged = "#result table >> nth=0 >> tbody tr >> nth=1 >> td >> nth=1"
    assert page.inner_text(merged) == "3"
    slider = page.locator("#s-samples")
    slider.focus()
    for _ in range(10):
        slider.press("ArrowLeft")
    assert page.inner_text("output[for=s-samples]") == "0"
    page.wait_for_url(re.compile(r"samples=0"))
    page.wait_for_selector("#result .k-block:has-text('above')")
    assert int(page.inner_text(merged)) > 3
    assert page.evaluate("document.activeElement.id") == "s-samples"
    page.reload()
    assert page.input_value("#s-samples") == "0"
    page.click("a:has-text('Reset to the current rules')")
    page.wait_for_url("**/simulate")


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("path", OWN_PAGES)
def test_every_page_of_trust_is_sound(look: Look, path: str, theme: str) -> None:
    window = look(theme=theme)
    window.go(path)
    assert findings(window.settled()) == []


@pytest.mark.parametrize("path", OWN_PAGES)
def test_on_a_phone_no_page_of_trust_scrolls_sideways(look: Look, path: str) -> None:
    window = look(size=PHONE)
    window.go(path)
    window.settled()
    content, view = window.wide()
    assert content <= view
