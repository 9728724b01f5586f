"""SQL of the server's pages and lists, with typed rows.

May touch the open database that it is passed.
"""

from collections.abc import Collection, Sequence

from msgspec import Struct

from custody.core.ids import AgentName, EventId, NaturalKey, RecordRef, Seq, SessionId, StoreId
from custody.core.record import Record
from custody.core.wire.arrival import LOST
from custody.ledger.queries import SESSION_TIMES, SessionRow, session_row_from_sql
from custody.store import Store, split_row_batches
from custody.store.db import SqlValue
from custody.store.tables import integer_from_sql

# No query here reads every record: sessions are found by skipping through the index, and counts have a maximum.


COUNTED_MAX = 2_000
"""Maximum rows of one session that are counted; a list shows that a longer one has more."""

# A skip scan over sessions and their agents: DISTINCT would read every observation.
_ACTIVE_SESSIONS = """
    WITH RECURSIVE named (session) AS (
        SELECT min(session) FROM observation
        UNION ALL
        SELECT (SELECT min(session) FROM observation WHERE session > named.session) FROM named
        WHERE named.session IS NOT NULL
    ), found (session, agent) AS (
        SELECT session, (SELECT min(agent) FROM observation AS o WHERE o.session = named.session) FROM named
        WHERE session IS NOT NULL
        UNION ALL
        SELECT session, (
            SELECT min(agent) FROM observation AS o WHERE o.session = found.session AND o.agent > found.agent
        ) FROM found WHERE agent IS NOT NULL
    ), active (session, agent, last_ns) AS (
        SELECT session, agent, (
            SELECT max(at_ns) FROM observation AS o WHERE o.session = found.session AND o.agent = found.agent
        ) FROM found WHERE agent IS NOT NULL
    )
"""


class ActiveSession(Struct, frozen=True):
    """A session and the time of its last event."""

    agent: AgentName
    session: SessionId
    last_ns: int


class SessionCount(Struct, frozen=True):
    """Counts of a session: exact up to ``COUNTED_MAX``, else lower bounds."""

    first_ns: int
    calls: int
    files: int


class ActivityTables:
    """Queries of pages."""

    def __init__(self, store: Store) -> None:
        self._db = store.db
        self._tables = store.tables

    def sessions(
        self, after: ActiveSession | None, limit: int, *, agent: str | None = None, text: str | None = None
    ) -> list[ActiveSession]:
        """Return the next sessions, the last active first; optionally of one agent or with ``text`` in their id."""
        where, values = ["1 = 1"], list[SqlValue]()
        if after is not None:
            where.append("(last_ns < ? OR (last_ns = ? AND (agent, session) > (?, ?)))")
            values += [after.last_ns, after.last_ns, after.agent, after.session]
        if agent is not None:
            where.append("agent = ?")
            values.append(agent)
        if text is not None:
            where.append("lower(session) LIKE ? ESCAPE '!'")
            values.append(f"%{_escape_page_search_text(text.lower())}%")
        rows = self._db.rows(
            f"{_ACTIVE_SESSIONS} SELECT agent, session, last_ns FROM active WHERE {' AND '.join(where)}"
            " ORDER BY last_ns DESC, agent, session LIMIT ?",
            (*values, limit),
        )
        return [ActiveSession(AgentName(str(a)), SessionId(str(s)), integer_from_sql(last)) for a, s, last in rows]

    def count_session(self, agent: AgentName, session: SessionId) -> SessionCount:
        """Count the calls and files of a session."""
        condition, agent_values = self._agent_condition(agent, session)
        where = f"session = ?{condition}"
        parts = [
            "(SELECT min(at_ns) FROM observation WHERE session = ? AND agent = ?)",
            f"(SELECT count(DISTINCT call) FROM {_make_session_count_select('call', 'tool_call', where)})",
            f"(SELECT count(DISTINCT path) FROM {_make_session_count_select('path', 'file_edit', where)})",
        ]
        values = (session, agent, *(session, *agent_values) * 2)
        ((first, *counts),) = self._db.rows(f"SELECT {', '.join(parts)}", values)
        return SessionCount(integer_from_sql(first), *(integer_from_sql(count) for count in counts))

    def ends(self, agent: AgentName, session: SessionId, limit: int) -> list[Record]:
        """Return the first and the last few records of a session, in order."""
        refs: dict[RecordRef, None] = {}
        for order in ("", " DESC"):
            rows = self._db.rows(
                f"SELECT store_id, seq FROM observation WHERE session = ? AND agent = ? ORDER BY at_ns{order} LIMIT ?",
                (session, agent, limit),
            )
            refs.update({RecordRef(StoreId(str(store)), Seq(integer_from_sql(seq))): None for store, seq in rows})
        records = (self._tables.record(ref) for ref in refs)
        return sorted(
            (record for record in records if record is not None), key=lambda record: (record.entry.at_ns, record.ref)
        )

    def _agent_condition(self, agent: AgentName, session: SessionId) -> tuple[str, list[SqlValue]]:
        """Return a condition for the rows of one agent, if two agents have sessions with this id."""
        others = "SELECT 1 FROM observation WHERE session = ? AND agent {} ? LIMIT 1"
        if not any(self._db.rows(others.format(operator), (session, agent)) for operator in "<>"):
            return "", []
        same = "o.store_id = counted_row.store_id AND o.seq = counted_row.seq AND o.agent = ?"
        return f" AND EXISTS (SELECT 1 FROM observation AS o WHERE {same})", [agent]

    def holds(self, tables: Collection[str]) -> frozenset[str]:
        """Return which of these tables have a row."""
        return frozenset(name for name in tables if self._db.rows(f"SELECT 1 FROM {name} LIMIT 1"))

    def first_ns(self) -> int | None:
        """Return the earliest time in a record; None without records."""
        ((first_ns,),) = self._db.rows("SELECT min(at_ns) FROM record")
        return None if first_ns is None else integer_from_sql(first_ns)

    def list_gap_records(self, limit: int) -> list[Record]:
        """Return records of gaps, at most ``limit``."""
        return self._tables.records_where(
            "natural_key >= ? AND natural_key < ? ORDER BY natural_key LIMIT ?", (f"{LOST}:", f"{LOST};", limit)
        )


