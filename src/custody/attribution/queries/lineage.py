"""SQL over replayed states, the lines that they added, and versions of files, stored to avoid another replay.

All of it is derived from records, rules and git objects, and can be rebuilt.
"""

import zlib
from array import array
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from msgspec import Struct

from custody.attribution.lineage import make_snapshot_order_key
from custody.core.ids import AgentName, CommitSha, RecordRef, Seq, SessionId, StoreId
from custody.core.paths import RepoPath
from custody.store import Store, make_sql_placeholders, split_row_batches
from custody.store.db import Row
from custody.store.tables import bytes_from_sql, integer_from_sql

LINEAGE = "lineage"
"""Name of the watermark of replayed states."""
ADOPTED = "adopted"
"""Name of the watermark of states that other stores replayed."""
_REPLAYED = f"store_id NOT IN (SELECT store_id FROM state WHERE view = '{ADOPTED}')"
VOTERS_MAX = 32
"""Maximum states that vote for one line, the latest: a line that hundreds of states added identifies none."""
REDACTED = 0
"""The key of every line with a redacted secret."""
KEYS_PER_STATEMENT_MAX = 400
"""Maximum line keys of one SQL statement."""


class StateAuthor(Struct, frozen=True):
    """The author of a state: ``observed`` identifies the call in any record, ``kind`` is the record's kind."""

    ref: RecordRef
    at_ns: int
    observed: str
    agent: AgentName
    session: SessionId | None
    call: str | None
    revision: CommitSha | None
    kind: str


class StateRow(Struct, frozen=True):
    """A file after one snapshot: the keys of its lines and their packed origins.

    ``text`` is set if the record does not hold the whole file.
    """

    id: int
    path: RepoPath
    n: int
    author: StateAuthor
    text: str | None
    keys: tuple[int, ...]
    origins: bytes

    @property
    def at_ns(self) -> int:
        """The time of the snapshot."""
        return self.author.at_ns

    @property
    def ref(self) -> RecordRef:
        """Its record; ``n`` is the view of it."""
        return self.author.ref


class DonorPlace(NamedTuple):
    """The file and time of a state."""

    id: int
    path: RepoPath
    at_ns: int


class VersionRow(Struct, frozen=True):
    """A file after a commit that changed it: the packed origins of its lines, and what they were computed from.

    ``seen`` is the newest state of that time, ``at_ns`` the time of the commit. ``commits`` were read of other files.
    ``keys`` are the added lines that no state of this file explained, ``uses`` the other versions.
    """

    commit: CommitSha
    blob: str
    seen: int
    at_ns: int
    commits: int
    keys: tuple[int, ...]
    uses: tuple[tuple[CommitSha, RepoPath], ...]
    origins: bytes


class LaterStates(Struct, frozen=True):
    """States after a given one: the id and time of each by file, and the latest that added each line."""

    files: Mapping[RepoPath, Sequence[tuple[int, int]]]
    lines: Mapping[int, int]


_VERSION = "commit_sha, blob, seen, at_ns, commits, keys, uses, origins"
_AUTHOR = "store_id, seq, at_ns, observed, agent, session, call, revision, kind"
_STATE = "id, path, at_ns, store_id, seq, n, observed, agent, session, call, revision, kind, text, hashes, origins"


