"""Replayed states, the lines that they brought, and versions of files: kept so that a question need not replay again.

No truth lives here either: everything is a function of records, rules and git's objects.
"""

import zlib
from array import array
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from custody.attribution.lineage import place_of
from custody.core.ids import AgentName, CommitSha, RecordRef, Seq, SessionId, StoreId
from custody.core.paths import RepoPath
from custody.store import Store
from custody.store.db import Row
from custody.store.tables import integer, raw

LINEAGE = "lineage"
"""The watermark's name for replayed states."""
ADOPTED = "adopted"
"""The watermark's name for states that other stores replayed."""
_REPLAYED = f"store_id NOT IN (SELECT store_id FROM state WHERE view = '{ADOPTED}')"
VOTERS_MAX = 32
"""For one line, only so many of the latest states that brought it: what hundreds of states brought tells nothing."""
REDACTED = 0
"""Stands among the keys that a state brought for any line from which a secret was taken."""
PROBED = 400
"""Lines asked about in one statement."""


@dataclass(frozen=True, slots=True)
class StateAuthor:
    """Who is said to have made a state: ``observed`` names the call whoever told of it, ``kind`` is the record's."""

    ref: RecordRef
    at_ns: int
    observed: str
    agent: AgentName
    session: SessionId | None
    call: str | None
    revision: CommitSha | None
    kind: str


@dataclass(frozen=True, slots=True)
class StateRow:
    """A file after one captured moment; ``keys`` stand for its lines, ``origins`` are runs as the engine packs them.

    ``text`` is given where the record alone does not hold the whole file.
    """

    id: int
    path: RepoPath
    n: int
    told: StateAuthor
    text: str | None
    keys: tuple[int, ...]
    origins: bytes

    @property
    def at_ns(self) -> int:
        """When it was captured."""
        return self.told.at_ns

    @property
    def ref(self) -> RecordRef:
        """The record that shows it; ``n`` is the view of it."""
        return self.told.ref


_TOLD = "store_id, seq, at_ns, observed, agent, session, call, revision, kind"
_STATE = "id, path, at_ns, store_id, seq, n, observed, agent, session, call, revision, kind, text, hashes, origins"


