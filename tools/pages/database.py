"""The page of the database: tables and columns, from the migrations and the comments in them.

This file relies on the shape of the migrations: a column per line with its comment at the end, a comment
above every table. Anything else is an error, so that the page is complete.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import resources

from custody.store import postgres, sqlite
from tools import markdown
from tools.problems import Undocumented

_TABLE = re.compile(r"CREATE TABLE (?P<name>\w+) \(")
_COLUMN = re.compile(r"(?P<name>[a-z_]\w*)\s+(?P<type>[^,]*?)\s*[,;]?\s*(?:--\s*(?P<says>.*))?")
_KEY = re.compile(r"(?:PRIMARY KEY|UNIQUE|FOREIGN KEY|CHECK|CONSTRAINT)\b.*?(?=,?$)")
_END = re.compile(r"\).*;")
_INDEX = re.compile(r"CREATE (?P<unique>UNIQUE )?INDEX (?P<name>\w+) ON (?P<table>\w+) (?P<columns>\(.*\).*);")
_ADDED = re.compile(r"ALTER TABLE (?P<table>\w+) ADD COLUMN (?P<column>.*)")
_DROPPED = re.compile(r"DROP (?P<what>TABLE|INDEX) (?:IF EXISTS )?(?P<name>\w+);")
_ROWS_ONLY = re.compile(r"(?:INSERT|UPDATE|DELETE)\b.*;")
_OF_ONE_DATABASE = re.compile(r"\{\w+\};")
"""A statement that each database words for itself, or does not have."""
_WORD = re.compile(r"\{(\w+)\}")
"""A word that the dialects translate."""


@dataclass(slots=True)
class Table:
    """A table after all migrations."""

    name: str
    since: str
    says: str
    columns: list[tuple[str, str, str]] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)
    indexes: dict[str, str] = field(default_factory=dict)


class Reader:
    """Reads migrations line by line and collects the resulting tables."""

    def __init__(self) -> None:
        self.tables: dict[str, Table] = {}
        self._open: Table | None = None
        self._comment: list[str] = []

    def read(self, file: str, sql: str) -> None:
        """Read one migration after those before it."""
        for n, line in enumerate(sql.splitlines(), start=1):
            try:
                self._line(file, line.strip())
            except Undocumented as error:
                raise Undocumented(f"{file}:{n}: {error}") from error

    def _line(self, file: str, line: str) -> None:
        if self._open is not None:
            self._inside(self._open, line)
        elif line.startswith("--"):
            self._comment.append(line.removeprefix("--").strip())
        else:
            self._statement(file, line)
            self._comment.clear()

    def _inside(self, table: Table, line: str) -> None:
        if _END.fullmatch(line):
            self._open = None
        elif key := _KEY.match(line):
            table.keys.append(key[0])
        else:
            table.columns.append(_column(line))

    def _statement(self, file: str, line: str) -> None:
        if created := _TABLE.fullmatch(line):
            self._open = self._created(created["name"], file)
        elif index := _INDEX.fullmatch(line):
            self._table(index["table"]).indexes[index["name"]] = f"{index['unique'] or ''}{index['columns']}".lower()
        elif added := _ADDED.fullmatch(line):
            self._table(added["table"]).columns.append(_column(added["column"]))
        elif dropped := _DROPPED.fullmatch(line):
            self._drop(dropped["what"], dropped["name"])
        elif line and not _ROWS_ONLY.fullmatch(line) and not _OF_ONE_DATABASE.fullmatch(line):
            raise Undocumented(f"cannot read '{line}'")

    def _created(self, name: str, file: str) -> Table:
        if not self._comment:
            raise Undocumented(f"table '{name}' has no comment above it")
        self.tables[name] = Table(name, file, " ".join(self._comment))
        return self.tables[name]

    def _table(self, name: str) -> Table:
        if name not in self.tables:
            raise Undocumented(f"unknown table '{name}'")
        return self.tables[name]

    def _drop(self, what: str, name: str) -> None:
        if what == "TABLE":
            del self.tables[self._table(name).name]
            return
        for table in self.tables.values():
            table.indexes.pop(name, None)


def _column(line: str) -> tuple[str, str, str]:
    read = _COLUMN.fullmatch(line)
    if read is None:
        raise Undocumented(f"cannot read '{line}'")
    if not read["says"]:
        raise Undocumented(f"column '{read['name']}' has no comment")
    return read["name"], read["type"], read["says"]


def tables_of(migrations: Mapping[str, str]) -> list[Table]:
    """Return the tables after ``migrations`` (texts by file name), in order of creation."""
    reader = Reader()
    for file in sorted(migrations):
        reader.read(file, migrations[file])
    return list(reader.tables.values())


STORE = "custody.store"
CONTROL = "custody.server.control"


def database_page() -> str:
    """``schema.md``."""
    return page(tables_of(texts()))


def control_page() -> str:
    """``control.md``."""
    return page(tables_of(texts(CONTROL)), "The control tables")


def texts(package: str = STORE) -> dict[str, str]:
    """Our own migrations, by file name."""
    folder = resources.files(package) / "migrations"
    return {file.name: file.read_text("utf-8") for file in folder.iterdir() if file.name.endswith(".sql")}


def page(tables: Sequence[Table], title: str = "The database") -> str:
    """Return the page of some tables."""
    return (
        f"# {title}\n\n"
        "The same tables in SQLite and in PostgreSQL. These types stand for what the two call differently:\n\n"
        f"{markdown.table(('type', 'SQLite', 'PostgreSQL'), _types(tables))}"
        f"{''.join(_section(table) for table in tables)}"
    )


def _types(tables: Iterable[Table]) -> Iterator[tuple[str, ...]]:
    used = {word for table in tables for _, kind, _ in table.columns for word in _WORD.findall(kind)}
    for word in sorted(used):
        yield (f"`{word}`", *(_code(getattr(dialect, word)) for dialect in (sqlite.DIALECT, postgres.DIALECT)))


def _section(table: Table) -> str:
    rows = ((f"`{name}`", _code(_plain(kind)), markdown.text(says)) for name, kind, says in table.columns)
    return (
        f"\n## {table.name}\n\n{markdown.text(table.says)} Made by `{table.since}`.\n\n"
        f"{markdown.table(('column', 'type', 'meaning'), rows)}{''.join(_notes(table))}"
    )


def _notes(table: Table) -> Iterator[str]:
    notes = [*(_plain(key) for key in table.keys), *(f"index {name} {on}" for name, on in table.indexes.items())]
    if notes:
        yield "\n" + "".join(f"- {_code(note)}\n" for note in notes)


def _plain(sql: str) -> str:
    return _WORD.sub(r"\1", sql)


def _code(sql: str) -> str:
    return markdown.code(sql) if sql else ""
