"""The database interface of the store, and the migrations to the current schema."""

from collections.abc import Mapping, Sequence, Sized
from contextlib import AbstractContextManager
from typing import Protocol

from msgspec import Struct

from custody.core.errors import StoreError
from custody.core.ids import StoreId

SqlValue = None | int | str | bytes
Row = tuple[SqlValue, ...]


class StoreUnwritable(StoreError):
    """The store can be read but not written: full disk, read-only file system, missing permission."""


class DamagedStoreError(StoreError):
    """The database reports that its file was changed or is damaged."""


class StoreUnreachable(StoreError):
    """The database server cannot be reached now: it is down, starting or full."""


class SchemaMismatchError(StoreError):
    """The database lacks a table or a column that this version expects."""


class Dialect(Struct, frozen=True):
    """The SQL words that differ between the two databases."""

    blob: str
    int: str
    text: str
    strict: str
    clustered: str
    words_table: str = ""
    words_index: str = ""

    def ddl(self, sql: str) -> str:
        """Return a migration's text in this dialect; empty for a statement that it does not need."""
        for word in ("blob", "int", "text", "strict", "clustered", "words_table", "words_index"):
            sql = sql.replace(f"{{{word}}}", getattr(self, word))
        return sql


class Db(Protocol):
    """One open connection. Every error is a ``StoreError`` with the database's own message.

    In a statement ``?`` is always a parameter.
    """

    dialect: Dialect
    place: str
    """The subfolder of its head files; each database has its own."""

    def rows(self, sql: str, values: Sequence[SqlValue] = ()) -> list[Row]:
        """Return all rows of a query."""

    def run(self, sql: str, values: Sequence[SqlValue] = ()) -> None:
        """Run one statement."""

    def run_for_each(self, sql: str, rows: Sequence[Sequence[SqlValue]]) -> None:
        """Run one statement for each of ``rows``."""

    def writing(self) -> AbstractContextManager[None]:
        """Open a transaction that excludes other writers; it is committed durably or rolled back whole."""

    def reading(self) -> AbstractContextManager[None]:
        """Open a transaction in which every read sees the same state."""

    def is_in_transaction(self) -> bool:
        """Return whether a transaction is open on this connection."""

    def version(self) -> int:
        """Return the schema's version; 0 for an empty database."""

    def set_version(self, version: int) -> None:
        """Set the schema's version."""

    def stamp(self) -> str:
        """Return an identifier of the storage; it changes if the database is copied or restored."""

    def index_words(self, rows: Sequence[tuple[int, Sequence[str]]]) -> None:
        """Add texts to the full-text index, inside a write: each a number and its words in order."""

    def drop_words(self, items: Sequence[int]) -> None:
        """Remove texts from the full-text index, inside a write, so that none of their words stays in the files."""

    def match_words(self, words: Sequence[str], *, is_prefix: bool) -> tuple[str, SqlValue]:
        """Return a query for the numbers of texts with ``words`` in a row, and its parameter.

        Words are letters and digits without case. With ``is_prefix`` the last one may go on.
        """

    def scrub(self) -> None:
        """Remove old copies of erased bytes from the files of this database."""

    def check(self) -> list[str]:
        """Return the problems that the database finds in its own files."""

    def read_seal(self) -> Mapping[StoreId, int] | None:
        """Return how far each chain was verified, if only custody has written since; None if that is unknown."""

    def seal(self, verified: Mapping[StoreId, int]) -> None:
        """Record that everything was verified up to these positions of the chains."""

    def close(self) -> None:
        """Close the connection."""


def make_sql_placeholders(values: Sized) -> str:
    """Return as many ``?`` as there are values, for an ``IN (…)``.

    >>> make_sql_placeholders(("a", "b"))
    '?, ?'
    """
    return ", ".join("?" * len(values))


# Migrations to the current schema: numbered steps, one transaction each; a released step never changes.
# A step that is killed is rolled back; the next start runs it again.


class Migration(Struct, frozen=True):
    """One numbered step: its number, its name and its statements in neutral SQL."""

    number: int
    name: str
    statements: tuple[str, ...]


def load_schema_migrations(package: str = __package__) -> tuple[Migration, ...]:
    """Return all steps of ``package``, in order."""
    from importlib import resources  # only a new or an older store needs them

    folder = resources.files(package) / "migrations"
    files = sorted((file for file in folder.iterdir() if file.name.endswith(".sql")), key=lambda file: file.name)
    return tuple(
        Migration(int(file.name[:4]), file.name[5:-4], split_sql_statements(file.read_text("utf-8"))) for file in files
    )


def split_sql_statements(sql: str) -> tuple[str, ...]:
    """Return the statements of a migration's text, without comments."""
    code = "\n".join(line.partition("--")[0] for line in sql.splitlines())
    return tuple(statement.strip() for statement in code.split(";") if statement.strip())


SCHEMA_VERSION = 18
"""The number of the newest step; a test compares it with the files."""


def migrate_store_schema(db: Db, steps: Sequence[Migration] | None = None) -> None:
    """Run the missing steps; raise an error if a newer custody wrote the schema."""
    if steps is None and db.version() == SCHEMA_VERSION:
        return  # the usual case reads no files
    steps = load_schema_migrations() if steps is None else steps
    newest = steps[-1].number
    if db.version() > newest:
        raise StoreError(
            f"the store has schema {db.version()}, this custody knows up to {newest}",
            hint="upgrade custody; nothing was changed",
        )
    for step in steps:
        if db.version() < step.number:
            _apply_schema_migration(db, step)


def _apply_schema_migration(db: Db, step: Migration) -> None:
    with db.writing():
        if db.version() >= step.number:
            return  # another process was first
        for statement in step.statements:
            if ddl := db.dialect.ddl(statement):
                db.run(ddl)
        db.set_version(step.number)
