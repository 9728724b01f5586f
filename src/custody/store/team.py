"""Open, create, upgrade and drop the projects of a team's PostgreSQL.

Only this file decides when a schema is created and which role a connection uses.
"""

from msgspec import Struct

from custody.core.errors import InputError, StoreError
from custody.core.ids import DEFAULT_PROJECT
from custody.store.db import SCHEMA_VERSION, Row, StoreUnwritable, migrate_store_schema
from custody.store.postgres import (
    CONTROL_SCHEMA,
    PROJECT_SETTING,
    SERVICE_ROLE,
    PostgresDb,
    connect_postgres,
    postgres_schema_name,
)
from custody.store.tables import integer_from_sql

# Rights in PostgreSQL: row-level security on every table of a project, and the role of a service.
# Two mechanisms separate projects. The search path of a connection names the schema of its project. Every table there
# has a policy that compares the connection's setting with the project; it is forced, so it applies to the owner too.
# Only a superuser and a role with BYPASSRLS bypass policies. The service's role is neither, owns nothing and cannot
# delete a record.


POLICY = "of_this_project"
_EVERY = "SELECT, INSERT, UPDATE, DELETE"
_PROJECT_RIGHTS = {
    "record": "SELECT, INSERT",
    "fork": "SELECT, INSERT",
    "chain": "SELECT, INSERT",
    "body": "SELECT, INSERT, UPDATE",
    "schema_version": "SELECT",
}
"""The service's rights on tables with primary data; on derived tables it may change rows."""
_CONTROL_RIGHTS = {
    "project": "SELECT",
    "github_repository": "SELECT, UPDATE (installation)",
    "github_delivery": "SELECT, INSERT",
    "token": "SELECT, UPDATE (used_ns)",
    "text_read": "SELECT, INSERT",
    "job": "SELECT, INSERT, UPDATE",
    "schema_version": "SELECT",
}
"""A service reads tokens and records their use. It cannot create tokens or change the log of read texts."""
_MAINTAIN_SINCE = 170_000
_SET_SINCE = 160_000


class RoleRights(Struct, frozen=True):
    """The rights of a connection's role in its schema."""

    there: bool
    """Whether the schema exists."""
    usable: bool
    """Whether the role may read it."""
    owns: bool
    """Whether it may create and change tables there, or create a missing schema."""
    can_step_down: bool
    """Whether it may switch to the service's role, and that role may read the schema."""
    open_tables: int
    """The number of tables without forced row-level security or without our policy."""


def read_role_rights(db: PostgresDb) -> RoleRights:
    """Return the rights of this connection's role in its schema."""
    member = "SET" if db.server_version >= _SET_SINCE else "MEMBER"
    ((there, usable, owns, down, open_tables),) = db.rows(
        "SELECT (space.oid IS NOT NULL)::int, coalesce(has_schema_privilege(space.oid, 'USAGE'), false)::int,"
        " coalesce(pg_has_role(space.nspowner, 'USAGE'), has_database_privilege(current_database(), 'CREATE'))::int,"
        " coalesce(pg_has_role(role.oid, ?) AND has_schema_privilege(role.oid, space.oid, 'USAGE'), false)::int,"
        " (SELECT count(*) FROM pg_class WHERE relnamespace = space.oid AND relkind = 'r'"
        " AND NOT (relrowsecurity AND relforcerowsecurity"
        " AND EXISTS (SELECT 1 FROM pg_policy WHERE polrelid = pg_class.oid AND polname = ?)))"
        " FROM (SELECT 1) AS one LEFT JOIN pg_namespace AS space ON space.nspname = ?"
        " LEFT JOIN pg_roles AS role ON role.rolname = ?",
        (member, POLICY, db.schema, SERVICE_ROLE),
    )
    return RoleRights(bool(there), bool(usable), bool(owns), bool(down), integer_from_sql(open_tables))


def enable_table_policies(db: PostgresDb, project: str) -> None:
    """Enable the policy on every table of the project's schema, then grant the service's role access (owner only)."""
    ours = f"current_setting('{PROJECT_SETTING}', true) = '{project}'"
    with db.writing():
        for table in _list_schema_tables(db):
            name = f"{db.schema}.{table}"
            db.run(f"ALTER TABLE {name} ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY")
            if not _has_table_policy(db, table):
                db.run(f"CREATE POLICY {POLICY} ON {name} USING ({ours}) WITH CHECK ({ours})")
        if has_service_role(db):
            _grant_service_rights(db, _PROJECT_RIGHTS)


def grant_control_tables(db: PostgresDb) -> None:
    """Grant the service's role its rights in the control schema, which initializes the database (owner only)."""
    with db.writing():
        _grant_service_rights(db, _CONTROL_RIGHTS)


def has_service_role(db: PostgresDb) -> bool:
    """Return whether the database is initialized: the service's role exists and may use the control schema."""
    return bool(
        db.rows(
            "SELECT 1 FROM pg_roles AS role JOIN pg_namespace AS space ON space.nspname = ?"
            " WHERE role.rolname = ? AND has_schema_privilege(role.oid, space.oid, 'USAGE')",
            (CONTROL_SCHEMA, SERVICE_ROLE),
        )
    )


