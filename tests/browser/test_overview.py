"""The first page in a browser: what comes later comes, what is linked leads somewhere, what is new appears."""

from pathlib import Path

import pytest

from tests.browser.conftest import Look
from tests.builders.browser import PHONE, findings
from tests.builders.cli import a_git_folder, spool_of
from tests.builders.events import an_event
from tests.builders.service import started


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_share_and_the_verdicts_come_and_nothing_serious_is_found(look: Look, theme: str) -> None:
    window = look(theme=theme)
    window.go("/overview")
    page = window.settled()
    assert "lines are agents'" in page.inner_text(".share")
    assert page.locator(".share svg.chart").count() == 2
    paint = "one => getComputedStyle(one)[one.tagName === 'rect' ? 'fill' : 'backgroundColor']"
    unknown = ("svg.bar rect.k-none", "svg.chart rect.k-none >> nth=0", ".swatch.k-none")
    assert len({page.locator(f".share {one}").evaluate(paint) for one in unknown}) == 1
    assert page.locator("section[aria-labelledby=open] tbody tr").count() == 6
    assert "approve" in page.inner_text("section[aria-labelledby=open]")
    assert findings(page) == []


def test_a_phone_shows_it_without_going_sideways(look: Look) -> None:
    window = look(size=PHONE)
    window.go("/overview")
    window.settled()
    content, view = window.wide()
    assert content <= view


@pytest.mark.parametrize(
    ("link", "heading"),
    [
        ("section[aria-labelledby=last] tbody a >> nth=0", "Session"),
        ("section[aria-labelledby=open] tbody a >> nth=0", ""),
        ("text=All sessions", "Sessions"),
        (".health a", "Health"),
    ],
)
def test_what_is_linked_leads_to_a_page(look: Look, link: str, heading: str) -> None:
    window = look()
    window.go("/overview")
    page = window.settled()
    page.click(link)
    page.wait_for_load_state()
    said = page.inner_text("h1")
    assert said.startswith(heading) and said != "Overview"


def test_an_empty_repository_says_what_to_do_and_new_records_appear(look: Look, tmp_path: Path) -> None:
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
