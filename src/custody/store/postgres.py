"""PostgreSQL as the store's database, for a team: the same tables in a schema of each project.

A connection belongs to one schema and one project from its first statement on. Which role may do what there is in
``rights``; ``team`` opens projects.
"""

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from custody.core.errors import InputError, StoreError
from custody.core.ids import DEFAULT_PROJECT, StoreId, project_name
from custody.store.db import DamagedStoreError, Dialect, Row, SqlValue, StoreUnwritable

if TYPE_CHECKING:
    import psycopg


# What belongs to a project in PostgreSQL: its schema and the lock of its writers.
# This file is the only one that says how these are named. Names of projects have no underscore, so no two of them
# share a schema.


SCHEMA = "custody"
"""The schema of the default project; databases had only this one before there were projects."""
CONTROL_SCHEMA = "custody_control"
SERVICE_ROLE = "custody_service"
"""Owns nothing, bypasses nothing: what a service works as."""
PROJECT_SETTING = "custody.project"
"""The setting of a connection that every policy compares with its own project."""

_PREFIX = "custody_p_"
_LOCK = 0x43757374
_KEY_BYTES = 8


def schema_of(project: str) -> str:
    """The schema that holds the tables of ``project``.

    >>> schema_of("default"), schema_of("web-shop")
    ('custody', 'custody_p_web_shop')
    """
    if project == DEFAULT_PROJECT:
        return SCHEMA
    return _PREFIX + project_name(project).replace("-", "_")


def lock_of(schema: str) -> int:
    """The number of the advisory lock that whoever writes into ``schema`` holds."""
    if schema == SCHEMA:
        return _LOCK  # as it was before there were projects, so that an older custody waits for us
    return int.from_bytes(hashlib.sha256(schema.encode()).digest()[:_KEY_BYTES], "big", signed=True)


DIALECT = Dialect(blob="BYTEA", int="BIGINT", text='TEXT COLLATE "C"', strict="", clustered="")

_UNWRITABLE = frozenset(("25006", "42501", "53100", "53200", "57P03", "55P03"))
_DENIED = "42501"
OWNERS = "projects, tokens and upgrades need the address of the database's owner"
_DAMAGED = frozenset(("XX001", "XX002"))
ROWS_TOGETHER = 500
"""Rows of one statement: of 16 columns at most they stay far below the 65,535 values that a statement may have."""
TEXTS_KEPT = 200
"""Statements that are remembered in the server's words."""
_ROW = re.compile(r"(?<= VALUES )\((?:\?, )*\?\)")
CONNECT_SECONDS_MAX = 10
"""For a server to answer, unless its address says otherwise."""


