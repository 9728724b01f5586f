"""SQL over the index of changes, typed rows out.

May touch the open database that it is given.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter

from custody.core.ids import CommitSha
from custody.core.views import DuplicateAnswer
from custody.dupes.model import ChangeRow, ChangeSummary
from custody.store import ObservedView, Store
from custody.store.db import Row, SqlValue
from custody.store.tables import integer, raw

# The index of changes: rows in and out. No truth lives here: everything can be read from git again.


TOGETHER = 400
"""Values in one statement."""
ROWS_COPIED_TOGETHER = 5_000
"""Rows of the index copied at a time."""


@dataclass(frozen=True, slots=True)
class SharedTerms:
    """A change with what the terms weigh together that it shares, and how many they are."""

    change: int
    weight: int
    terms: int


@dataclass(frozen=True, slots=True)
class EvidenceRow:
    """What one suggestion rests on, as canonical JSON; ``id`` is its digest."""

    id: str
    head: str
    other: str
    at_ns: int
    body: str


_CHANGE = "id, repo, base, head, name, title, opened_ns, on_main, version, signature"


class DupesTables:
    """Changes, their exact hashes, their terms, what could not be read, and stored evidence."""

    def __init__(self, store: Store) -> None:
        self._db = store.db

    # --- changes ------------------------------------------------------------------------------------------------------

    def newest(self) -> int:
        """The id of the change indexed last; 0 when there is none."""
        (row,) = self._db.rows("SELECT coalesce(max(id), 0) FROM dupe_change")
        return integer(row[0])

    def count(self) -> int:
        """How many changes there are."""
        (row,) = self._db.rows("SELECT count(*) FROM dupe_change")
        return integer(row[0])

    def known(self, repo: str) -> set[tuple[str, str]]:
        """Base and head of every indexed change of a repository."""
        rows = self._db.rows("SELECT base, head FROM dupe_change WHERE repo = ?", (repo,))
        return {(str(base), str(head)) for base, head in rows}

    def has(self, repo: str, base: str, head: str) -> bool:
        """Whether a change is indexed."""
        return self.find(repo, base, head) is not None

    def find(self, repo: str, base: str, head: str) -> int | None:
        """The number of a change in the index."""
        rows = self._db.rows("SELECT id FROM dupe_change WHERE repo = ? AND head = ? AND base = ?", (repo, head, base))
        return integer(rows[0][0]) if rows else None

    def is_of_another(self, version: str) -> bool:
        """Whether some of the index was made by another version: then none of it can be compared."""
        rows = self._db.rows("SELECT version FROM dupe_change ORDER BY id DESC LIMIT 1")
        return bool(rows) and str(rows[0][0]) != version

    def put(self, change: ChangeRow, exact: Iterable[tuple[int, int]], terms: Sequence[int]) -> None:
        """Keep a change, its exact hashes as (hash, kind), and the terms under which it can be found."""
        row = (
            *(change.id, change.repo, change.base, change.head, change.name, change.title),
            *(change.opened_ns, int(change.on_main), change.version, change.signature),
        )
        self._db.run(f"INSERT INTO dupe_change ({_CHANGE}) VALUES ({', '.join('?' * len(row))})", row)
        self._db.many(
            "INSERT INTO dupe_exact (hash, kind, change) VALUES (?, ?, ?)",
            [(digest, kind, change.id) for digest, kind in exact],
        )
        self._db.many("INSERT INTO dupe_post (term, change) VALUES (?, ?)", [(term, change.id) for term in terms])
        self._db.many(
            "INSERT INTO dupe_term (term, n) VALUES (?, 1) ON CONFLICT (term) DO UPDATE SET n = dupe_term.n + 1",
            [(term,) for term in terms],
        )

    def forget(self) -> None:
        """Drop the whole index; evidence that was told stays."""
        for table in ("dupe_change", "dupe_exact", "dupe_post", "dupe_term", "dupe_unread"):
            self._db.run(f"DELETE FROM {table}")

    def changes(self, ids: Iterable[int]) -> dict[int, ChangeRow]:
        """The changes with these ids."""
        found = (
            _change(row)
            for some in _together(list(ids))
            for row in self._db.rows(f"SELECT {_CHANGE} FROM dupe_change WHERE id IN ({_marks(some)})", some)
        )
        return {change.id: change for change in found}

    def all_changes(self, *, after: int = 0) -> Iterator[ChangeRow]:
        """Every change in the order of indexing, a stretch at a time."""
        while rows := self._db.rows(
            f"SELECT {_CHANGE} FROM dupe_change WHERE id > ? ORDER BY id LIMIT {TOGETHER}", (after,)
        ):
            for row in rows:
                change = _change(row)
                after = change.id
                yield change

    def by_head(self, start: str) -> list[ChangeRow]:
        """The changes whose head starts with these digits."""
        rows = self._db.rows(
            f"SELECT {_CHANGE} FROM dupe_change WHERE head >= ? AND head < ? ORDER BY id", (start, start + "g")
        )
        return [_change(row) for row in rows]

    def by_name(self, name: str) -> list[ChangeRow]:
        """The changes with this name."""
        return [
            _change(row)
            for row in self._db.rows(f"SELECT {_CHANGE} FROM dupe_change WHERE name = ? ORDER BY id", (name,))
        ]

    # --- search -------------------------------------------------------------------------------------------------------

    def exactly(self, hashes: Sequence[tuple[int, int]], until: int) -> list[tuple[int, int]]:
        """Which changes up to ``until`` have one of these exact hashes, as (change, kind)."""
        found: list[tuple[int, int]] = []
        for digest, kind in hashes:
            rows = self._db.rows(
                "SELECT change FROM dupe_exact WHERE hash = ? AND kind = ? AND change <= ?"
                f" ORDER BY change LIMIT {TOGETHER}",
                (digest, kind, until),
            )
            found.extend((integer(change), kind) for (change,) in rows)
        return found

    def counts(self, terms: Sequence[int]) -> dict[int, int]:
        """In how many changes each of these terms stands; one that stands in none is left out."""
        rows = (
            row
            for some in _together(terms)
            for row in self._db.rows(f"SELECT term, n FROM dupe_term WHERE term IN ({_marks(some)})", some)
        )
        return {integer(term): integer(n) for term, n in rows}

    def sharing(self, weights: Mapping[int, int], until: int, most: int) -> list[SharedTerms]:
        """The changes up to ``until`` that share the most of these terms, best first."""
        if not weights:
            return []
        pairs = ", ".join("(?, ?)" for _ in weights)
        values = [value for pair in weights.items() for value in pair]
        rows = self._db.rows(
            f"WITH asked (term, weight) AS (VALUES {pairs})"
            " SELECT change, sum(weight) AS shared, count(*) FROM asked JOIN dupe_post ON dupe_post.term = asked.term"
            f" WHERE change <= ? GROUP BY change ORDER BY shared DESC, change LIMIT {int(most)}",
            (*values, until),
        )
        return [SharedTerms(integer(change), int(str(shared)), integer(terms)) for change, shared, terms in rows]

    def shared_by(self, weights: Mapping[int, int], change: int) -> SharedTerms:
        """What one change shares of these terms."""
        terms = list(weights)
        found = [
            integer(term)
            for some in _together(terms)
            for (term,) in self._db.rows(
                f"SELECT term FROM dupe_post WHERE term IN ({_marks(some)}) AND change = ?", (*some, change)
            )
        ]
        return SharedTerms(change, sum(weights[term] for term in found), len(found))

    def pairs_by_terms(self, most: int) -> Iterator[tuple[int, ...]]:
        """The changes that stand together under a term, for every term of two changes up to so many."""
        yield from self._groups(
            "SELECT dupe_post.term, change FROM dupe_term JOIN dupe_post ON dupe_post.term = dupe_term.term"
            " WHERE n BETWEEN 2 AND ? ORDER BY dupe_post.term, change",
            (most,),
        )

    def pairs_by_exact(self) -> Iterator[tuple[int, ...]]:
        """The changes that have an exact hash in common, for every hash of several."""
        yield from self._groups(
            "SELECT hash, change FROM dupe_exact WHERE (hash, kind) IN"
            " (SELECT hash, kind FROM dupe_exact GROUP BY hash, kind HAVING count(*) > 1) ORDER BY hash, change",
            (),
        )

    def _groups(self, sql: str, values: Sequence[int]) -> Iterator[tuple[int, ...]]:
        for _, rows in groupby(self._db.rows(sql, values), key=itemgetter(0)):
            changes = tuple(dict.fromkeys(integer(change) for _, change in rows))
            if len(changes) > 1:
                yield changes

    # --- what could not be read ---------------------------------------------------------------------------------------

    def put_unread(self, repo: str, base: str, head: str, why: str) -> None:
        """Remember that a change could not be read."""
        self._db.run(
            "INSERT INTO dupe_unread (repo, base, head, why) VALUES (?, ?, ?, ?)"
            " ON CONFLICT (repo, head, base) DO UPDATE SET why = excluded.why",
            (repo, base, head, why),
        )

    def read_after_all(self, repo: str, base: str, head: str) -> None:
        """Forget that a change could not be read."""
        self._db.run("DELETE FROM dupe_unread WHERE repo = ? AND base = ? AND head = ?", (repo, base, head))

    def unread(self, repo: str) -> list[tuple[str, str, str]]:
        """Base, head and reason of every change that could not be read."""
        rows = self._db.rows("SELECT base, head, why FROM dupe_unread WHERE repo = ? ORDER BY head", (repo,))
        return [(str(base), str(head), str(why)) for base, head, why in rows]

    # --- evidence -----------------------------------------------------------------------------------------------------

    def put_evidence(self, evidence: EvidenceRow) -> None:
        """Keep what a suggestion rests on; the same again is the same row."""
        self._db.run(
            "INSERT INTO dupe_evidence (id, head, other, at_ns, body) VALUES (?, ?, ?, ?, ?)"
            " ON CONFLICT (id) DO NOTHING",
            (evidence.id, evidence.head, evidence.other, evidence.at_ns, evidence.body),
        )

    def evidence(self, start: str) -> list[EvidenceRow]:
        """The evidence whose id, or whose change's head, starts with these digits; the newest first."""
        rows = self._db.rows(
            "SELECT id, head, other, at_ns, body FROM dupe_evidence"
            " WHERE (id >= ? AND id < ?) OR (head >= ? AND head < ?) ORDER BY at_ns DESC, id",
            (start, start + "g", start, start + "g"),
        )
        return [EvidenceRow(str(i), str(head), str(other), integer(at), str(body)) for i, head, other, at, body in rows]


