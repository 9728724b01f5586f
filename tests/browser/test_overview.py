"""The overview in a browser: later parts load, links work, new records appear."""

from pathlib import Path

import pytest

from tests.browser.conftest import Look
from tests.builders.browser import PHONE, findings
from tests.builders.cli import a_git_folder, spool_of
from tests.builders.events import an_event
from tests.builders.service import started


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_share_and_the_verdicts_load_without_findings(look: Look, theme: str) -> None:
    window = look(theme=theme)
    window.go("/overview")
    page = window.settled()
    assert "written by agents" in page.inner_text(".tiles")
    assert page.locator(".growth svg.chart").count() == 2
    paint = "one => getComputedStyle(one)[one.tagName === 'rect' ? 'fill' : 'backgroundColor']"
    unknown = ("svg.chart rect.k-none >> nth=0", ".swatch.k-none")
    assert len({page.locator(f".growth {one}").evaluate(paint) for one in unknown}) == 1
    assert page.locator("section[aria-labelledby=open] tbody tr").count() == 7
    page.wait_for_selector("section[aria-labelledby=open] >> text=Can merge", timeout=60_000)
    assert findings(page) == []


def test_on_a_phone_it_does_not_scroll_sideways(look: Look) -> None:
    window = look(size=PHONE)
    window.go("/overview")
    window.settled()
    content, view = window.wide()
    assert content <= view


@pytest.mark.parametrize(
    ("link", "heading"),
    [
        ("section[aria-labelledby=last] tbody a >> nth=0", ""),
        ("section[aria-labelledby=open] tbody a >> nth=0", ""),
        ("text=All sessions", "Sessions"),
        (".health a", "Health"),
    ],
)
def test_links_lead_to_pages(look: Look, link: str, heading: str) -> None:
    window = look()
    window.go("/overview")
    page = window.settled()
    page.click(link)
    page.wait_for_load_state()
    said = page.inner_text("h1")
    assert said.startswith(heading) and said != "Overview"


def test_an_empty_repository_shows_what_to_do_and_new_records_appear(look: Look, tmp_path: Path) -> None:
    folder = a_git_folder(tmp_path / "repository")
    with started(folder) as service:
        window = look(service)
        window.go("/overview")
        page = window.settled()
        assert "Nothing has been recorded yet." in page.inner_text("#overview-now")
        assert findings(page) == []
        page.get_by_text("live", exact=True).wait_for()
        spool_of(folder).put(an_event("call", id="c1", session="appeared"))
        page.get_by_role("link", name="appeared").wait_for(timeout=20_000)
        assert "1 record in 1 chain" in page.inner_text("#overview-now")
