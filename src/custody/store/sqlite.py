"""SQLite as the store's database: one file in the git common directory.

Every write begins with ``BEGIN IMMEDIATE`` (a deferred one fails under concurrent writers), is synced before COMMIT
returns, and never uses the write-ahead log on a network file system, where its shared memory does not work.
"""

import os
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from custody.core.errors import StoreError
from custody.core.ids import StoreId
from custody.core.platform import CLOEXEC, sync_folder
from custody.store.db import DamagedStoreError, Db, Dialect, Row, SchemaMismatchError, SqlValue, StoreUnwritable
from custody.store.seal import Seal, store_file_birth_ns

APPLICATION_ID = 0x43757374
"""'Cust' in the file's header: the mark of a custody database."""
BUSY_SECONDS = 30.0

DIALECT = Dialect(blob="BLOB", int="INTEGER", text="TEXT", strict="STRICT", clustered="STRICT, WITHOUT ROWID")

_NETWORK = frozenset(
    "nfs nfs4 cifs smb3 smbfs 9p afs ceph glusterfs lustre beegfs fuse.sshfs fuse.glusterfs davfs virtiofs".split()
)
_UNWRITABLE = {
    "SQLITE_FULL": "the disk is full",
    "SQLITE_READONLY": "it is read-only",
    "SQLITE_CANTOPEN": "it cannot be opened",
    "SQLITE_PERM": "permission denied",
    "SQLITE_AUTH": "access is denied",
    "SQLITE_IOERR": "reading or writing failed",
    "SQLITE_BUSY": f"another process has been writing for over {BUSY_SECONDS:.0f} seconds",
    "SQLITE_LOCKED": "another connection holds it",
}
_MISMATCHES = ("no such table", "no such column", "has no column named")
_DAMAGED = {"SQLITE_CORRUPT": "is damaged", "SQLITE_NOTADB": "is not a database"}


