"""The rows of an agent's SQLite database as numbered lines, so that a reader of lines can read databases.

The database belongs to another program and may be in use. It is opened read-only, waits are short, and no lock is held
while a row is processed, so the agent can always write. A database that cannot be read raises ``OSError`` with a
message, as a file does. The schema is not trusted: only plain tables are read.
"""

import errno
import math
import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from types import MappingProxyType
from typing import Protocol, TypeVar

from msgspec import Struct

from custody.capture.line_reader import LINE_BYTES_MAX, FileLine, read_jsonl_lines
from custody.capture.transcripts import TranscriptReader
from custody.core.platform import CLOEXEC, NONBLOCK
from custody.core.wire.canonical import Json, dump_canonical_json

MAGIC = b"SQLite format 3\0"
HEADER_BYTES = 20
WAL_VERSION = 2
BUSY_SECONDS = 0.5
PIECE_ROWS = 500
PIECE_BYTES = 4 << 20
"""Limits of one query; no lock is held between queries."""
TABLE = "table"
"""The field of a line that names the table of its row."""
UNREAD = "sessions"
"""Stands for the sessions of a database that could not be read when they were listed."""

_MESSAGES: Mapping[str, str] = MappingProxyType(
    {
        "SQLITE_BUSY": "locked by another program: close it and import again",
        "SQLITE_LOCKED": "locked by another program: close it and import again",
        "SQLITE_READONLY": "half-written: open it once with its own program, then import again",
        "SQLITE_CANTOPEN": "half-written or not readable: open it once with its own program",
        "SQLITE_CORRUPT": "the database is damaged",
        "SQLITE_NOTADB": "the database is damaged",
        "SQLITE_IOERR": "the database is truncated, or the disk fails",
    }
)


class RowSelection(Struct, frozen=True, kw_only=True):
    """A selection of rows: a table's columns, a condition with ``?`` for ``values``, and a unique column.

    Rows are ordered by that column. Rows with neither a number nor a text in it are skipped: no agent writes such a
    key. All names and the condition are the reader's own, never from a file.
    """

    table: str
    columns: tuple[str, ...]
    where: str = "1"
    values: tuple[str | int, ...] = ()
    key: str = "rowid"


def select_agent_row(table: str, columns: tuple[str, ...], key: str, value: str) -> RowSelection:
    """Return the selection of the row with this key."""
    return RowSelection(table=table, columns=columns, where=f"{key} = ?", values=(value,), key=key)


class DatabaseRow(Struct, frozen=True):
    """A row by column names, with its size in bytes; without values if those exceed the limit."""

    values: dict[str, Json]
    size: int


