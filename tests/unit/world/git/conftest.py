"""A repository that the tests of a file share, and a list of the git processes that a test starts."""

import subprocess

import pytest

from custody.world.git import child
from tests.builders.repo import Built, a_repository


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Built:
    """Hypothesis makes many histories; each may stand beside the others."""
    return a_repository(tmp_path_factory.mktemp("shared"))


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[subprocess.Popen[bytes]]:
    processes: list[subprocess.Popen[bytes]] = []
    spawn = child._spawn

    def spawn_and_note(order: child.Order, *, fed: bool) -> subprocess.Popen[bytes]:
        processes.append(spawn(order, fed=fed))
        return processes[-1]

    monkeypatch.setattr(child, "_spawn", spawn_and_note)
    return processes
