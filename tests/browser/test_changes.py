"""Changes in a browser: from a cluster to the evidence and back, and a long list."""

import re
from collections.abc import Iterator

import pytest

from tests.browser.conftest import Look
from tests.builders.browser import PHONE, findings
from tests.builders.long_pages import PAIRS, many_clusters
from tests.builders.service import Started, started

OWN_PAGES = ("/changes?state=all", "/change?name=again/add-up", "/cluster?name=again/add-up")
BESIDE = "/evidence?change=again/add-up&other=rewrite/read-prices"


def test_a_cluster_leads_to_a_change_to_the_evidence_and_to_the_verdict(look: Look) -> None:
    window = look()
    window.go("/changes")
    page = window.settled()
    page.wait_for_selector(".cluster .mark.keep")
    page.locator("table.changes-list").scroll_into_view_if_needed()
    page.locator("table.changes-list tr", has_text="Show prices on a receipt").get_by_text("Can merge").wait_for()
    page.click("table.members a:has-text('Sum the prices of a basket')")
    page.wait_for_selector("h1:has-text('Sum the prices of a basket')")
    page.wait_for_selector(".verdict-box :text('Needs review'), .verdict-box :text('Blocked')")
    page.click("summary:has-text('Duplicates and cluster')")
    page.click("a:has-text('side by side') >> nth=0")
    page.wait_for_selector("h1:has-text('Side by side')")
    assert page.locator(".hunk .both").count() >= 4
    page.click(".crumbs a:has-text('Changes')")
    page.wait_for_url("**/changes")


def test_a_filter_is_in_the_url(look: Look) -> None:
    window = look()
    page = window.go("/changes")
    window.settled()
    page.select_option("select[name=state]", "landed")
    page.wait_for_url(re.compile(r"state=landed"))
    page.wait_for_selector("td:has-text('Begin the till')")
    page.fill("input[name=words]", "nothing of the kind")
    page.press("input[name=words]", "Enter")
    page.wait_for_selector("text=No merged change matches.")
    page.reload()
    assert page.input_value("input[name=words]") == "nothing of the kind"


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("path", [*OWN_PAGES, BESIDE])
def test_every_page_of_changes_is_sound(look: Look, path: str, theme: str) -> None:
    window = look(theme=theme)
    window.go(path)
    assert findings(window.settled()) == []


@pytest.mark.parametrize("path", [*OWN_PAGES, BESIDE])
def test_on_a_phone_no_page_of_changes_scrolls_sideways(look: Look, path: str) -> None:
    window = look(size=PHONE)
    window.go(path)
    window.settled()
    content, view = window.wide()
    assert content <= view


@pytest.fixture(scope="module")
def five_hundred(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Started]:
    """A service whose index has 500 clusters of two changes."""
    with started(many_clusters(tmp_path_factory.mktemp("clusters") / "repo")) as service:
        yield service


def test_five_hundred_clusters_are_listed_at_once(look: Look, five_hundred: Started) -> None:
    window = look(five_hundred)
    page = window.go("/changes")
    window.settled()
    assert page.locator("details.cluster").count() == PAIRS
    assert window.nodes() <= 1_500
    page.mouse.wheel(0, 9_000)
    page.locator("details.cluster summary").nth(250).click()
    page.wait_for_selector("details.cluster[open] table.members")
