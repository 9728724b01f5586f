"""SQL that only pages need, typed rows out.

May touch the open database that it is given.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from custody.core.ids import AgentName, EventId, NaturalKey, RecordRef, Seq, SessionId, StoreId
from custody.core.record import Record
from custody.core.wire.arrival import LOST
from custody.ledger.queries import SessionRow
from custody.store import Store, split_batches
from custody.store.db import SqlValue
from custody.store.tables import integer

# What pages show first: sessions by when they were last active, what there is at all, what was lost.
# No question here looks at every record: sessions are found by going from one to the next in the index, and what is
# counted is counted up to a bound.


COUNTED_MAX = 2_000
"""Rows of one session that are counted; a list says of a longer one that it has more."""

# From one session to the next, and in it from one agent to the next: DISTINCT would look at every observation.
_FOUND = """
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


@dataclass(frozen=True, slots=True)
class ActiveSession:
    """A session and when something of it was last captured."""

    agent: AgentName
    session: SessionId
    last_ns: int


@dataclass(frozen=True, slots=True)
class SessionCount:
    """How much was captured of a session: exact up to ``COUNTED_MAX``, else at least so many."""

    first_ns: int
    calls: int
    files: int


class ActivityTables:
    """Questions of pages about one database."""

    def __init__(self, store: Store) -> None:
        self._db = store.db
        self._tables = store.tables

    def sessions(
        self, after: ActiveSession | None, limit: int, *, agent: str | None = None, text: str | None = None
    ) -> list[ActiveSession]:
        """The next sessions, those active last first; of one agent, or with ``text`` in their id, if asked for."""
        where, values = ["1 = 1"], list[SqlValue]()
        if after is not None:
            where.append("(last_ns < ? OR (last_ns = ? AND (agent, session) > (?, ?)))")
            values += [after.last_ns, after.last_ns, after.agent, after.session]
        if agent is not None:
            where.append("agent = ?")
            values.append(agent)
        if text is not None:
            where.append("lower(session) LIKE ? ESCAPE '!'")
            values.append(f"%{_literal(text.lower())}%")
        rows = self._db.rows(
            f"{_FOUND} SELECT agent, session, last_ns FROM active WHERE {' AND '.join(where)}"
            " ORDER BY last_ns DESC, agent, session LIMIT ?",
            (*values, limit),
        )
        return [ActiveSession(AgentName(str(a)), SessionId(str(s)), integer(last)) for a, s, last in rows]

    def counted(self, agent: AgentName, session: SessionId) -> SessionCount:
        """How much was captured of a session."""
        mine, whose = self._mine(agent, session)
        parts = [
            "(SELECT min(at_ns) FROM observation WHERE session = ? AND agent = ?)",
            f"(SELECT count(DISTINCT call) FROM {_make_bounded_select('call', 'tool_call', 'session = ?' + mine)})",
            f"(SELECT count(DISTINCT path) FROM {_make_bounded_select('path', 'file_edit', 'session = ?' + mine)})",
        ]
        values = (session, agent, *(session, *whose) * 2)
        ((first, *counts),) = self._db.rows(f"SELECT {', '.join(parts)}", values)
        return SessionCount(integer(first), *(integer(count) for count in counts))

    def ends(self, agent: AgentName, session: SessionId, limit: int) -> list[Record]:
        """The first and the last few records of a session, in order."""
        refs: dict[RecordRef, None] = {}
        for order in ("", " DESC"):
            rows = self._db.rows(
                f"SELECT store_id, seq FROM observation WHERE session = ? AND agent = ? ORDER BY at_ns{order} LIMIT ?",
                (session, agent, limit),
            )
            refs.update({RecordRef(StoreId(str(store)), Seq(integer(seq))): None for store, seq in rows})
        records = (self._tables.record(ref) for ref in refs)
        return sorted(
            (record for record in records if record is not None), key=lambda record: (record.entry.at_ns, record.ref)
        )

    def _mine(self, agent: AgentName, session: SessionId) -> tuple[str, list[SqlValue]]:
        """What tells the rows of one agent from another's, where two have sessions of the same id."""
        others = "SELECT 1 FROM observation WHERE session = ? AND agent {} ? LIMIT 1"
        if not any(self._db.rows(others.format(than), (session, agent)) for than in "<>"):
            return "", []
        same = "o.store_id = told.store_id AND o.seq = told.seq AND o.agent = ?"
        return f" AND EXISTS (SELECT 1 FROM observation AS o WHERE {same})", [agent]

    def holds(self, tables: Collection[str]) -> frozenset[str]:
        """Which of these tables have any row."""
        return frozenset(name for name in tables if self._db.rows(f"SELECT 1 FROM {name} LIMIT 1"))

    def first_ns(self) -> int | None:
        """The earliest moment that a record claims; None when there is none."""
        ((found,),) = self._db.rows("SELECT min(at_ns) FROM record")
        return None if found is None else integer(found)

    def lost(self, limit: int) -> list[Record]:
        """The records that say that something could not be recorded, at most so many."""
        return self._tables.records_where(
            "natural_key >= ? AND natural_key < ? ORDER BY natural_key LIMIT ?", (f"{LOST}:", f"{LOST};", limit)
        )


def _make_bounded_select(column: str, table: str, where: str) -> str:
    return f"(SELECT {column} FROM {table} AS told WHERE {where} LIMIT {COUNTED_MAX}) AS counted"


def _literal(text: str) -> str:
    """Text in a pattern, in which no sign stands for others."""
    return text.replace("!", "!!").replace("%", "!%").replace("_", "!_")


# Records and sessions a page at a time, each page behind the last row of the one before.


NAMES = 500
"""Records asked for by name at a time: a statement may hold 999 values."""


class PageTables:
    """Rows in an order that does not change while somebody turns pages."""

    def __init__(self, store: Store) -> None:
        self._db = store.db
        self._tables = store.tables

    def records(self, kinds: Collection[str], after: RecordRef | None, limit: int) -> list[Record]:
        """The next records of these kinds, or of any if none are named, chain by chain."""
        place: Sequence[SqlValue] = ("", 0) if after is None else (after.store, int(after.seq))
        only = f" AND kind IN ({', '.join('?' * len(kinds))})" if kinds else ""
        return self._tables.records_where(
            f"(store_id, seq) > (?, ?){only} ORDER BY store_id, seq LIMIT ?", (*place, *sorted(kinds), limit)
        )

    def sessions(self, after: tuple[SessionId, AgentName] | None, limit: int) -> list[SessionRow]:
        """The next sessions, by their ids and agents."""
        rows = self._db.rows(
            "SELECT session, agent, min(at_ns), max(at_ns), count(*) FROM observation WHERE (session, agent) > (?, ?)"
            " GROUP BY session, agent ORDER BY session, agent LIMIT ?",
            (*(after or ("", "")), limit),
        )
        return [
            SessionRow(AgentName(str(agent)), SessionId(str(session)), integer(first), integer(last), integer(count))
            for session, agent, first, last, count in rows
        ]

    def with_events(self, events: Collection[EventId]) -> list[Record]:
        """The records that arrived under these ids."""
        return self._named("event_id", sorted(events))

    def with_keys(self, keys: Collection[NaturalKey]) -> list[Record]:
        """The records of these observations."""
        return self._named("natural_key", sorted(keys))

    def _named(self, column: str, names: Sequence[str]) -> list[Record]:
        return [
            record
            for some in split_batches(names, NAMES)
            for record in self._tables.records_where(f"{column} IN ({', '.join('?' * len(some))})", some)
        ]