class PostgresDb:
    """One connection to one schema of one database."""

    dialect = DIALECT

    def __init__(self, connection: "psycopg.Connection[Any]", schema: str = SCHEMA) -> None:
        self._connection = connection
        self.schema = schema
        self.server_version = connection.info.server_version
        self._lock = lock_of(schema)
        self._stamp: str | None = None
        info = connection.info
        named = f"{info.host}:{info.port}/{info.dbname}" + ("" if schema == SCHEMA else f"#{schema}")
        self.place = f"team-{hashlib.sha256(named.encode()).hexdigest()[:16]}"

    def rows(self, sql: str, values: Sequence[SqlValue] = ()) -> list[Row]:
        """All rows of a query."""
        with translate_psycopg_errors():
            return self._connection.execute(_text(sql), values).fetchall()

    def run(self, sql: str, values: Sequence[SqlValue] = ()) -> None:
        """One statement."""
        with translate_psycopg_errors():
            self._connection.execute(_text(sql), values)

    def many(self, sql: str, rows: Sequence[Sequence[SqlValue]]) -> None:
        """One statement for each of ``rows``; inserts of plain rows many at a time, since each is a way and back."""
        with translate_psycopg_errors(), self._connection.cursor() as cursor:
            if not _is_plain(sql):
                cursor.executemany(_text(sql), rows)
                return
            for start in range(0, len(rows), ROWS_TOGETHER):
                some = rows[start : start + ROWS_TOGETHER]
                cursor.execute(_text(_of_many(sql, len(some))), [value for row in some for value in row])

    @contextmanager
    def writing(self) -> Iterator[None]:
        """One transaction, alone among writers from its first moment."""
        with translate_psycopg_errors(), self._connection.transaction():
            # Chains grow by one writer at a time; projects do not wait for each other.
            self._connection.execute("SELECT pg_advisory_xact_lock($1)", (self._lock,))
            yield

    @contextmanager
    def reading(self) -> Iterator[None]:
        """One moment: everything read inside is from it."""
        if self.in_transaction():
            yield
            return
        with translate_psycopg_errors(), self._connection.transaction():
            self._connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
            yield

    def in_transaction(self) -> bool:
        """Whether a transaction is open on this connection."""
        return bool(self._connection.info.transaction_status)

    def version(self) -> int:
        """The schema's version: 0 in an empty database."""
        # Not to_regclass: behind a lock it still answers from what it knew before, when somebody else has just made it.
        there = self.rows(
            "SELECT 1 FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace"
            " WHERE nspname = ? AND relname = 'schema_version'",
            (self.schema,),
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
        """The server's own number, the database's, and the schema: a dump restored elsewhere has others."""
        if self._stamp is None:  # it cannot change while the connection lasts
            ((stamp,),) = self.rows(
                "SELECT (SELECT system_identifier FROM pg_control_system())::text || '-' || oid::text"
                " FROM pg_database WHERE datname = current_database()"
            )
            self._stamp = str(stamp) + ("" if self.schema == SCHEMA else f"-{self.schema}")
        return self._stamp

    def scrub(self) -> None:
        """Let the server reuse the space of erased bodies; page images in its log and backups are its operator's.

        Before PostgreSQL 17 only the owner may ask for it: for others the server warns, and does it in its own time.
        """
        self.run("VACUUM body")

    def check(self) -> list[str]:
        """PostgreSQL checks its pages as it reads them; there is nothing to ask for."""
        return []

    def sealed(self) -> Mapping[StoreId, int] | None:
        """A server tells nobody who wrote to its tables: everything is verified each time."""
        return None

    def seal(self, verified: Mapping[StoreId, int]) -> None:
        """There is nothing to seal."""

    def close(self) -> None:
        """Let go of the connection."""
        self._connection.close()


def connect(url: str, schema: str, project: str = DEFAULT_PROJECT) -> PostgresDb:
    """A connection that is bound to ``schema`` and ``project``, which need not be there; names a missing extra."""
    try:
        import psycopg
        from psycopg.conninfo import make_conninfo
    except ImportError as error:
        raise InputError(
            "PostgreSQL needs the extra 'postgres'", hint="install it with: pip install 'custody[postgres]'"
        ) from error
    with translate_psycopg_errors():
        if "connect_timeout" not in url:
            url = make_conninfo(url, connect_timeout=CONNECT_SECONDS_MAX)
        # Raw: what stands for a value is numbered below, once for each text, and not looked for each time.
        raw = psycopg.connect(url, autocommit=True, application_name="custody", cursor_factory=psycopg.RawCursor)
        db = PostgresDb(raw, schema)
    try:
        # pg_temp last, by name: unnamed it would come first, and a table there would stand before one of ours.
        db.rows(
            "SELECT set_config('synchronous_commit', 'on', false), set_config('search_path', ?, false),"
            " set_config(?, ?, false)",
            (f"{schema}, pg_temp", PROJECT_SETTING, project),
        )
    except BaseException:
        db.close()
        raise
    return db


@lru_cache(TEXTS_KEPT)
def _text(sql: str) -> Any:
    """A statement as the server takes it, its values numbered."""
    # psycopg wants a literal string to keep injection out; every text here is one of this package's own.
    first, *rest = sql.split("?")
    return "".join((first, *(f"${n}{part}" for n, part in enumerate(rest, 1)))).encode()


@contextmanager
def translate_psycopg_errors() -> Iterator[None]:
    """Turn psycopg's errors into ours, once, at the door."""
    import psycopg

    try:
        yield
    except psycopg.Error as error:
        state = error.sqlstate or ""
        words = str(error).strip() or type(error).__name__
        if state in _DAMAGED:
            raise DamagedStoreError(f"the team store is damaged: {words}", hint="restore it from a backup") from error
        if state in _UNWRITABLE:
            hint = OWNERS if state == _DENIED else None
            raise StoreUnwritable(f"the team store cannot be written: {words}", hint=hint) from error
        raise StoreError(f"the team store failed: {words}", hint="check --database and that the server runs") from error


def _is_plain(sql: str) -> bool:
    """Whether a statement puts a row of values somewhere, and touches no row that is there."""
    return _ROW.search(sql) is not None and "DO UPDATE" not in sql


@lru_cache(TEXTS_KEPT)
def _of_many(sql: str, rows: int) -> str:
    """The statement that puts several rows where ``sql`` puts one.

    >>> _of_many("INSERT INTO part (body, text) VALUES (?, ?) ON CONFLICT DO NOTHING", 2)
    'INSERT INTO part (body, text) VALUES (?, ?), (?, ?) ON CONFLICT DO NOTHING'
    """
    return _ROW.sub(lambda row: ", ".join([row[0]] * rows), sql)
