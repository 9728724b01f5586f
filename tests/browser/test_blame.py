"""Blame in a browser: a long file is fast, evidence opens by mouse, keys and touch, and hostile files are inert."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.conftest import Look
from tests.builders.browser import PHONE, findings, looking_at, on_paper
from tests.builders.long_pages import EVIL, LINES, a_long_file
from tests.builders.service import Started, started

NODES_MAX = 1_500
PRINTED = 2_000


@pytest.fixture(scope="module")
def long_service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Started]:
    """``custody serve`` in a repository with a file of ten thousand lines; an agent wrote every seventh."""
    with started(a_long_file(tmp_path_factory.mktemp("long") / "repository")) as made:
        yield made


def at_rest(page: Page) -> None:
    """Wait until the lines are drawn."""
    expect(page.locator("#lines [data-row]").first).to_be_visible()


def test_ten_thousand_lines_are_few_nodes(browser: Browser, long_service: Started) -> None:
    with looking_at(browser, long_service) as window:
        page = window.go("/blame?file=long.py")
        at_rest(page)
        counted = [window.nodes()]
        assert page.evaluate("document.getElementById('lines').scrollHeight") >= LINES * 20
        for part in (0.25, 0.5, 0.75, 1):
            page.evaluate(
                "part => { const b = document.getElementById('lines'); b.scrollTop = b.scrollHeight * part }", part
            )
            expect(page.locator(f"#lines [data-row='{int(LINES * part) - 1}']")).to_be_attached()
            counted.append(window.nodes())
        page.click("#legend [data-only=agent]")
        assert max(counted) <= NODES_MAX


def test_the_card_of_a_line_shows_what_was_asked_read_and_tested(look: Look) -> None:
    window = look()
    page = window.go("/blame?file=src/till/tax.py")
    at_rest(page)
    page.locator("#lines [data-row='9'] .who").hover()
    card = page.locator("#evidence .asked-card")
    expect(card).to_contain_text("a negative tax rate must be refused")
    expect(card).to_contain_text("pytest -q")
    assert findings(page) == []


def test_a_url_marks_its_line(browser: Browser, long_service: Started) -> None:
    with looking_at(browser, long_service) as window:
        page = window.go("/blame?file=long.py#L5000")
        expect(page.locator("#lines .marked .no")).to_have_text("5000")
        expect(page.locator("#lines .marked")).to_be_in_viewport()
        page.click("#lines [data-row='5001'] .no", modifiers=["Shift"])
        assert page.url.endswith("#L5000-L5002")
        expect(page.locator("#lines .marked")).to_have_count(3)
        page.fill("#go", "9999")
        page.press("#go", "Enter")
        expect(page.locator("#lines .marked")).to_have_count(1)
        expect(page.locator("#lines .marked .no")).to_have_text("9999")
        page.evaluate("location.hash = '#L10001'")
        expect(page.locator("#marked")).to_have_text("no line 10,001")


def test_the_legend_highlights_lines_and_the_url_stores_it(browser: Browser, long_service: Started) -> None:
    with looking_at(browser, long_service) as window:
        page = window.go("/blame?file=long.py")
        at_rest(page)
        page.click("#legend [data-only=agent]")
        expect(page.locator("#lines [data-row='0']")).not_to_have_class("faded")
        expect(page.locator("#lines [data-row='1'].faded")).to_be_visible()
        assert "only=agent" in page.url
        page.reload()
        expect(page.locator("#lines [data-row='1'].faded")).to_be_visible()
        assert findings(page) == []
        page.click("#next")
        page.click("#next")
        expect(page.locator("#lines .marked .no")).to_have_text("8")
        page.click("#legend [data-only=agent]")
        expect(page.locator("#lines .faded")).to_have_count(0)
        assert "only" not in page.url


def test_hovering_a_mark_shows_the_evidence_and_a_click_opens_why(browser: Browser, long_service: Started) -> None:
    with looking_at(browser, long_service) as window:
        page = window.go("/blame?file=long.py")
        at_rest(page)
        page.hover("#lines [data-row='7'] .who")
        box = page.locator("#evidence")
        expect(box).to_contain_text("content_hash")
        for words in ("robot", "maker/model-1", "likely", "claimed", "s1", "line 8", "+30"):
            expect(box).to_contain_text(words)
        expect(box.locator("a[href*='/session?id=s1']")).to_be_visible()
        page.mouse.move(5, 5)
        expect(box).to_be_hidden()
        page.click("#lines [data-row='7'] .who")
        page.wait_for_url("**/why?*line=8*")
        expect(page.locator("h1")).to_contain_text("line 8")
        page.click("text=Show in file")
        expect(page.locator("#lines .marked .no")).to_have_text("8")


def test_the_evidence_names_the_line_before_its_block(browser: Browser, long_service: Started) -> None:
    with looking_at(browser, long_service) as window:
        page = window.go("/blame?file=long.py")
        at_rest(page)
        page.hover("#lines [data-row='3'] .who")
        expect(page.locator("#evidence .head")).to_contain_text("· line 4 of block 2–7")
        page.mouse.move(5, 5)
        expect(page.locator("#evidence")).to_be_hidden()
        page.hover("#lines [data-row='7'] .who")
        expect(page.locator("#evidence .head")).to_contain_text("· line 8Why")


def test_keys_move_through_lines_into_the_evidence_and_back(browser: Browser, long_service: Started) -> None:
    with looking_at(browser, long_service) as window:
        page = window.go("/blame?file=long.py")
        at_rest(page)
        page.focus("#lines")
        page.keyboard.press("ArrowDown")
        page.keyboard.press("ArrowUp")
        box = page.locator("#evidence")
        expect(box).to_contain_text("line 1")
        assert page.evaluate("document.activeElement.getAttribute('aria-describedby')") == "evidence"
        page.keyboard.press("Tab")
        assert page.evaluate("document.getElementById('evidence').contains(document.activeElement)")
        page.keyboard.press("Escape")
        expect(box).to_be_hidden()
        assert page.evaluate("document.activeElement.closest('[data-row]').dataset.row") == "0"
        page.keyboard.press("End")
        expect(box).to_contain_text(f"line {LINES}")
        page.keyboard.press("Home")
        expect(box).to_contain_text("line 1")
        page.keyboard.press("Enter")
        page.wait_for_url("**/why?*line=1*")


def test_a_tap_opens_the_evidence_with_a_link_to_why(browser: Browser, long_service: Started) -> None:
    with looking_at(browser, long_service) as signed:
        context = browser.new_context(viewport={"width": PHONE[0], "height": PHONE[1]}, has_touch=True, is_mobile=True)
        try:
            context.add_cookies([{"name": "custody_token", "value": signed.token, "url": signed.address}])
            page = context.new_page()
            page.goto(f"{signed.address}/blame?file=long.py")
            at_rest(page)
            page.tap("#lines [data-row='7'] .who")
            expect(page.locator("#evidence")).to_contain_text("content_hash")
            assert "/blame" in page.url
            page.tap("#evidence >> text=Why?")
            page.wait_for_url("**/why?*line=8*")
        finally:
            context.close()


def test_lines_are_copied_unchanged(browser: Browser, long_service: Started) -> None:
    with looking_at(browser, long_service) as window:
        window.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
        page = window.go("/blame?file=long.py#L2-L4")
        expect(page.locator("#lines .marked")).to_have_count(3)
        page.click("#copy")
        expect(page.locator("#marked")).to_have_text("copied")
        copied = page.evaluate("navigator.clipboard.readText()")
        assert copied == "".join(f"def step_{n}(state, options):  # the step {n}\n" for n in (1, 2, 3))
        page.evaluate(
            """() => {
              const place = (row, at) => {
                const walker = document.createTreeWalker(
                  document.querySelector(`#lines [data-row='${row}'] code`), NodeFilter.SHOW_TEXT);
                let node = walker.nextNode();
                for (; at > node.length; node = walker.nextNode()) at -= node.length;
                return [node, at];
              };
              const range = document.createRange();
              range.setStart(...place(1, 4)); range.setEnd(...place(3, 10));
              getSelection().removeAllRanges(); getSelection().addRange(range);
            }"""
        )
        page.keyboard.press("Control+c")
        copied = page.evaluate("navigator.clipboard.readText()")
        assert copied == "step_1(state, options):  # the step 1\ndef step_2(state, options):  # the step 2\ndef step_3"


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_hostile_file_is_inert(browser: Browser, long_service: Started, theme: str) -> None:
    with looking_at(browser, long_service, theme=theme) as window:
        page = window.go("/blame?file=hostile.txt")
        at_rest(page)
        assert page.locator("#lines img").count() == 0
        expect(page.locator("#lines [data-row='0'] code")).to_have_text(EVIL)
        expect(page.locator("#lines [data-row='2'] code")).to_have_text("rtl ⟨202E⟩ override")
        assert findings(page) == []
        page.goto(f"{window.address}/blame")
        page.click(f"#files >> text={EVIL}.py >> nth=0")
        at_rest(page)
        page.focus("#lines")
        page.keyboard.press("Home")
        expect(page.locator("#evidence")).to_contain_text(f"bot {EVIL}")
        assert page.locator("main img").count() == 0 and "\u202e" not in window.said()
        assert findings(page) == []


@pytest.mark.parametrize("size", [PHONE, (1280, 800)])
def test_a_long_file_fits_the_window(browser: Browser, long_service: Started, size: tuple[int, int]) -> None:
    with looking_at(browser, long_service, size=size) as window:
        for path in ("/blame?file=long.py", "/blame?file=hostile.txt", "/blame"):
            window.go(path)
            content, view = window.wide()
            assert content <= view
        page = window.go("/blame?file=hostile.txt")
        at_rest(page)
        assert page.evaluate(
            "(() => { const b = document.getElementById('lines'); return b.scrollWidth > b.clientWidth })()"
        )


def test_a_print_names_its_lines(browser: Browser, long_service: Started) -> None:
    with looking_at(browser, long_service) as window:
        page = window.go("/blame?file=long.py#L5000")
        expect(page.locator("#lines .marked")).to_be_in_viewport()
        paper = on_paper(page)
        first = paper.rows[0] + 1
        assert paper.rows == list(range(first - 1, first + PRINTED - 1)) and 4_900 < first <= 5_000
        wanted = f"Printed: lines {first:,} to {first + PRINTED - 1:,} of 10,000."
        assert paper.words == [f"{wanted} All lines: custody blame long.py HEAD"]
        assert paper.sheets > PRINTED / 60
        expect(page.locator("#lines .marked")).to_be_in_viewport()
        assert window.nodes() <= NODES_MAX


def test_a_file_is_found_by_clicking(look: Look) -> None:
    window = look()
    page = window.go("/blame")
    page.click("#files td.folder >> text=src/")
    page.click("#files >> text=till/")
    page.click("#files >> text=prices.py")
    at_rest(page)
    expect(page.locator("#lines [data-row='0'] .by")).to_have_text("Claude Code")
    assert findings(page) == []
    page.goto(f"{window.address}/blame")
    page.fill("input[name=named]", "PRICES")
    page.press("input[name=named]", "Enter")
    page.wait_for_url("**/blame?named=PRICES*")
    expect(page.locator("#files >> text=src/till/prices.py")).to_be_visible()
    expect(page.locator("#files >> text=README.md")).to_have_count(0)


def test_without_javascript_the_lines_are_shown(browser: Browser, long_service: Started) -> None:
    context = browser.new_context(java_script_enabled=False)
    try:
        address = f"http://127.0.0.1:{long_service.port}"
        context.add_cookies([{"name": "custody_token", "value": long_service.token, "url": address}])
        page = context.new_page()
        page.goto(f"{address}/blame?file=long.py")
        expect(page.locator("#lines .code")).to_have_count(150)
        expect(page.locator(".paper")).to_contain_text("Printed: lines 1 to 150 of 10,000.")
        expect(page.locator(".paper")).to_be_hidden()
        page.emulate_media(media="print")
        expect(page.locator(".paper")).to_be_visible()
        page.click("text=Next lines")
        expect(page.locator("#L300")).to_have_count(1)
        page.click("#L162 .who")
        page.wait_for_url("**/why?*")
    finally:
        context.close()


def test_find_marks_every_line_and_enter_goes_on(browser: Browser, long_service: Started) -> None:
    with looking_at(browser, long_service) as window:
        page = window.go("/blame?file=long.py")
        at_rest(page)
        page.keyboard.press("/")
        page.keyboard.type("step_99(")
        expect(page.locator("#found")).to_have_text("1 of 1")
        expect(page.locator("#lines .marked .no")).to_have_text("100")
        expect(page.locator("#lines .hit")).to_have_count(1)
        page.fill("#find", "no such text")
        expect(page.locator("#found")).to_have_text("none")
        assert findings(page) == []


def test_lines_have_color_commit_and_age(look: Look) -> None:
    page = look().go("/blame?file=src/till/tax.py")
    at_rest(page)
    first = page.locator("#lines [data-row='0']")
    expect(first.locator(".ci")).to_contain_text("Ana")
    expect(first.locator(".ag")).not_to_be_empty()
    expect(page.locator("#lines code .k").first).to_be_visible()
    assert findings(page) == []
