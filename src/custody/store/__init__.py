"""Records in chains, bodies, and views of them, in SQLite or PostgreSQL behind one class.

May touch the database and the head files beside it. It never reads the spool, runs git or reads a clock: timestamps and
random numbers are passed in.
"""

from custody.store.db import SCHEMA_VERSION, DamagedStoreError, Db, StoreUnwritable, placeholders
from custody.store.heads import Heads, KeptHead
from custody.store.postgres import SERVICE_ROLE
from custody.store.projection import EVERYTHING, DerivedTables, ObservedView, RecordFilter, RecordReader
from custody.store.sqlite import open_sqlite, open_sqlite_to_read, overlay
from custody.store.store import (
    AppendResult,
    CopyResult,
    Fork,
    Store,
    StoreEnvironment,
    ViewWiring,
    claimed_until,
    copy_until,
    erased_since,
    own_among,
    own_as,
)
from custody.store.tables import Body, read_erased_digest, split_batches
from custody.store.team import drop_project, make_project, open_postgres

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
    "Store",
    "StoreEnvironment",
    "StoreUnwritable",
    "ViewWiring",
    "claimed_until",
    "copy_until",
    "drop_project",
    "erased_since",
    "make_project",
    "open_postgres",
    "open_sqlite",
    "open_sqlite_to_read",
    "overlay",
    "own_among",
    "own_as",
    "placeholders",
    "read_erased_digest",
    "split_batches",
]
