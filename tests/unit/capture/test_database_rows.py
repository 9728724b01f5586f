"""An agent's database as lines: read-only, in pieces, and unreadable content is reported."""

import json
import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from itertools import islice
from pathlib import Path

import pytest

from custody.capture import database_rows as databases
from custody.capture.database_rows import (
    RowSelection,
    is_sqlite_transcript,
    open_agent_database,
    row_to_transcript_line,
)
from custody.capture.line_reader import LINE_BYTES_MAX, FileLine

ALL = RowSelection(table="kv", columns=("key", "value"), key="key")


def a_database(path: Path, rows: int = 3, journal: str = "delete") -> Path:
    with closing(sqlite3.connect(path)) as db, db:
        db.execute(f"PRAGMA journal_mode = {journal}")
        db.execute("CREATE TABLE kv (key TEXT UNIQUE, value BLOB)")
        db.executemany("INSERT INTO kv VALUES (?, ?)", [(f"k{n:05d}", f"v{n}") for n in range(rows)])
    return path


def lines_in(path: Path, rows: RowSelection = ALL) -> list[FileLine]:
    with open_agent_database(path) as database:
        return [row_to_transcript_line(number, rows.table, row) for number, row in enumerate(database.rows(rows), 1)]


def read(path: Path, rows: RowSelection = ALL) -> list[dict[str, object]]:
    return [json.loads(line.data) for line in lines_in(path, rows)]


def beside(path: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in path.parent.iterdir() if not file.name.endswith("-shm")}


@pytest.mark.parametrize("journal", ["delete", "wal"])
def test_rows_are_numbered_lines_and_no_file_is_created_beside_the_database(tmp_path: Path, journal: str) -> None:
    path = a_database(tmp_path / "a.db", journal=journal)
    before = beside(path)
    lines = lines_in(path)
    assert [line.number for line in lines] == [1, 2, 3]
    assert json.loads(lines[0].data) == {"key": "k00000", "table": "kv", "value": "v0"}
    assert beside(path) == before
    assert not (tmp_path / "a.db-shm").exists()


def test_rows_come_in_pieces_without_a_lock_between_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(databases, "PIECE_ROWS", 2)
    path = a_database(tmp_path / "a.db", 5)
    keys = []
    with open_agent_database(path) as database, closing(sqlite3.connect(path, timeout=0)) as writer:
        for row in database.rows(ALL):
            keys.append(row.values["key"])
            with writer:
                writer.execute("UPDATE kv SET value = value || '!'")
    assert keys == [f"k{n:05d}" for n in range(5)]


