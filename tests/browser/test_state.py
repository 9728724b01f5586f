"""The health page in a browser: verifying, and an empty store."""

import re
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
    page.get_by_text(re.compile(r"records in \d+ chains? verified")).wait_for()
    assert findings(page) == []


def test_on_a_phone_it_does_not_scroll_sideways(look: Look) -> None:
    window = look(size=PHONE)
    window.go("/state")
    content, view = window.wide()
    assert content <= view


def test_an_empty_store_is_reported(look: Look, tmp_path: Path) -> None:
    with started(a_git_folder(tmp_path / "repository")) as service:
        page = look(service).go("/state")
        assert "Nothing has been recorded yet." in page.inner_text("main")
        assert findings(page) == []
