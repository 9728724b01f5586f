"""SQL over the index of changes, typed rows out.

May touch the open database that it is given.
"""

from base64 import b64decode, b64encode
from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from itertools import groupby, islice
from operator import itemgetter
from types import MappingProxyType

from msgspec import Struct

from custody.core.errors import InputError, StoreError
from custody.core.ids import CommitSha
from custody.core.views import DuplicateAnswer
from custody.core.wire.canonical import Json, dump_canonical_json, parse_json_bytes
from custody.dupes.model import ChangeRow, ChangeSummary
from custody.store import ObservedView, Store
from custody.store.db import Row, SqlValue
from custody.store.tables import bytes_from_sql, integer_from_sql

# The index of changes can be rebuilt from git at any time.


PARAMETERS_MAX = 400
"""Maximum parameters per SQL statement, and rows per page."""
COPY_BATCH = 5_000
"""Rows copied per statement."""


class SharedTerms(Struct, frozen=True):
    """A change with the weight and the number of the searched terms that it shares."""

    change: int
    weight: int
    terms: int


class EvidenceRow(Struct, frozen=True):
    """The evidence of a suggestion as canonical JSON; ``id`` is its digest."""

    id: str
    head: str
    other: str
    at_ns: int
    body: str


_CHANGE = (
    "id, repo, base, head, name, title, opened_ns, on_main, version, signature,"
    " author, target, state, merged, superseded_by"
)


NAME_CHARS_MAX = 1_000
"""Characters of a name or title that a list reads."""
_SUMMARY = (
    f"id, base, head, substr(name, 1, {NAME_CHARS_MAX}), substr(title, 1, {NAME_CHARS_MAX}),"
    " opened_ns, on_main, author, target, state, merged, superseded_by"
)


