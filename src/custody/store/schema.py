"""The real schema of a database, compared with the schema that the migrations make."""

from collections.abc import Iterator, Mapping, Sequence
from functools import cache

from msgspec import Struct, field

from custody.store.db import Db, Migration, load_schema_migrations, migrate_store_schema
from custody.store.sqlite import open_sqlite_overlay

_TYPES = {"INTEGER": "int", "bigint": "int", "TEXT": "text", "text": "text", "BLOB": "blob", "bytea": "blob"}
"""The type of a column in both databases by its name in one."""
_COLUMNS = {
    "sqlite": (
        'SELECT t.name, c.name, c.type, c."notnull", c.pk FROM sqlite_master AS t, pragma_table_info(t.name) AS c'
        " WHERE t.type = 'table' AND t.name NOT LIKE 'sqlite_%'"
    ),
    "postgres": (
        "SELECT relname, attname, format_type(atttypid, NULL) || CASE WHEN collname IS NULL OR collname = 'C' THEN ''"
        " ELSE ' COLLATE \"' || collname || '\"' END, attnotnull::int,"
        " coalesce(array_position(indkey::int2[], attnum) + 1, 0)"
        " FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace"
        " JOIN pg_attribute ON attrelid = pg_class.oid AND attnum > 0 AND NOT attisdropped"
        " LEFT JOIN pg_collation ON pg_collation.oid = attcollation"
        " LEFT JOIN pg_index ON indrelid = pg_class.oid AND indisprimary"
        " WHERE nspname = current_schema() AND relkind = 'r' AND relname <> 'schema_version'"
    ),
}
_INDEXES = {
    "sqlite": (
        'SELECT t.name, i.name, i."unique", c.seqno, c.name FROM sqlite_master AS t, pragma_index_list(t.name) AS i,'
        " pragma_index_info(i.name) AS c WHERE t.type = 'table' AND i.origin = 'c'"
    ),
    "postgres": (
        "SELECT t.relname, i.relname, indisunique::int, position, attname FROM pg_index"
        " JOIN pg_class AS i ON i.oid = indexrelid JOIN pg_class AS t ON t.oid = indrelid"
        " JOIN pg_namespace ON pg_namespace.oid = t.relnamespace"
        " CROSS JOIN LATERAL unnest(indkey::int2[]) WITH ORDINALITY AS k (number, position)"
        " JOIN pg_attribute ON attrelid = t.oid AND attnum = k.number"
        " WHERE nspname = current_schema() AND NOT indisprimary AND indisvalid"
    ),
}


class SchemaColumn(Struct, frozen=True):
    """A column: its type, whether NULL is refused, and its position in the primary key (0 for none)."""

    type: str
    required: bool
    key: int


class SchemaIndex(Struct, frozen=True):
    """An index on columns of a table, in order."""

    table: str
    columns: tuple[str, ...]
    unique: bool


class Schema(Struct):
    """The tables with their columns, and the indexes, by name."""

    tables: dict[str, dict[str, SchemaColumn]] = field(default_factory=dict)
    indexes: dict[str, SchemaIndex] = field(default_factory=dict)


def read_schema(db: Db) -> Schema:
    """Return the schema of a database as it is."""
    system, schema = ("postgres" if db.place else "sqlite"), Schema()
    for table, column, type_, required, key in db.rows(_COLUMNS[system]):
        columns = schema.tables.setdefault(str(table), {})
        # SQLite also refuses NULL in a key of a table without row ids, and does not say so.
        columns[str(column)] = SchemaColumn(
            _TYPES.get(str(type_), str(type_)), bool(required) or bool(key), int(key or 0)
        )
    parts: dict[tuple[str, str, bool], list[tuple[int, str]]] = {}
    for table, index, unique, position, column in db.rows(_INDEXES[system]):
        parts.setdefault((str(table), str(index), bool(unique)), []).append((int(position or 0), str(column)))
    for (name, index_name, is_unique), columns_ in parts.items():
        schema.indexes[index_name] = SchemaIndex(name, tuple(column for _, column in sorted(columns_)), is_unique)
    return schema


@cache
def load_expected_schema() -> Schema:
    """Return the schema that the migrations make, the same for both databases."""
    return make_migrated_schema(load_schema_migrations())


def make_migrated_schema(steps: Sequence[Migration]) -> Schema:
    """Return the schema after ``steps`` in an empty database."""
    db = open_sqlite_overlay(None)
    try:
        migrate_store_schema(db, steps)
        return read_schema(db)
    finally:
        db.close()


def compare_schemas(real: Schema, expected: Schema) -> Iterator[str]:
    """Yield what is missing, additional or different in ``real``; tables of other programs are ignored."""
    for table, columns in sorted(expected.tables.items()):
        if table not in real.tables:
            yield f"table {table} is missing"
        else:
            yield from _compare_columns(table, real.tables[table], columns)
    for name, index in sorted(expected.indexes.items()):
        if index.table not in real.tables:
            continue
        if name not in real.indexes:
            yield f"index {name} on {index.table} is missing"
        elif real.indexes[name] != index:
            yield f"index {name} is {_describe_index(real.indexes[name])}, not {_describe_index(index)}"


def _compare_columns(
    table: str, real: Mapping[str, SchemaColumn], expected: Mapping[str, SchemaColumn]
) -> Iterator[str]:
    for name in sorted(expected.keys() - real.keys()):
        yield f"column {table}.{name} is missing"
    for name in sorted(real.keys() - expected.keys()):
        yield f"column {table}.{name} is unknown"
    for name in sorted(expected.keys() & real.keys()):
        if real[name] != expected[name]:
            yield f"column {table}.{name} is {_describe_column(real[name])}, not {_describe_column(expected[name])}"


def _describe_column(column: SchemaColumn) -> str:
    required = " required" if column.required else ""
    return f"{column.type}{required}{f' key {column.key}' if column.key else ''}"


def _describe_index(index: SchemaIndex) -> str:
    return f"{'unique ' if index.unique else ''}on {index.table} ({', '.join(index.columns)})"