class LineageTables:
    """Rows of lineage in and out."""

    def __init__(self, store: Store) -> None:
        self._tables = store.tables
        self._db = store.db

    # --- how far --------------------------------------------------------------------------------------------------

    def unread(self, version: str) -> list[tuple[StoreId, int, int]]:
        """The chains with records that were not replayed: from where, up to where; from 0 with another version."""
        done = {
            str(store): (integer(seq), str(made_by))
            for store, seq, made_by in self._db.rows(
                "SELECT store_id, seq, version FROM state WHERE view = ?", (LINEAGE,)
            )
        }
        spans = []
        for head in self._tables.chains():
            seq, made_by = done.get(head.store, (0, version))
            if made_by != version or seq > head.seq:
                seq = 0
            if seq < head.seq:
                spans.append((head.store, seq, int(head.seq)))
        return spans

    def is_of(self, version: str) -> bool:
        """Whether everything kept was made by this version."""
        rows = self._db.rows("SELECT DISTINCT version FROM state WHERE view = ?", (LINEAGE,))
        return all(row == (version,) for row in rows)

    def read_until(self, store: StoreId, seq: int, version: str) -> None:
        """Remember how far a chain was replayed."""
        self._db.run(
            "INSERT INTO state (view, store_id, seq, version) VALUES (?, ?, ?, ?)"
            " ON CONFLICT (view, store_id) DO UPDATE SET seq = excluded.seq, version = excluded.version",
            (LINEAGE, store, seq, version),
        )

    def touched(self, store: StoreId, after: int, until: int) -> set[RepoPath]:
        """The files that records of this stretch speak of."""
        found: set[RepoPath] = set()
        for table in ("file_edit", "file_state"):
            rows = self._db.rows(
                f"SELECT DISTINCT path FROM {table} WHERE store_id = ? AND seq > ? AND seq <= ?", (store, after, until)
            )
            found.update(RepoPath(raw(path)) for (path,) in rows)
        return found

    def has_erasures(self, store: StoreId, after: int, until: int) -> bool:
        """Whether something was erased in this stretch: what was replayed from it must go."""
        rows = self._db.rows(
            "SELECT 1 FROM record WHERE store_id = ? AND seq > ? AND seq <= ? AND kind = 'erased' LIMIT 1",
            (store, after, until),
        )
        return bool(rows)

    def moments(self, path: RepoPath) -> list[tuple[int, str, RecordRef, int]]:
        """Every captured moment of a file as (when, table, record, view), oldest first."""
        found = [
            (integer(at), table, RecordRef(StoreId(str(store)), Seq(integer(seq))), integer(n))
            for table in ("file_edit", "file_state")
            for at, store, seq, n in self._db.rows(
                f"SELECT at_ns, store_id, seq, n FROM {table} WHERE path = ?", (path.raw,)
            )
        ]
        return sorted(found, key=lambda moment: (moment[0], moment[2], moment[3]))

    def by_first_moment(self, paths: Iterable[RepoPath]) -> list[RepoPath]:
        """The files in the order in which they were first captured."""
        return sorted(paths, key=lambda path: (self._first_ns(path), path))

    def _first_ns(self, path: RepoPath) -> int:
        (row,) = self._db.rows(
            "SELECT min(at_ns) FROM (SELECT at_ns FROM file_edit WHERE path = ?"
            " UNION ALL SELECT at_ns FROM file_state WHERE path = ?) AS captured",
            (path.raw, path.raw),
        )
        return 0 if row[0] is None else integer(row[0])

    # --- states -----------------------------------------------------------------------------------------------------

    def newest(self) -> int:
        """The id of the latest state; 0 when there is none."""
        (row,) = self._db.rows("SELECT coalesce(max(id), 0) FROM lineage_state")
        return integer(row[0])

    def earliest_ns(self) -> int | None:
        """When the first state was captured."""
        (row,) = self._db.rows("SELECT min(at_ns) FROM lineage_state")
        return None if row[0] is None else integer(row[0])

    def first_traced_ns(self) -> int | None:
        """When the first trace of another tool says that it touched a file."""
        (row,) = self._db.rows("SELECT min(at_ns) FROM traced_file")
        return None if row[0] is None else integer(row[0])

    def count_of(self, path: RepoPath) -> int:
        """How many captured moments and traces of other tools speak of a file."""
        counts = (
            self._db.rows(f"SELECT count(*) FROM {table} WHERE path = ?", (path.raw,))
            for table in ("file_edit", "file_state", "traced_file")
        )
        return sum(integer(row[0]) for ((row),) in counts)

    def count(self) -> int:
        """How many states there are."""
        (row,) = self._db.rows("SELECT count(*) FROM lineage_state")
        return integer(row[0])

    def states(self, ids: Iterable[int]) -> list[StateRow]:
        """The states with these ids."""
        found = (self._db.rows(f"SELECT {_STATE} FROM lineage_state WHERE id = ?", (id_,)) for id_ in ids)
        return [_state(row) for rows in found for row in rows]

    def read_state_author(self, state: int) -> StateAuthor | None:
        """Who is said to have made a state; None when it is not there."""
        rows = self._db.rows(f"SELECT {_TOLD} FROM lineage_state WHERE id = ?", (state,))
        return _read_state_author(rows[0]) if rows else None

    def replayed(self, path: RepoPath) -> dict[tuple[RecordRef, int], str]:
        """The moments of a file that were replayed, each with what was observed."""
        rows = self._db.rows("SELECT store_id, seq, n, observed FROM lineage_state WHERE path = ?", (path.raw,))
        return {(RecordRef(StoreId(str(s)), Seq(integer(seq))), integer(n)): str(seen) for s, seq, n, seen in rows}

    def ids(self, path: RepoPath) -> dict[str, int]:
        """The states of a file by what was observed, but for those that another store replayed."""
        rows = self._db.rows(f"SELECT observed, id FROM lineage_state WHERE path = ? AND {_REPLAYED}", (path.raw,))
        return {str(observed): integer(id_) for observed, id_ in rows}

    def last_of(self, path: RepoPath, until_ns: int | None = None) -> StateRow | None:
        """The last state of a file, or the last up to a moment."""
        until = "" if until_ns is None else " AND at_ns <= ?"
        values = (path.raw,) if until_ns is None else (path.raw, until_ns)
        last = f"SELECT max(at_ns) FROM lineage_state WHERE path = ?{until}"
        return _latest(
            self._db.rows(
                f"SELECT {_STATE} FROM lineage_state WHERE path = ? AND at_ns = ({last})", (path.raw, *values)
            )
        )

    def same_text(self, path: RepoPath, keys: Sequence[int]) -> StateRow | None:
        """The last state of a file whose lines are exactly these."""
        values = (path.raw, packed_keys(keys))
        last = "SELECT max(at_ns) FROM lineage_state WHERE path = ? AND hashes = ?"
        return _latest(
            self._db.rows(
                f"SELECT {_STATE} FROM lineage_state WHERE path = ? AND hashes = ? AND at_ns = ({last})",
                (*values, *values),
            )
        )

    def put(self, state: StateRow, brought: Iterable[int]) -> None:
        """Keep a state and the keys of the lines that its call brought."""
        told = state.told
        row = (
            *(state.id, state.path.raw, state.at_ns, state.ref.store, int(state.ref.seq), state.n),
            *(told.observed, told.agent, told.session, told.call, told.revision, told.kind),
            *(_packed_text(state.text), packed_keys(state.keys), state.origins),
        )
        self._db.run(f"INSERT INTO lineage_state ({_STATE}) VALUES ({', '.join('?' * len(row))})", row)
        lines = [(key, state.id) for key in dict.fromkeys(brought)]
        self._db.many("INSERT INTO lineage_line (hash, state) VALUES (?, ?)", lines)

    def forget(self, path: RepoPath) -> None:
        """Drop the states of a file that were replayed here, and every version, since those may speak of them."""
        where = f"path = ? AND {_REPLAYED}"
        states = f"SELECT id FROM lineage_state WHERE {where}"
        self._db.run(f"DELETE FROM lineage_line WHERE state IN ({states})", (path.raw,))
        self._db.run(f"DELETE FROM lineage_state WHERE {where}", (path.raw,))
        self._db.run("DELETE FROM lineage_version")

    def forget_all(self) -> None:
        """Drop everything replayed."""
        for table in ("lineage_line", "lineage_state", "lineage_version"):
            self._db.run(f"DELETE FROM {table}")
        for view in (LINEAGE, ADOPTED):
            self._db.run("DELETE FROM state WHERE view = ?", (view,))

    # --- states that other stores replayed --------------------------------------------------------------------------

    def adopted(self) -> dict[StoreId, str]:
        """The chains whose states came with them, each with what was adopted last."""
        rows = self._db.rows("SELECT store_id, version FROM state WHERE view = ?", (ADOPTED,))
        return {StoreId(str(store)): str(version) for store, version in rows}

    def places(self, store: StoreId) -> dict[tuple[int, int], int]:
        """The states of a chain by their record's place and view."""
        rows = self._db.rows("SELECT seq, n, id FROM lineage_state WHERE store_id = ?", (store,))
        return {(integer(seq), integer(n)): integer(id_) for seq, n, id_ in rows}

    def of_chain(self, store: StoreId) -> list[StateRow]:
        """The states of a chain, in the order in which they were replayed."""
        return [
            _state(row)
            for row in self._db.rows(f"SELECT {_STATE} FROM lineage_state WHERE store_id = ? ORDER BY id", (store,))
        ]

    def place(self, state: int) -> tuple[RecordRef, int] | None:
        """The record and view that show a state."""
        rows = self._db.rows("SELECT store_id, seq, n FROM lineage_state WHERE id = ?", (state,))
        for store, seq, n in rows:
            return RecordRef(StoreId(str(store)), Seq(integer(seq))), integer(n)
        return None

    def brought(self, state: int) -> list[int]:
        """The keys of the lines that a state brought, in their order."""
        rows = self._db.rows("SELECT hash FROM lineage_line WHERE state = ? ORDER BY hash", (state,))
        return [integer(key) for (key,) in rows]

    def forget_chain(self, store: StoreId) -> None:
        """Drop the states of one chain, and every version."""
        states = "SELECT id FROM lineage_state WHERE store_id = ?"
        self._db.run(f"DELETE FROM lineage_line WHERE state IN ({states})", (store,))
        self._db.run("DELETE FROM lineage_state WHERE store_id = ?", (store,))
        self._db.run("DELETE FROM lineage_version")

    def adopt(self, store: StoreId, version: str | None) -> None:
        """Remember what was adopted of a chain; None that nothing is any more, so that it must be replayed."""
        self._db.run("DELETE FROM state WHERE view = ? AND store_id = ?", (ADOPTED, store))
        if version is None:
            self._db.run("DELETE FROM state WHERE view = ? AND store_id = ?", (LINEAGE, store))
        else:
            self._db.run(
                "INSERT INTO state (view, store_id, seq, version) VALUES (?, ?, ?, ?)", (ADOPTED, store, 0, version)
            )

    # --- lines ------------------------------------------------------------------------------------------------------

    def voted(self, keys: Iterable[int]) -> Counter[int]:
        """The states that brought lines with these keys, with how many of them each brought."""
        votes: Counter[int] = Counter()
        for key in keys:
            rows = self._db.rows(
                f"SELECT state FROM lineage_line WHERE hash = ? ORDER BY state DESC LIMIT {VOTERS_MAX}", (key,)
            )
            votes.update(integer(state) for (state,) in rows)
        return votes

    def brought_by(self, path: RepoPath, keys: Sequence[int]) -> dict[int, frozenset[str]]:
        """The agents whose calls brought lines with these keys to a file."""
        found: dict[int, set[str]] = {}
        for start in range(0, len(keys), PROBED):
            some = keys[start : start + PROBED]
            rows = self._db.rows(
                "SELECT DISTINCT lineage_line.hash, lineage_state.agent FROM lineage_line"
                " JOIN lineage_state ON lineage_state.id = lineage_line.state"
                f" WHERE lineage_line.hash IN ({', '.join('?' * len(some))}) AND lineage_state.path = ?",
                (*some, path.raw),
            )
            for key, agent in rows:
                found.setdefault(integer(key), set()).add(str(agent))
        return {key: frozenset(agents) for key, agents in found.items()}

    def has_redacted(self) -> bool:
        """Whether a secret was taken out of any captured text."""
        return bool(self._db.rows("SELECT 1 FROM lineage_line WHERE hash = ? LIMIT 1", (REDACTED,)))

    def has_newer(self, keys: Sequence[int], seen: int) -> bool:
        """Whether a state later than ``seen`` brought one of these lines."""
        for start in range(0, len(keys), PROBED):
            some = keys[start : start + PROBED]
            marks = ", ".join("?" * len(some))
            if self._db.rows(
                f"SELECT 1 FROM lineage_line WHERE hash IN ({marks}) AND state > ? LIMIT 1", (*some, seen)
            ):
                return True
        return False

    def has_earlier(self, path: RepoPath, seen: int, until_ns: int) -> bool:
        """Whether evidence that came after ``seen`` tells of this file at or before a moment."""
        rows = self._db.rows(
            "SELECT 1 FROM lineage_state WHERE path = ? AND at_ns <= ? AND id > ? LIMIT 1", (path.raw, until_ns, seen)
        )
        return bool(rows)

    # --- versions ---------------------------------------------------------------------------------------------------

    def version(self, path: RepoPath, commit: CommitSha, rules: str) -> tuple[int, bytes] | None:
        """What was kept of a file as of a commit: the newest state at that time, and the packed origins."""
        rows = self._db.rows(
            "SELECT seen, origins FROM lineage_version WHERE path = ? AND commit_sha = ? AND rules = ?",
            (path.raw, commit, rules),
        )
        return (integer(rows[0][0]), raw(rows[0][1])) if rows else None

    def put_version(self, path: RepoPath, commit: CommitSha, rules: str, seen: int, origins: bytes) -> None:
        """Keep what is known of a file as of a commit."""
        self._db.run(
            "INSERT INTO lineage_version (path, commit_sha, rules, seen, origins) VALUES (?, ?, ?, ?, ?)"
            " ON CONFLICT (path, commit_sha, rules) DO UPDATE SET seen = excluded.seen, origins = excluded.origins",
            (path.raw, commit, rules, seen, origins),
        )


