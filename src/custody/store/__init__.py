"""Records in chains, bodies, and views of them, in SQLite or PostgreSQL behind one class.

It may touch the database and the head files next to it. It never reads the spool, runs git or reads a clock:
timestamps and random numbers are passed in.
"""

from typing import TYPE_CHECKING

from custody.core.lazy_names import lazy_names

if TYPE_CHECKING:
    from custody.store.db import (
        SCHEMA_VERSION,
        DamagedStoreError,
        Db,
        SchemaMismatchError,
        StoreUnreachable,
        StoreUnwritable,
        make_sql_placeholders,
    )
    from custody.store.heads import Heads, KeptHead
    from custody.store.postgres import SERVICE_ROLE
    from custody.store.projection import EVERYTHING, DerivedTables, ObservedView, RecordFilter, RecordReader
    from custody.store.sqlite import open_sqlite, open_sqlite_overlay, open_sqlite_to_read
    from custody.store.store import (
        AppendResult,
        CopyResult,
        Fork,
        Store,
        StoreEnvironment,
        ViewWiring,
        copy_chains_until,
        count_records_claimed_until,
        count_records_erased_since,
        find_own_chain,
        set_owned_chains,
    )
    from custody.store.tables import Body, erased_digest_from_payload, split_row_batches
    from custody.store.team import create_project_schema, drop_project_schema, open_postgres
else:
    __getattr__ = lazy_names(
        __name__,
        {
            "db": (
                "DamagedStoreError Db SCHEMA_VERSION SchemaMismatchError StoreUnreachable StoreUnwritable "
                "make_sql_placeholders"
            ),
            "heads": "Heads KeptHead",
            "postgres": "SERVICE_ROLE",
            "projection": "DerivedTables EVERYTHING ObservedView RecordFilter RecordReader",
            "sqlite": "open_sqlite open_sqlite_overlay open_sqlite_to_read",
            "store": (
                "AppendResult CopyResult Fork Store StoreEnvironment ViewWiring copy_chains_until "
                "count_records_claimed_until count_records_erased_since find_own_chain set_owned_chains"
            ),
            "tables": "Body erased_digest_from_payload split_row_batches",
            "team": "create_project_schema drop_project_schema open_postgres",
        },
    )

__all__ = [
    "EVERYTHING",
    "SCHEMA_VERSION",
    "SERVICE_ROLE",
    "AppendResult",
    "Body",
    "CopyResult",
    "DamagedStoreError",
    "Db",
    "DerivedTables",
    "Fork",
    "Heads",
    "KeptHead",
    "ObservedView",
    "RecordFilter",
    "RecordReader",
    "SchemaMismatchError",
    "Store",
    "StoreEnvironment",
    "StoreUnreachable",
    "StoreUnwritable",
    "ViewWiring",
    "copy_chains_until",
    "count_records_claimed_until",
    "count_records_erased_since",
    "create_project_schema",
    "drop_project_schema",
    "erased_digest_from_payload",
    "find_own_chain",
    "make_sql_placeholders",
    "open_postgres",
    "open_sqlite",
    "open_sqlite_overlay",
    "open_sqlite_to_read",
    "set_owned_chains",
    "split_row_batches",
]