class DupesTables:
    """Tables of changes, exact hashes, terms, unreadable changes and stored evidence."""

    def __init__(self, store: Store) -> None:
        self._db = store.db

    # --- changes ------------------------------------------------------------------------------------------------------

    def newest(self) -> int:
        """Return the id of the change indexed last; 0 without changes."""
        (row,) = self._db.rows("SELECT coalesce(max(id), 0) FROM dupe_change")
        return integer_from_sql(row[0])

    def count(self) -> int:
        """Return the number of changes."""
        (row,) = self._db.rows("SELECT count(*) FROM dupe_change")
        return integer_from_sql(row[0])

    def list_change_ends(self, repo: str) -> set[tuple[str, str]]:
        """Return base and head of every indexed change of a repository."""
        rows = self._db.rows("SELECT base, head FROM dupe_change WHERE repo = ?", (repo,))
        return {(str(base), str(head)) for base, head in rows}

    def list_heads(self, repo: str) -> list[tuple[int, str, bool]]:
        """Return id and head of every indexed change of a repository, and whether it is a commit of main."""
        rows = self._db.rows("SELECT id, head, on_main FROM dupe_change WHERE repo = ? ORDER BY id", (repo,))
        return [(integer_from_sql(id_), str(head), bool(on_main)) for id_, head, on_main in rows]

    def has(self, repo: str, base: str, head: str) -> bool:
        """Return whether a change is indexed."""
        return self.find(repo, base, head) is not None

    def find(self, repo: str, base: str, head: str) -> int | None:
        """Return the id of a change; None if it is not indexed."""
        rows = self._db.rows("SELECT id FROM dupe_change WHERE repo = ? AND head = ? AND base = ?", (repo, head, base))
        return integer_from_sql(rows[0][0]) if rows else None

    def has_other_version(self, version: str) -> bool:
        """Return whether another version made the index, so that it cannot be compared with."""
        rows = self._db.rows("SELECT version FROM dupe_change ORDER BY id DESC LIMIT 1")
        return bool(rows) and str(rows[0][0]) != version

    def put(self, change: ChangeRow, exact: Iterable[tuple[int, int]], terms: Sequence[int]) -> None:
        """Store a change, its exact hashes as (hash, kind), and its terms."""
        row = (
            *(change.id, change.repo, change.base, change.head, change.name, change.title),
            *(change.opened_ns, int(change.on_main), change.version, change.signature),
            *(change.author, change.target, change.state, change.merged, change.superseded_by),
        )
        self._db.run(f"INSERT INTO dupe_change ({_CHANGE}) VALUES ({', '.join('?' * len(row))})", row)
        self._db.run_for_each(
            "INSERT INTO dupe_exact (hash, kind, change) VALUES (?, ?, ?)",
            [(digest, kind, change.id) for digest, kind in exact],
        )
        self._db.run_for_each(
            "INSERT INTO dupe_post (term, change) VALUES (?, ?)", [(term, change.id) for term in terms]
        )
        self._db.run_for_each(
            "INSERT INTO dupe_term (term, n) VALUES (?, 1) ON CONFLICT (term) DO UPDATE SET n = dupe_term.n + 1",
            [(term,) for term in terms],
        )

    def forget(self) -> None:
        """Delete the whole index, except stored evidence."""
        for table in ("dupe_change", "dupe_name", "dupe_exact", "dupe_post", "dupe_term", "dupe_unread"):
            self._db.run(f"DELETE FROM {table}")

    def changes(self, ids: Iterable[int]) -> dict[int, ChangeRow]:
        """Return the changes with these ids."""
        rows = (
            _change_row_from_sql(row)
            for batch in _batch_sql_values(list(ids))
            for row in self._db.rows(
                f"SELECT {_CHANGE} FROM dupe_change WHERE id IN ({_make_sql_placeholders(batch)})", batch
            )
        )
        return {change.id: change for change in rows}

    def iterate_changes(self, *, after: int = 0) -> Iterator[ChangeRow]:
        """Yield every change in the order of indexing, page by page."""
        while rows := self._db.rows(
            f"SELECT {_CHANGE} FROM dupe_change WHERE id > ? ORDER BY id LIMIT {PARAMETERS_MAX}", (after,)
        ):
            for row in rows:
                change = _change_row_from_sql(row)
                after = change.id
                yield change

    def list_changes_by_head(self, start: str) -> list[ChangeRow]:
        """Return the changes whose head starts with these digits."""
        rows = self._db.rows(
            f"SELECT {_CHANGE} FROM dupe_change WHERE head >= ? AND head < ? ORDER BY id", (start, start + "g")
        )
        return [_change_row_from_sql(row) for row in rows]

    def list_changes_by_name(self, name: str) -> list[ChangeRow]:
        """Return the changes with this name."""
        return [
            _change_row_from_sql(row)
            for row in self._db.rows(f"SELECT {_CHANGE} FROM dupe_change WHERE name = ? ORDER BY id", (name,))
        ]

    # --- the life of changes ------------------------------------------------------------------------------------------

    def list_names(self, repo: str) -> dict[str, int]:
        """Return the change that each ref named last."""
        rows = self._db.rows("SELECT name, change FROM dupe_name WHERE repo = ? ORDER BY name", (repo,))
        return {str(name): integer_from_sql(change) for name, change in rows}

    def find_named(self, repo: str, name: str) -> list[ChangeRow]:
        """Return the change that a ref named last; empty if the ref is unknown."""
        rows = self._db.rows(
            f"SELECT {_CHANGE} FROM dupe_change WHERE id ="
            " (SELECT change FROM dupe_name WHERE dupe_name.repo = ? AND dupe_name.name = ?)",
            (repo, name),
        )
        return [_change_row_from_sql(row) for row in rows]

    def list_names_of(self, changes: Iterable[int]) -> dict[int, list[str]]:
        """Return the refs that named each of these changes last."""
        names: dict[int, list[str]] = {}
        for batch in _batch_sql_values(list(changes)):
            for change, name in self._db.rows(
                f"SELECT change, name FROM dupe_name WHERE change IN ({_make_sql_placeholders(batch)}) ORDER BY name",
                batch,
            ):
                names.setdefault(integer_from_sql(change), []).append(str(name))
        return names

    def put_name(self, repo: str, name: str, change: int) -> None:
        """Store that a ref names a change."""
        self._db.run(
            "INSERT INTO dupe_name (repo, name, change) VALUES (?, ?, ?)"
            " ON CONFLICT (repo, name) DO UPDATE SET change = excluded.change",
            (repo, name, change),
        )

    def put_life(self, change: int, *, state: str, merged: str, superseded_by: int) -> None:
        """Store the state of a change."""
        self._db.run(
            "UPDATE dupe_change SET state = ?, merged = ?, superseded_by = ? WHERE id = ?",
            (state, merged, superseded_by, change),
        )

    def list_lives(self, repo: str) -> list[ChangeSummary]:
        """Return every change of a repository that is not a commit of main."""
        rows = self._db.rows(f"SELECT {_SUMMARY} FROM dupe_change WHERE repo = ? AND on_main = 0 ORDER BY id", (repo,))
        return [_change_summary_from_sql(row) for row in rows]

    def list_squashed(self, repo: str) -> list[tuple[str, str]]:
        """Return head and title of the commits of main whose title may name a pull request."""
        rows = self._db.rows(
            "SELECT head, title FROM dupe_change WHERE repo = ? AND on_main = 1 AND title LIKE '%(#%)' ORDER BY id",
            (repo,),
        )
        return [(str(head), str(title)) for head, title in rows]

    # --- search -------------------------------------------------------------------------------------------------------

    def find_exact_matches(self, hashes: Sequence[tuple[int, int]], until: int) -> list[tuple[int, int]]:
        """Return the changes up to ``until`` with one of these exact hashes, as (change, kind)."""
        matches: list[tuple[int, int]] = []
        for digest, kind in hashes:
            rows = self._db.rows(
                "SELECT change FROM dupe_exact WHERE hash = ? AND kind = ? AND change <= ?"
                f" ORDER BY change LIMIT {PARAMETERS_MAX}",
                (digest, kind, until),
            )
            matches.extend((integer_from_sql(change), kind) for (change,) in rows)
        return matches

    def counts(self, terms: Sequence[int]) -> dict[int, int]:
        """Return the number of changes with each of these terms; unknown terms are left out."""
        rows = (
            row
            for batch in _batch_sql_values(terms)
            for row in self._db.rows(
                f"SELECT term, n FROM dupe_term WHERE term IN ({_make_sql_placeholders(batch)})", batch
            )
        )
        return {integer_from_sql(term): integer_from_sql(n) for term, n in rows}

    def find_sharing_changes(self, weights: Mapping[int, int], until: int, limit: int) -> list[SharedTerms]:
        """Return the changes up to ``until`` that share most of these terms, best first."""
        if not weights:
            return []
        pairs = ", ".join("(?, ?)" for _ in weights)
        values = [value for pair in weights.items() for value in pair]
        rows = self._db.rows(
            f"WITH query (term, weight) AS (VALUES {pairs}), best (change, shared, terms) AS"
            " (SELECT change, sum(weight) AS shared, count(*) FROM query JOIN dupe_post ON dupe_post.term = query.term"
            f" WHERE change <= ? GROUP BY change ORDER BY shared DESC, change LIMIT {2 * int(limit)})"
            " SELECT change, shared, terms FROM best JOIN dupe_change ON dupe_change.id = best.change"
            " WHERE superseded_by = 0 OR superseded_by > ?"
            f" ORDER BY shared DESC, change LIMIT {int(limit)}",
            (*values, until, until),
        )
        return [
            SharedTerms(integer_from_sql(change), int(str(shared)), integer_from_sql(terms))
            for change, shared, terms in rows
        ]

    def sum_shared_terms(self, weights: Mapping[int, int], change: int) -> SharedTerms:
        """Return what a change shares of these terms."""
        shared = [
            integer_from_sql(term)
            for batch in _batch_sql_values(list(weights))
            for (term,) in self._db.rows(
                f"SELECT term FROM dupe_post WHERE term IN ({_make_sql_placeholders(batch)}) AND change = ?",
                (*batch, change),
            )
        ]
        return SharedTerms(change, sum(weights[term] for term in shared), len(shared))

    def pairs_by_terms(self, changes_max: int) -> Iterator[tuple[int, ...]]:
        """Yield the changes of every term that 2 to ``changes_max`` changes share."""
        yield from self._groups(
            "SELECT dupe_post.term, change FROM dupe_term JOIN dupe_post ON dupe_post.term = dupe_term.term"
            " WHERE n BETWEEN 2 AND ? ORDER BY dupe_post.term, change",
            (changes_max,),
        )

    def groups_by_exact(self) -> Iterator[tuple[int, tuple[int, ...]]]:
        """Yield the kind and the changes of every exact hash that several share."""
        rows = self._db.rows(
            "SELECT hash, kind, change FROM dupe_exact WHERE (hash, kind) IN"
            " (SELECT hash, kind FROM dupe_exact GROUP BY hash, kind HAVING count(*) > 1) ORDER BY hash, kind, change",
            (),
        )
        for (_, kind), group in groupby(rows, key=itemgetter(0, 1)):
            yield integer_from_sql(kind), tuple(integer_from_sql(change) for _, _, change in group)

    def list_evidence_pairs(self) -> list[tuple[str, str]]:
        """Return the heads of every pair with stored evidence."""
        rows = self._db.rows("SELECT DISTINCT head, other FROM dupe_evidence ORDER BY head, other")
        return [(str(head), str(other)) for head, other in rows]

    def _groups(self, sql: str, values: Sequence[int]) -> Iterator[tuple[int, ...]]:
        for _, rows in groupby(self._db.rows(sql, values), key=itemgetter(0)):
            changes = tuple(dict.fromkeys(integer_from_sql(change) for _, change in rows))
            if len(changes) > 1:
                yield changes

    # --- unreadable changes -------------------------------------------------------------------------------------------

    def put_unread(self, repo: str, base: str, head: str, why: str) -> None:
        """Store why a change could not be read."""
        self._db.run(
            "INSERT INTO dupe_unread (repo, base, head, why) VALUES (?, ?, ?, ?)"
            " ON CONFLICT (repo, head, base) DO UPDATE SET why = excluded.why",
            (repo, base, head, why),
        )

    def delete_unread(self, repo: str, base: str, head: str) -> None:
        """Delete the entry of an unreadable change."""
        self._db.run("DELETE FROM dupe_unread WHERE repo = ? AND base = ? AND head = ?", (repo, base, head))

    def list_unread(self, repo: str) -> list[tuple[str, str, str]]:
        """Return base, head and reason of every unreadable change."""
        rows = self._db.rows("SELECT base, head, why FROM dupe_unread WHERE repo = ? ORDER BY head", (repo,))
        return [(str(base), str(head), str(why)) for base, head, why in rows]

    # --- evidence -----------------------------------------------------------------------------------------------------

    def put_evidence(self, evidence: EvidenceRow) -> None:
        """Store evidence; equal evidence is stored once."""
        self._db.run(
            "INSERT INTO dupe_evidence (id, head, other, at_ns, body) VALUES (?, ?, ?, ?, ?)"
            " ON CONFLICT (id) DO NOTHING",
            (evidence.id, evidence.head, evidence.other, evidence.at_ns, evidence.body),
        )

    def evidence(self, start: str) -> list[EvidenceRow]:
        """Return the evidence whose id, or whose change's head, starts with these digits; newest first."""
        rows = self._db.rows(
            "SELECT id, head, other, at_ns, body FROM dupe_evidence"
            " WHERE (id >= ? AND id < ?) OR (head >= ? AND head < ?) ORDER BY at_ns DESC, id",
            (start, start + "g", start, start + "g"),
        )
        return [
            EvidenceRow(str(i), str(head), str(other), integer_from_sql(at), str(body))
            for i, head, other, at, body in rows
        ]


