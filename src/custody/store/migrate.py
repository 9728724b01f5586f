"""Bring a database to the current schema: numbered steps, each one transaction, never edited.

Killed at any statement, a step has not happened; the next start makes it again from its beginning.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources

from custody.core.errors import StoreError
from custody.store.db import Db


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