class SqliteDb:
    """One connection to one database file."""

    dialect = DIALECT
    place = ""  # next to the file itself

    def __init__(
        self, connection: sqlite3.Connection, path: Path, scratch: Path | None = None, seal: Seal | None = None
    ) -> None:
        self.connection = connection
        self.path = path
        self._scratch = scratch
        self._seal = seal
        self._version: int | None = None
        self._verified = self.read_seal()
        """How far chains were verified while only this connection writes; sealed when it closes."""

    def rows(self, sql: str, values: Sequence[SqlValue] = ()) -> list[Row]:
        """Return all rows of a query."""
        with self._translate_errors():
            return self.connection.execute(sql, values).fetchall()

    def run(self, sql: str, values: Sequence[SqlValue] = ()) -> None:
        """Run one statement."""
        with self._translate_errors():
            self.connection.execute(sql, values)

    def run_for_each(self, sql: str, rows: Sequence[Sequence[SqlValue]]) -> None:
        """Run one statement for each of ``rows``."""
        with self._translate_errors():
            self.connection.executemany(sql, rows)

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Open a transaction that excludes other writers."""
        self.run("BEGIN IMMEDIATE")
        try:
            self._notice_others()
            yield
            self.run("COMMIT")
        except BaseException:
            self._roll_back()
            raise

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Open a transaction in which every read sees the same state."""
        if self.is_in_transaction():
            yield
            return
        self.run("BEGIN")
        try:
            yield
        finally:
            self._roll_back()

    def is_in_transaction(self) -> bool:
        """Return whether a transaction is open on this connection."""
        return self.connection.in_transaction

    def version(self) -> int:
        """Return the schema's version; 0 for an empty database."""
        ((version,),) = self.rows("PRAGMA user_version")
        return int(version or 0)

    def set_version(self, version: int) -> None:
        """Set the schema's version."""
        self.run(f"PRAGMA application_id = {APPLICATION_ID}")
        self.run(f"PRAGMA user_version = {version:d}")

    def stamp(self) -> str:
        """Return the file's inode and birth time, which differ for a copied or restored file."""
        return f"{self.path.stat().st_ino}-{store_file_birth_ns(self.path)}"

    def index_words(self, rows: Sequence[tuple[int, Sequence[str]]]) -> None:
        """Add texts to the full-text index, which is created with the first."""
        self._ensure_words_table()
        self.run_for_each(
            "INSERT INTO search_text (rowid, words) VALUES (?, ?)", [(item, " ".join(words)) for item, words in rows]
        )

    def drop_words(self, items: Sequence[int]) -> None:
        """Remove texts from the full-text index; merging its segments drops the words themselves."""
        self._ensure_words_table()
        self.run_for_each("DELETE FROM search_text WHERE rowid = ?", [(item,) for item in items])
        self.run("INSERT INTO search_text (search_text) VALUES ('optimize')")

    def match_words(self, words: Sequence[str], *, is_prefix: bool) -> tuple[str, SqlValue]:
        """Return a query for the numbers of texts with ``words`` in a row, and its parameter."""
        phrase = " + ".join(f'"{word}"' for word in words)
        return "SELECT rowid FROM search_text WHERE search_text MATCH ?", phrase + ("*" if is_prefix else "")

    def _ensure_words_table(self) -> None:
        # Not in a migration: a Python without FTS5 must still open the store.
        try:
            self.run("CREATE VIRTUAL TABLE IF NOT EXISTS search_text USING fts5 (words, tokenize = 'ascii')")
        except StoreError as error:
            if "no such module" not in error.message:
                raise
            raise StoreError(
                "cannot search: the SQLite of this Python has no full-text search (FTS5)",
                hint="use another build of Python; everything else works",
            ) from error

    def scrub(self) -> None:
        """Empty the write-ahead log, which still has old pages."""
        ((busy, _, _),) = self.rows("PRAGMA wal_checkpoint(TRUNCATE)")
        if busy:
            raise StoreError(
                "erased, but the write-ahead log still has the old bytes: another process reads them",
                hint="run 'custody doctor' when that process has ended; it empties the log",
            )

    def check(self) -> list[str]:
        """Return the problems that SQLite finds in the file."""
        return [str(row[0]) for row in self.rows("PRAGMA integrity_check(20)") if row[0] != "ok"]

    def read_seal(self) -> Mapping[StoreId, int] | None:
        """Return how far each chain was verified, if only custody has written to the files since."""
        if self._seal is None:
            return None
        if self._version is None:
            self._version = self._data_version()
            return self._seal.read_verified_positions()
        self._notice_others()
        return self._verified

    def seal(self, verified: Mapping[StoreId, int]) -> None:
        """Record that everything was verified up to these positions; the files are sealed when this closes."""
        if self._seal is not None and self._data_version() == self._version:
            self._verified = verified

    def _notice_others(self) -> None:
        """Drop the seal if another connection has written: it may belong to another program."""
        if self._verified is not None and self._data_version() != self._version:
            self._verified = None

    def _data_version(self) -> int:
        ((version,),) = self.rows("PRAGMA data_version")
        return int(version or 0)

    def vanishes(self) -> bool:
        """Return whether this is a private copy: SQLite's temporary database has no file."""
        return self._scratch is not None or not self.rows("PRAGMA database_list")[0][2]

    def close(self) -> None:
        """Close the connection."""
        verified = self._last_verified()
        self.connection.close()
        if self._seal is not None and verified is not None and self._seal.read_verified_positions() != verified:
            self._seal.write(verified)
        if self._scratch is not None:
            import shutil  # few stores are copies

            shutil.rmtree(self._scratch, ignore_errors=True)

    def _last_verified(self) -> Mapping[StoreId, int] | None:
        try:
            self._notice_others()
        except StoreError:
            return None  # unreadable file or closed connection: nothing to seal
        return self._verified

    def _roll_back(self) -> None:
        if self.connection.in_transaction:
            # SQLite may have rolled back already (disk full).
            with suppress(sqlite3.Error):
                self.connection.execute("ROLLBACK")

    @contextmanager
    def _translate_errors(self) -> Iterator[None]:
        with translate_sqlite_errors(self.path):
            yield


@contextmanager
def translate_sqlite_errors(path: Path) -> Iterator[None]:
    """Convert SQLite's errors to a ``StoreError``."""
    try:
        yield
    except sqlite3.Error as error:
        raise _store_error_from_sqlite(path, error) from error


def open_sqlite(path: Path, *, shared: bool = False) -> SqliteDb:
    """Open the store's file for reading and writing, and create it if missing; else raise ``StoreUnwritable``.

    With ``shared``, several threads can use it, one at a time.
    """
    try:
        _create_sqlite_file(path)
    except OSError as error:
        raise StoreUnwritable(
            f"cannot write the store '{path}': {error.strerror}", hint="make its folder writable or free space"
        ) from error
    return _connect_sqlite(path, f"{path.absolute().as_uri()}?mode=rw", shared=shared, seal=Seal(path))


def open_sqlite_to_read(path: Path) -> SqliteDb:
    """Open the store's file without writing next to it; a left-over write-ahead log is read too."""
    try:
        return _connect_sqlite(path, f"{path.absolute().as_uri()}?mode=ro")
    except StoreUnwritable:
        return _open_sqlite_copy(path)