def _change(row: Row) -> ChangeRow:
    id_, repo, base, head, name, title, opened_ns, on_main, version, signature = row
    return ChangeRow(
        id=integer(id_),
        repo=str(repo),
        base=CommitSha(str(base)),
        head=CommitSha(str(head)),
        name=str(name),
        title=str(title),
        opened_ns=integer(opened_ns),
        on_main=bool(on_main),
        version=str(version),
        signature=raw(signature),
    )


def _together(values: Sequence[int]) -> Iterator[Sequence[int]]:
    return (values[start : start + TOGETHER] for start in range(0, len(values), TOGETHER))


def _marks(values: Sequence[int]) -> str:
    return ", ".join("?" * len(values))


def copy_rows_until(source: Store, changes: int, into: Store) -> None:
    """Copy the index of changes as it was when it had so many."""
    with into.db.writing():
        for table, columns, key in (
            ("dupe_change", "id, repo, base, head, name, title, opened_ns, on_main, version, signature", ("id",)),
            ("dupe_exact", "hash, kind, change", ("hash", "kind", "change")),
            ("dupe_post", "term, change", ("term", "change")),
        ):
            _copy_rows(source, changes, into, table, columns, key)
        into.db.run("INSERT INTO dupe_term (term, n) SELECT term, count(*) FROM dupe_post GROUP BY term")


