"""Shared and private repositories, and a list of the git processes that a test starts."""

import os
import subprocess
import tempfile
from pathlib import Path

import pytest

from custody.git import command as child
from tests.builders.repo import Built, a_history, a_repository
from tests.unit.git.work_trees import FILES


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Built:
    """Return one repository for all histories that hypothesis makes."""
    return a_repository(tmp_path_factory.mktemp("shared"))


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[subprocess.Popen[bytes]]:
    processes: list[subprocess.Popen[bytes]] = []
    spawn = child._spawn_git

    def spawn_and_note(order: child.ProcessOrder, *, fed: bool) -> subprocess.Popen[bytes]:
        processes.append(spawn(order, fed=fed))
        return processes[-1]

    monkeypatch.setattr(child, "_spawn_git", spawn_and_note)
    return processes


@pytest.fixture(params=["sha1", "sha256"])
def work(tmp_path: Path, request: pytest.FixtureRequest, temporary: Path) -> Built:
    """Return a clean work tree with files of every kind."""
    built = a_repository(tmp_path / "here", object_format=request.param)
    a_history(built, {b"a": b"zero\n"}, FILES)
    built.checkout()
    assert not list(temporary.iterdir())
    return built


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the temporary folder of the test, with special characters of git in its name."""
    folder = tmp_path / 'tem:po"rary\n'
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", os.fspath(folder))
    return folder
