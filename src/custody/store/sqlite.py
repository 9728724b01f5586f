"""SQLite as the store's database: one file in the git common directory.

Every write begins with ``BEGIN IMMEDIATE`` (a deferred one fails under concurrent writers), is synced before COMMIT
returns, and never uses the write-ahead log on a network file system, where its shared memory does not work.
"""

import os
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from custody.core.errors import StoreError
from custody.core.ids import StoreId
from custody.store.db import DamagedStoreError, Db, Dialect, Row, SqlValue, StoreUnwritable
from custody.store.seal import Seal, birth_ns

APPLICATION_ID = 0x43757374
"""'Cust' in the file's header: this file is ours."""
BUSY_SECONDS = 30.0

DIALECT = Dialect(blob="BLOB", int="INTEGER", text="TEXT", strict="STRICT", clustered="STRICT, WITHOUT ROWID")

_NETWORK = frozenset(
    "nfs nfs4 cifs smb3 smbfs 9p afs ceph glusterfs lustre beegfs fuse.sshfs fuse.glusterfs davfs virtiofs".split()
)
_UNWRITABLE = {
    "SQLITE_FULL": "the disk is full",
    "SQLITE_READONLY": "it is read-only",
    "SQLITE_CANTOPEN": "it cannot be opened",
    "SQLITE_PERM": "it belongs to somebody else",
    "SQLITE_AUTH": "access is denied",
    "SQLITE_IOERR": "reading or writing failed",
    "SQLITE_BUSY": f"another process has been writing for over {BUSY_SECONDS:.0f} seconds",
    "SQLITE_LOCKED": "another connection holds it",
}
_DAMAGED = {"SQLITE_CORRUPT": "is damaged", "SQLITE_NOTADB": "is not a database"}


class SqliteDb:
    """One connection to one database file."""

    dialect = DIALECT
    place = ""  # beside the file itself

    def __init__(
        self, connection: sqlite3.Connection, path: Path, scratch: Path | None = None, seal: Seal | None = None
    ) -> None:
        self.connection = connection
        self.path = path
        self._scratch = scratch
        self._seal = seal
        self._version: int | None = None
        self._verified = self.sealed()
        """How far chains were verified, as long as nobody else writes; sealed again when this closes."""

    def rows(self, sql: str, values: Sequence[SqlValue] = ()) -> list[Row]:
        """All rows of a query."""
        with self._translated():
            return self.connection.execute(sql, values).fetchall()

    def run(self, sql: str, values: Sequence[SqlValue] = ()) -> None:
        """One statement."""
        with self._translated():
            self.connection.execute(sql, values)

    def many(self, sql: str, rows: Sequence[Sequence[SqlValue]]) -> None:
        """One statement for each of ``rows``."""
        with self._translated():
            self.connection.executemany(sql, rows)

    @contextmanager
    def writing(self) -> Iterator[None]:
        """One transaction, alone among writers from its first moment."""
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
        """One moment: everything read inside is from it."""
        if self.in_transaction():
            yield
            return
        self.run("BEGIN")
        try:
            yield
        finally:
            self._roll_back()

    def in_transaction(self) -> bool:
        """Whether a transaction is open on this connection."""
        return self.connection.in_transaction

    def version(self) -> int:
        """The schema's version: 0 in an empty database."""
        ((version,),) = self.rows("PRAGMA user_version")
        return int(version or 0)

    def set_version(self, version: int) -> None:
        """Say that the schema now has ``version``."""
        self.run(f"PRAGMA application_id = {APPLICATION_ID}")
        self.run(f"PRAGMA user_version = {version:d}")

    def stamp(self) -> str:
        """The file's inode and birth time: a copied or restored file has others."""
        return f"{self.path.stat().st_ino}-{birth_ns(self.path)}"

    def scrub(self) -> None:
        """Empty the write-ahead log, which still holds pages as they were."""
        ((busy, _, _),) = self.rows("PRAGMA wal_checkpoint(TRUNCATE)")
        if busy:
            raise StoreError(
                "erased, but another process still reads an older state that the write-ahead log holds",
                hint="run 'custody doctor' when that process has ended; it empties the log",
            )

    def check(self) -> list[str]:
        """What SQLite finds wrong with the file."""
        return [str(row[0]) for row in self.rows("PRAGMA integrity_check(20)") if row[0] != "ok"]

    def sealed(self) -> Mapping[StoreId, int] | None:
        """How far each chain was verified, if nobody but custody has written to the files since."""
        if self._seal is None:
            return None
        if self._version is None:
            self._version = self._data_version()
            return self._seal.verified()
        self._notice_others()
        return self._verified

    def seal(self, verified: Mapping[StoreId, int]) -> None:
        """Say that everything was verified up to these places; the files are sealed when this closes."""
        if self._seal is not None and self._data_version() == self._version:
            self._verified = verified

    def _notice_others(self) -> None:
        """What another connection wrote may be custody's or not: then nothing is known any more."""
        if self._verified is not None and self._data_version() != self._version:
            self._verified = None

    def _data_version(self) -> int:
        ((version,),) = self.rows("PRAGMA data_version")
        return int(version or 0)

    def vanishes(self) -> bool:
        """Whether this is a private copy: SQLite's own temporary database has no file."""
        return self._scratch is not None or not self.rows("PRAGMA database_list")[0][2]

    def close(self) -> None:
        """Let go of the connection."""
        verified = self._last_verified()
        self.connection.close()
        if self._seal is not None and verified is not None and self._seal.verified() != verified:
            self._seal.write(verified)
        if self._scratch is not None:
            shutil.rmtree(self._scratch, ignore_errors=True)

    def _last_verified(self) -> Mapping[StoreId, int] | None:
        try:
            self._notice_others()
        except StoreError:
            return None  # a file that cannot be read any more, or a connection that is closed: nothing to seal
        return self._verified

    def _roll_back(self) -> None:
        if self.connection.in_transaction:
            # SQLite may have rolled back by itself (disk full); then there is nothing left to do.
            with suppress(sqlite3.Error):
                self.connection.execute("ROLLBACK")

    @contextmanager
    def _translated(self) -> Iterator[None]:
        with translate_sqlite_errors(self.path):
            yield