def _change_row_from_sql(row: Row) -> ChangeRow:
    id_, repo, base, head, name, title, opened_ns, on_main, version, signature, *life = row
    author, target, state, merged, superseded_by = life
    return ChangeRow(
        id=integer_from_sql(id_),
        repo=str(repo),
        base=CommitSha(str(base)),
        head=CommitSha(str(head)),
        name=str(name),
        title=str(title),
        opened_ns=integer_from_sql(opened_ns),
        on_main=bool(on_main),
        version=str(version),
        signature=bytes_from_sql(signature),
        author=str(author),
        target=str(target),
        state=str(state),
        merged=str(merged),
        superseded_by=integer_from_sql(superseded_by),
    )


def _batch_sql_values(values: Sequence[int]) -> Iterator[Sequence[int]]:
    return (values[start : start + PARAMETERS_MAX] for start in range(0, len(values), PARAMETERS_MAX))


def _make_sql_placeholders(values: Sequence[int]) -> str:
    return ", ".join("?" * len(values))


INDEX_TABLES: Mapping[str, tuple[str, tuple[str, ...]]] = MappingProxyType(
    {
        "dupe_change": (_CHANGE, ("id",)),
        "dupe_exact": ("hash, kind, change", ("hash", "kind", "change")),
        "dupe_post": ("term, change", ("term", "change")),
    }
)
"""The columns and the key of each table of the index."""
IndexRow = tuple[str, Row]
"""A row of the index, with its table."""


