"""Projects in one PostgreSQL: no query sees data of another project."""

import random
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from bench.tenancy import crossings
from custody.attribution.queries.traces import find_candidate_edits_in_window
from custody.core.errors import InputError, StoreError
from custody.core.ids import EventId
from custody.core.paths import RepoPath
from custody.ledger.records import erase_record_bodies
from custody.ledger.verify import verify_ledger
from custody.server.app.tenancy import create_project, init_team_database, list_projects, remove_project
from custody.store import SCHEMA_VERSION, Store, StoreUnwritable, open_postgres
from custody.store.db import SqlValue, migrate_store_schema
from custody.store.postgres import SCHEMA, SERVICE_ROLE, PostgresDb, connect_postgres, postgres_schema_name
from custody.workspace.wiring import VIEWS
from custody.workspace.workspace import Workspace
from tests.builders.events import KINDS, an_arrival
from tests.builders.stores import NOON, surroundings
from tests.builders.teams import Team, a_login, a_team, a_team_workspace, as_role
from tests.house.postgres import a_database

A, B = "alpha", "beta"
LONG = "a line of a long file\n" * 1000
CALLS = 500
"""Calls for the other project's data; ``python -m bench tenancy`` makes 10,000 and more."""


@pytest.fixture(scope="module")
def team(postgres_url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Team]:
    """A database with data of both projects; what a test adds has its own ids."""
    with (
        a_database(postgres_url) as url,
        a_team(url, tmp_path_factory.mktemp("team"), A, B) as made,
    ):
        lived(made.workspace(A), "a")
        lived(made.workspace(B), "b")
        yield made


def lived(workspace: Workspace, mark: str) -> Workspace:
    """Fill the workspace's project: every kind of record, long texts, an erasure."""
    with workspace.writing() as store:
        store.append([an_arrival(kind, id=f"{mark}-{kind}", event=f"{mark}-{kind}") for kind in KINDS])
        store.append([an_arrival("edit", id=f"{mark}-long", after=f"{mark}\n{LONG}")])
        store.append([an_arrival("prompt", id=f"{mark}-secret", text=f"the secret of {mark}")])
    erase_record_bodies(workspace, [f"{mark}-prompt"], who="ana", why="test")
    return workspace


def asked(url: str, sql: str, *values: object) -> list[tuple[object, ...]]:
    with psycopg.connect(url, autocommit=True) as connection:
        return connection.execute(sql.encode(), values).fetchall()


def tables_of(url: str, schema: str) -> list[str]:
    rows = asked(url, "SELECT relname FROM pg_class WHERE relnamespace = %s::regnamespace AND relkind = 'r'", schema)
    return sorted(str(name) for (name,) in rows)


def row_count(url: str, schema: str, table: str) -> int:
    ((count,),) = asked(url, f"SELECT count(*) FROM {schema}.{table}")
    return int(str(count))


@pytest.mark.parametrize("project", ["default", A, B])
def test_row_level_security_is_forced_on_every_table_of_every_project(team: Team, project: str) -> None:
    rows = asked(
        team.owner,
        "SELECT relname, relrowsecurity, relforcerowsecurity, (SELECT count(*) FROM pg_policy WHERE polrelid = c.oid)"
        " FROM pg_class AS c WHERE relnamespace = %s::regnamespace AND relkind IN ('r', 'p')",
        postgres_schema_name(project),
    )
    assert len(rows) > 30
    assert {(enabled, forced, policies) for _, enabled, forced, policies in rows} == {(True, True, 1)}


def test_the_service_has_no_superuser_rights_bypasses_nothing_and_owns_nothing(team: Team) -> None:
    with team.workspace(A).reading() as store:
        assert store.db.rows("SELECT current_user::text") == [(SERVICE_ROLE,)]
    ((above,),) = asked(
        team.owner, "SELECT rolsuper OR rolbypassrls OR rolcreaterole FROM pg_roles WHERE rolname = %s", SERVICE_ROLE
    )
    assert above is False
    assert asked(team.owner, "SELECT 1 FROM pg_class WHERE relowner = %s::regrole", SERVICE_ROLE) == []


def test_as_the_service_with_one_setting_every_table_of_the_other_is_empty_and_refuses_rows(team: Team) -> None:
    theirs = postgres_schema_name(B)
    tables = tables_of(team.owner, theirs)
    filled = [table for table in tables if row_count(team.owner, theirs, table)]
    assert {"record", "body", "prompt", "file_edit", "part", "erasure", "setting"} <= set(filled)
    with team.workspace(A).reading() as store:
        assert [t for t in tables if store.db.rows(f"SELECT 1 FROM {theirs}.{t} LIMIT 1")] == []
        for table in filled:
            if store.db.rows(f"SELECT 1 FROM {table} LIMIT 1"):
                with pytest.raises(StoreUnwritable, match="row-level security|permission denied"):
                    store.db.run(f"INSERT INTO {theirs}.{table} SELECT * FROM {table}")
        before = [row_count(team.owner, theirs, table) for table in tables]
        for table in ("prompt", "observation", "file_edit", "part", "state"):
            assert store.db.rows(f"DELETE FROM {theirs}.{table} RETURNING 1") == []
        assert store.db.rows(f"UPDATE {theirs}.body SET bytes = NULL RETURNING 1") == []
    assert [row_count(team.owner, theirs, table) for table in tables] == before
    assert verify_ledger(team.workspace(B)).outcome == "fine"


