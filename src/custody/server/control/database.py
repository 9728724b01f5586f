"""Opening and migrating the control tables."""

from contextlib import AbstractContextManager
from pathlib import Path
from types import TracebackType

from custody.core.errors import StoreError
from custody.server.control.jobs import GitHubTables, Jobs
from custody.server.control.tokens import Projects, Reads, Tokens
from custody.store.db import Db, load_schema_migrations, migrate_store_schema
from custody.store.postgres import CONTROL_SCHEMA, PostgresDb, connect_postgres
from custody.store.sqlite import open_sqlite
from custody.store.team import (
    INITIALISE,
    assume_service_role,
    create_project_schema,
    grant_control_tables,
    grant_service_login,
    has_service_role,
    make_service_role,
    read_role_rights,
)

CONTROL_VERSION = 1
"""The newest migration of the control tables; a test compares it with the files."""


class ControlTables:
    """Projects, tokens, reads, jobs and GitHub repositories of one database."""

    def __init__(self, db: Db) -> None:
        self.db = db
        self.projects = Projects(db)
        self.tokens = Tokens(db)
        self.reads = Reads(db)
        self.jobs = Jobs(db)
        self.github = GitHubTables(db)

    def __enter__(self) -> "ControlTables":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def writing(self) -> AbstractContextManager[None]:
        """Open a transaction that excludes other writers; it is committed durably or rolled back whole."""
        return self.db.writing()

    def close(self) -> None:
        """Close the connection."""
        self.db.close()


def open_control_file(path: Path) -> ControlTables:
    """Open the control tables in a file, created if missing; several threads may use it, one at a time."""
    db = open_sqlite(path, shared=True)
    try:
        _migrate_control_tables(db)
    except BaseException:
        db.close()
        raise
    return ControlTables(db)


def open_control_postgres(url: str, *, as_service: bool) -> ControlTables:
    """Open the control tables of a team database, as the service's role or as the user of ``url``."""
    db = connect_postgres(url, CONTROL_SCHEMA)
    try:
        rights = read_role_rights(db)
        if rights.owns and rights.there and db.version() < CONTROL_VERSION:
            _migrate_control_tables(db)
            grant_control_tables(db)
        if not has_service_role(db) or not rights.usable or db.version() != CONTROL_VERSION:
            raise StoreError("the team database is not initialized", hint=INITIALISE)
        if as_service and rights.can_step_down:
            assume_service_role(db)
    except BaseException:
        db.close()
        raise
    return ControlTables(db)


def initialize_control_tables(url: str, now_ns: int, login: str | None) -> list[str]:
    """Create the service's role and the control tables, migrate every project, and return their names."""
    db = connect_postgres(url, CONTROL_SCHEMA)
    try:
        make_service_role(db)
        with db.writing():
            db.run(f"CREATE SCHEMA IF NOT EXISTS {CONTROL_SCHEMA}")
        _migrate_control_tables(db)
        grant_control_tables(db)
        _grant_service_login(db, login)
        control = ControlTables(db)
        control.projects.put_default(now_ns)
        names = [project.name for project in control.projects.list_all()]
    finally:
        db.close()
    for name in names:
        create_project_schema(url, name)
    return names


def _grant_service_login(db: PostgresDb, login: str | None) -> None:
    if login is not None:
        grant_service_login(db, login)
    try:
        grant_service_login(db, None)
    except StoreError:
        # The owner may lack the right to grant the role. It then works as itself, under the same policies.
        return


def _migrate_control_tables(db: Db) -> None:
    if db.version() != CONTROL_VERSION:
        migrate_store_schema(db, load_schema_migrations(__package__))