def iterate_change_rows(source: Store, changes: int) -> Iterator[IndexRow]:
    """Yield every row of the first ``changes`` changes of the index, table by table."""
    for table, (columns, key) in INDEX_TABLES.items():
        number = "id" if table == "dupe_change" else "change"
        names, order = columns.split(", "), ", ".join(key)
        after: tuple[SqlValue, ...] = (-(2**63),) * len(key)
        while rows := source.db.rows(
            f"SELECT {columns} FROM {table} WHERE ({order}) > ({', '.join('?' * len(key))}) AND {number} <= ?"
            f" ORDER BY {order} LIMIT {COPY_BATCH}",
            (*after, changes),
        ):
            yield from ((table, row) for row in rows)
            after = tuple(rows[-1][names.index(name)] for name in key)


def insert_change_rows(into: Store, rows: Iterable[IndexRow]) -> None:
    """Fill an empty index with ``rows``."""
    with into.db.writing():
        for table, of_table in groupby(rows, key=itemgetter(0)):
            columns = INDEX_TABLES[table][0]
            marks = ", ".join("?" * len(columns.split(", ")))
            values = (row for _, row in of_table)
            while batch := list(islice(values, COPY_BATCH)):
                into.db.run_for_each(f"INSERT INTO {table} ({columns}) VALUES ({marks})", batch)
        into.db.run("INSERT INTO dupe_term (term, n) SELECT term, count(*) FROM dupe_post GROUP BY term")