@pytest.mark.parametrize("setting", [A, "", "beta ", "BETA", None])
def test_the_right_schema_with_the_wrong_setting_shows_nothing(team: Team, setting: str | None) -> None:
    with psycopg.connect(team.service, autocommit=True) as connection:
        connection.execute(f"SET search_path TO {postgres_schema_name(B)}".encode())
        if setting is not None:
            connection.execute("SELECT set_config('custody.project', %s, false)", (setting,))
        assert connection.execute("SELECT * FROM record").fetchall() == []
        connection.execute("SELECT set_config('custody.project', %s, false)", (B,))
        assert len(connection.execute("SELECT * FROM record").fetchall()) > len(KINDS)


def test_the_policies_hold_for_an_owner_without_superuser_rights(fresh_postgres: str, tmp_path: Path) -> None:
    with a_login(fresh_postgres) as owner:
        asked_nothing(fresh_postgres, f'GRANT CREATE ON DATABASE "{_name(fresh_postgres)}" TO "{owner}"')
        url = as_role(fresh_postgres, owner)
        lived(a_team_workspace(tmp_path, url), "a")
        assert asked(url, f"SELECT 1 FROM {SCHEMA}.record") == []
        assert verify_ledger(a_team_workspace(tmp_path, url)).outcome == "fine"


def test_the_service_does_all_that_a_store_does(team: Team) -> None:
    workspace = team.workspace(A)
    found = verify_ledger(workspace)
    assert found.outcome == "fine"
    assert found.erased >= 1
    with workspace.writing() as store:
        store.views.rebuild(lambda _: None)
    assert verify_ledger(workspace).outcome == "fine"
    with workspace.reading() as store:
        assert len(find_candidate_edits_in_window(store, RepoPath.of("src/app.py"), since_ns=0, until_ns=2 * NOON)) >= 2


@pytest.mark.parametrize(
    "deed",
    [
        "DELETE FROM record",
        "UPDATE record SET kind = 'x'",
        "DELETE FROM body",
        "TRUNCATE prompt",
        "DROP TABLE prompt",
        "ALTER TABLE record DISABLE ROW LEVEL SECURITY",
        "CREATE TABLE more (n INT)",
        "INSERT INTO schema_version VALUES (99)",
        "INSERT INTO custody_control.token VALUES ('x', '', 'alpha', '', 'read', 0)",
        "UPDATE custody_control.token SET project = 'beta'",
        "DELETE FROM custody_control.text_read",
        "UPDATE custody_control.project SET retain_days = 1",
    ],
)
def test_the_service_takes_no_record_back_and_gives_itself_no_right(team: Team, deed: str) -> None:
    with team.workspace(A).reading() as store, pytest.raises(StoreUnwritable, match="permission denied|must be owner"):
        store.db.run(deed)


def test_neither_of_two_projects_can_tell_that_the_other_has_the_same_bytes(team: Team) -> None:
    arrivals = [an_arrival("edit", id="same", after=LONG), an_arrival("prompt", id="same-2", text="the same")]
    with team.workspace(A).writing() as mine, team.workspace(B).writing() as theirs:
        first = mine.append(arrivals)
        assert [theirs.tables.find_stored_bodies([a.entry.digest, *a.texts]) for a in arrivals] == [set(), set()]
        assert [theirs.tables.is_known(a.entry) for a in arrivals] == [False, False]
        second = theirs.append(arrivals)
        assert (len(first.made), len(second.made), second.known) == (2, 2, ())
        assert first.made[0].store != second.made[0].store
        mine.erase([arrivals[1].entry.digest], who="ana", why="mine")
        assert theirs.tables.payload(second.made[1]) is not None


def test_writers_of_two_projects_do_not_wait_for_each_other(team: Team) -> None:
    with team.workspace(A).writing() as mine, team.workspace(B).writing() as theirs, mine.writing():
        theirs.db.run("SET statement_timeout = '20s'")
        assert len(theirs.append([an_arrival(id="unhindered")]).made) == 1


def test_random_calls_across_the_border_find_nothing(team: Team) -> None:
    seed = random.SystemRandom().getrandbits(32)
    assert crossings(team.workspace(A), team.workspace(B), CALLS, seed) == [], f"seed {seed}"


def test_the_look_for_leaks_sees_one(team: Team) -> None:
    assert len(crossings(team.workspace(B), team.workspace(B), 100, 1)) > 90