def _copy_rows(source: Store, changes: int, into: Store, table: str, columns: str, key: Sequence[str]) -> None:
    number = "id" if table == "dupe_change" else "change"
    names = [name.strip() for name in columns.split(",")]
    marks, order = ", ".join("?" * len(names)), ", ".join(key)
    after: tuple[SqlValue, ...] = (-(2**63),) * len(key)
    while rows := source.db.rows(
        f"SELECT {columns} FROM {table} WHERE ({order}) > ({', '.join('?' * len(key))}) AND {number} <= ?"
        f" ORDER BY {order} LIMIT {ROWS_COPIED_TOGETHER}",
        (*after, changes),
    ):
        into.db.many(f"INSERT INTO {table} ({columns}) VALUES ({marks})", rows)
        after = tuple(rows[-1][names.index(name)] for name in key)


# The index of changes as a list: by what changes are called, a page at a time, without their signatures.


WORD_SIGNS = 1_000
"""Of what a change is called, a list reads so much."""


class ChangeList:
    """Reads indexed changes to be listed, each with the first ``WORD_SIGNS`` characters of its name and title."""

    def __init__(self, store: Store) -> None:
        self._db = store.db

    def listed(self, *, before: int | None, limit: int, landed: bool | None, words: str = "") -> list[ChangeSummary]:
        """The changes indexed last before ``before``: landed or open ones, with these words in what they are called."""
        where, values = _matching(landed, words)
        if before is not None:
            where, values = f"{where} AND id < ?", (*values, before)
        rows = self._db.rows(
            f"SELECT id, base, head, substr(name, 1, {WORD_SIGNS}), substr(title, 1, {WORD_SIGNS}), opened_ns, on_main"
            f" FROM dupe_change WHERE {where} ORDER BY id DESC LIMIT {int(limit)}",
            values,
        )
        return [_listed(row) for row in rows]

    def count(self, landed: bool | None, words: str = "") -> int:
        """How many changes ``listed`` has in all."""
        where, values = _matching(landed, words)
        (row,) = self._db.rows(f"SELECT count(*) FROM dupe_change WHERE {where}", values)
        return integer(row[0])


