"""PostgreSQL as the store's database for a team: the same tables in one schema per project.

A connection is bound to one schema and one project from its first statement. ``team`` opens projects and grants rights.
"""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from custody.core.errors import MissingExtra, StoreError
from custody.core.ids import DEFAULT_PROJECT, StoreId, check_project_name
from custody.core.patterns import lazy_pattern
from custody.store.db import (
    DamagedStoreError,
    Dialect,
    Row,
    SchemaMismatchError,
    SqlValue,
    StoreUnreachable,
    StoreUnwritable,
)

if TYPE_CHECKING:
    import psycopg


# The schema of a project, and the lock of its writers.
# Only this file defines their names. Project names have no underscore, so no two projects share a schema.


SCHEMA = "custody"
"""The schema of the default project, and the only schema before projects existed."""
CONTROL_SCHEMA = "custody_control"
SERVICE_ROLE = "custody_service"
"""The role of a service: it owns nothing and bypasses nothing."""
PROJECT_SETTING = "custody.project"
"""The setting of a connection that every policy compares with its own project."""

_PREFIX = "custody_p_"
_LOCK = 0x43757374
_KEY_BYTES = 8


def postgres_schema_name(project: str) -> str:
    """Return the schema with the tables of ``project``.

    >>> postgres_schema_name("default"), postgres_schema_name("web-shop")
    ('custody', 'custody_p_web_shop')
    """
    if project == DEFAULT_PROJECT:
        return SCHEMA
    return _PREFIX + check_project_name(project).replace("-", "_")


def postgres_lock_number(schema: str) -> int:
    """Return the number of the advisory lock for writers of ``schema``."""
    if schema == SCHEMA:
        return _LOCK  # unchanged since before projects, so that an older custody waits for this lock
    return int.from_bytes(hashlib.sha256(schema.encode()).digest()[:_KEY_BYTES], "big", signed=True)


DIALECT = Dialect(
    blob="BYTEA",
    int="BIGINT",
    text='TEXT COLLATE "C"',
    strict="",
    clustered="",
    words_table="CREATE TABLE search_text (item BIGINT PRIMARY KEY, words TSVECTOR NOT NULL)",
    words_index="CREATE INDEX search_text_words ON search_text USING gin (words)",
)

_UNWRITABLE = frozenset(("25006", "42501", "53100", "53200", "57P03", "55P03"))
_DENIED = "42501"
OWNERS = "projects, tokens and upgrades need the URL of the database owner"
_DAMAGED = frozenset(("XX001", "XX002"))
_ANSWERED = "FATAL:"
"""Mark of the server's own messages on a refused connection, which have no SQLSTATE."""
_NOT_YET = ("is starting up", "is shutting down", "in recovery", "not yet accepting", "too many clients", "slots are")
_MISMATCHED = frozenset(("42P01", "42703"))
ROWS_TOGETHER = 500
"""Maximum rows per statement: with up to 16 columns far below the limit of 65,535 parameters."""
TEXTS_KEPT = 200
"""Maximum statements in the cache of translated statements."""
_ROW = lazy_pattern(r"(?<= VALUES )\((?:\?, )*\?\)")
CONNECT_SECONDS_MAX = 10
"""Timeout for connecting, unless the URL sets another."""


