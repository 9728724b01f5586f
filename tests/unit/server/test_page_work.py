"""Long pages of a service: they show how far the work is, are opened again, and are never refused."""

from collections.abc import Iterator
from pathlib import Path
from threading import Event

import pytest

from custody.server.auth import CallerLimits
from custody.server.pages import graph as graph_pages
from custody.server.pages import state as health_pages
from custody.workspace.workspace import Workspace
from tests.builders.cli import a_git_folder
from tests.builders.service import ALL, Asked, a_keeper, asked

WAIT = 30.0
HTML = {"accept": "text/html"}


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Asked]:
    keeper = a_keeper(Workspace(a_git_folder(tmp_path / "own")))
    with asked(keeper, limits=CallerLimits(page_seconds=0.05)) as made:
        yield made


def test_a_long_part_shows_progress_and_then_its_answer(service: Asked, monkeypatch: pytest.MonkeyPatch) -> None:
    go_on, begun = Event(), []

    def slow(workspace: Workspace) -> str:
        begun.append(workspace)
        workspace.progress.start("verifying", 139)
        workspace.progress.step(84)
        assert go_on.wait(WAIT)
        return "Cannot verify now."

    monkeypatch.setattr(health_pages, "verify_store_for_page", slow)
    service.get("/state-verify", **HTML)
    waiting = service.get("/state-verify", **HTML)
    assert waiting.status_code == 202
    assert "refresh" in waiting.headers, "without a script the browser opens it again"
    assert "Verifying: 84 of 139" in waiting.text
    assert 'hx-get="/state-verify"' in waiting.text
    assert "refresh" not in service.get("/state-verify", **HTML, **{"hx-request": "true"}).headers
    assert len(begun) == 1
    go_on.set()
    answer = service.get("/state-verify", **HTML)
    while answer.status_code == 202:
        answer = service.get("/state-verify", **HTML)
    assert answer.status_code == 200
    assert "hx-get" not in answer.text


def test_a_refresh_of_an_open_page_keeps_what_it_shows(service: Asked, monkeypatch: pytest.MonkeyPatch) -> None:
    go_on = Event()

    def slow(*_: object) -> None:
        assert go_on.wait(WAIT)

    monkeypatch.setattr(graph_pages, "list_graph_agents", slow)
    try:
        opened = service.get("/graph", **HTML)
        refreshed = service.get("/graph", **HTML, **{"hx-request": "true"})
    finally:
        go_on.set()
    assert (opened.status_code, refreshed.status_code) == (202, 204)
    assert "<nav" in opened.text
    assert not refreshed.content


def test_readers_of_one_project_do_not_share_results(service: Asked, monkeypatch: pytest.MonkeyPatch) -> None:
    asked_for: list[int] = []

    def verify(_: Workspace) -> str:
        asked_for.append(1)
        return "Cannot verify now."

    monkeypatch.setattr(health_pages, "verify_store_for_page", verify)
    service.get("/state-verify", ALL, **HTML)
    service.get("/state-verify", "read", **HTML)
    assert len(asked_for) == 2
