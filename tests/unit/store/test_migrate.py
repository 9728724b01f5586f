"""Migrations: numbered, transactional, and killed at any statement they resume."""

import os
import shutil
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import pytest

from custody.store.db import (
    SCHEMA_VERSION,
    SqlValue,
    load_schema_migrations,
    migrate_store_schema,
    split_sql_statements,
)
from custody.store.sqlite import SqliteDb, open_sqlite

STATEMENTS = sum(len(step.statements) + 2 for step in load_schema_migrations()) * 2


class Dying(SqliteDb):
    """A database whose process is killed at its N-th statement."""

    left = 0

    def run(self, sql: str, values: Sequence[SqlValue] = ()) -> None:
        Dying.left -= 1
        if Dying.left == 0:
            os._exit(137)
        super().run(sql, values)


def schema_of(path: Path) -> list[tuple[str, ...]]:
    with closing(sqlite3.connect(path)) as db:
        return db.execute("SELECT type, name, sql FROM sqlite_master ORDER BY name").fetchall()


def test_the_newest_step_is_the_version_this_custody_writes() -> None:
    assert [step.number for step in load_schema_migrations()] == list(range(1, SCHEMA_VERSION + 1))


def test_migrating_twice_is_migrating_once(tmp_path: Path) -> None:
    for _ in range(2):
        with closing(open_sqlite(tmp_path / "db")) as db:
            migrate_store_schema(db)
            assert db.version() == SCHEMA_VERSION


def test_killed_at_any_statement_it_resumes(tmp_path: Path) -> None:
    with closing(open_sqlite(tmp_path / "whole")) as db:
        migrate_store_schema(db)
    whole = schema_of(tmp_path / "whole")
    killed, empty = 0, tmp_path / "empty"
    open_sqlite(empty).close()
    for nth in range(1, STATEMENTS):
        path = tmp_path / f"killed-{nth}"
        shutil.copyfile(empty, path)
        was_killed = _killed_at(path, nth)
        if was_killed:
            killed += 1
            assert schema_of(path) in ([], whole[:0]) or _versions_agree(path)
        with closing(_open_unsynced(path)) as db:
            migrate_store_schema(db)
        assert schema_of(path) == whole
        path.unlink()
        if not was_killed:
            break  # it has no further statement
    assert killed >= sum(len(step.statements) for step in load_schema_migrations()), "every statement was died at"


def _killed_at(path: Path, nth: int) -> bool:
    child = os.fork()
    if child == 0:
        try:
            db = _open_unsynced(path)
            Dying.left = nth
            migrate_store_schema(Dying(db.connection, path))
        finally:
            os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 137


def _open_unsynced(path: Path) -> SqliteDb:
    """Open a database that does not wait for the disk: a killed process loses nothing that it wrote."""
    db = open_sqlite(path)
    db.connection.execute("PRAGMA synchronous = OFF")
    return db


def _versions_agree(path: Path) -> bool:
    """Check that a killed migration left whole steps: the tables match the version in the file."""
    with closing(sqlite3.connect(path)) as db:
        ((version,),) = db.execute("PRAGMA user_version").fetchall()
    tables = {name for kind, name, _ in schema_of(path) if kind == "table"}
    expected = set[str]()
    for statement in (one for step in load_schema_migrations()[:version] for one in step.statements):
        if statement.startswith("CREATE TABLE"):
            expected.add(statement.split()[2])
        elif statement.startswith("DROP TABLE"):
            expected.discard(statement.split()[-1])
    return {name for name in tables if not name.startswith("sqlite_")} == expected


def test_comments_are_not_statements() -> None:
    assert split_sql_statements("-- one; two\nSELECT 1; -- three\nSELECT 2;\n") == ("SELECT 1", "SELECT 2")


@pytest.mark.parametrize("version", [SCHEMA_VERSION + 1, 99])
def test_a_newer_schema_is_left_alone(tmp_path: Path, version: int) -> None:
    from custody.core.errors import StoreError

    with closing(open_sqlite(tmp_path / "db")) as db:
        migrate_store_schema(db)
        db.set_version(version)
        with pytest.raises(StoreError, match="upgrade|knows up to"):
            migrate_store_schema(db)
        assert db.version() == version