class Database:
    """An agent's database, open for reading."""

    def __init__(self, connection: sqlite3.Connection, path: Path) -> None:
        self._connection = connection
        self._path = path

    def columns(self, table: str) -> frozenset[str]:
        """Return the names of a plain table's columns; none if the table does not exist."""
        with _translate_agent_database_errors(self._path):
            definition = self._connection.execute(
                "SELECT sql FROM sqlite_master WHERE type = 'table' AND name = ?", (table,)
            ).fetchone()
            # A virtual table or a view may run arbitrary code.
            if (
                definition is None
                or not isinstance(definition[0], bytes)
                or definition[0].upper().startswith(b"CREATE VIRTUAL")
            ):
                return frozenset()
            rows = self._connection.execute("SELECT name FROM pragma_table_info(?)", (table,)).fetchall()
        return frozenset(str(_sqlite_value_to_json(name)) for (name,) in rows)

    def rows(self, wanted: RowSelection) -> Iterator[DatabaseRow]:
        """Yield the rows in order; none if the table does not exist. Missing columns are skipped."""
        there = self.columns(wanted.table)
        columns = [name for name in wanted.columns if name in there]
        if not columns:
            return
        last: object = None
        while True:
            before = last
            piece, last = self._piece(wanted, columns, before)
            yield from piece
            if last is None or last == before:
                return

    def _piece(self, wanted: RowSelection, columns: list[str], last: object) -> tuple[list[DatabaseRow], object]:
        """Return some rows after this key, and the key of the last of them; None if no rows are left."""
        after = "" if last is None else f" AND {_quote_agent_column(wanted.key)} > ?"
        where, values = _bind_row_selection(wanted.where, wanted.values)
        key_column, table = _quote_agent_column(wanted.key), _quote_agent_column(wanted.table)
        sql = (
            f"SELECT {key_column}, {', '.join(map(_measured_column_sql, columns))} FROM {table}"
            # Blobs sort after every text, so paging would never pass them.
            f" WHERE ({where}) AND typeof({key_column}) IN ('integer', 'text'){after}"
            f" ORDER BY 1 LIMIT {PIECE_ROWS}"
        )
        piece: list[DatabaseRow] = []
        size = 0
        key: object = None
        with _translate_agent_database_errors(self._path):
            cursor = self._connection.execute(sql, (*values, *(() if last is None else (last,))))
            for key, *cells in cursor:
                piece.append(_make_agent_row(columns, cells))
                size += piece[-1].size
                if size > PIECE_BYTES:
                    cursor.close()
                    return piece, self._decode_key(key)
        return piece, self._decode_key(key) if len(piece) == PIECE_ROWS else None

    def _decode_key(self, key: object) -> object:
        """Return a key as a query parameter: texts are bytes here, and must be UTF-8."""
        try:
            return key.decode() if isinstance(key, bytes) else key
        except UnicodeDecodeError as error:
            raise OSError(errno.EIO, "the database is damaged: a key is not UTF-8 text", str(self._path)) from error


def is_sqlite_transcript(path: Path) -> bool:
    """Return whether a file has SQLite's header."""
    try:
        return _read_sqlite_header(path).startswith(MAGIC)
    except OSError:
        return False  # reported when it is read


@contextmanager
def open_agent_database(path: Path) -> Iterator[Database]:
    """Yield a database for reading; problems raise ``OSError`` with a message, now or during a read."""
    with _translate_agent_database_errors(path):
        connection = sqlite3.connect(
            f"{path.absolute().as_uri()}?{_choose_transcript_database_mode(path)}",
            uri=True,
            timeout=BUSY_SECONDS,
            isolation_level=None,
        )
    try:
        with _translate_agent_database_errors(path):
            # Texts need not be UTF-8, and a schema may be hostile.
            connection.text_factory = bytes
            connection.execute("PRAGMA query_only = ON")
            connection.execute("PRAGMA trusted_schema = OFF")
        yield Database(connection, path)
    finally:
        connection.close()


def row_to_transcript_line(number: int, table: str, row: DatabaseRow) -> FileLine:
    """Return a row as a line of JSON with its table's name; a row over the limit has no data."""
    if row.size > LINE_BYTES_MAX:
        return FileLine(number, b"", row.size, True)
    return json_to_transcript_line(number, {**row.values, TABLE: table})


def json_to_transcript_line(number: int, value: dict[str, Json]) -> FileLine:
    """Return an object as a line of JSON; an object over the limit has no data."""
    data = dump_canonical_json(value)
    return FileLine(number, data if len(data) <= LINE_BYTES_MAX else b"", len(data), True)


class DatabaseSession(Protocol):
    """A session that an agent's database holds."""

    @property
    def created(self) -> int:
        """When the session began, in milliseconds."""

    def line(self, number: int) -> FileLine:
        """Return the session's own line."""


S = TypeVar("S", bound=DatabaseSession)


def read_database_sessions(
    file: Path,
    read_sessions: Callable[[Database, str | None], Iterable[S]],
    read_lines: Callable[[Database, S, Iterator[int]], Iterator[FileLine]],
) -> Iterator[FileLine]:
    """Yield the lines of all sessions of a database, oldest first, or of the session that ``file`` names in it.

    ``read_sessions`` returns all sessions or the named session, ``read_lines`` what follows a session's own line.
    """
    path, name = (file, None) if is_sqlite_transcript(file) else (file.parent, file.name)
    number = count(1)
    with open_agent_database(path) as database:
        if name == UNREAD:
            next(iter(read_sessions(database, None)), None)
            raise OSError(errno.EAGAIN, "it was not readable when sessions were listed: import again", str(path))
        for session in sorted(read_sessions(database, name), key=lambda session: session.created):
            yield session.line(next(number))
            yield from read_lines(database, session, number)