class LineageTables:
    """The tables of lineage."""

    def __init__(self, store: Store) -> None:
        self._tables = store.tables
        self._db = store.db

    # --- watermarks -----------------------------------------------------------------------------------------------

    def unread(self, version: str) -> list[tuple[StoreId, int, int]]:
        """Return the chains with unreplayed records as (chain, after, until); from 0 with another version."""
        watermarks = {
            str(store): (integer_from_sql(seq), str(made_by))
            for store, seq, made_by in self._db.rows(
                "SELECT store_id, seq, version FROM state WHERE view = ?", (LINEAGE,)
            )
        }
        spans = []
        for head in self._tables.chains():
            seq, made_by = watermarks.get(head.store, (0, version))
            if made_by != version or seq > head.seq:
                seq = 0
            if seq < head.seq:
                spans.append((head.store, seq, int(head.seq)))
        return spans

    def is_of(self, version: str) -> bool:
        """Return whether all stored states have this version."""
        rows = self._db.rows("SELECT DISTINCT version FROM state WHERE view = ?", (LINEAGE,))
        return all(row == (version,) for row in rows)

    def read_until(self, store: StoreId, seq: int, version: str) -> None:
        """Store how far a chain was replayed."""
        self._db.run(
            "INSERT INTO state (view, store_id, seq, version) VALUES (?, ?, ?, ?)"
            " ON CONFLICT (view, store_id) DO UPDATE SET seq = excluded.seq, version = excluded.version",
            (LINEAGE, store, seq, version),
        )

    def touched(self, store: StoreId, after: int, until: int) -> set[RepoPath]:
        """Return the files in records after ``after`` up to ``until``."""
        paths: set[RepoPath] = set()
        for table in ("file_edit", "file_state"):
            rows = self._db.rows(
                f"SELECT DISTINCT path FROM {table} WHERE store_id = ? AND seq > ? AND seq <= ?", (store, after, until)
            )
            paths.update(RepoPath(bytes_from_sql(path)) for (path,) in rows)
        return paths

    def has_erasures(self, store: StoreId, after: int, until: int) -> bool:
        """Return whether records after ``after`` up to ``until`` erase others, so that states must be replayed."""
        rows = self._db.rows(
            "SELECT 1 FROM record WHERE store_id = ? AND seq > ? AND seq <= ? AND kind = 'erased' LIMIT 1",
            (store, after, until),
        )
        return bool(rows)

    def snapshots(self, path: RepoPath) -> list[tuple[int, str, RecordRef, int]]:
        """Return every snapshot of a file as (time, table, record, view), oldest first."""
        rows = [
            (
                integer_from_sql(at),
                table,
                RecordRef(StoreId(str(store)), Seq(integer_from_sql(seq))),
                integer_from_sql(n),
            )
            for table in ("file_edit", "file_state")
            for at, store, seq, n in self._db.rows(
                f"SELECT at_ns, store_id, seq, n FROM {table} WHERE path = ?", (path.raw,)
            )
        ]
        return sorted(rows, key=lambda row: (row[0], row[2], row[3]))

    def by_first_snapshot(self, paths: Iterable[RepoPath]) -> list[RepoPath]:
        """Return the files in the order of their first snapshots."""
        return sorted(paths, key=lambda path: (self._first_ns(path), path))

    def _first_ns(self, path: RepoPath) -> int:
        (row,) = self._db.rows(
            "SELECT min(at_ns) FROM (SELECT at_ns FROM file_edit WHERE path = ?"
            " UNION ALL SELECT at_ns FROM file_state WHERE path = ?) AS captured",
            (path.raw, path.raw),
        )
        return 0 if row[0] is None else integer_from_sql(row[0])

    # --- states -----------------------------------------------------------------------------------------------------

    def newest(self) -> int:
        """Return the id of the latest state; 0 without any."""
        (row,) = self._db.rows("SELECT coalesce(max(id), 0) FROM lineage_state")
        return integer_from_sql(row[0])

    def earliest_ns(self) -> int | None:
        """Return the time of the first state."""
        (row,) = self._db.rows("SELECT min(at_ns) FROM lineage_state")
        return None if row[0] is None else integer_from_sql(row[0])

    def first_traced_ns(self) -> int | None:
        """Return the time of the first trace of another tool."""
        (row,) = self._db.rows("SELECT min(at_ns) FROM traced_file")
        return None if row[0] is None else integer_from_sql(row[0])

    def count_of(self, path: RepoPath) -> int:
        """Return the count of snapshots and of other tools' traces of a file."""
        counts = (
            self._db.rows(f"SELECT count(*) FROM {table} WHERE path = ?", (path.raw,))
            for table in ("file_edit", "file_state", "traced_file")
        )
        return sum(integer_from_sql(row[0]) for ((row),) in counts)

    def count(self) -> int:
        """Return the count of states."""
        (row,) = self._db.rows("SELECT count(*) FROM lineage_state")
        return integer_from_sql(row[0])

    def states(self, ids: Iterable[int]) -> list[StateRow]:
        """Return the states with these ids."""
        results = (self._db.rows(f"SELECT {_STATE} FROM lineage_state WHERE id = ?", (id_,)) for id_ in ids)
        return [_lineage_state_from_row(row) for rows in results for row in rows]

    def list_state_places(self, ids: Collection[int]) -> list[DonorPlace]:
        """Return the file and time of the states with these ids."""
        places = []
        for batch in split_row_batches(ids, KEYS_PER_STATEMENT_MAX):
            rows = self._db.rows(
                f"SELECT id, path, at_ns FROM lineage_state WHERE id IN ({make_sql_placeholders(batch)})", batch
            )
            places += [
                DonorPlace(integer_from_sql(id_), RepoPath(bytes_from_sql(path)), integer_from_sql(at_ns))
                for id_, path, at_ns in rows
            ]
        return places

    def read_state_author(self, state: int) -> StateAuthor | None:
        """Return the author of a state; None if it does not exist."""
        rows = self._db.rows(f"SELECT {_AUTHOR} FROM lineage_state WHERE id = ?", (state,))
        return _state_author_from_row(rows[0]) if rows else None

    def replayed(self, path: RepoPath) -> dict[tuple[RecordRef, int], str]:
        """Return the replayed snapshots of a file, each with its observation."""
        rows = self._db.rows("SELECT store_id, seq, n, observed FROM lineage_state WHERE path = ?", (path.raw,))
        return {
            (RecordRef(StoreId(str(store)), Seq(integer_from_sql(seq))), integer_from_sql(n)): str(observed)
            for store, seq, n, observed in rows
        }

    def ids(self, path: RepoPath) -> dict[str, int]:
        """Return the states of a file by observation, without those that another store replayed."""
        rows = self._db.rows(f"SELECT observed, id FROM lineage_state WHERE path = ? AND {_REPLAYED}", (path.raw,))
        return {str(observed): integer_from_sql(id_) for observed, id_ in rows}

    def list_since(self, path: RepoPath, since_ns: int) -> list[StateRow]:
        """Return the states of a file from a time on."""
        rows = self._db.rows(f"SELECT {_STATE} FROM lineage_state WHERE path = ? AND at_ns >= ?", (path.raw, since_ns))
        return [_lineage_state_from_row(row) for row in rows]

    def last_of(self, path: RepoPath, until_ns: int | None = None) -> StateRow | None:
        """Return the last state of a file, or the last one until a time."""
        until = "" if until_ns is None else " AND at_ns <= ?"
        values = (path.raw,) if until_ns is None else (path.raw, until_ns)
        last = f"SELECT max(at_ns) FROM lineage_state WHERE path = ?{until}"
        return _select_latest_lineage_state(
            self._db.rows(
                f"SELECT {_STATE} FROM lineage_state WHERE path = ? AND at_ns = ({last})", (path.raw, *values)
            )
        )

    def list_sessions_of(self, path: RepoPath) -> frozenset[tuple[str, str | None]]:
        """Return the agents and sessions that wrote a file."""
        rows = self._db.rows("SELECT DISTINCT agent, session FROM lineage_state WHERE path = ?", (path.raw,))
        return frozenset((str(agent), None if session is None else str(session)) for agent, session in rows)

    def list_states_of_session(self, agent: str, session: str) -> list[tuple[int, RepoPath, str | None]]:
        """Return the states after a session's calls as (state, file, call)."""
        rows = self._db.rows(
            "SELECT id, path, call FROM lineage_state WHERE agent = ? AND session = ? ORDER BY id", (agent, session)
        )
        return [
            (integer_from_sql(id_), RepoPath(bytes_from_sql(path)), None if call is None else str(call))
            for id_, path, call in rows
        ]

    def find_keys_added_by(self, states: Collection[int]) -> frozenset[int]:
        """Return the keys of the lines that these states' calls added."""
        keys: set[int] = set()
        for batch in split_row_batches(sorted(states), KEYS_PER_STATEMENT_MAX):
            where = make_sql_placeholders(batch)
            rows = self._db.rows(f"SELECT DISTINCT hash FROM lineage_line WHERE state IN ({where})", batch)
            keys.update(integer_from_sql(key) for (key,) in rows)
        return frozenset(keys - {REDACTED})

    def list_states(self, path: RepoPath) -> list[StateRow]:
        """Return the states of a file, oldest first."""
        rows = self._db.rows(f"SELECT {_STATE} FROM lineage_state WHERE path = ?", (path.raw,))
        states = map(_lineage_state_from_row, rows)
        return sorted(states, key=lambda state: (state.at_ns, _rank_lineage_state(state)))

    def same_text(self, path: RepoPath, keys: Sequence[int]) -> StateRow | None:
        """Return the last state of a file with exactly these lines."""
        values = (path.raw, pack_line_keys(keys))
        last = "SELECT max(at_ns) FROM lineage_state WHERE path = ? AND hashes = ?"
        return _select_latest_lineage_state(
            self._db.rows(
                f"SELECT {_STATE} FROM lineage_state WHERE path = ? AND hashes = ? AND at_ns = ({last})",
                (*values, *values),
            )
        )

    def put(self, state: StateRow, added: Iterable[int]) -> None:
        """Store a state and the keys of the lines that its call added."""
        author = state.author
        row = (
            *(state.id, state.path.raw, state.at_ns, state.ref.store, int(state.ref.seq), state.n),
            *(author.observed, author.agent, author.session, author.call, author.revision, author.kind),
            *(_compress_lineage_text(state.text), pack_line_keys(state.keys), state.origins),
        )
        self._db.run(f"INSERT INTO lineage_state ({_STATE}) VALUES ({', '.join('?' * len(row))})", row)
        lines = [(key, state.id) for key in dict.fromkeys(added)]
        self._db.run_for_each("INSERT INTO lineage_line (hash, state) VALUES (?, ?)", lines)

    def forget(self, path: RepoPath) -> None:
        """Drop the states of a file that were replayed here, and every version, since versions may refer to them."""
        where = f"path = ? AND {_REPLAYED}"
        states = f"SELECT id FROM lineage_state WHERE {where}"
        self._db.run(f"DELETE FROM lineage_line WHERE state IN ({states})", (path.raw,))
        self._db.run(f"DELETE FROM lineage_state WHERE {where}", (path.raw,))
        self._db.run("DELETE FROM lineage_version")

    def forget_all(self) -> None:
        """Drop all states and versions."""
        for table in ("lineage_line", "lineage_state", "lineage_version", "lineage_touch"):
            self._db.run(f"DELETE FROM {table}")
        for view in (LINEAGE, ADOPTED):
            self._db.run("DELETE FROM state WHERE view = ?", (view,))

    # --- states that other stores replayed --------------------------------------------------------------------------

    def adopted(self) -> dict[StoreId, str]:
        """Return the chains with received states, each with the version that was adopted last."""
        rows = self._db.rows("SELECT store_id, version FROM state WHERE view = ?", (ADOPTED,))
        return {StoreId(str(store)): str(version) for store, version in rows}

    def places(self, store: StoreId) -> dict[tuple[int, int], int]:
        """Return the states of a chain by record and view."""
        rows = self._db.rows("SELECT seq, n, id FROM lineage_state WHERE store_id = ?", (store,))
        return {(integer_from_sql(seq), integer_from_sql(n)): integer_from_sql(id_) for seq, n, id_ in rows}

    def of_chain(self, store: StoreId) -> list[StateRow]:
        """Return the states of a chain in replay order."""
        return [
            _lineage_state_from_row(row)
            for row in self._db.rows(f"SELECT {_STATE} FROM lineage_state WHERE store_id = ? ORDER BY id", (store,))
        ]

    def place(self, state: int) -> tuple[RecordRef, int] | None:
        """Return the record and view of a state."""
        rows = self._db.rows("SELECT store_id, seq, n FROM lineage_state WHERE id = ?", (state,))
        for store, seq, n in rows:
            return RecordRef(StoreId(str(store)), Seq(integer_from_sql(seq))), integer_from_sql(n)
        return None

    def brought(self, state: int) -> list[int]:
        """Return the keys of the lines that a state added, sorted."""
        rows = self._db.rows("SELECT hash FROM lineage_line WHERE state = ? ORDER BY hash", (state,))
        return [integer_from_sql(key) for (key,) in rows]

    def forget_chain(self, store: StoreId) -> None:
        """Drop the states of one chain, and every version."""
        states = "SELECT id FROM lineage_state WHERE store_id = ?"
        self._db.run(f"DELETE FROM lineage_line WHERE state IN ({states})", (store,))
        self._db.run("DELETE FROM lineage_state WHERE store_id = ?", (store,))
        self._db.run("DELETE FROM lineage_version")

    def adopt(self, store: StoreId, version: str | None) -> None:
        """Store the adopted version of a chain; None if its states must be replayed here."""
        self._db.run("DELETE FROM state WHERE view = ? AND store_id = ?", (ADOPTED, store))
        if version is None:
            self._db.run("DELETE FROM state WHERE view = ? AND store_id = ?", (LINEAGE, store))
        else:
            self._db.run(
                "INSERT INTO state (view, store_id, seq, version) VALUES (?, ?, ?, ?)", (ADOPTED, store, 0, version)
            )

    # --- lines ------------------------------------------------------------------------------------------------------

    def list_line_voters(self, key: int) -> tuple[int, ...]:
        """Return the latest states that added a line with this key."""
        rows = self._db.rows(
            f"SELECT state FROM lineage_line WHERE hash = ? ORDER BY state DESC LIMIT {VOTERS_MAX}", (key,)
        )
        return tuple(integer_from_sql(state) for (state,) in rows)

    def count_line_votes(self, keys: Iterable[int]) -> Counter[int]:
        """Return the states that added lines with these keys, with the count of such lines."""
        votes: Counter[int] = Counter()
        for key in keys:
            votes.update(self.list_line_voters(key))
        return votes

    def find_agents_of_lines(self, path: RepoPath, keys: Sequence[int]) -> dict[int, frozenset[str]]:
        """Return the agents with calls that added lines with these keys to a file."""
        agents_by_key: dict[int, set[str]] = {}
        for batch in split_row_batches(keys, KEYS_PER_STATEMENT_MAX):
            rows = self._db.rows(
                "SELECT DISTINCT lineage_line.hash, lineage_state.agent FROM lineage_line"
                " JOIN lineage_state ON lineage_state.id = lineage_line.state"
                f" WHERE lineage_line.hash IN ({make_sql_placeholders(batch)}) AND lineage_state.path = ?",
                (*batch, path.raw),
            )
            for key, agent in rows:
                agents_by_key.setdefault(integer_from_sql(key), set()).add(str(agent))
        return {key: frozenset(agents) for key, agents in agents_by_key.items()}

    def has_redacted(self) -> bool:
        """Return whether any captured text has a redacted secret."""
        return bool(self._db.rows("SELECT 1 FROM lineage_line WHERE hash = ? LIMIT 1", (REDACTED,)))

    def has_newer(self, keys: Sequence[int], newest: int) -> bool:
        """Return whether a state later than ``newest`` added one of these lines."""
        for batch in split_row_batches(keys, KEYS_PER_STATEMENT_MAX):
            marks = make_sql_placeholders(batch)
            if self._db.rows(
                f"SELECT 1 FROM lineage_line WHERE hash IN ({marks}) AND state > ? LIMIT 1", (*batch, newest)
            ):
                return True
        return False

    # --- versions ---------------------------------------------------------------------------------------------------

    def versions(self, path: RepoPath, rules: str) -> dict[CommitSha, VersionRow]:
        """Return the stored versions of a file, by the commits that made them."""
        rows = self._db.rows(f"SELECT {_VERSION} FROM lineage_version WHERE path = ? AND rules = ?", (path.raw, rules))
        return {row.commit: row for row in map(_version_from_row, rows)}

    def version(self, path: RepoPath, commit: CommitSha, rules: str) -> VersionRow | None:
        """Return the stored version of a file that a commit made."""
        rows = self._db.rows(
            f"SELECT {_VERSION} FROM lineage_version WHERE path = ? AND commit_sha = ? AND rules = ?",
            (path.raw, commit, rules),
        )
        return _version_from_row(rows[0]) if rows else None

    def put_version(self, path: RepoPath, rules: str, version: VersionRow) -> None:
        """Store a version of a file."""
        values = (
            *(path.raw, rules, version.commit, version.blob, version.seen, version.at_ns, version.commits),
            *(pack_line_keys(version.keys), _pack_version_uses(version.uses), version.origins),
        )
        self._db.run(
            f"INSERT INTO lineage_version (path, rules, {_VERSION}) VALUES ({make_sql_placeholders(values)})"
            " ON CONFLICT (path, commit_sha, blob, rules) DO UPDATE SET seen = excluded.seen, at_ns = excluded.at_ns,"
            " commits = excluded.commits, keys = excluded.keys, uses = excluded.uses, origins = excluded.origins",
            values,
        )

    def find_touch(self, path: RepoPath, commit: CommitSha, rules: str) -> tuple[CommitSha | None] | None:
        """Return the last commit that changed a file as of ``commit``, if any, in a tuple; None if not stored."""
        rows = self._db.rows(
            "SELECT touched FROM lineage_touch WHERE commit_sha = ? AND path = ? AND rules = ?",
            (commit, path.raw, rules),
        )
        return (None if rows[0][0] is None else CommitSha(str(rows[0][0])),) if rows else None

    def put_touch(self, path: RepoPath, commit: CommitSha, rules: str, touched: CommitSha | None) -> None:
        """Store the last commit that changed a file as of ``commit``."""
        self._db.run(
            "INSERT INTO lineage_touch (commit_sha, path, rules, touched) VALUES (?, ?, ?, ?)"
            " ON CONFLICT (commit_sha, path, rules) DO UPDATE SET touched = excluded.touched",
            (commit, path.raw, rules, touched),
        )

    def read_later_states(self, newest: int) -> LaterStates:
        """Return what the states after ``newest`` are about."""
        files: dict[RepoPath, list[tuple[int, int]]] = {}
        for id_, path, at_ns in self._db.rows("SELECT id, path, at_ns FROM lineage_state WHERE id > ?", (newest,)):
            name = RepoPath(bytes_from_sql(path))
            files.setdefault(name, []).append((integer_from_sql(id_), integer_from_sql(at_ns)))
        lines = self._db.rows("SELECT hash, max(state) FROM lineage_line WHERE state > ? GROUP BY hash", (newest,))
        return LaterStates(files, {integer_from_sql(key): integer_from_sql(state) for key, state in lines})


