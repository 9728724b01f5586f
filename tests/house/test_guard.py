"""The guard stops what it should, and allows what tests need."""

import os
import socket
import sqlite3
import subprocess
from pathlib import Path

import pytest

from tests.house import guard


@pytest.fixture
def homes(monkeypatch: pytest.MonkeyPatch) -> Path:
    """A real home of an account that exists on every machine."""
    home = Path("/home-of-somebody")
    monkeypatch.setattr(guard, "_HOMES", (str(home),))
    return home


def test_the_real_home_raises(homes: Path) -> None:
    for reach in (open, os.listdir, os.mkdir, os.remove, sqlite3.connect):
        with pytest.raises(pytest.fail.Exception, match="real home"):
            reach(str(homes / ".profile"))


def test_a_test_has_a_home_of_its_own() -> None:
    home = Path.home()
    assert str(home) not in guard._HOMES
    assert list(home.iterdir()) == []
    assert os.environ["XDG_CONFIG_HOME"].startswith(str(home))
    (home / "left").touch()


def test_what_another_test_left_at_home_is_not_there() -> None:
    assert list(Path.home().iterdir()) == []


@pytest.mark.parametrize("host", ["192.0.2.1", "example.invalid", "2001:db8::1"])
def test_the_network_raises(host: str) -> None:
    with pytest.raises(pytest.fail.Exception, match="network"):
        socket.create_connection((host, 80), timeout=1)


def test_this_machine_may_be_talked_to(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        socket.create_connection(server.getsockname()).close()
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(os.path.relpath(tmp_path / "s"))
        server.listen()


def test_git_has_no_settings_but_ours() -> None:
    listed = subprocess.run(
        ["git", "config", "--list", "--show-origin"], cwd=Path.home(), capture_output=True, text=True, check=True
    )
    assert listed.stdout == ""
