"""SQLite's settings, and how its errors are translated."""

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from custody.store.seal import store_file_birth_ns
from custody.store.sqlite import is_on_network_mount, open_sqlite, open_sqlite_overlay, open_sqlite_to_read
from tests.builders.events import an_arrival
from tests.builders.stores import a_sqlite_store

MOUNTS = """\
/dev/sda1 / ext4 rw 0 0
server:/home /home nfs4 rw 0 0
/dev/sdb1 /home/ana/local\\040disk ext4 rw 0 0
//nas/x /mnt/nas cifs rw 0 0
"""


@pytest.mark.parametrize(
    ("path", "network"),
    [
        ("/var/x", False),
        ("/home/ana/r", True),
        ("/home/ana/local disk/r", False),
        ("/homework", False),
        ("/mnt/nas", True),
        ("/mnt/nasty", False),
    ],
)
def test_network_file_systems_are_known_by_the_mount_table(path: str, network: bool) -> None:
    assert is_on_network_mount(Path(path), MOUNTS) is network


def test_a_store_that_another_process_makes_at_this_very_moment_is_ours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    connect, path = sqlite3.connect, tmp_path / "custody.db"
    looks: list[str] = []

    class Interrupted(sqlite3.Connection):
        """Another process creates the store's tables between our two checks."""

        def execute(self, sql: str, *values: Any) -> sqlite3.Cursor:
            looks.append(sql)
            if len(looks) == 2:
                monkeypatch.setattr(sqlite3, "connect", connect)
                a_sqlite_store(tmp_path).close()
            return super().execute(sql, *values)

    path.touch()
    monkeypatch.setattr(sqlite3, "connect", lambda *a, **k: connect(*a, **k, factory=Interrupted))

    with closing(open_sqlite(path)) as db:
        assert db.version() > 0


def test_the_journal_is_a_write_ahead_log_and_every_commit_is_synced(tmp_path: Path) -> None:
    with closing(open_sqlite(tmp_path / "db")) as db:
        assert db.rows("PRAGMA journal_mode") == [("wal",)]
        assert db.rows("PRAGMA synchronous") == [(2,)]


def test_a_network_file_system_has_no_write_ahead_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("custody.store.sqlite._read_mount_table", lambda: "server:/ / nfs rw 0 0")
    with closing(open_sqlite(tmp_path / "db")) as db:
        assert db.rows("PRAGMA journal_mode") == [("delete",)]


def test_only_its_owner_can_read_it(tmp_path: Path) -> None:
    with a_sqlite_store(tmp_path) as store:
        store.append([an_arrival()])
        for path in tmp_path.iterdir():
            assert path.stat().st_mode & 0o077 == 0, path


def test_a_left_over_log_is_read_from_a_copy_of_the_file(tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    store = a_sqlite_store(tmp_path / "one")
    store.append([an_arrival()])
    for suffix in ("", "-wal"):  # as after a kill: the write-ahead log is not merged yet
        shutil.copy(tmp_path / "one" / f"custody.db{suffix}", tmp_path / "two" / f"custody.db{suffix}")
    store.close()
    with closing(open_sqlite_to_read(tmp_path / "two" / "custody.db")) as db:
        assert db.rows("SELECT count(*) FROM record") == [(1,)]


def test_an_overlay_changes_nothing_below_it(tmp_path: Path) -> None:
    with a_sqlite_store(tmp_path) as store:
        store.append([an_arrival()])
    before = (tmp_path / "custody.db").read_bytes()
    with closing(open_sqlite_to_read(tmp_path / "custody.db")) as base, closing(open_sqlite_overlay(base)) as private:
        private.run("DELETE FROM record")
        assert base.rows("SELECT count(*) FROM record") == [(1,)]
    assert (tmp_path / "custody.db").read_bytes() == before


def test_a_copied_file_is_born_later(tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    one.write_text("x")
    shutil.copy2(one, two)
    if store_file_birth_ns(one):
        assert store_file_birth_ns(two) > store_file_birth_ns(one)