def pack_line_keys(keys: Iterable[int]) -> bytes:
    """Return keys as stored: 8 bytes each."""
    return array("q", keys).tobytes()


def unpack_line_keys(data: bytes) -> tuple[int, ...]:
    """Return stored keys."""
    keys = array("q")
    keys.frombytes(data)
    return tuple(keys)


def _version_from_row(row: Row) -> VersionRow:
    commit, blob, seen, at_ns, commits, keys, uses, origins = row
    return VersionRow(
        commit=CommitSha(str(commit)),
        blob=str(blob),
        seen=integer_from_sql(seen),
        at_ns=integer_from_sql(at_ns),
        commits=integer_from_sql(commits),
        keys=unpack_line_keys(bytes_from_sql(keys)),
        uses=_unpack_version_uses(bytes_from_sql(uses)),
        origins=bytes_from_sql(origins),
    )


def _pack_version_uses(uses: Iterable[tuple[CommitSha, RepoPath]]) -> bytes:
    return b"\0".join(commit.encode("ascii") + b":" + path.raw for commit, path in uses)


def _unpack_version_uses(data: bytes) -> tuple[tuple[CommitSha, RepoPath], ...]:
    pairs = (use.partition(b":") for use in data.split(b"\0") if use)
    return tuple((CommitSha(commit.decode("ascii")), RepoPath(path)) for commit, _, path in pairs)