def make_service_role(db: PostgresDb) -> None:
    """Create the service's role if missing; raise an error if it bypasses policies."""
    if not _read_service_role(db):
        try:
            db.run(f"CREATE ROLE {SERVICE_ROLE} NOLOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOBYPASSRLS NOREPLICATION")
        except StoreUnwritable as error:
            raise StoreUnwritable(
                f"this role may not create the role '{SERVICE_ROLE}'",
                hint=f"let a superuser run: CREATE ROLE {SERVICE_ROLE} NOLOGIN; then retry",
            ) from error
        except StoreError:
            # Roles belong to the server, so another process may have created it.
            if not _read_service_role(db):
                raise
    if _read_service_role(db) != [(0,)]:
        raise StoreError(
            f"the role '{SERVICE_ROLE}' bypasses row-level security",
            hint=f"run: ALTER ROLE {SERVICE_ROLE} NOSUPERUSER NOBYPASSRLS",
        )


def grant_service_login(db: PostgresDb, login: str | None) -> None:
    """Let ``login``, or the role of this connection, switch to the service's role."""
    role = "CURRENT_USER" if login is None else _quote_role_name(login)
    db.run(f"GRANT {SERVICE_ROLE} TO {role}")


def assume_service_role(db: PostgresDb) -> None:
    """Switch this connection to the service's role."""
    db.run(f"SET ROLE {SERVICE_ROLE}")


def is_bound_by_policies(db: PostgresDb) -> bool:
    """Return whether the policies apply to this connection's role, and it does not own the tables."""
    ((bound,),) = db.rows(
        "SELECT (NOT rolsuper AND NOT rolbypassrls AND NOT pg_has_role(space.nspowner, 'USAGE'))::int"
        " FROM pg_roles JOIN pg_namespace AS space ON space.nspname = ? WHERE rolname = current_user",
        (db.schema,),
    )
    return bool(bound)


def _grant_service_rights(db: PostgresDb, rights: dict[str, str]) -> None:
    db.run(f"GRANT USAGE ON SCHEMA {db.schema} TO {SERVICE_ROLE}")
    db.run(f"REVOKE ALL ON ALL TABLES IN SCHEMA {db.schema} FROM {SERVICE_ROLE}")
    tables = _list_schema_tables(db)
    for right in {rights.get(table, _EVERY) for table in tables}:
        named = ", ".join(f"{db.schema}.{table}" for table in tables if rights.get(table, _EVERY) == right)
        db.run(f"GRANT {right} ON {named} TO {SERVICE_ROLE}")
    if "body" in tables and db.server_version >= _MAINTAIN_SINCE:
        db.run(f"GRANT MAINTAIN ON {db.schema}.body, {db.schema}.search_text TO {SERVICE_ROLE}")


def _has_table_policy(db: PostgresDb, table: str) -> bool:
    return bool(
        db.rows(
            "SELECT 1 FROM pg_policies WHERE schemaname = ? AND tablename = ? AND policyname = ?",
            (db.schema, table, POLICY),
        )
    )


def _list_schema_tables(db: PostgresDb) -> list[str]:
    rows = db.rows(
        "SELECT relname FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace"
        " WHERE nspname = ? AND relkind = 'r' ORDER BY relname",
        (db.schema,),
    )
    return [str(name) for (name,) in rows]


def _read_service_role(db: PostgresDb) -> list[Row]:
    return db.rows("SELECT (rolsuper OR rolbypassrls)::int FROM pg_roles WHERE rolname = ?", (SERVICE_ROLE,))


def _quote_role_name(name: str) -> str:
    if not name or "\0" in name or "%" in name or "?" in name:
        raise StoreError(f"invalid role name '{name}'")
    return '"' + name.replace('"', '""') + '"'


INITIALISE = "run 'custody project init-database' with the URL of the database owner"


def open_postgres(url: str, project: str = DEFAULT_PROJECT, *, bound: bool = False) -> PostgresDb:
    """Connect to one project of the team's database; with ``bound``, policies must apply to the role.

    The owner creates a missing default project and upgrades any project. Then the connection switches to the service's
    role, if the database is initialized and the connected role may.
    """
    db = connect_postgres(url, postgres_schema_name(project), project)
    try:
        found = read_role_rights(db)
        if not found.there and project != DEFAULT_PROJECT:
            raise InputError(f"unknown project '{project}'", hint="'custody project list' lists the projects")
        if not _is_project_schema_current(db, found):
            _upgrade_project_schema(db, project, found)
            found = read_role_rights(db)
        if found.can_step_down:
            assume_service_role(db)
        if bound and not is_bound_by_policies(db):
            raise StoreError("row-level security does not apply to this role in the team database", hint=INITIALISE)
    except BaseException:
        db.close()
        raise
    return db


def create_project_schema(url: str, project: str) -> None:
    """Create the schema of ``project`` with its tables and policies, or upgrade it (owner only)."""
    db = connect_postgres(url, postgres_schema_name(project), project)
    try:
        found = read_role_rights(db)
        _upgrade_project_schema(db, project, found)
    finally:
        db.close()


def drop_project_schema(url: str, project: str) -> None:
    """Drop everything stored for ``project`` (owner only)."""
    db = connect_postgres(url, postgres_schema_name(project), project)
    try:
        with db.writing():
            db.run(f"DROP SCHEMA IF EXISTS {db.schema} CASCADE")
    finally:
        db.close()


def _is_project_schema_current(db: PostgresDb, found: RoleRights) -> bool:
    return found.usable and not found.open_tables and db.version() == SCHEMA_VERSION


def _upgrade_project_schema(db: PostgresDb, project: str, found: RoleRights) -> None:
    if not found.owns:
        raise _make_uninitialized_error(db, found)
    if not found.there:
        with db.writing():
            db.run(f"CREATE SCHEMA IF NOT EXISTS {db.schema}")
    migrate_store_schema(db)
    enable_table_policies(db, project)


def _make_uninitialized_error(db: PostgresDb, found: RoleRights) -> StoreError:
    if not found.usable:
        return StoreError("the team database is not initialized for this role", hint=INITIALISE)
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
