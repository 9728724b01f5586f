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
    links = page.locator(".chain > li, .hanging > li")
    drawn = [re.findall(r"c-(\w+)", one.get_attribute("class") or "")[0] for one in links.all()]
    assert drawn[0] == "line" and {"commit", "call", "prompt", "sources", "session", "standing"} <= set(drawn)
    icons_drawn = page.locator(".chain > li > i, .hanging > li > i")
    tops = [one.bounding_box() for one in icons_drawn.all()]
    heights = [box["y"] for box in tops if box is not None]
    assert heights == sorted(heights) and len(heights) == len(drawn)
    colors = icons_drawn.evaluate_all("all => all.map(one => getComputedStyle(one).backgroundColor)")
    icon = "all => all.map(one => getComputedStyle(one, '::after').content)"
    icons = icons_drawn.evaluate_all(icon)
    assert len(set(colors)) >= 4 and len(set(icons)) == len(set(drawn))
    assert page.locator(".glance i").evaluate_all(icon) == icons, "the overview has the same icons"
    assert findings(page) == []


def test_links_of_the_chain_work(look: Look) -> None:
    window = look()
    page = window.go(LINE)
    page.click(".glance >> text=Session")
    assert "#link-" in page.url
    expect(page.locator(".chain > li:target > section h2")).to_have_text("Session")
    page.click("text=Next line")
    expect(page.locator("h1")).to_contain_text("line 9")
    page.click("text=Show in file")
    expect(page.locator("#lines .marked .no")).to_have_text("9")
    page.go_back()
    page.click(".chain .c-session a >> nth=0")
    page.wait_for_url("**/session?*")
    page.go_back()
    page.click(".chain .c-standing a")
    assert "Not" not in page.title()


@pytest.mark.parametrize(("size", "beside"), [(WIDE, True), (PHONE, False)])
def test_side_links_are_beside_their_link_on_a_wide_screen(look: Look, size: tuple[int, int], beside: bool) -> None:
    page = look(size=size).go(LINE)
    link = page.locator(".chain > .c-prompt > section").bounding_box()
    side = page.locator(".chain > .c-prompt .c-sources > section").bounding_box()
    assert link is not None and side is not None
    assert (side["x"] > link["x"] + link["width"] and side["y"] == link["y"]) is beside
    assert (side["y"] > link["y"] + link["height"]) is not beside


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