# The index of changes as JSON lines, for a store that has none.


INDEX_LINE_BYTES_MAX = 64 * 1024 * 1024
NOT_AN_INDEX = "write the bundle again with 'custody export --verdict'"


def encode_change_index(store: Store, changes: int) -> Iterator[bytes]:
    """Yield the first ``changes`` changes of the index as JSON lines; the last one has the digest of the others."""
    whole = sha256()
    for table, row in iterate_change_rows(store, changes):
        line = dump_canonical_json({"table": table, "row": [_index_value_to_json(value) for value in row]}) + b"\n"
        whole.update(line)
        yield line
    yield dump_canonical_json({"end": f"sha256:{whole.hexdigest()}"}) + b"\n"


def load_change_index(into: Store, lines: Iterable[bytes]) -> None:
    """Fill an empty index from such lines; raise ``InputError`` for a line that custody did not write."""
    try:
        insert_change_rows(into, _read_index_rows(lines))
    except StoreError as error:
        raise InputError(f"cannot load the index of changes: {error.message}", hint=NOT_AN_INDEX) from error


def _read_index_rows(lines: Iterable[bytes]) -> Iterator[IndexRow]:
    """Yield the rows up to the last line, which must have the digest of all lines before it."""
    whole = sha256()
    for data in lines:
        value = parse_json_bytes(data, bytes_max=INDEX_LINE_BYTES_MAX)
        if value == {"end": f"sha256:{whole.hexdigest()}"}:
            return
        whole.update(data)
        yield _index_row_from_json(value)
    raise InputError("the index of changes is incomplete or was changed", hint=NOT_AN_INDEX)


