"""A real browser on a real service; it records every error of a page."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

from playwright.sync_api import Browser, ConsoleMessage, Dialog, Page, Request, sync_playwright

from tests.builders.service import Started
from tests.house.not_run import CannotBeHad

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
AXE = Path(__file__).parents[2] / "web/node_modules/axe-core/axe.min.js"
WIDE, PHONE = (1280, 800), (360, 740)
PATIENCE_MS = 120_000
"""A limit for a busy machine; a working page never takes so long."""
WORKING = "main > .working"
MADE = "main:not(:has(> .working)) + footer.site"
"""The end of a page that is not the one about its work, so that half of a page does not count."""
SERIOUS = ("serious", "critical")


@contextmanager
def a_browser() -> Iterator[Browser]:
    """Yield the Chromium of this machine."""
    program = next(filter(None, map(shutil.which, NAMES)), None)
    if program is None:
        raise CannotBeHad("no Chromium on PATH")
    with sync_playwright() as playwright:
        # Containers often have no sandbox, and the pages are our own.
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        try:
            yield browser
        finally:
            browser.close()


@dataclass
class Looking:
    """A page of a browser, with all of its errors."""

    page: Page
    address: str
    token: str
    wrong: list[str] = field(default_factory=list)

    def go(self, path: str = "/overview") -> Page:
        """Open a page of the service."""
        self.page.goto(f"{self.address}{path}", wait_until="load")
        if self.page.locator(WORKING).count():
            self.made()
        return self.page

    def made(self) -> Page:
        """Wait until the page is no longer the one that shows how far its work is; return it."""
        self.page.locator(MADE).wait_for(state="attached", timeout=PATIENCE_MS)
        self.page.wait_for_load_state("load")
        return self.page

    def settled(self) -> Page:
        """Wait until all late content is loaded, and return the page."""
        # Not by polling a function: the content policy forbids evaluating one.
        self.page.locator(".waiting, .htmx-request").first.wait_for(state="detached", timeout=PATIENCE_MS)
        return self.page

    def nodes(self) -> int:
        """Count the elements."""
        return int(self.page.evaluate("document.querySelectorAll('*').length"))

    def wide(self) -> tuple[int, int]:
        """Return how wide the page's content is, and how wide the window."""
        found = self.page.evaluate("[document.documentElement.scrollWidth, document.documentElement.clientWidth]")
        return int(found[0]), int(found[1])

    def said(self) -> str:
        """Return all visible text."""
        return self.page.inner_text("body")


@dataclass(frozen=True)
class Paper:
    """The printed page: the rows of long lists, the print-only sentences, and the number of sheets."""

    rows: list[int]
    words: list[str]
    sheets: int


@contextmanager
def looking(
    browser: Browser,
    address: str,
    token: str,
    *,
    size: tuple[int, int] = WIDE,
    theme: Literal["light", "dark"] = "light",
    signed_in: bool = True,
) -> Iterator[Looking]:
    """Yield a window that is logged in; errors of the pages fail the test at the end."""
    context = browser.new_context(viewport={"width": size[0], "height": size[1]}, color_scheme=theme)
    try:
        if signed_in:
            context.add_cookies([{"name": "custody_token", "value": token, "url": address}])
        page = context.new_page()
        made = Looking(page, address, token)
        host = urlsplit(address).netloc
        page.on("pageerror", lambda error: made.wrong.append(f"page error: {error}"))
        page.on("console", lambda message: _console(made, message))
        page.on("request", lambda request: _request(made, request, host))
        page.on("dialog", lambda dialog: _dialog(made, dialog))
        yield made
        assert not made.wrong, made.wrong
    finally:
        context.close()


def _dialog(made: Looking, dialog: Dialog) -> None:
    made.wrong.append(f"dialog: {dialog.message}")
    dialog.dismiss()


def _console(made: Looking, message: ConsoleMessage) -> None:
    # The console reports a refused page too; the caller expects it.
    if message.type == "error" and "Failed to load resource" not in message.text:
        made.wrong.append(f"console: {message.text}")


def _request(made: Looking, request: Request, host: str) -> None:
    parts = urlsplit(request.url)
    if parts.scheme not in ("data", "about", "blob") and parts.netloc != host:
        made.wrong.append(f"request outside: {request.url}")


@contextmanager
def looking_at(browser: Browser, service: Started, **how: Any) -> Iterator[Looking]:
    """Yield a window on a service that was started for this test."""
    with looking(browser, f"http://127.0.0.1:{service.port}", service.token, **how) as made:
        yield made


def on_paper(page: Page) -> Paper:
    """Print the page and return its content in print."""
    page.evaluate(
        """() => addEventListener("beforeprint", () => {
          const said = [...document.querySelectorAll(".paper:not([hidden])")].filter((p) => !p.closest("[hidden]"));
          window.printed = {
            rows: [...document.querySelectorAll("[data-row]")].map((row) => Number(row.dataset.row)),
            words: said.map((one) => one.textContent.trim()),
          };
        }, { once: true })"""
    )
    sheets = page.pdf().count(b"/Type /Page\n")
    found = page.evaluate("window.printed")
    return Paper(found["rows"], found["words"], sheets)


def findings(page: Page) -> list[str]:
    """Return the serious findings of axe: the rule, and where."""
    if not page.evaluate("'axe' in window"):
        page.evaluate(_axe())
    found = page.evaluate("axe.run(document, {resultTypes: ['violations'], preload: false})")
    return [
        f"{one['id']}: {one['nodes'][0]['target']} {one['nodes'][0]['failureSummary']}"
        for one in found["violations"]
        if one["impact"] in SERIOUS
    ]


@cache
def _axe() -> str:
    if not AXE.is_file():
        raise CannotBeHad("web/node_modules has no axe-core: npm ci was not run")
    return AXE.read_text(encoding="utf-8")