@contextmanager
def translate_sqlite_errors(path: Path) -> Iterator[None]:
    """Turn SQLite's errors into ours, once, at the door."""
    try:
        yield
    except sqlite3.Error as error:
        raise _ours(path, error) from error


def open_sqlite(path: Path, *, shared: bool = False) -> SqliteDb:
    """Open the store's file for reading and writing, made if it is not there; ``StoreUnwritable`` if that cannot be.

    ``shared`` lets several threads use it, one at a time.
    """
    try:
        _make_file(path)
    except OSError as error:
        raise StoreUnwritable(
            f"cannot write the store '{path}': {error.strerror}", hint="make its folder writable or free space"
        ) from error
    return _connected(path, f"{path.absolute().as_uri()}?mode=rw", shared=shared, seal=Seal(path))


def open_sqlite_to_read(path: Path) -> SqliteDb:
    """Open the store's file without writing beside it; a left-over write-ahead log is read too."""
    try:
        return _connected(path, f"{path.absolute().as_uri()}?mode=ro")
    except StoreUnwritable:
        return _opened_copy(path)


def overlay(base: SqliteDb | None) -> SqliteDb:
    """A private copy of ``base`` (or nothing) that can be written and vanishes when closed."""
    # The empty name is SQLite's own temporary database: in memory, spilling to disk when it grows.
    made = sqlite3.connect("", isolation_level=None)
    if base is not None:
        with translate_sqlite_errors(base.path):
            base.connection.backup(made)
    return SqliteDb(made, Path() if base is None else base.path)


def vanishes(db: Db) -> bool:
    """Whether what is written to ``db`` is gone when it is closed."""
    return isinstance(db, SqliteDb) and db.vanishes()


def on_network(path: Path, mounts: str) -> bool:
    """Whether ``path`` lies on a network file system, by the text of the system's mount table."""
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


def _connected(path: Path, uri: str, *, shared: bool = False, seal: Seal | None = None) -> SqliteDb:
    with translate_sqlite_errors(path):
        connection = sqlite3.connect(
            uri, uri=True, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=not shared
        )
    try:
        with translate_sqlite_errors(path):
            _set_up(connection, path)
        return SqliteDb(connection, path, seal=seal)
    except StoreError:
        connection.close()
        raise


def _set_up(connection: sqlite3.Connection, path: Path) -> None:
    # In this order: another process may make our tables between the two looks, and its name comes with them.
    ((tables,),) = connection.execute("SELECT count(*) FROM sqlite_master").fetchall()
    ((application,),) = connection.execute("PRAGMA application_id").fetchall()
    if application != APPLICATION_ID and (application or tables):
        raise StoreError(f"'{path}' is a database of something else", hint="custody leaves it alone; move it away")
    mode = "DELETE" if on_network(path.resolve(), _mounts()) else "WAL"
    ((now,),) = connection.execute("PRAGMA journal_mode").fetchall()
    if now.upper() != mode:
        with suppress(sqlite3.OperationalError):  # another process uses it now, or it is read-only: either mode is safe
            connection.execute(f"PRAGMA journal_mode = {mode}")
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("PRAGMA secure_delete = ON")


def _opened_copy(path: Path) -> SqliteDb:
    """A read-only folder with a left-over write-ahead log: SQLite needs a writable place to read it, so give it one."""
    scratch = Path(tempfile.mkdtemp(prefix="custody-"))
    try:
        for suffix in ("", "-wal"):
            source = path.with_name(path.name + suffix)
            if source.exists():
                shutil.copyfile(source, scratch / source.name)
        db = _connected(scratch / path.name, f"{(scratch / path.name).absolute().as_uri()}?mode=rw")
    except OSError as error:
        shutil.rmtree(scratch, ignore_errors=True)
        raise StoreError(f"cannot read the store '{path}': {error.strerror}", hint="check its permissions") from error
    except StoreError:
        shutil.rmtree(scratch, ignore_errors=True)
        raise
    return SqliteDb(db.connection, path, scratch)


def _make_file(path: Path) -> None:
    if path.exists():
        return
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def _mounts() -> str:
    try:
        with closing(open("/proc/mounts", encoding="utf-8", errors="surrogateescape")) as table:
            return table.read()
    except OSError:
        return ""  # no such table on this system: nothing to learn


def _ours(path: Path, error: sqlite3.Error) -> StoreError:
    name = str(getattr(error, "sqlite_errorname", "") or "")
    for prefix, words in _UNWRITABLE.items():
        if name.startswith(prefix):
            return StoreUnwritable(
                f"cannot use the store '{path}': {words} ({error})", hint="nothing that was acknowledged is lost"
            )
    for prefix, words in _DAMAGED.items():
        if name.startswith(prefix):
            return DamagedStoreError(
                f"the store '{path}' {words} ({error})",
                hint="run 'custody verify'; to restore, move the file away and import an export",
            )
    return StoreError(f"the store '{path}' failed: {error}")