class PostgresDb:
    """One connection to one schema of one database."""

    dialect = DIALECT

    def __init__(self, connection: "psycopg.Connection[Any]", schema: str = SCHEMA) -> None:
        self._connection = connection
        self.schema = schema
        self.server_version = connection.info.server_version
        self._lock = postgres_lock_number(schema)
        self._stamp: str | None = None
        info = connection.info
        named = f"{info.host}:{info.port}/{info.dbname}" + ("" if schema == SCHEMA else f"#{schema}")
        self.place = f"team-{hashlib.sha256(named.encode()).hexdigest()[:16]}"

    def rows(self, sql: str, values: Sequence[SqlValue] = ()) -> list[Row]:
        """Return all rows of a query."""
        with translate_psycopg_errors():
            return self._connection.execute(_to_postgres_statement(sql), values).fetchall()

    def run(self, sql: str, values: Sequence[SqlValue] = ()) -> None:
        """Run one statement."""
        with translate_psycopg_errors():
            self._connection.execute(_to_postgres_statement(sql), values)

    def run_for_each(self, sql: str, rows: Sequence[Sequence[SqlValue]]) -> None:
        """Run one statement for each of ``rows``; plain inserts are combined to save round trips."""
        with translate_psycopg_errors(), self._connection.cursor() as cursor:
            if not _is_plain_sql_insert(sql):
                cursor.executemany(_to_postgres_statement(sql), rows)
                return
            for start in range(0, len(rows), ROWS_TOGETHER):
                batch = rows[start : start + ROWS_TOGETHER]
                cursor.execute(
                    _to_postgres_statement(_make_multirow_insert_sql(sql, len(batch))),
                    [value for row in batch for value in row],
                )

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Open a transaction that excludes other writers."""
        with translate_psycopg_errors(), self._connection.transaction():
            # One writer at a time appends to chains; projects do not block each other.
            self._connection.execute("SELECT pg_advisory_xact_lock($1)", (self._lock,))
            yield

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Open a transaction in which every read sees the same state."""
        if self.is_in_transaction():
            yield
            return
        with translate_psycopg_errors(), self._connection.transaction():
            self._connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
            yield

    def is_in_transaction(self) -> bool:
        """Return whether a transaction is open on this connection."""
        return bool(self._connection.info.transaction_status)

    def version(self) -> int:
        """Return the schema's version; 0 for an empty database."""
        # Not to_regclass: after waiting for a lock it may not see a table that another process has just created.
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
        """Set the schema's version."""
        self.run("CREATE TABLE IF NOT EXISTS schema_version (version BIGINT PRIMARY KEY)")
        self.run("INSERT INTO schema_version (version) VALUES (?)", (version,))

    def stamp(self) -> str:
        """Return the ids of server and database, and the schema; they differ for a restored dump."""
        if self._stamp is None:  # it cannot change during a connection
            ((stamp,),) = self.rows(
                "SELECT (SELECT system_identifier FROM pg_control_system())::text || '-' || oid::text"
                " FROM pg_database WHERE datname = current_database()"
            )
            self._stamp = str(stamp) + ("" if self.schema == SCHEMA else f"-{self.schema}")
        return self._stamp

    def index_words(self, rows: Sequence[tuple[int, Sequence[str]]]) -> None:
        """Add texts to the full-text index."""
        with translate_psycopg_errors(), self._connection.cursor() as cursor:
            cursor.executemany(
                b"INSERT INTO search_text (item, words) VALUES ($1, $2::tsvector)",
                [(item, _to_postgres_words(words)) for item, words in rows],
            )

    def drop_words(self, items: Sequence[int]) -> None:
        """Remove texts from the full-text index."""
        self.run_for_each("DELETE FROM search_text WHERE item = ?", [(item,) for item in items])

    def match_words(self, words: Sequence[str], *, is_prefix: bool) -> tuple[str, SqlValue]:
        """Return a query for the numbers of texts with ``words`` in a row, and its parameter."""
        phrase = " <-> ".join(f"'{word}'" for word in words)
        return "SELECT item FROM search_text WHERE words @@ ?::tsquery", phrase + (":*" if is_prefix else "")

    def scrub(self) -> None:
        """Let the server reuse the space of erased bodies; its operator handles its log and backups.

        Before PostgreSQL 17 only the owner may run this: for others the server warns, and does it later.
        """
        self.run("VACUUM body, search_text")

    def check(self) -> list[str]:
        """Return no problems: PostgreSQL checks its pages when it reads them."""
        return []

    def read_seal(self) -> Mapping[StoreId, int] | None:
        """Return None: a server does not report who wrote to its tables, so everything is verified each time."""
        return None

    def seal(self, verified: Mapping[StoreId, int]) -> None:
        """Do nothing: a server has no seal."""

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()