def _select_latest_lineage_state(rows: Iterable[Row]) -> StateRow | None:
    """Return the last of several states of one time, by observation; ids show only the order of replay."""
    states = [_lineage_state_from_row(row) for row in rows]
    return max(states, key=_rank_lineage_state, default=None)


def _rank_lineage_state(state: StateRow) -> tuple[tuple[bool, str, int, tuple[str | int, ...]], int]:
    author = state.author
    return make_snapshot_order_key(author.observed, author.kind, author.ref), state.id


def _lineage_state_from_row(row: Row) -> StateRow:
    id_, path, at_ns, store, seq, n, *author, text, hashes, origins = row
    return StateRow(
        id=integer_from_sql(id_),
        path=RepoPath(bytes_from_sql(path)),
        n=integer_from_sql(n),
        author=_state_author_from_row((store, seq, at_ns, *author)),
        text=None if text is None else zlib.decompress(bytes_from_sql(text)).decode("utf-8", "surrogatepass"),
        keys=unpack_line_keys(bytes_from_sql(hashes)),
        origins=bytes_from_sql(origins),
    )


def _state_author_from_row(row: Row) -> StateAuthor:
    store, seq, at_ns, observed, agent, session, call, revision, kind = row
    return StateAuthor(
        ref=RecordRef(StoreId(str(store)), Seq(integer_from_sql(seq))),
        at_ns=integer_from_sql(at_ns),
        observed=str(observed),
        agent=AgentName(str(agent)),
        session=None if session is None else SessionId(str(session)),
        call=None if call is None else str(call),
        revision=None if revision is None else CommitSha(str(revision)),
        kind=str(kind),
    )


def _compress_lineage_text(text: str | None) -> bytes | None:
    return None if text is None else zlib.compress(text.encode("utf-8", "surrogatepass"), 1)