def test_a_piece_ends_early_if_rows_are_long(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(databases, "PIECE_BYTES", 1)
    assert len(read(a_database(tmp_path / "a.db", 5))) == 5


def test_reading_ends_with_keys_that_are_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(databases, "PIECE_ROWS", 2)
    path = a_database(tmp_path / "a.db", 3)
    with closing(sqlite3.connect(path)) as db, db:
        db.executemany("INSERT INTO kv VALUES (?, 'planted')", [(b"blob %d" % n,) for n in range(5)])
        db.execute("INSERT INTO kv VALUES (NULL, 'planted')")
    with open_agent_database(path) as database:
        keys = [row.values["key"] for row in islice(database.rows(ALL), 100)]
    assert keys == ["k00000", "k00001", "k00002"]


def test_keys_that_are_not_text_are_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(databases, "PIECE_ROWS", 1)
    path = a_database(tmp_path / "a.db", 1)
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("INSERT INTO kv VALUES (CAST(x'ff01' AS TEXT), 'odd')")
    with pytest.raises(OSError, match="a key is not UTF-8 text"):
        read(path)


def test_query_values_need_not_be_utf8(tmp_path: Path) -> None:
    path = a_database(tmp_path / "a.db")
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("INSERT INTO kv VALUES (CAST(x'6bff' AS TEXT), 'odd')")
    odd = b"k\xff".decode("utf-8", "surrogateescape")
    with open_agent_database(path) as database:
        asked = RowSelection(table="kv", columns=("value",), where="key >= ? AND key = ?", values=("a", odd), key="key")
        assert [row.values for row in database.rows(asked)] == [{"value": "odd"}]


def test_a_schema_that_is_not_text_is_reported(tmp_path: Path) -> None:
    path = a_database(tmp_path / "a.db")
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("PRAGMA writable_schema = ON")
        db.execute("UPDATE sqlite_master SET name = CAST(x'a7ff' AS TEXT), sql = 'CREATE TABLE (' WHERE name = 'kv'")
    with pytest.raises(OSError, match="the database is damaged"):
        read(path)


def test_conditions_keys_and_missing_columns(tmp_path: Path) -> None:
    path = a_database(tmp_path / "a.db", 5)
    some = RowSelection(
        table="kv", columns=("key", "hologram"), where="key >= ? AND key < ?", values=("k00001", "k00003")
    )
    assert read(path, some) == [{"key": "k00001", "table": "kv"}, {"key": "k00002", "table": "kv"}]
    assert read(path, RowSelection(table="nothing", columns=("key",))) == []


def test_views_and_virtual_tables_are_not_read(tmp_path: Path) -> None:
    path = a_database(tmp_path / "a.db")
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("CREATE VIEW seen AS SELECT key FROM kv")
    assert read(path, RowSelection(table="seen", columns=("key",))) == []


def test_a_row_over_the_limit_is_skipped_and_invalid_utf8_is_read(tmp_path: Path) -> None:
    path = a_database(tmp_path / "a.db", 1)
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("INSERT INTO kv VALUES ('long', zeroblob(?))", (LINE_BYTES_MAX + 1,))
        db.execute("INSERT INTO kv VALUES ('odd', x'ff00')")
        db.execute("INSERT INTO kv VALUES ('null', NULL)")
        db.execute("INSERT INTO kv VALUES ('vast', 9e999)")
    lines = {line.number: line for line in lines_in(path)}
    assert (lines[2].data, lines[2].size) == (b"", LINE_BYTES_MAX + 1 + len("long"))
    assert [json.loads(lines[n].data)["value"] for n in (3, 4, 5)] == [None, "\udcff\0", None]


def test_a_locked_database_is_reported(tmp_path: Path) -> None:
    path = a_database(tmp_path / "a.db")
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        with pytest.raises(OSError, match="locked by another program"):
            read(path)


def test_a_database_in_use_is_read_with_its_log(tmp_path: Path) -> None:
    path = a_database(tmp_path / "a.db", journal="wal")
    with closing(sqlite3.connect(path)) as running:
        with running:
            running.execute("INSERT INTO kv VALUES ('later', 'x')")
        before = beside(path)
        assert len(read(path)) == 4
        assert beside(path) == before


def test_a_log_left_by_a_crash_is_read_too(tmp_path: Path) -> None:
    path = a_database(tmp_path / "a.db", journal="wal")
    program = (
        "import os, sqlite3, sys; db = sqlite3.connect(sys.argv[1]);"
        " db.execute(\"INSERT INTO kv VALUES ('later', 'x')\"); db.commit(); os._exit(0)"
    )
    subprocess.run([sys.executable, "-c", program, str(path)], check=True)
    before = beside(path)
    assert len(read(path)) == 4
    os.unlink(tmp_path / "a.db-shm")
    assert len(read(path)) == 4
    assert beside(path) == before


def test_a_half_written_database_is_reported_and_not_changed(tmp_path: Path) -> None:
    path = a_database(tmp_path / "a.db")
    program = (
        "import os, sqlite3, sys; db = sqlite3.connect(sys.argv[1], isolation_level=None);"
        " db.execute('PRAGMA cache_size = 2'); db.execute('BEGIN EXCLUSIVE');"
        " db.executemany('INSERT INTO kv VALUES (?, ?)', ((f'n{n}', 'x' * 500) for n in range(5000))); os._exit(0)"
    )
    subprocess.run([sys.executable, "-c", program, str(path)], check=True)
    before = beside(path)
    assert "a.db-journal" in before
    with pytest.raises(OSError, match="half-written"):
        read(path)
    assert beside(path) == before


@pytest.mark.parametrize("keep", [100, 5000])
def test_a_truncated_database_raises_an_error_with_a_message(tmp_path: Path, keep: int) -> None:
    path = a_database(tmp_path / "a.db", 2000)
    path.write_bytes(path.read_bytes()[:keep])
    with pytest.raises(OSError, match="damaged|cut off"):
        read(path)


def test_databases_are_recognized(tmp_path: Path) -> None:
    text = tmp_path / "a.txt"
    text.write_text("SQLite is nice")
    os.mkfifo(tmp_path / "pipe")
    assert [
        is_sqlite_transcript(path) for path in (a_database(tmp_path / "a.db"), text, tmp_path / "pipe", tmp_path)
    ] == [
        *(True, False, False),
        False,
    ]
