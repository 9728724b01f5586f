"""PostgreSQL as the store's database, for a team: the same tables in a schema named ``custody``."""

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from custody.model.errors import InputError, StoreError
from custody.world.store.db import Dialect, Row, StoreDamaged, StoreUnwritable, Value

if TYPE_CHECKING:
    import psycopg

DIALECT = Dialect(placeholder="%s", blob="BYTEA", int="BIGINT", text='TEXT COLLATE "C"', strict="", clustered="")

_APPEND_LOCK = 0x43757374
"""Whoever writes holds this advisory lock, so that chains grow by one writer at a time."""
_UNWRITABLE = frozenset(("25006", "42501", "53100", "53200", "57P03", "55P03"))
_DAMAGED = frozenset(("XX001", "XX002"))


class PostgresDb:
    """One connection to one database."""

    dialect = DIALECT

    def __init__(self, connection: "psycopg.Connection[Any]") -> None:
        self._connection = connection
        info = connection.info
        named = f"{info.host}:{info.port}/{info.dbname}"
        self.place = f"team-{hashlib.sha256(named.encode()).hexdigest()[:16]}"

    def rows(self, sql: str, values: Sequence[Value] = ()) -> list[Row]:
        """All rows of a query."""
        with translated():
            return self._connection.execute(self._text(sql), values).fetchall()

    def run(self, sql: str, values: Sequence[Value] = ()) -> None:
        """One statement."""
        with translated():
            self._connection.execute(self._text(sql), values)

    def many(self, sql: str, rows: Sequence[Sequence[Value]]) -> None:
        """One statement for each of ``rows``."""
        with translated(), self._connection.cursor() as cursor:
            cursor.executemany(self._text(sql), rows)

    @contextmanager
    def writing(self) -> Iterator[None]:
        """One transaction, alone among writers from its first moment."""
        with translated(), self._connection.transaction():
            self._connection.execute("SELECT pg_advisory_xact_lock(%s)", (_APPEND_LOCK,))
            yield

    @contextmanager
    def reading(self) -> Iterator[None]:
        """One moment: everything read inside is from it."""
        if self._connection.info.transaction_status:
            yield
            return
        with translated(), self._connection.transaction():
            self._connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
            yield

    def version(self) -> int:
        """The schema's version: 0 in an empty database."""
        # Not to_regclass: behind a lock it still answers from what it knew before, when somebody else has just made it.
        there = self.rows(
            "SELECT 1 FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace"
            " WHERE nspname = 'custody' AND relname = 'schema_version'"
        )
        if not there:
            return 0
        found = self.rows("SELECT max(version) FROM schema_version")
        return int(found[0][0] or 0)

    def set_version(self, version: int) -> None:
        """Say that the schema now has ``version``."""
        self.run("CREATE TABLE IF NOT EXISTS schema_version (version BIGINT PRIMARY KEY)")
        self.run("INSERT INTO schema_version (version) VALUES (?)", (version,))

    def stamp(self) -> str:
        """The server's own number and the database's: a dump restored elsewhere has others."""
        ((stamp,),) = self.rows(
            "SELECT (SELECT system_identifier FROM pg_control_system())::text || '-' || oid::text"
            " FROM pg_database WHERE datname = current_database()"
        )
        return str(stamp)

    def scrub(self) -> None:
        """Let the server reuse the space of erased bodies; page images in its log and backups are its operator's."""
        self.run("VACUUM body")

    def check(self) -> list[str]:
        """PostgreSQL checks its pages as it reads them; there is nothing to ask for."""
        return []

    def close(self) -> None:
        """Let go of the connection."""
        self._connection.close()

    def _text(self, sql: str) -> Any:
        # psycopg wants a literal string to keep injection out; every text here is one of this package's own.
        return self.dialect.dml(sql).encode()


def open_postgres(url: str) -> PostgresDb:
    """Connect to the team's database; names the extra when psycopg is not installed."""
    try:
        import psycopg
    except ImportError as error:
        raise InputError(
            "PostgreSQL needs the extra 'postgres'", hint="install it with: pip install 'custody[postgres]'"
        ) from error
    with translated():
        connection = psycopg.connect(url, autocommit=True, application_name="custody")
        connection.execute("SET synchronous_commit TO on")
        if not connection.execute("SELECT 1 FROM pg_namespace WHERE nspname = 'custody'").fetchall():
            with connection.transaction():
                connection.execute("SELECT pg_advisory_xact_lock(%s)", (_APPEND_LOCK,))
                connection.execute("CREATE SCHEMA IF NOT EXISTS custody")
        connection.execute("SET search_path TO custody")
    return PostgresDb(connection)


@contextmanager
def translated() -> Iterator[None]:
    """Turn psycopg's errors into ours, once, at the door."""
    import psycopg

    try:
        yield
    except psycopg.Error as error:
        state = error.sqlstate or ""
        words = str(error).strip() or type(error).__name__
        if state in _DAMAGED:
            raise StoreDamaged(f"the team store is damaged: {words}", hint="restore it from a backup") from error
        if state in _UNWRITABLE:
            raise StoreUnwritable(f"the team store cannot be written: {words}") from error
        raise StoreError(f"the team store failed: {words}", hint="check --database and that the server runs") from error