def open_sqlite_overlay(base: SqliteDb | None) -> SqliteDb:
    """Return a writable private copy of ``base``, or an empty database; it is deleted when closed."""
    # The empty name is SQLite's own temporary database: in memory, on disk when it grows.
    copied = sqlite3.connect("", isolation_level=None)
    if base is not None:
        with translate_sqlite_errors(base.path):
            base.connection.backup(copied)
    return SqliteDb(copied, Path() if base is None else base.path)


def is_temporary_db(db: Db) -> bool:
    """Return whether ``db`` is deleted when it is closed."""
    return isinstance(db, SqliteDb) and db.vanishes()


def is_on_network_mount(path: Path, mounts: str) -> bool:
    """Return whether ``path`` is on a network file system, by the text of the system's mount table."""
    best, kind = "", ""
    for line in mounts.splitlines():
        fields = line.split()
        if len(fields) < 3:
            continue
        point = fields[1].encode().decode("unicode_escape")
        inside = str(path) == point or str(path).startswith(point.rstrip("/") + "/")
        if inside and len(point) >= len(best):
            best, kind = point, fields[2]
    return kind in _NETWORK


def _connect_sqlite(path: Path, uri: str, *, shared: bool = False, seal: Seal | None = None) -> SqliteDb:
    with translate_sqlite_errors(path):
        connection = sqlite3.connect(
            uri, uri=True, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=not shared
        )
    try:
        with translate_sqlite_errors(path):
            _configure_sqlite_connection(connection, path)
        return SqliteDb(connection, path, seal=seal)
    except StoreError:
        connection.close()
        raise


def _configure_sqlite_connection(connection: sqlite3.Connection, path: Path) -> None:
    # In this order: another process may create our tables between the queries, together with the application id.
    ((tables,),) = connection.execute("SELECT count(*) FROM sqlite_master").fetchall()
    ((application,),) = connection.execute("PRAGMA application_id").fetchall()
    if application != APPLICATION_ID and (application or tables):
        raise StoreError(f"'{path}' is the database of another program", hint="move it away; it was not changed")
    mode = "DELETE" if is_on_network_mount(path.resolve(), _read_mount_table()) else "WAL"
    ((now,),) = connection.execute("PRAGMA journal_mode").fetchall()
    if now.upper() != mode:
        with suppress(sqlite3.OperationalError):  # another process uses it now, or it is read-only: either mode is safe
            connection.execute(f"PRAGMA journal_mode = {mode}")
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("PRAGMA secure_delete = ON")


def _open_sqlite_copy(path: Path) -> SqliteDb:
    """Open a copy in a temporary folder: SQLite cannot read a left-over write-ahead log in a read-only folder."""
    import shutil
    import tempfile

    scratch = Path(tempfile.mkdtemp(prefix="custody-"))
    try:
        for suffix in ("", "-wal"):
            source = path.with_name(path.name + suffix)
            if source.exists():
                shutil.copyfile(source, scratch / source.name)
        db = _connect_sqlite(scratch / path.name, f"{(scratch / path.name).absolute().as_uri()}?mode=rw")
    except OSError as error:
        shutil.rmtree(scratch, ignore_errors=True)
        raise StoreError(f"cannot read the store '{path}': {error.strerror}", hint="check its permissions") from error
    except StoreError:
        shutil.rmtree(scratch, ignore_errors=True)
        raise
    return SqliteDb(db.connection, path, scratch)


def _create_sqlite_file(path: Path) -> None:
    if path.exists():
        return
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    os.close(os.open(path, os.O_RDWR | os.O_CREAT | CLOEXEC, 0o600))
    sync_folder(path.parent)


def _read_mount_table() -> str:
    try:
        with closing(open("/proc/mounts", encoding="utf-8", errors="surrogateescape")) as table:
            return table.read()
    except OSError:
        return ""  # this system has no mount table


def _store_error_from_sqlite(path: Path, error: sqlite3.Error) -> StoreError:
    name = str(getattr(error, "sqlite_errorname", "") or "")
    for prefix, problem in _UNWRITABLE.items():
        if name.startswith(prefix):
            return StoreUnwritable(
                f"cannot use the store '{path}': {problem} ({error})", hint="nothing that was acknowledged is lost"
            )
    for prefix, problem in _DAMAGED.items():
        if name.startswith(prefix):
            return DamagedStoreError(
                f"the store '{path}' {problem} ({error})",
                hint="run 'custody verify'; to restore, move the file away and import an export",
            )
    if any(words in str(error) for words in _MISMATCHES):
        return SchemaMismatchError(f"the store '{path}' failed: {error}", hint="'custody doctor' compares the schema")
    return StoreError(f"the store '{path}' failed: {error}")
