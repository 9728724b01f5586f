"""The rows of an agent's SQLite database as numbered lines, so that a reader of lines reads databases too.

A database is another program's and may be in use: it is opened read-only, nothing is waited for longer than a moment,
and no lock is held while a row is worked on, so that the agent is never kept from writing. What cannot be read is an
``OSError`` in words, as it is for a file. The schema is not trusted: only plain tables are read.
"""

import errno
import math
import os
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from custody.capture.line_reader import LINE_BYTES_MAX, FileLine, lines_of
from custody.capture.transcripts import TranscriptReader
from custody.core.wire.canonical import Json, dump

MAGIC = b"SQLite format 3\0"
HEADER_BYTES = 20
WAL_VERSION = 2
BUSY_SECONDS = 0.5
PIECE_ROWS = 500
PIECE_BYTES = 4 << 20
"""What is taken out in one go; between two of these no lock is held."""
TABLE = "table"
"""The name under which a line says which table its row is of."""

_WORDS: Mapping[str, str] = MappingProxyType(
    {
        "SQLITE_BUSY": "it is locked by another program: import again when that is closed",
        "SQLITE_LOCKED": "it is locked by another program: import again when that is closed",
        "SQLITE_READONLY": "it was left half-written: let its own program open it once, then import again",
        "SQLITE_CANTOPEN": "it is half-written or must not be opened: let its own program open it once",
        "SQLITE_CORRUPT": "the database is damaged",
        "SQLITE_NOTADB": "the database is damaged",
        "SQLITE_IOERR": "the database is cut off or the disk fails",
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class RowSelection:
    """Which rows of a table are meant: its columns, a condition with ``?`` for ``values``, and a unique column.

    Rows come in the order of that column. One in which that is neither a number nor a text is left out: no agent writes
    such a key. All names and the condition are the reader's own words, never a file's.
    """

    table: str
    columns: tuple[str, ...]
    where: str = "1"
    values: tuple[str | int, ...] = ()
    key: str = "rowid"


def select_row(table: str, columns: tuple[str, ...], key: str, value: str) -> RowSelection:
    """The row with this key."""
    return RowSelection(table=table, columns=columns, where=f"{key} = ?", values=(value,), key=key)


@dataclass(frozen=True, slots=True)
class DatabaseRow:
    """A row by its columns' names, and how many bytes it has; without values where those are over the limit."""

    values: dict[str, Json]
    size: int


class Database:
    """An agent's database, open for reading."""

    def __init__(self, connection: sqlite3.Connection, path: Path) -> None:
        self._connection = connection
        self._path = path

    def columns(self, table: str) -> frozenset[str]:
        """The names of a plain table's columns; none where there is no such table."""
        with _translate_database_errors(self._path):
            made = self._connection.execute(
                "SELECT sql FROM sqlite_master WHERE type = 'table' AND name = ?", (table,)
            ).fetchone()
            # A virtual table or a view may run whatever its maker wanted.
            if made is None or not isinstance(made[0], bytes) or made[0].upper().startswith(b"CREATE VIRTUAL"):
                return frozenset()
            told = self._connection.execute("SELECT name FROM pragma_table_info(?)", (table,)).fetchall()
        return frozenset(str(_value(name)) for (name,) in told)

    def rows(self, wanted: RowSelection) -> Iterator[DatabaseRow]:
        """The rows, in order; none where the table is not there. A column that is not there is left out."""
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
        """Some rows after the one with this key, and the key of the last of them; None where nothing is left."""
        after = "" if last is None else f" AND {_quoted(wanted.key)} > ?"
        where, values = _bound(wanted.where, wanted.values)
        sql = (
            f"SELECT {_quoted(wanted.key)}, {', '.join(map(_measured, columns))} FROM {_quoted(wanted.table)}"
            # Bytes come behind every text, and so would never be passed.
            f" WHERE ({where}) AND typeof({_quoted(wanted.key)}) IN ('integer', 'text'){after}"
            f" ORDER BY 1 LIMIT {PIECE_ROWS}"
        )
        piece: list[DatabaseRow] = []
        size = 0
        key: object = None
        with _translate_database_errors(self._path):
            cursor = self._connection.execute(sql, (*values, *(() if last is None else (last,))))
            for key, *found in cursor:
                piece.append(_row(columns, found))
                size += piece[-1].size
                if size > PIECE_BYTES:
                    cursor.close()
                    return piece, self._as_it_came(key)
        return piece, self._as_it_came(key) if len(piece) == PIECE_ROWS else None

    def _as_it_came(self, key: object) -> object:
        """A key to ask with: a text is bytes here, and one that is no UTF-8 cannot be asked with."""
        try:
            return key.decode() if isinstance(key, bytes) else key
        except UnicodeDecodeError as error:
            raise OSError(errno.EIO, "the database is damaged: a key is no text", str(self._path)) from error


def is_database(path: Path) -> bool:
    """Whether a file begins as SQLite's do."""
    try:
        return _header(path).startswith(MAGIC)
    except OSError:
        return False  # named when it is read


@contextmanager
def open_agent_database(path: Path) -> Iterator[Database]:
    """A database to read from; what is wrong with it is an ``OSError`` in words, now or while it is read."""
    with _translate_database_errors(path):
        connection = sqlite3.connect(
            f"{path.absolute().as_uri()}?{_mode(path)}", uri=True, timeout=BUSY_SECONDS, isolation_level=None
        )
    try:
        with _translate_database_errors(path):
            # Texts need not be UTF-8, and a schema may hold traps.
            connection.text_factory = bytes
            connection.execute("PRAGMA query_only = ON")
            connection.execute("PRAGMA trusted_schema = OFF")
        yield Database(connection, path)
    finally:
        connection.close()


def line_of(number: int, table: str, row: DatabaseRow) -> FileLine:
    """A row as a line of JSON that names its table; one over the limit has no data, as it is for lines."""
    if row.size > LINE_BYTES_MAX:
        return FileLine(number, b"", row.size, True)
    return json_line(number, {**row.values, TABLE: table})


def json_line(number: int, value: dict[str, Json]) -> FileLine:
    """An object as a line of JSON; one over the limit has no data."""
    data = dump(value)
    return FileLine(number, data if len(data) <= LINE_BYTES_MAX else b"", len(data), True)


def lines_for(reader: TranscriptReader, file: Path) -> Iterator[FileLine]:
    """The lines of a transcript; of a database, or of what is in it (``FILE.db/NAME``), the rows that are asked for."""
    return reader.rows(file) if reader.rows is not None and in_database(file) else lines_of(file)


def in_database(file: Path) -> bool:
    """Whether a file is a database, or names a session in one."""
    return is_database(file) or is_database(file.parent)


def _mode(path: Path) -> str:
    """How to open the database so that nothing is made or changed beside it."""
    log, index = (path.with_name(path.name + suffix) for suffix in ("-wal", "-shm"))
    if _header(path)[18:19] != bytes([WAL_VERSION]):
        return "mode=ro"
    if not log.exists() or (not log.stat().st_size and not index.exists()):
        return "mode=ro&immutable=1"  # nobody has it open, and SQLite would make a log and its index to read it
    # A log without an index was left by a program that died, or copied: only there SQLite makes one.
    return "mode=ro&readonly_shm=1" if index.exists() else "mode=ro"


def _header(path: Path) -> bytes:
    # O_NONBLOCK: a pipe that lies among the databases is not waited for.
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        return os.read(handle, HEADER_BYTES)
    finally:
        os.close(handle)


@contextmanager
def _translate_database_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except sqlite3.Error as error:
        name = str(getattr(error, "sqlite_errorname", ""))
        words = next((words for start, words in _WORDS.items() if name.startswith(start)), "SQLite cannot read it")
        raise OSError(errno.EIO, f"{words} ({error})", str(path)) from error
    except UnicodeDecodeError as error:
        # SQLite quotes what it found where a name should be, and Python wants that to be UTF-8.
        raise OSError(errno.EIO, "the database is damaged", str(path)) from error


def _bound(where: str, values: tuple[str | int, ...]) -> tuple[str, tuple[str | int | bytes, ...]]:
    """A condition and its values as they can be asked: a text that is no UTF-8 goes in as its bytes."""
    first, *rest = where.split("?")
    asked: list[str | int | bytes] = []
    for value, piece in zip(values, rest, strict=True):
        is_odd = isinstance(value, str) and not value.isascii() and any("\ud800" <= sign <= "\udfff" for sign in value)
        asked.append(value.encode("utf-8", "surrogateescape") if is_odd and isinstance(value, str) else value)
        first += ("CAST(? AS TEXT)" if is_odd else "?") + piece
    return first, tuple(asked)


def _row(columns: list[str], found: list[object]) -> DatabaseRow:
    values, sizes = found[::2], found[1::2]
    size = sum(said for said in sizes if isinstance(said, int))
    if size > LINE_BYTES_MAX:
        return DatabaseRow({}, size)
    return DatabaseRow({name: _value(value) for name, value in zip(columns, values, strict=True)}, size)


def _value(value: object) -> Json:
    if isinstance(value, bytes):
        return value.decode("utf-8", "surrogateescape")
    if isinstance(value, float):
        return value if math.isfinite(value) else None  # JSON has no word for it
    return value if isinstance(value, int | str) else None


def _measured(column: str) -> str:
    """A column and its length; without its value where that alone is over the limit."""
    name = _quoted(column)
    return f"CASE WHEN length({name}) <= {LINE_BYTES_MAX} THEN {name} END, length({name})"


def _quoted(name: str) -> str:
    doubled = name.replace('"', '""')
    return f'"{doubled}"'
