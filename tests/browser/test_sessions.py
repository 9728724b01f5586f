"""Sessions in a browser: the list with its filters, and the call tree, short or very long."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import Look
from tests.builders.browser import PHONE, findings, on_paper
from tests.builders.long_pages import long_calls
from tests.builders.service import Started, started

NODES_MAX = 1_500


@pytest.fixture(scope="module")
def long_one(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Started]:
    """A service with a session of 10,000 calls without an end, and one with hostile names."""
    with started(long_calls(tmp_path_factory.mktemp("long") / "repository")) as made:
        yield made


def top(page: Page) -> list[str]:
    return [text.strip() for text in page.locator("#tree [role=treeitem] .name").all_inner_texts()[:4]]


def test_filters_of_the_list_are_in_the_url(look: Look) -> None:
    window = look()
    page = window.go("/sessions")
    every = page.locator("#sessions-list tbody tr").count()
    page.fill("input[name=agent]", "patchbot")
    page.press("input[name=agent]", "Enter")
    page.wait_for_url("**/sessions?agent=patchbot*")
    window.settled()
    fewer = page.locator("#sessions-list tbody tr").count()
    assert 0 < fewer < every
    page.reload()
    assert page.locator("#sessions-list tbody tr").count() == fewer
    assert page.input_value("input[name=agent]") == "patchbot"


def test_j_and_k_go_through_the_rows_of_a_list(look: Look) -> None:
    page = look().go("/sessions")
    links = page.locator("#sessions-list tbody a")
    page.keyboard.press("j")
    expect(links.nth(0)).to_be_focused()
    page.keyboard.press("j")
    expect(links.nth(1)).to_be_focused()
    page.keyboard.press("k")
    page.keyboard.press("Enter")
    page.wait_for_url("**/session?*")


def test_paging_forward_and_back(look: Look) -> None:
    window = look()
    page = window.go("/sessions?limit=2")
    first = page.locator("#sessions-list tbody a").all_inner_texts()
    page.click("text=Older sessions")
    page.wait_for_url("**after=*")
    assert not set(first) & set(page.locator("#sessions-list tbody a").all_inner_texts())
    page.click("text=Newest sessions")
    page.wait_for_url("**/sessions?limit=2")
    assert page.locator("#sessions-list tbody a").all_inner_texts() == first


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_session_has_its_timeline_and_its_tree_without_findings(look: Look, theme: str) -> None:
    window = look(theme=theme)
    page = window.go("/sessions")
    page.locator("#sessions-list tbody tr", has_text="c0ffee00").locator("a").click()
    page.wait_for_url("**/session?*")
    window.settled()
    assert page.locator(".evs .prompt").count() >= 1
    assert "src/till/prices.py" in page.inner_text("section[aria-labelledby=edited]")
    assert "still there" in page.inner_text("section[aria-labelledby=alive]")
    assert findings(page) == []
    page.click("nav[aria-label=View] a:has-text('Call tree')")
    page.wait_for_selector("#tree [role=treeitem]")
    assert top(page)[:2] == ["claude-code", "turn 1"]
    assert findings(page) == []


def test_a_long_timeline_shows_100_rows_and_more_on_demand_by_keyboard(look: Look, long_one: Started) -> None:
    window = look(long_one, size=PHONE)
    page = window.go("/session?id=s1")
    window.settled()
    rows = page.locator(".evs > .ev")
    assert rows.count() == 100
    content, view = window.wide()
    assert content <= view
    page.locator("#timeline-more a").focus()
    page.keyboard.press("Enter")
    rows.nth(100).wait_for()
    assert rows.count() > 100
    page.click("nav[aria-label=Rows] a:has-text('Failed')")
    page.wait_for_url("**show=failed")
    assert page.locator(".evs .bad").count() > 0
    assert page.locator(".evs .ev:not(.prompt):not(.bad)").count() == 0
    assert findings(page) == []


def test_a_long_tree_is_printed_completely_or_names_its_rows(look: Look, long_one: Started) -> None:
    window = look(long_one)
    page = window.go("/session?id=s1&view=tree")
    window.settled()
    folded = on_paper(page)
    assert len(folded.rows) > 300 and folded.words == []
    page.click("[data-tree=open]")
    paper = on_paper(page)
    assert paper.rows == list(range(2_000))
    (words,) = paper.words
    assert words.startswith("Printed: rows 1 to 2,000 of 10,") and words.endswith(
        " All calls: custody log s1 --agent robot --tree"
    )
    assert window.nodes() <= NODES_MAX


def test_ten_thousand_calls_are_few_nodes(look: Look, long_one: Started) -> None:
    window = look(long_one)
    page = window.go("/session?id=s1&view=tree")
    window.settled()
    assert window.nodes() <= NODES_MAX
    page.click("[data-tree=open]")
    for _ in range(20):
        page.locator("#tree").evaluate("(box) => { box.scrollTop += 9_000 }")
        assert window.nodes() <= NODES_MAX
    page.click("[data-tree=close]")
    page.click("[data-tree=failed]")
    page.fill("#tree-find", "grep")
    page.press("#tree-find", "Enter")
    assert window.nodes() <= NODES_MAX
    assert "No end of this session was recorded" in page.inner_text("main")


def test_equal_calls_share_one_line_until_expanded(look: Look, long_one: Started) -> None:
    window = look(long_one)
    page = window.go("/session?id=s1&view=tree")
    window.settled()
    run = page.locator("#tree [role=treeitem]", has_text="×30").first
    assert run.get_attribute("aria-expanded") == "false"
    run.click()
    assert page.evaluate("document.activeElement.getAttribute('aria-expanded')") == "true"
    page.keyboard.press("ArrowDown")
    assert page.evaluate("document.activeElement.getAttribute('aria-level')") == "4"
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowLeft")
    assert page.evaluate("document.activeElement.getAttribute('aria-expanded')") == "false"
    page.keyboard.press("ArrowLeft")
    assert "turn 1" in page.evaluate("document.activeElement.textContent")
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.getAttribute('aria-expanded')") == "false"
    assert "500 inside" in page.evaluate("document.activeElement.textContent")
    page.keyboard.press("End")
    page.keyboard.press("Home")
    assert page.evaluate("document.activeElement.getAttribute('aria-level')") == "1"
    assert findings(page) == []


def test_finding_a_failed_call_and_a_name(look: Look, long_one: Started) -> None:
    window = look(long_one)
    page = window.go("/session?id=s1&view=tree&call=c5010")
    window.settled()
    assert page.locator("#tree .wanted").is_visible()
    page.click("[data-tree=failed]")
    assert "is-failed" in page.evaluate("document.activeElement.className")
    page.fill("#tree-find", "nothing is called so")
    page.press("#tree-find", "Enter")
    assert page.inner_text("#tree-said") == "no match"


def test_hostile_names_are_shown_as_text(look: Look, long_one: Started) -> None:
    window = look(long_one)
    page = window.go("/sessions")
    page.locator("#sessions-list tbody tr", has_text="שלום").locator("a").click()
    page.wait_for_url("**/session?*")
    window.settled()
    assert "<img src=x onerror=alert(1)>⟨202E⟩evil" in page.inner_text(".evs")
    assert page.locator("main img").count() == 0
    content, view = window.wide()
    assert content <= view
    assert findings(page) == []


def test_without_javascript_the_calls_are_a_list(look: Look, long_one: Started) -> None:
    window = look(long_one)
    context = window.page.context.browser.new_context(java_script_enabled=False)  # type: ignore[union-attr]
    context.add_cookies([{"name": "custody_token", "value": long_one.token, "url": window.address}])
    page = context.new_page()
    page.goto(f"{window.address}/session?id=s1&view=tree")
    assert "the first 200 rows of 10,021" in page.inner_text("main")
    context.close()


def test_an_unknown_session_shows_the_error(look: Look, tmp_path: Path) -> None:
    page = look().go("/session?id=unknown")
    assert "Unknown session" in page.inner_text("main")
    assert findings(page) == []