def packed_keys(keys: Iterable[int]) -> bytes:
    """Keys as they are stored: 8 bytes each."""
    return array("q", keys).tobytes()


def _latest(rows: Iterable[Row]) -> StateRow | None:
    """The last of several states of one moment; ids say only which was replayed first."""
    states = [_state(row) for row in rows]
    return max(states, key=lambda state: (place_of(state.told.observed), state.id), default=None)


def _state(row: Row) -> StateRow:
    id_, path, at_ns, store, seq, n, *told, text, hashes, origins = row
    keys = array("q")
    keys.frombytes(raw(hashes))
    return StateRow(
        id=integer(id_),
        path=RepoPath(raw(path)),
        n=integer(n),
        told=_read_state_author((store, seq, at_ns, *told)),
        text=None if text is None else zlib.decompress(raw(text)).decode("utf-8", "surrogatepass"),
        keys=tuple(keys),
        origins=raw(origins),
    )


def _read_state_author(row: Row) -> StateAuthor:
    store, seq, at_ns, observed, agent, session, call, revision, kind = row
    return StateAuthor(
        ref=RecordRef(StoreId(str(store)), Seq(integer(seq))),
        at_ns=integer(at_ns),
        observed=str(observed),
        agent=AgentName(str(agent)),
        session=None if session is None else SessionId(str(session)),
        call=None if call is None else str(call),
        revision=None if revision is None else CommitSha(str(revision)),
        kind=str(kind),
    )


def _packed_text(text: str | None) -> bytes | None:
    return None if text is None else zlib.compress(text.encode("utf-8", "surrogatepass"), 1)
