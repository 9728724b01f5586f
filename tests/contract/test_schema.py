"""The doctor compares the real schema with the expected one, on every database."""

import pytest

from custody.store import Store
from custody.store.postgres import PostgresDb
from custody.store.schema import compare_schemas, load_expected_schema, read_schema
from custody.store.team import open_postgres
from tests.contract.conftest import Opener

OLD_LINEAGE = """CREATE TABLE lineage_state (id {int} NOT NULL, path {blob} NOT NULL, at_ns {int} NOT NULL,
 store_id {text} NOT NULL, seq {int} NOT NULL, n {int} NOT NULL, call {text} NOT NULL, text {blob},
 hashes {blob} NOT NULL, origins {blob} NOT NULL, PRIMARY KEY (id)) {clustered}"""
"""The table as commit 469890d made it, under the same version."""
LATER_TABLES = (
    *("head_statement", "record_outline", "head_seen", "lineage_touch", "graph_part", "search_item"),
    *("hunk_read", "author_claim", "command_record", "dupe_name"),
)
"""The tables that migrations after version 10 add."""
LATER_COLUMNS = (
    "DROP INDEX dupe_change_superseded",
    *(
        f"ALTER TABLE dupe_change DROP COLUMN {column}"
        for column in ("author", "target", "state", "merged", "superseded_by")
    ),
)
"""Removes what migrations after version 10 add to earlier tables."""
DIFFERENCES = {
    "DROP INDEX record_at": ["index record_at on record is missing"],
    "DROP TABLE source_read": ["table source_read is missing"],
    "ALTER TABLE fork RENAME COLUMN kind TO sort": ["column fork.kind is missing", "column fork.sort is unknown"],
    "ALTER TABLE chain ADD COLUMN more {text}": ["column chain.more is unknown"],
}


def run_ddl(store: Store, *statements: str) -> None:
    with store.writing():
        for statement in statements:
            store.db.run(store.db.dialect.ddl(statement))


def test_a_fresh_store_has_the_expected_schema(store: Store) -> None:
    assert store.compare_schema() == []


@pytest.mark.parametrize("statement", DIFFERENCES)
def test_differences_are_named(store: Store, statement: str) -> None:
    run_ddl(store, statement)
    assert store.compare_schema() == DIFFERENCES[statement]


def test_an_index_on_other_columns_is_named(store: Store) -> None:
    run_ddl(store, "DROP INDEX record_at", "CREATE UNIQUE INDEX record_at ON record (at_ns, seq)")
    (difference,) = store.compare_schema()
    assert difference == "index record_at is unique on record (at_ns, seq), not on record (at_ns)"


def test_a_store_of_edited_migrations_is_repaired(open_store: Opener) -> None:
    with open_store() as store:
        run_ddl(
            store,
            "DROP INDEX record_at",
            "DROP INDEX traced_file_at",
            "DROP TABLE lineage_state",
            *(f"DROP TABLE {table}" for table in LATER_TABLES),
            *LATER_COLUMNS,
            "DROP TABLE IF EXISTS search_text",
            OLD_LINEAGE,
            "DELETE FROM schema_version WHERE version > 10" if isinstance(store.db, PostgresDb) else "SELECT 1",
        )
        if not isinstance(store.db, PostgresDb):
            store.db.set_version(10)
        assert "column lineage_state.observed is missing" in store.compare_schema()
    with open_store() as store:
        assert store.compare_schema() == []


def test_a_repaired_table_of_a_team_keeps_its_policy(empty_postgres: str) -> None:
    db = open_postgres(empty_postgres)
    for table in (*LATER_TABLES, "search_text"):
        db.run(f"DROP TABLE {table}")
    for statement in LATER_COLUMNS:
        db.run(statement)
    db.run("DELETE FROM schema_version WHERE version > 10")
    db.close()
    db = open_postgres(empty_postgres)
    rows = db.rows("SELECT relforcerowsecurity::int FROM pg_class WHERE relname = 'lineage_state'")
    db.close()
    assert rows == [(1,)]


def test_another_collation_is_named(empty_postgres: str) -> None:
    db = open_postgres(empty_postgres)
    db.run('ALTER TABLE chain ALTER COLUMN store_id TYPE text COLLATE "POSIX"')
    differences = list(compare_schemas(read_schema(db), load_expected_schema()))
    db.close()
    assert differences == ['column chain.store_id is text COLLATE "POSIX" required key 1, not text required key 1']
