"""Open, make, bring up to date and drop the projects of a team's PostgreSQL.

This file is the only one that decides when a schema is made and as which role a connection works.
"""

from custody.core.errors import InputError, StoreError
from custody.core.project import DEFAULT_PROJECT
from custody.store.migrate import SCHEMA_VERSION, migrate
from custody.store.postgres import PostgresDb, connect
from custody.store.project_schema import schema_of
from custody.store.row_security import RoleRights, close_tables, is_bound, read_role_rights, step_down

INITIALISE = "run 'custody project init-database' with the address of the database's owner"


def open_postgres(url: str, project: str = DEFAULT_PROJECT, *, bound: bool = False) -> PostgresDb:
    """Connect to one project of the team's database; ``bound`` refuses a role that policies do not hold for.

    Its owner makes what is missing of the default project and brings any project up to date. After that the connection
    works as the service's role, where the database was initialised for one and the role that connected may.
    """
    db = connect(url, schema_of(project), project)
    try:
        found = read_role_rights(db)
        if not found.there and project != DEFAULT_PROJECT:
            raise InputError(
                f"there is no project '{project}'", hint="'custody project list' shows those that there are"
            )
        if not _is_current(db, found):
            _bring_up_to_date(db, project, found)
            found = read_role_rights(db)
        if found.can_step_down:
            step_down(db)
        if bound and not is_bound(db):
            raise StoreError("row-level security does not hold for this role in the team database", hint=INITIALISE)
    except BaseException:
        db.close()
        raise
    return db


def make_project(url: str, project: str) -> None:
    """As the owner: make the schema of ``project`` with its tables and policies, or bring it up to date."""
    db = connect(url, schema_of(project), project)
    try:
        found = read_role_rights(db)
        _bring_up_to_date(db, project, found)
    finally:
        db.close()


def drop_project(url: str, project: str) -> None:
    """As the owner: drop everything that is kept of ``project``."""
    db = connect(url, schema_of(project), project)
    try:
        with db.writing():
            db.run(f"DROP SCHEMA IF EXISTS {db.schema} CASCADE")
    finally:
        db.close()


def _is_current(db: PostgresDb, found: RoleRights) -> bool:
    return found.usable and not found.open_tables and db.version() == SCHEMA_VERSION


def _bring_up_to_date(db: PostgresDb, project: str, found: RoleRights) -> None:
    if not found.owns:
        raise _not_initialised(db, found)
    if not found.there:
        with db.writing():
            db.run(f"CREATE SCHEMA IF NOT EXISTS {db.schema}")
    migrate(db)
    close_tables(db, project)


def _not_initialised(db: PostgresDb, found: RoleRights) -> StoreError:
    if not found.usable:
        return StoreError("the team database was not initialised for this role", hint=INITIALISE)
    if found.open_tables:
        return StoreError(
            f"{found.open_tables} tables of the team database have no row-level security", hint=INITIALISE
        )
    version = db.version()
    if version > SCHEMA_VERSION:
        return StoreError(
            f"the store has schema {version}, this custody knows up to {SCHEMA_VERSION}",
            hint="upgrade custody; nothing was changed",
        )
    return StoreError(f"the team database has schema {version}, this custody needs {SCHEMA_VERSION}", hint=INITIALISE)