def _listed(row: Row) -> ChangeSummary:
    id_, base, head, name, title, opened_ns, on_main = row
    return ChangeSummary(
        id=integer(id_),
        base=CommitSha(str(base)),
        head=CommitSha(str(head)),
        name=str(name),
        title=str(title),
        opened_ns=integer(opened_ns),
        on_main=bool(on_main),
    )


def _matching(landed: bool | None, words: str) -> tuple[str, tuple[int | str, ...]]:
    """The condition of a list, and its values; ``%`` and ``_`` in words are what they are."""
    where = "1 = 1"
    found: tuple[int | str, ...] = ()
    if landed is not None:
        where, found = f"{where} AND on_main = ?", (int(landed),)
    if words:
        sought = words.lower().replace("!", "!!").replace("%", "!%").replace("_", "!_")
        each = " OR ".join(f"lower({column}) LIKE ? ESCAPE '!'" for column in ("title", "name", "head"))
        where, found = f"{where} AND ({each})", (*found, f"%{sought}%", f"%{sought}%", f"{sought}%")
    return where, found


# SQL about what people answered about pairs of changes.


def all_answers(store: Store) -> list[ObservedView[DuplicateAnswer]]:
    """Return every answer about every pair."""
    return store.views.look_up(DuplicateAnswer, "1 = 1", ())


def answers_of_pair(store: Store, head: str, other: str) -> list[ObservedView[DuplicateAnswer]]:
    """Return the answers about two changes, in either order."""
    pairs = "(head = ? AND other = ?) OR (head = ? AND other = ?)"
    return store.views.look_up(DuplicateAnswer, pairs, (head, other, other, head))
