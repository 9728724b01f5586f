"""Open, make, bring up to date and drop the projects of a team's PostgreSQL.

This file is the only one that decides when a schema is made and as which role a connection works.
"""

from dataclasses import dataclass

from custody.core.errors import InputError, StoreError
from custody.core.ids import DEFAULT_PROJECT
from custody.store.db import SCHEMA_VERSION, Row, StoreUnwritable, migrate
from custody.store.postgres import CONTROL_SCHEMA, PROJECT_SETTING, SERVICE_ROLE, PostgresDb, connect, schema_of
from custody.store.tables import integer

# Who may do what in PostgreSQL: row-level security on every table of a project, and the role that a service works as.
# Two locks on one door. The search path of a connection names the schema of its project, and every table there has a
# policy that compares the connection's setting with the project, forced, so that it holds for the owner of the tables
# too. Only a superuser and a role with BYPASSRLS are above policies; the service's role is neither, owns nothing and
# cannot take a record back.


POLICY = "of_this_project"
_EVERY = "SELECT, INSERT, UPDATE, DELETE"
_PROJECT_RIGHTS = {
    "record": "SELECT, INSERT",
    "fork": "SELECT, INSERT",
    "chain": "SELECT, INSERT",
    "body": "SELECT, INSERT, UPDATE",
    "schema_version": "SELECT",
}
"""What the service may do with tables that hold the truth; with every other one it may do what rows need."""
_CONTROL_RIGHTS = {
    "project": "SELECT",
    "github_repository": "SELECT, UPDATE (installation)",
    "github_delivery": "SELECT, INSERT",
    "token": "SELECT, UPDATE (used_ns)",
    "text_read": "SELECT, INSERT",
    "job": "SELECT, INSERT, UPDATE",
    "schema_version": "SELECT",
}
"""A service asks for tokens and notes their use. It cannot make one, nor change what somebody has read."""
_MAINTAIN_SINCE = 170_000
_SET_SINCE = 160_000


@dataclass(frozen=True, slots=True)
class RoleRights:
    """What the role of a connection is to its schema."""

    there: bool
    """Whether there is such a schema."""
    usable: bool
    """Whether the role may look into it."""
    owns: bool
    """Whether it may make and change tables there, or make the schema if there is none."""
    can_step_down: bool
    """Whether it may work as the service's role, which may look into the schema."""
    open_tables: int
    """Tables without forced row-level security or without our policy."""


def read_role_rights(db: PostgresDb) -> RoleRights:
    """Ask the database what this connection's role may do in its schema."""
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
    return RoleRights(bool(there), bool(usable), bool(owns), bool(down), integer(open_tables))


def close_tables(db: PostgresDb, project: str) -> None:
    """As the owner: put every table of the project's schema under its policy, then let the service's role in."""
    ours = f"current_setting('{PROJECT_SETTING}', true) = '{project}'"
    with db.writing():
        for table in _tables(db):
            name = f"{db.schema}.{table}"
            db.run(f"ALTER TABLE {name} ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY")
            if not _has_policy(db, table):
                db.run(f"CREATE POLICY {POLICY} ON {name} USING ({ours}) WITH CHECK ({ours})")
        if has_service(db):
            _let_in(db, _PROJECT_RIGHTS)


def open_control_tables(db: PostgresDb) -> None:
    """As the owner: give the service's role its few rights in the control schema; this is what initialises."""
    with db.writing():
        _let_in(db, _CONTROL_RIGHTS)


def has_service(db: PostgresDb) -> bool:
    """Whether this database was initialised: the service's role is there and may look into the control schema."""
    return bool(
        db.rows(
            "SELECT 1 FROM pg_roles AS role JOIN pg_namespace AS space ON space.nspname = ?"
            " WHERE role.rolname = ? AND has_schema_privilege(role.oid, space.oid, 'USAGE')",
            (CONTROL_SCHEMA, SERVICE_ROLE),
        )
    )


def make_service_role(db: PostgresDb) -> None:
    """Make the role that a service works as, if the server has none; refuse one that is above policies."""
    if not _role(db):
        try:
            db.run(f"CREATE ROLE {SERVICE_ROLE} NOLOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOBYPASSRLS NOREPLICATION")
        except StoreUnwritable as error:
            raise StoreUnwritable(
                f"this role may not make the role '{SERVICE_ROLE}'",
                hint=f"let a superuser run: CREATE ROLE {SERVICE_ROLE} NOLOGIN; then do this again",
            ) from error
        except StoreError:
            if not _role(db):  # else somebody else was first: roles belong to the server, not to this database
                raise
    if _role(db) != [(0,)]:
        raise StoreError(
            f"the role '{SERVICE_ROLE}' is above row-level security",
            hint=f"run: ALTER ROLE {SERVICE_ROLE} NOSUPERUSER NOBYPASSRLS",
        )


def let_log_in_as_service(db: PostgresDb, login: str | None) -> None:
    """Let ``login``, or the role of this connection, work as the service's role."""
    role = "CURRENT_USER" if login is None else _quoted(login)
    db.run(f"GRANT {SERVICE_ROLE} TO {role}")


def step_down(db: PostgresDb) -> None:
    """Work as the service's role from here on."""
    db.run(f"SET ROLE {SERVICE_ROLE}")


def is_bound(db: PostgresDb) -> bool:
    """Whether the policies hold for whoever this connection works as, and the tables are not its own."""
    ((bound,),) = db.rows(
        "SELECT (NOT rolsuper AND NOT rolbypassrls AND NOT pg_has_role(space.nspowner, 'USAGE'))::int"
        " FROM pg_roles JOIN pg_namespace AS space ON space.nspname = ? WHERE rolname = current_user",
        (db.schema,),
    )
    return bool(bound)


def _let_in(db: PostgresDb, rights: dict[str, str]) -> None:
    db.run(f"GRANT USAGE ON SCHEMA {db.schema} TO {SERVICE_ROLE}")
    db.run(f"REVOKE ALL ON ALL TABLES IN SCHEMA {db.schema} FROM {SERVICE_ROLE}")
    tables = _tables(db)
    for right in {rights.get(table, _EVERY) for table in tables}:
        named = ", ".join(f"{db.schema}.{table}" for table in tables if rights.get(table, _EVERY) == right)
        db.run(f"GRANT {right} ON {named} TO {SERVICE_ROLE}")
    if "body" in tables and db.server_version >= _MAINTAIN_SINCE:
        db.run(f"GRANT MAINTAIN ON {db.schema}.body TO {SERVICE_ROLE}")


def _has_policy(db: PostgresDb, table: str) -> bool:
    return bool(
        db.rows(
            "SELECT 1 FROM pg_policies WHERE schemaname = ? AND tablename = ? AND policyname = ?",
            (db.schema, table, POLICY),
        )
    )


def _tables(db: PostgresDb) -> list[str]:
    rows = db.rows(
        "SELECT relname FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace"
        " WHERE nspname = ? AND relkind = 'r' ORDER BY relname",
        (db.schema,),
    )
    return [str(name) for (name,) in rows]


def _role(db: PostgresDb) -> list[Row]:
    return db.rows("SELECT (rolsuper OR rolbypassrls)::int FROM pg_roles WHERE rolname = ?", (SERVICE_ROLE,))


def _quoted(name: str) -> str:
    if not name or "\0" in name or "%" in name or "?" in name:
        raise StoreError(f"'{name}' cannot be the name of a role")
    return '"' + name.replace('"', '""') + '"'


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