def _make_session_count_select(column: str, table: str, where: str) -> str:
    return f"(SELECT {column} FROM {table} AS counted_row WHERE {where} LIMIT {COUNTED_MAX}) AS counted"


def _escape_page_search_text(text: str) -> str:
    """Escape a text for LIKE, so that no character is a wildcard."""
    return text.replace("!", "!!").replace("%", "!%").replace("_", "!_")


NAMES_MAX = 500
"""Maximum names per SQL statement, which allows 999 parameters."""


class PageTables:
    """Rows in an order that is stable between pages."""

    def __init__(self, store: Store) -> None:
        self._db = store.db
        self._tables = store.tables

    def records(self, kinds: Collection[str], after: RecordRef | None, limit: int) -> list[Record]:
        """Return the next records of these kinds (all if empty), chain by chain."""
        place: Sequence[SqlValue] = ("", 0) if after is None else (after.store, int(after.seq))
        only = f" AND kind IN ({', '.join('?' * len(kinds))})" if kinds else ""
        return self._tables.records_where(
            f"(store_id, seq) > (?, ?){only} ORDER BY store_id, seq LIMIT ?", (*place, *sorted(kinds), limit)
        )

    def sessions(self, after: tuple[SessionId, AgentName] | None, limit: int) -> list[SessionRow]:
        """Return the next sessions by id and agent."""
        rows = self._db.rows(
            f"SELECT session, agent, {SESSION_TIMES} FROM observation WHERE (session, agent) > (?, ?)"
            " GROUP BY session, agent ORDER BY session, agent LIMIT ?",
            (*(after or ("", "")), limit),
        )
        return [session_row_from_sql(agent, session, numbers) for session, agent, *numbers in rows]

    def list_records_by_event(self, events: Collection[EventId]) -> list[Record]:
        """Return the records with these event ids."""
        return self._records_by_column("event_id", sorted(events))

    def list_records_by_key(self, keys: Collection[NaturalKey]) -> list[Record]:
        """Return the records with these keys."""
        return [
            *self._records_by_column("natural_key", sorted(keys)),
            *(record for record, _ in self._tables.find_batched_spans(keys)),
        ]

    def _records_by_column(self, column: str, names: Sequence[str]) -> list[Record]:
        return [
            record
            for batch in split_row_batches(names, NAMES_MAX)
            for record in self._tables.records_where(f"{column} IN ({', '.join('?' * len(batch))})", batch)
        ]
