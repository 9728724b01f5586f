"""New records appear without a reload."""

from pathlib import Path

import pytest

from tests.browser.conftest import Look
from tests.builders.browser import PATIENCE_MS
from tests.builders.cli import recorded, spool_of
from tests.builders.events import an_event
from tests.builders.repo import a_repository
from tests.builders.service import started


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    built = a_repository(tmp_path / "repo")
    built.commit({b"src/app.py": b"print(1)\n"})
    built.checkout()
    return recorded(built.path, 1, session="first")


def test_a_new_session_appears_without_a_reload(look: Look, repository: Path) -> None:
    with started(repository) as service:
        window = look(service)
        window.go("/sessions")
        page = window.settled()
        page.evaluate("window.here = 1")
        assert "second" not in window.said()
        spool_of(repository).put(an_event(id="9", session="second"))
        page.wait_for_selector("text=second", timeout=PATIENCE_MS)
        assert page.evaluate("window.here") == 1, "it is still the same page"
        assert "new record" in page.inner_text("#live")


def test_a_stopped_service_is_reported(look: Look, repository: Path) -> None:
    with started(repository) as service:
        window = look(service)
        page = window.go("/sessions")
        page.wait_for_selector("#live:text-is('live')", timeout=PATIENCE_MS)
    page.wait_for_selector("#live:has-text('not answer')", timeout=PATIENCE_MS)
    window.wrong.clear()
