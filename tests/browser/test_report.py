"""A report in files: the same pages without a server and without requests."""

import json
import re
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from playwright.sync_api import Browser

from custody.server.pages.book import PAGES
from tests.builders.browser import findings
from tests.builders.in_process import custody

LABELLED = [page for page in PAGES if page.label is not None]


@pytest.fixture(scope="session")
def report(story: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("report") / "html"
    said = json.loads(custody(story, "report", "--html", str(folder), "--json").out)
    assert said["pages"] >= len(LABELLED) and said["failed"] == [] and said["texts"] is False
    return folder


def test_every_page_opens_from_its_file_without_requests(browser: Browser, report: Path) -> None:
    page = browser.new_context().new_page()
    wrong: list[str] = []
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("console", lambda message: wrong.append(message.text) if message.type == "error" else None)
    page.on("request", lambda asked: wrong.append(asked.url) if not asked.url.startswith(("file:", "data:")) else None)
    page.goto((report / "index.html").as_uri())
    for one in LABELLED:
        page.click(f"nav a:text-is('{one.label}')")
        page.wait_for_load_state()
        assert page.inner_text("nav a[aria-current]") == one.label
        assert page.evaluate("getComputedStyle(document.body).display") == "flex", "the style sheet is there"
        assert findings(page) == []
    assert wrong == []
    page.context.close()


def test_no_link_of_a_report_is_broken(report: Path) -> None:
    names = {file.name for file in report.iterdir()} | {f"assets/{file.name}" for file in (report / "assets").iterdir()}
    for file in report.glob("*.html"):
        for found in re.findall(r'(?:href|src|action|hx-get)="([^"]*)"', file.read_text()):
            parts = urlsplit(found)
            if parts.scheme in ("http", "https") or not parts.path:
                continue
            assert unquote(parts.path) in names, (file.name, found)


def test_a_report_contains_prompts_only_with_texts(story: Path, report: Path, tmp_path: Path) -> None:
    prompt = "find out how other tills round"
    assert not any(prompt in file.read_text() for file in report.glob("*.html"))
    custody(story, "report", "--html", str(tmp_path / "all"), "--texts")
    assert any(prompt in file.read_text() for file in (tmp_path / "all").glob("*.html"))