@pytest.mark.parametrize(
    ("sql", "values"),
    [
        ("SELECT * FROM record WHERE event_id = ?", ("x",)),
        ("SELECT * FROM record WHERE event_id IN (?, ?)", ("x", "y")),
        ("SELECT * FROM record WHERE store_id = ? AND seq > ? ORDER BY seq LIMIT 10", ("x", 4)),
        ("SELECT digest FROM body WHERE digest BETWEEN ? AND ?", (b"a", b"b")),
        ("SELECT * FROM observation WHERE session >= ? AND session <= ?", ("s1", "s2")),
        ("SELECT * FROM file_edit WHERE path = ? AND at_ns BETWEEN ? AND ?", (b"p", 0, 9)),
    ],
)
def test_policies_leave_the_indexes_in_use(team: Team, sql: str, values: tuple[SqlValue, ...]) -> None:
    with team.workspace(A).reading() as store:
        store.db.run("SET enable_seqscan = off")
        plan = "\n".join(str(line) for (line,) in store.db.rows(f"EXPLAIN {sql}", values))
    assert "Index Cond" in plan, plan
    assert "current_setting('custody.project'" in plan, plan


def test_an_older_database_gets_its_policies_when_its_owner_opens_it(fresh_postgres: str, tmp_path: Path) -> None:
    db = connect_postgres(fresh_postgres, SCHEMA)
    with db.writing():
        db.run(f"CREATE SCHEMA {SCHEMA}")
    migrate_store_schema(db)
    with Store(db, VIEWS, surroundings()) as store:
        made = store.append([an_arrival(kind, id=kind) for kind in KINDS]).made
    assert {e for (e,) in asked(fresh_postgres, _FORCED)} == {False}
    workspace = a_team_workspace(tmp_path, fresh_postgres)
    with workspace.reading() as store:
        assert list(store.tables.records(made[0].store)) == list(made)
    assert {e for (e,) in asked(fresh_postgres, _FORCED)} == {True}
    init_team_database(workspace, None)
    with workspace.writing() as store:
        assert store.append([an_arrival(id="later")]).made[0].ref.store == made[0].store
    assert verify_ledger(workspace).outcome == "fine"


_FORCED = f"SELECT relforcerowsecurity FROM pg_class WHERE relnamespace = '{SCHEMA}'::regnamespace AND relkind = 'r'"


def test_a_table_of_a_later_step_is_closed_when_the_owner_opens(team: Team) -> None:
    asked_nothing(team.owner, f"CREATE TABLE {postgres_schema_name('default')}.later (n INT)")
    with pytest.raises(StoreError, match="1 tables of the team database have no row-level security") as refused:
        open_postgres(team.service)
    assert "init-database" in str(refused.value.hint)
    open_postgres(team.owner).close()
    with team.workspace().reading() as store:
        assert store.db.rows("SELECT * FROM later") == []


def test_a_database_that_was_not_initialised_says_so(fresh_postgres: str, tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="row-level security does not apply") as refused:
        open_postgres(fresh_postgres, bound=True)
    assert "init-database" in str(refused.value.hint)
    with pytest.raises(StoreError, match="the team database is not initialized") as refused:
        list_projects(a_team_workspace(tmp_path, fresh_postgres))
    assert "init-database" in str(refused.value.hint)
    with a_login(fresh_postgres) as stranger, pytest.raises(StoreError, match="not initialized for this role"):
        open_postgres(as_role(fresh_postgres, stranger))


def test_initialising_twice_is_initialising_once(team: Team) -> None:
    report = init_team_database(team.owners(), None)
    assert report.projects == [A, B, "default"]
    assert verify_ledger(team.workspace(A)).outcome == "fine"


def test_a_project_that_is_not_there_is_the_callers_mistake(team: Team) -> None:
    with pytest.raises(InputError, match="unknown project 'gamma'"), team.workspace("gamma").reading():
        pass


def test_a_removed_project_leaves_no_schema_and_other_projects_stay(team: Team) -> None:
    create_project(team.owners(), "gone")
    lived(team.workspace("gone"), "g")
    remove_project(team.owners(), "gone")
    assert asked(team.owner, "SELECT 1 FROM pg_namespace WHERE nspname = %s", postgres_schema_name("gone")) == []
    assert verify_ledger(team.workspace(B)).outcome == "fine"
    create_project(team.owners(), "gone")
    with team.workspace("gone").reading() as store:
        assert store.tables.record_count() == 0
    remove_project(team.owners(), "gone")


def test_projects_are_at_the_schema_that_this_custody_writes(team: Team) -> None:
    for project in ("default", A, B):
        db = open_postgres(team.service, project)
        assert isinstance(db, PostgresDb)
        assert db.version() == SCHEMA_VERSION
        db.close()


def test_an_event_known_in_one_project_is_new_in_the_other(team: Team) -> None:
    with team.workspace(A).writing() as store:
        store.append([an_arrival(id="e1", event="e1")])
    with team.workspace(B).writing() as store:
        assert store.append([an_arrival(id="e1", event="e1")]).known == ()
        assert store.tables.records_named(EventId("e1"))


def asked_nothing(url: str, sql: str) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(sql.encode())


def _name(url: str) -> str:
    return url.partition("?")[0].rpartition("/")[2]
