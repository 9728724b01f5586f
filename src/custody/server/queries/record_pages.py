"""Records and sessions a page at a time, each page behind the last row of the one before."""

from collections.abc import Collection, Sequence

from custody.core.ids import AgentName, EventId, NaturalKey, RecordRef, SessionId
from custody.core.record import Record
from custody.ledger.queries.sessions import SessionRow
from custody.store import Store, split_batches
from custody.store.db import SqlValue
from custody.store.tables import integer

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
