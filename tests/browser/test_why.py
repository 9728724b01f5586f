"""Why in a browser: the chain on any screen, without scrolling sideways."""

import re

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import Look
from tests.builders.browser import PHONE, WIDE, findings

LINE = "/why?file=src/till/tax.py&line=8"


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_chain_is_drawn_and_sound(look: Look, theme: str) -> None:
    window = look(theme=theme)
    page = window.go(LINE)
    page.wait_for_selector(".chain > li")
    links = page.locator(".chain > li")
    drawn = [re.findall(r"c-(\w+)", one.get_attribute("class") or "")[0] for one in links.all()]
    assert drawn[:2] == ["line", "prompt"] and {"commit", "call", "sources", "session", "standing"} <= set(drawn)
    expect(page.locator(".context .here")).to_have_attribute("data-n", "8")
    page.click("summary:has-text('How sure is this?')")
    expect(page.locator(".signals")).to_be_visible()
    assert findings(page) == []


def test_links_of_the_chain_work(look: Look) -> None:
    window = look()
    page = window.go(LINE)
    page.keyboard.press("j")
    expect(page.locator("h1")).to_contain_text("line 9")
    page.keyboard.press("k")
    expect(page.locator("h1")).to_contain_text("line 8")
    page.click("text=Next line")
    expect(page.locator("h1")).to_contain_text("line 9")
    page.keyboard.press("b")
    expect(page.locator("#lines .marked .no")).to_have_text("9")
    page.go_back()
    page.click(".chain .c-session a >> nth=0")
    page.wait_for_url("**/session?*")
    page.go_back()
    page.click(".chain .c-standing a")
    assert "Not" not in page.title()


@pytest.mark.parametrize(("size", "beside"), [(WIDE, True), (PHONE, False)])
def test_the_context_is_beside_the_chain_on_a_wide_screen(look: Look, size: tuple[int, int], beside: bool) -> None:
    page = look(size=size).go(LINE)
    chain, context = page.locator(".chain").first.bounding_box(), page.locator(".side").bounding_box()
    assert chain is not None and context is not None
    assert (context["x"] >= chain["x"] + chain["width"]) is beside
    assert (context["y"] >= chain["y"] + chain["height"]) is not beside


def test_the_form_leads_to_a_chain(look: Look) -> None:
    window = look()
    page = window.go("/why")
    page.fill("input[name=file]", "README.md")
    page.fill("input[name=line]", "1")
    page.press("input[name=line]", "Enter")
    page.wait_for_url("**/why?file=README.md&line=1*")
    expect(page.locator(".c-end h2")).to_have_text("Missing")


def test_on_a_phone_the_chain_fits(look: Look) -> None:
    window = look(size=PHONE)
    for path in (LINE, "/why", "/why?file=nothing&line=1"):
        window.go(path)
        content, view = window.wide()
        assert content <= view, path
    assert "annot find" in window.page.inner_text("main")
    assert findings(window.page) == []
