"""What the store needs of a database, and how a database is brought to the current schema."""

from collections.abc import Mapping, Sequence, Sized
from contextlib import AbstractContextManager
from dataclasses import dataclass
from importlib import resources
from typing import Protocol

from custody.core.errors import StoreError
from custody.core.ids import StoreId

SqlValue = None | int | str | bytes
Row = tuple[SqlValue, ...]


class StoreUnwritable(StoreError):
    """The store can be read but not written: a full disk, a read-only file system, somebody else's file."""


class DamagedStoreError(StoreError):
    """The database itself says that its file is not what it wrote."""


@dataclass(frozen=True, slots=True)
class Dialect:
    """The few words in which the two databases differ."""

    blob: str
    int: str
    text: str
    strict: str
    clustered: str

    def ddl(self, sql: str) -> str:
        """A migration's text in this dialect."""
        for word in ("blob", "int", "text", "strict", "clustered"):
            sql = sql.replace(f"{{{word}}}", getattr(self, word))
        return sql


class Db(Protocol):
    """One open connection. Every error it raises is a ``StoreError`` with the database's own words.

    In a statement ``?`` stands for a value and for nothing else.
    """

    dialect: Dialect
    place: str
    """Where its heads are kept below the folder for heads: each database has its own."""

    def rows(self, sql: str, values: Sequence[SqlValue] = ()) -> list[Row]:
        """All rows of a query."""

    def run(self, sql: str, values: Sequence[SqlValue] = ()) -> None:
        """One statement."""

    def many(self, sql: str, rows: Sequence[Sequence[SqlValue]]) -> None:
        """One statement for each of ``rows``."""

    def writing(self) -> AbstractContextManager[None]:
        """One transaction, alone among writers from its first moment; committed durably, or rolled back whole."""

    def reading(self) -> AbstractContextManager[None]:
        """One moment: everything read inside is from it."""

    def in_transaction(self) -> bool:
        """Whether a transaction is open on this connection."""

    def version(self) -> int:
        """The schema's version: 0 in an empty database."""

    def set_version(self, version: int) -> None:
        """Say that the schema now has ``version``."""

    def stamp(self) -> str:
        """Where these bytes live: changes when the database is copied or restored elsewhere."""

    def scrub(self) -> None:
        """After an erasure: leave no copy of the old bytes in files that this database keeps."""

    def check(self) -> list[str]:
        """What the database finds wrong with its own files."""

    def sealed(self) -> Mapping[StoreId, int] | None:
        """How far each chain was verified, if nobody but custody has written since; None where that is not known."""

    def seal(self, verified: Mapping[StoreId, int]) -> None:
        """Say that everything was verified up to these places of the chains."""

    def close(self) -> None:
        """Let go of the connection."""


def placeholders(values: Sized) -> str:
    """Return as many ``?`` as there are values, for an ``IN (…)``.

    >>> placeholders(("a", "b"))
    '?, ?'
    """
    return ", ".join("?" * len(values))


# Bring a database to the current schema: numbered steps, each one transaction, never edited.
# Killed at any statement, a step has not happened; the next start makes it again from its beginning.


@dataclass(frozen=True, slots=True)
class Migration:
    """One numbered step: its number, its name and its statements in neutral SQL."""

    number: int
    name: str
    statements: tuple[str, ...]


def migrations(package: str = __package__) -> tuple[Migration, ...]:
    """All steps that ``package`` holds, in order."""
    folder = resources.files(package) / "migrations"
    files = sorted((file for file in folder.iterdir() if file.name.endswith(".sql")), key=lambda file: file.name)
    return tuple(
        Migration(int(file.name[:4]), file.name[5:-4], statements_of(file.read_text("utf-8"))) for file in files
    )


def statements_of(sql: str) -> tuple[str, ...]:
    """The statements of a migration's text; comments are for people."""
    code = "\n".join(line.partition("--")[0] for line in sql.splitlines())
    return tuple(statement.strip() for statement in code.split(";") if statement.strip())


SCHEMA_VERSION = 10
"""The newest step; a test holds it to the files."""


def migrate(db: Db, steps: Sequence[Migration] | None = None) -> None:
    """Make every step that is not yet made; refuse a schema that a newer custody wrote."""
    if steps is None and db.version() == SCHEMA_VERSION:
        return  # the usual case reads no files
    steps = migrations() if steps is None else steps
    newest = steps[-1].number
    if db.version() > newest:
        raise StoreError(
            f"the store has schema {db.version()}, this custody knows up to {newest}",
            hint="upgrade custody; nothing was changed",
        )
    for step in steps:
        if db.version() < step.number:
            _make(db, step)


def _make(db: Db, step: Migration) -> None:
    with db.writing():
        if db.version() >= step.number:
            return  # another process was first
        for statement in step.statements:
            db.run(db.dialect.ddl(statement))
        db.set_version(step.number)
