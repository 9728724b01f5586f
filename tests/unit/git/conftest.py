"""Repositories that tests share or change, and a list of the git processes that a test starts."""

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
    """Hypothesis makes many histories; each may stand beside the others."""
    return a_repository(tmp_path_factory.mktemp("shared"))


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[subprocess.Popen[bytes]]:
    processes: list[subprocess.Popen[bytes]] = []
    spawn = child._spawn

    def spawn_and_note(order: child.ProcessOrder, *, fed: bool) -> subprocess.Popen[bytes]:
        processes.append(spawn(order, fed=fed))
        return processes[-1]

    monkeypatch.setattr(child, "_spawn", spawn_and_note)
    return processes


@pytest.fixture(params=["sha1", "sha256"])
def work(tmp_path: Path, request: pytest.FixtureRequest, temporary: Path) -> Built:
    """A clean work tree with files of every kind."""
    built = a_repository(tmp_path / "here", object_format=request.param)
    a_history(built, {b"a": b"zero\n"}, FILES)
    built.checkout()
    assert not list(temporary.iterdir())
    return built


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder for temporary files of the test's own, with signs in its name that mean something to git."""
    folder = tmp_path / 'tem:po"rary\n'
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", os.fspath(folder))
    return folder