def _index_row_from_json(value: Json) -> IndexRow:
    match value:
        case {"table": str(table), "row": list(row)} if table in INDEX_TABLES:
            values = tuple(map(_index_value_from_json, row))
            if len(values) == len(INDEX_TABLES[table][0].split(", ")):
                return table, values
        case _:
            pass
    raise InputError("invalid line in the index of changes", hint=NOT_AN_INDEX)


def _index_value_to_json(value: SqlValue) -> Json:
    return {"base64": b64encode(value).decode()} if isinstance(value, bytes) else value


def _index_value_from_json(value: Json) -> SqlValue:
    match value:
        case {"base64": str(text)}:
            try:
                return b64decode(text, validate=True)
            except ValueError as error:
                raise InputError("invalid bytes in the index of changes", hint=NOT_AN_INDEX) from error
        case None | str() | int():
            return value
        case _:
            raise InputError("invalid value in the index of changes", hint=NOT_AN_INDEX)


# The index of changes as a list of pages, without signatures.


class ChangeList:
    """Reads pages of indexed changes, with names and titles cut to ``NAME_CHARS_MAX`` characters."""

    def __init__(self, store: Store) -> None:
        self._db = store.db

    def list_page(self, *, before: int | None, limit: int, landed: bool | None, text: str = "") -> list[ChangeSummary]:
        """Return the newest changes before ``before``, on main or open, with ``text`` in title, name or head.

        An open change is neither merged nor closed nor superseded by a later push.
        """
        where, values = _make_change_filter(landed, text)
        if before is not None:
            where, values = f"{where} AND id < ?", (*values, before)
        rows = self._db.rows(
            f"SELECT {_SUMMARY} FROM dupe_change WHERE {where} ORDER BY id DESC LIMIT {int(limit)}", values
        )
        return [_change_summary_from_sql(row) for row in rows]

    def count(self, landed: bool | None, text: str = "") -> int:
        """Return the number of changes on all pages."""
        where, values = _make_change_filter(landed, text)
        (row,) = self._db.rows(f"SELECT count(*) FROM dupe_change WHERE {where}", values)
        return integer_from_sql(row[0])


def _change_summary_from_sql(row: Row) -> ChangeSummary:
    id_, base, head, name, title, opened_ns, on_main, author, target, state, merged, superseded_by = row
    return ChangeSummary(
        id=integer_from_sql(id_),
        base=CommitSha(str(base)),
        head=CommitSha(str(head)),
        name=str(name),
        title=str(title),
        opened_ns=integer_from_sql(opened_ns),
        on_main=bool(on_main),
        author=str(author),
        target=str(target),
        state=str(state),
        merged=str(merged),
        superseded_by=integer_from_sql(superseded_by),
    )


def _make_change_filter(landed: bool | None, text: str) -> tuple[str, tuple[int | str, ...]]:
    """Return the condition of a list and its values; ``%`` and ``_`` in ``text`` are literal."""
    where = "1 = 1"
    values: tuple[int | str, ...] = ()
    if landed is True:
        where = f"{where} AND on_main = 1"
    elif landed is False:
        where = f"{where} AND on_main = 0 AND state = 'open' AND superseded_by = 0"
    if text:
        pattern = text.lower().replace("!", "!!").replace("%", "!%").replace("_", "!_")
        columns = " OR ".join(f"lower({column}) LIKE ? ESCAPE '!'" for column in ("title", "name", "head"))
        where, values = f"{where} AND ({columns})", (*values, f"%{pattern}%", f"%{pattern}%", f"{pattern}%")
    return where, values


# Answers about pairs of changes.


def list_duplicate_answers(store: Store) -> list[ObservedView[DuplicateAnswer]]:
    """Return every answer about every pair."""
    return store.views.look_up(DuplicateAnswer, "1 = 1", ())


def query_pair_answers(store: Store, head: str, other: str) -> list[ObservedView[DuplicateAnswer]]:
    """Return the answers about two changes, in either order."""
    pairs = "(head = ? AND other = ?) OR (head = ? AND other = ?)"
    return store.views.look_up(DuplicateAnswer, pairs, (head, other, other, head))