def read_transcript_lines(reader: TranscriptReader, file: Path) -> Iterator[FileLine]:
    """Return the lines of a transcript; for a database, or a session in it (``FILE.db/NAME``), its rows."""
    return reader.rows(file) if reader.rows is not None and is_session_in_database(file) else read_jsonl_lines(file)


def is_session_in_database(file: Path) -> bool:
    """Return whether a file is a database, or names a session in one."""
    return is_sqlite_transcript(file) or is_sqlite_transcript(file.parent)


def _choose_transcript_database_mode(path: Path) -> str:
    """Return the mode that opens the database without creating or changing files beside it."""
    log, index = (path.with_name(path.name + suffix) for suffix in ("-wal", "-shm"))
    if _read_sqlite_header(path)[18:19] != bytes([WAL_VERSION]):
        return "mode=ro"
    if not log.exists() or (not log.stat().st_size and not index.exists()):
        return "mode=ro&immutable=1"  # not open elsewhere; otherwise SQLite would create a log and its index to read it
    # A log without an index was copied or left by a crash: only then may SQLite create one.
    return "mode=ro&readonly_shm=1" if index.exists() else "mode=ro"


def _read_sqlite_header(path: Path) -> bytes:
    # O_NONBLOCK: do not wait for a pipe among the databases.
    handle = os.open(path, os.O_RDONLY | NONBLOCK | CLOEXEC)
    try:
        return os.read(handle, HEADER_BYTES)
    finally:
        os.close(handle)


@contextmanager
def _translate_agent_database_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except sqlite3.Error as error:
        name = str(getattr(error, "sqlite_errorname", ""))
        message = next(
            (message for start, message in _MESSAGES.items() if name.startswith(start)),
            "SQLite cannot read the database",
        )
        raise OSError(errno.EIO, f"{message} ({error})", str(path)) from error
    except UnicodeDecodeError as error:
        # SQLite quotes invalid names in its messages, and Python requires UTF-8 there.
        raise OSError(errno.EIO, "the database is damaged", str(path)) from error


def _bind_row_selection(where: str, values: tuple[str | int, ...]) -> tuple[str, tuple[str | int | bytes, ...]]:
    """Return a condition and its values as parameters: a text that is not UTF-8 becomes bytes."""
    first, *rest = where.split("?")
    parameters: list[str | int | bytes] = []
    for value, piece in zip(values, rest, strict=True):
        is_odd = (
            isinstance(value, str)
            and not value.isascii()
            and any("\ud800" <= character <= "\udfff" for character in value)
        )
        parameters.append(value.encode("utf-8", "surrogateescape") if is_odd and isinstance(value, str) else value)
        first += ("CAST(? AS TEXT)" if is_odd else "?") + piece
    return first, tuple(parameters)


def _make_agent_row(columns: list[str], matches: list[object]) -> DatabaseRow:
    values, sizes = matches[::2], matches[1::2]
    size = sum(cell_size for cell_size in sizes if isinstance(cell_size, int))
    if size > LINE_BYTES_MAX:
        return DatabaseRow({}, size)
    return DatabaseRow({name: _sqlite_value_to_json(value) for name, value in zip(columns, values, strict=True)}, size)


def _sqlite_value_to_json(value: object) -> Json:
    if isinstance(value, bytes):
        return value.decode("utf-8", "surrogateescape")
    if isinstance(value, float):
        return value if math.isfinite(value) else None  # JSON has no such number
    return value if isinstance(value, int | str) else None


def _measured_column_sql(column: str) -> str:
    """Return SQL for a column and its length; without its value if that alone exceeds the limit."""
    name = _quote_agent_column(column)
    return f"CASE WHEN length({name}) <= {LINE_BYTES_MAX} THEN {name} END, length({name})"


def _quote_agent_column(name: str) -> str:
    doubled = name.replace('"', '""')
    return f'"{doubled}"'
