"""Open the control tables, made or brought up to date by whoever may."""

from contextlib import AbstractContextManager
from pathlib import Path
from types import TracebackType

from custody.core.errors import StoreError
from custody.server.control.jobs import GitHubTables, Jobs
from custody.server.control.tokens import Projects, Reads, Tokens
from custody.store.db import Db, migrate, migrations
from custody.store.postgres import CONTROL_SCHEMA, PostgresDb, connect
from custody.store.sqlite import open_sqlite
from custody.store.team import (
    INITIALISE,
    has_service,
    let_log_in_as_service,
    make_project,
    make_service_role,
    open_control_tables,
    read_role_rights,
    step_down,
)

CONTROL_VERSION = 1
"""The newest step of the control tables; a test holds it to the files."""


class ControlTables:
    """Who may ask, of what, and what is to be done."""

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


def control_in_file(path: Path) -> ControlTables:
    """The control tables in a file, made if it is not there; several threads may use it, one at a time."""
    db = open_sqlite(path, shared=True)
    try:
        _migrate(db)
    except BaseException:
        db.close()
        raise
    return ControlTables(db)


def control_in_postgres(url: str, *, as_service: bool) -> ControlTables:
    """The control tables of a team's database, as the service's role or as whoever ``url`` names."""
    db = connect(url, CONTROL_SCHEMA)
    try:
        found = read_role_rights(db)
        if found.owns and found.there and db.version() < CONTROL_VERSION:
            _migrate(db)
            open_control_tables(db)
        if not has_service(db) or not found.usable or db.version() != CONTROL_VERSION:
            raise StoreError("the team database was not initialised for projects and tokens", hint=INITIALISE)
        if as_service and found.can_step_down:
            step_down(db)
    except BaseException:
        db.close()
        raise
    return ControlTables(db)


def initialise(url: str, now_ns: int, login: str | None) -> list[str]:
    """As the owner: make the service's role and the control tables, bring every project up to date, and name them."""
    db = connect(url, CONTROL_SCHEMA)
    try:
        make_service_role(db)
        with db.writing():
            db.run(f"CREATE SCHEMA IF NOT EXISTS {CONTROL_SCHEMA}")
        _migrate(db)
        open_control_tables(db)
        _let_in(db, login)
        control = ControlTables(db)
        control.projects.put_default(now_ns)
        names = [project.name for project in control.projects.all()]
    finally:
        db.close()
    for name in names:
        make_project(url, name)
    return names


def _let_in(db: PostgresDb, login: str | None) -> None:
    if login is not None:
        let_log_in_as_service(db, login)
    try:
        let_log_in_as_service(db, None)
    except StoreError:
        # The owner may have no right to grant the role, or be it. It then works as itself, under the same policies.
        return


def _migrate(db: Db) -> None:
    if db.version() != CONTROL_VERSION:
        migrate(db, migrations(__package__))