def connect_postgres(url: str, schema: str, project: str = DEFAULT_PROJECT) -> PostgresDb:
    """Connect to ``schema`` and ``project``, which may be missing; raise ``MissingExtra`` without psycopg."""
    try:
        import psycopg
        from psycopg.conninfo import make_conninfo
    except ImportError as error:
        raise MissingExtra("psycopg", "postgres") from error
    with translate_psycopg_errors():
        if "connect_timeout" not in url:
            url = make_conninfo(url, connect_timeout=CONNECT_SECONDS_MAX)
        try:
            # Raw: parameters are numbered below, once per statement, instead of on each execution.
            raw = psycopg.connect(url, autocommit=True, application_name="custody", cursor_factory=psycopg.RawCursor)
        except psycopg.OperationalError as error:
            if _is_server_unreachable(str(error)):
                raise StoreUnreachable(
                    f"the team store cannot be reached: {error}", hint="check --database and that the server runs"
                ) from error
            raise
        db = PostgresDb(raw, schema)
    try:
        # pg_temp is named last: otherwise it comes first, and a temporary table could hide one of ours.
        db.rows(
            "SELECT set_config('synchronous_commit', 'on', false), set_config('search_path', ?, false),"
            " set_config(?, ?, false)",
            (f"{schema}, pg_temp", PROJECT_SETTING, project),
        )
    except BaseException:
        db.close()
        raise
    return db


def _is_server_unreachable(message: str) -> bool:
    """Return whether a connection failed because the server does not answer yet, not because it refuses this login."""
    return _ANSWERED not in message or any(words in message for words in _NOT_YET)


def _to_postgres_words(words: Sequence[str]) -> str:
    """Return words with their positions as the server stores them.

    >>> _to_postgres_words(["half", "to", "half"])
    "'half':1 'to':2 'half':3"
    """
    return " ".join(f"'{word}':{n}" for n, word in enumerate(words, 1))


@lru_cache(TEXTS_KEPT)
def _to_postgres_statement(sql: str) -> Any:
    """Return a statement with numbered parameters, as the server expects it."""
    # psycopg requires a literal string against injection; every statement here comes from this package.
    first, *rest = sql.split("?")
    return "".join((first, *(f"${n}{part}" for n, part in enumerate(rest, 1)))).encode()


@contextmanager
def translate_psycopg_errors() -> Iterator[None]:
    """Convert psycopg's errors to a ``StoreError``."""
    import psycopg

    try:
        yield
    except psycopg.Error as error:
        state = error.sqlstate or ""
        message = str(error).strip() or type(error).__name__
        if state in _DAMAGED:
            raise DamagedStoreError(f"the team store is damaged: {message}", hint="restore it from a backup") from error
        if state in _UNWRITABLE:
            hint = OWNERS if state == _DENIED else None
            raise StoreUnwritable(f"the team store cannot be written: {message}", hint=hint) from error
        if state in _MISMATCHED:
            raise SchemaMismatchError(
                f"the team store failed: {message}", hint="'custody doctor' compares the schema"
            ) from error
        raise StoreError(
            f"the team store failed: {message}", hint="check --database and that the server runs"
        ) from error


def _is_plain_sql_insert(sql: str) -> bool:
    """Return whether a statement inserts a row of values and changes no existing row."""
    return _ROW.search(sql) is not None and "DO UPDATE" not in sql


@lru_cache(TEXTS_KEPT)
def _make_multirow_insert_sql(sql: str, rows: int) -> str:
    """Return the statement that inserts several rows where ``sql`` inserts one.

    >>> _make_multirow_insert_sql("INSERT INTO part (body, text) VALUES (?, ?) ON CONFLICT DO NOTHING", 2)
    'INSERT INTO part (body, text) VALUES (?, ?), (?, ?) ON CONFLICT DO NOTHING'
    """
    return _ROW.sub(lambda row: ", ".join([row[0]] * rows), sql)
