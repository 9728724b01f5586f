"""Health in a browser: verifying when asked, and words for an empty store."""

from pathlib import Path

import pytest

from tests.browser.conftest import Look
from tests.builders.browser import PHONE, findings
from tests.builders.cli import a_git_folder
from tests.builders.service import started


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_verifying_is_a_click(look: Look, theme: str) -> None:
    window = look(theme=theme)
    page = window.go("/state")
    assert findings(page) == []
    page.click("text=Verify now")
    page.get_by_text("are as they were stored").wait_for()
    assert findings(page) == []


def test_a_phone_shows_it_without_going_sideways(look: Look) -> None:
    window = look(size=PHONE)
    window.go("/state")
    content, view = window.wide()
    assert content <= view


def test_an_empty_store_is_told_in_words(look: Look, tmp_path: Path) -> None:
    with started(a_git_folder(tmp_path / "repository")) as service:
        page = look(service).go("/state")
        assert "Nothing has been recorded yet." in page.inner_text("main")
        assert findings(page) == []
